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
    spill: Option<Spill>,
    closed: bool,
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
    /// A queue that makes its file in `dir`, should it need one.
    pub(crate) fn new() -> Self {
        Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn push(&self, bytes: &[u8], arrival_ms: i64, dir: &Path) {
        let mut state = self.locked();
        if state.memory_bytes + bytes.len() <= MEMORY_BYTES {
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
                let bytes = state.read_spill(len)?;
                Ok(Popped::Piece { bytes, arrival_ms })
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
        if self.spill.is_none() {
            self.spill = Some(Spill {
                file: unnamed_file(dir)?,
                written: 0,
                read: 0,
            });
        }
        let Some(spill) = &mut self.spill else {
            return Ok(());
        };
        spill.file.seek(SeekFrom::Start(spill.written))?;
        spill.file.write_all(bytes)?;
        spill.written += bytes.len() as u64;
        Ok(())
    }

    fn read_spill(&mut self, len: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let Some(spill) = &mut self.spill else {
            return Ok(Vec::new());
        };
        spill.file.seek(SeekFrom::Start(spill.read))?;
        spill.file.read_exact(&mut bytes)?;
        spill.read += len as u64;
        if spill.read == spill.written {
            // All was read: the disk gets its room back.
            spill.file.set_len(0)?;
            spill.read = 0;
            spill.written = 0;
        }
        Ok(bytes)
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
}
