//! Several sources of one session: a stream, hooks and a log of one run say much the same, and each thing is to stand once.
//!
//! The pipes of a data folder note what they tell of a session in a file of the session's, and hold its lock while a batch
//! goes to the server. Where another source of the program told something, the log is read, and of a batch only what is
//! new goes ([`chat_normalize::Merge`]). Where none did, nothing is asked and a batch goes as it is.

mod file_first;
mod notes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::client::{Client, Endpoint, Error};
use crate::spool::{Batch, Reader, dialect_of, is_held, is_of_a_provider};
use chat_event::ChatEvent;
use chat_normalize::{Dialect, Merge};
pub(crate) use file_first::FOLLOWING;
pub(crate) use notes::forget_old;
use notes::{Note, Notes};

/// What stands behind a dialect's word in the notes of who reads its events in a table.
const IN_TABLE: &str = ".table";

/// Reads what a session's log has behind a cursor, `0` for all: the events, and the cursor of its end.
pub type ReadLog<'a> = dyn FnMut(&str, &str) -> Result<(Vec<ChatEvent>, String), Error> + 'a;

/// What a text is compared by: the same for a text and for what a log has of it, where secrets may be masked.
pub type Words = fn(&str) -> String;

/// Gives all that the own source told of a session so far, in its order.
pub(crate) type ReadOwn<'a> = dyn FnMut(&mut dyn FnMut(ChatEvent)) -> Result<(), Error> + 'a;

/// What one source tells: the events of a spool, or those of an agent's files; and what others told of its sessions.
#[derive(Debug)]
pub(crate) struct Sources {
    /// What stands for the source: a file beside the spools that it holds as long as it runs.
    spool: PathBuf,
    dialect: Option<Dialect>,
    /// Whether its pipe is there, and writes on.
    runs: bool,
    words: Option<Words>,
    sessions: BTreeMap<String, Session>,
}

#[derive(Debug, Default)]
struct Session {
    /// How much each other source had told when the log was read last.
    told: BTreeMap<String, u64>,
    /// Where there is another source: what is new beside the log.
    beside: Option<Beside>,
    /// What of a batch was found to be new, and is asked for again.
    kept: Option<Batch>,
}

#[derive(Debug)]
struct Beside {
    merge: Merge,
    /// The log is read up to this.
    cursor: String,
}

/// Nobody else tells of the session as long as this lives.
#[derive(Debug)]
pub struct Turn {
    _notes: Notes,
    /// What other sources told.
    told: BTreeMap<String, u64>,
    /// Whether one of them runs.
    any_runs: bool,
}

/// What a source tells next of a session.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) events: Vec<ChatEvent>,
    /// With what was held back until the end.
    pub(crate) is_end: bool,
    /// Whether what the source told before is told, too, where the log has it not; else it was removed from there.
    pub(crate) whole: bool,
}

/// What came of asking for a turn.
#[derive(Debug)]
pub(crate) enum Entered {
    Turn(Turn),
    /// No other source can say the same.
    Alone,
    /// Another source tells of the session now; the file of its notes.
    Held {
        notes: PathBuf,
    },
}

impl Turn {
    /// Whether no other source told anything.
    pub(crate) fn is_alone(&self) -> bool {
        self.told.is_empty()
    }
}

impl Sources {
    pub(crate) fn new(spool: &Path) -> Self {
        Sources {
            spool: spool.to_owned(),
            dialect: dialect_of(spool),
            runs: true,
            words: None,
            sessions: BTreeMap::new(),
        }
    }

    /// Of a spool whose pipe is gone.
    pub(crate) fn of_leftover(spool: &Path) -> Self {
        Sources {
            runs: false,
            ..Sources::new(spool)
        }
    }

    /// Of agents' files that are followed by who holds `mark`, a file beside the spools.
    pub(crate) fn of_files(mark: &Path, dialect: Dialect) -> Self {
        Sources {
            spool: mark.to_owned(),
            dialect: Some(dialect),
            runs: true,
            words: None,
            sessions: BTreeMap::new(),
        }
    }

    /// What texts are compared by.
    pub(crate) fn compared_by(mut self, words: Option<Words>) -> Self {
        self.words = words;
        self
    }

    /// Whether its events were made of a provider's lines; who writes events says all by itself.
    pub(crate) fn is_of_a_provider(&self) -> bool {
        is_of_a_provider(self.dialect)
    }

    /// The sessions of which others tell, too: of them something may be held back until the end.
    pub(crate) fn shared(&self) -> Vec<String> {
        let sessions = self.sessions.iter();
        let shared = sessions.filter(|(_, session)| session.beside.is_some());
        shared.map(|(id, _)| id.clone()).collect()
    }

    /// Waits until nobody else tells of the session, and notes that we do.
    pub(crate) fn enter(&self, session_id: &str) -> Result<Entered, Error> {
        let Some((dialect, folder)) = self.noted() else {
            return Ok(Entered::Alone);
        };
        let notes = Notes::lock(folder, session_id)?;
        self.note(notes, dialect).map(Entered::Turn)
    }

    /// The same without waiting: whoever tells of the session may have been stopped in the middle of it.
    pub(crate) fn try_enter(&self, session_id: &str) -> Result<Entered, Error> {
        let Some((dialect, folder)) = self.noted() else {
            return Ok(Entered::Alone);
        };
        match Notes::try_lock(folder, session_id)? {
            Ok(notes) => self.note(notes, dialect).map(Entered::Turn),
            Err(notes) => Ok(Entered::Held { notes }),
        }
    }

    /// Whether somebody else tells of the session now.
    pub(crate) fn others_hold(&self, session_id: &str) -> bool {
        let noted = self.noted();
        noted.is_some_and(|(_, folder)| notes::are_held(folder, session_id))
    }

    /// Where it is noted what we tell, where other sources can say the same.
    fn noted(&self) -> Option<(Dialect, &Path)> {
        let dialect = self.dialect.filter(|_| self.is_of_a_provider())?;
        Some((dialect, self.spool.parent()?))
    }

    fn note(&self, mut notes: Notes, dialect: Dialect) -> Result<Turn, Error> {
        let own_word = self.word_of(dialect);
        let others = notes.sources.iter().filter(|(word, _)| {
            let other = Dialect::from_word(word.strip_suffix(IN_TABLE).unwrap_or(word));
            **word != *own_word && other.is_some_and(|other| are_kin(other, dialect))
        });
        let mut told = BTreeMap::new();
        let mut any_runs = false;
        for (word, note) in others {
            told.insert(word.clone(), note.told);
            any_runs |= is_held(&self.spool.with_file_name(&note.spool));
        }
        let ours = notes.sources.entry(own_word).or_insert(Note {
            told: 0,
            spool: String::new(),
        });
        // Before it is told: who reads the log for nothing reads it again.
        ours.told += 1;
        // One that runs stands for those that are gone and left something.
        if self.runs || !is_held(&self.spool.with_file_name(&ours.spool)) {
            ours.spool = self.name();
        }
        notes.write()?;
        Ok(Turn {
            _notes: notes,
            told,
            any_runs,
        })
    }

    /// By what we go in the notes. Who follows OpenCode reads the events of its bus in a table, and a pipe those that the bus
    /// sends: that are two sources, and each of them sees an end of its own.
    fn word_of(&self, dialect: Dialect) -> String {
        let is_in_table = dialect == Dialect::OpenCodeEvents && self.name() == FOLLOWING;
        let more = if is_in_table { IN_TABLE } else { "" };
        format!("{}{more}", dialect.word())
    }

    /// Whether another spool of the session is being written to.
    pub(crate) fn goes_on(&self, session_id: &str) -> bool {
        let folder = self.spool.parent().unwrap_or(&self.spool);
        let sources = notes::peek(folder, session_id);
        let ours = self.name();
        let mut others = sources.values().filter(|note| note.spool != ours);
        others.any(|note| is_held(&self.spool.with_file_name(&note.spool)))
    }

    fn name(&self) -> String {
        let name = self.spool.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// What of the batch the log has not yet; `None` where no other source told anything. With `is_end`, also what was held
    /// back. What was kept of it ([`Sources::keep`]) is that still where nobody else told anything since.
    pub(crate) fn new_of(
        &mut self,
        turn: &Turn,
        batch: &Batch,
        is_end: bool,
        read_log: &mut ReadLog<'_>,
    ) -> Result<Option<Batch>, Error> {
        if turn.told.is_empty() {
            return Ok(None);
        }
        if let Some(session) = self.sessions.get_mut(&batch.session_id)
            && let Some(kept) = session.kept.take()
        {
            if session.told == turn.told {
                return Ok(Some(kept));
            }
            // It was taken for told, and is to be compared anew.
            session.beside = None;
        }
        let spool = self.spool.clone();
        let mut own = |tell: &mut dyn FnMut(ChatEvent)| tell_spooled(&spool, batch, tell);
        let piece = Piece {
            events: batch.lines.iter().filter_map(|line| read(line)).collect(),
            is_end,
            whole: true,
        };
        let new = self.new_events(turn, &batch.session_id, piece, read_log, &mut own)?;
        Ok(new.map(|new| Batch {
            session_id: batch.session_id.clone(),
            lines: new.iter().map(ChatEvent::to_line).collect(),
            end: batch.end,
        }))
    }

    /// The same for events; `read_own` gives all of the source up to these, with them.
    pub(crate) fn new_events(
        &mut self,
        turn: &Turn,
        session_id: &str,
        piece: Piece,
        read_log: &mut ReadLog<'_>,
        read_own: &mut ReadOwn<'_>,
    ) -> Result<Option<Vec<ChatEvent>>, Error> {
        if turn.told.is_empty() {
            return Ok(None);
        }
        let Piece {
            events,
            is_end,
            whole,
        } = piece;
        let session = self.sessions.entry(session_id.to_owned()).or_default();
        let mut new = Vec::new();
        let beside = match &mut session.beside {
            Some(beside) => {
                if session.told != turn.told {
                    let (log, cursor) = read_log(session_id, &beside.cursor)?;
                    beside.cursor = cursor;
                    for event in log {
                        beside.merge.take(Merge::LOG, event, &mut new);
                    }
                }
                for event in events {
                    beside.merge.take(Merge::OWN, event, &mut new);
                }
                beside
            }
            None => {
                let (log, cursor) = read_log(session_id, "0")?;
                let mut merge = Merge::beside_log();
                if let Some(words) = self.words {
                    merge = merge.compared_by(words);
                }
                for event in log {
                    merge.take(Merge::LOG, event, &mut new);
                }
                read_own(&mut |event| merge.take(Merge::OWN, event, &mut new))?;
                if !whole {
                    let ids: BTreeSet<&str> = events.iter().map(|it| it.id.as_str()).collect();
                    new.retain(|event| ids.contains(event.id.as_str()));
                }
                session.beside.insert(Beside { merge, cursor })
            }
        };
        session.told.clone_from(&turn.told);
        if !turn.any_runs {
            beside.merge.end(Merge::LOG, &mut new);
        }
        // The end of a program is known; the end of a file that others tell of, too, says nothing.
        if is_end && !(turn.any_runs && self.dialect.is_some_and(is_of_a_file)) {
            beside.merge.finish(&mut new);
        }
        Ok(Some(new))
    }

    /// What was found to be new of a batch was not all taken: the same batch comes again, before any other of its session. What of
    /// it was taken after all is known by its ids.
    pub(crate) fn keep(&mut self, new: Batch) {
        if let Some(session) = self.sessions.get_mut(&new.session_id) {
            session.kept = Some(new);
        }
    }

    /// It is not known what came of what was sent: the log will tell.
    pub(crate) fn forget(&mut self, session_id: &str) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.beside = None;
            session.kept = None;
        }
    }
}

/// Whether two dialects are of one program.
fn are_kin(one: Dialect, other: Dialect) -> bool {
    let program = |dialect: Dialect| dialect.word().split('-').next();
    program(one) == program(other)
}

/// Whether the dialect is that of a file that a program writes while it runs.
fn is_of_a_file(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::ClaudeHooks
            | Dialect::ClaudeTranscript
            | Dialect::CodexRollout
            | Dialect::Kimi
            | Dialect::PiSession
    )
}

fn read(line: &str) -> Option<ChatEvent> {
    ChatEvent::from_json(line).ok()
}

/// Tells our events of the session up to the batch's end.
fn tell_spooled(spool: &Path, batch: &Batch, tell: &mut dyn FnMut(ChatEvent)) -> Result<(), Error> {
    let mut reader = Reader::open(spool)?;
    while let Some(earlier) = reader.next_batch(batch.end)? {
        if earlier.session_id == batch.session_id {
            let events = earlier.lines.iter().filter_map(|line| read(line));
            events.for_each(&mut *tell);
        }
    }
    Ok(())
}

/// Reads the log of the server.
pub(crate) fn log_after(
    client: &Client,
    endpoint: &Endpoint,
    session_id: &str,
    after: &str,
) -> Result<(Vec<ChatEvent>, String), Error> {
    let mut events = Vec::new();
    let mut after = after.to_owned();
    loop {
        let page = match client.page(endpoint, session_id, &after) {
            Ok(page) => page,
            // There is no such session yet.
            Err(Error::NotFound { .. }) if after == "0" => return Ok((events, after)),
            // That a log cannot be read says nothing against what is to be sent, nor against what is sent to others.
            Err(Error::NotFound { why } | Error::Refused { why }) => {
                return Err(Error::Later {
                    why,
                    after_ms: None,
                    status: Some(404),
                });
            }
            Err(why) => return Err(why),
        };
        events.extend(page.events.iter().filter_map(|event| read(event.get())));
        after = format!("v1.{}.{}", page.epoch, page.next);
        if page.next >= page.head {
            return Ok((events, after));
        }
    }
}
