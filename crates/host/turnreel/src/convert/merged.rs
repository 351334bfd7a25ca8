//! Several sources of one run as one session: what its hooks, its stream and its log say is said once.
//!
//! The sources are read side by side, turn by turn: so the session reads in order though most sources tell no times that
//! could be compared, and turns are told apart. What several say of a turn is laid side by side (`order`), so that it does
//! not matter which of them was named first.

mod ahead;
mod order;

use std::collections::{HashMap, VecDeque};

use chat_event::{ChatEvent, Payload};
use chat_normalize::Merge;

use super::inputs::{Input, Origin};
use super::reading::{Failed, Session};
use ahead::Next;

/// As many sources are told apart.
pub(super) const MAX_SOURCES: usize = 32;

/// So many events are taken at once.
const STEP_EVENTS: usize = 4096;

/// So far is looked ahead for a turn that another source tells now.
const AHEAD_EVENTS: usize = 8192;

/// A turn of more events is told in pieces.
const MAX_TURN_EVENTS: usize = 100_000;

/// So many pieces of a source are read to learn whose session it is, before anything is told.
const FIRST_PIECES: usize = 4;

struct Source {
    name: String,
    origin: Origin,
    /// It lay in a folder, and is no session.
    skipped: bool,
    session: Box<dyn Session>,
    /// What was read and not told, each with what it is about.
    queue: VecDeque<(ChatEvent, Option<u64>)>,
    /// How many events were told: the place of the first that is in the queue.
    n_told: u64,
    /// The places of those with which turns begin.
    begins: VecDeque<u64>,
    /// The last place in the queue of what events are about.
    last_places: HashMap<u64, u64>,
    /// The turn that it tells next, since that is known.
    next: Option<Next>,
    /// There may be more behind the queue.
    more: bool,
    ended: bool,
    n_turns: u64,
    /// It tells no times of its own, but when its lines arrived.
    is_untimed: bool,
    /// What was told last is a piece of a turn that goes on.
    is_cut: bool,
    /// The session's id in the program's own words, as the source says it first.
    native_id: Option<String>,
    /// The session that it begins with, and how many events are of one in which the program went on.
    session_id: Option<String>,
    n_of_others: u64,
}

/// One session of several sources on its way in.
pub(super) struct Merged {
    merge: Merge,
    sources: Vec<Source>,
    session_id: Option<String>,
    /// The time that a source told last.
    now_ms: Option<i64>,
    n_events: u64,
}

impl Merged {
    /// The session of these sources, each with what it is read from.
    pub(super) fn new(sources: Vec<(&Input, Box<dyn Session>)>) -> Self {
        Merged {
            merge: Merge::new(sources.len()),
            sources: sources
                .into_iter()
                .map(|(input, session)| Source::new(input.name(), input.origin, session))
                .collect(),
            session_id: None,
            now_ms: None,
            n_events: 0,
        }
    }

    /// Reads until each source has a turn and what is looked ahead for, or is at its end.
    fn fill(&mut self) -> Result<(), Failed> {
        for source in &mut self.sources {
            while source.more && !source.has_enough() {
                source.read()?;
            }
        }
        self.check_ids()
    }

    /// Learns whose session it is.
    fn begin(&mut self) -> Result<(), Failed> {
        self.fill()?;
        for source in &mut self.sources {
            for _ in 0..FIRST_PIECES {
                if source.more && source.native_id.is_none() {
                    source.read()?;
                }
            }
        }
        self.check_ids()?;
        if self.sources.iter().all(|source| source.skipped) {
            return Err(Failed::Merge("no file is a session".to_owned()));
        }
        let known = self
            .sources
            .iter()
            .find(|source| source.native_id.is_some());
        let first = known.or(self.sources.first());
        let event = first.and_then(|source| source.queue.front());
        let id = event.map(|(event, _)| event.session_id.clone());
        self.session_id = Some(id.unwrap_or_default());
        Ok(())
    }

    fn check_ids(&self) -> Result<(), Failed> {
        let mut known = self
            .sources
            .iter()
            .filter_map(|source| Some((source.native_id.as_deref()?, &source.name)));
        let Some((id, name)) = known.next() else {
            return Ok(());
        };
        match known.find(|(other, _)| *other != id) {
            None => Ok(()),
            Some((other, other_name)) => {
                let clean = chat_feed::projections::trace::clean;
                Err(Failed::Merge(format!(
                    "not one session: {name} is of {}, {other_name} of {}",
                    clean(id),
                    clean(other)
                )))
            }
        }
    }

    /// When the lines of a file arrived says nothing where another source tells when they were written: what stands
    /// beside them has their time.
    fn tell_times(&mut self, told: &mut [(usize, ChatEvent)]) {
        let is_untimed = |at: usize| {
            let source = self.sources.get(at);
            source.is_some_and(|source| source.is_untimed)
        };
        if (0..self.sources.len()).all(is_untimed) || !(0..self.sources.len()).any(is_untimed) {
            return;
        }
        let mut timed = told.iter().filter(|(at, _)| !is_untimed(*at));
        let first_ms = timed.find_map(|(_, event)| event.timestamp);
        let mut now_ms = self.now_ms.or(first_ms);
        for (at, event) in told {
            if !is_untimed(*at) {
                now_ms = event.timestamp.or(now_ms);
                continue;
            }
            event.timestamp = now_ms;
            if let Payload::SessionStart(start) = &mut event.payload {
                start.timestamp_source = None;
            }
        }
        self.now_ms = now_ms;
    }

    fn end_sources(&mut self, events: &mut Vec<ChatEvent>) {
        for (at, source) in self.sources.iter_mut().enumerate() {
            if !source.more && source.queue.is_empty() && !source.ended {
                source.ended = true;
                self.merge.end(at, events);
            }
        }
    }
}

impl Source {
    fn new(name: String, origin: Origin, session: Box<dyn Session>) -> Self {
        Source {
            name,
            origin,
            skipped: false,
            session,
            queue: VecDeque::new(),
            n_told: 0,
            begins: VecDeque::new(),
            last_places: HashMap::new(),
            next: None,
            more: true,
            ended: false,
            n_turns: 0,
            is_untimed: false,
            is_cut: false,
            native_id: None,
            session_id: None,
            n_of_others: 0,
        }
    }

    fn has_enough(&self) -> bool {
        let n = self.queue.len();
        n >= MAX_TURN_EVENTS || (n >= AHEAD_EVENTS && self.n_next() < n)
    }

    /// How many events belong to the turn that it tells next: a turn ends where another begins.
    fn n_next(&self) -> usize {
        let behind = self.begins.get(usize::from(!self.is_cut));
        let n = behind.map(|behind| usize::try_from(behind - self.n_told).unwrap_or(usize::MAX));
        n.unwrap_or(self.queue.len())
    }

    /// The place behind the turn that it tells next.
    fn behind_next(&self) -> u64 {
        self.n_told + self.n_next() as u64
    }

    /// Takes the events of its next turn.
    fn take(&mut self) -> Vec<ChatEvent> {
        let n = self.n_next();
        let is_whole = n < self.queue.len() || !self.more;
        if is_whole {
            self.n_turns += 1;
        }
        self.is_cut = !is_whole;
        let mut events = Vec::with_capacity(n);
        for (event, key) in self.queue.drain(..n) {
            if let Some(key) = key
                && self.last_places.get(&key) == Some(&self.n_told)
            {
                self.last_places.remove(&key);
            }
            self.n_told += 1;
            events.push(event);
        }
        let n_begun = self.begins.partition_point(|place| *place < self.n_told);
        self.begins.drain(..n_begun);
        events
    }

    fn put(&mut self, event: ChatEvent) {
        let place = self.n_told + self.queue.len() as u64;
        if order::begins_turn(&event) {
            self.begins.push_back(place);
        }
        let key = order::key_of(&event);
        if let Some(key) = key {
            self.last_places.insert(key, place);
        }
        self.queue.push_back((event, key));
    }

    fn read(&mut self) -> Result<(), Failed> {
        let mut events = Vec::new();
        let read = self.session.read(&mut events);
        self.more = match read {
            Ok(more) => more,
            // What a folder holds beside sessions is no fault.
            Err(Failed::NotASession(_)) if self.origin == Origin::Found => {
                self.skipped = true;
                false
            }
            Err(why) => return Err(Failed::Merge(format!("{why}: {}", self.name))),
        };
        let is_log = self.session.is_log();
        for event in events {
            let first = self
                .session_id
                .get_or_insert_with(|| event.session_id.clone());
            if !is_log && *first != event.session_id {
                self.n_of_others += 1;
                continue;
            }
            if let Payload::SessionStart(start) = &event.payload {
                self.is_untimed |= start.timestamp_source.as_deref() == Some("arrival");
                if self.native_id.is_none() {
                    self.native_id.clone_from(&start.native_id);
                }
            }
            self.put(event);
        }
        Ok(())
    }
}

impl Session for Merged {
    fn read(&mut self, events: &mut Vec<ChatEvent>) -> Result<bool, Failed> {
        let before = events.len();
        if self.session_id.is_none() {
            self.begin()?;
        }
        let mut more = true;
        while events.len() - before < STEP_EVENTS {
            self.fill()?;
            self.end_sources(events);
            let group = ahead::next(&mut self.sources);
            if group.is_empty() {
                self.merge.finish(events);
                more = false;
                break;
            }
            let mut taken = Vec::new();
            for at in group {
                if let Some(source) = self.sources.get_mut(at)
                    && let Some(next) = source.next.take()
                {
                    taken.push((at, next.stretch, source.take()));
                }
            }
            let turns = taken.iter().map(|(at, stretch, _)| (*at, stretch.turn()));
            self.merge.same_turn(turns);
            let mut told = order::side_by_side(taken);
            self.tell_times(&mut told);
            for (at, event) in told {
                self.merge.take(at, event, events);
            }
        }
        let merged = events.get_mut(before..).unwrap_or_default();
        self.n_events += merged.len() as u64;
        for event in merged {
            event.session_id = self.session_id.clone().unwrap_or_default();
        }
        Ok(more)
    }

    fn n_bytes(&self) -> u64 {
        self.sources
            .iter()
            .map(|source| source.session.n_bytes())
            .sum()
    }

    fn n_events(&self) -> u64 {
        self.n_events
    }

    fn n_skipped(&self) -> usize {
        self.sources.iter().filter(|source| source.skipped).count()
    }

    fn faults(&self) -> Vec<String> {
        let of = |source: &Source| -> Vec<String> {
            let n = source.n_of_others;
            let others = (n > 0).then(|| format!("{n} events of another session were left out"));
            let faults = source.session.faults().into_iter();
            faults
                .chain(others)
                .map(|fault| format!("{fault} of {}", source.name))
                .collect()
        };
        self.sources.iter().flat_map(of).collect()
    }
}
