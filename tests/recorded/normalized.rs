//! What the tests of the normalizers share: their corpora, what a reader makes of a source, and damage to its lines.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};
use serde_json::Value;

#[path = "../../crates/pure/chat-normalize/tests/support/readings.rs"]
mod readings;

use readings::assert_cuts;
pub(crate) use readings::{Random, Source, file_name, read, sorted};

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

/// The events of each session of a source: that has a log of its own, in which the same message or call may be told. One that
/// ended before the source went on in another begins anew where it comes again.
pub(crate) fn by_session(events: &[ChatEvent]) -> Vec<Vec<ChatEvent>> {
    let mut sessions: Vec<Vec<ChatEvent>> = Vec::new();
    let mut of = BTreeMap::new();
    for pieces in events.chunk_by(|one, next| one.session_id == next.session_id) {
        let id = pieces[0].session_id.as_str();
        let at = *of.entry(id).or_insert(sessions.len());
        if at == sessions.len() {
            sessions.push(Vec::new());
        }
        sessions[at].extend_from_slice(pieces);
        let ends = |event: &ChatEvent| matches!(event.payload, Payload::SessionEnd(_));
        if pieces.iter().any(ends) {
            of.remove(id);
        }
    }
    sessions
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

/// However a source is cut into pieces, its events are the same.
pub(crate) fn assert_any_cuts(sources: &[Source]) {
    let mut random = Random(7);
    for source in sources {
        // Cuts of large files are few: what matters is where in a line they fall.
        for longest in [1usize, 7, 400, 70_000] {
            if source.bytes.len() / longest <= 40_000 {
                assert_cuts(source, longest, &mut random);
            }
        }
    }
}

/// Whatever becomes of lines that are damaged, ids stand once, turns end, and events are read as they were written;
/// `look` at what came of each.
pub(crate) fn assert_damaged(sources: &[Source], look: impl Fn(&str, &[ChatEvent])) {
    let mut random = Random(11);
    for source in sources.iter().filter(|source| source.bytes.len() < 200_000) {
        for _ in 0..6 {
            let events = read(&damaged(&source.bytes, &mut random)).events;
            for of_session in by_session(&events) {
                assert_ids(&source.name, &of_session);
                assert_turns(&source.name, &of_session);
            }
            for event in &events {
                let again = ChatEvent::from_json(&event.to_line()).unwrap();
                assert_eq!(again.to_line(), event.to_line(), "{}", source.name);
            }
            look(&source.name, &events);
        }
    }
}

/// What was said and thought, by its response, its part, and whether it was thought. Each is done once, and its pieces
/// together are what it is.
pub(crate) fn whole_texts(
    name: &str,
    events: &[ChatEvent],
) -> BTreeMap<(String, u32, bool), String> {
    let (mut pieces, mut whole) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        let (said, thought, done) = match &event.payload {
            Payload::AssistantChunk(chunk) => ((chunk.part, &chunk.text), false, false),
            Payload::ThinkingChunk(chunk) => ((chunk.part, &chunk.text), true, false),
            Payload::AssistantDone(done) => ((done.part, &done.text), false, true),
            Payload::ThinkingDone(done) => ((done.part, &done.text), true, true),
            _ => continue,
        };
        let (part, text) = said;
        let part = (
            event.response_id.clone().unwrap_or_default(),
            part.unwrap(),
            thought,
        );
        if done {
            let before = whole.insert(part, text.clone());
            assert_eq!(before, None, "{name}: a part is done twice");
        } else {
            pieces
                .entry(part)
                .or_insert_with(String::new)
                .push_str(text);
        }
    }
    for (part, text) in &pieces {
        assert_eq!(whole.get(part), Some(text), "{name}: {part:?}");
    }
    whole
}
