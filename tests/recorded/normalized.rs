//! What the tests of the normalizers share: their corpora, what a reader makes of a source, and damage to its lines.

use std::collections::BTreeSet;

use chat_event::{ChatEvent, Payload};
use serde_json::Value;

#[path = "../../crates/pure/chat-normalize/tests/support/readings.rs"]
mod readings;

pub(crate) use readings::{Random, Source, assert_cuts, file_name, read, sorted};

/// The bytes with some lines cut, doubled, left out, or with bytes or values changed.
pub(crate) fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut damaged = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match random.below(12) {
            0 => damaged.extend_from_slice(&line[..random.below(line.len())]),
            1 => {
                let mut line = line.to_vec();
                for _ in 0..=random.below(4) {
                    let at = random.below(line.len());
                    line[at] =
                        [b'"', b'{', b'}', b'\\', 0, 0xff, b'0', b'n', b','][random.below(9)];
                }
                damaged.extend(line);
            }
            2 => {
                damaged.extend_from_slice(line);
                damaged.extend_from_slice(line);
            }
            3 => {}
            4 => damaged.extend(swapped_values(line, random)),
            _ => damaged.extend_from_slice(line),
        }
    }
    damaged
}

/// The line with one member's value replaced by one of another kind, somewhere in it.
fn swapped_values(line: &[u8], random: &mut Random) -> Vec<u8> {
    fn swap(value: &mut Value, at: &mut usize, with: &Value) {
        if *at == 0 {
            *value = with.clone();
        }
        *at = at.wrapping_sub(1);
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| swap(item, at, with)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|member| swap(member, at, with)),
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(line) else {
        return line.to_vec();
    };
    let kinds = [
        Value::Null,
        Value::from(-1),
        Value::from(1e300),
        Value::from("x"),
        Value::from(vec![1]),
        serde_json::json!({"type": 1}),
        Value::Bool(true),
    ];
    let mut at = 1 + random.below(40);
    swap(&mut value, &mut at, &kinds[random.below(kinds.len())]);
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Every id stands once and has the characters that ids may have.
pub(crate) fn assert_ids(name: &str, events: &[ChatEvent]) {
    let mut seen = BTreeSet::new();
    for event in events {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
        assert!(
            !event.id.is_empty() && event.id.len() <= 128 && event.id.chars().all(fits),
            "{name}: {}",
            event.id
        );
        assert!(
            chat_event::session_id::fits(&event.session_id),
            "{name}: {}",
            event.session_id
        );
        assert!(
            seen.insert(event.id.clone()),
            "{name}: {} stands twice",
            event.id
        );
    }
}

/// Every turn that begins ends, once; how many there are.
pub(crate) fn assert_turns(name: &str, events: &[ChatEvent]) -> usize {
    let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        match &event.payload {
            Payload::TurnStart(_) => {
                assert!(begun.insert(&event.turn_id), "{name}: a turn begins twice")
            }
            Payload::TurnEnd(end) => {
                assert!(
                    begun.contains(&event.turn_id),
                    "{name}: a turn ends that did not begin"
                );
                assert!(ended.insert(&event.turn_id), "{name}: a turn ends twice");
                assert!(end.outcome.is_some(), "{name}");
            }
            _ => {}
        }
    }
    assert_eq!(begun, ended, "{name}");
    ended.len()
}
