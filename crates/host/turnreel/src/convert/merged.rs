//! Several sources of one run as one session: what its hooks, its stream and its log say is said once.
//!
//! The sources are read side by side, a turn of each after the other, in the order in which they were named: so the
//! session reads in order though most sources tell no times that could be compared, and turns are told apart.

use std::collections::VecDeque;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Merge;

use super::inputs::{Input, Origin};
use super::reading::{Failed, Session};

/// As many sources are told apart.
pub(super) const MAX_SOURCES: usize = 32;

/// So many events are taken at once.
const STEP_EVENTS: usize = 4096;

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
    /// The session's id in the program's own words, as the source says it first.
    native_id: Option<String>,
}

/// One session of several sources on its way in.
pub(super) struct Merged {
    merge: Merge,
    sources: Vec<Source>,
    session_id: Option<String>,
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
                    native_id: None,
                })
                .collect(),
            session_id: None,
            n_events: 0,
        }
    }

    /// Reads until each source has something to say, or is at its end.
    fn fill(&mut self) -> Result<(), Failed> {
        for source in &mut self.sources {
            while source.more && source.queue.is_empty() {
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

    /// The source whose turn it is: the one that told the fewest turns, of those the one that was named first.
    fn next(&self) -> Option<usize> {
        let heads = self.sources.iter().enumerate().filter_map(|(at, source)| {
            let begins = matches!(source.queue.front()?.payload, Payload::TurnStart(_));
            Some((source.n_turns + u64::from(begins), at))
        });
        heads.min().map(|(_, at)| at)
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
            if self.native_id.is_some() {
                break;
            }
            if let Payload::SessionStart(start) = &event.payload {
                self.native_id = start.native_id.clone();
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
        for _ in 0..STEP_EVENTS {
            self.fill()?;
            self.end_sources(events);
            let Some(at) = self.next() else {
                self.merge.finish(events);
                more = false;
                break;
            };
            let Some(source) = self.sources.get_mut(at) else {
                break;
            };
            if let Some(event) = source.queue.pop_front() {
                source.n_turns += u64::from(matches!(event.payload, Payload::TurnStart(_)));
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
