//! Texts that come in pieces: found over the joints of pieces that follow each other. A match there is the later piece's.

use std::borrow::Cow;

use chat_feed::find::cleaned;
use serde::Deserialize;
use serde_json::Value;

use super::texts::Texts;
use super::{Needle, snippet};

/// A line with a piece of a text, as most of them are.
#[derive(Debug, Deserialize)]
pub(super) struct Piece<'l> {
    #[serde(borrow, default)]
    pub(super) id: Cow<'l, str>,
    #[serde(borrow, rename = "type")]
    pub(super) event_type: Cow<'l, str>,
    #[serde(borrow, rename = "responseId", default)]
    pub(super) response_id: Option<Cow<'l, str>>,
    #[serde(borrow)]
    pub(super) payload: PiecePayload<'l>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PiecePayload<'l> {
    /// A tool's pieces call it otherwise.
    #[serde(borrow, alias = "chunk")]
    pub(super) text: Cow<'l, str>,
    #[serde(borrow, rename = "toolCallId", default)]
    pub(super) tool_call_id: Option<Cow<'l, str>>,
    #[serde(borrow, default)]
    pub(super) stream: Option<Cow<'l, str>>,
    #[serde(default)]
    pub(super) part: Value,
}

impl Piece<'_> {
    pub(super) fn has_text(&self) -> bool {
        self.event_type.ends_with("_chunk")
    }

    pub(super) fn of(&self) -> [Value; 5] {
        let value = |text: &Option<Cow<'_, str>>| text.as_deref().map_or(Value::Null, Value::from);
        [
            Value::from(&*self.event_type),
            value(&self.response_id),
            value(&self.payload.tool_call_id),
            value(&self.payload.stream),
            self.payload.part.clone(),
        ]
    }
}

/// The end of the text that came last in pieces.
#[derive(Debug, Default)]
pub(super) struct Joint {
    /// Type, response or call, stream and part: what the pieces have in common.
    of: [Value; 5],
    tail: String,
}

impl Joint {
    /// What is found in the event, or over the joint with the piece before it.
    pub(super) fn find(&mut self, event: &Value, texts: &mut Texts<'_>) -> Option<String> {
        let payload = &event["payload"];
        let kind = event["type"].as_str().unwrap_or_default();
        let text = payload["text"].as_str().or(payload["chunk"].as_str());
        let text = text.filter(|_| kind.ends_with("_chunk"));
        let Some(text) = text else {
            return texts.find_in(payload);
        };
        let of = [
            event["type"].clone(),
            event["responseId"].clone(),
            payload["toolCallId"].clone(),
            payload["stream"].clone(),
            payload["part"].clone(),
        ];
        let found = self.take(of, text, texts.needle(), true);
        found.or_else(|| texts.find_in(payload))
    }

    /// What is found in the next piece's text or over the joint before it; without `may_be_in` over the joint alone.
    pub(super) fn take(
        &mut self,
        of: [Value; 5],
        text: &str,
        needle: &Needle,
        may_be_in: bool,
    ) -> Option<String> {
        if self.of != of {
            self.tail.clear();
            self.of = of;
        }
        let text = &*cleaned(text);
        let before = self.tail.len();
        self.tail.push_str(text);
        let reach = match text.char_indices().nth(needle.n_chars()) {
            Some((reach, _)) if !may_be_in => before + reach,
            Some(_) | None => self.tail.len(),
        };
        let found = needle.find(&self.tail[..reach]);
        // A place that lies before the joint was the earlier piece's match.
        let found = found.filter(|(_, end)| *end > before).or_else(|| {
            let (from, to) = needle.find(text).filter(|_| may_be_in)?;
            Some((before + from, before + to))
        });
        let snippet = found.map(|(from, to)| snippet(&self.tail, from, to));
        // One less than the text to find: a whole one would be found again.
        let keep = needle.n_chars().saturating_sub(1);
        let cut = self.tail.char_indices().rev().nth(keep.saturating_sub(1));
        let cut = cut.map_or(0, |(cut, _)| if keep == 0 { self.tail.len() } else { cut });
        self.tail.drain(..cut);
        snippet
    }
}
