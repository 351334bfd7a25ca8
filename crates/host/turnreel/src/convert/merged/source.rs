//! One of the sources: what was read of it and not told, and where its turns begin.

use std::collections::{HashMap, VecDeque};

use chat_event::{ChatEvent, Payload};

use super::super::inputs::Origin;
use super::super::reading::{Failed, Session};
use super::ahead::Next;
use super::order;

/// So far is looked ahead for a turn that another source tells now.
const AHEAD_EVENTS: usize = 8192;

/// A turn of more events is told in pieces.
const MAX_TURN_EVENTS: usize = 100_000;

pub(super) struct Source {
    pub(super) name: String,
    pub(super) origin: Origin,
    /// It lay in a folder, and is no session.
    pub(super) skipped: bool,
    pub(super) session: Box<dyn Session>,
    /// What was read and not told, each with what it is about.
    pub(super) queue: VecDeque<(ChatEvent, Option<u64>)>,
    /// How many events were told: the place of the first that is in the queue.
    pub(super) n_told: u64,
    /// The places of those with which turns begin.
    pub(super) begins: VecDeque<u64>,
    /// The last place in the queue of what events are about.
    pub(super) last_places: HashMap<u64, u64>,
    /// The turn that it tells next, since that is known.
    pub(super) next: Option<Next>,
    /// There may be more behind the queue.
    pub(super) more: bool,
    pub(super) ended: bool,
    pub(super) n_turns: u64,
    /// It tells no times of its own, but when its lines arrived.
    pub(super) is_untimed: bool,
    /// What was told last is a piece of a turn that goes on.
    pub(super) is_cut: bool,
    /// The session's id in the program's own words, as the source says it first.
    pub(super) native_id: Option<String>,
    /// The session that it begins with, and how many events are of one in which the program went on.
    pub(super) session_id: Option<String>,
    pub(super) n_of_others: u64,
}

impl Source {
    pub(super) fn new(name: String, origin: Origin, session: Box<dyn Session>) -> Self {
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

    pub(super) fn has_enough(&self) -> bool {
        let n = self.queue.len();
        n >= MAX_TURN_EVENTS || (n >= AHEAD_EVENTS && self.n_next() < n)
    }

    /// How many events belong to the turn that it tells next: a turn ends where another begins.
    pub(super) fn n_next(&self) -> usize {
        let behind = self.begins.get(usize::from(!self.is_cut));
        let n = behind.map(|behind| usize::try_from(behind - self.n_told).unwrap_or(usize::MAX));
        n.unwrap_or(self.queue.len())
    }

    /// The place behind the turn that it tells next.
    pub(super) fn behind_next(&self) -> u64 {
        self.n_told + self.n_next() as u64
    }

    /// Takes the events of its next turn.
    pub(super) fn take(&mut self) -> Vec<ChatEvent> {
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

    pub(super) fn put(&mut self, event: ChatEvent) {
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

    pub(super) fn read(&mut self) -> Result<(), Failed> {
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
