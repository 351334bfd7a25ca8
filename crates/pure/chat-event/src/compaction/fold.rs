//! Folding runs of chunks, one line of a log after the other.

use super::Folded;
use super::ids::IdRuns;
use super::kind::{self, Kind};
use crate::event::ChatEvent;
use crate::json::Json;
use crate::payload::Payload;

/// A run is folded when it has so many bytes of text, whatever follows: what is held of a log is bounded by it.
const MOST_RUN_BYTES: usize = 2 * 1024 * 1024;
/// The same of its events.
const MOST_RUN_EVENTS: usize = 64 * 1024;
/// A `_done` whose members of compaction are longer stays as it is: the longest line that is read has 16 MiB.
const MOST_MEMBER_BYTES: usize = 2 * 1024 * 1024;
/// A survivor of chunks alone is no longer than what a reader is sent at once, and what stands in a line.
const MOST_SURVIVOR_BYTES: usize = 128 * 1024;
const MOST_SURVIVOR_EVENTS: usize = 4 * 1024;
/// Times that lie further apart are no rhythm, and no number that every reader of JSON keeps.
const MOST_MS: u64 = 1 << 52;
/// A longer result may be sent to a reader as a reference, which says nothing of when each piece of it was printed.
const MOST_RESULT_BYTES: usize = crate::PREVIEW_BYTES;

/// Folds the runs of chunks of one log.
///
/// Lines come in with whatever stands for them (`L`: their bytes, their place), and those that nothing is folded into go
/// out by it, so that they stay what they were to the byte. What follows a run decides how it is folded, so a line may
/// wait for the next; what waits is at most one open text.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_event::compaction::{Compactor, Out};
/// let log = [
///     r#"{"id":"c1","timestamp":100,"sessionId":"s","type":"assistant_chunk","payload":{"text":"He"}}"#,
///     r#"{"id":"c2","timestamp":130,"sessionId":"s","type":"assistant_chunk","payload":{"text":"llo"}}"#,
///     r#"{"id":"d","timestamp":150,"sessionId":"s","type":"assistant_done","payload":{"text":"Hello"}}"#,
/// ];
/// let mut compacted = Vec::new();
/// let mut compactor = Compactor::new();
/// let mut write = |out| compacted.push(match out {
///     Out::AsItWas(line) => String::from(line),
///     Out::Folded(event) => event.to_line(),
/// });
/// for line in log {
///     compactor.push(line, ChatEvent::from_json(line).ok(), &mut write);
/// }
/// compactor.finish(&mut write);
/// assert_eq!(compacted, [r#"{"id":"d","timestamp":150,"sessionId":"s","type":"assistant_done","payload":{"text":"Hello","timing":[[0,2],[30,3],[50,0]],"ids":[["c",1,2]]}}"#]);
/// ```
#[derive(Clone, Debug)]
pub struct Compactor<L> {
    run: Option<Run<L>>,
}

/// A line of the compacted log.
#[derive(Clone, Debug, PartialEq)]
pub enum Out<L> {
    /// One that nothing was folded into.
    AsItWas(L),
    /// A survivor. It bears the `c` of its old line where that had one: the new line needs a new one.
    Folded(Box<ChatEvent>),
}

impl<L> Default for Compactor<L> {
    fn default() -> Self {
        Compactor { run: None }
    }
}

impl<L> Compactor<L> {
    /// A compactor at the beginning of a log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next line, with the event it holds where it could be read, and gives out what can change no more.
    pub fn push(&mut self, line: L, event: Option<ChatEvent>, out: &mut dyn FnMut(Out<L>)) {
        let Some(event) = event else {
            self.finish(out);
            return out(Out::AsItWas(line));
        };
        if let Some(piece) = Piece::of(&event) {
            match &mut self.run {
                Some(run) if run.goes_on_with(&event, &piece) => {
                    run.push(&event, &piece);
                    if run.is_full() {
                        run.shorten(out);
                    }
                }
                _ => {
                    let run = Run::new(line, &event, &piece);
                    self.finish(out);
                    self.run = Some(run);
                }
            }
            return;
        }
        let run = self.run.take();
        let folded = run.as_ref().and_then(|run| run.folded_into(&event));
        match (folded, run) {
            (Some(survivor), _) => out(Out::Folded(Box::new(survivor))),
            (None, run) => {
                if let Some(run) = run {
                    run.end(out);
                }
                out(Out::AsItWas(line));
            }
        }
    }

    /// The log is at its end, or what follows is another's.
    pub fn finish(&mut self, out: &mut dyn FnMut(Out<L>)) {
        if let Some(run) = self.run.take() {
            run.end(out);
        }
    }
}

/// A chunk that may be folded.
struct Piece<'e> {
    kind: Kind,
    text: &'e str,
    place: Option<u64>,
}

impl<'e> Piece<'e> {
    /// Chunks that say more than all chunks do are left as they are, and so are survivors.
    fn of(event: &'e ChatEvent) -> Option<Piece<'e>> {
        let (kind, text, extra) = kind::chunk_of(&event.payload)?;
        let is_bare = event.extra.iter().all(|(key, _)| key == "c");
        let has_name = event.seq != Some(0) && !event.id.is_empty();
        (extra.is_empty() && is_bare && has_name).then(|| Piece {
            kind,
            text,
            place: kind::place_of(&event.payload),
        })
    }
}

/// What is kept of an event of a run.
#[derive(Clone, Debug)]
struct Member {
    id: String,
    ms: i64,
    n_chars: u64,
    /// Where its text ends in that of the run.
    end: usize,
}

/// Chunks that stand together.
#[derive(Clone, Debug)]
struct Run<L> {
    /// The line of the first, for one that stays alone; gone where some of the run was given out.
    line: Option<L>,
    kind: Kind,
    /// The newest, without what it says.
    last: ChatEvent,
    /// Of the first.
    seq: Option<u64>,
    at_ms: Option<i64>,
    place: Option<u64>,
    /// Where a piece that goes on with it must stand.
    next_place: Option<u64>,
    text: String,
    members: Vec<Member>,
}

impl<L> Run<L> {
    fn new(line: L, event: &ChatEvent, piece: &Piece<'_>) -> Self {
        let mut run = Run {
            line: Some(line),
            kind: piece.kind.clone(),
            last: event.clone_envelope(),
            seq: event.seq,
            at_ms: event.timestamp,
            place: piece.place,
            next_place: piece.place,
            text: String::new(),
            members: Vec::new(),
        };
        run.push(event, piece);
        run
    }

    fn push(&mut self, event: &ChatEvent, piece: &Piece<'_>) {
        let n_chars = piece.text.chars().count() as u64;
        self.text.push_str(piece.text);
        self.members.push(Member {
            id: event.id.clone(),
            ms: event.timestamp.unwrap_or_default(),
            n_chars,
            end: self.text.len(),
        });
        self.next_place = kind::next_place(&self.kind, piece.place, n_chars);
        self.last = event.clone_envelope();
    }

    fn is_full(&self) -> bool {
        self.text.len() > MOST_RUN_BYTES || self.members.len() >= MOST_RUN_EVENTS
    }

    /// Whether the chunk is the next of the same text, and nothing of it would be lost.
    fn goes_on_with(&self, event: &ChatEvent, piece: &Piece<'_>) -> bool {
        piece.kind == self.kind
            && piece.place == self.next_place
            && piece.place.is_some() == self.place.is_some()
            && self.is_followed_by(event)
    }

    /// Whether an event stands right behind the run, and belongs to the same message.
    fn is_followed_by(&self, event: &ChatEvent) -> bool {
        let next_seq = self.last.seq.map(|seq| seq.checked_add(1));
        let has_a_time = match (self.at_ms, event.timestamp) {
            (Some(first), Some(at)) => at.abs_diff(first) <= MOST_MS,
            (first, at) => first.is_none() && at.is_none(),
        };
        next_seq == event.seq.map(Some)
            && has_a_time
            && !event.id.is_empty()
            && kind::same_envelope(&self.last, event)
    }

    /// The event that ends the text, with the run folded into it; `None` where it says something else than the run did.
    fn folded_into(&self, event: &ChatEvent) -> Option<ChatEvent> {
        let (text, part) = match (&event.payload, &self.kind) {
            (Payload::AssistantDone(done), Kind::Assistant { part }) => {
                (done.text.as_str().into(), done.part == *part)
            }
            (Payload::ThinkingDone(done), Kind::Thinking { part }) => {
                (done.text.as_str().into(), done.part == *part)
            }
            (Payload::ToolResult(result), Kind::Output { call, .. }) => {
                let text = result.result.as_str()?;
                let fits = text.len() <= MOST_RESULT_BYTES;
                (text, fits && result.tool_call_id == *call)
            }
            _ => return None,
        };
        let extra = kind::extra_of(&event.payload)?;
        let is_taken = |key: &str| extra.get(key).is_some();
        let is_survivor = kind::timing_of(&event.payload).is_some()
            || kind::span_of(&event.payload).is_some()
            || is_taken(super::IDS)
            || is_taken("index")
            || is_taken("stream");
        if !part || is_survivor || !self.is_followed_by(event) || !text.starts_with(&*self.text) {
            return None;
        }
        let mut survivor = event.clone();
        let mut pairs = pairs(&self.members);
        let since_first = event.timestamp.zip(self.at_ms);
        pairs.push((
            since_first.map_or(0, |(at, first)| at.saturating_sub(first)),
            0,
        ));
        let (timing, ids) = (timing(&pairs), ids(&self.members));
        if timing.text_len() + ids.text_len() > MOST_MEMBER_BYTES {
            return None;
        }
        let span = self.seq.zip(event.seq);
        let mut members = kind::members_mut(&mut survivor.payload)?;
        members.set(timing, span, ids);
        if let Some(place) = self.place {
            members.insert("index", Json::from(serde_json::Value::from(place)));
        }
        if let Kind::Output {
            stream: Some(stream),
            ..
        } = &self.kind
        {
            members.insert("stream", Json::string(stream));
        }
        // What cannot be taken apart again is not put together.
        Folded::of(&survivor)
            .is_some_and(|folded| folded.n_events() == pairs.len())
            .then_some(survivor)
    }

    /// What follows is none of its own: its last chunk stands for it, or the last of each part of a long one.
    fn end(mut self, out: &mut dyn FnMut(Out<L>)) {
        if self.members.len() == 1
            && let Some(line) = self.line.take()
        {
            return out(Out::AsItWas(line));
        }
        while !self.members.is_empty() {
            out(Out::Folded(Box::new(self.take_part())));
        }
    }

    /// Gives out all but the last part, which goes on.
    fn shorten(&mut self, out: &mut dyn FnMut(Out<L>)) {
        self.line = None;
        while self.n_in_part() < self.members.len() {
            out(Out::Folded(Box::new(self.take_part())));
        }
    }

    /// How many events have room in one survivor.
    fn n_in_part(&self) -> usize {
        let fits = |member: &&Member| member.end <= MOST_SURVIVOR_BYTES;
        let members = self.members.iter().take(MOST_SURVIVOR_EVENTS);
        members.take_while(fits).count().max(1)
    }

    /// Takes as many off the beginning, as the last of them with the text of all.
    fn take_part(&mut self) -> ChatEvent {
        let rest = self.members.split_off(self.n_in_part());
        let mut members = std::mem::replace(&mut self.members, rest);
        let mut survivor = self.last.clone();
        survivor.payload = kind::empty_chunk(&self.kind);
        let Some(last) = members.pop() else {
            return survivor;
        };
        let behind = self.text.split_off(last.end);
        let text = std::mem::replace(&mut self.text, behind);
        kind::set_place(&mut survivor.payload, self.place);
        if let Some(slot) = kind::text_mut(&mut survivor.payload) {
            *slot = text;
        }
        survivor.seq = self.seq.map(|seq| seq + members.len() as u64);
        survivor.id.clone_from(&last.id);
        survivor.timestamp = self.at_ms.map(|_| last.ms);
        if !self.members.is_empty() {
            // When it was stored was not kept, and is the newest's to say.
            survivor.recv = None;
        }
        let span = self.seq.zip(survivor.seq);
        let ids = ids(&members);
        members.push(last);
        if members.len() > 1
            && let Some(mut of_folding) = kind::members_mut(&mut survivor.payload)
        {
            of_folding.set(timing(&pairs(&members)), span, ids);
        }
        self.seq = survivor.seq.map(|seq| seq + 1);
        for member in &members {
            self.place = kind::next_place(&self.kind, self.place, member.n_chars);
        }
        let taken = members.last().map_or(0, |last| last.end);
        for member in &mut self.members {
            member.end -= taken;
        }
        self.at_ms = self.at_ms.and(self.members.first().map(|first| first.ms));
        survivor
    }
}

fn pairs(members: &[Member]) -> Vec<(i64, u64)> {
    let first = members.first().map_or(0, |member| member.ms);
    let pair = |member: &Member| (member.ms.saturating_sub(first), member.n_chars);
    members.iter().map(pair).collect()
}

fn timing(pairs: &[(i64, u64)]) -> Json {
    Json::from(serde_json::json!(pairs))
}

fn ids(members: &[Member]) -> Json {
    let mut runs = IdRuns::default();
    members.iter().for_each(|member| runs.push(&member.id));
    runs.to_json()
}
