//! Writing to a log: whole groups of lines, at its end, or nothing.

use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use chat_event::payload::LogEnd;
use chat_event::{ChatEvent, Json, Payload};

use super::Log;
use crate::error::Error;
use crate::platform::{self, FileMark};

/// A group of lines that is written at once. `kill -9` was seen to tear writes of 16 MiB, and none of up to 1 MiB.
const GROUP_BYTES: usize = 1024 * 1024;

impl Log {
    /// Writes the lines in groups and gives their offsets; all or none of them stay.
    pub(super) fn write_lines<L: AsRef<str>>(
        &mut self,
        lines: impl IntoIterator<Item = L>,
    ) -> Result<Vec<u64>, Error> {
        let good_bytes = self.end - self.files.base();
        let mut groups = Groups {
            end: self.end,
            last_line: self.last_line,
            groups: vec![Vec::new()],
        };
        if good_bytes == 0 && !self.files.sealed.is_empty() {
            groups.push(&self.continued_line());
        }
        let offsets = lines.into_iter().map(|line| groups.push(line.as_ref()));
        let offsets: Vec<u64> = offsets.collect();
        let path = self.files.newest();
        let file = self.appending()?;
        let written = groups
            .groups
            .iter()
            .try_for_each(|group| write_group(file, group));
        if let Err(why) = written {
            // A file that has nothing is none: its name alone would be taken for a session.
            let cut = match good_bytes {
                0 => std::fs::remove_file(&path).or_else(|_| file.set_len(0)),
                _ => file.set_len(good_bytes),
            };
            if good_bytes == 0 {
                self.file = None;
                self.newest = FileMark::at(&path).ok();
            }
            if let Err(cut) = cut {
                self.failed = Some(format!("a half-written line could not be cut: {cut}"));
            }
            return Err(Error::io("write the log", &path, why));
        }
        self.end = groups.end;
        self.last_line = groups.last_line;
        self.unsynced = true;
        Ok(offsets)
    }

    pub(super) fn control_line(&self, payload: impl Into<Payload>, now_ms: i64) -> String {
        self.control_line_at(self.end, payload, now_ms)
    }

    /// One that will stand at `offset`.
    pub(super) fn control_line_at(
        &self,
        offset: u64,
        payload: impl Into<Payload>,
        now_ms: i64,
    ) -> String {
        let id = format!("log-{offset}");
        let mut event = ChatEvent::new(id, now_ms, self.id.as_str(), payload);
        if matches!(event.payload, Payload::LogStart(_)) {
            event.seq = Some(0);
        }
        event.to_line_with_checksum()
    }

    /// The first line of a file that goes on where a segment ended: it says all that is needed to read it alone.
    fn continued_line(&self) -> String {
        let mut start = self.epochs.start_line();
        start
            .extra
            .insert("base", Json::from(serde_json::Value::from(self.head)));
        let now_ms = self.summing.row.last_activity_ms.unwrap_or_default();
        self.control_line(start, now_ms)
    }

    pub(super) fn appending(&mut self) -> Result<&File, Error> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let path = self.files.newest();
                let seen = self.newest;
                let failed = |why| Error::io("open the log", &path, why);
                let file = platform::private_file()
                    .append(true)
                    .create(true)
                    .open(&path)
                    .map_err(failed)?;
                // Other tools see that it has a writer. The folder's lock is what keeps other servers out.
                if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
                    return Err(Error::Locked {
                        dir: path,
                        pid: None,
                    });
                }
                let mark = FileMark::of(&file).map_err(failed)?;
                match seen {
                    None => self.unsynced_name = true,
                    Some(seen) if seen.is_same_file(mark) => {}
                    Some(_) => {
                        return Err(Error::NotALog {
                            path,
                            why: "it was just replaced by somebody else".to_owned(),
                        });
                    }
                }
                self.newest = Some(mark);
                // As far as another process could tell it is another file by now (overlayfs). What the index says of it is
                // mended first: else who is killed now would find a log that somebody put here.
                if seen.is_some_and(|seen| !seen.is_same_file_since(mark)) {
                    self.write_index();
                }
                file
            }
        };
        Ok(self.file.insert(file))
    }

    /// Where the log ends now.
    pub(super) fn ending(&self) -> Ending {
        Ending {
            end: self.end,
            last_line: self.last_line,
        }
    }

    /// Lets the log end where it did before what was written last, which nobody has seen and which cannot be made durable.
    pub(super) fn take_back(&mut self, before: Ending) {
        self.end = before.end;
        self.last_line = before.last_line;
        let bytes = self.end - self.files.base();
        let cut = self.file.as_ref().map(|file| file.set_len(bytes));
        if let Some(Err(why)) = cut {
            tracing::error!(
                session = self.id.as_str(),
                "could not cut what could not be made durable: {why}"
            );
        }
    }

    /// Makes what was written durable. After a refusal the log takes nothing more: what the system did with the bytes
    /// cannot be known.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        if !self.is_to_sync()? {
            return Ok(());
        }
        let synced = Synced::of(self.appending()?);
        self.unsynced = false;
        self.note_synced(synced)
    }

    /// As [`Log::sync`] for somebody who does not hold the log while the disk works, and tells [`Log::end_sync`] how it
    /// went. `None` where nothing is left to do.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<Syncing>, Error> {
        if !self.is_to_sync()? {
            return Ok(None);
        }
        let Ok(file) = self.appending()?.try_clone() else {
            // There are no more files to be had; this one there is.
            self.sync()?;
            return Ok(None);
        };
        self.unsynced = false;
        self.n_syncing = self.n_syncing.saturating_add(1);
        Ok(Some(Syncing(file)))
    }

    /// Whether there is something in the file that is not durable. Its name is, after this.
    fn is_to_sync(&mut self) -> Result<bool, Error> {
        if self.failed.is_some() {
            // It is not tried again.
            return Ok(false);
        }
        if self.unsynced_name {
            let dir = &self.files.dir;
            platform::sync_dir(dir).map_err(|why| Error::io("sync the folder", dir, why))?;
            self.unsynced_name = false;
        }
        Ok(self.unsynced)
    }

    /// Takes note of how it went.
    pub(crate) fn end_sync(&mut self, synced: Synced) -> Result<(), Error> {
        self.n_syncing = self.n_syncing.saturating_sub(1);
        self.note_synced(synced)
    }

    fn note_synced(&mut self, synced: Synced) -> Result<(), Error> {
        self.syncs.note(synced.took);
        synced.result.map_err(|why| {
            self.unsynced = true;
            self.failed = Some(format!("could not sync: {why}"));
            Error::io("sync the log", &self.files.newest(), why)
        })
    }

    /// Says that the log was left on purpose.
    pub(crate) fn close(&mut self, now_ms: i64) -> Result<(), Error> {
        if self.failed.is_none() && !self.ends_clean {
            let line = self.control_line(
                LogEnd {
                    clean: true,
                    ..LogEnd::default()
                },
                now_ms,
            );
            self.write_lines([&line])?;
            self.ends_clean = true;
        }
        self.sync()?;
        self.write_index();
        Ok(())
    }
}

/// Where a log ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    end: u64,
    last_line: u64,
}

/// A file whose bytes are to be made durable.
pub(crate) struct Syncing(File);

/// How that went.
pub(crate) struct Synced {
    took: Duration,
    result: io::Result<()>,
}

impl Syncing {
    /// Waits for the disk.
    pub(crate) fn run(self) -> Synced {
        Synced::of(&self.0)
    }
}

impl Synced {
    fn of(file: &File) -> Self {
        let began = Instant::now();
        let result = file.sync_data();
        Synced {
            took: began.elapsed(),
            result,
        }
    }
}

/// Lines on their way to the file.
struct Groups {
    end: u64,
    last_line: u64,
    groups: Vec<Vec<u8>>,
}

impl Groups {
    /// Adds a line and gives its offset. An empty one ends the line before.
    fn push(&mut self, line: &str) -> u64 {
        let offset = self.end;
        let is_full =
            |group: &Vec<u8>| !group.is_empty() && group.len() + line.len() >= GROUP_BYTES;
        if self.groups.last().is_none_or(is_full) {
            self.groups.push(Vec::new());
        }
        if let Some(group) = self.groups.last_mut() {
            group.extend_from_slice(line.as_bytes());
            group.push(b'\n');
        }
        self.end += line.len() as u64 + 1;
        if !line.is_empty() {
            self.last_line = offset;
        }
        offset
    }
}

/// One `write(2)`, and one more where the system took less: a full disk takes a part first and refuses the next.
fn write_group(mut file: &File, group: &[u8]) -> io::Result<()> {
    let mut rest = group;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => rest = &rest[n..],
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
