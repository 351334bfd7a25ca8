//! What Codex' normalizers hold on small inputs and between sources of one session.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{read, read_lines, sources, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::json;

fn read_asked(prompt: &str, bytes: &[u8]) -> Vec<ChatEvent> {
    let context = Context {
        prompt: Some(prompt.to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::CodexExec);
    let mut events = Vec::new();
    reader.push(bytes, 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    events
}

fn ids(events: &[ChatEvent]) -> BTreeSet<&str> {
    // The session is said to begin by each run, in the same words.
    let said = events
        .iter()
        .filter(|event| event.event_type() != "session_start");
    said.map(|event| event.id.as_str()).collect()
}

/// `codex exec resume` goes on with a thread in a file of its own, and counts its items from 0 again.
#[test]
fn runs_that_go_on_with_a_thread_keep_their_ids_apart() {
    let runs = sources("recordings/codex", |name| {
        name.starts_with("resume") && name.ends_with(".exec.jsonl")
    });
    for (at, one) in runs.iter().enumerate() {
        let of_one = read(&one.bytes).events;
        assert_eq!(of_one, read(&one.bytes).events);
        for other in &runs[at + 1..] {
            let of_other = read(&other.bytes).events;
            assert_eq!(of_one[0].session_id, of_other[0].session_id);
            let both = ids(&of_one).intersection(&ids(&of_other)).count();
            assert_eq!(both, 0, "{} and {}", one.name, other.name);
        }
    }
    // One after the other in one file they say the same.
    let glued: Vec<u8> = runs.iter().flat_map(|run| run.bytes.clone()).collect();
    let apart: Vec<String> = runs
        .iter()
        .flat_map(|run| told(&read(&run.bytes).events))
        .collect();
    assert_eq!(told(&read(&glued).events), apart);
}

#[test]
fn what_was_asked_tells_runs_apart_and_lets_the_turn_begin_at_once() {
    let lines = |text: &str| {
        [
            json!({"type": "thread.started", "thread_id": "t"}),
            json!({"type": "turn.started"}),
            json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ]
        .map(|line| format!("{line}\n"))
        .concat()
        .into_bytes()
    };
    let begun = b"{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
    let context = Context {
        prompt: Some("Go".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::CodexExec);
    let mut events = Vec::new();
    reader.push(begun, 0, &mut events).unwrap();
    assert_eq!(told(&events), ["turn user", "user Go"]);

    let (one, other) = (
        read_asked("One", &lines("Done.")),
        read_asked("Two", &lines("Done.")),
    );
    assert_eq!(ids(&one).intersection(&ids(&other)).count(), 0);
    // Asked the same, they are one turn, but nothing that was said is lost.
    let (one, other) = (
        read_asked("Go on", &lines("A.")),
        read_asked("Go on", &lines("B.")),
    );
    let answers = |events: &[ChatEvent]| -> Vec<String> {
        let done = events
            .iter()
            .filter(|event| matches!(event.payload, Payload::AssistantDone(_)));
        done.map(|event| event.id.clone()).collect()
    };
    assert_ne!(answers(&one), answers(&other));
}

/// Two runs may say the same, word for word. Who reads them while they run tells them apart.
#[test]
fn runs_that_say_the_same_are_told_apart_by_who_reads_them() {
    let lines = [
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "A."}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
    ]
    .map(|line| format!("{line}\n"))
    .concat();
    let read = |run: Option<&str>, prompt: Option<&str>| {
        let context = Context {
            run: run.map(str::to_owned),
            prompt: prompt.map(str::to_owned),
            ..Context::default()
        };
        let mut reader = SessionReader::with_dialect(context, Dialect::CodexExec);
        let mut events = Vec::new();
        reader.push(lines.as_bytes(), 0, &mut events).unwrap();
        reader.finish(0, &mut events).unwrap();
        events
    };
    let all = |events: &[ChatEvent]| -> BTreeSet<String> {
        events.iter().map(|event| event.id.clone()).collect()
    };
    for prompt in [None, Some("Go")] {
        let (one, other) = (read(Some("1"), prompt), read(Some("2"), prompt));
        assert!(all(&one).is_disjoint(&all(&other)));
        assert_eq!(read(Some("1"), prompt), one);
        assert_eq!(told(&one), told(&other));
        assert_eq!(read(None, prompt), read(None, prompt));
        assert_eq!(one.last().unwrap().event_type(), "session_end");
    }
    // A file is the same for whoever reads it again while it grows.
    let file =
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"t"}}"#;
    let ids = ["1", "2"].map(|run| {
        let context = Context {
            run: Some(run.to_owned()),
            ..Context::default()
        };
        let mut reader = SessionReader::with_dialect(context, Dialect::CodexRollout);
        let mut events = Vec::new();
        reader.push(file.as_bytes(), 0, &mut events).unwrap();
        reader.finish(0, &mut events).unwrap();
        all(&events)
    });
    assert_eq!(ids[0], ids[1]);
}

/// `turn.completed` tells the sum of the thread.
#[test]
fn a_turn_used_what_the_thread_used_since_the_one_before() {
    // Made at 1,759,000,000,000 ms.
    let thread = "01998cb5-5e00-7532-b60a-a52c82ab0f22";
    let lines = [
        json!({"type": "thread.started", "thread_id": thread}),
        json!({"type": "turn.started"}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 1}}),
        json!({"type": "turn.started"}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 32, "cached_input_tokens": 4, "cache_write_input_tokens": 2, "output_tokens": 3}}),
    ]
    .map(|line| format!("{line}\n"))
    .concat();
    let used = |arrival_ms: i64| -> Vec<Option<(u64, u64, u64)>> {
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        reader
            .push(lines.as_bytes(), arrival_ms, &mut events)
            .unwrap();
        reader.finish(arrival_ms, &mut events).unwrap();
        let ends = events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => Some(end.usage.as_ref()),
            _ => None,
        });
        let count = |usage: &chat_event::Json, key: &str| {
            usage
                .get(key)
                .and_then(|count| count.parse::<u64>())
                .unwrap()
        };
        ends.map(|usage| {
            let keys = ["inputTokens", "cacheReadTokens", "outputTokens"];
            usage.map(|usage| keys.map(|key| count(usage, key)).into())
        })
        .collect()
    };
    let made_ms = 0x0199_8cb5_5e00;
    assert_eq!(used(made_ms + 400), [Some((6, 4, 1)), Some((20, 0, 2))]);
    // Whether the thread had turns before is not known.
    assert_eq!(used(made_ms + 60_000), [None, Some((20, 0, 2))]);
}

#[test]
fn a_turn_without_a_prompt_is_told_whatever_comes_first() {
    let started = json!({"type": "turn.started"});
    let thread = json!({"type": "thread.started", "thread_id": "t"});
    let error = json!({"type": "error", "message": "Reconnecting... 1/5"});
    let warning = json!({"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "old"}});
    let failed = json!({"type": "turn.failed", "error": {"message": "no"}});
    let of = |lines: &[&serde_json::Value]| {
        let lines: Vec<serde_json::Value> = lines.iter().map(|line| (*line).clone()).collect();
        let events = read_lines(Dialect::CodexExec, &lines).events;
        crate::support::assert_sound("codex-exec", &events);
        told(&events)
    };
    assert_eq!(of(&[&thread, &started]), ["turn user", "end interrupted"]);
    assert_eq!(
        of(&[&thread, &started, &error, &failed]),
        ["turn user", "error turn_failed no", "end failed"]
    );
    assert_eq!(
        of(&[&thread, &started, &warning, &failed]),
        [
            "notice old",
            "turn user",
            "error turn_failed no",
            "end failed"
        ]
    );
    assert_eq!(
        of(&[&thread, &started, &thread, &started, &failed]),
        ["turn user", "error turn_failed no", "end failed"]
    );
}

fn rollout(items: &[serde_json::Value]) -> Vec<String> {
    let line = |kind: &str, payload: &serde_json::Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
    let mut lines = vec![line(
        "session_meta",
        &json!({"id": "01998cb5-5e00-7532-b60a-a52c82ab0f22", "cwd": "/w", "cli_version": "0.169.0"}),
    )];
    for item in items {
        let kind = match item["type"].as_str() {
            Some("item_completed" | "task_started" | "task_complete") => "event_msg",
            _ => "response_item",
        };
        lines.push(line(kind, item));
    }
    let events = read_lines(Dialect::CodexRollout, &lines).events;
    crate::support::assert_sound("codex-rollout", &events);
    let kinds = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => {
            let (kind, args) = (call.kind.clone().unwrap_or_default(), call.args.as_text());
            Some(format!("{kind} {} {args}", call.tool_name))
        }
        _ => None,
    });
    let kinds: Vec<String> = kinds.collect();
    let mut told = told(&events);
    told.retain(|line| !line.starts_with("turn") && !line.starts_with("call"));
    [kinds, told].concat()
}

fn item(item: serde_json::Value) -> serde_json::Value {
    json!({"type": "item_completed", "turn_id": "turn-long-1", "item": item})
}

fn function(name: &str, call: &str, args: &serde_json::Value) -> serde_json::Value {
    json!({"type": "function_call", "name": name, "call_id": call, "arguments": args.to_string()})
}

fn output(call: &str, text: &str) -> serde_json::Value {
    json!({"type": "function_call_output", "call_id": call, "output": text})
}

/// Who waits for an agent or closes it is none, and what they say is words.
#[test]
fn an_agent_is_who_was_started_and_is_called_by_its_name() {
    let states = json!({"t2": {"completed": "3 words."}});
    let agents = json!([{"thread_id": "t2", "agent_nickname": "Lorentz"}]);
    let collab = |id: &str, tool: &str, states: &serde_json::Value| {
        item(
            json!({"type": "CollabAgentToolCall", "id": id, "tool": tool, "status": "completed",
            "receiver_thread_ids": ["t2"], "receiver_agents": agents, "agents_states": states}),
        )
    };
    assert_eq!(
        rollout(&[
            json!({"type": "task_started", "turn_id": "turn-long-1"}),
            function("spawn_agent", "a", &json!({"message": "Count"})),
            collab("a", "spawn_agent", &json!({"t2": "pending_init"})),
            output("a", "{\"agent_id\":\"t2\"}"),
            function("wait_agent", "b", &json!({"targets": ["t2"]})),
            collab("b", "wait", &states),
            function("close_agent", "c", &json!({"target": "t2"})),
            output("c", "{\"previous_status\":{\"completed\":\"3 words.\"}}"),
            function(
                "spawn_agent",
                "d",
                &json!({"message": "Sort", "task_name": "sort"})
            ),
            output("d", "{\"task_name\":\"/root/sort\"}"),
        ]),
        [
            r#"agent spawn_agent {"message":"Count","agent":"Lorentz"}"#,
            r#"other wait_agent {"targets":["t2"]}"#,
            r#"other close_agent {"target":"t2"}"#,
            r#"agent spawn_agent {"message":"Sort","task_name":"sort","agent":"sort"}"#,
            "result a started Lorentz",
            "result b 3 words.",
            "result c 3 words.",
            "result d started sort",
            "end interrupted",
        ]
    );
}

/// What a helper is asked, does and answers is told of one agent, by its own name.
#[test]
fn a_helper_is_one_agent_whatever_its_lines_call_it() {
    let of_item = |thread: &str, method: &str, item: serde_json::Value| json!({"method": method, "params": {"threadId": thread, "turnId": format!("turn-of-{thread}"), "item": item}});
    let begins = |thread: &str| {
        json!({"method": "turn/started", "params": {"threadId": thread,
            "turn": {"id": format!("turn-of-{thread}"), "status": "inProgress", "items": []}}})
    };
    let states = json!({"helper-1": {"status": "completed", "message": "Sorted."}});
    let lines = [
        json!({"method": "thread/started", "params": {"thread": {"id": "main-1", "cwd": "/repo"}}}),
        begins("main-1"),
        of_item(
            "main-1",
            "item/completed",
            json!({"type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": "helper-1", "agentPath": "/root/sort"}),
        ),
        begins("helper-1"),
        of_item(
            "helper-1",
            "item/completed",
            json!({"type": "agentMessage", "id": "m", "text": "I sort."}),
        ),
        of_item(
            "main-1",
            "item/completed",
            json!({"type": "collabAgentToolCall", "id": "w", "tool": "wait", "status": "completed",
                "receiverThreadIds": ["helper-1"], "agentsStates": states}),
        ),
    ];
    let events = read_lines(Dialect::CodexAppServer, &lines).events;
    crate::support::assert_sound("codex-app-server", &events);
    let mut agents = Vec::new();
    for event in &events {
        agents.extend(event.agent_id.clone());
        match &event.payload {
            Payload::ToolCall(call) if call.tool_name == "spawn_agent" => {
                agents.extend(call.title.clone());
            }
            Payload::AgentCallback(told) => agents.push(told.from_agent_id.clone()),
            _ => {}
        }
    }
    assert_eq!(agents, ["sort"; 3]);
}

/// The line of a patch says what it changed, and a helper's task is what it was told.
#[test]
fn what_was_changed_is_told_in_lines_and_a_task_without_its_head() {
    let patch = |call: &str, text: &str| {
        let text = format!("*** Begin Patch\n{text}*** End Patch\n");
        json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": call, "input": text})
    };
    let given = |call: &str| {
        let text = json!({"output": "Success.\n", "metadata": {"exit_code": 0}}).to_string();
        json!({"type": "custom_tool_call_output", "call_id": call, "output": text})
    };
    let task = "Message Type: NEW_TASK\nTask name: /root/sort\nSender: /root\nPayload:\n";
    let told = format!("{task}Sort them");
    let items = [
        json!({"type": "agent_message", "id": "n", "author": "/root", "recipient": "/root/sort",
            "content": [{"type": "input_text", "text": told}]}),
        json!({"type": "agent_message", "id": "m", "author": "/root", "recipient": "/root/sort", "content": [
            {"type": "input_text", "text": task}, {"type": "encrypted_content", "encrypted_content": "gAAAA"}]}),
        patch("a", "*** Update File: a.txt\n@@\n-one\n+two\n+three\n"),
        given("a"),
        patch(
            "b",
            "*** Add File: b.txt\n+one\n*** Add File: c.txt\n+one\n+two\n",
        ),
        given("b"),
    ];
    let mut lines = vec![
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta",
        "payload": {"id": "01998cb5-5e00-7532-b60a-a52c82ab0f22", "cwd": "/w", "cli_version": "0.169.0"}}),
    ];
    lines.extend(items.iter().map(|item| {
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": item})
    }));
    let events = read_lines(Dialect::CodexRollout, &lines).events;
    crate::support::assert_sound("codex-rollout", &events);
    let words = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => Some(message.text.preview().to_string()),
        Payload::ToolResult(result) => {
            assert_eq!(result.exit_code, None);
            result.summary.clone()
        }
        _ => None,
    });
    let words: Vec<String> = words.collect();
    assert_eq!(
        words,
        [
            "Sort them",
            "sort: the task itself is encrypted",
            "+2 −1",
            "2 files, +3 −0"
        ]
    );
}

/// A script's calls stand there by themselves; the script does where it failed, or did nothing else.
#[test]
fn a_script_is_told_by_the_calls_it_makes() {
    let script = |call: &str| json!({"type": "custom_tool_call", "name": "exec", "call_id": call, "input": "await x()"});
    let given = |call: &str, text: &str| {
        json!({"type": "custom_tool_call_output", "call_id": call,
            "output": [{"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"}, {"type": "input_text", "text": text}]})
    };
    assert_eq!(
        rollout(&[
            json!({"type": "task_started", "turn_id": "turn-long-1"}),
            script("a"),
            item(
                json!({"type": "CommandExecution", "id": "exec-1", "command": ["ls"], "status": "completed", "exit_code": 0, "aggregated_output": "x\n"})
            ),
            given("a", "{\"output\":\"x\\n\"}"),
            script("b"),
            given("b", "5"),
            function("write_stdin", "c", &json!({"session_id": 1, "chars": "q"})),
            output(
                "c",
                "Wall time: 1 seconds\nProcess exited with code 4\nOutput:\nbye"
            ),
        ]),
        [
            r#"execute shell {"command":"ls"}"#,
            r#"execute exec {"input":"await x()"}"#,
            r#"execute write_stdin {"session_id":1,"chars":"q"}"#,
            "result exec-1 x\n",
            "result b \n5",
            "result c bye",
            "end interrupted",
        ]
    );
}

/// What is looked for may be known when it was found only; that the results are not told does not say there are none.
#[test]
fn a_search_says_what_was_looked_for() {
    let search = |method: &str, query: &str, action: serde_json::Value| {
        json!({"method": method, "params": {"threadId": "t", "turnId": "turn-long-1",
            "item": {"type": "webSearch", "id": "ws", "query": query, "action": action, "results": null}}})
    };
    let lines = [
        json!({"method": "turn/started", "params": {"threadId": "t", "turn": {"id": "turn-long-1", "status": "inProgress", "items": []}}}),
        search("item/started", "", json!({"type": "other"})),
        search(
            "item/completed",
            "diffs",
            json!({"type": "search", "query": "diffs"}),
        ),
        search("item/started", "", json!({"type": "other"})),
    ];
    let events = read_lines(Dialect::CodexAppServer, &lines).events;
    crate::support::assert_sound("codex-app-server", &events);
    let call = events.iter().find_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some((call.title.clone(), call.args.get("query").is_some())),
        _ => None,
    });
    assert_eq!(call, Some((Some("diffs".to_owned()), true)));
    let result = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result.result.is_null()),
        _ => None,
    });
    assert_eq!(result, Some(true));
}

/// The diff of a turn tells what its items do not, and nothing a second time.
#[test]
fn the_diff_of_a_turn_tells_files_that_no_item_told() {
    let both = "diff --git a/told.txt b/told.txt\n--- a/told.txt\n+++ b/told.txt\n@@ -1 +1 @@\n-a\n+b\n\
                diff --git a/sub/made.txt b/sub/made.txt\nnew file mode 100644\n--- /dev/null\n+++ b/sub/made.txt\n@@ -0,0 +1 @@\n+x\n";
    let change = json!({"id": "i1", "type": "fileChange", "status": "completed",
        "changes": [{"path": "/repo/told.txt", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-a\n+b\n"}]});
    let at = |method: &str, mut params: serde_json::Value| {
        params["threadId"] = json!("t-1234567");
        params["turnId"] = json!("u-1234567");
        json!({"method": method, "params": params})
    };
    let lines = [
        json!({"method": "thread/started", "params": {"thread": {"id": "t-1234567", "cwd": "/repo"}}}),
        at("turn/started", json!({"turn": {"id": "u-1234567"}})),
        at("item/started", json!({"item": change})),
        at("item/completed", json!({"item": change})),
        at(
            "turn/diff/updated",
            json!({"diff": "diff --git a/early.txt b/early.txt\n--- a/early.txt\n+++ b/early.txt\n@@ -1 +1 @@\n-a\n+b\n"}),
        ),
        at("turn/diff/updated", json!({"diff": both})),
        at(
            "turn/completed",
            json!({"turn": {"id": "u-1234567", "status": "completed"}}),
        ),
        at("turn/diff/updated", json!({"diff": both})),
    ];
    let events = read_lines(Dialect::CodexAppServer, &lines).events;
    let told = told(&events);
    let told: Vec<&String> = told
        .iter()
        .filter(|line| !line.starts_with("call"))
        .collect();
    assert_eq!(
        told,
        [
            "turn user",
            "result i1 ",
            "edit modified /repo/told.txt +1 -1",
            "edit created /repo/sub/made.txt +1 -0",
            "end completed",
        ]
    );
}

#[test]
fn recorded_diffs_of_turns_double_no_item() {
    let mut servers = sources("recordings/codex", |name| {
        name.ends_with(".appserver.jsonl")
    });
    servers.extend(sources("fixtures/codex-app-server", |_| true));
    for source in servers {
        for event in read(&source.bytes).events {
            if let Payload::FileEdit(edit) = &event.payload {
                assert_ne!(edit.tool_call_id, "", "{}: {}", source.name, edit.file_path);
            }
        }
    }
}

/// The lines of the server and the file of the same run: what was asked, said and called is known by the same ids.
#[test]
fn server_and_rollout_of_one_run_agree_on_ids() {
    let said = |bytes: &[u8]| -> BTreeMap<String, String> {
        let events = read(bytes).events;
        let said = events
            .iter()
            .filter(|event| event.parent_tool_call_id.is_none());
        said.filter_map(|event| {
            let what = match &event.payload {
                Payload::UserMessage(message) => message.text.preview().to_string(),
                Payload::AssistantDone(done) => done.text.clone(),
                Payload::TurnStart(_) | Payload::TurnEnd(_) => event.event_type().to_owned(),
                _ => return None,
            };
            Some((event.id.clone(), what))
        })
        .collect()
    };
    for server in sources("recordings/codex", |name| {
        name.ends_with(".appserver.jsonl")
    }) {
        let stem = server.name.trim_end_matches(".appserver.jsonl");
        let rollout = format!("{stem}.rollout.1.jsonl");
        for rollout in sources("recordings/codex", |name| name == rollout) {
            assert_eq!(said(&server.bytes), said(&rollout.bytes), "{stem}");
        }
    }
}

#[test]
fn what_comes_after_its_turn_leaves_the_session_at_rest() {
    let lines = [
        json!({"method": "turn/started", "params": {"threadId": "t", "turn": {"id": "u", "items": [], "status": "inProgress", "error": null}}}),
        json!({"method": "turn/completed", "params": {"threadId": "t", "turn": {"id": "u", "items": [], "status": "completed", "error": null}}}),
        json!({"method": "error", "params": {"error": {"message": "Reconnecting... 1/2"}, "willRetry": true, "threadId": "t", "turnId": "u"}}),
        json!({"method": "item/agentMessage/delta", "params": {"threadId": "t", "turnId": "u", "itemId": "m", "delta": "Recovered."}}),
    ];
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::CodexAppServer);
    let mut events = Vec::new();
    reader.push(bytes.as_bytes(), 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some(status.status.as_str()),
        _ => None,
    });
    let said: Vec<&str> = said.collect();
    assert_eq!(said, ["busy", "idle", "retrying", "busy", "idle"]);
}

#[test]
fn a_command_that_was_stopped_did_not_succeed() {
    let events = |text: &str| {
        rollout(&[
            json!({"type": "task_started", "turn_id": "turn-long-1"}),
            function("exec_command", "a", &json!({"cmd": "sleep 60"})),
            output("a", text),
        ])
    };
    for text in [
        "Wall time: 30.0 seconds\naborted by user",
        "aborted by user after 12.3s",
    ] {
        assert_eq!(events(text)[1], "failed a interrupted", "{text}");
    }
    let printed = "Wall time: 1 seconds\nProcess exited with code 0\nOutput:\naborted by user";
    assert_eq!(events(printed)[1], "result a aborted by user");
}

#[test]
fn a_command_that_runs_on_behind_its_turn_has_no_error_whoever_tells_of_it() {
    let command = |id: &str| {
        json!({"type": "item.started", "item": {"id": id, "type": "command_execution",
            "command": "sleep 60", "aggregated_output": "", "exit_code": null, "status": "in_progress"}})
    };
    let usage = json!({"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1});
    let lines = [
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "turn.started"}),
        command("item_0"),
        json!({"type": "turn.completed", "usage": usage}),
        // A turn that was stopped took its commands with it.
        json!({"type": "turn.started"}),
        command("item_1"),
    ];
    let results = |events: Vec<ChatEvent>| -> Vec<(Option<String>, bool)> {
        let results = events.into_iter().filter_map(|event| match event.payload {
            Payload::ToolResult(result) => Some((result.summary, result.error.is_some())),
            _ => None,
        });
        results.collect()
    };
    let runs_on = Some("still running when the turn ended".to_owned());
    assert_eq!(
        results(read_lines(Dialect::CodexExec, &lines).events),
        [(runs_on, false), (None, true)]
    );
}

/// Up to 0.7x neither the begin nor the end of a turn is told.
#[test]
fn a_rollout_that_tells_no_end_of_a_turn_rests_once_it_is_quiet() {
    let line = |kind: &str, payload: serde_json::Value| {
        let line =
            json!({"timestamp": "2026-11-21T20:44:08.601Z", "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let said = |begins: bool| {
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::CodexRollout);
        let mut events = Vec::new();
        let begin = json!({"type": "task_started", "turn_id": "u1"});
        for line in [
            line("session_meta", json!({"id": "t1", "cwd": "/w"})),
            line("event_msg", begin).repeat(usize::from(begins)),
            line(
                "event_msg",
                json!({"type": "user_message", "message": "Go"}),
            ),
            line(
                "event_msg",
                json!({"type": "agent_message", "message": "Done."}),
            ),
        ] {
            reader.push(line.as_bytes(), 0, &mut events).unwrap();
        }
        for now_ms in [10_000, 20_000] {
            reader.quiet(now_ms, &mut events);
        }
        let more = line(
            "event_msg",
            json!({"type": "agent_message", "message": "And more."}),
        );
        reader.push(more.as_bytes(), 0, &mut events).unwrap();
        let said = events.iter().filter_map(|event| match &event.payload {
            Payload::SessionStatus(status) => Some((status.status.clone(), status.guessed)),
            _ => None,
        });
        said.collect::<Vec<_>>()
    };
    let busy = || ("busy".to_owned(), None);
    assert_eq!(
        said(false),
        [busy(), ("idle".to_owned(), Some(true)), busy()]
    );
    assert_eq!(said(true), [busy()], "more comes until its end is told");
}

/// Files up to 0.77 say nothing of where a turn ends.
#[test]
fn a_turn_of_an_old_file_was_cut_off_where_an_answer_is_due() {
    let line = |kind: &str, payload: serde_json::Value| json!({"timestamp": "2025-11-01T00:00:00.000Z", "type": kind, "payload": payload});
    let prompt = |text: &str| {
        line(
            "event_msg",
            json!({"type": "user_message", "message": text}),
        )
    };
    let answer = |text: &str| {
        line(
            "event_msg",
            json!({"type": "agent_message", "message": text}),
        )
    };
    let call = line(
        "response_item",
        json!({"type": "function_call", "name": "shell", "call_id": "c1", "arguments": "{}"}),
    );
    let output = line(
        "response_item",
        json!({"type": "function_call_output", "call_id": "c1", "output": "ok"}),
    );
    let error = line("event_msg", json!({"type": "error", "message": "no quota"}));
    let aborted = line("event_msg", json!({"type": "turn_aborted"}));
    let meta = line(
        "session_meta",
        json!({"id": "t1", "cli_version": "0.77.0", "cwd": "/w"}),
    );
    let ends = |lines: &[serde_json::Value]| {
        let lines = [&[meta.clone(), prompt("One"), answer("1")], lines].concat();
        let events = read_lines(Dialect::CodexRollout, &lines).events;
        let ends = events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => {
                let guessed = end.extra.get("guessed").map_or("", |_| ", guessed");
                Some(format!("{}{guessed}", end.outcome.as_deref().unwrap()))
            }
            _ => None,
        });
        ends.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(ends(&[]), "completed, guessed");
    let answered = "completed; completed, guessed";
    assert_eq!(ends(&[prompt("Two"), answer("2")]), answered);
    let cut_off = "completed; interrupted, guessed";
    assert_eq!(ends(&[prompt("Two")]), cut_off);
    let calls = [prompt("Two"), answer("So"), call.clone()];
    assert_eq!(ends(&calls), cut_off);
    let called = [prompt("Two"), answer("So"), call, output];
    assert_eq!(ends(&called), cut_off);
    assert_eq!(ends(&[&called[..], &[answer("2")]].concat()), answered);
    let failed = [prompt("Two"), error];
    assert_eq!(ends(&failed), "completed; failed, guessed");
    // The same of one that gives way to the next prompt.
    let next = |before: &[serde_json::Value]| {
        let ends = ends(&[before, &[prompt("Three"), answer("3")]].concat());
        ends.strip_suffix("; completed, guessed")
            .unwrap()
            .to_owned()
    };
    assert_eq!(next(&[prompt("Two")]), cut_off);
    assert_eq!(next(&calls), cut_off);
    assert_eq!(next(&called), cut_off);
    assert_eq!(next(&failed), "completed; failed, guessed");
    assert_eq!(next(&[prompt("Two"), answer("2")]), "completed; completed");
    assert_eq!(next(&[prompt("Two"), aborted]), "completed; interrupted");
}
