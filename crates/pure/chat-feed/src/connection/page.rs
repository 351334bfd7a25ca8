//! A page of a log, as a server answers it.

use chat_event::ChatEvent;
use chat_event::cursor::Cursor;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Some events that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The log's epoch.
    pub epoch: String,
    /// The last event there is.
    pub head: u64,
    /// The last event of this page: the next one begins behind it. `None` where the server does not say.
    pub next: Option<u64>,
    /// The events.
    pub events: Vec<ChatEvent>,
    /// Holes for good: first, last, why.
    pub gaps: Vec<(u64, u64, String)>,
    /// What is allowed beside reading, on the page that ends the log.
    pub may: Option<Vec<String>>,
}

impl Page {
    /// Reads an answer.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for people.
    pub fn read(body: &[u8]) -> Result<Page, String> {
        #[derive(Deserialize)]
        struct Answer<'a> {
            epoch: String,
            #[serde(default)]
            head: u64,
            #[serde(default)]
            next: Value,
            #[serde(borrow)]
            events: Vec<&'a RawValue>,
            #[serde(default)]
            gaps: Vec<Gap>,
            #[serde(default)]
            may: Option<Vec<String>>,
        }
        #[derive(Deserialize)]
        struct Gap {
            from: u64,
            to: u64,
            #[serde(default)]
            why: String,
        }
        let answer: Answer<'_> = serde_json::from_slice(body).map_err(|why| why.to_string())?;
        let events = answer
            .events
            .iter()
            .map(|event| ChatEvent::from_json(event.get()))
            .collect::<Result<_, _>>()
            .map_err(|why| why.to_string())?;
        let next = match &answer.next {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse::<Cursor>().ok().map(|cursor| cursor.seq),
            _ => None,
        };
        let gaps = answer.gaps.into_iter();
        Ok(Page {
            epoch: answer.epoch,
            head: answer.head,
            next,
            events,
            gaps: gaps.map(|gap| (gap.from, gap.to, gap.why)).collect(),
            may: answer.may,
        })
    }
}

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageError {
    /// The server answered with this status, and may have said when to come back.
    Status {
        /// The status.
        code: u16,
        /// `Retry-After`, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// Nobody answered, or not with a page.
    NoAnswer,
}
