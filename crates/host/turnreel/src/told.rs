//! Lines of a log as readers are sent them: long bodies stand as references, and are fetched when somebody asks for them
//! (tier 3 of `protocol.md` 5.5). The log itself keeps them inline, up to its own limit.
//!
//! A line that holds no long body is sent as it stands. One that does is written anew, without the checksum, which is of
//! the line in the log.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Deref;
use std::sync::OnceLock;

use chat_event::compaction::Folded;
use chat_event::{BodyRef, ChatEvent, PREVIEW_BYTES, bodies};
use chat_store::{Page, PageRequest, Stored, sha256_hex};

use crate::error::ApiError;

/// What a reader is given of long bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bodies {
    /// References to them.
    Referred,
    /// All that the log has.
    Whole,
}

impl Bodies {
    /// As a query asks for them.
    ///
    /// # Errors
    ///
    /// 400 for other words.
    pub(crate) fn asked(bodies: Option<&str>) -> Result<Self, ApiError> {
        match bodies {
            None | Some("" | "referred") => Ok(Bodies::Referred),
            Some("full") => Ok(Bodies::Whole),
            Some(_) => {
                let message = "bodies: expected `referred` or `full`";
                Err(ApiError::bad_request("bad_bodies", message))
            }
        }
    }
}

/// A stored event, and its line as it is told: that is written once for all who are told it.
#[derive(Debug)]
pub(crate) struct Told {
    stored: Stored,
    /// `None` where the log's own line is told.
    line: OnceLock<Option<Box<str>>>,
}

impl Told {
    pub(crate) fn new(stored: Stored) -> Self {
        let line = OnceLock::new();
        Told { stored, line }
    }

    /// Whether its line is long enough to hold a body that is.
    pub(crate) fn may_be_shortened(&self) -> bool {
        self.stored.line.len() > PREVIEW_BYTES
    }

    /// The line that readers are sent.
    pub(crate) fn told_line(&self) -> &str {
        let stored = &self.stored;
        let line = self
            .line
            .get_or_init(|| shortened(&stored.line, || Some(stored.event.clone())));
        line.as_deref().unwrap_or(&stored.line)
    }
}

impl Deref for Told {
    type Target = Stored;

    fn deref(&self) -> &Stored {
        &self.stored
    }
}

/// Takes the line apart that stands for events on both sides of `place`, which is as far as a reader has them: a run of pieces
/// may have become one line since. Of those of the page, which begins behind `after`, each stands alone then. A line whose text
/// lies elsewhere stays whole. Whether one was taken apart.
pub(crate) fn part_at(page: &mut Page, after: u64, place: u64) -> bool {
    let at = page.numbers.partition_point(|&seq| seq <= place);
    let (1.., Some(line)) = (place, page.lines.get(at)) else {
        return false;
    };
    let event = ChatEvent::from_json(line).ok();
    let Some(folded) = event.as_ref().and_then(Folded::of) else {
        return false;
    };
    if folded.span().is_none_or(|(from, _)| from > place) {
        return false;
    }
    let numbered = folded
        .events()
        .filter_map(|piece| Some((piece.seq.filter(|&seq| seq > after)?, piece.to_line())));
    let (numbers, lines): (Vec<u64>, Vec<String>) = numbered.unzip();
    page.numbers.splice(at..=at, numbers);
    page.lines.splice(at..=at, lines);
    true
}

/// As [`part_at`] for who asks for a page behind what he has. What is more than he asked for then is left to the next page.
pub(crate) fn part_at_beginning(page: &mut Page, request: PageRequest) {
    if !part_at(page, request.after, request.after) {
        return;
    }
    let mut bytes = 0;
    let fits = |line: &&String| {
        bytes += line.len();
        bytes <= request.max_bytes
    };
    let n_fit = page
        .lines
        .iter()
        .take(request.limit)
        .take_while(fits)
        .count();
    let n_fit = n_fit.max(1);
    if n_fit < page.lines.len() {
        page.lines.truncate(n_fit);
        page.numbers.truncate(n_fit);
        page.next = page.numbers[n_fit - 1];
        page.gaps.retain(|gap| gap.to <= page.next);
    }
}

/// Makes the lines of a page what readers are sent.
pub(crate) fn shorten(page: &mut Page) {
    for line in &mut page.lines {
        if let Cow::Owned(told) = told_line(line) {
            *line = told;
        }
    }
}

/// A line of a log, as it is told.
fn told_line(line: &str) -> Cow<'_, str> {
    match shortened(line, || ChatEvent::from_json(line).ok()) {
        Some(told) => Cow::Owned(told.into()),
        None => Cow::Borrowed(line),
    }
}

/// The line with references for its long bodies, where it has any. Most lines are too short for one.
fn shortened(line: &str, event: impl FnOnce() -> Option<ChatEvent>) -> Option<Box<str>> {
    if line.len() <= PREVIEW_BYTES || !type_of(line).is_none_or(|of| bodies::TYPES.contains(&of)) {
        return None;
    }
    let mut event = event()?;
    let mut n_taken = 0;
    let taking = bodies::take_out(&mut event, PREVIEW_BYTES, &mut |text| {
        n_taken += 1;
        Ok::<_, Infallible>(BodyRef::to(text, sha256_hex(text.as_bytes())))
    });
    let Ok(()) = taking;
    if n_taken == 0 {
        return None;
    }
    event.extra.remove("c");
    Some(event.to_line().into())
}

/// The event's type, where the line is of our own writing: nothing before it in an envelope can be taken for it.
fn type_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(r#""type":""#)?;
    let (event_type, _) = rest.split_once('"')?;
    Some(event_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str) -> String {
        let text = serde_json::Value::from(text);
        format!(
            r#"{{"seq":7,"id":"r","timestamp":1,"sessionId":"s","type":"tool_result","payload":{{"toolCallId":"t","result":{{"n":1.50,"out":{text}}},"later":1.0}},"c":"00000000"}}"#
        )
    }

    #[test]
    fn a_line_without_long_bodies_is_told_as_it_stands() {
        let short = result(&"x".repeat(4096));
        assert!(matches!(told_line(&short), Cow::Borrowed(_)));
        let odd = "z".repeat(9000);
        assert!(matches!(told_line(&odd), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_body_is_told_as_a_reference_and_all_else_word_for_word() {
        let text = "a line\n".repeat(2000);
        let line = result(&text);
        let told = told_line(&line);
        assert!(told.len() < 8000, "{} bytes", told.len());
        let mut event = ChatEvent::from_json(&told).unwrap();
        let Ok(()) = bodies::put_back(&mut event, &mut |reference| {
            assert_eq!(reference.sha256, sha256_hex(text.as_bytes()));
            assert_eq!(reference.excerpt(), chat_event::Excerpt::of(&text));
            Ok::<_, Infallible>(Some(text.clone()))
        });
        let whole = line.replace(r#","c":"00000000""#, "");
        assert_eq!(event.to_line(), whole);
    }
}
