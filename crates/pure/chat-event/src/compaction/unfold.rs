//! Taking a survivor apart into the events it stands for.

use std::borrow::Cow;

use super::ids::IdRuns;
use super::kind::{self, Kind};
use crate::event::ChatEvent;
use crate::json::Json;

/// A survivor of compaction, and the events it stands for.
///
/// ```
/// use chat_event::{ChatEvent, compaction::Folded};
/// let line = r#"{"seq":3,"id":"d","timestamp":130,"sessionId":"s","type":"assistant_done","payload":{"text":"Hello","timing":[[0,2],[30,3],[50,0]],"span":[1,3],"ids":[["c",1,2]]}}"#;
/// let survivor = ChatEvent::from_json(line).unwrap();
/// let folded = Folded::of(&survivor).unwrap();
/// assert_eq!(folded.span(), Some((1, 3)));
/// let lines: Vec<_> = folded.events().map(|event| event.to_line()).collect();
/// assert_eq!(lines[1], r#"{"seq":2,"id":"c2","timestamp":110,"sessionId":"s","type":"assistant_chunk","payload":{"text":"llo"}}"#);
/// assert_eq!(lines[2], r#"{"seq":3,"id":"d","timestamp":130,"sessionId":"s","type":"assistant_done","payload":{"text":"Hello"}}"#);
/// ```
#[derive(Clone, Debug)]
pub struct Folded<'e> {
    event: &'e ChatEvent,
    kind: Kind,
    text: Cow<'e, str>,
    timing: Vec<(i64, u64)>,
    /// Of all but the survivor, where they are told.
    ids: Option<IdRuns>,
    span: Option<(u64, u64)>,
    /// Where the first of them stands.
    place: Option<u64>,
    /// How many events are chunks: all, or all but the last.
    n_chunks: usize,
}

impl<'e> Folded<'e> {
    /// The survivor that this event is; `None` for any other, also where what it says of the folding does not go together:
    /// such an event is what it is without it.
    pub fn of(event: &'e ChatEvent) -> Option<Folded<'e>> {
        // Nearly all events have none, and cost nothing more.
        let timing: Vec<(i64, u64)> = kind::timing_of(&event.payload)?.parse()?;
        let extra = kind::extra_of(&event.payload)?;
        let (kind, text, is_chunk) = kind::said_by(&event.payload)?;
        let &(_, of_last) = timing.last()?;
        // A `_done` has a pair of its own, without characters; of one that has none its time is the last piece's.
        let n_chunks = match is_chunk || of_last > 0 {
            true => timing.len(),
            false => timing.len() - 1,
        };
        let mut n_chars = 0u64;
        for &(_, of_piece) in &timing {
            n_chars = n_chars.checked_add(of_piece)?;
        }
        let n_there = text.chars().count() as u64;
        let n_others = if is_chunk { n_chunks - 1 } else { n_chunks };
        // All of a chunk's text is that of its pieces; a `_done` may say more than they did.
        if n_chars > n_there || is_chunk && n_chars < n_there || n_others == 0 {
            return None;
        }
        let ids = match extra.get(super::IDS) {
            Some(ids) => Some(IdRuns::read(ids, n_others)?),
            None => None,
        };
        let span = match kind::span_of(&event.payload) {
            Some((from, to)) => {
                let n_numbers = to.checked_sub(from)?.checked_add(1)?;
                let holds = from > 0 && event.seq == Some(to) && n_numbers == n_others as u64 + 1;
                Some((from, to)).filter(|_| holds)
            }
            None => None,
        };
        // With a number it must say which numbers it stands for.
        if event.seq.is_some_and(|seq| seq > 0) && span.is_none() {
            return None;
        }
        let index = || extra.get("index").and_then(Json::parse);
        let place = match is_chunk {
            true => kind::place_of(&event.payload),
            false => index(),
        };
        Some(Folded {
            event,
            kind,
            text,
            timing,
            ids,
            span,
            place,
            n_chunks,
        })
    }

    /// How many events it stands for, itself included.
    pub fn n_events(&self) -> usize {
        self.n_others() + 1
    }

    /// More than this, by [`Folded::n_bytes`], is not taken apart: a short line could stand for any number of bytes.
    pub const MOST_BYTES: usize = 64 * 1024 * 1024;

    /// About how many bytes the events it stands for are as lines: each repeats what names its turn and its call.
    pub fn n_bytes(&self) -> usize {
        let one = ChatEvent {
            extra: Default::default(),
            payload: kind::empty_chunk(&self.kind),
            ..self.event.clone_envelope()
        };
        let repeated = self.n_events().saturating_mul(one.to_line().len());
        repeated.saturating_add(self.text.len())
    }

    /// The first and the last of the `seq`s it stands for, where the log has numbers.
    pub fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// The ids of the events that were folded into it.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        self.ids.iter().flat_map(IdRuns::iter)
    }

    /// The times of the events that were folded into it, in their order.
    pub fn times(&self) -> impl Iterator<Item = Option<i64>> {
        let others = self.timing.iter().take(self.n_others());
        others.map(|&(ms, _)| self.time_of(ms))
    }

    /// The event of that id, where it stands for it.
    pub fn event_of_id(&self, id: &str) -> Option<ChatEvent> {
        if self.event.id == id {
            return self.events().last();
        }
        let at = self.ids.as_ref()?.position(id)?;
        self.events().nth(usize::try_from(at).ok()?)
    }

    /// The events it stands for, in order, the survivor as it was last. Those whose ids are not told have none.
    pub fn events(&self) -> impl Iterator<Item = ChatEvent> {
        let ids = self.ids.iter().flat_map(IdRuns::iter).map(Some);
        let mut ids = ids.chain(std::iter::repeat(None));
        let mut rest = &*self.text;
        let mut place = self.place;
        let survivor = (!self.is_chunk()).then(|| self.without_members());
        let pieces = self.timing.iter().take(self.n_chunks).enumerate();
        let chunks = pieces.map(move |(nth, &(ms, n_chars))| {
            let (text, behind) = split_chars(rest, n_chars);
            rest = behind;
            let mut payload = kind::empty_chunk(&self.kind);
            if let Some(slot) = kind::text_mut(&mut payload) {
                text.clone_into(slot);
            }
            kind::set_place(&mut payload, place);
            place = kind::next_place(&self.kind, place, n_chars);
            let is_survivor = nth == self.n_others();
            if is_survivor {
                let mut last = self.without_members();
                last.payload = payload;
                return last;
            }
            ChatEvent {
                seq: self.span.map(|(from, _)| from + nth as u64),
                id: ids.next().flatten().unwrap_or_default(),
                timestamp: self.time_of(ms),
                recv: None,
                extra: Default::default(),
                payload,
                ..self.event.clone_envelope()
            }
        });
        chunks.chain(survivor)
    }

    fn is_chunk(&self) -> bool {
        kind::chunk_of(&self.event.payload).is_some()
    }

    fn n_others(&self) -> usize {
        match self.is_chunk() {
            true => self.n_chunks - 1,
            false => self.n_chunks,
        }
    }

    fn time_of(&self, ms: i64) -> Option<i64> {
        let &(own_ms, _) = self.timing.last()?;
        let since = ms.saturating_sub(own_ms);
        Some(self.event.timestamp?.saturating_add(since))
    }

    /// The survivor as it was before anything was folded into it; of a chunk all but its payload.
    fn without_members(&self) -> ChatEvent {
        let mut event = self.event.clone();
        if let Some(members) = kind::members_mut(&mut event.payload) {
            members.clear();
        }
        event.extra.remove("c");
        event
    }
}

/// Cuts so many characters off the beginning.
fn split_chars(text: &str, n_chars: u64) -> (&str, &str) {
    let n_chars = usize::try_from(n_chars).unwrap_or(usize::MAX);
    let at = text
        .char_indices()
        .nth(n_chars)
        .map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}
