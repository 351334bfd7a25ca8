//! What the tests of the normalizers share: their corpora, what a reader makes of a source, and damage to its lines.
#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, NotASession, Report, SessionReader};
use serde_json::Value;

#[path = "shared.rs"]
pub(crate) mod shared;

/// A file of the corpus, and what it holds.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// What lies in a folder, by name.
pub(crate) fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// What a reader makes of the pieces.
pub(crate) struct Read {
    pub(crate) events: Vec<ChatEvent>,
    pub(crate) report: Report,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) verdict: Result<(), NotASession>,
}

pub(crate) fn read_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    let mut verdict = Ok(());
    for piece in pieces {
        verdict = reader.push(piece, 0, &mut events);
        if verdict.is_err() {
            break;
        }
    }
    let verdict = verdict.and_then(|()| reader.finish(0, &mut events));
    Read {
        events,
        report: reader.report(),
        dialect: reader.dialect(),
        verdict,
    }
}

pub(crate) fn read(bytes: &[u8]) -> Read {
    read_pieces(std::iter::once(bytes))
}

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

/// Pieces of up to `longest` bytes and a second reading give what the whole gives.
pub(crate) fn assert_cuts(source: &Source, longest: usize, random: &mut Random) {
    let whole = read(&source.bytes);
    let mut pieces = Vec::new();
    let mut rest = source.bytes.as_slice();
    while !rest.is_empty() {
        let length = random.below(longest).saturating_add(1).min(rest.len());
        let (piece, behind) = rest.split_at(length);
        pieces.push(piece);
        rest = behind;
    }
    let cut = read_pieces(pieces.into_iter());
    assert_eq!(cut.verdict, whole.verdict, "{}", source.name);
    assert!(
        cut.events == whole.events,
        "{}: pieces of up to {longest} bytes give other events",
        source.name
    );
}

/// Numbers that look random and are the same in every run (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let limit = u64::try_from(limit.max(1)).unwrap();
        usize::try_from(self.0 % limit).unwrap()
    }
}
