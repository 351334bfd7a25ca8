//! In which order the rows of a session are told: a call stands below the text that announces it.
//!
//! The table has a text only as it begins, without a word of it, and as it is whole, which is after the rows of the calls
//! behind it (`agents.md`, "Pairing and order"). So what comes from such a call on waits, whatever it is:
//!
//! | what comes, or does not | what is told |
//! |---|---|
//! | the last of the texts before the call is whole | these texts, then what waited |
//! | the step, the message or another message of that session shows that no more of it comes | what waited, then that |
//! | nothing for [`LONGEST`], more than [`MOST_ROWS`] or [`MOST_BYTES`] | what waited |

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::event_table::{Data, Event};

/// A text is whole some hundredths of a second after its call, where the model writes no long input for that.
const LONGEST: Duration = Duration::from_secs(1);

/// What comes in that time is less, where it is no history.
const MOST_ROWS: usize = 256;
const MOST_BYTES: usize = 1 << 20;

/// A row with what it says, or why that cannot be read.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) event: Event,
    pub(super) properties: Result<Value, String>,
}

impl Row {
    pub(super) fn of(mut event: Event) -> Row {
        let properties = match &event.data {
            Data::Text(data) => serde_json::from_str::<Value>(data).map_err(|why| why.to_string()),
            Data::Long(bytes) => Err(format!("its {bytes} bytes are more than 16 MiB")),
        };
        // It is there once.
        if let Data::Text(data) = &mut event.data {
            event.data = Data::Long(data.len());
        }
        Row { event, properties }
    }

    fn bytes(&self) -> usize {
        match self.event.data {
            Data::Long(bytes) if self.properties.is_ok() => bytes,
            _ => 0,
        }
    }
}

/// Rows on their way.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The texts that are not whole, by session: the message, and the parts in it.
    open: BTreeMap<String, (String, BTreeSet<String>)>,
    held: Option<Held>,
}

/// What waits.
#[derive(Debug)]
struct Held {
    since: Instant,
    session: String,
    message: String,
    /// The texts that it waits for.
    awaited: BTreeSet<String>,
    /// Those that came, which are told first.
    texts: Vec<Row>,
    rows: Vec<Row>,
    bytes: usize,
}

/// What a row is to this order.
enum What<'a> {
    /// A text or a thought of a message, and whether it is whole.
    Text(&'a str, &'a str, bool),
    Call(&'a str),
    /// Nothing more comes of what stands in the message, or in any but it.
    End(&'a str),
    AnotherThan(&'a str),
    Aside,
}

impl Order {
    /// Takes a row: what is to be told now.
    pub(super) fn push(&mut self, row: Row, now: Instant) -> Vec<Row> {
        let what = row.properties.as_ref().map_or(What::Aside, What::of);
        let session = &row.event.session;
        if let What::Text(message, part, is_whole) = what {
            self.note(session, message, part, is_whole);
        }
        let Some(held) = &mut self.held else {
            let open = self.open.get(session);
            let awaited = match what {
                What::Call(message) => open.filter(|(of, _)| of == message),
                _ => None,
            };
            let Some((message, awaited)) = awaited else {
                return vec![row];
            };
            self.held = Some(Held {
                since: now,
                session: session.clone(),
                message: message.clone(),
                awaited: awaited.clone(),
                texts: Vec::new(),
                bytes: row.bytes(),
                rows: vec![row],
            });
            return Vec::new();
        };
        held.bytes += row.bytes();
        let is_its_own = *session == held.session;
        match what {
            What::Text(_, part, true) if is_its_own && held.awaited.remove(part) => {
                held.texts.push(row);
                if held.awaited.is_empty() {
                    return self.let_go(None);
                }
            }
            What::End(message) if is_its_own && message == held.message => {
                return self.let_go_before(row);
            }
            What::Text(message, ..) | What::Call(message) | What::AnotherThan(message)
                if is_its_own && message != held.message =>
            {
                return self.let_go_before(row);
            }
            _ => held.rows.push(row),
        }
        let n_rows = held.rows.len() + held.texts.len();
        if n_rows >= MOST_ROWS || held.bytes >= MOST_BYTES {
            return self.let_go(None);
        }
        Vec::new()
    }

    /// What waited until now for long enough, or all that waits.
    pub(super) fn let_go(&mut self, now: Option<Instant>) -> Vec<Row> {
        let is_over = |held: &mut Held| {
            now.is_none_or(|now| now.saturating_duration_since(held.since) >= LONGEST)
        };
        let Some(mut held) = self.held.take_if(is_over) else {
            return Vec::new();
        };
        // Nothing waits for these again.
        if !held.awaited.is_empty() {
            self.open.remove(&held.session);
        }
        held.texts.append(&mut held.rows);
        held.texts
    }

    fn let_go_before(&mut self, row: Row) -> Vec<Row> {
        let mut rows = self.let_go(None);
        rows.push(row);
        rows
    }

    pub(super) fn holds_any(&self) -> bool {
        self.held.is_some()
    }

    fn note(&mut self, session: &str, message: &str, part: &str, is_whole: bool) {
        if !is_whole {
            let open = self.open.entry(session.to_owned()).or_default();
            if open.0 != message {
                *open = (message.to_owned(), BTreeSet::new());
            }
            open.1.insert(part.to_owned());
            return;
        }
        if let Some((_, parts)) = self.open.get_mut(session) {
            parts.remove(part);
            if parts.is_empty() {
                self.open.remove(session);
            }
        }
    }
}

impl What<'_> {
    fn of(properties: &Value) -> What<'_> {
        if let Some(part) = properties.get("part") {
            let (Some(id), Some(message)) = (text(part, "id"), text(part, "messageID")) else {
                return What::Aside;
            };
            return match text(part, "type") {
                // A prompt's have no time.
                Some("text" | "reasoning") if part.pointer("/time/start").is_some() => {
                    What::Text(message, id, part.pointer("/time/end").is_some())
                }
                Some("tool") => What::Call(message),
                Some("step-finish") => What::End(message),
                _ => What::Aside,
            };
        }
        let Some(info) = properties.get("info") else {
            return What::Aside;
        };
        match (text(info, "id"), text(info, "role")) {
            (Some(id), Some("assistant")) => {
                let is_over =
                    info.pointer("/time/completed").is_some() || info.get("error").is_some();
                match is_over {
                    true => What::End(id),
                    false => What::AnotherThan(id),
                }
            }
            _ => What::Aside,
        }
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}
