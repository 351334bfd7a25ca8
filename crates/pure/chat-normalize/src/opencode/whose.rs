//! Which program it is: OpenCode, or Kilo Code, which is made of it since 7 and says the same in the same words.
//!
//! | what tells Kilo Code | where |
//! |---|---|
//! | who reads its own database knows it | the reader's context |
//! | a version from 7 on: OpenCode's are 1.x | the session on the bus and in an export |
//! | how fast the model was, `metrics` | the end of a step: `kilo run --format json` says no version |
//!
//! Seen: Kilo Code 7.7.9; of OpenCode 1.18.34 none of it.

use serde_json::Value;

const KILO: &str = "Kilo Code";

/// Versions from this one on are Kilo Code's.
const FIRST_OF_KILO: u64 = 7;

/// Which program it is, as far as that was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Whose {
    #[default]
    OpenCode,
    Kilo,
}

impl Whose {
    /// The program that goes by a name for people.
    pub(super) fn told(agent: Option<&str>) -> Whose {
        match agent {
            Some(KILO) => Whose::Kilo,
            _ => Whose::OpenCode,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Whose::OpenCode => "OpenCode",
            Whose::Kilo => KILO,
        }
    }

    /// Takes note of a session's version.
    pub(super) fn see_version(&mut self, version: Option<&str>) {
        let major = version.and_then(|version| version.split('.').next());
        let major = major.and_then(|major| major.parse().ok());
        if major.is_some_and(|major: u64| major >= FIRST_OF_KILO) {
            *self = Whose::Kilo;
        }
    }

    /// Takes note of a step's end; whether it tells another program than was known.
    pub(super) fn see_step(&mut self, part: &Value) -> bool {
        let is_kilo = part.get("metrics").is_some_and(Value::is_object);
        is_kilo && std::mem::replace(self, Whose::Kilo) != Whose::Kilo
    }
}
