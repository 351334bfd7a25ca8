//! Several sources of one run as one session: what its hooks, its stream and its log say is said once.
//!
//! The sources are read side by side, turn by turn: so the session reads in order though most sources tell no times that
//! could be compared, and turns are told apart. What several say of a turn is laid side by side (`order`), so that it does
//! not matter which of them was named first.

mod order;

use std::collections::VecDeque;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Merge;

use super::inputs::{Input, Origin};
use super::reading::{Failed, Session};
use order::Stretch;

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
    queue: VecDeque<ChatEvent>,
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
                .map(|(input, session)| Source {
                    name: input.name(),
                    origin: input.origin,
                    skipped: false,
                    session,
                    queue: VecDeque::new(),
                    more: true,
                    ended: false,
                    n_turns: 0,
                    is_untimed: false,
                    is_cut: false,
                    native_id: None,
                })
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
        self.session_id = Some(
            event
                .map(|event| event.session_id.clone())
                .unwrap_or_default(),
        );
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

    /// The sources whose turn it is: one that told the fewest turns, of those the one that was named first; and those
    /// that tell the same turn now.
    fn next(&self) -> Vec<(usize, Stretch)> {
        let stretches: Vec<(usize, Stretch)> = (0..)
            .zip(&self.sources)
            .filter(|(_, source)| !source.queue.is_empty())
            .map(|(at, source)| (at, Stretch::of(source.queue.iter().take(source.n_next()))))
            .collect();
        let n_turns = |at: usize| self.sources.get(at).map(|source| source.n_turns);
        let same = |(one, of_one): &(usize, Stretch), (other, of_other): &(usize, Stretch)| {
            let in_step = n_turns(*one) == n_turns(*other);
            of_one.shares(of_other) || (in_step && of_one.has_words_of(of_other))
        };
        let mut order: Vec<&(usize, Stretch)> = stretches.iter().collect();
        order.sort_by_key(|(at, _)| (n_turns(*at), *at));
        // Where another source tells this turn later, what it tells before was before.
        let is_later = |first: &(usize, Stretch)| {
            let mut others = order.iter().filter(|other| other.0 != first.0);
            others.any(|other| !same(first, other) && self.comes_later(other.0, &first.1))
        };
        let first = order.iter().find(|first| !is_later(first));
        let Some(first) = first.or(order.first()) else {
            return Vec::new();
        };
        let group: Vec<usize> = stretches
            .iter()
            .filter(|other| other.0 == first.0 || same(first, other))
            .map(|(at, _)| *at)
            .collect();
        stretches
            .into_iter()
            .filter(|(at, _)| group.contains(at))
            .collect()
    }

    /// Whether a source tells behind its next turn what the stretch tells.
    fn comes_later(&self, at: usize, stretch: &Stretch) -> bool {
        self.sources.get(at).is_some_and(|source| {
            let mut later = source.queue.iter().skip(source.n_next());
            later.any(|event| stretch.tells(event))
        })
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
    fn has_enough(&self) -> bool {
        let n = self.queue.len();
        n >= MAX_TURN_EVENTS || (n >= AHEAD_EVENTS && self.n_next() < n)
    }

    /// How many events belong to the turn that it tells next.
    fn n_next(&self) -> usize {
        let mut begun = self.is_cut;
        let behind = self.queue.iter().position(|event| {
            let begins = order::begins_turn(event);
            begins && std::mem::replace(&mut begun, true)
        });
        behind.unwrap_or(self.queue.len())
    }

    /// Takes the events of its next turn.
    fn take(&mut self) -> Vec<ChatEvent> {
        let n = self.n_next();
        let is_whole = n < self.queue.len() || !self.more;
        if is_whole {
            self.n_turns += 1;
        }
        self.is_cut = !is_whole;
        self.queue.drain(..n).collect()
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
        for event in &events {
            if let Payload::SessionStart(start) = &event.payload {
                self.is_untimed |= start.timestamp_source.as_deref() == Some("arrival");
                if self.native_id.is_none() {
                    self.native_id.clone_from(&start.native_id);
                }
            }
        }
        self.queue.extend(events);
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
            let group = self.next();
            if group.is_empty() {
                self.merge.finish(events);
                more = false;
                break;
            }
            let turns = group.iter().map(|(at, stretch)| (*at, stretch.turn()));
            self.merge.same_turn(turns);
            let mut taken = Vec::new();
            for (at, stretch) in group {
                if let Some(source) = self.sources.get_mut(at) {
                    taken.push((at, stretch, source.take()));
                }
            }
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
            let faults = source.session.faults().into_iter();
            faults
                .map(|fault| format!("{fault} of {}", source.name))
                .collect()
        };
        self.sources.iter().flat_map(of).collect()
    }
}
