//! What the dialect of Grok Build's session files holds, over small cases; a whole session is a story.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Dialect, SessionFolder};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

/// A line, so many milliseconds after the first.
fn line(at: i64, update: Value) -> Value {
    let at_ms = 1_796_142_173_000_i64 + at;
    let ours = ["user_message_chunk", "agent_", "tool_call", "plan"];
    let kind = update["sessionUpdate"].as_str().unwrap();
    let method = match ours.iter().any(|it| kind.starts_with(it)) {
        true => "session/update",
        false => "_x.ai/session/update",
    };
    let meta = json!({"eventId": format!("s-1-{at}"), "agentTimestampMs": at_ms, "streamStartMs": at_ms / 100});
    let params = json!({"sessionId": "s-1", "update": update, "_meta": meta});
    json!({"timestamp": at_ms / 1000, "method": method, "params": params})
}

fn text(kind: &str, text: &str, meta: Value) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}, "_meta": meta})
}

fn prompt(at: i64, index: u64, words: &str) -> Value {
    let meta = json!({"modelId": "grok-4.5", "promptIndex": index});
    line(at, text("user_message_chunk", words, meta))
}

fn says(at: i64, words: &str) -> Value {
    line(at, text("agent_message_chunk", words, Value::Null))
}

fn done(at: i64, reason: &str) -> Value {
    line(
        at,
        json!({"sessionUpdate": "turn_completed", "prompt_id": "p", "stop_reason": reason}),
    )
}

fn call(at: i64, id: &str, name: &str, kind: &str, input: Value) -> Value {
    let tool = json!({"x.ai/tool": {"version": 1, "name": name, "kind": kind}});
    line(
        at,
        json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": name, "rawInput": input, "_meta": tool}),
    )
}

fn update(at: i64, id: &str, status: &str, mut rest: Value) -> Value {
    rest["sessionUpdate"] = "tool_call_update".into();
    rest["toolCallId"] = id.into();
    rest["status"] = status.into();
    line(at, rest)
}

fn shown(words: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": words}}])
}

fn read(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::GrokBuild, lines);
    assert!(read.report.raw.is_empty(), "{:?}", read.report);
    assert_sound("grok-build", &read.events);
    read.events
}

fn outcomes(events: &[ChatEvent]) -> Vec<&str> {
    let ends = events.iter().filter_map(|event| match &event.payload {
        Payload::TurnEnd(end) => end.outcome.as_deref(),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_line_is_told_by_its_form_and_no_line_of_the_protocol() {
    let found = |value: &Value| chat_normalize::detect(format!("{value}\n").as_bytes(), true);
    let ours = prompt(0, 0, "Hi");
    let is = chat_normalize::Detection::Found(Dialect::GrokBuild);
    assert_eq!(found(&ours), is);
    assert_eq!(found(&done(0, "end_turn")), is);
    let mut on_wire = ours.clone();
    on_wire["jsonrpc"] = "2.0".into();
    assert_eq!(
        found(&on_wire),
        chat_normalize::Detection::Found(Dialect::Acp)
    );
    for missing in ["timestamp", "method", "params"] {
        let mut less = ours.clone();
        less.as_object_mut().unwrap().remove(missing);
        assert_ne!(found(&less), is, "{missing}");
    }
}

#[test]
fn prompts_their_blocks_and_words_to_the_agent_at_work() {
    let picture = json!({"sessionUpdate": "user_message_chunk", "_meta": {"promptIndex": 0},
        "content": {"type": "image", "mimeType": "image/png", "data": "aGk="}});
    let events = read(&[
        prompt(0, 0, "Look"),
        line(1, picture),
        says(2, "I look."),
        line(
            3,
            text(
                "user_message_chunk",
                "Quick",
                json!({"modelId": "grok-4.5"}),
            ),
        ),
        says(4, "Yes."),
        done(5, "end_turn"),
        prompt(6, 1, "Stop it"),
        done(7, "cancelled"),
        prompt(8, 2, "Again"),
        // It was killed, and taken up again.
        prompt(9, 3, "Hello?"),
        done(10, "error"),
    ]);
    assert_eq!(
        outcomes(&events),
        ["completed", "interrupted", "interrupted", "failed"]
    );
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(said) => Some((
            said.text.preview().to_string(),
            said.attachments.is_some(),
            said.extra.get("steering").is_some(),
        )),
        _ => None,
    });
    let said: Vec<(String, bool, bool)> = said.collect();
    let is = |words: &str, attached, steers| (words.to_owned(), attached, steers);
    assert_eq!(
        said,
        [
            is("Look", false, false),
            is("", true, false),
            is("Quick", false, true),
            is("Stop it", false, false),
            is("Again", false, false),
            is("Hello?", false, false)
        ]
    );
    assert_eq!(
        told(&events)
            .iter()
            .filter(|it| it.contains("model"))
            .count(),
        0
    );
}

#[test]
fn the_program_goes_on_by_itself_where_a_task_is_over() {
    let host = json!({"hostTurn": true, "hideFromScrollback": true});
    let events = read(&[
        prompt(0, 0, "Go"),
        done(1, "end_turn"),
        line(2, text("user_message_chunk", "Task 1 is over.", host)),
        says(3, "It is."),
        done(4, "end_turn"),
    ]);
    let turns = events.iter().filter_map(|event| match &event.payload {
        Payload::TurnStart(start) => Some(start.trigger.as_str()),
        _ => None,
    });
    assert_eq!(turns.collect::<Vec<_>>(), ["user", "system"]);
    let said = events
        .iter()
        .filter(|it| matches!(it.payload, Payload::UserMessage(_)));
    assert_eq!(said.count(), 1);
}

#[test]
fn who_goes_back_leaves_the_turns_from_that_prompt_on() {
    let back = |at, target: u64| {
        line(
            at,
            json!({"sessionUpdate": "rewind_marker", "target_prompt_index": target, "created_at": ""}),
        )
    };
    let mut lines = Vec::new();
    for n in 0..3_i64 {
        let index = u64::try_from(n).unwrap();
        lines.extend([prompt(10 * n, index, "Go"), done(10 * n + 1, "end_turn")]);
    }
    lines.extend([
        back(50, 1),
        prompt(60, 1, "Other"),
        done(61, "end_turn"),
        back(70, 0),
    ]);
    let events = read(&lines);
    let left = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    assert_eq!(
        left.collect::<Vec<_>>(),
        [
            "the user went back: 2 turns before this line were left",
            "the user went back: 2 turns before this line were left"
        ]
    );
}

#[test]
fn what_a_command_prints_is_told_as_it_grows_and_its_code_when_it_is_over() {
    let bash = |code: i64| json!({"type": "Bash", "exit_code": code, "output_file": "/l/c1.log"});
    let prints = |at, words: &str| {
        update(
            at,
            "c1",
            "in_progress",
            json!({"content": shown(words), "rawOutput": bash(0)}),
        )
    };
    let events = read(&[
        prompt(0, 0, "Run"),
        call(
            1,
            "c1",
            "run_terminal_command",
            "execute",
            json!({"command": "make"}),
        ),
        prints(2, ""),
        prints(3, "a\n"),
        prints(4, "a\nbü"),
        // Its beginning went.
        prints(5, "…"),
        update(
            6,
            "c1",
            "completed",
            json!({"content": shown("a\nbü\nc\n"), "rawOutput": bash(2)}),
        ),
        update(7, "c1", "completed", json!({})),
        done(8, "end_turn"),
    ]);
    let chunks = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolOutputChunk(chunk) => Some(chunk.chunk.as_str()),
        _ => None,
    });
    assert_eq!(chunks.collect::<Vec<_>>(), ["a\n", "bü"]);
    let result = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = result.unwrap();
    assert_eq!(result.exit_code, Some(2));
    assert_eq!(
        result.error.as_ref().and_then(|it| it.code.as_deref()),
        Some("exit_code")
    );
}

#[test]
fn an_edit_is_a_diff_with_its_lines_where_the_places_tell_it() {
    let edit = |id: &str, old: &str, new: &str, place: Value, words: &str| {
        let diff = json!({"type": "diff", "path": "/w/a.txt", "oldText": old, "newText": new, "_meta": {"details": [place]}});
        let output =
            json!({"type": "SearchReplace", "EditsApplied": {"tool_output_for_prompt": words}});
        [
            call(
                1,
                id,
                "search_replace",
                "edit",
                json!({"file_path": "/w/a.txt"}),
            ),
            update(
                2,
                id,
                "completed",
                json!({"content": [diff], "rawOutput": output}),
            ),
        ]
    };
    let place = |old: &str, new: &str, at: u64, before: &str, after: &str| {
        json!({"old_string": old, "old_line": at, "new_string": new, "new_line": at,
            "context_before": before, "context_after": after, "line_prefix": ""})
    };
    let within = json!({"old_string": "x", "old_line": 3, "new_string": "y", "new_line": 3,
        "context_before": "a\nb = ", "context_after": "\n", "line_prefix": "b = "});
    let mut lines = vec![prompt(0, 0, "Edit")];
    lines.extend(edit(
        "c1",
        "b\n",
        "b\nc\n",
        place("b\n", "b\nc\n", 7, "a\n", "d\n"),
        "has been updated",
    ));
    lines.extend(edit(
        "c2",
        "",
        "n\n",
        place("", "n\n", 1, "", ""),
        "The file has been created.",
    ));
    lines.extend(edit("c3", "x", "y", within, ""));
    lines.extend(edit(
        "c4",
        "b\n",
        "c\n",
        place("b\n", "c\n", 1, "a\nb\n", ""),
        "line 1 is not behind two others",
    ));
    lines.push(done(9, "end_turn"));
    let events = read(&lines);
    let edits = events.iter().filter_map(|event| match &event.payload {
        Payload::FileEdit(edit) => Some((
            edit.change_type.as_str(),
            edit.lines_added,
            edit.lines_removed,
            edit.full_diff_available,
            edit.diff_preview.to_string(),
        )),
        _ => None,
    });
    let edits: Vec<_> = edits.collect();
    let numbers: Vec<_> = edits.iter().map(|it| (it.0, it.1, it.2, it.3)).collect();
    assert_eq!(
        numbers,
        [
            ("modified", 1, 0, true),
            ("created", 1, 0, true),
            ("modified", 1, 1, false),
            ("modified", 1, 1, false)
        ]
    );
    assert!(
        edits[0].4.contains("@@ -6,3 +6,4 @@\n a\n b\n+c\n d\n"),
        "{}",
        edits[0].4
    );
}

#[test]
fn a_retry_a_compaction_and_another_model_are_told() {
    let own = |at, kind: &str, mut rest: Value| {
        rest["sessionUpdate"] = kind.into();
        line(at, rest)
    };
    let events = read(&[
        // It may be written before the prompt that it is about.
        own(
            0,
            "retry_state",
            json!({"type": "failed", "error_type": "api", "message": "no"}),
        ),
        prompt(1, 0, "Go"),
        own(
            2,
            "retry_state",
            json!({"type": "retrying", "attempt": 1, "max_retries": 8, "reason": "busy"}),
        ),
        own(
            3,
            "auto_compact_started",
            json!({"tokens_used": 9, "context_window": 10, "percentage": 90, "reason": "r"}),
        ),
        own(
            4,
            "auto_compact_completed",
            json!({"tokens_before": 9, "tokens_after": 3}),
        ),
        own(5, "model_changed", json!({"model_id": "grok-5"})),
        own(
            6,
            "session_summary_generated",
            json!({"session_summary": "A title"}),
        ),
        own(
            7,
            "subagent_spawned",
            json!({"subagent_id": "a", "child_session_id": "a"}),
        ),
        says(8, "Done."),
        own(
            9,
            "turn_completed",
            json!({"stop_reason": "end_turn", "usage":
            {"inputTokens": 1200, "cachedReadTokens": 200, "outputTokens": 40, "costUsdTicks": 25_000_000_000_i64}}),
        ),
    ]);
    assert_eq!(outcomes(&events), ["completed"]);
    let kinds =
        |wanted: fn(&Payload) -> bool| events.iter().filter(|it| wanted(&it.payload)).count();
    assert_eq!(kinds(|it| matches!(it, Payload::Compaction(_))), 1);
    let facts = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some((start.model.as_deref(), start.title.as_deref())),
        _ => None,
    });
    let facts: Vec<_> = facts.collect();
    assert!(facts.contains(&(Some("grok-5"), None)), "{facts:?}");
    assert!(facts.contains(&(None, Some("A title"))), "{facts:?}");
    let usage = events.iter().find_map(|event| match &event.payload {
        Payload::Usage(usage) => Some((usage.input_tokens, usage.cost_usd)),
        _ => None,
    });
    assert_eq!(usage, Some((1000, Some(2.5))));
    let retries = events.iter().filter(|event| {
        matches!(&event.payload, Payload::SessionStatus(status) if status.status == "retrying")
    });
    assert_eq!(retries.count(), 1);
}

/// Each start of the program counts its lines from the beginning.
#[test]
fn lines_of_two_starts_that_bear_the_same_number_are_two() {
    let mut second = prompt(5, 1, "Two");
    second["params"]["_meta"]["eventId"] = "s-1-0".into();
    let events = read(&[
        prompt(0, 0, "One"),
        done(1, "end_turn"),
        second,
        done(6, "end_turn"),
    ]);
    let said = events
        .iter()
        .filter(|it| matches!(it.payload, Payload::UserMessage(_)));
    assert_eq!(said.count(), 2);
}

#[test]
fn of_a_folder_the_sessions_are_listed_and_not_what_lies_beside_them() {
    let of = "sessions/%2Fw/01a";
    let paths = [
        "updates.jsonl",
        "chat_history.jsonl",
        "events.jsonl",
        "rewind_points.jsonl",
        "summary.json",
        "signals.json",
        "subagents/01b/meta.json",
        "subagents/01b/output.json",
        "compaction_checkpoints/1.json",
    ];
    let mut paths: Vec<String> = paths.iter().map(|path| format!("{of}/{path}")).collect();
    paths.push("sessions/%2Fw/prompt_history.jsonl".to_owned());
    paths.push("other/updates.jsonl".to_owned());
    paths.push("other/events.jsonl".to_owned());
    let folder = SessionFolder::group(paths.iter().map(String::as_str));
    let sessions = folder
        .sessions
        .iter()
        .map(|it| (it.name.as_str(), it.main.as_deref()));
    assert_eq!(
        sessions.collect::<Vec<_>>(),
        [
            // Nothing beside it says whose it is.
            ("other/events", Some("other/events.jsonl")),
            ("other/updates", Some("other/updates.jsonl")),
            (of, Some("sessions/%2Fw/01a/updates.jsonl"))
        ]
    );
    assert_eq!(folder.others.len(), 9);
}
