//! Texts that came in pieces, put together as they are shown, and looked through as wholes: a secret may begin in one
//! piece and end in the next.

use std::collections::BTreeMap;
use std::ops::Range;

use chat_event::{ChatEvent, Payload};

use super::find::{Found, apart, find};
use super::known::Known;
use super::labels::Labels;

/// A piece of a text, and the field it stands in.
pub(super) fn piece_of(event: &ChatEvent) -> Option<(&'static str, &str)> {
    match &event.payload {
        Payload::AssistantChunk(chunk) => Some(("text", &chunk.text)),
        Payload::ThinkingChunk(chunk) => Some(("text", &chunk.text)),
        Payload::ToolInputChunk(chunk) => Some(("chunk", &chunk.chunk)),
        Payload::ToolOutputChunk(chunk) => Some(("chunk", &chunk.chunk)),
        _ => None,
    }
}

/// What a piece is a piece of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Whole {
    sort: &'static str,
    place: [String; 3],
}

impl Whole {
    /// What the event is a piece of, or what it brings whole, which ends the pieces.
    pub(super) fn of(event: &ChatEvent) -> Option<(Whole, bool)> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (sort, is_piece, call) = match &event.payload {
            Payload::AssistantChunk(_) => ("answer", true, None),
            Payload::AssistantDone(_) => ("answer", false, None),
            Payload::ThinkingChunk(_) => ("thinking", true, None),
            Payload::ThinkingDone(_) => ("thinking", false, None),
            Payload::ToolInputChunk(chunk) => ("input", true, Some(&chunk.tool_call_id)),
            Payload::ToolCall(call) => ("input", false, Some(&call.tool_call_id)),
            Payload::ToolOutputChunk(chunk) => ("output", true, Some(&chunk.tool_call_id)),
            Payload::ToolResult(result) => ("output", false, Some(&result.tool_call_id)),
            _ => return None,
        };
        let place = match call {
            Some(call) => [call.clone(), String::new(), String::new()],
            None => {
                let response = event.response_id.as_ref().or(event.turn_id.as_ref());
                let response = response.cloned().unwrap_or_default();
                [
                    response,
                    text(&event.agent_id),
                    text(&event.parent_tool_call_id),
                ]
            }
        };
        Some((Whole { sort, place }, is_piece))
    }
}

#[derive(Debug)]
struct Piece {
    ordinal: u64,
    id: String,
    text: String,
    /// Where it belongs, as its source says.
    order: (u64, u64),
    /// Which of several texts that are shown as one.
    stream: String,
}

impl Piece {
    fn of(ordinal: u64, event: &ChatEvent, text: &str) -> Piece {
        let number = |number: Option<u32>| u64::from(number.unwrap_or(0));
        let (order, stream) = match &event.payload {
            Payload::AssistantChunk(chunk) => ((number(chunk.part), place(chunk.index)), None),
            Payload::ThinkingChunk(chunk) => ((number(chunk.part), place(chunk.index)), None),
            Payload::ToolInputChunk(chunk) => ((0, chunk.offset.unwrap_or(0)), None),
            Payload::ToolOutputChunk(chunk) => ((0, 0), chunk.stream.clone()),
            _ => ((0, 0), None),
        };
        Piece {
            ordinal,
            id: event.id.clone(),
            text: text.to_owned(),
            order,
            stream: stream.unwrap_or_default(),
        }
    }
}

fn place(index: Option<impl Into<u64>>) -> u64 {
    index.map_or(0, Into::into)
}

/// A part of a piece that is to be masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) found: Found,
    /// Whether what was found begins here; the label stands there and not again behind it.
    pub(super) begins: bool,
}

/// What was found in a text that came in pieces.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// The pieces' events, in order.
    pub(super) ordinals: Vec<u64>,
    /// Where what was found stands.
    pub(super) spans: BTreeMap<u64, Vec<Span>>,
}

/// The texts that are not whole yet.
#[derive(Debug, Default)]
pub(super) struct Parts {
    open: BTreeMap<Whole, Vec<Piece>>,
    /// What was found elsewhere, and is looked for as well.
    known: Option<(Known, Labels)>,
}

impl Parts {
    /// Texts in which what was found elsewhere is looked for, too.
    pub(super) fn knowing(known: Known, labels: Labels) -> Self {
        Parts {
            open: BTreeMap::new(),
            known: Some((known, labels)),
        }
    }

    /// Takes an event; what is whole with it is looked through.
    pub(super) fn push(&mut self, ordinal: u64, event: &ChatEvent) -> Option<Looked> {
        let (whole, is_piece) = Whole::of(event)?;
        if is_piece {
            let (_, text) = piece_of(event)?;
            let piece = Piece::of(ordinal, event, text);
            self.open.entry(whole).or_default().push(piece);
            return None;
        }
        let pieces = self.open.remove(&whole)?;
        Some(self.look(&pieces))
    }

    /// There is no more: what is left is looked through.
    pub(super) fn finish(&mut self) -> Vec<Looked> {
        let open = std::mem::take(&mut self.open);
        open.into_values()
            .map(|pieces| self.look(&pieces))
            .collect()
    }

    fn find(&self, text: &str) -> Vec<Found> {
        let mut all = find(text);
        if let Some((known, labels)) = &self.known {
            known.find(text, labels, &mut all);
        }
        apart(all)
    }

    fn look(&self, pieces: &[Piece]) -> Looked {
        // An event that comes again is shown once.
        let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
        let mut again: Vec<(usize, usize)> = Vec::new();
        let mut arrived = Vec::with_capacity(pieces.len());
        for (at, piece) in pieces.iter().enumerate() {
            let first = *first_of.entry(&piece.id).or_insert(at);
            if first == at || piece.id.is_empty() {
                arrived.push(at);
            } else {
                again.push((at, first));
            }
        }
        let mut looked = Looked {
            ordinals: pieces.iter().map(|piece| piece.ordinal).collect(),
            spans: BTreeMap::new(),
        };
        // As they are shown: by their numbers, else as they came.
        let mut by_order = arrived.clone();
        by_order.sort_by_key(|&at| pieces[at].order);
        let mut by_stream = arrived;
        by_stream.sort_by_key(|&at| &pieces[at].stream);
        let mut orders = vec![by_order];
        if !orders.contains(&by_stream) && pieces.iter().any(|piece| !piece.stream.is_empty()) {
            orders.push(by_stream);
        }
        for order in &orders {
            self.look_in_order(pieces, order, &mut looked.spans);
        }
        for spans in looked.spans.values_mut() {
            join(spans);
        }
        for (at, first) in again {
            let (piece, first) = (&pieces[at], &pieces[first]);
            // One that says something else under the same id stands for itself.
            let spans = if piece.text == first.text {
                looked.spans.get(&first.ordinal).cloned()
            } else {
                let found = self.find(&piece.text).into_iter();
                let spans = found.map(|found| Span {
                    range: found.range.clone(),
                    found,
                    begins: true,
                });
                Some(spans.collect())
            };
            if let Some(spans) = spans {
                looked.spans.insert(piece.ordinal, spans);
            }
        }
        looked
    }

    fn look_in_order(
        &self,
        pieces: &[Piece],
        order: &[usize],
        spans: &mut BTreeMap<u64, Vec<Span>>,
    ) {
        let mut whole = String::new();
        let mut begins = Vec::with_capacity(order.len());
        for &at in order {
            begins.push(whole.len());
            whole.push_str(&pieces[at].text);
        }
        for found in self.find(&whole) {
            let mut nth = begins
                .partition_point(|&begin| begin <= found.range.start)
                .saturating_sub(1);
            let mut is_first = true;
            while let Some(&begin) = begins.get(nth).filter(|&&begin| begin < found.range.end) {
                let piece = &pieces[order[nth]];
                let end = begin + piece.text.len();
                let range = found.range.start.max(begin)..found.range.end.min(end);
                if !range.is_empty() {
                    spans.entry(piece.ordinal).or_default().push(Span {
                        range: range.start - begin..range.end - begin,
                        found: found.clone(),
                        begins: is_first,
                    });
                    is_first = false;
                }
                nth += 1;
            }
        }
    }
}

/// What overlaps is one.
fn join(spans: &mut Vec<Span>) {
    spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans.drain(..) {
        match joined
            .last_mut()
            .filter(|last| span.range.start < last.range.end)
        {
            Some(last) => {
                last.range.end = last.range.end.max(span.range.end);
                last.begins |= span.begins;
            }
            None => joined.push(span),
        }
    }
    *spans = joined;
}
