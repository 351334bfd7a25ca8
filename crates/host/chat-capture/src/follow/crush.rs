//! Crush's sessions: the tables `sessions` and `messages` of `crush.db`, which it keeps for each project.
//!
//! After charmbracelet/crush 0.90.0 (`internal/db/migrations`, `internal/message`), whose tables are the same since 0.1 but for
//! columns that came later. A message is written again and again while its parts grow, in the same row; nothing says which
//! rows changed. Those that can change are few: of each session the last answer, until another one comes.
//!
//! | what is seen | what is read |
//! |---|---|
//! | the files as they were | nothing |
//! | a session that is to be read, at the beginning | its messages by the index |
//! | the files have changed | of the sessions that are held, their own rows and last answers; the rows behind the last one |
//! | a row of a session that is not held | the session's rows from its beginning: its reader knows nothing of it |
//! | the last row is another one than it was | all begins anew: rows that are deleted give their numbers to others |
//!
//! A message that grew while nobody looked is told from where it was told to (`mark`). Sessions of sub-agents are read with
//! the session that they work for.

mod catch_up;
mod mark;
mod projects;
mod reading;
mod rows;
mod sessions;
mod talk;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::sqlite::Database;
use super::store::{Kind, News, Seen, Standing, Told, in_slices};
use catch_up::{CatchUp, find};
pub(super) use projects::databases;
use rows::Tables;
use talk::{OF_END, Talk};

/// The database of a project.
pub(super) type Crush = Standing<Project>;

/// What is known of a project.
#[derive(Debug)]
pub(super) struct Project {
    folder: Option<String>,
}

impl Crush {
    pub(super) fn new(path: &Path) -> Crush {
        let folder = projects::project_of(path);
        Standing::of(path, Project { folder })
    }
}

impl Kind for Project {
    type List = Tables;
    /// The last message that was read, by its row and its id.
    type Last = Option<(i64, String)>;
    type Queued = CatchUp;
    type Loaded = Talk;

    fn dialect(&self) -> Dialect {
        Dialect::CrushRows
    }

    fn queued(&self, root: String, told: Told) -> CatchUp {
        CatchUp::new(root, Talk::new(told, self.folder.clone()))
    }

    fn read_slice(
        at: &mut Crush,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        at.read_slice(database, facts, kept)
    }

    fn tell_anew(
        at: &Crush,
        database: &mut Database,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()> {
        let Some(tables) = Tables::of(database)? else {
            return Ok(());
        };
        let members = at.sessions.members(session);
        let found = find(database, &tables, &members, i64::MAX)?;
        let mut talk = Talk::new(Told::default(), at.own.folder.clone());
        let mut events = Vec::new();
        let own = at.sessions.row(session);
        for row in tables.sessions_at(database, own.as_slice())? {
            talk.session(&row, &mut events);
        }
        in_slices(database, &tables.messages, &found, &mut |rows| {
            for row in rows.iter().map(|row| tables.message(row)) {
                let upto = told.seqs.get(&row.session);
                if upto.is_some_and(|upto| row.rowid <= *upto) {
                    talk.message(&row, &mut events);
                }
            }
            events.drain(..).for_each(&mut *tell);
        })?;
        talk.reading.rest_anew(told, &mut events);
        events.into_iter().for_each(tell);
        Ok(())
    }

    /// An end that was told may be told otherwise by what comes behind it.
    fn note_end(&self, ended: &mut News) {
        let ids = ended.events.iter().map(|event| event.id.as_str());
        let ids = ids.collect::<Vec<_>>().join(" ");
        ended.told.marks.insert(OF_END.to_owned(), ids);
    }
}

#[cfg(test)]
mod tests;
