//! A value that is printed over several lines among lines that hold whole ones: its lines are held until it is whole.
//!
//! | held | next line | then |
//! |---|---|---|
//! | nothing | ends within a value, and in no string | that line is held |
//! | lines | one that can go on with them | held as well; where the value is whole, it is told as of the first line |
//! | lines | a record of its own, or what cannot go on; the end; too much | each is told as it stands |
//!
//! What a writer left in the middle of a record, as one that was killed does, is held no longer than to the next record. A
//! quiet period ends nothing: a value that comes slowly is the same as one that lies in a file.

use super::held::{Held, HeldLine};
use super::running::Running;
use crate::dialect::{Dialect, Form};
use crate::emit::Place;
use crate::parse::parse_line;

/// So much is held at most.
const MAX_LINES: usize = 1000;
const MAX_BYTES: usize = 1024 * 1024;

/// The lines of a value that is not whole.
#[derive(Debug, Default)]
pub(super) struct Torn {
    lines: Vec<Held<'static>>,
    bytes: usize,
    /// How many lists and objects are open at the end of the lines; below 0 where more end than begin.
    depth: i64,
    in_string: bool,
}

impl Torn {
    fn add(&mut self, held: &Held<'_>, text: &str) {
        let mut escaped = false;
        for byte in text.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if self.in_string => escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
        }
        self.bytes += text.len() + 1;
        self.lines.push(held.kept());
    }

    /// Whether more may come of it.
    fn goes_on(&self) -> bool {
        let is_short = self.lines.len() <= MAX_LINES && self.bytes <= MAX_BYTES;
        self.depth > 0 && !self.in_string && is_short
    }

    fn text(&self) -> String {
        let mut whole = String::with_capacity(self.bytes);
        for held in &self.lines {
            if let HeldLine::Text { text, .. } = &held.line {
                whole.push_str(text);
                whole.push('\n');
            }
        }
        whole
    }
}

impl Running {
    /// Whether a line is part of a value of several; then it is dealt with.
    pub(super) fn is_of_several(&mut self, held: &Held<'_>) -> bool {
        if self.dialect.form() != Form::Lines || self.dialect == Dialect::ChatEvents {
            return false;
        }
        let HeldLine::Text { text, ended, .. } = &held.line else {
            self.let_go();
            return false;
        };
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return false;
        }
        if let Some(mut torn) = self.torn.take() {
            if is_part(trimmed) && !self.is_record(trimmed) {
                torn.add(held, text);
                match torn.depth {
                    0 if !torn.in_string => self.tell_whole(torn, held),
                    _ if torn.goes_on() => self.torn = Some(torn),
                    _ => self.tell_apart(torn),
                }
                return true;
            }
            self.tell_apart(torn);
        }
        // Nearly every line ends its record.
        if !ended || !trimmed.starts_with('{') || trimmed.ends_with('}') {
            return false;
        }
        let mut torn = Torn::default();
        torn.add(held, text);
        let begins = torn.goes_on();
        if begins {
            self.torn = Some(torn);
        }
        begins
    }

    /// What is held is told as it stands.
    pub(super) fn let_go(&mut self) {
        if let Some(torn) = self.torn.take() {
            self.tell_apart(torn);
        }
    }

    fn tell_apart(&mut self, torn: Torn) {
        for held in &torn.lines {
            self.read_alone(held);
            self.emitter.make_untold_edit();
        }
    }

    /// The value is whole with the line that is read now.
    fn tell_whole(&mut self, torn: Torn, last: &Held<'_>) {
        let parsed = parse_line(&torn.text());
        let first_no = torn
            .lines
            .first()
            .map_or(last.line_no, |first| first.line_no);
        if parsed.rest.is_some() || !parsed.values.iter().all(serde_json::Value::is_object) {
            return self.tell_apart(torn);
        }
        let emitter = &mut self.emitter;
        emitter.line_no = first_no;
        emitter.arrive(last.arrival_ms);
        emitter.begin_line(None);
        let is_lossy = |held: &Held<'_>| matches!(held.line, HeldLine::Text { lossy: true, .. });
        if torn.lines.iter().any(is_lossy) {
            let told = format!("Line {first_no} is not UTF-8; what was not is replaced");
            emitter.notice("warning", &Place::default(), "reader", told);
        }
        for mended in &parsed.mended {
            let told = format!("Line {first_no} has {mended}");
            emitter.notice("warning", &Place::default(), "reader", told);
        }
        for value in &parsed.values {
            self.value(value, last.arrival_ms);
        }
        self.emitter.line_no = last.line_no;
    }

    /// Whether a line is a record of its own.
    fn is_record(&self, text: &str) -> bool {
        if !text.starts_with('{') || !text.ends_with('}') {
            return false;
        }
        let parsed = parse_line(text);
        let recognise = self.dialect.profile().recognise;
        let known = || {
            parsed
                .values
                .first()
                .is_some_and(|value| recognise(value).is_some())
        };
        parsed.rest.is_none() && known()
    }
}

/// Whether a line can be the middle or the end of a value.
fn is_part(text: &str) -> bool {
    let begins = |c: char| c.is_ascii_digit() || "{}[]\",:-".contains(c);
    text.starts_with(begins)
        || ["true", "false", "null"]
            .iter()
            .any(|word| text.starts_with(word))
}
