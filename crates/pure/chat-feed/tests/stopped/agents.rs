//! Sub-agents that fail or are stopped, and those beside them.

use super::*;

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
