//! What came of removing sessions, and how it is told.

use chat_feed::units;

use super::Chosen;
use crate::removal::{Freed, Removed};
use crate::{stderr, stdout};

/// What came of it all.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) sessions: u64,
    pub(super) removed: Removed,
    pub(super) bodies: Freed,
    /// Something that was asked for did not go.
    pub(super) failed: bool,
}

impl Outcome {
    /// Takes note of a session that went, and says so.
    pub(super) fn took(&mut self, one: &Chosen, removed: Removed) {
        self.sessions += 1;
        let size = units::bytes(removed.bytes);
        // The rest goes on, whether anybody reads that or not.
        let line = format!("{}  {size}  {}", one.id, one.title());
        let _ = stdout::say(&format!("{}\n", line.trim_end()));
        self.removed.add(removed);
    }

    /// Takes note of one that did not, and says why.
    pub(super) fn missed(&mut self, one: &Chosen, why: &str) {
        stderr::say("remove", format_args!("{}: {why}", one.id));
        self.failed = true;
    }

    /// How much it is, in words.
    pub(super) fn amount(&self) -> String {
        let removed = &self.removed;
        let mut told = format!(
            "{}, {}, {}",
            counted(self.sessions, "session"),
            counted(removed.files, "file"),
            units::bytes(removed.bytes)
        );
        if self.bodies.bodies > 0 {
            let n_bodies = counted(self.bodies.bodies, "long body");
            let bytes = units::bytes(self.bodies.bytes);
            told.push_str(&format!(
                ", and {n_bodies} that no log names any more, {bytes}"
            ));
        }
        if removed.objects > 0 {
            let n_objects = counted(removed.objects, "object");
            let bytes = units::bytes(removed.object_bytes);
            told.push_str(&format!("; in the object store {n_objects}, {bytes}"));
        }
        told
    }

    /// What went, in words.
    pub(super) fn told(&self) -> String {
        if self.sessions == 0 && self.bodies.bodies == 0 {
            return "nothing was removed".to_owned();
        }
        let mut told = format!("removed: {}", self.amount());
        if self.removed.links > 0 {
            let links = counted(self.removed.links, "link");
            told.push_str(&format!("; {links} taken back"));
        }
        if self.bodies.later > 0 {
            let later = counted(self.bodies.later, "long body");
            told.push_str(&format!(
                "; {later} that came within the last hour may follow when that is over"
            ));
        }
        told
    }
}

/// `1 session`, `1,204 sessions`, `2 long bodies`
fn counted(n: u64, what: &str) -> String {
    let several = match what.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{what}s"),
    };
    match n {
        1 => format!("1 {what}"),
        n => format!("{} {several}", units::grouped(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_is_told_with_its_amounts() {
        let mut outcome = Outcome {
            sessions: 1,
            removed: Removed {
                files: 3,
                bytes: 1_234_567,
                ..Removed::default()
            },
            ..Outcome::default()
        };
        assert_eq!(outcome.told(), "removed: 1 session, 3 files, 1.2 MB");
        outcome.bodies = Freed {
            bodies: 2,
            bytes: 400_000,
            later: 1,
        };
        outcome.removed.objects = 1;
        outcome.removed.object_bytes = 1000;
        outcome.removed.links = 1;
        assert_eq!(
            outcome.told(),
            "removed: 1 session, 3 files, 1.2 MB, and 2 long bodies that no log names any more, 400 KB; in the object store 1 object, 1 KB; 1 link taken back; 1 long body that came within the last hour may follow when that is over"
        );
    }
}
