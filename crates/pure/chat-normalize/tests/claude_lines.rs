//! What single lines of Claude Code mean beside the others: where a turn ends, what was queued, what ended behind a call.

mod compactions;
mod tokens;
mod turns;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines};

/// Seconds of a day, as a transcript says them.
fn at(seconds: u32) -> String {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!(
        "2026-01-01T{:02}:{:02}:{seconds:02}.000Z",
        minutes / 60,
        minutes % 60
    )
}

fn ms(seconds: u32) -> i64 {
    1_767_225_600_000 + i64::from(seconds) * 1000
}

pub(super) fn said(kind: &str, uuid: &str, seconds: u32, content: Value) -> Value {
    json!({"type": kind, "uuid": uuid, "sessionId": "s1", "version": "2.1.29", "timestamp": at(seconds),
        "message": {"id": format!("m-{uuid}"), "role": kind, "content": content}})
}

fn queue(operation: &str, seconds: u32, content: Option<&str>) -> Value {
    let mut line = json!({"type": "queue-operation", "operation": operation, "timestamp": at(seconds), "sessionId": "s1"});
    if let Some(content) = content {
        line["content"] = json!(content);
    }
    line
}

fn transcript(lines: &[Value]) -> Vec<ChatEvent> {
    let events = read_lines(Dialect::ClaudeTranscript, lines).events;
    assert_sound("a transcript", &events);
    events
}

/// When the turns ended.
fn ends(events: &[ChatEvent]) -> Vec<i64> {
    let ends = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::TurnEnd(_)));
    ends.filter_map(|event| event.timestamp).collect()
}

/// What people said, and the notices about the queue and about tasks.
fn words(events: &[ChatEvent]) -> Vec<String> {
    let words = |event: &ChatEvent| match &event.payload {
        Payload::UserMessage(message) => {
            let mark = message.extra.get("steering").map_or("", |_| "> ");
            Some(format!("{mark}{}", message.text.preview()))
        }
        Payload::AssistantDone(done) => Some(format!("= {}", done.text)),
        Payload::Notice(notice) if notice.source.as_deref() != Some("hook") => {
            Some(format!("({})", notice.text))
        }
        _ => None,
    };
    events.iter().filter_map(words).collect()
}

#[test]
fn a_file_written_again_as_it_was_is_not_made_anew() {
    let write = |id: &str| json!([{"type": "tool_use", "id": id, "name": "Write", "input": {"file_path": "/w/a.ts", "content": "1\n2\n"}}]);
    let wrote = |uuid: &str, id: &str, kind: &str| {
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": "done"}]);
        let mut line = said("user", uuid, 2, content);
        line["toolUseResult"] = json!({"type": kind, "filePath": "/w/a.ts", "content": "1\n2\n", "structuredPatch": []});
        line
    };
    let events = transcript(&[
        said("user", "u1", 0, json!("Write it")),
        said("assistant", "a1", 1, write("t1")),
        wrote("r1", "t1", "create"),
        said("assistant", "a2", 3, write("t2")),
        wrote("r2", "t2", "update"),
    ]);
    let edits = events.iter().filter_map(|event| match &event.payload {
        Payload::FileEdit(edit) => Some((
            edit.change_type.as_str(),
            edit.lines_added,
            edit.lines_removed,
        )),
        _ => None,
    });
    assert_eq!(
        edits.collect::<Vec<_>>(),
        [("created", 2, 0), ("modified", 0, 0)]
    );
}

/// Where words are taken out and nothing stands behind them in their line, the program takes out the line's end, too.
#[test]
fn a_line_that_is_taken_out_leaves_no_empty_one() {
    let edit = |old: &str, all: bool, lines: &[&str]| {
        let hunk = json!({"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": lines.len() - 1, "lines": lines});
        let mut result = said(
            "user",
            "r1",
            2,
            json!([{"type": "tool_result", "tool_use_id": "w1", "content": "updated"}]),
        );
        result["toolUseResult"] = json!({"filePath": "/w/a", "oldString": old, "newString": "", "replaceAll": all,
            "originalFile": "one\ntwo one\nthree\n", "structuredPatch": [hunk]});
        let call = json!({"type": "tool_use", "id": "w1", "name": "Edit",
            "input": {"file_path": "/w/a", "old_string": old, "new_string": "", "replace_all": all}});
        let events = transcript(&[
            said("user", "u1", 0, json!("go")),
            said("assistant", "a1", 1, json!([call])),
            result,
        ]);
        let told = events.iter().find_map(|event| match &event.payload {
            Payload::FileEdit(edit) => Some(edit),
            _ => None,
        });
        let told = told.unwrap();
        assert!(told.full_diff_available);
        let diff = told.full_diff.as_ref().unwrap().preview();
        let (_, lines) = diff.split_once("@@\n").unwrap();
        (told.lines_added, told.lines_removed, lines.to_owned())
    };
    let whole = [" one", "-two one", " three"];
    assert_eq!(
        edit("two one", false, &whole),
        (0, 1, whole.join("\n") + "\n")
    );
    let words = [" one", "-two one", "+ one", " three"];
    assert_eq!(edit("two", false, &words), (1, 1, words.join("\n") + "\n"));
    // Words at the end of a line, too.
    let joined = [" one", "-two one", "-three", "+twothree"];
    assert_eq!(
        edit(" one", false, &joined),
        (1, 2, joined.join("\n") + "\n")
    );
    let all = ["-one", "-two one", "-three", "+two three"];
    assert_eq!(edit("one", true, &all), (1, 3, all.join("\n") + "\n"));
}

pub(super) fn stream(lines: &[Value]) -> Vec<ChatEvent> {
    let init =
        json!({"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/w", "uuid": "i1"});
    let lines: Vec<Value> = [init].into_iter().chain(lines.iter().cloned()).collect();
    let events = read_lines(Dialect::ClaudeStream, &lines).events;
    assert_sound("a stream", &events);
    events
}

pub(super) fn calls(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "assistant", "uuid": format!("a-{id}"), "session_id": "s1", "message": {"id": format!("m-{id}"),
        "role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}})
}

pub(super) fn gets(id: &str, text: &str, is_error: bool) -> Value {
    json!({"type": "user", "uuid": format!("r-{id}"), "session_id": "s1", "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]}})
}

#[test]
fn the_end_of_what_runs_in_the_background_is_told_where_the_agent_learns_of_it() {
    let task = |subtype: &str, more: Value| {
        let mut line = json!({"type": "system", "subtype": subtype, "session_id": "s1", "uuid": format!("{subtype}-{more}"), "tool_use_id": "t1"});
        let fields = line.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        line
    };
    let ended = json!({"task_id": "k1", "status": "completed", "summary": "Command \"make\" completed (exit code 0)"});
    let result = json!({"type": "result", "subtype": "success", "session_id": "s1", "uuid": "e1"});
    let answer = json!({"type": "assistant", "uuid": "a2", "session_id": "s1",
        "message": {"id": "m2", "role": "assistant", "content": [{"type": "text", "text": "It is built"}]}});
    let woken = json!({"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/w/sub", "uuid": "i2"});
    let events = stream(&[
        calls("t1", "Bash", json!({"command": "make"})),
        gets("t1", "moved to the background", false),
        result.clone(),
        task("task_notification", ended.clone()),
        woken,
        answer.clone(),
    ]);
    let told = [
        "(Command \"make\" completed (exit code 0))",
        "= It is built",
    ];
    assert_eq!(words(&events), told);
    let of_notice = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => Some((event.turn_id.as_deref(), notice.extra.get("toolCallId"))),
        _ => None,
    });
    let (turn, call) = of_notice.unwrap();
    assert_eq!(turn, Some("i2"));
    assert_eq!(call.unwrap().as_text(), "\"t1\"");
    // A call that waits shows the end itself; an agent's report does not say whose it is.
    let events = stream(&[
        calls("t1", "Agent", json!({"description": "Count"})),
        task(
            "task_started",
            json!({"task_id": "k1", "task_type": "local_agent", "description": "Count"}),
        ),
        task("task_notification", ended),
        gets("t1", "2", false),
        task(
            "task_notification",
            json!({"task_id": "k1", "status": "completed", "summary": "There are 2", "summary_is_report": true}),
        ),
        answer,
        result,
    ]);
    assert_eq!(
        words(&events),
        ["(Agent \"Count\" finished)", "= It is built"]
    );
}

#[test]
fn a_hook_is_told_where_it_says_something_or_fails() {
    let ran = |id: &str, outcome: &str, output: &str| {
        json!({"type": "system", "subtype": "hook_response", "hook_id": id, "hook_name": "Stop", "uuid": id,
            "outcome": outcome, "exit_code": 0, "output": output, "stdout": output, "stderr": "", "session_id": "s1"})
    };
    let events = stream(&[
        json!({"type": "system", "subtype": "init", "session_id": "s1", "uuid": "i1", "model": "m", "cwd": "/w"}),
        ran("h1", "success", ""),
        ran("h2", "success", "formatted 2 files"),
        ran("h3", "error", ""),
    ]);
    let told: Vec<&str> = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::Notice(_)))
        .map(|event| event.id.as_str())
        .collect();
    assert_eq!(told, ["h2:notice", "h3:notice"]);
}

#[test]
fn a_sub_agents_retry_is_told_of_the_call_that_started_it() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s1", "uuid": "i1"});
    let call = json!({"type": "assistant", "uuid": "a1", "session_id": "s1", "message": {"id": "m1", "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "Agent", "input": {}}]}});
    let progress = |uuid: &str, call: &str, parent: Option<&str>, retry: Option<Value>| {
        let mut line = json!({"type": "tool_progress", "tool_use_id": call, "tool_name": "Agent", "parent_tool_use_id": parent,
            "elapsed_time_seconds": 2, "session_id": "s1", "uuid": uuid});
        if let Some(retry) = retry {
            line["subagent_retry"] = retry;
        }
        line
    };
    let retry = json!({"agent_id": "x", "attempt": 1, "max_retries": 10, "error_status": 529, "error_category": "overloaded"});
    let events = stream(&[
        init,
        call,
        progress("p1", "t1", None, None),
        progress("p2", "agent_msg_1", Some("t1"), Some(retry)),
    ]);
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Progress(told) => {
            assert_eq!(event.parent_tool_call_id, None);
            Some((told.message.as_str(), told.tool_call_id.as_deref()))
        }
        _ => None,
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("2 s", Some("t1")),
            ("Agent: attempt 1 of 10: overloaded 529", Some("t1")),
        ]
    );
}

#[test]
fn a_model_that_takes_over_in_an_answer_is_named() {
    let block = json!({"type": "fallback", "from": {"model": "claude-fable-5"}, "to": {"model": "claude-opus-4-8"}});
    let read = read_lines(
        Dialect::ClaudeTranscript,
        &[said("user", "u1", 0, json!("Hi")), {
            let mut line = said("assistant", "a1", 1, json!([block]));
            line["message"]["model"] = json!("claude-opus-4-8");
            line
        }],
    );
    assert_sound("a transcript", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report);
    assert_eq!(
        words(&read.events),
        ["Hi", "(claude-opus-4-8 answers in place of claude-fable-5)"]
    );
}

#[test]
fn what_the_program_recalls_is_told_with_all_that_is_said_of_it() {
    let line = |subtype: &str, more: Value| {
        let mut line =
            json!({"type": "system", "subtype": subtype, "session_id": "s1", "uuid": subtype});
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        line
    };
    let memories = json!([{"path": "/m/a.md", "scope": "user"}]);
    let events = stream(&[
        line(
            "memory_recall",
            json!({"mode": "select", "memories": memories}),
        ),
        line("notification", json!({"text": "Claude waits", "key": "k"})),
    ]);
    assert_eq!(words(&events), ["(recalled: /m/a.md)", "(Claude waits)"]);
    let kept = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => notice.extra.get("memories").map(|kept| kept.to_value()),
        _ => None,
    });
    assert_eq!(kept, Some(memories));
}

/// What is said in passing is no part of an answer, and ends it; this is in the middle of one.
#[test]
fn that_an_answer_was_cut_is_a_warning_and_other_words_for_the_model_are_none() {
    let meta = |id: &str, seconds: u32, text: &str| {
        let mut line = said("user", id, seconds, json!(text));
        line["isMeta"] = json!(true);
        line
    };
    let text = |id: &str, seconds: u32, text: &str| {
        said(
            "assistant",
            id,
            seconds,
            json!([{"type": "text", "text": text}]),
        )
    };
    let events = transcript(&[
        said("user", "u1", 0, json!("Go")),
        text("a1", 1, "This is cut"),
        meta("m1", 2, "Output token limit hit. Resume directly."),
        text("a2", 3, "here."),
        meta("m2", 4, "Read it again."),
    ]);
    let levels = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => Some(notice.level.as_str()),
        _ => None,
    });
    assert_eq!(levels.collect::<Vec<_>>(), ["warning", "info"]);
}

#[test]
fn what_says_nothing_to_a_reader_makes_no_event() {
    let hook = json!({"type": "progress", "uuid": "h1", "sessionId": "s1", "timestamp": at(2), "toolUseID": "h",
        "data": {"type": "hook_progress", "hookEvent": "Stop", "hookName": "Stop"}});
    let caveat = |id: &str, text: &str| {
        let mut line = said("user", id, 3, json!(text));
        line["isMeta"] = json!(true);
        line
    };
    let old = "Caveat: The messages below were generated by the user while running local commands. DO NOT respond to these messages.";
    let new = "The command below was run directly in Claude Code, not sent to you as a request. Do not respond.";
    let tagged = format!("<local-command-caveat>{old}</local-command-caveat>");
    let events = transcript(&[
        said("user", "u1", 0, json!("Go")),
        said(
            "assistant",
            "a1",
            1,
            json!([{"type": "text", "text": "Done."}]),
        ),
        hook,
        caveat("c1", old),
        caveat("c2", new),
        caveat("c3", &tagged),
        caveat(
            "c4",
            "<system-reminder>\n<tools-used-before-summary>Bash, Read</tools-used-before-summary>\n</system-reminder>",
        ),
        caveat("c5", "Read it again."),
    ]);
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::Progress(progress) => Some(progress.message.clone()),
            Payload::Notice(notice) => Some(notice.text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["Read it again."]);
}
