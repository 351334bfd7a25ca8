//! What Claude Code's transcripts and hooks tell of questions, refusals and ends that no line of their own tells.

mod ends;
mod questions;
mod refusals;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines};

/// A line of the conversation, so many seconds after midnight.
fn said(kind: &str, uuid: &str, seconds: u32, content: Value) -> Value {
    json!({"type": kind, "uuid": uuid, "sessionId": "s1", "version": "2.1.330",
        "timestamp": format!("2026-01-01T00:{:02}:{:02}.000Z", seconds / 60, seconds % 60),
        "message": {"id": format!("m-{uuid}"), "role": kind, "content": content}})
}

fn ms(seconds: i64) -> i64 {
    1_767_225_600_000 + seconds * 1000
}

/// The agent's line, with why the model stopped.
fn answers(uuid: &str, seconds: u32, reason: &str, block: Value) -> Value {
    let mut line = said("assistant", uuid, seconds, json!([block]));
    line["message"]["stop_reason"] = json!(reason);
    line
}

fn text(uuid: &str, seconds: u32, text: &str) -> Value {
    let block = json!({"type": "text", "text": text});
    answers(uuid, seconds, "end_turn", block)
}

fn calls(id: &str, seconds: u32, name: &str, input: &Value) -> Value {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    answers(&format!("a-{id}"), seconds, "tool_use", block)
}

fn gets(id: &str, seconds: u32, text: &str, is_error: bool) -> Value {
    let block =
        json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error});
    said("user", &format!("r-{id}"), seconds, json!([block]))
}

fn transcript(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::ClaudeTranscript, lines);
    assert_sound("a transcript", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report);
    read.events
}

/// One line for what tests here are about.
fn told(events: &[ChatEvent]) -> Vec<String> {
    let line = |event: &ChatEvent| match &event.payload {
        Payload::TurnStart(start) => Some(format!("turn {}", start.trigger)),
        Payload::TurnEnd(end) => Some(format!("end {}", end.outcome.as_deref().unwrap())),
        Payload::SessionStatus(status) => Some(status.status.clone()),
        Payload::UserMessage(message) => Some(format!("> {}", message.text.preview())),
        Payload::AssistantDone(done) => Some(format!("= {}", done.text)),
        Payload::QuestionRequest(it) => Some(format!("{} asks", it.request_id)),
        Payload::QuestionResolved(it) => Some(format!("{} {}", it.request_id, it.outcome)),
        Payload::PermissionRequest(it) => Some(format!("{} asks", it.request_id)),
        Payload::PermissionResolved(it) => Some(format!(
            "{} {} by {}: {}",
            it.request_id,
            it.decision,
            it.by.as_deref().unwrap_or("-"),
            it.message.as_deref().unwrap_or("-")
        )),
        Payload::ToolResult(result) => {
            let error = result.error.as_ref();
            let code = error.map_or("ok", |error| error.code.as_deref().unwrap_or("?"));
            Some(format!("{}: {code}", result.tool_call_id))
        }
        Payload::Notice(notice) => Some(format!("({})", notice.text)),
        _ => None,
    };
    events.iter().filter_map(line).collect()
}

fn questions() -> Value {
    json!({"questions": [{"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}]}]})
}

/// The one line of a result is for a person: what was answered, and why nothing ran.
#[test]
fn the_line_of_a_result_says_what_a_person_wants_to_know() {
    let input = json!({"questions": [{"question": "Which?", "options": []}, {"question": "Else?", "options": []}]});
    let mut answered = gets("q", 4, "Your questions have been answered: …", false);
    answered["toolUseResult"] = json!({"answers": {"Which?": "Blue", "Else?": "No"}});
    let events = transcript(&[
        said("user", "u1", 1, json!("Go")),
        calls("q", 3, "AskUserQuestion", &input),
        answered,
        calls("b", 5, "Bash", &json!({"command": "rm -rf build"})),
        gets("b", 6, "Claude requested permissions to use Bash.", true),
        calls("c", 7, "Bash", &json!({"command": "make"})),
        gets("c", 8, "one\ntwo", true),
        calls("g", 9, "Glob", &json!({"pattern": "*.rs"})),
        gets("g", 9, "/w/a.rs\n/w/b.rs\n(Results are truncated.)", false),
        calls("h", 9, "Grep", &json!({"pattern": "x"})),
        gets("h", 9, "Found 4 files\na.rs", false),
        calls("i", 9, "Grep", &json!({"pattern": "x"})),
        gets("i", 9, "No matches found", false),
        calls(
            "j",
            9,
            "Grep",
            &json!({"pattern": "x", "output_mode": "content"}),
        ),
        gets("j", 9, "a.rs:1:x\nb.rs:2:x", false),
    ]);
    let summaries = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => result.summary.as_deref(),
        _ => None,
    });
    let summaries: Vec<&str> = summaries.collect();
    assert_eq!(
        summaries,
        [
            "Blue · No",
            "Claude requested permissions to use Bash.",
            "failed, 2 lines",
            "2 files",
            "4 files",
            "0 files",
            "2 lines"
        ]
    );
}

#[test]
fn what_a_helper_gave_is_its_report() {
    let around = "<tools-used>Bash</tools-used>\n[Subagent hand-back] …\nTwo files.\nagentId: a1 (use SendMessage)";
    let mut given = gets("t", 4, around, false);
    given["toolUseResult"] = json!({"status": "completed", "agentId": "a1", "harnessNoteCount": 1, "harnessTailCount": 0,
        "content": [{"type": "text", "text": "<tools-used>Bash</tools-used>\n"}, {"type": "text", "text": "Two files."}]});
    let events = transcript(&[
        said("user", "u1", 1, json!("Go")),
        calls("t", 3, "Agent", &json!({"prompt": "Count"})),
        given,
    ]);
    let result = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some((result.result.to_value(), result.summary.clone())),
        _ => None,
    });
    let report = "Two files.".to_owned();
    assert_eq!(result, Some((json!(report), Some(report))));
}
