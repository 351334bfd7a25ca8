//! Where the turns of Droid's sessions begin and end, and what the program says in them beside the user and the model.

use chat_event::Payload;
use chat_normalize::{Context, Dialect, FolderReader, SessionFolder, droid_used};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

fn begins() -> Value {
    json!({"type": "session_start", "id": "s1", "title": "T", "owner": "dev", "version": 2, "cwd": "/w"})
}

/// A message of the user's, `ms` after the first.
fn user(id: &str, ms: u32, more: Value) -> Value {
    let mut message = json!({"role": "user"});
    for (name, value) in more.as_object().unwrap() {
        message[name] = value.clone();
    }
    json!({"type": "message", "id": id, "timestamp": at(ms), "message": message})
}

fn says(id: &str, ms: u32, text: &str) -> Value {
    user(id, ms, json!({"content": [{"type": "text", "text": text}]}))
}

fn shown(id: &str, visibility: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    user(
        id,
        90,
        json!({"content": content, "visibility": visibility}),
    )
}

fn answers(id: &str, ms: u32, call: &str, text: &str) -> Value {
    let content =
        json!([{"type": "tool_result", "tool_use_id": call, "is_error": false, "content": text}]);
    user(id, ms, json!({"content": content}))
}

fn model(id: &str, ms: u32, content: Value) -> Value {
    json!({"type": "message", "id": id, "timestamp": at(ms),
        "message": {"role": "assistant", "content": content, "modelId": "m1", "reasoningEffort": "high"}})
}

fn text(id: &str, ms: u32, text: &str) -> Value {
    model(id, ms, json!([{"type": "text", "text": text}]))
}

fn calls(id: &str, ms: u32, call: &str) -> Value {
    model(
        id,
        ms,
        json!([{"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "/w/a"}}]),
    )
}

fn outcome(turn: &str, reason: &str) -> Value {
    json!({"type": "agent_turn_outcome", "turnId": turn, "reason": reason, "resultKind": "text"})
}

fn at(ms: u32) -> String {
    format!("2026-12-02T00:00:{:02}.{:03}Z", ms / 1000, ms % 1000)
}

/// What is told of these lines behind the first.
fn session(lines: &[Value]) -> Vec<String> {
    let lines: Vec<Value> = std::iter::once(begins())
        .chain(lines.iter().cloned())
        .collect();
    let read = read_lines(Dialect::DroidSession, &lines);
    assert_sound("droid", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report);
    told(&read.events)
}

#[test]
fn a_turn_ends_as_its_reason_says_whatever_its_result_is() {
    let ends = |reason: &str, kind: &str| {
        let mut end = outcome("u1", reason);
        end["resultKind"] = kind.into();
        session(&[says("u1", 0, "Go"), text("a1", 10, "Done."), end])[3..].to_vec()
    };
    for (reason, kind, wanted) in [
        ("completed", "text", "end completed"),
        ("completed", "null", "end completed"),
        ("spec_handoff", "structured", "end completed"),
        ("cancelled", "text", "end interrupted"),
        ("process_exit", "text", "end interrupted"),
    ] {
        assert_eq!(ends(reason, kind), [wanted], "{reason}");
    }
    assert_eq!(
        ends("model_rate_limited", "text"),
        ["error model_rate_limited model rate limited", "end failed"]
    );
}

#[test]
fn what_is_for_the_user_alone_is_the_turns_error_and_no_prompt() {
    let lines = [
        says("u1", 0, "Go"),
        shown("e1", "user_only", "BYOK Error: no such model"),
        outcome("u1", "model_request_rejected"),
        shown("n1", "user_only", "Your plan was saved."),
    ];
    assert_eq!(
        session(&lines),
        [
            "turn user",
            "user Go",
            "error  BYOK Error: no such model",
            "end failed",
            "notice Your plan was saved."
        ]
    );
}

#[test]
fn what_is_for_the_model_alone_begins_no_turn() {
    let lines = [
        says("u1", 0, "Go"),
        shown("x1", "llm_only", "Request cancelled by user"),
        shown("x2", "llm_only", "Request interrupted by user"),
        outcome("u1", "cancelled"),
        shown("x3", "llm_only", "Look at the list."),
    ];
    assert_eq!(session(&lines), ["turn user", "user Go", "end interrupted"]);
}

#[test]
fn a_task_that_is_over_begins_a_turn_that_is_not_the_users() {
    let news = "Background task completed.\ndescription: Look";
    let lines = [
        says("u1", 0, "Go"),
        text("a1", 10, "It works."),
        outcome("u1", "completed"),
        shown("task-completion:t1", "llm_only", news),
        text("a2", 100, "It is done."),
        outcome("task-completion:t1", "completed"),
    ];
    let wanted = [
        "turn user",
        "user Go",
        "done It works.",
        "end completed",
        "turn system",
        &format!("notice {news}"),
        "done It is done.",
        "end completed",
    ];
    assert_eq!(session(&lines), wanted);
    // At work, it is news in the turn.
    let lines = [
        says("u1", 0, "Go"),
        calls("a1", 10, "c1"),
        answers("r1", 20, "c1", "x"),
        shown("task-completion:t1", "llm_only", news),
        text("a2", 100, "Done."),
        outcome("u1", "completed"),
    ];
    let told = session(&lines);
    assert_eq!(told.iter().filter(|it| it.starts_with("turn")).count(), 1);
    assert_eq!(told.last().unwrap(), "end completed");
    // So it is in what is printed.
    let line = |role: &str, id: &str, text: &str| json!({"type": "message", "role": role, "id": id, "text": text, "session_id": "s1", "timestamp": 1});
    let stream = [
        line("user", "u1", "Go"),
        line("assistant", "a1", "It works."),
        line("user", "task-completion:t1", news),
        line("assistant", "a2", "It is done."),
    ];
    let read = read_lines(Dialect::DroidStream, &stream);
    assert_sound("droid", &read.events);
    assert_eq!(told_but_last(&read.events), wanted[..7]);
}

fn told_but_last(events: &[chat_event::ChatEvent]) -> Vec<String> {
    let mut lines = told(events);
    lines.pop();
    lines
}

#[test]
fn a_command_of_the_users_is_a_call_of_no_turn() {
    let said = json!({"type": "bash_result", "command": "false", "stdout": "a\n", "stderr": "b\n", "exitCode": 2});
    let told = session(&[shown("b1", "both", &said.to_string())]);
    assert_eq!(told, ["call b1 Execute", "failed b1 exit_code"]);
}

#[test]
fn words_that_waited_for_results_steer_the_turn_and_later_ones_begin_another() {
    let begun = [
        says("u1", 0, "Go"),
        calls("a1", 10, "c1"),
        answers("r1", 2000, "c1", "x"),
    ];
    let steered = [says("u2", 2002, "And this"), text("a2", 2100, "Both.")];
    // Those that wait for the turn's end come behind its last answer; the outcomes come behind all.
    let rest = [
        says("u3", 2120, "Then that"),
        text("a3", 2200, "That too."),
        outcome("u1", "completed"),
        outcome("u2", "completed"),
    ];
    let wanted = [
        "turn user",
        "user Go",
        "call c1 Read",
        "result c1 x",
        "user And this",
        "done Both.",
        "end completed",
        "turn user",
        "user Then that",
        "done That too.",
        "end completed",
    ];
    let lines = [&begun[..], &steered, &rest].concat();
    assert_eq!(session(&lines), wanted);
    let read = read_lines(Dialect::DroidSession, &[&[begins()], &lines[..]].concat());
    let steers: Vec<bool> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::UserMessage(message) => Some(message.extra.get("steering").is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(steers, [false, true, false]);
    // Who comes back after a kill begins a turn.
    let later = [says("u2", 9000, "Again"), text("a2", 9100, "Again.")];
    let told = session(&[&begun[..], &later].concat());
    assert_eq!(
        told[4..],
        [
            "end interrupted",
            "turn user",
            "user Again",
            "done Again.",
            "end completed"
        ]
    );
}

#[test]
fn an_outcome_of_another_turn_ends_nothing_and_a_late_result_finds_its_call() {
    let lines = [
        says("u1", 0, "Go"),
        calls("a1", 10, "c1"),
        outcome("never", "error"),
        outcome("u1", "process_exit"),
        answers("r1", 40, "c1", "stopped"),
    ];
    assert_eq!(
        session(&lines),
        [
            "turn user",
            "user Go",
            "call c1 Read",
            "failed c1 no_result",
            "end interrupted",
            "result c1 stopped"
        ]
    );
}

#[test]
fn a_compaction_by_hand_begins_a_file_and_one_that_comes_by_itself_stands_in_a_turn() {
    let mut state = json!({"type": "compaction_state", "id": "k1", "timestamp": at(0), "summaryText": "All.", "summaryKind": "llm_summary"});
    assert_eq!(session(&[state.clone()]), ["compaction manual"]);
    state["anchorMessage"] = json!({"id": "u1", "index": 0});
    assert_eq!(session(&[state]), ["compaction auto"]);
}

#[test]
fn an_answer_names_its_model_and_another_agents_prompt_is_its_own_words() {
    let prompt = "# Task Tool Invocation\n\nSubagent type: worker\n\n## Context\nUse it.\n---BEGIN TASK FROM PARENT AGENT---\nWrite\na file\n---END TASK FROM PARENT AGENT---\n";
    let lines = [begins(), says("u1", 0, prompt), text("a1", 10, "Done.")];
    let read = read_lines(Dialect::DroidSession, &lines);
    assert_eq!(told(&read.events)[1], "user Write\na file");
    let models: Vec<(Option<&str>, bool)> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => {
                let has_effort = start.extra.get("reasoningEffort").is_some();
                Some((start.model.as_deref(), has_effort))
            }
            _ => None,
        })
        .collect();
    assert_eq!(models, [(None, false), (Some("m1"), true)]);
}

#[test]
fn what_a_failed_command_printed_stands_in_its_error() {
    let run = |rest: Value| {
        let begin = json!({"type": "message", "role": "user", "id": "u1", "text": "Go", "session_id": "s1", "timestamp": 1});
        let call = json!({"type": "tool_call", "id": "c1", "messageId": "m1", "toolId": "Execute", "toolName": "Execute", "parameters": {"command": "x"}, "session_id": "s1", "timestamp": 1});
        let mut result = json!({"type": "tool_result", "id": "c1", "messageId": "m2", "toolId": "Execute", "session_id": "s1", "timestamp": 1});
        for (name, value) in rest.as_object().unwrap() {
            result[name] = value.clone();
        }
        let read = read_lines(Dialect::DroidStream, &[begin, call, result]);
        let results = read.events.into_iter();
        let mut results = results.filter_map(|event| match event.payload {
            Payload::ToolResult(result) => {
                let text = result.result.display_text().to_string();
                Some((text, result.exit_code, result.error.is_some()))
            }
            _ => None,
        });
        results.next().unwrap()
    };
    let message =
        "Error: Command failed (exit code: 3)\nout\nerr\n\n\n[Process exited with code 3]";
    let failed = json!({"isError": true, "error": {"type": "tool_error", "message": message}});
    let printed = "Error: Command failed (exit code: 3)\nout\nerr".to_owned();
    assert_eq!(run(failed), (printed, Some(3), true));
    let nothing = "Command completed successfully\n\n[Process exited with code 0]";
    let done = json!({"isError": false, "value": nothing});
    assert_eq!(run(done), (String::new(), Some(0), false));
    // A picture, as the program prints it.
    let picture = json!({"isError": false, "value": "[object Object],[object Object]"});
    assert_eq!(run(picture), (String::new(), None, false));
}

#[test]
fn what_a_session_used_is_noted_beside_its_file_and_told_at_its_end() {
    let paths = ["-w/s1.jsonl", "-w/s1.settings.json", "-w/s2.settings.json"];
    let folder = SessionFolder::group(paths);
    let parts: Vec<_> = folder
        .sessions
        .iter()
        .map(|it| (it.name.as_str(), it.note.as_deref()))
        .collect();
    // Beside no session it is no note.
    let wanted = [
        ("-w/s1", Some("-w/s1.settings.json")),
        ("-w/s2.settings", None),
    ];
    assert_eq!(parts, wanted);
    let lines = [
        begins(),
        says("u1", 0, "Go"),
        text("a1", 10, "Done."),
        outcome("u1", "completed"),
    ];
    let own: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let told_with = |note: &str| {
        let mut reader = FolderReader::new(Context::default(), folder.sessions[0].clone());
        let mut events = Vec::new();
        while let Some(want) = reader.wants() {
            let file = if want.path.ends_with(".jsonl") {
                &own
            } else {
                note
            };
            let at = usize::try_from(want.offset).unwrap();
            let rest = file.as_bytes().get(at..).unwrap_or_default();
            let piece = rest[..rest.len().min(50)].to_vec();
            reader.push(&piece, 0, &mut events).unwrap();
        }
        assert_sound("droid", &events);
        events
    };
    let note = json!({"model": "m1", "tokenUsage": {"inputTokens": 1200, "outputTokens": 40, "cacheCreationTokens": 0, "cacheReadTokens": 7, "thinkingTokens": 8, "factoryCredits": 0}}).to_string();
    let events = told_with(&note);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Go",
            "done Done.",
            "end completed",
            "usage session 1200/40"
        ]
    );
    // Who follows the note says the same under the same name.
    let used = events
        .iter()
        .find(|event| matches!(event.payload, Payload::Usage(_)))
        .unwrap();
    let followed = droid_used("s1", note.as_bytes(), 5).unwrap();
    assert_eq!((&followed.id, &followed.payload), (&used.id, &used.payload));
    for nothing in [
        "",
        "{",
        "{}",
        r#"{"tokenUsage":{"inputTokens":0,"outputTokens":0}}"#,
        r#"{"tokenUsage":7}"#,
    ] {
        assert_eq!(droid_used("s1", nothing.as_bytes(), 5), None, "{nothing}");
        assert_eq!(told(&told_with(nothing)).len(), 4, "{nothing}");
    }
}
