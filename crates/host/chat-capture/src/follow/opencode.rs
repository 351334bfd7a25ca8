//! OpenCode's sessions: the events of its bus, as it keeps them in the table `event` of `opencode.db`, in their order.
//!
//! Seen: 1.18.33. A row is what was told on the bus (`formats.md` 5.1) under `type` and its version, numbered by `seq` in
//! its session; a session that works for another has rows of its own and is read with that one. Not in the table are the
//! pieces of texts (they come whole), what is asked, and when a session became idle: an answer that is over says that.
//! Sessions that older versions left in files, or in the database without events, are not read.

mod bus;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chat_event::ChatEvent;
use chat_normalize::AT_REST;
use serde::{Deserialize, Serialize};

use super::agent::Place;
use super::file::{Facts, SETTLED};
use super::session::is_missing_result;
use super::sqlite::{Database, beside};
use crate::pipe::now_ms;
use bus::{Bus, Event, Events};

/// How far the rows of one session, and of those that work for it, were told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    /// The last number of each of them.
    seqs: BTreeMap<String, i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
}

/// What is to be told of one session.
#[derive(Debug)]
pub(super) struct News {
    pub(super) session: String,
    pub(super) events: Vec<ChatEvent>,
    pub(super) is_end: bool,
    /// How far it is told then.
    pub(super) told: Told,
}

/// The database and its write-ahead log, as a look finds them.
type Seen = (Option<Facts>, Option<Facts>);

/// OpenCode's database.
#[derive(Debug)]
pub(super) struct OpenCode {
    folder: PathBuf,
    path: PathBuf,
    /// The files as they were when they were read to their end.
    seen: Option<Seen>,
    /// The last row that was read, with its id: rows that are deleted give their numbers to others.
    last: Option<(i64, String)>,
    /// It is known which sessions there were at the beginning.
    pub(super) has_looked: bool,
    /// The first scan is over.
    is_read: bool,
    /// For each session the one that it works for, by way of others or at once.
    roots: HashMap<String, String>,
    /// When each session changed last.
    changed_ms: HashMap<String, i64>,
    /// Those that are read.
    wanted: BTreeSet<String>,
    loaded: BTreeMap<String, Bus>,
}

impl OpenCode {
    pub(super) fn new(place: &Place) -> OpenCode {
        OpenCode {
            path: place.folder.join("opencode.db"),
            folder: place.folder.clone(),
            seen: None,
            last: None,
            has_looked: false,
            is_read: false,
            roots: HashMap::new(),
            changed_ms: HashMap::new(),
            wanted: BTreeSet::new(),
            loaded: BTreeMap::new(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many sessions there are, and how many of them are read. Those of sub-agents are parts of others.
    pub(super) fn n_sessions(&self) -> (usize, usize) {
        let roots = self.changed_ms.keys().filter(|id| self.root(id) == **id);
        (roots.count(), self.wanted.len())
    }

    /// What is not read of what lies there, where that is so.
    pub(super) fn not_read(&self) -> Option<&'static str> {
        let is_old = !self.path.exists() && self.folder.join("storage/session").is_dir();
        is_old.then_some("not read: sessions of a version before its database; `opencode export SESSION` writes one that the page opens")
    }

    /// Looks which sessions there are, before any is read.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now: else it would not be known which of them are old.
    pub(super) fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()> {
        if self.path.exists() {
            let mut database = Database::open(&self.path)?;
            let listed = self.list(&mut database);
            if !database.is_still() {
                return Err(io::Error::from(io::ErrorKind::WouldBlock));
            }
            listed?;
        }
        let recent = self.changed_ms.iter().filter(|(_, at)| **at >= since_ms);
        let recent = recent.map(|(id, _)| id).chain(kept.keys());
        self.wanted = recent.map(|id| self.root(id).to_owned()).collect();
        self.has_looked = true;
        Ok(())
    }

    fn list(&mut self, database: &mut Database) -> io::Result<()> {
        let Some(table) = database.table("session")? else {
            return Ok(());
        };
        let (Some(id), Some(parent), Some(updated)) = (
            table.column("id"),
            table.column("parent_id"),
            table.column("time_updated"),
        ) else {
            return Ok(());
        };
        let mut parents = HashMap::new();
        let mut after = i64::MIN;
        loop {
            let rows = database.rows(&table, after)?;
            let Some(last) = rows.last() else { break };
            after = last.rowid;
            for row in &rows {
                let text = |at: usize| row.values.get(at).and_then(|value| value.text());
                let Some(id) = text(id) else { continue };
                let at_ms = row.values.get(updated).and_then(|value| value.integer());
                self.changed_ms
                    .insert(id.to_owned(), at_ms.unwrap_or_default());
                if let Some(parent) = text(parent) {
                    parents.insert(id.to_owned(), parent.to_owned());
                }
            }
        }
        for id in parents.keys() {
            let mut root = id;
            // Bounded: a damaged table may have a circle in it.
            for _ in 0..32 {
                root = parents.get(root).unwrap_or(root);
            }
            self.roots.insert(id.clone(), root.clone());
        }
        Ok(())
    }

    fn root<'a>(&'a self, id: &'a str) -> &'a str {
        self.roots.get(id).map_or(id, String::as_str)
    }

    fn facts(&self) -> Seen {
        let log = beside(&self.path, "-wal");
        (Facts::of(&self.path), Facts::of(&log))
    }

    /// How long nothing was written.
    pub(super) fn rests(&self) -> Duration {
        rests(self.facts())
    }

    /// Reads one slice of what is new; whether there is more, and what is to be told.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now: it is tried again.
    pub(super) fn read(&mut self, kept: &BTreeMap<String, Told>) -> io::Result<(bool, Vec<News>)> {
        let facts = self.facts();
        if facts.0.is_none() || self.seen == Some(facts) {
            return Ok((false, Vec::new()));
        }
        let mut database = Database::open(&self.path)?;
        let read = self.read_slice(&mut database, facts, kept);
        if read.is_err() && !database.is_still() {
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        read
    }

    fn read_slice(
        &mut self,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<(bool, Vec<News>)> {
        // What was read may be of two states of the database, until it is known that it is of one.
        let of_one = |database: &mut Database| match database.is_still() {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::WouldBlock)),
        };
        let Some(table) = database.table("event")?.and_then(Events::of) else {
            of_one(database)?;
            self.seen = Some(facts);
            return Err(io::Error::other(
                "it keeps no events, as versions before 1.18 did; its sessions are not read",
            ));
        };
        let goes_on = self.goes_on(database, &table)?;
        of_one(database)?;
        if !goes_on {
            // The newest rows were deleted with their session: others may have their numbers.
            self.last = None;
            self.is_read = false;
            self.loaded.clear();
        }
        let after = self.last.as_ref().map_or(i64::MIN, |(rowid, _)| *rowid);
        let rows = database.rows(&table.table, after)?;
        let is_end = rows.is_empty();
        let rows: Vec<Event> = rows.into_iter().map(|row| table.event(row)).collect();
        let is_unknown =
            |row: &Event| !row.session.is_empty() && !self.changed_ms.contains_key(&row.session);
        let unknown = rows.iter().filter(|row| is_unknown(row));
        let unknown: BTreeSet<String> = unknown.map(|row| row.session.clone()).collect();
        if !unknown.is_empty() {
            self.list(database)?;
            // One whose own row is gone is not looked for again.
            for id in &unknown {
                self.changed_ms.entry(id.clone()).or_default();
            }
        }
        of_one(database)?;
        // What begins while we look on is of interest.
        let roots = unknown.iter().map(|id| self.root(id).to_owned());
        let roots: Vec<String> = roots.collect();
        self.wanted.extend(roots);
        let mut again = BTreeSet::new();
        for row in &rows {
            let root = self.root(&row.session).to_owned();
            if self.is_read {
                self.wanted.insert(root.clone());
                if !self.loaded.contains_key(&root) {
                    again.insert(root);
                }
            } else if self.wanted.contains(&root) && !self.loaded.contains_key(&root) {
                let bus = Bus::new(kept.get(&root).cloned().unwrap_or_default());
                self.loaded.insert(root, bus);
            }
        }
        let mut told: BTreeMap<String, Vec<ChatEvent>> = BTreeMap::new();
        // One that goes on is read from its beginning: its reader knows nothing of what was before.
        if !again.is_empty() {
            for root in &again {
                let bus = Bus::new(kept.get(root).cloned().unwrap_or_default());
                self.loaded.insert(root.clone(), bus);
            }
            let fed = self.feed_from_the_beginning(database, &table, &again, after, &mut told);
            if let Err(why) = fed.and_then(|()| of_one(database)) {
                self.loaded.retain(|root, _| !again.contains(root));
                return Err(why);
            }
        }
        for row in &rows {
            let root = self.root(&row.session).to_owned();
            if let Some(bus) = self.loaded.get_mut(&root) {
                bus.feed(row, told.entry(root).or_default());
            }
        }
        if let Some(row) = rows.last() {
            self.last = Some((row.rowid, row.id.clone()));
        }
        if is_end {
            self.is_read = true;
            // One that was written just now may be written again without that its time tells it.
            self.seen = (rests(facts) > SETTLED).then_some(facts);
        }
        Ok((!is_end, self.news(told)))
    }

    fn news(&self, told: BTreeMap<String, Vec<ChatEvent>>) -> Vec<News> {
        let told = told.into_iter().filter_map(|(session, events)| {
            let bus = self.loaded.get(&session)?;
            Some(News {
                told: bus.told.clone(),
                is_end: false,
                session,
                events,
            })
        });
        told.collect()
    }

    /// Whether the last row that was read is still the one that it was.
    fn goes_on(&self, database: &mut Database, table: &Events) -> io::Result<bool> {
        let Some((last, id)) = &self.last else {
            return Ok(true);
        };
        let row = database.first_row(&table.table, last.saturating_sub(1))?;
        let row = row.map(|row| table.event(row));
        Ok(row.is_some_and(|row| row.rowid == *last && row.id == *id))
    }

    /// Reads these sessions up to a row: what was told of them is only for their readers.
    fn feed_from_the_beginning(
        &mut self,
        database: &mut Database,
        table: &Events,
        roots: &BTreeSet<String>,
        upto: i64,
        told: &mut BTreeMap<String, Vec<ChatEvent>>,
    ) -> io::Result<()> {
        let mut after = i64::MIN;
        loop {
            let rows = database.rows(&table.table, after)?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            after = last.rowid;
            for row in rows.into_iter().filter(|row| row.rowid <= upto) {
                let row = table.event(row);
                let root = self.root(&row.session).to_owned();
                if roots.contains(&root)
                    && let Some(bus) = self.loaded.get_mut(&root)
                {
                    bus.feed(&row, told.entry(root).or_default());
                }
            }
            if after >= upto {
                return Ok(());
            }
        }
    }

    /// Ends sessions that rest, and puts away what is held of them.
    pub(super) fn settle(
        &mut self,
        at_ms: i64,
        rest_ms: i64,
        long_rest_ms: i64,
        most_loaded: usize,
    ) -> Vec<News> {
        if !self.is_read {
            return Vec::new();
        }
        let mut news = Vec::new();
        let mut away = Vec::new();
        for (session, bus) in &mut self.loaded {
            let rests_ms = at_ms.saturating_sub(bus.newest_ms);
            if rests_ms < rest_ms || (rests_ms < long_rest_ms && !bus.open.is_empty()) {
                continue;
            }
            away.push(session.clone());
            if bus.told.ended {
                continue;
            }
            let mut events = Vec::new();
            let _ = bus.reader.finish(AT_REST, &mut events);
            events.retain(|event| !is_missing_result(event));
            bus.told.ended = true;
            news.push(News {
                session: session.clone(),
                events,
                is_end: true,
                told: bus.told.clone(),
            });
        }
        for session in away {
            self.loaded.remove(&session);
        }
        while self.loaded.len() > most_loaded {
            let oldest = self.loaded.iter().min_by_key(|(_, bus)| bus.used);
            let Some(session) = oldest.map(|(session, _)| session.clone()) else {
                break;
            };
            self.loaded.remove(&session);
        }
        news
    }

    /// What was told of a session is not known: it is read anew.
    pub(super) fn forget(&mut self) {
        self.loaded.clear();
        self.last = None;
        self.is_read = false;
        self.seen = None;
    }

    /// Tells all of a session up to there, from its beginning.
    pub(super) fn tell_anew(
        &self,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()> {
        let mut database = Database::open(&self.path)?;
        let Some(table) = database.table("event")?.and_then(Events::of) else {
            return Ok(());
        };
        let mut bus = Bus::new(Told::default());
        let mut after = i64::MIN;
        loop {
            let rows = database.rows(&table.table, after)?;
            let Some(last) = rows.last() else { break };
            after = last.rowid;
            let mut events = Vec::new();
            for row in rows {
                let row = table.event(row);
                let upto = told.seqs.get(&row.session).copied().unwrap_or(-1);
                if self.root(&row.session) == session && row.seq <= upto {
                    bus.feed(&row, &mut events);
                }
            }
            events.into_iter().for_each(&mut *tell);
        }
        if told.ended {
            let mut events = Vec::new();
            let _ = bus.reader.finish(AT_REST, &mut events);
            events.into_iter().for_each(&mut *tell);
        }
        Ok(())
    }
}

fn rests((database, log): Seen) -> Duration {
    let changed_ms = [database, log].map(|facts| facts.map_or(0, |facts| facts.changed_ms));
    let ms = now_ms().saturating_sub(changed_ms[0].max(changed_ms[1]));
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}
