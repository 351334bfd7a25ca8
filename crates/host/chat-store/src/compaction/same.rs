//! Whether a compacted log says what its original says, event by event. Of either no more than a line is held.

use std::io::{self, BufReader, Read};

use chat_event::ChatEvent;
use chat_event::compaction::Folded;

use super::BLOCK_BYTES;
use super::lines::RawLines;

/// Where the two part; `None` where they say the same.
pub(super) fn difference(
    old: impl Read,
    new: impl Read,
    read: &mut dyn FnMut(&[u8]) -> Option<ChatEvent>,
) -> io::Result<Option<String>> {
    let mut old = RawLines::new(BufReader::with_capacity(BLOCK_BYTES, old));
    let mut new = RawLines::new(BufReader::with_capacity(BLOCK_BYTES, new));
    let mut n_line = 0u64;
    while let Some(line) = new.next_line()? {
        n_line += 1;
        let Some(before) = old.next_line()? else {
            return Ok(Some(format!("line {n_line} stands for nothing")));
        };
        if line.bytes == before.bytes {
            continue;
        }
        let Some(event) = read(line.text()) else {
            return Ok(Some(format!("line {n_line} cannot be read")));
        };
        let events: Vec<ChatEvent> = match Folded::of(&event) {
            Some(folded) => folded.events().collect(),
            None => vec![event],
        };
        let mut before = Some(before);
        for event in events {
            let line = match before.take() {
                Some(line) => Some(line),
                None => old.next_line()?,
            };
            let was = line.and_then(|line| read(line.text()));
            let is_same = was.is_some_and(|was| bare(was) == bare(event));
            if !is_same {
                return Ok(Some(format!("line {n_line} says something else")));
            }
        }
    }
    match old.next_line()? {
        Some(_) => Ok(Some(format!("it ends behind line {n_line}"))),
        None => Ok(None),
    }
}

/// Without what tells of the line and not of the event.
fn bare(mut event: ChatEvent) -> ChatEvent {
    event.recv = None;
    event.extra.remove("c");
    event
}
