//! Reading a log from its first line, or from where the index ends, when it is opened.
//!
//! A bad line never hides a good one: it is counted, and its number is missing from the pages. Only the tail is ever
//! changed, by `open`.

use std::io;

use chat_event::{ChatEvent, Payload};

use super::files::Reader;
use super::{Log, epochs, lines, records};
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
    /// Whether numbers behind the last one were given in the log's epoch.
    pub(super) is_behind: bool,
}

/// The half of a line at the end of the file.
pub(super) struct Torn {
    /// Its bytes, behind the end of the log.
    pub(super) length: u64,
    /// The number it was to have, where that can still be read.
    pub(super) seq: Option<u64>,
    is_begun_by_us: bool,
}

pub(super) fn scan(log: &mut Log, reader: &mut Reader) -> Result<Found, Error> {
    let mut found = Found {
        head: log.head,
        damaged_up_to: 0,
        unended_line: false,
        torn: None,
        is_behind: false,
    };
    let path = log.files.newest();
    let failed = |why: io::Error| Error::io("read the log", &path, why);
    let len = reader.end().map_err(failed)?;
    if len == 0 {
        return Ok(found);
    }
    let is_indexed = log.end > 0;
    let mut lines = lines::Lines::new(reader, log.end, len);
    let mut n_read = 0u64;
    // Of one event nothing is needed when the next is read.
    let mut event = ChatEvent::default();
    while let Some(line) = lines.next_line().map_err(failed)? {
        let is_whole = read_into(&mut event, line.bytes);
        let blank = line.bytes.iter().all(u8::is_ascii_whitespace);
        if line.ended && blank && line.length == line.bytes.len() as u64 {
            log.end = line.offset + line.length + 1;
            found.unended_line = false;
            continue;
        }
        // Of a line that is too long only the end is held.
        let held_from = line.offset + line.length - line.bytes.len() as u64;
        let place = |at: usize| held_from + at as u64;
        let damage = (!is_whole).then(|| records::salvaged(line.bytes, log.id.as_str()));
        let unread_from = damage.as_ref().and_then(|damage| damage.unread_from);
        let is_torn = !line.ended && unread_from.is_some();
        let read_to = unread_from.unwrap_or(line.bytes.len());
        if is_torn {
            let half = line.bytes.get(read_to..).unwrap_or_default();
            found.torn = Some(Torn {
                seq: lines::leading_seq(half),
                length: if read_to == 0 {
                    line.length
                } else {
                    half.len() as u64
                },
                is_begun_by_us: is_begun_by_us(half),
            });
            if read_to == 0 {
                break;
            }
        }
        log.end = if is_torn {
            place(read_to)
        } else {
            line.offset + line.length + u64::from(line.ended)
        };
        found.unended_line = !line.ended;
        log.last_line = line.offset;
        if let Some(damage) = damage {
            log.damaged += u64::from(!is_torn || damage.records.len() > 1);
            for within in damage.records {
                let record = line.bytes.get(within.clone()).unwrap_or_default();
                if let Some(event) = read(record) {
                    n_read += 1;
                    take(log, &mut found, &event, place(within.start))?;
                }
            }
            if let Some(unread) = unread_from.filter(|_| !is_torn) {
                let unread = line.bytes.get(unread..).unwrap_or_default();
                // Each had at least a number of its own, and one that is glued of two may have had more.
                let counted = found.damaged_up_to.max(log.head) + 1;
                found.damaged_up_to = lines::highest_seq(unread, counted).max(counted);
            }
        }
        if is_whole {
            if event.session_id != log.id.as_str() {
                return Err(Error::NotALog {
                    path: log.files.newest(),
                    why: "its events are another session's".to_owned(),
                });
            }
            n_read += 1;
            take(log, &mut found, &event, line.offset)?;
        }
        if is_torn {
            break;
        }
    }
    let is_ours = n_read > 0
        || is_indexed
        || log.end == 0 && found.torn.as_ref().is_none_or(|torn| torn.is_begun_by_us);
    if !is_ours {
        return Err(Error::NotALog {
            path: log.files.newest(),
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

/// Takes note of one record.
fn take(log: &mut Log, found: &mut Found, event: &ChatEvent, offset: u64) -> Result<(), Error> {
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
                path: log.files.newest(),
                why: format!(
                    "it was written by a newer program (schema {})",
                    start.schema
                ),
            });
        }
        Payload::LogStart(start) => {
            let home = epochs::home_in(&start.extra);
            log.epochs.begin(&start.epoch, log.head, home);
            // A file that goes on behind a segment says how far that came: it may not be here any more.
            let base = start.extra.get("base");
            let base = base.and_then(|base| base.as_text().parse().ok());
            log.head = log.head.max(base.unwrap_or_default());
        }
        Payload::LogEpoch(epoch) => {
            let home = epochs::home_in(&epoch.extra);
            log.epochs.begin(&epoch.epoch, epoch.base, home);
            log.head = log.head.max(epoch.base);
        }
        Payload::LogEnd(end) => log.ends_clean = end.clean,
        // What cannot be had at a copy's home stands nowhere else.
        Payload::LogGap(gap) if gap.n_missing() > 0 => log.head = log.head.max(gap.to),
        Payload::LogGap(_) => {}
        // A newer program may have more to say of its logs.
        Payload::Unknown { event_type, .. }
            if event.seq.is_none() && event_type.starts_with("log_") => {}
        _ => match event.seq {
            Some(seq) if seq > log.head => log.note(event, offset),
            // Of our own logs the numbers rise; a line that does not is not to be trusted.
            Some(_) | None => log.damaged += 1,
        },
    }
    Ok(())
}

/// Whether the half of a first line can be one of ours: they begin alike, and a crash may leave zeros.
fn is_begun_by_us(half: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"seq\":0,";
    let len = half.len().min(BEGINNING.len());
    half[..len] == BEGINNING[..len] || half.iter().all(|byte| *byte == 0)
}

/// Reads the event of a line whose checksum is right into one whose memory is used again; `false` where there is none.
fn read_into(event: &mut ChatEvent, line: &[u8]) -> bool {
    if !lines::checksum_holds(line) {
        return false;
    }
    if event.read_plain(line) {
        return true;
    }
    let text = std::str::from_utf8(line).ok();
    match text.and_then(|text| ChatEvent::from_json(text).ok()) {
        Some(read) => *event = read,
        None => return false,
    }
    true
}

/// The event of a line whose checksum is right.
pub(super) fn read(line: &[u8]) -> Option<ChatEvent> {
    if !lines::checksum_holds(line) {
        return None;
    }
    ChatEvent::from_json(std::str::from_utf8(line).ok()?).ok()
}
