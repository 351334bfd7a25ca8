//! What single lines of Claude Code mean beside the others: where a turn ends, what was queued, what ended behind a call.

use crate::support::{assert_sound, read_lines};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

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

/// The program that is left behind it says that the turn before was over.
#[test]
fn a_command_of_the_program_is_told_beside_the_turns() {
    let printed = |uuid: &str, at: u32| {
        said(
            "user",
            uuid,
            at,
            json!("<local-command-stdout>Set model</local-command-stdout>"),
        )
    };
    let command = |uuid: &str, at: u32, name: &str| {
        let text =
            format!("<command-name>{name}</command-name>\n<command-args>opus</command-args>");
        said("user", uuid, at, json!(text))
    };
    let events = transcript(&[
        said("user", "u1", 0, json!("one")),
        said(
            "assistant",
            "a1",
            10,
            json!([{"type": "text", "text": "first"}]),
        ),
        command("c1", 300, "/model"),
        printed("o1", 301),
        command("c2", 400, "/review"),
        said(
            "assistant",
            "a2",
            410,
            json!([{"type": "text", "text": "second"}]),
        ),
        command("c3", 500, "/model"),
        printed("o3", 501),
        json!({"type": "cost-state", "sessionId": "s1"}),
    ]);
    assert_eq!(ends(&events), [ms(10), ms(410)]);
    let outcomes = events.iter().filter_map(|event| match &event.payload {
        Payload::TurnEnd(end) => end.outcome.as_deref(),
        _ => None,
    });
    assert!(outcomes.eq(["completed", "completed"]));
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    assert!(told.eq(["/model opus", "Set model", "/model opus", "Set model"]));
}

#[test]
fn a_turn_ends_with_its_last_work_not_with_the_next_prompt() {
    let hook = json!({"type": "system", "subtype": "stop_hook_summary", "uuid": "h1", "sessionId": "s1", "timestamp": at(12)});
    let away = json!({"type": "system", "subtype": "away_summary", "content": "You were away", "uuid": "w1",
        "sessionId": "s1", "timestamp": at(300)});
    let command = "<command-name>/ide</command-name><command-args></command-args>";
    let mut caveat = said("user", "c1", 400, json!("Caveat"));
    caveat["isMeta"] = json!(true);
    let events = transcript(&[
        said("user", "u1", 0, json!("one")),
        said(
            "assistant",
            "a1",
            10,
            json!([{"type": "text", "text": "first"}]),
        ),
        hook,
        away,
        caveat,
        said("user", "u2", 400, json!(command)),
        said(
            "user",
            "o2",
            400,
            json!("<local-command-stdout>Connected</local-command-stdout>"),
        ),
        said("user", "u3", 900, json!("three")),
        said(
            "assistant",
            "a3",
            905,
            json!([{"type": "text", "text": "third"}]),
        ),
        json!({"type": "system", "subtype": "informational", "content": "late", "uuid": "i3", "sessionId": "s1", "timestamp": at(2000)}),
    ]);
    assert_eq!(ends(&events), [ms(12), ms(400), ms(905)]);
    let idle = events.iter().filter(
        |event| matches!(&event.payload, Payload::SessionStatus(status) if status.status == "idle"),
    );
    let idle: Vec<_> = idle.filter_map(|event| event.timestamp).collect();
    assert_eq!(idle, ends(&events), "it rests from then on");
}

#[test]
fn what_a_turn_takes_from_the_queue_is_told_once_and_before_its_answer() {
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]);
    let answer = json!([{"type": "text", "text": "None yet"}]);
    let attachment = json!({"type": "attachment", "uuid": "q1", "sessionId": "s1", "version": "2.1.197", "timestamp": at(4),
        "attachment": {"type": "queued_command", "prompt": "Any tests?"}});
    let date = json!({"type": "attachment", "uuid": "d1", "sessionId": "s1", "timestamp": at(0), "attachment": {"type": "date"}});
    let story = |between: &[Value]| {
        let mut lines = vec![
            said("user", "u1", 0, json!("Build it")),
            queue("enqueue", 2, Some("Any tests?")),
        ];
        lines.extend_from_slice(between);
        lines.push(said("assistant", "a2", 9, answer.clone()));
        words(&transcript(&lines))
    };
    // What it asked for before it was taken is written behind that.
    let called = said("assistant", "a1", 3, call);
    let done = said("user", "r1", 3, result);
    let told = ["Build it", "> Any tests?", "= None yet"];
    let remove = queue("remove", 4, None);
    let before = [remove.clone(), called.clone(), done.clone()];
    assert_eq!(story(&before), told, "before 2.1.101");
    let with = |line: &Value| {
        vec![
            date.clone(),
            called.clone(),
            done.clone(),
            line.clone(),
            attachment.clone(),
        ]
    };
    assert_eq!(story(&with(&remove)), told);
    let named = queue("remove", 4, Some("Any tests?"));
    assert_eq!(story(&with(&named)), told);
    let mut late = with(&remove);
    late.swap(3, 4);
    assert_eq!(story(&late), told, "the attachment first");
    // One that writes attachments wrote none: it was taken back.
    let withdrawn = ["Build it", "(withdrawn: Any tests?)", "= None yet"];
    assert_eq!(story(&[date.clone(), remove.clone()]), withdrawn);
    assert_eq!(story(&[queue("popAll", 4, None)]), withdrawn);
    assert_eq!(story(&[queue("popAll", 4, Some("Any tests?"))]), withdrawn);
    let mut absorbed = remove.clone();
    absorbed["reason"] = json!("absorbed_mid_turn");
    assert_eq!(story(&[date, absorbed]), told);
    // It waits for the turn's end and comes again.
    let next = [
        queue("dequeue", 5, None),
        said("user", "u2", 5, json!("Any tests?")),
    ];
    assert_eq!(story(&next), ["Build it", "Any tests?", "= None yet"]);
    // The file ends before the answer.
    let cut = [
        said("user", "u1", 0, json!("Build it")),
        queue("enqueue", 2, Some("Any tests?")),
        queue("remove", 4, None),
    ];
    assert_eq!(words(&transcript(&cut)), ["Build it", "> Any tests?"]);
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
fn the_tokens_of_a_turn_are_those_of_its_sub_agents_too() {
    let result = |uuid: &str, usage: u64, total: u64, since: Option<u64>| {
        let mut line = json!({"type": "result", "subtype": "success", "session_id": "s1", "uuid": uuid,
            "usage": {"input_tokens": usage, "output_tokens": 1}, "modelUsage": {"m": {"inputTokens": total, "outputTokens": 2}}});
        if let Some(since) = since {
            line["model_usage_since_last_result"] =
                json!({"m": {"inputTokens": since, "outputTokens": 2}});
        }
        line
    };
    let init =
        json!({"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/w", "uuid": "i2"});
    let tokens = |results: [Value; 2]| -> Vec<u64> {
        let [first, second] = results;
        let events = stream(&[first, init.clone(), second]);
        let ends = events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => end.usage.as_ref(),
            _ => None,
        });
        ends.map(|usage| usage.to_value()["inputTokens"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(
        tokens([result("e1", 100, 500, None), result("e2", 50, 900, None)]),
        [500, 400]
    );
    // A resumed session counts on; a result that was held back is told with the one before.
    assert_eq!(
        tokens([
            result("e1", 100, 9000, Some(500)),
            result("e2", 50, 9000, Some(0))
        ]),
        [500, 50]
    );
}

/// Two sub-agents work at the same time: a message of one goes on behind those of the other and of the main agent.
#[test]
fn the_tokens_of_each_message_are_told_once_however_agents_take_turns() {
    let answer = |uuid: &str, id: &str, tokens: u32, block: Value| {
        json!({"type": "assistant", "uuid": uuid, "sessionId": "s1", "timestamp": at(9), "message": {"id": id,
            "role": "assistant", "content": [block], "usage": {"input_tokens": tokens, "output_tokens": 1}}})
    };
    let text = || json!({"type": "text", "text": "…"});
    let task =
        |id: &str| json!({"type": "tool_use", "id": id, "name": "Task", "input": {"prompt": id}});
    let of_agent = |call: &str, line: Value| {
        json!({"type": "progress", "uuid": format!("p-{}", line["uuid"]), "sessionId": "s1", "timestamp": at(9),
            "parentToolUseID": call,
            "data": {"type": "agent_progress", "agentId": format!("a-{call}"), "message": line}})
    };
    let result = |uuid: &str, call: &str| {
        said(
            "user",
            uuid,
            20,
            json!([{"type": "tool_result", "tool_use_id": call, "content": "done"}]),
        )
    };
    let events = transcript(&[
        said("user", "u1", 0, json!("go")),
        answer("m1", "main1", 100, task("one")),
        of_agent("one", answer("o1", "of-one", 10, text())),
        answer("m2", "main1", 100, task("two")),
        of_agent("two", answer("t1", "of-two", 20, text())),
        of_agent("one", answer("o2", "of-one", 11, text())),
        of_agent("two", answer("t2", "of-two", 21, text())),
        of_agent("two", answer("t3", "of-two-b", 22, text())),
        result("r1", "one"),
        result("r2", "two"),
        answer("m3", "main2", 101, text()),
    ]);
    let response = |event: &ChatEvent| event.response_id.clone().unwrap();
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Usage(usage) => Some((response(event), usage.input_tokens)),
        _ => None,
    });
    let told: Vec<(String, u64)> = told.collect();
    assert_eq!(
        told,
        [
            ("of-two", 21),
            ("of-one", 11),
            ("of-two-b", 22),
            ("main1", 100),
            ("main2", 101),
        ]
        .map(|(response, tokens)| (response.to_owned(), tokens))
    );
    // They stand where the message stands.
    let place = |event: &ChatEvent| {
        let ChatEvent {
            turn_id,
            agent_id,
            parent_tool_call_id,
            ..
        } = event.clone();
        (response(event), turn_id, agent_id, parent_tool_call_id)
    };
    let of_texts: Vec<_> = events
        .iter()
        .filter(|event| {
            matches!(
                event.payload,
                Payload::AssistantDone(_) | Payload::ToolCall(_)
            )
        })
        .map(place)
        .collect();
    let mut of_usages = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::Usage(_)))
        .map(place);
    assert!(of_usages.all(|usage| of_texts.contains(&usage)));
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
fn a_compaction_says_what_it_left() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "session_id": "s1", "uuid": "b1",
        "compact_metadata": {"trigger": "auto", "pre_tokens": 168_000, "post_tokens": 24_000}});
    let streamed = stream(&[boundary]);
    let line = json!({"type": "system", "subtype": "compact_boundary", "sessionId": "s1", "uuid": "b1", "timestamp": at(1),
        "compactMetadata": {"trigger": "auto", "preTokens": 168_000, "postTokens": 24_000}});
    let written = transcript(&[said("user", "u1", 0, json!("Go")), line]);
    for events in [streamed, written] {
        let told = events.iter().find_map(|event| match &event.payload {
            Payload::Compaction(told) => Some((
                told.tokens_before,
                told.extra
                    .get("tokensAfter")
                    .map(|after| after.as_text().to_string()),
            )),
            _ => None,
        });
        assert_eq!(told, Some((Some(168_000), Some("24000".to_owned()))));
    }
}

#[test]
fn a_compaction_that_a_person_asked_for_is_told_behind_their_words() {
    let command = "<command-name>/compact</command-name><command-message>compact</command-message><command-args>be short</command-args>";
    let boundary = |trigger: &str| {
        json!({"type": "system", "subtype": "compact_boundary", "sessionId": "s1", "uuid": "b1", "timestamp": at(5),
            "compactMetadata": {"trigger": trigger, "preTokens": 1_240}})
    };
    let summary = |mut line: Value| {
        line["isCompactSummary"] = json!(true);
        line
    };
    let mut caveat = said(
        "user",
        "c1",
        3,
        json!("<local-command-caveat>Not a request.</local-command-caveat>"),
    );
    caveat["isMeta"] = json!(true);
    let places = |lines: &[Value]| -> Vec<(String, Option<String>, Option<i64>)> {
        let events = transcript(lines);
        let told = events.iter().filter_map(|event| match &event.payload {
            Payload::UserMessage(said) => Some((event, said.text.preview().to_string())),
            Payload::Compaction(told) => Some((event, told.summary.clone().unwrap_or_default())),
            _ => None,
        });
        told.map(|(event, what)| (what, event.turn_id.clone(), event.timestamp))
            .collect()
    };
    let before = [
        said("user", "u1", 0, json!("Go")),
        said(
            "assistant",
            "a1",
            1,
            json!([{"type": "text", "text": "Done."}]),
        ),
    ];
    let asked = [
        boundary("manual"),
        summary(said("user", "k1", 5, json!("In short"))),
        queue("dequeue", 5, None),
        caveat,
        said("user", "u2", 3, json!(command)),
        said(
            "user",
            "o2",
            6,
            json!("<local-command-stdout>Compacted</local-command-stdout>"),
        ),
    ];
    let found = places(&[&before[..], &asked].concat());
    let turn = |id: &str| Some(id.to_owned());
    assert_eq!(
        found,
        [
            ("Go".to_owned(), turn("u1"), Some(ms(0))),
            ("/compact be short".to_owned(), turn("u2"), Some(ms(3))),
            ("In short".to_owned(), turn("u2"), Some(ms(5))),
        ]
    );
    // The program's own stands where it came; so does one whose command is not written.
    for (trigger, next) in [
        ("auto", said("user", "u2", 6, json!(command))),
        ("manual", said("user", "u2", 6, json!("And now?"))),
    ] {
        let lines = [&before[..], &[boundary(trigger), next]].concat();
        assert_eq!(places(&lines)[1], (String::new(), turn("u1"), Some(ms(5))));
    }
}

/// A file that is handed to a pipe arrives now, and ended long ago; what runs now ends now.
#[test]
fn a_recorded_run_ends_when_it_last_said_something() {
    let rollout = |seconds| {
        [
            json!({"timestamp": at(seconds), "type": "session_meta", "payload": {"id": "0199a213-81c0-7800-8aa1-bbab2a035a53", "cwd": "/w"}}),
            json!({"timestamp": at(seconds), "type": "event_msg", "payload": {"type": "user_message", "message": "Go"}}),
            json!({"timestamp": at(seconds), "type": "event_msg", "payload": {"type": "agent_message", "message": "Done"}}),
        ]
    };
    for (seconds, ended) in [(0, ms(0)), (9_990, ms(10_010))] {
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::CodexRollout);
        let mut events = Vec::new();
        for line in rollout(seconds) {
            let line = format!("{line}\n");
            reader
                .push(line.as_bytes(), ms(10_000), &mut events)
                .unwrap();
        }
        reader.finish(ms(10_010), &mut events).unwrap();
        assert_eq!(ends(&events), [ended]);
    }
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
        caveat("c4", "Read it again."),
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

#[test]
fn who_compacts_outside_of_any_turn_rests_at_the_end() {
    let line = |uuid: &str, mut line: Value| {
        line["uuid"] = json!(uuid);
        line["session_id"] = json!("s1");
        line
    };
    let lines = [
        line(
            "u1",
            json!({"type": "system", "subtype": "init", "cwd": "/w"}),
        ),
        line(
            "u2",
            json!({"type": "result", "subtype": "success", "is_error": false}),
        ),
        line(
            "u3",
            json!({"type": "system", "subtype": "status", "status": "compacting"}),
        ),
    ];
    let events = read_lines(Dialect::ClaudeStream, &lines).events;
    let told = |event: &ChatEvent| match &event.payload {
        Payload::SessionStatus(told) => Some(told.status.clone()),
        _ => None,
    };
    let told: Vec<String> = events.iter().filter_map(told).collect();
    assert_eq!(told, ["busy", "idle", "busy", "idle"]);
}
