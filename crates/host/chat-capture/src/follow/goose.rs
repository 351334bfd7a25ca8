//! Goose's sessions: the rows of the tables `sessions` and `messages` of `sessions.db`, told as the lines of a session that
//! Goose exports.
//!
//! After the program's source, the versions 1.10 to 1.30 and those behind them, whose schemas are 1 to 16. A row of
//! `messages` is a whole message, with a number that no other row gets later. Goose writes them once, but for marks: which of
//! them the model is shown, and what a call is called. The row of a session is changed as it goes on: its name comes
//! with its first prompts, and its tokens with each answer.
//!
//! | what is seen | what is done |
//! |---|---|
//! | a session that is to be read, at the beginning | its rows by the index (`held`), unless all of them were told |
//! | rows behind the last one that was read | these; they go to the sessions that are held |
//! | such a row of a session that is not held | the session's rows from its beginning: its reader knows nothing of it |
//! | the last row of one that is held is gone | its conversation was written anew: what stands is looked for, and the rest told |
//! | the row of one that is held is another | what it says is told: the title, the tokens |
//! | the row is gone | nothing more; what was told stays |
//! | numbers that are given anew | another database lies there: all begins anew |
//!
//! A session that another one started (`sub_agent`) is a session of its own and says so: which call started it stands
//! nowhere. Hidden ones, as those of `goose run --no-session`, are not read: Goose lists them nowhere either.

mod about;
mod held;
mod reading;
mod sessions;
mod tables;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::sqlite::Database;
use super::store::{Kind, Seen, Standing, Told, in_slices};
use held::Held;
use tables::Tables;

/// Goose's database.
pub(super) type Goose = Standing<Conversations>;

/// What is known of Goose's database besides.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    /// It came in the place of the one that was looked at first: what is old in it is known by its time alone.
    is_other: bool,
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct Last {
    /// The number of a message.
    row: i64,
    /// The highest number that a message was given.
    given: i64,
    /// The file, where the system tells one from another.
    inode: Option<u64>,
}

impl Goose {
    pub(super) fn new(path: &Path) -> Goose {
        Standing::of(path, Conversations::default())
    }
}

impl Kind for Conversations {
    type List = Tables;
    type Last = Last;
    type Queued = Held;
    type Loaded = Held;

    fn dialect(&self) -> Dialect {
        Dialect::GooseSession
    }

    fn not_read(&self, path: &Path) -> Option<&'static str> {
        let has_files = || {
            let files = std::fs::read_dir(path.parent()?).ok()?;
            let mut files = files.flatten().map(|file| file.path());
            files.find(|file| file.extension().is_some_and(|it| it == "jsonl"))
        };
        let is_old = !path.exists() && has_files().is_some();
        is_old.then_some(
            "not read: sessions of a version before its database; the page opens their files",
        )
    }

    fn queued(&self, session: String, told: Told) -> Held {
        Held::new(session, told)
    }

    fn read_slice(
        at: &mut Goose,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        at.read_slice(database, facts, kept)
    }

    fn tell_anew(
        at: &Goose,
        database: &mut Database,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()> {
        let Some(tables) = Tables::of(database)? else {
            return Ok(());
        };
        let upto = told.seqs.get(session).copied().unwrap_or(i64::MIN);
        let mut held = Held::new(session.to_owned(), Told::default());
        let mut events = Vec::new();
        let row = at.sessions.row(session);
        if let Some(about) = tables.about(database, row.as_slice())?.pop() {
            held.feed_about(&about, &mut events);
        }
        let mut found = tables.find(database, session, i64::MIN)?;
        found.retain(|row| *row <= upto);
        in_slices(database, &tables.messages, &found, &mut |rows| {
            for row in rows {
                held.feed(tables.message(&row), &mut events);
            }
            events.drain(..).for_each(&mut *tell);
        })?;
        held.reading.rest_anew(told, &mut events);
        events.into_iter().for_each(tell);
        Ok(())
    }
}
