//! What is its own of each kind of databases.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::path::Path;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::sessions::List;
use super::{News, Reading, Seen, Standing, Told};
use crate::follow::sqlite::Database;

/// A kind of databases: how its tables are read, and what one of them has for that.
pub(in crate::follow) trait Kind: Debug + Send + Sized {
    type List: List;
    /// What was read last, by which it is known whether what lies there goes on from it.
    type Last: Debug + Default + Send;
    /// A session that has rows to be read.
    type Queued: Queued;
    /// One that stands at the last row.
    type Loaded: AsMut<Reading> + Debug + Send;

    fn dialect(&self) -> Dialect;

    /// [`Store::not_read`] of the database at `path`.
    fn not_read(&self, _path: &Path) -> Option<&'static str> {
        None
    }

    /// A session that is to be read, and is told from there on.
    fn queued(&self, session: String, told: Told) -> Self::Queued;

    /// Reads one slice of what is new; whether there is more. What is to be told is added to `at.news`.
    ///
    /// # Errors
    ///
    /// As [`Store::read`]; what was added before counts.
    fn read_slice(
        at: &mut Standing<Self>,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool>;

    /// [`Store::tell_anew`].
    fn tell_anew(
        at: &Standing<Self>,
        database: &mut Database,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()>;

    /// Takes note of what is told as a session's end.
    fn note_end(&self, _ended: &mut News) {}
}

/// A session on its way to the last row that is known of.
pub(in crate::follow) trait Queued: AsMut<Reading> + Debug + Send {
    fn session(&self) -> &str;
}
