//! One session that is held: how far it was read, and what comes next.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::{Context, Dialect, OpenHandsState, OpenHandsWeave};

use super::folder::{Read, Talk, agents, read, title};
use crate::follow::document::is_settled;
use crate::follow::file::Facts;
use crate::follow::store::{self, Reading, Told, upto_of};

/// Where its states stood among its lines: `LINE STATUS`, by commas.
const STATES: &str = "states";

/// So many states are noted; of a session with more the last ones.
const MOST_STATES: usize = 500;

#[derive(Debug)]
pub(in crate::follow) struct Held {
    session: String,
    reading: Reading,
    /// Events of lines up to this one were told by an earlier start.
    upto: u64,
    /// Lines that were given to the reader.
    n_lines: u64,
    weave: OpenHandsWeave,
    talks: Vec<Talk>,
    state: OpenHandsState,
    /// The state's file as it was read last.
    seen: Option<Facts>,
    /// It says something that was not told.
    is_new: bool,
    /// It was written before the own event that comes next.
    is_older: bool,
    /// When the first event was written: one who copies files makes a state older than that, which says nothing of where it
    /// stood among them.
    began_ms: Option<i64>,
    /// What it said last of how the agent stands.
    status: String,
    /// Events say how the agent stands, as a server writes them.
    has_statuses: bool,
    /// States that an earlier start told, and behind which line.
    earlier: VecDeque<(u64, String)>,
    /// Those that were told now, as they are noted.
    noted: Vec<(u64, String)>,
    /// A file is not whole.
    waits: bool,
    /// It is only read for what was told, up to this line.
    is_anew: bool,
    most: u64,
}

impl AsMut<Reading> for Held {
    fn as_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }
}

impl From<Held> for Reading {
    fn from(held: Held) -> Reading {
        held.reading
    }
}

impl store::Held for Held {
    fn new(session: &str, told: Told) -> Held {
        let context = Context {
            session_id: Some(session.to_owned()),
            native_id: Some(session.to_owned()),
            ..Context::default()
        };
        Held {
            session: session.to_owned(),
            upto: upto_of(&told, session),
            earlier: states_of(&told),
            reading: Reading::new(context, Dialect::OpenHands, told),
            n_lines: 0,
            weave: OpenHandsWeave::new(),
            talks: Vec::new(),
            state: OpenHandsState::default(),
            seen: None,
            is_new: false,
            is_older: false,
            began_ms: None,
            status: String::new(),
            has_statuses: false,
            noted: Vec::new(),
            waits: false,
            is_anew: false,
            most: u64::MAX,
        }
    }

    fn anew(session: &str, told: &Told) -> Held {
        Held {
            upto: 0,
            is_anew: true,
            most: upto_of(told, session),
            earlier: states_of(told),
            ..Held::new(session, Told::default())
        }
    }

    fn read(
        &mut self,
        folder: &Path,
        until: Instant,
        out: &mut Vec<ChatEvent>,
    ) -> io::Result<bool> {
        self.waits = false;
        // What it says is older than what is listed behind it.
        if !self.read_state(folder)? {
            return Ok(false);
        }
        self.list(folder)?;
        self.weave.look_again();
        loop {
            if self.n_lines >= self.most {
                return Ok(false);
            }
            if Instant::now() >= until {
                return Ok(true);
            }
            if !self.fill(out)? {
                break;
            }
        }
        if self.earlier.is_empty() {
            self.tell_state(out);
        }
        Ok(false)
    }

    fn waits(&self) -> bool {
        self.waits
    }
}

impl Held {
    /// Where the agent works, as far as that is known.
    pub(super) fn working_dir(&self) -> Option<&Path> {
        self.state.working_dir().map(Path::new)
    }

    /// Reads the state where it is another one; false where nothing can be told yet.
    fn read_state(&mut self, folder: &Path) -> io::Result<bool> {
        let path = folder.join("base_state.json");
        let Some(facts) = Facts::of(&path) else {
            return Ok(self.seen.is_some());
        };
        if self.seen == Some(facts) && is_settled(facts) {
            return Ok(true);
        }
        let is_same = self.seen == Some(facts);
        if self.state.take(&read(&path)?) {
            self.is_new |= !is_same || self.state.status() != Some(&self.status);
        } else if !is_settled(facts) {
            self.waits = true;
            return Ok(self.seen.is_some());
        }
        self.state.title = title(folder);
        self.seen = Some(facts);
        Ok(true)
    }

    /// Looks which files there are, a caller's before those of who works for it.
    fn list(&mut self, folder: &Path) -> io::Result<()> {
        if self.talks.is_empty() {
            self.talks.push(Talk::new(folder.to_owned()));
        }
        let mut number = 0;
        while let Some(talk) = self.talks.get_mut(number) {
            talk.list()?;
            let folder = talk.folder.clone();
            for agent in agents(&folder)? {
                let below: PathBuf = folder.join("subagents").join(&agent);
                if self.talks.iter().any(|talk| talk.folder == below) {
                    continue;
                }
                if self.weave.add(&agent, number).is_some() {
                    self.talks.push(Talk::new(below));
                }
            }
            number += 1;
        }
        Ok(())
    }

    /// Gives the next event that is wanted, and tells what can be told; whether there was anything.
    fn fill(&mut self, out: &mut Vec<ChatEvent>) -> io::Result<bool> {
        let Some(number) = self.weave.wants() else {
            return Ok(self.tell_next(out));
        };
        let Some(talk) = self.talks.get_mut(number) else {
            self.weave.has_no_more(number);
            return Ok(true);
        };
        match talk.read()? {
            Read::Event { text, facts } => {
                if number == 0 {
                    let began_ms = *self.began_ms.get_or_insert(facts.changed_ms);
                    let before = began_ms..facts.changed_ms;
                    let state_ms = self.seen.map(|seen| seen.changed_ms);
                    self.is_older = state_ms.is_some_and(|at_ms| before.contains(&at_ms));
                }
                if let Some(talk) = self.talks.get_mut(number) {
                    talk.take();
                }
                self.weave.give(number, &text);
                if number == 0 && self.n_lines == 0 {
                    let zone = OpenHandsState::zone_of(self.weave.time(), facts.changed_ms);
                    self.state.zone = zone;
                }
            }
            Read::Torn => {
                self.waits = true;
                self.weave.has_no_more(number);
            }
            Read::None => self.weave.has_no_more(number),
        }
        Ok(true)
    }

    /// Whether all that an earlier start told was read.
    fn is_read(&self) -> bool {
        self.earlier.is_empty() && self.n_lines >= self.upto
    }

    fn tell_next(&mut self, out: &mut Vec<ChatEvent>) -> bool {
        let is_next = |(at, _): &&(u64, String)| *at <= self.n_lines && self.n_lines > 0;
        if self.earlier.front().filter(is_next).is_some() {
            if let Some((_, status)) = self.earlier.pop_front() {
                self.tell_status(&status, out);
            }
            return true;
        }
        if self.is_older && self.weave.is_own_next() {
            self.is_older = false;
            if self.is_new && self.n_lines > 0 && self.is_read() {
                self.tell_state(out);
            }
        }
        let Some(line) = self.weave.next(false) else {
            return false;
        };
        if self.n_lines == 0 {
            // What single answers used is told with them, where all is told once more.
            let about = match self.is_anew {
                true => self.state.about(self.weave.time(), false),
                false => self.state.nothing_used(self.weave.time()),
            };
            self.give(&about, out);
        }
        self.has_statuses |= OpenHandsState::is_told_in(&line);
        self.give(&line, out);
        true
    }

    /// Tells what the state says that is new.
    fn tell_state(&mut self, out: &mut Vec<ChatEvent>) {
        if !self.is_new || self.is_anew || self.n_lines == 0 {
            return;
        }
        self.is_new = false;
        let status = self.state.status().unwrap_or("").to_owned();
        let is_same = std::mem::replace(&mut self.status, status.clone()) == status;
        // `idle` is said before a prompt, and once more with it: of a turn it says nothing.
        if status.is_empty() || status == "idle" || (is_same && status == "running") {
            return;
        }
        self.tell_status(&status, out);
    }

    fn tell_status(&mut self, status: &str, out: &mut Vec<ChatEvent>) {
        self.noted.push((self.n_lines, status.to_owned()));
        let time = self.weave.time().to_owned();
        // What was used up to there may not have been told with it: it is told with the next state.
        let about = match self.n_lines < self.upto {
            true => self.state.nothing_used(&time),
            false => self.state.about(&time, true),
        };
        self.give(&about, out);
        let stands = match self.has_statuses {
            true => self.state.nothing_used(&time),
            false => OpenHandsState::stands(status, &time),
        };
        self.give(&stands, out);
    }

    /// Gives a line to the reader, and adds what was not told before.
    fn give(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        if self.n_lines >= self.most {
            return;
        }
        let mut events = self.reading.push(&format!("{line}\n"));
        self.n_lines += 1;
        if self.n_lines <= self.upto {
            return;
        }
        out.append(&mut events);
        if self.is_anew {
            return;
        }
        self.reading.told.ended = false;
        let n_lines = i64::try_from(self.n_lines).unwrap_or(i64::MAX);
        self.reading.told.seqs.insert(self.session.clone(), n_lines);
        let from = self.noted.len().saturating_sub(MOST_STATES);
        let states = self.noted.iter().skip(from);
        let states: Vec<String> = states
            .map(|(at, status)| format!("{at} {status}"))
            .collect();
        self.reading
            .told
            .marks
            .insert(STATES.to_owned(), states.join(","));
    }
}

fn states_of(told: &Told) -> VecDeque<(u64, String)> {
    let states = told.marks.get(STATES).map_or("", String::as_str).split(',');
    let states = states.filter_map(|state| {
        let (at, status) = state.split_once(' ')?;
        Some((at.parse().ok()?, status.to_owned()))
    });
    states.collect()
}
