//! Records out of a line that holds not exactly one: glued ones, and what is left of torn and interleaved ones.

use std::ops::Range;

use serde_json::value::RawValue;

use super::report::UnreadableKind;
use super::writer::CHECKSUM_KEY;
use crate::broken;
use crate::error::Error;
use crate::{ChatEvent, Payload};

/// An event, and whether lone surrogates were mended in it.
pub(crate) type Found = (ChatEvent, bool);

/// Why a stretch of text is no event.
pub(crate) type Damage = (UnreadableKind, String);

/// Reads the text of one whole record; checks and takes off its checksum.
///
/// `bytes` are those that stand in the source for `text`.
pub(crate) fn read_record(text: &str, bytes: &[u8]) -> Result<Found, Damage> {
    let (mut event, mended) = read_event(text)?;
    // Another tool's field of the same name is left alone: it is no checksum where it has not the place and form of one.
    if event.extra.get(CHECKSUM_KEY).is_some()
        && let Some((before, stored)) = split_checksum(bytes)
    {
        let computed = super::crc32c(before);
        if computed != stored {
            let reason =
                format!("the checksum is wrong: {stored:08x} is written, {computed:08x} is right");
            return Err((UnreadableKind::Checksum, reason));
        }
        event.extra.remove(CHECKSUM_KEY);
    }
    Ok((event, mended))
}

fn read_event(text: &str) -> Result<Found, Damage> {
    ChatEvent::from_json_mended(text).map_err(|why| {
        let kind = match why {
            Error::TooDeep => UnreadableKind::TooDeep,
            _ => UnreadableKind::NoEvent,
        };
        (kind, why.reason())
    })
}

/// The bytes that a checksum at the end of a record is about, and the checksum.
pub(super) fn split_checksum(bytes: &[u8]) -> Option<(&[u8], u32)> {
    let (before, end) = bytes.trim_ascii_end().split_last_chunk::<16>()?;
    let digits = end.strip_prefix(b",\"c\":\"")?.strip_suffix(b"\"}")?;
    let digits = std::str::from_utf8(digits).ok()?;
    // `from_str_radix` would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some((before, u32::from_str_radix(digits, 16).ok()?))
}

/// What a try costs of the budget at least, in bytes read: about as much as making an error.
const TRY_COST: usize = 64;

/// No plausible record is shorter.
const SHORTEST_RECORD: &str = r#"{"id":"a","timestamp":1,"sessionId":"s","type":"x"}"#;

/// No event is shorter.
const SHORTEST_EVENT: &str = r#"{"type":""}"#;

/// What a line is taken for.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Records that follow each other.
    Log,
    /// A list or a part of one: commas and brackets stand between its items, and a whole value that is no event costs no
    /// other.
    List,
}

/// Finds the records in a line that is not one record; calls `on_piece` for each with its place in the text, and for each
/// stretch between them, in order. White space and zeros between records are no stretch.
///
/// This is how [`LogReader`](super::LogReader) reads such a line, too.
pub fn salvage(
    text: &str,
    on_piece: &mut dyn FnMut(Range<usize>, Result<ChatEvent, UnreadableKind>),
) {
    salvage_with_reasons(text, &mut |within, piece| {
        let piece = piece.map(|(event, _)| event).map_err(|(kind, _)| kind);
        on_piece(within, piece);
    });
}

/// As [`salvage`], for a line that may be a list of events or a part of one: commas and brackets stand between its items. A
/// whole value that is no event is a piece of its own, and what follows it is read on. Of what is no event comes what is
/// to be said of it. Checksums are fields like others.
///
/// ```
/// use chat_event::jsonl::salvage_list;
/// let mut read = Vec::new();
/// salvage_list(r#"[{"type":"a"},{"type":5},{"type":"b"}]"#, &mut |_, piece| {
///     read.push(piece.map(|event| event.event_type().to_owned()).map_err(|_| ()));
/// });
/// assert_eq!(read, [Ok("a".to_owned()), Err(()), Ok("b".to_owned())]);
/// ```
pub fn salvage_list(text: &str, on_piece: &mut dyn FnMut(Range<usize>, Result<ChatEvent, String>)) {
    pieces(text, Way::List, &mut |within, piece| {
        let piece = piece.map(|(event, _)| event).map_err(|(_, why)| why);
        on_piece(within, piece);
    });
}

/// As [`salvage`], with what is to be said of each piece.
pub(super) fn salvage_with_reasons(
    text: &str,
    on_piece: &mut dyn FnMut(Range<usize>, Result<Found, Damage>),
) {
    pieces(text, Way::Log, on_piece);
}

/// A record that directly follows another is taken as it is. Behind damage only records are taken that bear what every
/// record bears, because an object within a torn record could pass for one.
fn pieces(text: &str, way: Way, on_piece: &mut dyn FnMut(Range<usize>, Result<Found, Damage>)) {
    // Each try may read to the end of the line, and a hostile line begins a new object every five bytes. What is spent
    // on a real torn line is its length times its depth.
    let mut budget = text.len().saturating_mul(16).saturating_add(64 * 1024);
    let mut damage: Option<(usize, Damage)> = None;
    let mut at = 0;
    loop {
        if damage.is_none() {
            at = skip_separators(text, at, way);
        }
        let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else {
            break;
        };
        let next = match value_len(rest) {
            Ok(len) => {
                budget = budget.saturating_sub(len.max(TRY_COST));
                let value = rest.get(..len).unwrap_or_default();
                // Behind damage most values are parts of torn records, and too short to be one.
                if damage.is_none() || len >= SHORTEST_RECORD.len() {
                    let read = match way {
                        Way::Log => read_record(value, value.as_bytes()),
                        // A line may hold millions of them, and reading one costs more than it says.
                        Way::List if len < SHORTEST_EVENT.len() => {
                            Err((UnreadableKind::NoEvent, "too short for an event".to_owned()))
                        }
                        Way::List => read_event(value),
                    };
                    match read {
                        Ok(found) if damage.is_none() || plausible(&found.0) => {
                            if let Some((start, why)) = damage.take() {
                                on_piece(start..at, Err(why));
                            }
                            on_piece(at..at + len, Ok(found));
                        }
                        Ok(_) => {}
                        Err(why) if way == Way::List && damage.is_none() => {
                            on_piece(at..at + len, Err(why));
                        }
                        Err(why) => {
                            damage.get_or_insert((at, why));
                        }
                    }
                }
                // What stands within a whole value is a part of it, and no record.
                at + len
            }
            Err(why) => {
                let read = broken::offset(rest, &why);
                budget = budget.saturating_sub(read.max(TRY_COST));
                damage.get_or_insert_with(|| {
                    let why = broken::reason(&why);
                    let reason = match way {
                        Way::Log => format!("{why}, at byte {} of the line", at + read),
                        Way::List => why,
                    };
                    (at, (UnreadableKind::NoEvent, reason))
                });
                at + 1
            }
        };
        at = if damage.is_none() {
            next
        } else if budget == 0 {
            text.len()
        } else {
            next_object(text, next)
        };
    }
    if let Some((start, why)) = damage {
        on_piece(start..text.len(), Err(why));
    }
}

/// Whether `text` is one JSON value and nothing else.
pub(super) fn one_value(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// The length of the JSON value that `text` begins with.
fn value_len(text: &str) -> Result<usize, serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(why)) => Err(why),
        None => Ok(text.len()),
    }
}

/// Where the next object could begin, at or behind `from`. Of one that is printed, the first key stands in another line.
fn next_object(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes().get(from..).unwrap_or_default();
    let mut openings = (0..bytes.len()).filter(|&at| bytes[at] == b'{');
    let found = openings.find(|at| bytes[at + 1..].trim_ascii_start().starts_with(b"\""));
    found.map_or(text.len(), |found| from + found)
}

/// Past white space, zero bytes and byte order marks, which may stand between records, and what stands between the items
/// of a list.
fn skip_separators(text: &str, at: usize, way: Way) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let in_list = |c: char| way == Way::List && matches!(c, ',' | '[' | ']');
    let trimmed = rest.trim_start_matches(|c: char| {
        c.is_ascii_whitespace() || c == '\0' || c == '\u{feff}' || in_list(c)
    });
    text.len() - trimmed.len()
}

/// Whether an event has what every record of a log has.
fn plausible(event: &ChatEvent) -> bool {
    let id_fits = (1..=128).contains(&event.id.len())
        && event
            .id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte));
    let type_fits = !event.event_type().is_empty()
        && event
            .event_type()
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let shape_fits = !matches!(event.payload, Payload::Malformed { .. });
    id_fits && type_fits && shape_fits && event.timestamp.is_some() && !event.session_id.is_empty()
}
