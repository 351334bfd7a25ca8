//! Several sources of one session, as one: what hooks, a stream and a file say of the same run is said once.
//!
//! Each source is read by a reader of its own; their events come in as they come. What says something new goes on, in a
//! turn that all sources share; what was said is left out. Nothing here knows a provider: two events say the same by
//!
//! | what | the same where |
//! |---|---|
//! | a call, its input | the call's id; where a source numbers them, the turn and what it does (`calls`) |
//! | a result, its output | the call's id, and whether it goes on in the background; "no result" gives way to a real one, and one without what the call gave to one with it |
//! | a file edit | call and path, and which of these it is; one gives way to one that tells more: which file, its lines, where they stand |
//! | a text, a thought | response and part, or turn, caller and words; who told a part may word it anew |
//! | chunks | one source tells those of a part; behind its whole text none are told |
//! | a user's words, a notice, an error, progress, a plan | turn and words |
//! | a question, a permission, and its answer | the call, or what is asked |
//! | usage | the response; the turn; the same sums |
//! | a fact of the session | name and value |
//! | a compaction | which one it is; one gives way to one that tells its figures |
//! | a try to reach the provider again | the turn and which of how many |
//! | anything else | its payload |
//!
//! "Turn and words" counts: of words that one source says twice and another once, two are told. So the order in which
//! sources are read does not matter, and neither does which of them said it first.
//!
//! A turn is another source's turn (`turns`) by its id or its prompt's id, by a call or response in it, by the user's
//! words; where a source has only numbers for its turns, by when it began and what was done in it; else it is the first
//! that nothing speaks against. Until that is known, its beginning waits.
//!
//! A turn that only some sources have (a command that the program answers itself) can be taken for another where the
//! sources are read more than a turn apart; no words are lost then, but some can be told twice.
//!
//! An end that is guessed (`guessed`, "no result", a session's end) waits for the sources that may know better, until
//! they are at their end. What is kept are hashes of what was said, the ids of calls, and what waits.
//!
//! Where what the others say stands in a log already, as while they go on, that log is a source of which nothing is told
//! again ([`Merge::beside_log`]).

mod calls;
mod facts;
mod tell;
mod turns;
mod wording;

use std::collections::{BTreeMap, HashMap, HashSet};

use chat_event::{ChatEvent, Payload};

use crate::emit::{clean_id, hash, short_hash};
use crate::recent::Recent;
use calls::Calls;
use facts::{Fact, fact_of};
use turns::Turns;
use wording::Wording;

/// How many sources are told apart; those beyond are taken as one.
const MAX_SOURCES: usize = 32;

/// Merges the events of one session's sources.
///
/// ```
/// use chat_normalize::{Context, Merge, SessionReader};
/// let hook = br#"{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt_id":"p1","prompt":"Hi"}"#;
/// let file = br#"{"type":"user","uuid":"u1","promptId":"p1","sessionId":"s1","message":{"content":"Hi"}}"#;
/// let mut merge = Merge::new(2);
/// let mut merged = Vec::new();
/// for (source, line) in [&hook[..], &file[..]].into_iter().enumerate() {
///     let mut reader = SessionReader::new(Context::default());
///     let mut events = Vec::new();
///     reader.push(line, 0, &mut events).unwrap();
///     reader.finish(0, &mut events).unwrap();
///     for event in events {
///         merge.take(source, event, &mut merged);
///     }
///     merge.end(source, &mut merged);
/// }
/// merge.finish(&mut merged);
/// let said = merged.iter().filter(|event| event.payload.event_type() == "user_message");
/// assert_eq!(said.count(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Merge {
    turns: Turns,
    calls: Calls,
    /// How often each fact was told, at most by one source, and by each.
    told: HashMap<u64, Told>,
    /// Facts that stand once.
    once: HashMap<u64, Strength>,
    /// Which source told a part as a whole, and the words it bears now.
    wholes: HashMap<u64, (usize, u64)>,
    /// Which source tells the chunks of a part or a call, and the ids of those that may have to be taken back.
    chunks: HashMap<u64, Chunks>,
    /// File edits, by call and path.
    edits: HashMap<u64, Edited>,
    /// Compactions that were told without figures, by their number; and which of them the log takes back now.
    compacted: BTreeMap<u32, Compacted>,
    taken_back: Option<u32>,
    /// Requests, each with the one that was told for it.
    requests: HashMap<String, String>,
    request_of: HashMap<(u64, u32), String>,
    /// What waits for one who knows better, in the order it came.
    waiting: BTreeMap<u64, (usize, ChatEvent)>,
    waiting_of: HashMap<u64, u64>,
    n_waiting: u64,
    seen: HashMap<u64, (u64, u32)>,
    ids: HashSet<u64>,
    /// The last number put behind an id that came more than once, of those that came last.
    repeats: Recent<u32>,
    sources: u32,
    ended: u32,
    status: Option<(String, Option<String>)>,
    /// The turn that it was told in, and when.
    status_at: (Option<String>, Option<i64>),
    idle: Option<(usize, ChatEvent)>,
    dropped: u64,
    /// The source that stands in a log already.
    log: Option<usize>,
    wording: Wording,
    /// Whether that log ends with the session's end, and when that was.
    over: bool,
    over_ms: Option<i64>,
}

#[derive(Debug, Default)]
struct Told {
    most: u32,
    by: Vec<(usize, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Guess,
    Bare,
    Sure,
}

/// What was told of the edits that one call made of one file.
#[derive(Debug)]
struct Edited {
    worth: facts::Worth,
    /// Who told it first.
    by: usize,
    /// The events, as long as one may come that is worth more.
    ids: Vec<String>,
}

/// A compaction that was told without figures.
#[derive(Debug)]
struct Compacted {
    id: String,
    summary: Option<String>,
    /// One with figures stands for it.
    is_replaced: bool,
}

#[derive(Debug)]
struct Chunks {
    by: usize,
    ids: Vec<String>,
}

impl Merge {
    /// A stage for so many sources; what is guessed waits for those of them that are not at their end. More may join.
    pub fn new(sources: usize) -> Self {
        let sources = u32::try_from(sources.min(MAX_SOURCES)).unwrap_or_default();
        Merge {
            sources: u32::MAX.checked_shr(32 - sources).unwrap_or_default(),
            ..Merge::default()
        }
    }

    /// A stage for one source, [`Merge::OWN`], beside what stands in a log: that is source [`Merge::LOG`], and of it nothing
    /// is told. What the own source told comes back with the log, and is the log's then.
    pub fn beside_log() -> Self {
        Merge {
            log: Some(Self::LOG),
            ..Merge::new(2)
        }
    }

    /// Texts are compared by what this makes of them, the same for a text and for what the log has of it: there, secrets may be
    /// masked. Events are told as they come.
    #[must_use]
    pub fn compared_by(mut self, words: fn(&str) -> String) -> Self {
        self.wording = Wording(Some(words));
        self.turns.wording = self.wording;
        self
    }

    /// What stands in the log, of [`Merge::beside_log`].
    pub const LOG: usize = 0;

    /// What is told beside the log.
    pub const OWN: usize = 1;

    /// Takes the next event of a source; sources are numbered by the caller, from 0.
    pub fn take(&mut self, source: usize, event: ChatEvent, out: &mut Vec<ChatEvent>) {
        let source = source.min(MAX_SOURCES - 1);
        self.sources |= 1 << source;
        self.ended &= !(1 << source);
        let print = hash(payload_text(&event).as_bytes());
        let seen = self
            .seen
            .entry(hash(event.id.as_bytes()))
            .or_insert((print, 0));
        if seen.0 == print && seen.1 & (1 << source) != 0 {
            // The same source tells it again: it was delivered twice.
            self.dropped += 1;
            return;
        }
        if seen.0 == print {
            seen.1 |= 1 << source;
        }
        if self.log == Some(source) {
            self.ids.insert(hash(event.id.as_bytes()));
            self.note_end(&event);
        }
        let mut ready = Vec::new();
        self.turns.place(source, event, &mut ready);
        for event in ready {
            self.tell(source, event, out);
        }
    }

    /// These turns of sources are one turn: who reads them side by side may know it before their events tell.
    pub fn same_turn(&mut self, turns: impl Iterator<Item = (usize, Option<String>)>) {
        let known = turns.filter_map(|(source, turn)| Some((source.min(MAX_SOURCES - 1), turn?)));
        self.turns.same(known.collect());
    }

    /// A source is at its end.
    pub fn end(&mut self, source: usize, out: &mut Vec<ChatEvent>) {
        let source = source.min(MAX_SOURCES - 1);
        let mut ready = Vec::new();
        self.turns.settle(source, &mut ready);
        for event in ready {
            self.tell(source, event, out);
        }
        self.ended |= 1 << source;
        if self.sources & !self.ended == 0 {
            self.release(out);
        }
        // Nobody is left who knows whether the session works on.
        let guessed = self.idle.as_ref().filter(|(_, idle)| is_guessed(idle));
        if guessed.is_some_and(|(by, _)| self.alone(*by))
            && let Some((source, idle)) = self.idle.take()
        {
            self.tell_status(source, idle, out);
        }
    }

    /// All sources are at their end: what waited is told.
    pub fn finish(&mut self, out: &mut Vec<ChatEvent>) {
        for source in 0..MAX_SOURCES {
            if self.sources & !self.ended & (1 << source) != 0 {
                self.end(source, out);
            }
        }
        self.release(out);
    }

    /// How many events said nothing new.
    pub fn left_out(&self) -> u64 {
        self.dropped
    }

    /// Whether no other source can know better.
    fn alone(&self, source: usize) -> bool {
        self.sources & !self.ended & !(1 << source) == 0
    }

    /// Tells an event whose turn is known, if it says something new.
    fn tell(&mut self, source: usize, mut event: ChatEvent, out: &mut Vec<ChatEvent>) {
        self.calls.rename(source, &mut event, self.wording);
        if self.log == Some(source)
            && let Payload::Retract(retract) = &event.payload
        {
            let is_it = |(_, told): &(&u32, &Compacted)| retract.event_ids.contains(&told.id);
            let taken_back = self.compacted.iter().find(is_it).map(|(n, _)| *n);
            self.taken_back = taken_back.or(self.taken_back);
        }
        match fact_of(&event, source, self.wording) {
            Fact::Counted(key) => {
                if self.count(key, source) {
                    self.write(source, event, out);
                } else {
                    self.dropped += 1;
                }
            }
            Fact::Edit { key, worth } => self.tell_edit(key, worth, source, event, out),
            Fact::Compaction { has_figures } => {
                self.tell_compaction(has_figures, source, event, out);
            }
            Fact::Once(key) => self.tell_once(key, Strength::Sure, source, event, out),
            Fact::Bare(key) => self.tell_once(key, Strength::Bare, source, event, out),
            Fact::Guessed(key) => self.tell_once(key, Strength::Guess, source, event, out),
            Fact::Whole { part, words, guess } => {
                self.tell_whole(part, words, guess, source, event, out)
            }
            Fact::Chunk { part } => self.tell_chunk(part, source, event, out),
            Fact::Sum { key, context } => {
                let fresh = self.count(key, source);
                let news = context
                    .is_some_and(|context| self.once.insert(context, Strength::Sure).is_none());
                if !fresh && news {
                    // Only that is new: the sum was told, and others since.
                    facts::keep_context(&mut event.payload);
                }
                if fresh || news {
                    self.write(source, event, out);
                } else {
                    self.dropped += 1;
                }
            }
            Fact::TurnStart => {
                if self.turns.start(event.turn_id.as_deref()) {
                    self.write(source, event, out);
                } else {
                    self.dropped += 1;
                }
            }
            Fact::TurnEnd { key, guess } => {
                let strength = if guess {
                    Strength::Guess
                } else {
                    Strength::Sure
                };
                self.tell_once(key, strength, source, event, out);
            }
            Fact::Request(key) => {
                let fresh = self.count(key, source);
                let n = self.count_of(key, source);
                let Some(id) = facts::request_id(&mut event.payload).cloned() else {
                    return;
                };
                let told = self
                    .request_of
                    .entry((key, n))
                    .or_insert_with(|| id.clone());
                self.requests.insert(id, told.clone());
                if fresh {
                    self.write(source, event, out);
                } else {
                    self.dropped += 1;
                }
            }
            Fact::Answer { guess } => {
                if let Some(id) = facts::request_id(&mut event.payload) {
                    if let Some(told) = self.requests.get(id) {
                        id.clone_from(told);
                    }
                    let key = hash(format!("answer\0{id}").as_bytes());
                    let strength = if guess {
                        Strength::Guess
                    } else {
                        Strength::Sure
                    };
                    self.tell_once(key, strength, source, event, out);
                }
            }
            Fact::SessionStart => self.tell_facts(source, event, out),
            Fact::Status => self.tell_status(source, event, out),
        }
    }

    /// Counts a fact; whether this source told it more often than any before.
    fn count(&mut self, key: u64, source: usize) -> bool {
        let told = self.told.entry(key).or_default();
        let at = match told.by.iter().position(|(by, _)| *by == source) {
            Some(at) => at,
            None => {
                told.by.push((source, 0));
                told.by.len() - 1
            }
        };
        let n = &mut told.by[at].1;
        *n = n.saturating_add(1);
        let fresh = *n > told.most;
        told.most = told.most.max(*n);
        fresh
    }

    fn count_of(&self, key: u64, source: usize) -> u32 {
        let by = self.told.get(&key).map(|told| told.by.as_slice());
        let by = by.unwrap_or_default().iter().find(|(by, _)| *by == source);
        by.map_or(0, |(_, n)| *n)
    }

    /// Tells what waited, for no one knows better any more; the session's end comes last.
    fn release(&mut self, out: &mut Vec<ChatEvent>) {
        self.waiting_of.clear();
        let waiting = std::mem::take(&mut self.waiting).into_values();
        let (last, first): (Vec<_>, Vec<_>) =
            waiting.partition(|(_, event)| matches!(event.payload, Payload::SessionEnd(_)));
        for (source, event) in first {
            self.tell(source, event, out);
        }
        if let Some((source, idle)) = self.idle.take()
            && !self.turns.any_open()
        {
            self.tell_status(source, idle, out);
        }
        for (source, event) in last {
            self.tell(source, event, out);
        }
    }

    /// Writes an event; its id is made another where another fact has it. The id it bears.
    fn write(&mut self, source: usize, mut event: ChatEvent, out: &mut Vec<ChatEvent>) -> String {
        if self.log == Some(source) || self.stands(&event) {
            return event.id;
        }
        if !self.ids.insert(hash(event.id.as_bytes())) {
            let stem = match self.log {
                None => format!("{}~s{source}", event.id),
                // Others that tell the log number theirs, too.
                Some(_) => format!("{}~{}", event.id, short_hash(&payload_text(&event))),
            };
            // The number is kept: an id that stands everywhere must not be counted through each time.
            let n = self.repeats.entry(&stem);
            loop {
                *n += 1;
                event.id = clean_id(&format!("{stem}.{n}"));
                if self.ids.insert(hash(event.id.as_bytes())) {
                    break;
                }
            }
        }
        let id = event.id.clone();
        self.note_end(&event);
        out.push(event);
        id
    }

    /// Notes whether the session is over with this event: it ends with it, or ended before and only its figures come behind, or
    /// facts of before: those of a later run are of a session that goes on.
    fn note_end(&mut self, event: &ChatEvent) {
        let stays_over = match &event.payload {
            Payload::Usage(_) => true,
            Payload::SessionStart(_) => {
                let times = event.timestamp.zip(self.over_ms);
                times.is_some_and(|(told_ms, over_ms)| told_ms < over_ms)
            }
            _ => false,
        };
        if is_end(event) {
            self.over_ms = event.timestamp;
        }
        self.over = is_end(event) || (self.over && stays_over);
    }

    /// Whether this very event is in the log.
    fn stands(&self, event: &ChatEvent) -> bool {
        let (Some(log), Some((print, by))) = (self.log, self.seen.get(&hash(event.id.as_bytes())))
        else {
            return false;
        };
        by & (1 << log) != 0 && *print == hash(payload_text(event).as_bytes())
    }
}

/// Whether a status is told because nothing came for a while.
fn is_guessed(event: &ChatEvent) -> bool {
    matches!(&event.payload, Payload::SessionStatus(status) if status.guessed == Some(true))
}

fn is_end(event: &ChatEvent) -> bool {
    matches!(event.payload, Payload::SessionEnd(_))
}

/// What an event says, as text: two events that say the same have the same.
fn payload_text(event: &ChatEvent) -> String {
    let payload = serde_json::to_string(&event.payload).unwrap_or_default();
    format!("{}\0{payload}", event.payload.event_type())
}
