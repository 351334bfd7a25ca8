//! What the tests of the dialects share: inputs beside the checkout, readings whole and in pieces, and what holds of all.
#![allow(
    dead_code,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "no test uses all of it; tests read inputs, and a promise that is not kept fails its test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, NotASession, Report, SessionReader};
use serde_json::Value;

/// A folder of the inputs that are kept beside the project: below `TURNREEL_SHARED`, else below `shared` beside the
/// checkout; `None`, said on stderr, where it is not there.
pub(crate) fn shared(what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let path = folder.join(what);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no {what} in the shared folder (set TURNREEL_SHARED)");
    None
}

/// A file, and what it holds.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The files of a folder below the shared one whose names `wanted` takes, by name; none where the folder is not there.
pub(crate) fn sources(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<Source> {
    let Some(folder) = shared(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .filter(|path| path.is_file() && wanted(&file_name(path)))
        .map(|path| Source {
            name: file_name(&path),
            bytes: std::fs::read(&path).unwrap(),
        })
        .collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// What a reader makes of a source.
pub(crate) struct Read {
    pub(crate) events: Vec<ChatEvent>,
    pub(crate) report: Report,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) verdict: Result<(), NotASession>,
}

/// Reads pieces of a source.
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

/// Reads a source as a whole.
pub(crate) fn read(bytes: &[u8]) -> Read {
    read_pieces(std::iter::once(bytes))
}

/// Reads values, a line each, as `dialect`.
pub(crate) fn read_lines(dialect: Dialect, lines: &[Value]) -> Read {
    let mut reader = SessionReader::with_dialect(Context::default(), dialect);
    let mut events = Vec::new();
    let mut verdict = Ok(());
    for line in lines {
        verdict = verdict.and(reader.push(format!("{line}\n").as_bytes(), 0, &mut events));
    }
    let verdict = verdict.and(reader.finish(0, &mut events));
    Read {
        events,
        report: reader.report(),
        dialect: reader.dialect(),
        verdict,
    }
}

/// What each reading must hold, whatever it reads: ids stand once, turns that begin end, calls have one result each.
pub(crate) fn assert_sound(name: &str, events: &[ChatEvent]) {
    let mut ids = BTreeSet::new();
    let (mut open, mut turns) = (BTreeSet::new(), BTreeSet::new());
    let mut calls: BTreeMap<&str, u32> = BTreeMap::new();
    for event in events {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
        assert!(!event.id.is_empty() && event.id.len() <= 128, "{name}");
        assert!(event.id.chars().all(fits), "{name}: {}", event.id);
        assert!(ids.insert(&event.id), "{name}: {} stands twice", event.id);
        match &event.payload {
            Payload::TurnStart(_) => {
                assert!(turns.insert(&event.turn_id), "{name}: a turn begins twice");
                open.insert(&event.turn_id);
            }
            Payload::TurnEnd(end) => {
                assert!(open.remove(&event.turn_id), "{name}: an end without a turn");
                assert!(end.outcome.is_some(), "{name}");
            }
            Payload::ToolCall(call) => {
                let before = calls.insert(&call.tool_call_id, 0);
                assert_eq!(
                    before, None,
                    "{name}: {} is called twice",
                    call.tool_call_id
                );
            }
            Payload::ToolResult(result) => {
                let n = calls.get_mut(result.tool_call_id.as_str());
                *n.unwrap_or_else(|| panic!("{name}: {} was not called", result.tool_call_id)) += 1;
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{name}: {open:?} never ended");
    for (id, n) in calls {
        assert_eq!(n, 1, "{name}: results of {id}");
    }
}

/// Any cut of the bytes gives the same events, and so does a second reading.
pub(crate) fn assert_cuts(source: &Source) {
    let whole = read(&source.bytes);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let longest: &[usize] = match source.bytes.len() {
        0..6_000 => &[1, 40, 3000],
        6_000..40_000 => &[200, 5000],
        _ => &[20_000],
    };
    for longest in longest {
        let mut pieces = Vec::new();
        let mut rest = source.bytes.as_slice();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at((random.below(*longest) + 1).min(rest.len()));
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
}

/// Numbers that look random and are the same in every run (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }
}

/// The values of a source: its lines, or the one document it is, or that one's items.
pub(crate) fn values(bytes: &[u8]) -> Vec<Value> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Array(items)) => items,
        Ok(value) => vec![value],
        Err(_) => std::str::from_utf8(bytes)
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect(),
    }
}

/// One short line for each event that says something, for small cases.
pub(crate) fn told(events: &[ChatEvent]) -> Vec<String> {
    let mut lines = Vec::new();
    for event in events {
        let line = match &event.payload {
            Payload::TurnStart(start) => format!("turn {}", start.trigger),
            Payload::TurnEnd(end) => format!("end {}", end.outcome.as_deref().unwrap_or("?")),
            Payload::UserMessage(message) => format!("user {}", message.text.preview()),
            Payload::AssistantChunk(chunk) => format!("chunk {}", chunk.text),
            Payload::AssistantDone(done) => format!("done {}", done.text),
            Payload::ThinkingChunk(chunk) => format!("thinking chunk {}", chunk.text),
            Payload::ThinkingDone(done) => format!("thinking {}", done.text),
            Payload::ToolCall(call) => format!("call {} {}", call.tool_call_id, call.tool_name),
            Payload::ToolResult(result) => match &result.error {
                None => format!(
                    "result {} {}",
                    result.tool_call_id,
                    result.result.display_text()
                ),
                Some(error) => format!(
                    "failed {} {}",
                    result.tool_call_id,
                    error.code.as_deref().unwrap_or("?")
                ),
            },
            Payload::FileEdit(edit) => format!(
                "edit {} {} +{} -{}",
                edit.change_type, edit.file_path, edit.lines_added, edit.lines_removed
            ),
            Payload::Usage(usage) => format!(
                "usage {} {}/{}",
                usage.scope, usage.input_tokens, usage.output_tokens
            ),
            Payload::Plan(plan) => format!("plan {}", plan.entries.len()),
            Payload::ErrorEvent(error) => format!("error {} {}", error.code, error.message),
            Payload::Interrupt(interrupt) => format!("interrupt {}", interrupt.reason),
            Payload::Compaction(compaction) => format!("compaction {}", compaction.trigger),
            Payload::Notice(notice) => format!("notice {}", notice.text),
            Payload::PermissionRequest(request) => format!("asked {}", request.request_id),
            Payload::PermissionResolved(answer) => format!("answered {}", answer.decision),
            Payload::Retract(retract) => format!("retract {}", retract.event_ids.len()),
            Payload::Raw(raw) => format!("raw {}", raw.value.as_text()),
            _ => continue,
        };
        lines.push(line);
    }
    lines
}
