//! Several sources of one session, as one: what hooks, a stream and a file say of the same run is said once.
//!
//! Each source is read by a reader of its own; their events come in as they come. What says something new goes on, in a
//! turn that all sources share; what was said is left out. Nothing here knows a provider: two events say the same by
//!
//! | what | the same where |
//! |---|---|
//! | a call, its input | the call's id; where a source numbers them, the turn and what it does (`calls`) |
//! | a result, its output | the call's id, and whether it goes on in the background (`background`); "no result" gives way to a real one, and one without what the call gave to one with it |
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

mod background;
mod calls;
mod compactions;
mod counts;
mod edits;
mod facts;
mod statuses;
mod tell;
mod texts;
mod turns;
mod wording;
mod written;

use std::collections::{BTreeMap, HashMap};

use chat_event::{ChatEvent, Payload};

use background::Background;
use calls::Calls;
use compactions::Compacted;
use counts::Counts;
use edits::Edited;
use statuses::is_guessed;
use texts::Chunks;
use turns::Turns;
use wording::Wording;
use written::Written;

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
    /// How often each fact was told.
    told: Counts,
    /// Facts that stand once.
    once: HashMap<u64, Strength>,
    background: Background,
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
    sources: u32,
    ended: u32,
    status: Option<(String, Option<String>)>,
    /// The turn that it was told in, and when.
    status_at: (Option<String>, Option<i64>),
    idle: Option<(usize, ChatEvent)>,
    dropped: u64,
    wording: Wording,
    /// What went out, and what stands in a log already.
    written: Written,
}

/// How well a source knows what it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Guess,
    Bare,
    /// It may not know that it tells only a beginning.
    Plain,
    Sure,
}

impl Strength {
    fn of(guess: bool) -> Self {
        match guess {
            true => Strength::Guess,
            false => Strength::Sure,
        }
    }
}

impl Merge {
    /// What stands in the log, of [`Merge::beside_log`].
    pub const LOG: usize = 0;

    /// What is told beside the log.
    pub const OWN: usize = 1;

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
            written: Written::beside(Self::LOG),
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

    /// Takes the next event of a source; sources are numbered by the caller, from 0.
    pub fn take(&mut self, source: usize, event: ChatEvent, out: &mut Vec<ChatEvent>) {
        let source = source.min(MAX_SOURCES - 1);
        self.sources |= 1 << source;
        self.ended &= !(1 << source);
        if self.written.comes_again(source, &event) {
            self.dropped += 1;
            return;
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

    /// Whether no other source can know better.
    fn alone(&self, source: usize) -> bool {
        self.sources & !self.ended & !(1 << source) == 0
    }
}
