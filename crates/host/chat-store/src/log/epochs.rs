//! The epochs of a log, and whose numbers it bears.
//!
//! Each epoch begins in a line of the log (`log_start`, `log_epoch`), and of a copy that line also says whose log it is a copy
//! of. So what a log is and which numbers it bears are written at once, and whatever loses the one loses the other: a log
//! that forgot that it is a copy can give no number under an epoch of its home.

use chat_event::payload::{LogEpoch, LogStart};
use chat_event::{Extra, Json};
use serde::{Deserialize, Serialize};

use super::WRITER;

/// The field of a line that says whose log this one is a copy of.
const HOME: &str = "home";

/// One epoch of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Its name.
    pub epoch: String,
    /// The last number before it; 0 of the first.
    pub base: u64,
}

/// All of a log, in order; the last is the one that counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Epochs {
    all: Vec<Epoch>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home: Option<String>,
}

/// Whose copy a log is, and the epoch that its numbers are of.
#[derive(Clone, Debug)]
pub(crate) struct CopyOf {
    pub(crate) home: String,
    pub(crate) epoch: String,
}

impl Epochs {
    /// The name of the one that counts; empty before any began.
    pub(crate) fn now(&self) -> &str {
        self.all.last().map_or("", |last| &last.epoch)
    }

    pub(crate) fn all(&self) -> &[Epoch] {
        &self.all
    }

    /// Whose log it is a copy of; `None` where it gives its numbers itself.
    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    pub(crate) fn copy_of(&self) -> Option<CopyOf> {
        Some(CopyOf {
            home: self.home.clone()?,
            epoch: self.now().to_owned(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.now().is_empty()
    }

    /// Another one counts from here on. A file that goes on where a segment ended names the same.
    pub(super) fn begin(&mut self, epoch: &str, base: u64, home: Option<String>) {
        if self.now() != epoch {
            self.all.push(Epoch {
                epoch: epoch.to_owned(),
                base,
            });
        }
        self.home = home;
    }

    /// The first line of a file.
    pub(super) fn start_line(&self) -> LogStart {
        let mut start = LogStart {
            schema: chat_event::SCHEMA,
            epoch: self.now().to_owned(),
            writer: Some(WRITER.to_owned()),
            ..LogStart::default()
        };
        self.name_home(&mut start.extra);
        start
    }

    /// The line from which on the one that counts does.
    pub(super) fn epoch_line(&self, base: u64, why: &str) -> LogEpoch {
        let mut line = LogEpoch {
            epoch: self.now().to_owned(),
            base,
            why: why.to_owned(),
            ..LogEpoch::default()
        };
        self.name_home(&mut line.extra);
        line
    }

    fn name_home(&self, extra: &mut Extra) {
        if let Some(home) = &self.home {
            extra.insert(HOME, Json::string(home));
        }
    }
}

/// Whose log the line says this one is a copy of.
pub(super) fn home_in(extra: &Extra) -> Option<String> {
    Some(extra.get(HOME)?.as_str()?.into_owned())
}

/// Up to which number two logs of one session have the same events, as far as their epochs tell: `u64::MAX` where neither
/// has gone on without the other, 0 where they have no epoch in common.
pub(super) fn shared_up_to(ours: &[Epoch], theirs: &[Epoch]) -> u64 {
    let behind = |epochs: &[Epoch], at: usize| epochs.get(at + 1).map_or(u64::MAX, |it| it.base);
    let common = ours.iter().enumerate().rev().find_map(|(at, epoch)| {
        let there = theirs.iter().position(|it| it.epoch == epoch.epoch)?;
        Some(behind(ours, at).min(behind(theirs, there)))
    });
    common.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(all: &[(&str, u64)]) -> Vec<Epoch> {
        let all = all.iter().map(|&(epoch, base)| Epoch {
            epoch: epoch.to_owned(),
            base,
        });
        all.collect()
    }

    #[test]
    fn two_logs_share_what_came_before_either_went_on_alone() {
        let check = |ours: &[(&str, u64)], theirs: &[(&str, u64)], expected| {
            let (ours, theirs) = (epochs(ours), epochs(theirs));
            assert_eq!(shared_up_to(&ours, &theirs), expected);
            assert_eq!(shared_up_to(&theirs, &ours), expected);
        };
        check(&[("a", 0)], &[("a", 0)], u64::MAX);
        check(&[("a", 0)], &[("a", 0), ("b", 8)], 8);
        // The third began behind the second, whose base is what the first has.
        check(&[("a", 0)], &[("a", 0), ("b", 8), ("c", 20)], 8);
        check(&[("b", 5)], &[("a", 0), ("b", 8), ("c", 20)], 20);
        check(&[("a", 0), ("x", 6)], &[("a", 0), ("b", 8)], 6);
        check(&[("a", 0)], &[("b", 0)], 0);
        check(&[], &[("b", 0)], 0);
    }
}
