//! Sessions that are read from their beginning, one behind the other.

use std::collections::BTreeSet;
use std::io;
use std::time::Instant;

use super::Crush;
use super::reading::tell;
use super::rows::Tables;
use super::talk::{Talk, is_in_place_of_told, is_of_message};
use crate::follow::sqlite::Database;
use crate::follow::store::{PAUSE, Queued, Reading, Told, is_of_one};

/// A session on its way from its beginning to the last row that is known of.
#[derive(Debug)]
pub(in crate::follow) struct CatchUp {
    root: String,
    pub(super) talk: Talk,
    /// The numbers of rows that are to be read, in their order, and how many of them were; `None` before they were looked for.
    rows: Option<Vec<i64>>,
    n_read: usize,
}

impl CatchUp {
    pub(super) fn new(root: String, talk: Talk) -> CatchUp {
        CatchUp {
            root,
            talk,
            rows: None,
            n_read: 0,
        }
    }
}

impl AsMut<Reading> for CatchUp {
    fn as_mut(&mut self) -> &mut Reading {
        &mut self.talk.reading
    }
}

impl Queued for CatchUp {
    fn session(&self) -> &str {
        &self.root
    }
}

/// Behind the last answer of a session stand what its calls gave, and little else.
const TAIL: usize = 32;

impl Crush {
    /// Reads a slice of the session in front of the queue. One that cannot be read is named and waits: the others go on.
    pub(super) fn catch_up(&mut self, database: &mut Database, tables: &Tables) -> io::Result<()> {
        let Err(why) = self.read_on(database, tables) else {
            return Ok(());
        };
        if why.kind() == io::ErrorKind::WouldBlock || !database.is_still() {
            return Err(why);
        }
        let Some(front) = self.queue.pop_front() else {
            return Err(why);
        };
        // What was read of it just now is read again with it.
        self.news.remove(&front.root);
        self.put_off.put(&front.root, Instant::now() + PAUSE);
        let what = format!("session {}: {why}", front.root);
        Err(io::Error::new(why.kind(), what))
    }

    fn read_on(&mut self, database: &mut Database, tables: &Tables) -> io::Result<()> {
        let upto = self.last_row();
        let Some(front) = self.queue.front_mut() else {
            return Ok(());
        };
        let root = front.root.clone();
        if front.rows.is_none() {
            let members = self.sessions.members(&root);
            let rows = find(database, tables, &members, upto)?;
            let own = self.sessions.row(&root);
            let own = tables.sessions_at(database, own.as_slice())?;
            is_of_one(database)?;
            if rows.is_empty() {
                // One without messages has nothing to say.
                self.queue.pop_front();
                return Ok(());
            }
            if is_at_rest(database, tables, &rows, &front.talk.reading.told)? {
                self.queue.pop_front();
                return Ok(());
            }
            front.rows = Some(rows);
            for row in &own {
                tell(&mut front.talk, &root, &mut self.news, |talk, out| {
                    talk.session(row, out)
                });
            }
        }
        let rows = front.rows.as_deref().unwrap_or_default();
        let left = &rows[front.n_read.min(rows.len())..];
        let read = match left.is_empty() {
            true => Vec::new(),
            false => tables.read(database, left)?,
        };
        is_of_one(database)?;
        // What was deleted since is not there.
        front.n_read = match read.last() {
            Some(last) => rows.partition_point(|rowid| *rowid <= last.rowid),
            None => rows.len(),
        };
        let is_over = front.n_read == rows.len();
        for row in &read {
            tell(&mut front.talk, &root, &mut self.news, |talk, out| {
                talk.message(row, out)
            });
        }
        if is_over {
            let last = front.rows.as_ref().and_then(|rows| rows.last().copied());
            let members = self.sessions.members(&root);
            // Others may have come while it was read.
            let more = find_behind(database, tables, &members, last.unwrap_or(i64::MIN), upto)?;
            is_of_one(database)?;
            if more.is_empty() {
                if let Some(mut done) = self.queue.pop_front() {
                    done.talk.forget_marks();
                    self.loaded.insert(done.root, done.talk);
                }
            } else if let Some(front) = self.queue.front_mut() {
                // What grew meanwhile is read once more: behind its next one it is not looked at again.
                let mut rows: Vec<i64> = front.talk.growing().collect();
                rows.extend(more);
                rows.sort_unstable();
                front.rows = Some(rows);
                front.n_read = 0;
            }
        }
        Ok(())
    }
}

/// Whether all of a session was told, and its end, too: it is of no interest until it goes on.
fn is_at_rest(
    database: &mut Database,
    tables: &Tables,
    rows: &[i64],
    told: &Told,
) -> io::Result<bool> {
    if !told.ended || rows.last() > told.seqs.values().max() {
        return Ok(false);
    }
    // Its last answer may have grown in its place.
    let marked = told.marks.keys().filter(|id| is_of_message(id));
    let mut left: BTreeSet<&String> = marked.collect();
    let tail = &rows[rows.len().saturating_sub(TAIL)..];
    let tail = tables.read(database, tail)?;
    is_of_one(database)?;
    for row in &tail {
        if is_in_place_of_told(told, row) {
            return Ok(false);
        }
        if left.remove(&row.id) && told.marks.get(&row.id) != row.mark().as_ref() {
            return Ok(false);
        }
    }
    Ok(left.is_empty())
}

/// The rows of these sessions up to one, in their order.
pub(super) fn find(
    database: &mut Database,
    tables: &Tables,
    members: &BTreeSet<String>,
    upto: i64,
) -> io::Result<Vec<i64>> {
    find_behind(database, tables, members, i64::MIN, upto)
}

fn find_behind(
    database: &mut Database,
    tables: &Tables,
    members: &BTreeSet<String>,
    after: i64,
    upto: i64,
) -> io::Result<Vec<i64>> {
    let mut rows = Vec::new();
    for session in members {
        rows.append(&mut tables.find(database, session, after, upto)?);
    }
    rows.sort_unstable();
    Ok(rows)
}
