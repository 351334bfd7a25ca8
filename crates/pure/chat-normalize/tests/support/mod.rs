//! What the tests of the dialects share: inputs beside the checkout, readings whole and in pieces, and what holds of all.
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::Value;

pub(crate) mod bus;
mod readings;

pub(crate) use readings::{Random, Read, Source, read};
use readings::{file_name, sorted};

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

/// The files of a folder below the shared one whose names `wanted` takes, by name; none where the folder is not there.
pub(crate) fn sources(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<Source> {
    let Some(folder) = shared(folder) else {
        return Vec::new();
    };
    sorted(&folder)
        .into_iter()
        .filter(|path| path.is_file() && wanted(&file_name(path)))
        .map(|path| Source {
            name: file_name(&path),
            bytes: std::fs::read(&path).unwrap(),
        })
        .collect()
}

/// The ids that retracts name, as often as they do.
pub(crate) fn taken_back(events: &[ChatEvent]) -> impl Iterator<Item = &str> {
    let retracts = events.iter().filter_map(|event| match &event.payload {
        Payload::Retract(retract) => Some(&retract.event_ids),
        _ => None,
    });
    retracts.flatten().map(String::as_str)
}

/// Reads values, a line each, as `dialect`.
pub(crate) fn read_lines(dialect: Dialect, lines: &[Value]) -> Read {
    read_lines_with(Context::default(), dialect, lines)
}

/// As [`read_lines`], into one session, whatever the source carries.
pub(crate) fn read_lines_as_one(dialect: Dialect, lines: &[Value]) -> Read {
    let context = Context {
        session_id: Some("one".to_owned()),
        ..Context::default()
    };
    read_lines_with(context, dialect, lines)
}

/// Reads values, a line each: what is told of each session of the source, by the session's id.
pub(crate) fn sessions_of(dialect: Dialect, lines: &[Value]) -> BTreeMap<String, Vec<ChatEvent>> {
    let mut sessions: BTreeMap<String, Vec<ChatEvent>> = BTreeMap::new();
    for event in read_lines(dialect, lines).events {
        let of = sessions.entry(event.session_id.clone()).or_default();
        of.push(event);
    }
    for (id, events) in &sessions {
        assert_sound(id, events);
    }
    sessions
}

fn read_lines_with(context: Context, dialect: Dialect, lines: &[Value]) -> Read {
    let mut reader = SessionReader::with_dialect(context, dialect);
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

/// What each reading must hold, whatever it reads: ids stand once, turns that begin end, calls have one result each, or
/// one behind another that said that there is none, but for those that are taken back.
pub(crate) fn assert_sound(name: &str, events: &[ChatEvent]) {
    let mut ids = BTreeSet::new();
    let (mut open, mut turns) = (BTreeSet::new(), BTreeSet::new());
    let mut calls: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    let mut calls_told: BTreeMap<&str, &str> = BTreeMap::new();
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
                calls_told.insert(&event.id, &call.tool_call_id);
                let before = calls.insert(&call.tool_call_id, Vec::new());
                assert_eq!(
                    before, None,
                    "{name}: {} is called twice",
                    call.tool_call_id
                );
            }
            Payload::ToolResult(result) => {
                let of_call = calls.get_mut(result.tool_call_id.as_str());
                let of_call = of_call
                    .unwrap_or_else(|| panic!("{name}: {} was not called", result.tool_call_id));
                // What goes on in the background has another one.
                if !result.goes_on() {
                    of_call.push(result.is_empty_handed());
                }
            }
            Payload::Retract(retract) => {
                for id in &retract.event_ids {
                    calls_told
                        .remove(id.as_str())
                        .map(|call| calls.remove(call));
                }
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{name}: {open:?} never ended");
    for (id, are_empty) in calls {
        let is_sound = matches!(are_empty[..], [_] | [true, false]);
        assert!(is_sound, "{name}: results of {id}: {are_empty:?}");
    }
}

/// Any cut of the bytes gives the same events, and so does a second reading.
pub(crate) fn assert_cuts(source: &Source) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let longest: &[usize] = match source.bytes.len() {
        0..6_000 => &[1, 40, 3000],
        6_000..40_000 => &[200, 5000],
        _ => &[20_000],
    };
    for longest in longest {
        readings::assert_cuts(source, *longest, &mut random);
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
