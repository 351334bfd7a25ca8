//! What the dialects of Cline hold, over small cases; whole sessions are read by the project's tests.

mod changes;
mod hostile;

use crate::support::{assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{AT_REST, Context, Detection, Dialect, SessionReader, detect};
use serde_json::{Value, json};

const BEGAN_MS: i64 = 1_796_032_800_000;

/// A message of a task, so long after its first one.
fn message(form: &str, kind: &str, at_ms: i64, text: &str) -> Value {
    json!({"ts": BEGAN_MS + at_ms, "type": form, form: kind, "text": text})
}

fn say(kind: &str, at_ms: i64, text: &str) -> Value {
    message("say", kind, at_ms, text)
}

fn ask(kind: &str, at_ms: i64, text: &str) -> Value {
    message("ask", kind, at_ms, text)
}

fn with(mut message: Value, name: &str, value: Value) -> Value {
    message[name] = value;
    message
}

/// As Cline marks its messages.
fn clines(message: Value) -> Value {
    with(message, "conversationHistoryIndex", json!(1))
}

fn request(at_ms: i64, told: Value) -> Value {
    say("api_req_started", at_ms, &told.to_string())
}

fn task(messages: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::ClineTask, messages);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    assert_sound("cline", &read.events);
    read.events
}

fn facts(events: &[ChatEvent]) -> Value {
    let mut facts = json!({});
    for event in events {
        if let Payload::SessionStart(start) = &event.payload {
            let told = serde_json::to_value(start).unwrap();
            for (name, value) in told.as_object().unwrap() {
                facts[name] = value.clone();
            }
        }
    }
    facts
}

#[test]
fn a_task_of_clines_is_told_with_what_its_requests_quote() {
    let quoted = "[read_file for 'a.txt'] Result:\n1\n\n[write_to_file for 'b.txt'] Result:\nThe content was successfully saved to b.txt.\n\n\
        [execute_command for 'false'] Result:\nCommand executed.\nExit code: 3\nOutput:\nno\n\n\n# task_progress RECOMMENDED\n\nKeep it.\
        \n\n<environment_details>\n# Current Working Directory (/w) Files\na.txt\n</environment_details>";
    let messages = [
        clines(say("task", 0, "Go")),
        request(
            1,
            json!({"request": "<task>\nGo\n</task>", "tokensIn": 4, "tokensOut": 5, "cacheReads": 6, "cost": 0.5}),
        ),
        say("reasoning", 2, "Hm."),
        say("text", 3, "I look."),
        // Some versions say a text twice.
        say("text", 4, "I look."),
        say(
            "tool",
            5,
            r#"{"tool":"readFile","path":"a.txt","content":"/w/a.txt"}"#,
        ),
        say("task_progress", 6, "- [x] Look\n- [ ] Mend"),
        say("task_progress", 7, "- [x] Look\n- [ ] Mend"),
        say(
            "tool",
            8,
            r#"{"tool":"newFileCreated","path":"b.txt","content":"x\n"}"#,
        ),
        say("command", 9, "false"),
        ask("command_output", 10, "no"),
        request(
            11,
            json!({"request": quoted, "tokensIn": 0, "tokensOut": 0}),
        ),
        say("completion_result", 12, "Done.HAS_CHANGES"),
        ask("completion_result", 13, ""),
        say("user_feedback", 14, "More"),
    ];
    let text = Value::from(messages.to_vec()).to_string();
    let found = detect(text.as_bytes(), true);
    assert_eq!(found, Detection::Found(Dialect::ClineTask));
    let events = task(&messages);
    let wanted = [
        "turn user",
        "user Go",
        "thinking Hm.",
        "done I look.",
        &format!("call c{} readFile", BEGAN_MS + 5),
        "plan 2",
        &format!("call c{} newFileCreated", BEGAN_MS + 8),
        &format!("call c{} execute_command", BEGAN_MS + 9),
        "usage response 4/5",
        &format!("result c{} 1", BEGAN_MS + 5),
        &format!(
            "result c{} The content was successfully saved to b.txt.",
            BEGAN_MS + 8
        ),
        "edit created b.txt +1 -0",
        &format!("failed c{} exit_code", BEGAN_MS + 9),
        "done Done.",
        "end completed",
        "turn user",
        "user More",
        "end interrupted",
    ];
    assert_eq!(told(&events), wanted);
    let facts = facts(&events);
    assert_eq!(facts["agent"], "Cline");
    assert_eq!(facts["cwd"], "/w");
    assert_eq!(facts["nativeId"], BEGAN_MS.to_string());
    let output: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some((result.exit_code, result.summary.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(output[2].0, Some(3));
}

/// What was asked and answered of one call that a person is asked for, and whether its file was changed.
fn leave(messages: &[Value]) -> Vec<String> {
    let edit = r#"{"tool":"appliedDiff","path":"a","diff":"<<<<<<< SEARCH\n:start_line:1\n-------\n1\n=======\n2\n>>>>>>> REPLACE"}"#;
    let mut all = vec![say("text", 0, "Go"), ask("tool", 1, edit)];
    all.extend_from_slice(messages);
    let keeps = |line: &String| {
        let kinds = ["asked", "answered", "failed", "edit", "result"];
        kinds.iter().any(|kind| line.starts_with(kind))
    };
    told(&task(&all)).into_iter().filter(keeps).collect()
}

#[test]
fn leave_is_told_where_it_shows_that_a_person_was_asked() {
    let call = format!("c{}", BEGAN_MS + 1);
    let asked = format!("asked {call}.leave");
    let next = |told: Value| request(3, told);
    let done = vec![
        format!("result {call} "),
        "edit modified a +1 -1".to_owned(),
    ];
    // Roo Code asks for each call, and answers itself what is allowed.
    assert_eq!(leave(&[next(json!({"apiProtocol": "openai"}))]), done);
    let refused = [
        asked.clone(),
        "answered deny".to_owned(),
        format!("failed {call} rejected"),
    ];
    let words = say("user_feedback", 2, "No");
    assert_eq!(leave(&[words.clone(), next(json!({}))]), refused);
    let quoted = "[apply_diff for 'a'] Result:\nThe user denied this operation.";
    assert_eq!(leave(&[next(json!({"request": quoted}))]), refused);
    let quoted = "[apply_diff for 'a'] Result:\n{\"status\":\"denied\",\"feedback\":\"No\"}";
    assert_eq!(
        leave(&[words.clone(), next(json!({"request": quoted}))]),
        refused
    );
    // With words that came with the leave.
    let quoted = "[apply_diff for 'a'] Result:\nsaved";
    let allowed = [
        asked.clone(),
        "answered allow".to_owned(),
        format!("result {call} saved"),
        "edit modified a +1 -1".to_owned(),
    ];
    assert_eq!(leave(&[words, next(json!({"request": quoted}))]), allowed);
    // Nobody answered yet.
    let open = [
        asked,
        "answered cancel".to_owned(),
        format!("failed {call} interrupted"),
    ];
    assert_eq!(leave(&[]), open);
    let failed = [format!("failed {call} error")];
    assert_eq!(
        leave(&[say("diff_error", 2, "no match"), next(json!({}))]),
        failed
    );
}

#[test]
fn an_answered_call_was_allowed_whatever_was_said_with_it() {
    let edit = r#"{"tool":"editedExistingFile","path":"a","content":"@@ -1 +1 @@\n-1\n+2\n"}"#;
    let messages = [
        say("text", 0, "Go"),
        with(ask("tool", 1, edit), "isAnswered", json!(true)),
        say("user_feedback", 2, "Fine"),
        request(
            3,
            json!({"apiProtocol": "anthropic", "tokensIn": 10, "tokensOut": 2, "cacheReads": 6, "cacheWrites": 3}),
        ),
        say("completion_result", 4, "Done."),
    ];
    let events = told(&task(&messages));
    assert!(
        events.contains(&"edit modified a +1 -1".to_owned()),
        "{events:?}"
    );
    assert!(events.contains(&"answered allow".to_owned()), "{events:?}");
    // What came from the cache and went into it is counted there, too.
    assert!(
        events.contains(&"usage response 1/2".to_owned()),
        "{events:?}"
    );
    assert_eq!(events.last().unwrap(), "end completed");
}

#[test]
fn cline_asks_at_once_and_output_shows_that_it_was_allowed() {
    let messages = [
        clines(say("task", 0, "Go")),
        ask("command", 1, "lsREQ_APP"),
        ask("command_output", 2, "a"),
        say("text", 3, "So."),
    ];
    let call = format!("c{}", BEGAN_MS + 1);
    let events = task(&messages);
    let wanted = [
        "turn user".to_owned(),
        "user Go".to_owned(),
        format!("call {call} execute_command"),
        format!("asked {call}.leave"),
        "answered allow".to_owned(),
        "done So.".to_owned(),
        // What the agent says behind a call shows that it is done.
        format!("result {call} a\n"),
        "end interrupted".to_owned(),
    ];
    assert_eq!(told(&events), wanted);
    let args = events.iter().find_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some(call.args.to_value()),
        _ => None,
    });
    assert_eq!(args, Some(json!({"command": "ls"})));
}

#[test]
fn a_question_has_its_answer_once() {
    let asked = r#"{"question":"Which?","suggest":[{"answer":"A","mode":"code"},"B"]}"#;
    let chosen = r#"{"question":"Which?","options":["A","B"],"selected":"B"}"#;
    for (messages, answer) in [
        (
            vec![ask("followup", 1, asked), say("user_feedback", 2, "A")],
            "A",
        ),
        (vec![ask("followup", 1, chosen)], "B"),
        (
            vec![ask("followup", 1, "Which?"), say("user_feedback", 2, "C")],
            "C",
        ),
    ] {
        let mut all = vec![say("text", 0, "Go")];
        all.extend(messages);
        let events = task(&all);
        let question = events.iter().find_map(|event| match &event.payload {
            Payload::QuestionRequest(request) => Some(request.questions[0].text.clone()),
            _ => None,
        });
        assert_eq!(question.as_deref(), Some("Which?"));
        let answers: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::QuestionResolved(told) => {
                    Some((told.answers.clone()?.to_value(), told.outcome.clone()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(answers, [(json!([answer]), "answered".to_owned())]);
        let n_users = told(&events)
            .iter()
            .filter(|line| line.starts_with("user"))
            .count();
        assert_eq!(n_users, 1, "the answer is no message of its own");
    }
}

#[test]
fn what_grows_is_told_in_pieces_and_stands_once() {
    let grows = |message: Value| with(message, "partial", json!(true));
    let tool = r#"{"tool":"searchFiles","path":"src","regex":"x","content":""}"#;
    let found = r#"{"tool":"searchFiles","path":"src","regex":"x","content":"Found 1 result."}"#;
    let messages = [
        json!({"type": "task_started", "taskId": "1796032799000"}),
        clines(say("task", 0, "Go")),
        request(1, json!({"request": "Go"})),
        grows(say("text", 2, "I")),
        grows(say("text", 2, "I look")),
        say("text", 2, "I look."),
        grows(say("tool", 3, tool)),
        say("tool", 3, found),
        request(1, json!({"tokensIn": 7, "tokensOut": 8})),
        grows(say("text", 4, "")),
        grows(say("reasoning", 5, "Cut o")),
        ask("resume_task", 6, ""),
    ];
    let read = read_lines(Dialect::ClineTask, &messages);
    assert_sound("cline", &read.events);
    assert_eq!(read.events[0].session_id, "1796032799000");
    let call = format!("c{}", BEGAN_MS + 3);
    let wanted = [
        "turn user".to_owned(),
        "user Go".to_owned(),
        "chunk I".to_owned(),
        "chunk  look".to_owned(),
        "done I look.".to_owned(),
        format!("call {call} searchFiles"),
        "thinking chunk Cut o".to_owned(),
        "thinking Cut o".to_owned(),
        "usage response 7/8".to_owned(),
        format!("result {call} Found 1 result."),
        "end interrupted".to_owned(),
    ];
    assert_eq!(told(&read.events), wanted);
}

#[test]
fn errors_retries_and_stops_are_told() {
    let messages = [
        say("text", 0, "Go"),
        request(1, json!({"request": "Go"})),
        say(
            "error_retry",
            2,
            r#"{"attempt":1,"maxAttempts":3,"errorMessage":"terminated"}"#,
        ),
        say("api_req_retried", 3, ""),
        say(
            "error_retry",
            4,
            r#"{"attempt":3,"maxAttempts":3,"failed":true}"#,
        ),
        ask(
            "api_req_failed",
            5,
            r#"{"message":"Bad Request","status":400}"#,
        ),
        ask("resume_task", 6, ""),
        say("user_feedback", 7, "Again"),
        request(
            8,
            json!({"cancelReason": "streaming_failed", "streamingFailedMessage": "reset"}),
        ),
        ask("resume_task", 9, ""),
        request(
            10,
            json!({"cancelReason": "user_cancelled", "tokensIn": 1, "tokensOut": 1}),
        ),
        say("text", 11, "So"),
        ask("resume_task", 12, ""),
        say("error", 13, "no such file"),
    ];
    let events = task(&messages);
    let wanted = [
        "turn user",
        "user Go",
        "error api_req_failed Bad Request",
        "end failed",
        "turn user",
        "user Again",
        "error streaming_failed reset",
        "end failed",
        "turn system",
        "done So",
        "usage response 1/1",
        "interrupt cancelled by the user",
        "end interrupted",
        "notice no such file",
    ];
    assert_eq!(told(&events), wanted);
    let statuses: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::SessionStatus(status) => status.message.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, ["attempt 1 of 3: terminated"]);
}

#[test]
fn servers_browsers_agents_and_compactions_are_told() {
    let server =
        r#"{"type":"use_mcp_tool","serverName":"s","toolName":"t","arguments":"{\"a\":1}"}"#;
    let condensed = json!({"cost": 0.25, "prevContextTokens": 900, "newContextTokens": 90, "summary": "So far."});
    let messages = [
        say("text", 0, "Go"),
        say("use_mcp_server", 1, server),
        say("mcp_server_request_started", 2, ""),
        say("mcp_server_response", 3, "Error:\nno"),
        say("browser_action_launch", 4, "http://a"),
        say(
            "browser_action_result",
            5,
            r#"{"screenshot":"data:image/png;base64,AA==","currentUrl":"http://a/"}"#,
        ),
        say("use_subagents", 6, r#"{"prompts":["Look"]}"#),
        say(
            "subagent",
            7,
            r#"{"status":"completed","items":[{"result":"Seen."}]}"#,
        ),
        ask(
            "tool",
            8,
            r#"{"tool":"updateTodoList","todos":[{"content":"A","status":"completed"}]}"#,
        ),
        request(9, json!({"apiProtocol": "openai"})),
        with(
            say("condense_context", 10, ""),
            "contextCondense",
            condensed,
        ),
        say("hook_status", 11, "{}"),
        say("user_feedback_diff", 12, r#"{"path":"a","diff":"-1\n+2"}"#),
    ];
    let events = task(&messages);
    let call = |at_ms: i64| format!("c{}", BEGAN_MS + at_ms);
    let wanted = [
        "turn user".to_owned(),
        "user Go".to_owned(),
        format!("call {} mcp__s__t", call(1)),
        format!("call {} browser_action", call(4)),
        format!("call {} use_subagents", call(6)),
        format!("call {} updateTodoList", call(8)),
        "plan 1".to_owned(),
        format!("failed {} error", call(1)),
        format!("result {} http://a/", call(4)),
        format!("result {} Seen.", call(6)),
        format!("result {} ", call(8)),
        "compaction auto".to_owned(),
        "usage response 0/0".to_owned(),
        "notice The user changed a before it was saved:\n-1\n+2".to_owned(),
        "end interrupted".to_owned(),
    ];
    assert_eq!(told(&events), wanted);
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolCall(call) => call.kind.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["other", "fetch", "agent", "plan"]);
}

#[test]
fn the_file_gives_the_same_ids_when_it_has_grown() {
    let messages: Vec<Value> = (0..40)
        .map(|n| match n {
            0 => say("text", 0, "Go"),
            n if n % 4 == 1 => request(n, json!({"tokensIn": n, "tokensOut": 1})),
            n if n % 4 == 2 => say("tool", n, r#"{"tool":"readFile","path":"a"}"#),
            n => say("text", n, &format!("Text {n}")),
        })
        .collect();
    let read = |n: usize| -> Vec<ChatEvent> {
        let text = Value::from(messages[..n].to_vec()).to_string();
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        reader.push(text.as_bytes(), AT_REST, &mut events).unwrap();
        reader.finish(AT_REST, &mut events).unwrap();
        events
    };
    let whole = read(40);
    for n in [3, 17, 39] {
        let part = read(n);
        let same = part
            .iter()
            .zip(&whole)
            .take_while(|(part, whole)| part == whole);
        // What is closed at the end stands there only.
        assert!(same.count() + 6 > part.len(), "{n}");
    }
}
