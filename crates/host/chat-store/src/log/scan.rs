//! Reading a log from its first line when it is opened.
//!
//! A bad line never hides a good one: it is counted, and its number is missing from the pages. Only the tail is ever
//! changed, by `Log::repair`.

use std::io;

use chat_event::{ChatEvent, Payload};

use super::{Log, lines};
use crate::error::Error;

/// What stands at the end of the file.
pub(super) struct Found {
    /// The last number that was read.
    pub(super) head: u64,
    /// The highest number that damaged lines after the last good one may have had; 0 where there are none.
    pub(super) damaged_up_to: u64,
    /// Whether the last line is good and lacks only its newline.
    pub(super) unended_line: bool,
    /// The half of a line.
    pub(super) torn: Option<Torn>,
}

/// The half of a line at the end of the file.
pub(super) struct Torn {
    pub(super) bytes: Vec<u8>,
    /// The number it was to have, where that can still be read.
    pub(super) seq: Option<u64>,
}

pub(super) fn scan(log: &mut Log) -> Result<Found, Error> {
    let mut found = Found {
        head: 0,
        damaged_up_to: 0,
        unended_line: false,
        torn: None,
    };
    let failed = |why: io::Error, log: &Log| Error::io("read the log", &log.path, why);
    let file = match crate::platform::private_file().read(true).open(&log.path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(why) => return Err(failed(why, log)),
    };
    let len = file.metadata().map_err(|why| failed(why, log))?.len();
    let mut lines = lines::Lines::new(&file, 0, len);
    let mut n_read = 0u64;
    while let Some(line) = lines.next_line().map_err(|why| failed(why, log))? {
        let event = read(line.bytes);
        if !line.ended && event.is_none() {
            found.torn = Some(Torn {
                seq: lines::leading_seq(line.bytes),
                bytes: line.bytes.to_vec(),
            });
            break;
        }
        let length = line.bytes.len() as u64;
        log.end = line.offset + length + u64::from(line.ended);
        found.unended_line = !line.ended;
        let blank = line.bytes.iter().all(u8::is_ascii_whitespace);
        let Some(event) = event else {
            if !blank {
                log.damaged += 1;
                // Each had at least a number of its own, and one that is glued of two may have had more.
                let counted = found.damaged_up_to.max(log.head) + 1;
                found.damaged_up_to = lines::highest_seq(line.bytes, counted).max(counted);
            }
            continue;
        };
        if event.session_id != log.id.as_str() {
            return Err(Error::NotALog {
                path: log.path.clone(),
                why: "its events are another session's".to_owned(),
            });
        }
        n_read += 1;
        log.ends_clean = false;
        // Numbers of damaged lines count until one is seen that is above them; the end of a log has none.
        if event.seq.is_some_and(|seq| seq > log.head)
            || matches!(&event.payload, Payload::LogEpoch(epoch) if epoch.base >= found.damaged_up_to)
        {
            found.damaged_up_to = 0;
        }
        match &event.payload {
            Payload::LogStart(start) if start.schema > chat_event::SCHEMA => {
                return Err(Error::NotALog {
                    path: log.path.clone(),
                    why: format!(
                        "it was written by a newer program (schema {})",
                        start.schema
                    ),
                });
            }
            Payload::LogStart(start) => log.epoch.clone_from(&start.epoch),
            Payload::LogEpoch(epoch) => {
                log.epoch.clone_from(&epoch.epoch);
                log.head = log.head.max(epoch.base);
            }
            Payload::LogEnd(end) => log.ends_clean = end.clean,
            Payload::LogGap(_) => {}
            _ => match event.seq {
                Some(seq) if seq > log.head => log.note(&event, line.offset),
                // Of our own logs the numbers rise; a line that does not is not to be trusted.
                Some(_) | None => log.damaged += 1,
            },
        }
    }
    let is_ours = n_read > 0
        || found.torn.as_ref().map_or(log.end == 0, |torn| {
            log.end == 0 && is_begun_by_us(&torn.bytes)
        });
    if !is_ours {
        return Err(Error::NotALog {
            path: log.path.clone(),
            why: "no line of it is one of ours".to_owned(),
        });
    }
    found.head = log.head;
    if log.damaged > 0 {
        tracing::warn!(
            session = log.id.as_str(),
            lines = log.damaged,
            "the log has damaged lines; the others are shown"
        );
    }
    Ok(found)
}

/// Whether the half of a first line can be one of ours: they begin alike, and a crash may leave zeros.
fn is_begun_by_us(half: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"seq\":0,";
    let len = half.len().min(BEGINNING.len());
    half[..len] == BEGINNING[..len] || half.iter().all(|byte| *byte == 0)
}

/// The event of a line whose checksum is right.
fn read(line: &[u8]) -> Option<ChatEvent> {
    if !lines::checksum_holds(line) {
        return None;
    }
    ChatEvent::from_json(std::str::from_utf8(line).ok()?).ok()
}
