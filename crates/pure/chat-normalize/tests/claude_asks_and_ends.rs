//! What Claude Code's transcripts and hooks tell of questions, refusals and ends that no line of their own tells.

use crate::support::{assert_sound, read_lines};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

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

fn cost_state() -> Value {
    json!({"type": "cost-state", "sessionId": "s1"})
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

#[test]
fn a_question_of_a_transcript_is_asked_when_it_is_called_and_answered_by_its_result() {
    let prompt = said("user", "u1", 0, json!("Ask"));
    let call = calls("q", 1, "AskUserQuestion", &questions());
    let mut answered = gets("q", 9, "Your questions have been answered", false);
    answered["toolUseResult"] = json!({"answers": {"Which colour?": "Red"}});
    let events = transcript(&[prompt.clone(), call.clone(), answered]);
    let of_question = |events: &[ChatEvent]| -> Vec<(Option<i64>, String)> {
        let of = events.iter().filter_map(|event| match &event.payload {
            Payload::QuestionRequest(_) => Some((event.timestamp, "asks".to_owned())),
            Payload::QuestionResolved(it) => Some((event.timestamp, it.outcome.clone())),
            _ => None,
        });
        of.collect()
    };
    let at = |seconds: i64, word: &str| (Some(ms(seconds)), word.to_owned());
    assert_eq!(of_question(&events), [at(1, "asks"), at(9, "answered")]);
    for (kind, text, outcome) in [
        (
            Some("user-rejected"),
            "The user doesn't want to",
            "rejected",
        ),
        (Some("interrupted"), "[Tool call interrupted", "expired"),
        (
            None,
            "<tool_use_error>InputValidationError</tool_use_error>",
            "expired",
        ),
    ] {
        let mut result = gets("q", 9, text, true);
        if let Some(kind) = kind {
            result["toolDenialKind"] = json!(kind);
        }
        let events = transcript(&[prompt.clone(), call.clone(), result]);
        assert_eq!(of_question(&events), [at(1, "asks"), at(9, outcome)]);
    }
    // Nothing is asked by a call that holds no question, and by one that asks something else.
    let others = [
        prompt,
        calls("q", 1, "AskUserQuestion", &json!({})),
        calls("b", 1, "Bash", &questions()),
    ];
    assert_eq!(of_question(&transcript(&others)), []);
}

#[test]
fn a_question_is_asked_once_however_its_hooks_come() {
    let hook = |event: &str, more: Value| {
        let mut line = json!({"hook_event_name": event, "session_id": "s1", "prompt_id": "p1", "cwd": "/w",
            "tool_name": "AskUserQuestion", "tool_input": questions()});
        let members = line.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        line
    };
    let call = hook("PreToolUse", json!({"tool_use_id": "q"}));
    let request = hook("PermissionRequest", json!({}));
    let mut input = questions();
    input["answers"] = json!({"Which colour?": "Red"});
    let done = hook(
        "PostToolUse",
        json!({"tool_use_id": "q", "tool_input": input, "tool_response": {"answers": {"Which colour?": "Red"}}}),
    );
    for lines in [
        vec![call.clone(), request.clone(), done.clone()],
        vec![request.clone(), call.clone(), done.clone()],
        vec![call, done.clone()],
        vec![request, done],
    ] {
        let events = read_lines(Dialect::ClaudeHooks, &lines).events;
        assert_sound("hooks", &events);
        let asked = events
            .iter()
            .filter(|event| matches!(event.payload, Payload::QuestionRequest(_)));
        let outcomes = events.iter().filter_map(|event| match &event.payload {
            Payload::QuestionResolved(it) => Some(it.outcome.as_str()),
            _ => None,
        });
        assert_eq!(asked.count(), 1, "{lines:?}");
        assert_eq!(outcomes.collect::<Vec<_>>(), ["answered"], "{lines:?}");
    }
}

#[test]
fn what_no_person_refused_is_told_by_whom_it_was() {
    let refused = |kind: &str, decision: Value, text: &str| {
        let mut result = gets("c", 2, text, true);
        result["toolDenialKind"] = json!(kind);
        if !decision.is_null() {
            result["permissionDecision"] = decision;
        }
        let lines = [
            said("user", "u1", 0, json!("Go")),
            calls("c", 1, "Bash", &json!({"command": "touch a"})),
            result,
        ];
        let told = told(&transcript(&lines));
        let resolved = told.into_iter().find(|line| line.contains(" deny "));
        resolved.unwrap_or_default()
    };
    let by = |by: &str, why: &str| format!("c:denied deny by {by}: {why}");
    let reject = |source: &str, more: (&str, &str)| json!({"decision": "reject", "source": source, more.0: more.1});
    for (kind, decision, wanted) in [
        (
            "user-rejected",
            reject("config", ("reasonCode", "workingDir")),
            "rule",
        ),
        (
            "user-rejected",
            reject("config", ("reasonType", "mode")),
            "mode",
        ),
        (
            "permission-rule",
            reject("config", ("reasonType", "rule")),
            "rule",
        ),
        (
            "permission-rule",
            reject("hook", ("reasonType", "hook")),
            "hook",
        ),
        (
            "permission-rule",
            reject("user_reject", ("reasonCode", "unknown")),
            "user",
        ),
    ] {
        assert_eq!(refused(kind, decision, "No."), by(wanted, "No."));
    }
    let said = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n\
        shorter, please\n\nNote: The user's next message may correct this.";
    let user = reject("user_reject", ("reasonCode", "unknown"));
    assert_eq!(
        refused("user-rejected", user, said),
        by("user", "shorter, please")
    );
    // Older ones say it in the words alone.
    assert_eq!(
        refused("user-rejected", Value::Null, said),
        by("user", "shorter, please")
    );
}

#[test]
fn a_call_that_was_lost_with_the_program_was_refused_by_nobody_and_its_turn_was_cut_off() {
    let lost = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]";
    let mut result = gets("c", 900, lost, true);
    result["toolDenialKind"] = json!("interrupted");
    result["toolUseResult"] = json!(lost);
    let mut filled = text("a2", 900, "No response requested.");
    filled["message"]["model"] = json!("<synthetic>");
    filled["isApiErrorMessage"] = json!(false);
    let events = transcript(&[
        said("user", "u1", 0, json!("Go")),
        calls("c", 1, "Bash", &json!({"command": "sleep 60"})),
        result,
        filled,
        said("user", "u2", 905, json!("Go on")),
        text("a3", 910, "Done."),
    ]);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "busy",
            "> Go",
            "c: interrupted",
            "end interrupted",
            "idle",
            "turn user",
            "busy",
            "> Go on",
            "= Done.",
            "end completed",
            "idle"
        ]
    );
    let ended = events
        .iter()
        .find(|event| matches!(event.payload, Payload::TurnEnd(_)));
    assert_eq!(ended.unwrap().timestamp, Some(ms(1)), "when it last worked");
    let took = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result.duration_ms),
        _ => None,
    });
    assert_eq!(took, Some(None), "nobody knows how long it ran");
}

/// No line of the program says so: it was killed, and the session taken up again.
#[test]
fn the_turn_that_was_cut_off_is_the_one_whose_call_got_no_result() {
    let prompt = |uuid: &str, seconds: u32| said("user", uuid, seconds, json!("Go"));
    let call = calls("c", 1, "Bash", &json!({"command": "sleep 60"}));
    let ends = |lines: &[Value]| {
        let events = transcript(lines);
        let ends = events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => Some((
                event.turn_id.clone().unwrap(),
                end.outcome.clone().unwrap(),
                end.extra.get("guessed").is_some(),
            )),
            _ => None,
        });
        ends.map(|(turn, outcome, guessed)| format!("{turn} {outcome}, guessed: {guessed}"))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let killed = [prompt("u1", 0), call];
    let and = |lines: &[Value]| [&killed[..], lines].concat();
    assert_eq!(
        ends(&and(&[prompt("u2", 900), text("a2", 901, "Done.")])),
        "u1 interrupted, guessed: true; u2 completed, guessed: true"
    );
    assert_eq!(
        ends(&and(&[prompt("u2", 900)])),
        "u1 interrupted, guessed: true; u2 interrupted, guessed: true"
    );
    assert_eq!(
        ends(&and(&[
            prompt("u2", 900),
            text("a2", 901, "Done."),
            cost_state()
        ])),
        "u1 interrupted, guessed: true; u2 completed, guessed: true"
    );
    let duration = json!({"type": "system", "subtype": "turn_duration", "durationMs": 1000, "uuid": "d2",
        "sessionId": "s1", "timestamp": "2026-01-01T00:15:02.000Z"});
    assert_eq!(
        ends(&and(&[
            prompt("u2", 900),
            text("a2", 901, "Done."),
            duration
        ])),
        "u1 interrupted, guessed: true; u2 completed, guessed: false"
    );
}

#[test]
fn the_end_of_the_program_ends_the_turn_that_is_open() {
    let prompt = said("user", "u1", 0, json!("Go"));
    let call = calls("c", 1, "Bash", &json!({"command": "sleep 60"}));
    let done = gets("c", 2, "ok", false);
    let ends = |lines: &[Value]| {
        let lines: Vec<Value> = [prompt.clone()].iter().chain(lines).cloned().collect();
        let mut told = told(&transcript(&lines));
        told.retain(|line| line.starts_with("end ") || line == "idle" || line.starts_with("turn "));
        told.join(", ")
    };
    let cut_off = "turn user, end interrupted, idle";
    assert_eq!(ends(&[cost_state()]), cut_off);
    assert_eq!(ends(&[call.clone(), cost_state()]), cut_off);
    assert_eq!(ends(&[call.clone(), done.clone(), cost_state()]), cut_off);
    // A run that was answered has no line that says so.
    let answered = [call, done, text("a2", 3, "Done."), cost_state()];
    assert_eq!(ends(&answered), "turn user, end completed, idle");
    // What the model had said is written behind it.
    let late = [
        cost_state(),
        text("a2", 3, "One two"),
        said("user", "u2", 3, json!("[Request interrupted by user]")),
    ];
    assert_eq!(ends(&late), cut_off);
    let lines: Vec<Value> = [prompt.clone()].iter().chain(&late).cloned().collect();
    let events = transcript(&lines);
    let of_turn = events
        .iter()
        .find(|event| matches!(event.payload, Payload::AssistantDone(_)));
    assert_eq!(of_turn.unwrap().turn_id.as_deref(), Some("u1"));
    // It is told at once, not when the file ends.
    let mut reader = chat_normalize::SessionReader::with_dialect(
        chat_normalize::Context::default(),
        Dialect::ClaudeTranscript,
    );
    let mut events = Vec::new();
    for line in [prompt.clone(), cost_state()] {
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
    }
    assert_eq!(told(&events)[3..], ["end interrupted", "idle"]);
}

#[test]
fn a_session_rests_when_what_it_left_running_is_over() {
    let statuses = |lines: &[Value]| {
        let mut told = told(&transcript(lines));
        told.retain(|line| line == "idle" || line == "busy" || line.starts_with("end "));
        told.join(", ")
    };
    let mut launched = gets("c", 2, "Async agent launched successfully.", false);
    launched["toolUseResult"] = json!({"status": "async_launched", "agentId": "k1"});
    let mut moved = gets("c", 2, "moved to the background", false);
    moved["toolUseResult"] = json!({"stdout": "", "backgroundTaskId": "k1"});
    let duration = |uuid: &str, seconds: u32| {
        let mut line = said("system", uuid, seconds, Value::Null);
        line["subtype"] = json!("turn_duration");
        line["durationMs"] = json!(4000);
        line
    };
    let mut ended = said(
        "user",
        "n1",
        60,
        json!(
            "<task-notification>\n<task-id>k1</task-id>\n<status>completed</status>\n</task-notification>"
        ),
    );
    ended["origin"] = json!({"kind": "task-notification"});
    for result in [launched, moved] {
        let begun = [
            said("user", "u1", 0, json!("Go")),
            calls("c", 1, "Agent", &json!({"prompt": "Count"})),
            result,
            text("a2", 3, "Started."),
            duration("d1", 4),
        ];
        let mut woken = begun.to_vec();
        woken.extend([ended.clone(), text("a3", 61, "2."), duration("d2", 62)]);
        assert_eq!(statuses(&woken), "busy, end completed, end completed, idle");
        let mut left = begun.to_vec();
        left.push(cost_state());
        assert_eq!(statuses(&left), "busy, end completed, idle");
        let mut filled = text("a5", 90, "No response requested.");
        filled["message"]["model"] = json!("<synthetic>");
        let mut killed = begun.to_vec();
        killed.extend([
            said("user", "u3", 80, json!("More")),
            filled,
            said("user", "u4", 91, json!("And now")),
            text("a6", 92, "Done."),
            duration("d4", 93),
        ]);
        let of_killed = "busy, end completed, end interrupted, idle, busy, end completed, idle";
        assert_eq!(statuses(&killed), of_killed);
        let mut stopped = begun.to_vec();
        let mut result = gets("k", 71, "stopped", false);
        result["toolUseResult"] = json!({"task_id": "k1", "message": "stopped"});
        stopped.extend([
            said("user", "u2", 69, json!("Stop it")),
            calls("k", 70, "TaskStop", &json!({"task_id": "k1"})),
            result,
            text("a4", 72, "Stopped."),
            duration("d3", 73),
        ]);
        assert_eq!(
            statuses(&stopped),
            "busy, end completed, end completed, idle"
        );
    }
}

#[test]
fn a_command_of_the_program_is_over_with_what_it_printed() {
    let command = |uuid: &str| {
        let typed = "<command-name>/ide</command-name>\n<command-args>opus</command-args>";
        said("user", uuid, 5, json!(typed))
    };
    let printed = |text: &str| {
        json!(format!(
            "<local-command-stdout>{text}</local-command-stdout>"
        ))
    };
    let mut by_program = said("system", "o2", 5, Value::Null);
    by_program["subtype"] = json!("local_command");
    by_program["content"] = printed("");
    let set = [
        "turn user",
        "busy",
        "> /ide opus",
        "(Set)",
        "end completed",
        "idle",
    ];
    let lines = [command("u1"), said("user", "o1", 5, printed("Set"))];
    assert_eq!(told(&transcript(&lines)), set);
    let silent = [command("u1"), by_program];
    let of_silent: Vec<_> = set.into_iter().filter(|line| *line != "(Set)").collect();
    assert_eq!(told(&transcript(&silent)), of_silent);
    // The model answers a line for the shell, so that is not over.
    let shell = [
        said("user", "u1", 5, json!("<bash-input> ls</bash-input>")),
        said(
            "user",
            "o1",
            5,
            json!("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"),
        ),
        text("a1", 6, "One file."),
    ];
    let of_shell = [
        "turn user",
        "busy",
        "> ! ls",
        "(a)",
        "= One file.",
        "end completed",
        "idle",
    ];
    assert_eq!(told(&transcript(&shell)), of_shell);
}

#[test]
fn a_call_that_is_refused_before_it_runs_is_not_interrupted_and_what_nobody_answered_not_refused() {
    let ends = |result: &Value| {
        let lines = [
            said("user", "u1", 0, json!("Go")),
            calls("c", 1, "Bash", &json!({"command": "touch a"})),
            result.clone(),
        ];
        let mut told = told(&transcript(&lines));
        told.retain(|line| line.starts_with("c"));
        told
    };
    let stop = "The user doesn't want to proceed with this tool use. STOP what you are doing.";
    let mut result = gets("c", 2, stop, true);
    result["toolDenialKind"] = json!("user-rejected");
    assert_eq!(ends(&result), ["c: interrupted"]);
    result["toolDenialBeforeRun"] = json!(true);
    let by_user = format!("c:denied deny by user: {stop}");
    assert_eq!(ends(&result), ["c:denied asks", &by_user, "c: rejected"]);
    let mut result = gets(
        "c",
        2,
        "Tool permission request failed: Stream closed",
        true,
    );
    result["toolDenialKind"] = json!("permission-rule");
    result["toolDenialUnanswered"] = json!("stream-closed");
    result["permissionDecision"] =
        json!({"decision": "reject", "source": "config", "reasonType": "other"});
    assert_eq!(ends(&result), ["c: not_run"]);
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

/// Claude Code 2.1.197 and before; later ones say how it was (recording `claude-code-2.1.197/sigint-tool`).
#[test]
fn a_call_of_a_stream_about_which_nothing_was_asked_was_stopped_and_not_refused() {
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    let call = calls("t1", 0, "Bash", &json!({"command": "sleep 30"}));
    let ask = json!({"type": "control_request", "request_id": "q1", "request": {"subtype": "can_use_tool",
        "tool_name": "Bash", "input": {"command": "sleep 30"}, "tool_use_id": "t1"}});
    for (asked, code) in [(None, "interrupted"), (Some(ask), "rejected")] {
        let mut lines = vec![call.clone()];
        lines.extend(asked);
        lines.push(gets("t1", 1, refusal, true));
        let read = read_lines(Dialect::ClaudeStream, &lines);
        let found = read.events.iter().find_map(|event| match &event.payload {
            Payload::ToolResult(result) => result.error.clone()?.code,
            _ => None,
        });
        assert_eq!(found.as_deref(), Some(code));
    }
}

#[test]
fn a_session_rests_when_the_output_of_what_ran_on_was_fetched_and_nothing_waits_in_vain() {
    let statuses = |version: &str, launched: &Value, fetched: Option<&Value>| {
        let mut begun = gets("c", 2, "moved to the background", false);
        begun["toolUseResult"] = launched.clone();
        let mut lines = vec![
            said("user", "u1", 0, json!("Go")),
            calls("c", 1, "Bash", &json!({"command": "make"})),
            begun,
        ];
        if let Some(fetched) = fetched {
            let mut result = gets("f", 4, "done", false);
            result["toolUseResult"] = fetched.clone();
            lines.extend([calls("f", 3, "TaskOutput", &json!({})), result]);
        }
        lines.push(text("a1", 5, "Done."));
        let mut duration = said("system", "d1", 6, Value::Null);
        duration["subtype"] = json!("turn_duration");
        let mut later = said("system", "i1", 7, Value::Null);
        later["subtype"] = json!("informational");
        later["content"] = json!("later");
        lines.extend([duration, later]);
        for line in &mut lines {
            line["version"] = json!(version);
        }
        let mut told = told(&transcript(&lines));
        told.retain(|line| line == "idle" || line == "(later)");
        told.join(" ")
    };
    let command = json!({"stdout": "", "backgroundTaskId": "k1"});
    let task = |status: &str| json!({"retrieval_status": "success", "task": {"task_id": "k1", "status": status}});
    let shell = |status: &str| json!({"shellId": "k1", "status": status});
    let (rests, waits) = ("idle (later)", "(later) idle");
    let new = |fetched: Option<&Value>| statuses("2.1.330", &command, fetched);
    assert_eq!(new(None), waits);
    for fetched in [&task as &dyn Fn(&str) -> Value, &shell] {
        assert_eq!(new(Some(&fetched("running"))), waits);
        assert_eq!(new(Some(&fetched("completed"))), rests);
    }
    // Before, no end of a command is told.
    assert_eq!(statuses("1.0.98", &command, None), rests);
    let agent = json!({"status": "async_launched", "agentId": "k1"});
    assert_eq!(statuses("2.0.64", &agent, None), waits);
}

#[test]
fn a_turn_to_which_an_answer_is_due_was_cut_off_and_one_that_the_shell_answered_was_not() {
    let last = |lines: &[Value]| {
        let mut told = told(&transcript(lines));
        told.retain(|line| line.starts_with("end "));
        told.pop().unwrap()
    };
    let prompt = said("user", "u1", 0, json!("Go"));
    let call = calls("c", 1, "Bash", &json!({"command": "ls"}));
    let killed = [prompt, call, gets("c", 2, "a", false)];
    assert_eq!(last(&killed), "end interrupted");
    let answered = [&killed[..], &[text("a2", 3, "Done.")]].concat();
    assert_eq!(last(&answered), "end completed");
    let reminded = said(
        "user",
        "s1",
        4,
        json!("<system-reminder>Be kind</system-reminder>"),
    );
    assert_eq!(
        last(&[&answered[..], &[reminded]].concat()),
        "end completed"
    );
    let shell = said("user", "u1", 0, json!("<bash-input>ls</bash-input>"));
    let printed = said(
        "user",
        "o1",
        1,
        json!("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"),
    );
    assert_eq!(last(&[shell.clone(), cost_state()]), "end interrupted");
    for end in [vec![], vec![cost_state()]] {
        let lines = [&[shell.clone(), printed.clone()], &end[..]].concat();
        assert_eq!(last(&lines), "end completed");
    }
}
