//! Which dialect a source speaks, from the structure of its first lines.
//!
//! Keys are looked for, never prefixes: their order differs from version to version. The tests follow the table in the
//! project's notes on formats, checked against Claude Code 1.0.128 to 2.1.330.

mod not_a_session;
mod quoted;

pub use not_a_session::NotASession;
pub(crate) use not_a_session::foreign;

use chat_event::broken::MOST_LEVELS;
use chat_event::depth::exceeds;
use chat_event::jsonl::{LineContent, LineSplitter};
use serde_json::Value;

use crate::dialect::{Dialect, Form};
use crate::parse::{event_data, is_event_field, parse_document, parse_line};
use not_a_session::describe;
use quoted::Quoted;

/// How much of a source is looked at before it is called no session.
pub const HEAD_BYTES: usize = 64 * 1024;

/// What the first bytes tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detection {
    /// This is the dialect.
    Found(Dialect),
    /// More bytes are needed to say.
    NeedMore,
    /// It is none.
    None(NotASession),
}

/// Tells the dialect from the first bytes of a source; `at_end` where there are no more.
///
/// ```
/// use chat_normalize::{Detection, Dialect, detect};
/// let head = b"a warning\n{\"uuid\":\"u\",\"session_id\":\"s\",\"subtype\":\"init\",\"type\":\"system\"}\n";
/// assert_eq!(detect(head, false), Detection::Found(Dialect::ClaudeStream));
/// ```
pub fn detect(head: &[u8], at_end: bool) -> Detection {
    let mut detector = Detector::default();
    let mut found = None;
    let mut splitter = LineSplitter::new();
    let mut take = |line: chat_event::jsonl::Line<'_>| {
        if found.is_none() {
            found = match line.content {
                LineContent::Bytes(bytes) => {
                    if line.number == 1 && detector.first.is_none() {
                        detector.first = foreign(bytes);
                    }
                    detector.line(line.number, &String::from_utf8_lossy(bytes))
                }
                LineContent::Zeros | LineContent::TooLong => {
                    detector.other(line.number, "no text");
                    None
                }
            };
        }
    };
    splitter.push(head, &mut take);
    if at_end {
        splitter.finish(&mut take);
    }
    match found.or_else(|| at_end.then(|| detector.at_end()).flatten()) {
        Some(dialect) => Detection::Found(dialect),
        None if at_end || detector.gave_up() => Detection::None(detector.not_a_session()),
        None => Detection::NeedMore,
    }
}

/// Looks at lines one by one until one is decisive.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    bytes: usize,
    weak: Option<Dialect>,
    first: Option<NotASession>,
    /// A value that began in the first line and is not whole: a pretty-printed document.
    document: Option<String>,
    /// The first line is nothing but a bracket: what follows are the document's parts, and no lines of their own.
    is_printed: bool,
    /// So far it is the bracket of a list, and nothing else.
    is_list: bool,
    /// Of the lines behind the one that begins a document: those that are values of their own and speak for a dialect, and
    /// those that can be parts of it.
    n_own: u64,
    n_parts: u64,
    quoted: Quoted,
}

/// What the lines of a document begin with that are not its first.
const PART_BEGINS: [char; 6] = ['{', '}', '[', ']', '"', ','];

/// A document that is printed over several lines is put together up to this size.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

impl Detector {
    /// Takes the next line; the dialect, once it is sure.
    pub(crate) fn line(&mut self, number: u64, text: &str) -> Option<Dialect> {
        self.bytes += text.len() + 1;
        if let Some(document) = &mut self.document {
            document.push('\n');
            document.push_str(text);
        }
        let trimmed = event_data(text).unwrap_or(text.trim_start());
        if trimmed.is_empty() {
            return None;
        }
        let parsed = parse_line(trimmed);
        let is_json = parsed.values.first().is_some_and(Value::is_object);
        let is_part = trimmed.starts_with(PART_BEGINS);
        let is_words = !is_json && !is_part && !is_event_field(text);
        let speaks = parsed.values.iter().any(|value| verdict(value).is_some());
        self.quoted.line(is_json, is_words, speaks);
        if let Some(dialect) = self.quoted.doubted {
            let is_shown = match self.bytes >= HEAD_BYTES {
                true => !self.quoted.is_quoted(),
                false => !self.quoted.is_in_doubt(),
            };
            return Some(dialect).filter(|_| is_shown);
        }
        let mut is_own = false;
        for value in &parsed.values {
            match verdict(value) {
                // A list with a line for each event is read by these lines, however long it is, and whatever is told
                // first.
                Some((Dialect::ChatEvents, _)) if self.is_list => {
                    (self.document, self.is_printed) = (None, false);
                    return Some(Dialect::ChatEvents);
                }
                Some((dialect, true)) if !self.is_printed && self.quoted.is_in_doubt() => {
                    self.quoted.doubted = Some(dialect);
                }
                Some((dialect, true)) if !self.is_printed => {
                    // A value that is printed behind it is a record, and not the document that the source is.
                    self.first.get_or_insert_with(|| NotASession {
                        line: number,
                        found: describe(value),
                    });
                    return Some(dialect);
                }
                Some((dialect, _)) => {
                    self.weak = self.weak.or(Some(dialect));
                    is_own = parsed.rest.is_none();
                }
                None => {}
            }
        }
        if self.document.is_some() {
            self.n_own += u64::from(is_own);
            self.n_parts += u64::from(is_part && parsed.rest.is_some());
        }
        if self.first.is_none() {
            let found = match parsed.values.first() {
                // Its items stand for it.
                Some(item) if trimmed.starts_with('[') && !item.is_object() => {
                    "a JSON array".to_owned()
                }
                Some(value) => describe(value),
                None if parsed.rest.is_none() && trimmed.starts_with('[') => {
                    "an empty JSON array".to_owned()
                }
                None if exceeds(trimmed, MOST_LEVELS) => {
                    format!("JSON that is nested deeper than {MOST_LEVELS}")
                }
                None if parsed.cut_off => {
                    "the beginning of a JSON value that does not end".to_owned()
                }
                None if trimmed.starts_with(['{', '[']) => "broken JSON".to_owned(),
                None if text.contains('\0') => "a binary file".to_owned(),
                None => "plain text".to_owned(),
            };
            // Where it is no text there are no lines.
            let is_text = !text.contains('\0');
            let line = if is_text { number } else { 0 };
            self.first = Some(NotASession { line, found });
            if parsed.cut_off && parsed.values.is_empty() && trimmed.starts_with(['{', '[']) {
                self.document = Some(text.to_owned());
                self.is_printed = matches!(trimmed.trim_end(), "[" | "{");
                self.is_list = trimmed.trim_end() == "[";
                return None;
            }
        }
        // What is spread over lines is read as a whole.
        self.is_list = false;
        None
    }

    /// Takes a line that is no text.
    pub(crate) fn other(&mut self, number: u64, found: &str) {
        self.bytes += 1;
        if self.first.is_none() {
            self.first = Some(NotASession {
                line: number,
                found: found.to_owned(),
            });
        }
    }

    /// The dialect where nothing decisive came to the end.
    pub(crate) fn at_end(&self) -> Option<Dialect> {
        let of_document = self.document.as_ref().and_then(|document| {
            let parsed = parse_document(document);
            let verdicts: Vec<_> = parsed.values.iter().filter_map(verdict).collect();
            let decisive = verdicts.iter().find(|(_, sure)| *sure).or(verdicts.first());
            let dialect = decisive.map(|(dialect, _)| *dialect);
            // Only documents are known to be cut off so, and lists of events.
            let is_one = |dialect: &Dialect| {
                dialect.form() == Form::Document || *dialect == Dialect::ChatEvents
            };
            dialect.filter(|dialect| !parsed.cut_off || is_one(dialect))
        });
        of_document.or_else(|| self.likely())
    }

    /// The dialect that its lines speak for, unless they stand in a text that quotes them.
    fn likely(&self) -> Option<Dialect> {
        let dialect = self.quoted.doubted.or(self.weak);
        dialect.filter(|_| !self.quoted.is_quoted())
    }

    /// The document the source is, where it is one printed over several lines.
    pub(crate) fn document(&self) -> Option<&str> {
        self.document.as_deref()
    }

    /// Whether the source is a document printed over several lines, as far as its first line shows.
    pub(crate) fn is_printed(&self) -> bool {
        self.is_printed
    }

    /// Whether enough was seen to call it no session.
    pub(crate) fn gave_up(&self) -> bool {
        match self.document {
            // What is neither read as lines by now nor whole is too long.
            Some(_) => self.bytes >= MAX_DOCUMENT_BYTES,
            None => self.likely().is_none() && self.bytes >= HEAD_BYTES,
        }
    }

    /// Whether enough was seen to go by what is likely. A document that seemed to begin is none then: its line is torn.
    pub(crate) fn settled(&mut self) -> Option<Dialect> {
        let is_seen = match self.document {
            None => self.bytes >= HEAD_BYTES,
            // What is printed has lines that are values, too, but few.
            Some(_) if self.is_printed => false,
            Some(_) => {
                let is_mostly_own = self.n_own > self.n_parts && self.bytes >= HEAD_BYTES;
                is_mostly_own || (self.n_own > 0 && self.bytes >= MAX_DOCUMENT_BYTES)
            }
        };
        let dialect = self.likely().filter(|_| is_seen)?;
        self.document = None;
        Some(dialect)
    }

    pub(crate) fn not_a_session(&self) -> NotASession {
        if self.document.is_some() && self.bytes >= MAX_DOCUMENT_BYTES {
            return NotASession {
                line: 1,
                found: "the beginning of a JSON document of more than 16 MiB".to_owned(),
            };
        }
        self.first.clone().unwrap_or(NotASession {
            line: 0,
            found: "empty".to_owned(),
        })
    }
}

/// The dialect one value speaks for, and whether that decides.
fn verdict(value: &Value) -> Option<(Dialect, bool)> {
    Dialect::all().find_map(|dialect| {
        let recognise = dialect.profile().recognise;
        recognise(value).map(|sure| (dialect, sure))
    })
}
