//! What is read off a spool: its events in batches, each of one session and of a size that the server takes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::spool_error;
use crate::client::Error;

/// Events of one batch.
const BATCH_EVENTS: usize = 1000;
/// Bytes of one batch; the server takes twice as many.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Lines that go to the server together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The session of all of them.
    pub session_id: String,
    /// One event each, as JSON text.
    pub lines: Vec<String>,
    /// Bytes of the file up to their end.
    pub(crate) end: u64,
}

impl Batch {
    /// The JSON array that is sent.
    pub fn body(&self) -> String {
        format!("[{}]", self.lines.join(","))
    }
}

/// Reads batches off a spool from its beginning.
#[derive(Debug)]
pub(crate) struct Reader {
    lines: BufReader<File>,
    pub(crate) path: PathBuf,
    /// Bytes up to the end of the last batch.
    at: u64,
    /// A line that was read and belongs to the next batch.
    ahead: Option<(String, String, u64)>,
    n_lines: u64,
    /// The lines that are no events, with their numbers.
    pub(crate) unread: Vec<(u64, Vec<u8>)>,
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| spool_error("read", path, source))?;
        Ok(Reader {
            lines: BufReader::new(file),
            path: path.to_owned(),
            at: 0,
            ahead: None,
            n_lines: 0,
            unread: Vec::new(),
        })
    }

    /// The next batch of what stands before `end`; `None` where there is none.
    pub(crate) fn next_batch(&mut self, end: u64) -> Result<Option<Batch>, Error> {
        let mut batch: Option<Batch> = None;
        let mut bytes = 0;
        while let Some((session_id, line, line_end)) = self.next_line(end)? {
            let fits = batch.as_ref().is_none_or(|batch| {
                batch.session_id == session_id
                    && batch.lines.len() < BATCH_EVENTS
                    && bytes + line.len() < BATCH_BYTES
            });
            if !fits {
                self.ahead = Some((session_id, line, line_end));
                break;
            }
            bytes += line.len() + 1;
            let batch = batch.get_or_insert_with(|| Batch {
                session_id,
                lines: Vec::new(),
                end: 0,
            });
            batch.lines.push(line);
            batch.end = line_end;
        }
        Ok(batch)
    }

    /// The next event's session, its line, and where it ends. Lines that are none, as half a line that a killed process
    /// leaves, are set aside.
    fn next_line(&mut self, end: u64) -> Result<Option<(String, String, u64)>, Error> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        while self.at < end {
            let mut bytes = Vec::new();
            let n = self
                .lines
                .read_until(b'\n', &mut bytes)
                .map_err(|source| spool_error("read", &self.path, source))?;
            if n == 0 {
                return Ok(None);
            }
            self.at += n as u64;
            self.n_lines += 1;
            let is_whole = bytes.pop_if(|last| *last == b'\n').is_some();
            match std::str::from_utf8(&bytes).ok().and_then(session_of) {
                Some(session_id) if is_whole => {
                    let line = String::from_utf8(bytes).unwrap_or_default();
                    return Ok(Some((session_id, line, self.at)));
                }
                _ if bytes.iter().all(u8::is_ascii_whitespace) => {}
                _ => self.unread.push((self.n_lines, bytes)),
            }
        }
        Ok(None)
    }
}

fn session_of(line: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Envelope {
        #[serde(rename = "sessionId")]
        session_id: String,
    }
    let envelope: Envelope = serde_json::from_str(line).ok()?;
    Some(envelope.session_id)
}
