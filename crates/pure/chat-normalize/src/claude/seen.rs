//! Lines that come again: a resumed session repeats what it continues, and a pipe may be read twice.

use serde_json::Value;

use crate::emit::Emitter;
use crate::recent::{LATE_SMALL, Recent};
use crate::value::{fingerprint, text_of};

/// The ids of the last 458,752 lines at least, each with a fingerprint of what it said. A line that comes again after
/// more than twice as many is told again.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    lines: Recent<u64, LATE_SMALL>,
}

/// Whether a line's id came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It did not.
    Never,
    /// With the same content: the line was written again.
    Same,
    /// With another content: the id says nothing.
    Other,
}

impl Seen {
    /// Whether the line was written again, and is to be passed over; it is counted then.
    pub(crate) fn is_repeated(&mut self, emitter: &mut Emitter, line: &Value) -> bool {
        let Some(uuid) = text_of(line, "uuid") else {
            return false;
        };
        let met = self.meet(uuid, line);
        match met {
            Met::Never => {}
            Met::Same => emitter.report.repeated += 1,
            Met::Other => emitter.begin_line(None),
        }
        met == Met::Same
    }

    /// How the line with this id was met before; it is remembered where it was not.
    pub(crate) fn meet(&mut self, uuid: &str, line: &Value) -> Met {
        let fingerprint = fingerprint(line);
        match self.lines.get(uuid) {
            Some(before) if *before == fingerprint => Met::Same,
            Some(_) => Met::Other,
            None => {
                self.lines.insert(uuid, fingerprint);
                Met::Never
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_into_another_session_is_the_same_line_and_other_words_are_not() {
        let line = |session: &str, text: &str| serde_json::json!({"sessionId": session, "uuid": "u", "message": {"content": [text]}});
        let mut seen = Seen::default();
        assert_eq!(seen.meet("u", &line("s1", "a")), Met::Never);
        assert_eq!(seen.meet("u", &line("s2", "a")), Met::Same);
        assert_eq!(seen.meet("u", &line("s1", "b")), Met::Other);
    }
}
