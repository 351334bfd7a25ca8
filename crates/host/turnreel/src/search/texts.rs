//! The texts of an event: those that stand in it, and those of bodies beside the log, which are read piece by piece.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use chat_feed::find::cleaned;
use serde_json::Value;

use super::{Needle, snippet};

/// What a line has in it that refers to a body beside the log.
pub(super) const REFERENCE: &[u8] = b"\"$body\"";
const REFERENCE_KEY: &str = "$body";

/// The file before a change: nothing of it is shown before it is asked for.
const UNSHOWN: &str = "oldText";

/// So much of a body is read at once, in bytes: what one look at the clock may cost.
const PIECE_BYTES: usize = 1024 * 1024;
/// The same where looking takes many times what reading takes.
const DEAR_PIECE_BYTES: usize = 64 * 1024;

/// The bodies of one event have so much time together: what is not read by then is said to be unread.
const BODIES_TIME: Duration = Duration::from_secs(5);

/// Looks through texts.
pub(super) struct Texts<'n> {
    needle: &'n Needle,
    open: &'n dyn Fn(&str) -> Option<File>,
    bodies: Bodies,
}

/// What came of the bodies of one event.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    /// The hashes of those that were looked at: an event may have one many times.
    looked_at: HashSet<String>,
    /// When the time for them is over; nothing before one was looked at.
    deadline: Option<Instant>,
    /// One was not read to its end.
    pub(super) are_unread: bool,
}

impl Bodies {
    /// Whether there were any, which may have taken long.
    pub(super) fn were_any(&self) -> bool {
        self.deadline.is_some()
    }
}

impl<'n> Texts<'n> {
    /// `open` opens the body of a hash, where it is here.
    pub(super) fn new(needle: &'n Needle, open: &'n dyn Fn(&str) -> Option<File>) -> Self {
        Texts {
            needle,
            open,
            bodies: Bodies::default(),
        }
    }

    pub(super) fn needle(&self) -> &'n Needle {
        self.needle
    }

    /// What came of the event's bodies, at its end: the next one has its own.
    pub(super) fn take_bodies(&mut self) -> Bodies {
        std::mem::take(&mut self.bodies)
    }

    /// What stands around the first place in a value. Values of a log nest no deeper than a parser goes.
    pub(super) fn find_in(&mut self, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => found_in(text, self.needle),
            Value::Array(items) => items.iter().find_map(|item| self.find_in(item)),
            Value::Object(fields) => match fields.get(REFERENCE_KEY) {
                Some(reference) => self.find_in_body(reference),
                None => fields
                    .iter()
                    .filter(|(name, _)| *name != UNSHOWN)
                    .find_map(|(_, field)| self.find_in(field)),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn find_in_body(&mut self, reference: &Value) -> Option<String> {
        let ends = [&reference["preview"], &reference["tail"]];
        let at_an_end = ends.into_iter().find_map(|end| self.find_in(end));
        if at_an_end.is_some() || reference["truncated"] == Value::Bool(false) {
            return at_an_end;
        }
        let sha256 = reference["sha256"].as_str().unwrap_or_default();
        // What has nothing of the text had nothing the first time.
        if !self.bodies.looked_at.insert(sha256.to_owned()) {
            return None;
        }
        let deadline = self.bodies.deadline;
        let deadline = deadline.unwrap_or_else(|| Instant::now() + BODIES_TIME);
        self.bodies.deadline = Some(deadline);
        let looked = match is_over(deadline) {
            true => Err(Unread),
            false => (self.open)(sha256)
                .ok_or(Unread)
                .and_then(|body| look_through(body, self.needle, deadline)),
        };
        self.bodies.are_unread |= looked.is_err();
        looked.unwrap_or_default()
    }
}

fn found_in(text: &str, needle: &Needle) -> Option<String> {
    let text = cleaned(text);
    let (from, to) = needle.find(&text)?;
    Some(snippet(&text, from, to))
}

fn is_over(deadline: Instant) -> bool {
    Instant::now() >= deadline
}

/// It could not be read, or not in time.
#[derive(Debug)]
struct Unread;

/// What stands around the first place in a body; nothing does in one that is no text.
fn look_through(
    mut body: impl Read,
    needle: &Needle,
    deadline: Instant,
) -> Result<Option<String>, Unread> {
    let piece_bytes = match needle.is_dear() {
        true => DEAR_PIECE_BYTES,
        false => PIECE_BYTES,
    };
    let mut held = Vec::new();
    loop {
        let most = piece_bytes as u64;
        let n_read = body.by_ref().take(most).read_to_end(&mut held);
        let is_end = n_read.map_err(|_| Unread)? < piece_bytes;
        let n_valid = match std::str::from_utf8(&held) {
            Ok(text) => text.len(),
            Err(why) if why.error_len().is_none() && !is_end => why.valid_up_to(),
            Err(_) => return Ok(None),
        };
        let text = std::str::from_utf8(&held[..n_valid]).unwrap_or_default();
        // Cut at a line's end, where there is one.
        let cut = match text.rfind('\n') {
            Some(at) if !is_end => at + 1,
            _ => text.len(),
        };
        let text = &text[..cut];
        let found = found_in(text, needle);
        if found.is_some() || is_end {
            return Ok(found);
        }
        if is_over(deadline) {
            return Err(Unread);
        }
        let again = needle.begins_again(text);
        held.drain(..again);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{Seek, Write};

    use chat_feed::find::How;
    use serde_json::json;

    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    fn needle(text: &str, how: How) -> Needle {
        Needle::new(text, how).expect("it can be read")
    }

    #[test]
    fn the_file_before_a_change_is_not_looked_through() {
        let needle = needle("quokka", How::AnyCase);
        let mut texts = Texts::new(&needle, &|_| None);
        let edit = json!({"filePath": "a.rs", "fullDiff": "+wombat", "oldText": "a quokka"});
        assert_eq!(texts.find_in(&edit), None);
        let edit = json!({"filePath": "a.rs", "fullDiff": "+quokka", "oldText": "a quokka"});
        assert_eq!(texts.find_in(&edit).as_deref(), Some("+quokka"));
    }

    #[test]
    fn what_a_terminal_obeys_parts_no_word() {
        let needle = needle("Passed", How::Exact);
        let mut texts = Texts::new(&needle, &|_| None);
        let printed = json!({"content": "3 Pas\u{1b}[32msed\u{1b}[0m"});
        assert_eq!(texts.find_in(&printed).as_deref(), Some("3 Passed"));
    }

    #[test]
    fn a_body_that_is_not_here_is_unread_unless_its_ends_tell() {
        let needle = needle("quokka", How::AnyCase);
        let mut texts = Texts::new(&needle, &|_| None);
        let body = |preview: &str| json!({"content": {"$body": {"sha256": "00", "bytes": 9000, "preview": preview, "truncated": true}}});
        assert!(texts.find_in(&body("a quokka")).is_some());
        assert!(!texts.take_bodies().are_unread);
        assert_eq!(texts.find_in(&body("a wombat")), None);
        assert!(texts.take_bodies().are_unread && !texts.take_bodies().are_unread);
    }

    #[test]
    fn the_bodies_of_an_event_have_one_time_together_and_each_is_looked_at_once() {
        let needle = needle("quokka", How::AnyCase);
        let opened = RefCell::new(Vec::new());
        let open = |sha256: &str| {
            opened.borrow_mut().push(sha256.to_owned());
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(b"a wombat").expect("it is written");
            file.rewind().expect("it is read from its beginning");
            Some(file)
        };
        let mut texts = Texts::new(&needle, &open);
        let bodies = |names: &[&str]| {
            let body = |name: &&str| json!({"$body": {"sha256": name, "bytes": 9000, "preview": "", "truncated": true}});
            names.iter().map(body).collect::<Value>()
        };
        assert_eq!(texts.find_in(&bodies(&["a", "b", "a", "b", "a"])), None);
        assert_eq!(opened.take(), ["a", "b"]);
        assert!(texts.bodies.were_any() && !texts.bodies.are_unread);
        texts.bodies.deadline = Some(Instant::now());
        assert_eq!(texts.find_in(&bodies(&["c", "d"])), None);
        assert!(opened.take().is_empty() && texts.take_bodies().are_unread);
        // The next event has its own time.
        assert_eq!(texts.find_in(&bodies(&["a"])), None);
        assert_eq!(opened.take(), ["a"]);
        assert!(!texts.take_bodies().are_unread);
    }

    /// Wherever it stands, over whatever cut.
    #[test]
    fn a_long_body_is_looked_through_as_in_one_piece() {
        let lines = |n: usize, line: &str| line.repeat(n / line.len());
        for (how, text, has, has_not) in [
            (How::AnyCase, "the QUOKKA", "the quokka", "the wombat"),
            (How::Exact, "the Quokka", "the Quokka", "the quokka"),
            (
                How::Pattern,
                "^the [Qq]uok+a$",
                "the quokkka",
                "so the quokka",
            ),
            (How::Pattern, r"ab\s+cd", "ab\ncd", "ab\nxcd"),
        ] {
            let needle = needle(text, how);
            let step = if needle.is_dear() {
                DEAR_PIECE_BYTES
            } else {
                PIECE_BYTES
            };
            for around in [
                0,
                5,
                step - 40,
                step - 11,
                step - 5,
                step,
                step + 3,
                2 * step - 4,
            ] {
                for filler in ["é line of it\n", "x"] {
                    let before = lines(around, filler);
                    let behind = lines(step, filler);
                    let body = |middle: &str| format!("{before}\n{middle}\n{behind}");
                    let look = |body: String| {
                        look_through(body.as_bytes(), &needle, later()).expect("it is read")
                    };
                    let at = format!("{text} at {around} among {filler:?}");
                    assert!(look(body(has)).is_some(), "{at}");
                    assert_eq!(look(body(has_not)), None, "{at}");
                }
            }
        }
        let not_text = [b"quokka \xff".repeat(3), vec![0; 4]].concat();
        let needle = needle("wombat", How::AnyCase);
        assert_eq!(look_through(&*not_text, &needle, later()).ok(), Some(None));
    }
}
