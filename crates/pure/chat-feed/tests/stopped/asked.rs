//! Calls that wait for leave, or were refused it.

use super::*;

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

/// A hook that read which call it is asked about says so: what its agent tells of that call is the same request.
#[test]
fn what_a_hook_and_its_agent_ask_is_one_where_both_know_the_call() {
    let offered = json!([{"id": "allow", "label": "Allow", "kind": "allow_once"}]);
    let told = |call: &str, answerable: bool, decision: &str| {
        let asks = |id: &str, call: &str| json!({"requestId": id, "toolCallId": call, "toolName": "Bash", "args": {"command": "ls"}});
        let mut by_hook = asks("hook", "c");
        by_hook["options"] = offered.clone();
        let mut by_agent = asks("agent", call);
        if !answerable {
            by_agent["answerable"] = json!(false);
        }
        let answered = (
            "permission_resolved",
            json!({"requestId": "hook", "decision": decision, "by": "user"}),
        );
        let mut lines = vec![
            ("turn_start", json!({"trigger": "user"})),
            (
                "tool_call",
                json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "ls"}}),
            ),
            ("permission_request", by_hook),
            ("permission_request", by_agent),
        ];
        // A refusal is told of behind the answer.
        lines.insert(if answerable { 3 } else { 4 }, answered);
        lines.push((
            "permission_resolved",
            json!({"requestId": "agent", "decision": "deny"}),
        ));
        let log = log(&lines);
        let mut renderer = ChatRenderer::with_history();
        for event in &log {
            renderer.render_event(event);
            renderer.check().unwrap();
        }
        let rows = renderer.feed().rows();
        let n_rows = rows.filter(|row| matches!(row.body, BlockBody::Permission(_)));
        let trace = to_tool_trace(&log, Verbosity::Normal);
        (n_rows.count(), trace.matches("[ASK] bash: ls\n").count())
    };
    assert_eq!(told("c", false, "allow"), (1, 1));
    assert_eq!(told("c", true, "deny"), (1, 1));
    // Another call is another request.
    assert_eq!(told("d", false, "allow"), (2, 2));
    assert_eq!(told("d", true, "deny").0, 2);
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
