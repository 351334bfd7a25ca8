//! One session's log: `<stem>.events.jsonl`.
//!
//! Events get their number here and nowhere else, in the order in which they stand in the file. The promises of
//! `protocol.md` 5.7: one `write(2)` a group on an appending file, nothing half-written left behind, a line's checksum.
//! Opening and repairing is for `scan`, reading pages for `page`.

mod condition;
mod ids;
mod lines;
mod page;
mod scan;
mod walk;

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use chat_event::payload::{LogEnd, LogEpoch, LogGap, LogStart};
use chat_event::{ChatEvent, Payload, bodies};

use crate::blobs::Blobs;
use crate::error::Error;
use crate::platform;
use crate::session_id::SessionId;
use crate::store::{SyncPolicy, random_base64url};
use crate::summary::Summary;
use ids::Ids;

pub use condition::{Condition, SYNC_BOUNDS_US, SyncTimes};
pub use page::{Gap, Page, PageRequest};

/// A group of lines that is written at once. `kill -9` was seen to tear writes of 16 MiB, and none of up to 1 MiB.
const GROUP_BYTES: usize = 1024 * 1024;

/// The index has one entry for this many bytes of log.
const INDEX_EVERY_BYTES: u64 = 64 * 1024;

/// What the log says about its writer.
const WRITER: &str = concat!("turnreel/", env!("CARGO_PKG_VERSION"));

/// What became of a batch.
#[derive(Debug)]
pub struct Appended {
    /// The epoch the numbers belong to.
    pub epoch: String,
    /// One entry for each event of the batch, in its order.
    pub results: Vec<ItemResult>,
    /// The events that were stored, in order; their numbers follow each other.
    pub stored: Vec<Stored>,
    /// Whether they are on the disk, or only with the operating system.
    pub synced: bool,
    /// The session's row after it.
    pub summary: Summary,
    /// Whether nothing was stored because the batch was to be stored whole or not at all.
    pub refused: bool,
}

/// What became of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemResult {
    /// It was stored.
    Stored {
        /// Its number.
        seq: u64,
        /// Its id.
        id: String,
        /// Whether the id came with it, so that sending it again does nothing.
        idempotent: bool,
    },
    /// It was stored before.
    Duplicate {
        /// The number it has.
        seq: u64,
    },
    /// Another event has its id.
    Conflict {
        /// The id.
        id: String,
        /// The number of the event that has it.
        seq: u64,
    },
}

/// One stored event, as an event and as its line.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its number.
    pub seq: u64,
    /// The event.
    pub event: ChatEvent,
    /// Its line in the log, without the newline.
    pub line: String,
}

/// One log, open for appending.
#[derive(Debug)]
pub(crate) struct Log {
    id: SessionId,
    path: PathBuf,
    /// Open since the first append; most logs are only read.
    file: Option<File>,
    epoch: String,
    /// The number of the last event.
    head: u64,
    /// The number of the first event; 1 where there is none.
    oldest: u64,
    /// Length of the file; what lies behind it is none of ours.
    end: u64,
    /// `(seq, offset)` of lines, ascending.
    index: Vec<(u64, u64)>,
    ids: Ids,
    summary: Summary,
    /// Whether the last line is a `log_end`.
    ends_clean: bool,
    unsynced: bool,
    failed: Option<String>,
    /// Damaged lines found on opening.
    damaged: u64,
    syncs: SyncTimes,
}

impl Log {
    /// Opens the log of that session, repairs its tail, or makes a new one.
    ///
    /// `same_boot` says whether all that was written before must still be there.
    pub(crate) fn open(
        dir: &Path,
        id: SessionId,
        same_boot: bool,
        sync: SyncPolicy,
        now_ms: i64,
    ) -> Result<Self, Error> {
        let path = dir.join(format!("{}.events.jsonl", id.stem()));
        let why_new_epoch = (!same_boot && sync != SyncPolicy::Always).then_some("unclean_boot");
        Self::open_path(path, id, why_new_epoch, now_ms)
    }

    fn open_path(
        path: PathBuf,
        id: SessionId,
        why_new_epoch: Option<&str>,
        now_ms: i64,
    ) -> Result<Self, Error> {
        let mut log = Log {
            summary: Summary::new(id.as_str()),
            id,
            path,
            file: None,
            epoch: String::new(),
            head: 0,
            oldest: 1,
            end: 0,
            index: Vec::new(),
            ids: Ids::default(),
            ends_clean: false,
            unsynced: false,
            failed: None,
            damaged: 0,
            syncs: SyncTimes::default(),
        };
        let found = scan::scan(&mut log)?;
        log.repair(found, why_new_epoch, now_ms)?;
        log.summary.epoch.clone_from(&log.epoch);
        Ok(log)
    }

    /// Makes what was found fit to be appended to (`protocol.md` 5.8 step 5 and the epoch rule of 5.7).
    fn repair(
        &mut self,
        found: scan::Found,
        why_new_epoch: Option<&str>,
        now_ms: i64,
    ) -> Result<(), Error> {
        let mut lines = Vec::new();
        if found.unended_line {
            lines.push(String::new());
        }
        let torn_as = match &found.torn {
            Some(torn) => Some(self.keep_torn(torn)?),
            None => None,
        };
        if self.epoch.is_empty() {
            self.epoch = random_base64url::<16>()?;
            let started = self.head > 0 || found.damaged_up_to > 0;
            let payload = if started {
                self.head = self.head.max(found.damaged_up_to);
                Payload::from(LogEpoch {
                    epoch: self.epoch.clone(),
                    base: self.head,
                    why: "restored".to_owned(),
                    ..LogEpoch::default()
                })
            } else {
                Payload::from(LogStart {
                    schema: chat_event::SCHEMA,
                    epoch: self.epoch.clone(),
                    writer: Some(WRITER.to_owned()),
                    ..LogStart::default()
                })
            };
            lines.push(self.control_line(payload, now_ms));
        } else {
            let why = if found.damaged_up_to > 0 {
                Some("restored")
            } else if self.ends_clean {
                None
            } else {
                why_new_epoch
            };
            if let Some(why) = why {
                // The damaged lines at the end had numbers that somebody may have seen.
                self.head = self.head.max(found.damaged_up_to);
                if let Some(seq) = found.torn.as_ref().and_then(|torn| torn.seq) {
                    self.head = self.head.max(seq);
                }
                self.epoch = random_base64url::<16>()?;
                lines.push(self.control_line(
                    LogEpoch {
                        epoch: self.epoch.clone(),
                        base: self.head,
                        why: why.to_owned(),
                        ..LogEpoch::default()
                    },
                    now_ms,
                ));
            }
        }
        if let (Some(name), Some(torn)) = (torn_as, &found.torn) {
            // What was torn was never acknowledged, so no number is missing: the range is empty. After a new epoch it ends
            // where the new numbers begin.
            let mut gap = LogGap {
                from: found.head + 1,
                to: self.head,
                why: "torn".to_owned(),
                ..LogGap::default()
            };
            gap.extra.insert("keptAs", chat_event::Json::string(&name));
            gap.extra.insert(
                "bytes",
                chat_event::Json::from(serde_json::Value::from(torn.bytes.len())),
            );
            tracing::warn!(
                session = self.id.as_str(),
                bytes = torn.bytes.len(),
                kept_as = name,
                "the log ended in the middle of a line"
            );
            lines.push(self.control_line(gap, now_ms));
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.write_lines(&lines)?;
        self.sync()?;
        if let Some(dir) = self.path.parent() {
            platform::sync_dir(dir).map_err(|why| Error::io("sync the folder", dir, why))?;
        }
        Ok(())
    }

    /// Copies what was torn to a file of its own, and cuts it off.
    fn keep_torn(&mut self, torn: &scan::Torn) -> Result<String, Error> {
        let dir = self.path.parent().unwrap_or(Path::new(".")).to_owned();
        for n in 1.. {
            let name = format!("{}.torn-{n}", self.id.stem());
            let path = dir.join(&name);
            let opened = platform::private_file()
                .write(true)
                .create_new(true)
                .open(&path);
            let mut file = match opened {
                Ok(file) => file,
                Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(why) => return Err(Error::io("keep the torn line", &path, why)),
            };
            file.write_all(&torn.bytes)
                .and_then(|()| file.sync_all())
                .map_err(|why| Error::io("keep the torn line", &path, why))?;
            let log_path = self.path.clone();
            let end = self.end;
            self.appending()?
                .set_len(end)
                .map_err(|why| Error::io("cut the torn line", &log_path, why))?;
            return Ok(name);
        }
        Ok(String::new())
    }

    /// Stores the events that are new, in order, in one piece.
    ///
    /// With `atomic` nothing is stored where one conflicts.
    pub(crate) fn append(
        &mut self,
        events: Vec<ChatEvent>,
        blobs: &Blobs,
        sync: SyncPolicy,
        atomic: bool,
        now_ms: i64,
    ) -> Result<Appended, Error> {
        if let Some(why) = &self.failed {
            return Err(Error::Degraded { why: why.clone() });
        }
        self.check_unchanged(now_ms)?;
        let mut results = Vec::with_capacity(events.len());
        let mut stored: Vec<Stored> = Vec::new();
        let mut in_batch: HashMap<String, usize> = HashMap::new();
        let mut seq = self.head;
        for mut event in events {
            let idempotent = !event.id.is_empty();
            if !idempotent {
                event.id = format!("srv:{}", random_base64url::<12>()?);
            }
            event.seq = None;
            event.recv = None;
            event.extra.remove("c");
            self.id.as_str().clone_into(&mut event.session_id);
            bodies::take_out(&mut event, crate::INLINE_BYTES, &mut |text| {
                let sha256 = blobs.put(text.as_bytes())?;
                Ok::<_, Error>(bodies::reference_to(text, sha256))
            })?;
            let same_id = match in_batch.get(&event.id) {
                Some(&at) => Some(stored[at].event.clone()),
                None => self.find(&event.id)?.map(|(event, _)| event),
            };
            if let Some(before) = same_id {
                results.push(compare(before, event));
                continue;
            }
            seq += 1;
            event.seq = Some(seq);
            event.recv = Some(now_ms);
            results.push(ItemResult::Stored {
                seq,
                id: event.id.clone(),
                idempotent,
            });
            in_batch.insert(event.id.clone(), stored.len());
            stored.push(Stored {
                seq,
                line: event.to_line_with_checksum(),
                event,
            });
        }
        let conflicts = results
            .iter()
            .any(|result| matches!(result, ItemResult::Conflict { .. }));
        let refused = atomic && conflicts;
        if refused {
            stored.clear();
        }
        let mut synced = false;
        if !stored.is_empty() {
            let offsets = self.write_lines(stored.iter().map(|stored| &stored.line))?;
            for (stored, offset) in stored.iter().zip(offsets) {
                self.note(&stored.event, offset);
            }
            self.ends_clean = false;
            if sync == SyncPolicy::Always {
                self.sync()?;
                synced = true;
            }
        }
        Ok(Appended {
            epoch: self.epoch.clone(),
            results,
            stored,
            summary: self.summary.clone(),
            synced,
            refused,
        })
    }

    /// Takes note of an event that stands at `offset`.
    fn note(&mut self, event: &ChatEvent, offset: u64) {
        let Some(seq) = event.seq else { return };
        if self.summary.events == 0 {
            self.oldest = seq;
        }
        self.head = seq;
        let far = self
            .index
            .last()
            .is_none_or(|&(_, last)| offset >= last + INDEX_EVERY_BYTES);
        if far {
            self.index.push((seq, offset));
        }
        self.ids.insert(&event.id, offset);
        self.summary.take(event);
    }

    /// The event with that id and its line.
    pub(crate) fn find(&self, id: &str) -> Result<Option<(ChatEvent, String)>, Error> {
        let mut offsets = self.ids.candidates(id).peekable();
        if offsets.peek().is_none() {
            return Ok(None);
        }
        let file = self.reading()?;
        for offset in offsets {
            let line = lines::read_line_at(&file, offset, self.end)
                .map_err(|why| Error::io("read the log", &self.path, why))?;
            // The id on the line decides, so a wrong entry of the index gives no wrong answer.
            if let Ok(event) = ChatEvent::from_json(&line)
                && event.id == id
            {
                return Ok(Some((event, line)));
            }
        }
        Ok(None)
    }

    /// A page of events, read from the file.
    pub(crate) fn snapshot(&self, after: u64) -> page::Snapshot {
        let at = self.index.partition_point(|&(seq, _)| seq <= after + 1);
        let start = match at.checked_sub(1) {
            Some(at) => self.index[at].1,
            None => self.index.first().map_or(self.end, |&(_, offset)| offset),
        };
        page::Snapshot {
            path: self.path.clone(),
            epoch: self.epoch.clone(),
            head: self.head,
            oldest: self.oldest,
            start,
            end: self.end,
        }
    }

    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    pub(crate) fn epoch(&self) -> &str {
        &self.epoch
    }

    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.oldest
    }

    pub(crate) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Makes what was written durable. After a refusal the log takes nothing more: what the system did with the bytes
    /// cannot be known.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        if !self.unsynced {
            return Ok(());
        }
        let Some(file) = &self.file else {
            return Ok(());
        };
        let began = std::time::Instant::now();
        let synced = file.sync_data();
        self.syncs.note(began.elapsed());
        match synced {
            Ok(()) => {
                self.unsynced = false;
                Ok(())
            }
            Err(why) => {
                self.failed = Some(format!("could not sync: {why}"));
                Err(Error::io("sync the log", &self.path, why))
            }
        }
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
        self.sync()
    }

    fn control_line(&self, payload: impl Into<Payload>, now_ms: i64) -> String {
        let id = format!("log-{}", self.end);
        let mut event = ChatEvent::new(id, now_ms, self.id.as_str(), payload);
        if matches!(event.payload, Payload::LogStart(_)) {
            event.seq = Some(0);
        }
        event.to_line_with_checksum()
    }

    /// Writes the lines in groups and gives their offsets; all or none of them stay.
    fn write_lines<L: AsRef<str>>(
        &mut self,
        lines: impl IntoIterator<Item = L>,
    ) -> Result<Vec<u64>, Error> {
        let good_end = self.end;
        let mut end = self.end;
        let mut offsets = Vec::new();
        let mut groups: Vec<Vec<u8>> = vec![Vec::new()];
        for line in lines {
            let line = line.as_ref().as_bytes();
            if let Some(group) = groups.last()
                && !group.is_empty()
                && group.len() + line.len() >= GROUP_BYTES
            {
                groups.push(Vec::new());
            }
            offsets.push(end);
            if let Some(group) = groups.last_mut() {
                group.extend_from_slice(line);
                group.push(b'\n');
                end += line.len() as u64 + 1;
            }
        }
        let path = self.path.clone();
        let file = self.appending()?;
        let written = groups.iter().try_for_each(|group| write_group(file, group));
        if let Err(why) = written {
            let cut = file.set_len(good_end);
            if let Err(cut) = cut {
                self.failed = Some(format!("a half-written line could not be cut: {cut}"));
            }
            return Err(Error::io("write the log", &path, why));
        }
        self.end = end;
        self.unsynced = true;
        Ok(offsets)
    }

    /// Whether nobody else wrote to, cut or replaced the file; else what is there is read anew, under a new epoch.
    fn check_unchanged(&mut self, now_ms: i64) -> Result<(), Error> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let len = file.metadata().map(|metadata| metadata.len()).ok();
        if len == Some(self.end) && platform::is_same_file(file, &self.path) {
            return Ok(());
        }
        tracing::error!(
            session = self.id.as_str(),
            path = %self.path.display(),
            "the log was changed by somebody else; it goes on under a new epoch"
        );
        let head = self.head;
        // Our lock goes with it; the file may still be the same.
        self.file = None;
        let mut fresh =
            Self::open_path(self.path.clone(), self.id.clone(), Some("restored"), now_ms)?;
        // Numbers that were given are not given again, whatever became of their events.
        fresh.head = fresh.head.max(head);
        fresh.syncs = self.syncs;
        *self = fresh;
        Ok(())
    }

    fn appending(&mut self) -> Result<&File, Error> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = platform::private_file()
                    .append(true)
                    .create(true)
                    .open(&self.path)
                    .map_err(|why| Error::io("open the log", &self.path, why))?;
                // Other tools see that it has a writer. The folder's lock is what keeps other servers out.
                if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
                    return Err(Error::Locked {
                        dir: self.path.clone(),
                        pid: None,
                    });
                }
                file
            }
        };
        Ok(self.file.insert(file))
    }

    fn reading(&self) -> Result<File, Error> {
        platform::private_file()
            .read(true)
            .open(&self.path)
            .map_err(|why| Error::io("read the log", &self.path, why))
    }
}

/// One `write(2)`, and one more where the system took less: a full disk takes a part first and refuses the next.
fn write_group(mut file: &File, group: &[u8]) -> std::io::Result<()> {
    let mut rest = group;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(n) => rest = &rest[n..],
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

/// What an event is beside one that has its id.
fn compare(mut before: ChatEvent, event: ChatEvent) -> ItemResult {
    let seq = before.seq.take().unwrap_or_default();
    before.recv = None;
    before.extra.remove("c");
    let now = event;
    // Their lines are compared: a line escapes what the value that came may have had as it is.
    if before.to_line() == now.to_line() {
        ItemResult::Duplicate { seq }
    } else {
        ItemResult::Conflict { id: now.id, seq }
    }
}
