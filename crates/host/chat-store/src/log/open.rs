//! Opening a log, and making it fit to be appended to.
//!
//! What the index says is taken for read, and the rest is read by `scan`. Only the tail is ever changed.

use std::io::Write;
use std::sync::Arc;

use chat_event::Payload;
use chat_event::payload::LogGap;

use super::files::Reader;
use super::ids::Ids;
use super::{CopyOf, Epochs, Files, Log, SyncTimes, begun, index, scan};
use crate::error::Error;
use crate::platform::{self, FileMark};
use crate::random::random_base64url;
use crate::session_id::SessionId;
use crate::summing::Summing;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 256 * 1024;

/// How a log is opened.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) files: Files,
    pub(crate) id: SessionId,
    pub(crate) segment_bytes: u64,
    /// Why numbers that were given may be lost, where that may be.
    pub(crate) why_new_epoch: Option<&'static str>,
    /// Numbers up to this one were given, whatever became of their events. Those of a copy are its home's, and can be copied
    /// again.
    pub(crate) least_head: u64,
    /// Whose copy it is, where no line of it says so: it is new, or that line is lost.
    pub(crate) copy_of: Option<CopyOf>,
    pub(crate) use_index: bool,
    pub(crate) now_ms: i64,
}

impl Log {
    /// Opens the log of that session, repairs its tail, or makes a new one.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, or a file in its place is none of ours.
    pub(crate) fn open(mut opening: Opening) -> Result<Self, Error> {
        if begun::end(&opening.files)? {
            opening.files = Files::of_one(&opening.files.dir, &opening.files.stem);
        }
        let mut reader = opening.files.reader()?;
        let mut log = Log {
            summing: Summing::new(opening.id.as_str()),
            id: opening.id,
            segment_bytes: opening.segment_bytes,
            file: None,
            newest: reader.newest_mark(),
            epochs: Epochs::default(),
            head: 0,
            oldest: 1,
            end: 0,
            last_line: 0,
            lines: Vec::new(),
            ids: Ids::new()?,
            is_restored: opening.files.is_restored(),
            ends_clean: false,
            unsynced: false,
            n_syncing: 0,
            unsynced_name: false,
            failed: None,
            damaged: 0,
            syncs: SyncTimes::default(),
            indexed: index::Indexed::default(),
            index_not_before: 0,
            files: opening.files,
        };
        let index = match opening.use_index {
            true => index::load(&log.files, &mut reader),
            false => None,
        };
        // Where the index does not fit, the log may be one that had more.
        let before = match (opening.use_index, &index) {
            (true, None) => index::Before::of(&log.files, log.id.as_str()),
            (_, _) => None,
        };
        if let Some(index) = index
            && index.facts.session == log.id.as_str()
        {
            log.take_index(index);
        }
        log.ids.begin_many();
        let mut found = scan::scan(&mut log, &mut reader)?;
        log.ids.end_many();
        // What the index is of was there, and seen: a log that has less is an older copy, or was cut.
        found.is_behind = before.as_ref().is_some_and(|before| {
            before.epochs.now() == log.epochs.now() && before.head > log.head
        });
        let copy_of = match log.epochs.is_empty() {
            true => opening
                .copy_of
                .or_else(|| before.and_then(|before| before.epochs.copy_of())),
            false => log.epochs.copy_of(),
        };
        if copy_of.is_none() {
            log.head = log.head.max(opening.least_head);
        }
        let (why, now_ms) = (opening.why_new_epoch, opening.now_ms);
        log.repair(found, &mut reader, copy_of, why, now_ms)?;
        log.epochs.now().clone_into(&mut log.summing.row.epoch);
        log.write_index();
        log.complete_manifest();
        Ok(log)
    }

    fn take_index(&mut self, index: index::Index) {
        let facts = index.facts;
        self.indexed = index::Indexed::of(&facts);
        self.epochs = facts.epochs;
        self.head = facts.head;
        self.oldest = facts.oldest;
        self.end = facts.end;
        self.last_line = facts.last_line;
        self.summing = Summing {
            row: Arc::unwrap_or_clone(facts.summary),
            behind: index.behind,
        };
        self.ends_clean = facts.ends_clean;
        self.damaged = facts.damaged;
        self.lines = index.lines;
        self.ids = index.ids;
    }

    /// Reads the log anew; numbers that were given are not given again.
    pub(super) fn reopen(&mut self, why: Option<&'static str>, now_ms: i64) -> Result<(), Error> {
        // Our lock goes with it; the file may still be the same.
        self.file = None;
        let mut fresh = Self::open(Opening {
            files: self.files.clone().listed_anew()?,
            id: self.id.clone(),
            segment_bytes: self.segment_bytes,
            why_new_epoch: why,
            least_head: self.head,
            copy_of: self.epochs.copy_of(),
            use_index: false,
            now_ms,
        })?;
        fresh.syncs = self.syncs;
        // What the disk refused stays refused until the server starts again.
        fresh.failed = self.failed.take();
        fresh.unsynced |= self.unsynced;
        fresh.n_syncing = self.n_syncing;
        *self = fresh;
        Ok(())
    }

    /// Reads the log anew after a mistake of ours left what is known of it half changed. All that was written counts: whoever
    /// sent it was not answered, and sends it again.
    pub(crate) fn recover(&mut self, now_ms: i64) -> Result<(), Error> {
        tracing::error!(
            session = self.id.as_str(),
            "a task failed while it held the log; the log is read anew"
        );
        self.reopen(None, now_ms)?;
        // Nobody may have been told that something is to be made durable.
        self.unsynced = true;
        self.sync()
    }

    /// Whether nobody else wrote to, cut or replaced the file; else what is there is read anew, under a new epoch.
    pub(crate) fn check_unchanged(&mut self, now_ms: i64) -> Result<(), Error> {
        let found = FileMark::at(&self.files.newest()).ok();
        let is_ours = match (self.newest, found) {
            (None, None) => true,
            (Some(seen), Some(found)) => {
                seen.is_same_file(found) && found.bytes == self.end - self.files.base()
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        if is_ours {
            return Ok(());
        }
        tracing::error!(
            session = self.id.as_str(),
            path = %self.files.newest().display(),
            "the log was changed by somebody else; it is read anew"
        );
        self.reopen(Some("restored"), now_ms)
    }

    /// Makes what was found fit to be appended to (`protocol.md` 5.8 step 5 and the epoch rule of 5.7).
    ///
    /// The epoch rule is of logs that give their numbers themselves. A copy has no epoch that its home has not: what it may
    /// have lost at its end is the same when it is copied again, under the same numbers.
    fn repair(
        &mut self,
        found: scan::Found,
        reader: &mut Reader,
        copy_of: Option<CopyOf>,
        why_new_epoch: Option<&str>,
        now_ms: i64,
    ) -> Result<(), Error> {
        let n_epochs = self.epochs.all().len();
        let mut lines = Vec::new();
        if found.unended_line {
            lines.push(String::new());
        }
        let torn_as = match &found.torn {
            Some(torn) => Some(self.keep_torn(torn, reader)?),
            None => None,
        };
        if self.epochs.is_empty() {
            let is_started = self.head > 0 || found.damaged_up_to > 0;
            if copy_of.is_none() {
                self.head = self.head.max(found.damaged_up_to);
            }
            let (epoch, home) = match copy_of {
                Some(copy_of) => (copy_of.epoch, Some(copy_of.home)),
                None => (random_base64url::<16>()?, None),
            };
            self.epochs.begin(&epoch, self.head, home);
            let payload = match is_started {
                true => Payload::from(self.epochs.epoch_line(self.head, "restored")),
                false => Payload::from(self.epochs.start_line()),
            };
            lines.push(self.control_line(payload, now_ms));
        } else if copy_of.is_none() {
            let why = if found.damaged_up_to > 0 || found.is_behind {
                Some("restored")
            } else if self.ends_clean && found.torn.is_none() {
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
                let epoch = random_base64url::<16>()?;
                self.epochs.begin(&epoch, self.head, None);
                let line = self.epochs.epoch_line(self.head, why);
                lines.push(self.control_line(line, now_ms));
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
                chat_event::Json::from(serde_json::Value::from(torn.length)),
            );
            tracing::warn!(
                session = self.id.as_str(),
                bytes = torn.length,
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
        if self.epochs.all().len() > n_epochs && self.epochs.home().is_none() {
            self.note_own_epoch();
        }
        Ok(())
    }

    /// Copies what was torn to a file of its own, and cuts it off.
    fn keep_torn(&mut self, torn: &scan::Torn, reader: &mut Reader) -> Result<String, Error> {
        let dir = self.files.dir.clone();
        for n in 1.. {
            let name = format!("{}.torn-{n}", self.files.stem);
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
            let mut copy = || -> std::io::Result<()> {
                let mut block = vec![0; COPY_BYTES];
                let mut at = self.end;
                while let n @ 1.. = reader.read_at(&mut block, at)? {
                    file.write_all(&block[..n])?;
                    at += n as u64;
                }
                file.sync_all()
            };
            copy().map_err(|why| Error::io("keep the torn line", &path, why))?;
            debug_assert_eq!(torn.length, reader.end().unwrap_or_default() - self.end);
            let bytes = self.end - self.files.base();
            let log_path = self.files.newest();
            self.appending()?
                .set_len(bytes)
                .map_err(|why| Error::io("cut the torn line", &log_path, why))?;
            return Ok(name);
        }
        Ok(String::new())
    }
}
