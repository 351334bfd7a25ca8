//! Several sources of one run as one session: what its hooks, its stream and its log say is said once.
//!
//! The sources are read side by side, turn by turn: so the session reads in order though most sources tell no times that
//! could be compared, and turns are told apart. What several say of a turn is laid side by side (`order`), so that it does
//! not matter which of them was named first.

mod ahead;
mod order;
mod source;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Merge;

use super::inputs::Input;
use super::reading::{Failed, Session};
use source::Source;

/// As many sources are told apart.
pub(super) const MAX_SOURCES: usize = 32;

/// So many events are taken at once.
const STEP_EVENTS: usize = 4096;

/// So many pieces of a source are read to learn whose session it is, before anything is told.
const FIRST_PIECES: usize = 4;

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
