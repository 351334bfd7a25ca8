//! Calls that were stopped, or have no result in their file: nothing failed, and what they print later is not lost. And calls
//! that wait for an answer: they do not run meanwhile.

use chat_event::{ChatEvent, Payload};
use chat_feed::panel::statistics;
use chat_feed::projections::trace::Verbosity;
use chat_feed::projections::{to_markdown, to_session_summary, to_tool_trace};
use chat_feed::{BlockBody, ChatRenderer, ToolCallBlock, ToolStatus, TurnState, row_text};
use serde_json::{Value, json};

fn log(lines: &[(&str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, payload)): (usize, &(&str, Value))| {
        let line = json!({"id": format!("e{nth}"), "timestamp": 1_000 + nth, "sessionId": "s", "turnId": "t", "type": kind, "payload": payload});
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

/// A command that prints, is stopped, and prints once more.
fn stopped(interrupted: bool) -> Vec<ChatEvent> {
    let mut lines = vec![
        ("turn_start", json!({"trigger": "user"})),
        (
            "tool_call",
            json!({"toolCallId": "c", "toolName": "shell", "kind": "execute", "args": {"command": "count"}}),
        ),
        (
            "tool_output_chunk",
            json!({"toolCallId": "c", "chunk": "step 2\n"}),
        ),
        (
            "tool_output_chunk",
            json!({"toolCallId": "c", "chunk": "step 3\n"}),
        ),
    ];
    if interrupted {
        lines.push(("interrupt", json!({"reason": "user_cancel"})));
    }
    lines.extend([
        ("tool_result", json!({"toolCallId": "c", "result": "step 2\nstep 3\n", "error": {"code": "no_result", "message": "no result recorded"}})),
        ("turn_end", json!({"outcome": "interrupted"})),
        ("tool_output_chunk", json!({"toolCallId": "c", "chunk": "step 4\n"})),
    ]);
    log(&lines)
}

fn call(renderer: &ChatRenderer) -> ToolCallBlock {
    let mut rows = renderer.feed().rows();
    let call = rows.find_map(|block| match &block.body {
        BlockBody::ToolCall(call) => Some((**call).clone()),
        _ => None,
    });
    call.unwrap()
}

#[test]
fn it_is_no_failure() {
    for (interrupted, status) in [
        (true, ToolStatus::Interrupted),
        (false, ToolStatus::NoResult),
    ] {
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&stopped(interrupted));
        let call = call(&renderer);
        assert_eq!((call.status, call.failure()), (status, None));
        let figures = statistics(renderer.feed());
        assert_eq!((figures.calls.failed, figures.calls.without_result), (0, 1));
        assert_eq!(figures.n_failures, 0);
    }
}

/// One source says that a call went well, and another what it gave.
#[test]
fn what_a_call_gave_stands_in_the_place_of_a_result_without_it() {
    let step = (
        "tool_call",
        json!({"toolCallId": "c", "toolName": "read_file", "kind": "read", "args": {"path": "a"}}),
    );
    let bare = ("tool_result", json!({"toolCallId": "c", "result": null}));
    let full = (
        "tool_result",
        json!({"toolCallId": "c", "result": "the words of it", "summary": "1 line"}),
    );
    for results in [[bare.clone(), full.clone()], [full, bare]] {
        let [first, then] = results;
        let events = log(&[step.clone(), first, then]);
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let call = call(&renderer);
        assert_eq!(call.status, ToolStatus::Succeeded);
        assert_eq!(
            (call.summary.as_deref(), call.conflicts),
            (Some("1 line"), 0)
        );
        assert_eq!(
            call.result.unwrap().as_str().as_deref(),
            Some("the words of it")
        );
        assert!(to_markdown(&events).contains("the words of it"));
    }
}

#[test]
fn what_it_prints_after_it_was_stopped_is_shown() {
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(&stopped(true));
    renderer.check().unwrap();
    let feed = renderer.feed();
    let row = feed
        .rows()
        .find(|block| matches!(block.body, BlockBody::ToolCall(_)));
    let text = row_text(feed, row.unwrap().id, &mut |_, _| None).unwrap();
    assert_eq!(text, "$ count\nstep 2\nstep 3\nstep 4");
    let transcript = to_markdown(&stopped(true));
    assert!(transcript.contains("step 3\nstep 4\n"), "{transcript}");
    assert!(transcript.contains("(no result"), "{transcript}");
    assert!(!transcript.contains("failed"), "{transcript}");
}

/// A command that has to wait for leave from 1 s on, has it at 31 s, and is done at 32.4 s.
fn asked() -> Vec<ChatEvent> {
    let at = |ms: i64, mut event: ChatEvent| {
        event.timestamp = Some(ms);
        event
    };
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        (
            "tool_call",
            json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "make"}}),
        ),
        (
            "permission_request",
            json!({"requestId": "p", "toolCallId": "c", "toolName": "Bash"}),
        ),
        (
            "permission_resolved",
            json!({"requestId": "p", "decision": "allow", "by": "user"}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "c", "result": "made", "exitCode": 0}),
        ),
        ("turn_end", json!({"outcome": "completed"})),
    ]);
    let times = [0, 800, 1_000, 31_000, 32_400, 32_500];
    times
        .into_iter()
        .zip(events)
        .map(|(ms, event)| at(ms, event))
        .collect()
}

#[test]
fn a_call_that_waits_for_leave_does_not_run() {
    let mut renderer = ChatRenderer::with_history();
    let mut waits = Vec::new();
    for event in asked() {
        renderer.render_event(&event);
        renderer.check().unwrap();
        let rows = renderer.feed().rows();
        let mut calls = rows.filter(|block| matches!(block.body, BlockBody::ToolCall(_)));
        waits.push(calls.next().is_some().then(|| call(&renderer).waits));
    }
    let yes_then_no = [
        None,
        Some(false),
        Some(true),
        Some(false),
        Some(false),
        Some(false),
    ];
    assert_eq!(waits, yes_then_no);
    assert_eq!(call(&renderer).duration_ms, Some(1_400));
    // Told afterwards, the call waits from its first row on.
    let mut events = asked();
    events.swap(1, 2);
    events.truncate(3);
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events);
    assert!(call(&renderer).waits);
}

#[test]
fn a_call_that_was_denied_does_not_run_either() {
    let mut renderer = ChatRenderer::with_history();
    let mut denied = Vec::new();
    for mut event in asked() {
        if let Payload::PermissionResolved(resolved) = &mut event.payload {
            resolved.decision = "deny".to_owned();
        }
        renderer.render_event(&event);
        renderer.check().unwrap();
        let rows = renderer.feed().rows();
        let mut calls = rows.filter(|block| matches!(block.body, BlockBody::ToolCall(_)));
        denied.push(calls.next().is_some() && call(&renderer).denied);
    }
    assert_eq!(denied, [false, false, false, true, true, true]);
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&asked());
    assert!(!call(&renderer).denied, "it was allowed");
}

#[test]
fn a_trace_tells_that_it_waits_and_how_long_it_ran() {
    let trace = to_tool_trace(&asked(), Verbosity::Normal);
    assert!(
        trace.contains("[TOOL] bash: make (exit 0) — 1.4s"),
        "{trace}"
    );
    let trace = to_tool_trace(&asked()[..3], Verbosity::Normal);
    assert!(trace.contains("[TOOL] bash: make (waiting…)"), "{trace}");
    assert!(trace.contains("(waiting for an answer, 1.0s)"), "{trace}");
    assert!(
        !trace.contains('✓') && !trace.contains("interrupted"),
        "{trace}"
    );
    let trace = to_tool_trace(&asked()[..2], Verbosity::Normal);
    assert!(trace.contains("[TOOL] bash: make (running…)"), "{trace}");
}

#[test]
fn a_refusal_that_two_sources_tell_of_is_one_row() {
    let args = json!({"command": "rm -rf build"});
    let told = |answer: &str, offered: Value| {
        let lines = [
            ("turn_start", json!({"trigger": "user"})),
            (
                "tool_call",
                json!({"toolCallId": "c", "toolName": "Bash", "kind": "execute", "args": args}),
            ),
            // The hook asks; it knows of no call.
            (
                "permission_request",
                json!({"requestId": "hook-1", "toolName": "Bash", "args": args, "options": [{"id": "allow"}]}),
            ),
            (
                "permission_resolved",
                json!({"requestId": "hook-1", "decision": answer, "by": "user"}),
            ),
            // What the agent's own stream says of the same.
            (
                "permission_request",
                json!({"requestId": "c:denied", "toolCallId": "c", "toolName": "Bash", "args": args, "options": offered}),
            ),
            (
                "permission_resolved",
                json!({"requestId": "c:denied", "decision": "deny", "by": "hook"}),
            ),
        ];
        let mut renderer = ChatRenderer::new();
        let mut patches = Vec::new();
        for event in log(&lines) {
            renderer.apply(&event, &mut patches);
        }
        let rows = renderer.feed().rows();
        let asks = rows.filter_map(|block| match &block.body {
            BlockBody::Permission(ask) => Some(ask.resolved.clone().unwrap().by),
            _ => None,
        });
        (asks.collect::<Vec<_>>(), call(&renderer).denied)
    };
    let by_user = Some("user".to_owned());
    let by_hook = Some("hook".to_owned());
    assert_eq!(told("deny", json!([])), (vec![by_user.clone()], true));
    // Another request is another row: one that can be answered, and one after a yes.
    let both = vec![by_user, by_hook];
    assert_eq!(told("deny", json!([{"id": "allow"}])).0, both);
    assert_eq!(told("allow", json!([])).0, both);
}

#[test]
fn a_call_that_was_refused_did_not_fail() {
    for code in ["rejected", "declined", "denied"] {
        let log = log(&[
            ("turn_start", json!({"trigger": "user"})),
            (
                "tool_call",
                json!({"toolCallId": "c", "toolName": "Bash", "kind": "execute", "args": {"command": "rm -r build"}}),
            ),
            (
                "tool_result",
                json!({"toolCallId": "c", "result": "", "error": {"code": code, "message": "not that folder"}}),
            ),
            ("turn_end", json!({"outcome": "completed"})),
        ]);
        let mut renderer = ChatRenderer::with_history();
        renderer.replay_events(&log);
        renderer.check().unwrap();
        assert_eq!(call(&renderer).status, ToolStatus::Denied);
        let figures = statistics(renderer.feed());
        assert_eq!((figures.calls.failed, figures.calls.denied), (0, 1));
        assert_eq!(figures.n_failures, 0);
        let counts = to_session_summary(&log).tool_calls;
        assert_eq!((counts.failed, counts.denied), (0, 1));
        let feed = renderer.feed();
        let mut rows = feed.rows();
        let row = rows.find(|block| matches!(block.body, BlockBody::ToolCall(_)));
        let text = row_text(feed, row.unwrap().id, &mut |_, _| None).unwrap();
        assert!(text.contains("not that folder"), "why is told: {text}");
        let trace = to_tool_trace(&log, Verbosity::Normal);
        assert!(
            trace.contains("[TOOL] bash: rm -r build (denied)"),
            "{trace}"
        );
    }
}

/// The same log, its events of the turn `t` but for those that name none.
fn of_agents(lines: &[(&str, Option<&str>, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, parent, payload)): (usize, &(&str, Option<&str>, Value))| {
        let mut line = json!({"id": format!("e{nth}"), "timestamp": 1_000 + nth, "sessionId": "s", "type": kind, "payload": payload});
        match parent {
            Some("free") => {}
            Some(parent) => {
                line["turnId"] = json!("t");
                line["parentToolCallId"] = json!(parent);
            }
            None => line["turnId"] = json!("t"),
        }
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

fn n_waiting(renderer: &ChatRenderer) -> usize {
    let rows = renderer.feed().rows();
    let waits = |body: &BlockBody| match body {
        BlockBody::Permission(ask) => ask.resolved.is_none() && !ask.expired,
        _ => false,
    };
    rows.filter(|block| waits(&block.body)).count()
}

#[test]
fn a_request_of_no_turn_waits_on_when_a_turn_ends() {
    let log = of_agents(&[
        ("turn_start", None, json!({"trigger": "user"})),
        (
            "permission_request",
            Some("free"),
            json!({"requestId": "hook-1", "toolName": "Bash"}),
        ),
        (
            "permission_request",
            Some("free"),
            json!({"requestId": "elsewhere", "toolName": "Bash", "answerable": false}),
        ),
        (
            "permission_request",
            None,
            json!({"requestId": "own", "toolName": "Bash"}),
        ),
        ("turn_end", None, json!({"outcome": "completed"})),
        (
            "permission_resolved",
            Some("free"),
            json!({"requestId": "hook-1", "decision": "allow"}),
        ),
    ]);
    let mut renderer = ChatRenderer::with_history();
    let mut waiting = Vec::new();
    for event in &log {
        renderer.render_event(event);
        renderer.check().unwrap();
        waiting.push(n_waiting(&renderer));
    }
    assert_eq!(waiting, [0, 1, 2, 3, 1, 0]);
    let ends = [json!({"outcome": "completed"}), json!({"reason": "exit"})];
    for (kind, end) in ["turn_end", "session_end"].into_iter().zip(ends) {
        let mut log = log[..4].to_vec();
        log.extend(
            of_agents(&[(kind, Some("free"), end)])
                .into_iter()
                .map(|mut event| {
                    event.id = "end".to_owned();
                    event
                }),
        );
        let mut renderer = ChatRenderer::with_history();
        renderer.replay_events(&log);
        assert_eq!(n_waiting(&renderer), 0, "{kind} of no turn");
    }
}

#[test]
fn a_sub_agent_that_fails_leaves_those_beside_it_as_they_are() {
    let agent =
        |id: &str| json!({"toolCallId": id, "toolName": "Task", "kind": "agent", "args": {}});
    let command =
        |id: &str| json!({"toolCallId": id, "toolName": "Bash", "kind": "execute", "args": {}});
    let log = of_agents(&[
        ("turn_start", None, json!({"trigger": "user"})),
        ("tool_call", None, agent("a")),
        ("tool_call", None, agent("b")),
        ("tool_call", Some("a"), command("of a")),
        ("tool_call", Some("b"), command("of b")),
        (
            "permission_request",
            Some("a"),
            json!({"requestId": "r", "toolName": "Bash", "toolCallId": "of a"}),
        ),
        (
            "error",
            Some("b"),
            json!({"code": "529", "message": "overloaded"}),
        ),
    ]);
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(&log[..6]);
    renderer.render_event(&log[6]);
    renderer.check().unwrap();
    let status = |id: &str| {
        let mut rows = renderer.feed().rows();
        rows.find_map(|block| match &block.body {
            BlockBody::ToolCall(call) if &*call.tool_call_id == id => Some(call.status),
            _ => None,
        })
    };
    let [runs, ended] = [ToolStatus::Running, ToolStatus::NoResult].map(Some);
    assert_eq!(
        ["a", "b", "of a", "of b"].map(status),
        [runs, runs, runs, ended]
    );
    assert_eq!(n_waiting(&renderer), 1);
}

#[test]
fn a_failure_of_a_turn_and_the_same_one_of_its_sub_agent_are_two_rows() {
    let agent = json!({"toolCallId": "a", "toolName": "Task", "kind": "agent", "args": {}});
    let failure = || json!({"code": "529", "message": "overloaded"});
    let log = of_agents(&[
        ("turn_start", None, json!({"trigger": "user"})),
        ("tool_call", None, agent),
        ("error", Some("a"), failure()),
        ("error", Some("a"), failure()),
        ("error", None, failure()),
        ("error", None, failure()),
        ("error", Some("a"), failure()),
    ]);
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(&log);
    renderer.check().unwrap();
    let failures = renderer
        .feed()
        .rows()
        .filter_map(|block| match &block.body {
            BlockBody::Error { count, .. } => Some((block.depth, *count)),
            _ => None,
        });
    assert_eq!(failures.collect::<Vec<_>>(), [(1, 3), (0, 2)]);
}

#[test]
fn a_sub_agent_that_is_stopped_takes_with_it_what_runs_in_it_and_no_more() {
    let agent =
        |id: &str| json!({"toolCallId": id, "toolName": "Task", "kind": "agent", "args": {}});
    let command =
        |id: &str| json!({"toolCallId": id, "toolName": "Bash", "kind": "execute", "args": {}});
    let sound = || json!({"data": "AA==", "seq": 0});
    let ask = |id: &str| json!({"requestId": id, "toolName": "Bash"});
    let stops = [
        (
            "interrupt",
            json!({"reason": "user_cancel"}),
            ToolStatus::Interrupted,
        ),
        (
            "error",
            json!({"code": "529", "message": "overloaded"}),
            ToolStatus::NoResult,
        ),
    ];
    for (kind, payload, how) in stops {
        let log = of_agents(&[
            ("turn_start", None, json!({"trigger": "user"})),
            ("tool_call", None, agent("a")),
            ("tool_call", None, agent("b")),
            ("tool_call", Some("a"), command("of a")),
            ("tool_call", Some("b"), command("of b")),
            ("audio_chunk", Some("a"), sound()),
            ("audio_chunk", Some("b"), sound()),
            ("permission_request", Some("a"), ask("p of a")),
            ("permission_request", Some("b"), ask("p of b")),
            ("permission_request", Some("free"), ask("hook")),
            (kind, Some("b"), payload),
        ]);
        let mut renderer = ChatRenderer::with_history();
        renderer.replay_events(&log);
        renderer.check().unwrap();
        let feed = renderer.feed();
        let status = |id: &str| {
            let mut rows = feed.rows();
            rows.find_map(|block| match &block.body {
                BlockBody::ToolCall(call) if &*call.tool_call_id == id => Some(call.status),
                _ => None,
            })
        };
        let [runs, ended] = [ToolStatus::Running, how].map(Some);
        let statuses = ["a", "b", "of a", "of b"].map(status);
        assert_eq!(statuses, [runs, runs, runs, ended], "{kind}");
        let sounds = feed.rows().filter_map(|block| match block.body {
            BlockBody::Audio { done, .. } => Some(done),
            _ => None,
        });
        assert_eq!(sounds.collect::<Vec<_>>(), [false, true], "{kind}");
        assert_eq!(n_waiting(&renderer), 2, "{kind}");
        assert_eq!(feed.turns()[0].state, TurnState::Running, "{kind}");
    }
}

#[test]
fn the_arguments_of_a_call_that_bears_an_old_id_are_its_own() {
    let mut lines = Vec::new();
    for turn in ["t1", "t2"] {
        lines.extend([
            (turn, "turn_start", json!({"trigger": "user"})),
            (
                turn,
                "tool_input_chunk",
                json!({"toolCallId": "call_0", "toolName": "Bash", "chunk": format!("{{\"command\": \"{turn}\"}}"), "offset": 0}),
            ),
            (
                turn,
                "tool_call",
                json!({"toolCallId": "call_0", "toolName": "Bash", "kind": "execute", "args": {"command": turn}}),
            ),
            (turn, "tool_result", json!({"toolCallId": "call_0", "result": turn})),
            (turn, "turn_end", json!({"outcome": "completed"})),
        ]);
    }
    let mut renderer = ChatRenderer::with_history();
    for (nth, (turn, kind, payload)) in lines.iter().enumerate() {
        let line = json!({"id": format!("e{nth}"), "timestamp": nth, "sessionId": "s", "turnId": turn, "type": kind, "payload": payload});
        renderer.render_event(&ChatEvent::from_json(&line.to_string()).unwrap());
        renderer.check().unwrap();
    }
    let feed = renderer.feed();
    let inputs = feed.rows().filter_map(|block| match &block.body {
        BlockBody::ToolCall(call) => Some(feed.stream(call.input?).to_string()),
        _ => None,
    });
    let inputs: Vec<String> = inputs.collect();
    assert_eq!(inputs, [r#"{"command": "t1"}"#, r#"{"command": "t2"}"#]);
}

/// A question, and a permission, each asked by a hook and told of by the log of the agent that has the hook.
#[test]
fn what_two_sources_tell_is_asked_is_one_row_that_is_answered_here() {
    let question = |id: &str, more: Value| {
        let mut payload =
            json!({"requestId": id, "questions": [{"text": "Which colour?", "options": []}]});
        for (name, value) in more.as_object().unwrap() {
            payload[name] = value.clone();
        }
        payload
    };
    let permission = |id: &str, more: Value| {
        let mut payload = json!({"requestId": id, "toolName": "Bash", "args": {"command": "ls"}});
        for (name, value) in more.as_object().unwrap() {
            payload[name] = value.clone();
        }
        payload
    };
    let there = || json!({"toolCallId": "c", "answerable": false});
    type Asked<'a> = (&'a str, Value, Value, Value);
    let kinds: [Asked; 2] = [
        (
            "question",
            question("hook", json!({})),
            question("c", there()),
            json!({"requestId": "c", "outcome": "answered", "answers": [["Blue"]]}),
        ),
        (
            "permission",
            permission("hook", json!({})),
            permission("c", there()),
            json!({"requestId": "c", "decision": "allow"}),
        ),
    ];
    for (kind, by_hook, by_log, resolved) in kinds {
        let (request, resolution) = (format!("{kind}_request"), format!("{kind}_resolved"));
        for hook_first in [true, false] {
            let mut asks = vec![
                (request.as_str(), Some("free"), by_hook.clone()),
                (request.as_str(), None, by_log.clone()),
            ];
            if !hook_first {
                asks.reverse();
            }
            let mut lines = vec![
                ("turn_start", None, json!({"trigger": "user"})),
                (
                    "tool_call",
                    None,
                    json!({"toolCallId": "c", "toolName": "Bash", "kind": "execute", "args": {}}),
                ),
            ];
            lines.extend(asks);
            lines.push(("turn_end", None, json!({"outcome": "completed"})));
            lines.push((resolution.as_str(), None, resolved.clone()));
            let log = of_agents(&lines);
            let mut renderer = ChatRenderer::with_history();
            let mut asked = Vec::new();
            for event in &log {
                renderer.render_event(event);
                renderer.check().unwrap();
                let rows = renderer.feed().rows();
                let open: Vec<(String, Option<String>)> = rows
                    .filter_map(|block| match &block.body {
                        BlockBody::Permission(ask) if ask.resolved.is_none() && !ask.expired => {
                            Some((
                                ask.request.request_id.clone(),
                                ask.request.tool_call_id.clone(),
                            ))
                        }
                        BlockBody::Question(ask) if ask.resolved.is_none() && !ask.expired => {
                            Some((
                                ask.request.request_id.clone(),
                                ask.request.tool_call_id.clone(),
                            ))
                        }
                        _ => None,
                    })
                    .collect();
                asked.push(open);
            }
            let here = vec![("hook".to_owned(), Some("c".to_owned()))];
            assert_eq!(asked[3], here, "{kind}, the hook first: {hook_first}");
            assert_eq!(asked[4], here, "it waits on behind the turn");
            assert!(asked[5].is_empty());
        }
    }
}
