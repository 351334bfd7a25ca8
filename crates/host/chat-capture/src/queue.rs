//! What was passed through and is still to be read: in memory while that is little, else in a file.
//!
//! Taking a piece in never waits for whoever reads it, so the agent is never slowed; and memory stays within bounds
//! however slow the reading is.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::spool::unnamed_file;

/// Bytes that are held in memory.
const MEMORY_BYTES: usize = 8 * 1024 * 1024;

/// A file that has as much is not written on: who reads behind by a little, and never catches up, gives the disk its room
/// back with each.
const SPILL_BYTES: u64 = 32 * 1024 * 1024;

/// Files at once; behind so many the last one is written on.
const MOST_SPILLS: usize = 16;

/// Pieces in the order in which they came.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Piece>,
    memory_bytes: usize,
    /// The first is read, the last is written to.
    spills: VecDeque<Spill>,
    closed: bool,
    /// What was set aside could not be read: nothing is held any more.
    broken: bool,
    /// Bytes that could not be held anywhere.
    lost_bytes: u64,
}

#[derive(Debug)]
enum Piece {
    Memory { bytes: Vec<u8>, arrival_ms: i64 },
    Spilled { len: usize, arrival_ms: i64 },
}

/// A file without a name: it is gone with the process.
#[derive(Debug)]
struct Spill {
    file: File,
    written: u64,
    read: u64,
}

/// What [`Queue::pop`] gives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Popped {
    Piece {
        bytes: Vec<u8>,
        arrival_ms: i64,
    },
    /// Nothing came in time.
    Nothing,
    /// Nothing will come any more.
    Closed,
}

impl Queue {
    /// An empty queue. It makes its first file when it needs one.
    pub(crate) fn new() -> Self {
        Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Takes a piece in; should it need a file, that is made in `dir`.
    pub(crate) fn push(&self, bytes: &[u8], arrival_ms: i64, dir: &Path) {
        let mut state = self.locked();
        if state.broken {
            state.lost_bytes += bytes.len() as u64;
        } else if state.memory_bytes + bytes.len() <= MEMORY_BYTES {
            state.memory_bytes += bytes.len();
            let bytes = bytes.to_vec();
            state.pieces.push_back(Piece::Memory { bytes, arrival_ms });
        } else if state.write_spill(bytes, dir).is_ok() {
            let len = bytes.len();
            state.pieces.push_back(Piece::Spilled { len, arrival_ms });
        } else {
            state.lost_bytes += bytes.len() as u64;
        }
        self.changed.notify_one();
    }

    pub(crate) fn close(&self) {
        self.locked().closed = true;
        self.changed.notify_one();
    }

    /// The next piece; waits for it.
    ///
    /// # Errors
    ///
    /// Where what was set aside cannot be read. All that is held is lost then, and what comes later.
    pub(crate) fn pop(&self, timeout: Duration) -> std::io::Result<Popped> {
        let state = self.locked();
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, timeout, |state| {
                state.pieces.is_empty() && !state.closed
            })
            .unwrap_or_else(PoisonError::into_inner);
        match state.pieces.pop_front() {
            None if state.closed => Ok(Popped::Closed),
            None => Ok(Popped::Nothing),
            Some(Piece::Memory { bytes, arrival_ms }) => {
                state.memory_bytes -= bytes.len();
                Ok(Popped::Piece { bytes, arrival_ms })
            }
            Some(Piece::Spilled { len, arrival_ms }) => {
                let read = state.read_spill(len);
                if read.is_err() {
                    state.give_up(len);
                }
                read.map(|bytes| Popped::Piece { bytes, arrival_ms })
            }
        }
    }

    /// Bytes that were passed through but could be held nowhere.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.locked().lost_bytes
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write_spill(&mut self, bytes: &[u8], dir: &Path) -> std::io::Result<()> {
        let is_full = |spill: &Spill| spill.written >= SPILL_BYTES;
        if self.spills.back().is_none_or(is_full) && self.spills.len() < MOST_SPILLS {
            match unnamed_file(dir) {
                Ok(file) => self.spills.push_back(Spill {
                    file,
                    written: 0,
                    read: 0,
                }),
                // The last one can be written on.
                Err(_) if !self.spills.is_empty() => {}
                Err(why) => return Err(why),
            }
        }
        let Some(spill) = self.spills.back_mut() else {
            return Ok(());
        };
        spill.file.seek(SeekFrom::Start(spill.written))?;
        spill.file.write_all(bytes)?;
        spill.written += bytes.len() as u64;
        Ok(())
    }

    fn read_spill(&mut self, len: usize) -> std::io::Result<Vec<u8>> {
        let is_last = self.spills.len() == 1;
        let mut bytes = vec![0; len];
        let Some(spill) = self.spills.front_mut() else {
            return Ok(Vec::new());
        };
        spill.file.seek(SeekFrom::Start(spill.read))?;
        spill.file.read_exact(&mut bytes)?;
        spill.read += len as u64;
        // Where all was read, the disk gets its room back.
        if spill.read == spill.written && is_last {
            spill.file.set_len(0)?;
            spill.read = 0;
            spill.written = 0;
        } else if spill.read == spill.written {
            self.spills.pop_front();
        }
        Ok(bytes)
    }

    /// A piece of that length cannot be read, so nothing that stands behind it is.
    fn give_up(&mut self, len: usize) {
        let others = self.pieces.drain(..).map(|piece| match piece {
            Piece::Memory { bytes, .. } => bytes.len(),
            Piece::Spilled { len, .. } => len,
        });
        self.lost_bytes += (len + others.sum::<usize>()) as u64;
        self.memory_bytes = 0;
        self.spills.clear();
        self.broken = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_out_in_order_whether_they_were_spilled_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let queue = Queue::new();
        let piece = |n: u8| vec![n; 1024 * 1024];
        for n in 0..30 {
            queue.push(&piece(n), i64::from(n), dir.path());
        }
        assert!(queue.locked().memory_bytes <= MEMORY_BYTES);
        queue.close();
        for n in 0..30 {
            let expected = Popped::Piece {
                bytes: piece(n),
                arrival_ms: i64::from(n),
            };
            assert_eq!(queue.pop(Duration::ZERO).unwrap(), expected);
        }
        assert_eq!(queue.pop(Duration::ZERO).unwrap(), Popped::Closed);
        assert_eq!(queue.lost_bytes(), 0);
    }

    #[test]
    fn a_reader_that_stays_behind_by_a_little_does_not_fill_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let queue = Queue::new();
        let piece = |n: u8| vec![n; 1024 * 1024];
        let on_disk = || {
            let state = queue.locked();
            let spills = state.spills.iter();
            spills
                .map(|it| it.file.metadata().unwrap().len())
                .sum::<u64>()
        };
        for n in 0..150 {
            queue.push(&piece(n), i64::from(n), dir.path());
            if let Some(n) = n.checked_sub(24) {
                let Popped::Piece { bytes, arrival_ms } = queue.pop(Duration::ZERO).unwrap() else {
                    panic!("{n} is there");
                };
                assert!(bytes == piece(n) && arrival_ms == i64::from(n));
            }
            assert!(on_disk() <= 2 * SPILL_BYTES);
        }
        assert_eq!(queue.lost_bytes(), 0);
    }

    #[test]
    fn where_what_was_set_aside_cannot_be_read_all_that_is_not_read_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let queue = Queue::new();
        queue.push(&vec![1; MEMORY_BYTES], 1, dir.path());
        for _ in 0..2 {
            queue.push(&[2; 100], 2, dir.path());
        }
        queue.locked().spills[0].file.set_len(50).unwrap();
        assert!(queue.pop(Duration::ZERO).is_ok());
        queue.push(&[3; 10], 3, dir.path());
        assert!(queue.pop(Duration::ZERO).is_err());
        queue.push(&[4; 1], 4, dir.path());
        queue.close();
        assert_eq!(queue.pop(Duration::ZERO).unwrap(), Popped::Closed);
        assert_eq!(queue.lost_bytes(), 211);
    }
}
