//! The steps of a run: from its trajectory, with what only the history knows of them, or from the history alone.

use chat_event::Json;
use chat_event::payload::{FileEdit, ToolResult};
use serde_json::Value;

use super::FORMAT;
use super::tools::Spec;
use super::window::{Edited, Window};
use crate::edit::changed_words;
use crate::emit::Emitter;
use crate::tool;
use crate::track::{NewCall, Track};
use crate::value::{is_true, list_of, str_of, text_of, text_of_blocks};
use crate::words::printed;

/// What the history has of an answer beside the step's words: its call and its thoughts.
struct Asked<'a> {
    thoughts: &'a [Value],
    id: Option<String>,
    name: Option<String>,
    args: Option<Value>,
}

/// The first call of an answer, where the model called tools by name.
fn asked(answer: &Value) -> Asked<'_> {
    let call = list_of(answer, "tool_calls")
        .first()
        .unwrap_or(&Value::Null);
    let function = call.get("function").unwrap_or(&Value::Null);
    Asked {
        thoughts: list_of(answer, "thinking_blocks"),
        id: text_of(call, "id").map(str::to_owned),
        name: text_of(function, "name").map(str::to_owned),
        args: match function.get("arguments") {
            Some(Value::String(text)) => serde_json::from_str(text).ok(),
            other => other.cloned(),
        },
    }
}

/// Tells the steps of a trajectory; the id of the call that handed the patch in, or nothing.
pub(crate) fn of_trajectory(
    track: &mut Track,
    emitter: &mut Emitter,
    run: &str,
    (trajectory, history): (&[Value], &[Value]),
    tells_patch: bool,
) -> String {
    let mut answers = history
        .iter()
        .filter(|item| str_of(item, "role") == Some("assistant") && !is_true(item, "is_demo"))
        .peekable();
    let mut submitted_by = String::new();
    let mut window = Window::default();
    for (n, step) in trajectory.iter().enumerate() {
        let response = format!("{run}.s{n}");
        let action = str_of(step, "action").unwrap_or("");
        // The history leaves out steps that were asked again; what does not fit waits for a later one.
        let same = |answer: &&Value| {
            str_of(answer, "action") == Some(action)
                && str_of(answer, "thought") == str_of(step, "thought")
        };
        let known = answers.next_if(same).map(asked);
        if let Some(known) = &known {
            thoughts(track, emitter, &response, known.thoughts);
        }
        track.text(emitter, &response, 0, str_of(step, "thought").unwrap_or(""));
        if action.is_empty() {
            // An answer that could not be run: the program says why.
            if let Some(text) = text_of(step, "observation") {
                let place = track.place().in_response(&response);
                emitter.notice("warning", &place, "swe-agent", text);
            }
            continue;
        }
        let asked = call(track, emitter, &response, (action, &window), known);
        let observed = Observed {
            output: text_of_blocks(step.get("observation")),
            took: step.get("execution_time").and_then(Value::as_f64),
            tells_patch,
        };
        result(track, emitter, &asked, (action, &mut window), &observed);
        if action.trim() == "submit" || action.starts_with("submit ") {
            submitted_by = asked.id;
        }
    }
    for left in answers {
        if list_of(left, "tool_calls").is_empty() && str_of(left, "action").is_none() {
            emitter.pass_over("assistant");
        } else {
            emitter.pass_over("answer that is no step");
        }
    }
    submitted_by
}

/// Tells the answers and observations of a history.
pub(crate) fn of_history(
    track: &mut Track,
    emitter: &mut Emitter,
    run: &str,
    history: &[Value],
    tells_patch: bool,
) -> String {
    let first = history
        .iter()
        .position(|item| str_of(item, "role") == Some("assistant") && !is_true(item, "is_demo"));
    let mut submitted_by = String::new();
    let mut open: Option<(Called, &str)> = None;
    let mut window = Window::default();
    for (n, item) in history
        .iter()
        .enumerate()
        .skip(first.unwrap_or(history.len()))
    {
        let response = format!("{run}.s{n}");
        let content = text_of_blocks(item.get("content"));
        match str_of(item, "role") {
            _ if is_true(item, "is_demo") => emitter.pass_over("demonstration"),
            Some("assistant") => {
                let action = str_of(item, "action").unwrap_or("");
                let thought = str_of(item, "thought").unwrap_or(&content);
                thoughts(track, emitter, &response, list_of(item, "thinking_blocks"));
                track.text(emitter, &response, 0, thought);
                open = None;
                if !action.is_empty() {
                    let known = Some(asked(item));
                    let asked = call(track, emitter, &response, (action, &window), known);
                    if action.trim() == "submit" {
                        submitted_by.clone_from(&asked.id);
                    }
                    open = Some((asked, action));
                }
            }
            Some("user" | "tool") => match open.take() {
                Some((called, action)) => {
                    let observed = Observed {
                        output: content,
                        took: None,
                        tells_patch,
                    };
                    result(track, emitter, &called, (action, &mut window), &observed);
                }
                None => {
                    let place = track.place();
                    emitter.notice("info", &place, "swe-agent", content);
                }
            },
            Some("system") => emitter.pass_over("system"),
            role => {
                let place = track.place();
                emitter.raw(&place, FORMAT, role.unwrap_or("no role"), item);
            }
        }
    }
    submitted_by
}

/// Tells what the model thought, where it says so apart from its words; some of it may be withheld.
fn thoughts(track: &mut Track, emitter: &mut Emitter, response: &str, blocks: &[Value]) {
    for (n, block) in (0..).zip(blocks) {
        let withheld = str_of(block, "type") == Some("redacted_thinking");
        let text = str_of(block, "thinking").unwrap_or("");
        track.thought(emitter, response, n, text, withheld);
    }
}

/// A call that was told.
struct Called {
    /// Under which it waits for its result.
    native: String,
    /// Which its events bear.
    id: String,
    args: Value,
}

/// What came of a call.
struct Observed {
    output: String,
    took: Option<f64>,
    /// Whether the run tells in the end what it changed.
    tells_patch: bool,
}

/// Tells a call.
fn call(
    track: &mut Track,
    emitter: &mut Emitter,
    response: &str,
    (action, window): (&str, &Window),
    known: Option<Asked<'_>>,
) -> Called {
    let known = known.unwrap_or(Asked {
        thoughts: &[],
        id: None,
        name: None,
        args: None,
    });
    let native = known.id.unwrap_or_else(|| format!("{response}.call"));
    let spec = Spec::of(action, known.name, known.args, window);
    let new = NewCall {
        id: &native,
        response_id: response,
        name: &spec.name,
        args: &spec.args,
        title: spec.title,
        kind: spec.kind,
    };
    let id = track.call(emitter, new);
    Called {
        native,
        id,
        args: spec.args,
    }
}

fn result(
    track: &mut Track,
    emitter: &mut Emitter,
    called: &Called,
    (action, window): (&str, &mut Window),
    observed: &Observed,
) {
    let output = &*observed.output;
    let edited = window.edited(action, &called.args, output);
    window.after(action, output);
    let result = ToolResult {
        result: Json::string(output),
        error: match &edited {
            Some(Edited::Refused(why)) => Some(tool::error(Some("error"), why)),
            Some(Edited::Made(_)) | None => None,
        },
        summary: match &edited {
            Some(Edited::Made(edit)) => {
                Some(changed_words(1, edit.lines_added, edit.lines_removed))
            }
            Some(Edited::Refused(_)) => None,
            None => printed(output),
        },
        duration_ms: observed.took.filter(|took| *took > 0.0).map(millis),
        ..ToolResult::default()
    };
    let call = track.result(emitter, &called.native, result);
    if let (Some(call), Some(Edited::Made(edit))) = (call, edited)
        && !observed.tells_patch
    {
        let edit = FileEdit {
            tool_call_id: call.id.clone(),
            ..*edit
        };
        track.edit(emitter, &call, edit);
    }
}

// `as` saturates, which is what is wanted here.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}
