//! Threads of one app-server: sub-agents that outlive a turn, sessions beside the first, turns from before.

use crate::support::{assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn read(lines: &[Value]) -> Vec<ChatEvent> {
    let events = read_lines(Dialect::CodexAppServer, lines).events;
    assert_sound("codex-app-server", &events);
    events
}

fn thread(thread: Value) -> Value {
    json!({"method": "thread/started", "params": {"thread": thread}})
}

fn begins(thread: &str, turn: &str) -> Value {
    json!({"method": "turn/started", "params": {"threadId": thread, "turn": {"id": turn}}})
}

fn ends(thread: &str, turn: &str) -> Value {
    json!({"method": "turn/completed", "params": {"threadId": thread, "turn": {"id": turn, "status": "completed"}}})
}

fn item(thread: &str, turn: &str, item: Value) -> Value {
    json!({"method": "item/completed", "params": {"threadId": thread, "turnId": turn, "item": item}})
}

fn says(id: &str, text: &str) -> Value {
    json!({"type": "agentMessage", "id": id, "text": text})
}

fn activity(id: &str, kind: &str) -> Value {
    json!({"type": "subAgentActivity", "id": id, "kind": kind, "agentThreadId": "child", "agentPath": "/root/w"})
}

#[test]
fn a_sub_agent_that_outlives_the_turn_keeps_the_session_busy_and_its_call_open() {
    let begun = [
        thread(json!({"id": "main"})),
        begins("main", "turn-long-1"),
        item("main", "turn-long-1", activity("s", "started")),
        thread(json!({"id": "child", "parentThreadId": "main"})),
        begins("child", "turn-child-1"),
        ends("main", "turn-long-1"),
        item("child", "turn-child-1", says("m", "Done")),
    ];
    let done = [
        ends("child", "turn-child-1"),
        item("main", "turn-long-1", activity("e", "completed")),
    ];
    let line = |event: &ChatEvent| {
        let at = event.turn_id.as_deref().unwrap_or("-");
        match &event.payload {
            Payload::SessionStatus(status) => Some(status.status.clone()),
            Payload::TurnEnd(_) => Some("end".to_owned()),
            Payload::AssistantDone(done) => Some(format!("{} in {at}", done.text)),
            Payload::ToolResult(result) => Some(match &result.error {
                Some(error) => format!("{} in {at}", error.message),
                None => format!("result in {at}"),
            }),
            _ => None,
        }
    };
    let events = read(&[&begun[..], &done[..]].concat());
    let lines: Vec<String> = events.iter().filter_map(line).collect();
    assert_eq!(
        lines,
        [
            "busy",
            "end",
            "Done in turn-long-1",
            "idle",
            "result in turn-long-1"
        ]
    );
    // Several versions tell no end of a sub-agent: that of its turn closes the call, however the turn around it goes.
    let untold: Vec<String> = read(&[&begun[..], &done[..1]].concat())
        .iter()
        .filter_map(line)
        .collect();
    assert_eq!(untold, lines);
    let first = [&begun[..5], &done[..1], &begun[5..6], &done[1..]].concat();
    let lines: Vec<String> = read(&first).iter().filter_map(line).collect();
    assert_eq!(lines, ["busy", "result in turn-long-1", "end", "idle"]);
    // It goes on where the next turn begins, and where another one wakes it.
    let next = [begins("main", "turn-long-2"), begun[6].clone()];
    let lines: Vec<String> = read(&[&begun[..6], &next].concat())
        .iter()
        .filter_map(line)
        .collect();
    assert_eq!(lines[2], "Done in turn-long-1");
    let woken = [&begun[..6], &done[..1], &[begins("child", "turn-child-2")]].concat();
    let closed = json!({"method": "thread/closed", "params": {"threadId": "child"}});
    for (more, statuses) in [
        (vec![], "busy idle busy idle"),
        (
            vec![closed, begins("main", "turn-long-2")],
            "busy idle busy idle busy idle",
        ),
    ] {
        let mut lines: Vec<String> = read(&[&woken[..], &more].concat())
            .iter()
            .filter_map(line)
            .collect();
        lines.retain(|line| line == "busy" || line == "idle");
        assert_eq!(lines.join(" "), statuses);
    }
    // What never ends is closed where the source ends.
    let lines: Vec<String> = read(&begun).iter().filter_map(line).collect();
    assert_eq!(lines.last().unwrap(), "no result recorded in turn-long-1");
    assert!(lines.contains(&"idle".to_owned()), "{lines:?}");
}

#[test]
fn a_thread_that_nobody_started_has_turns_and_a_notice() {
    let boom = json!({"method": "error", "params": {"threadId": "other", "turnId": "turn-other-1",
        "error": {"message": "boom"}}});
    let lines = |other: Value| {
        [
            thread(json!({"id": "main"})),
            begins("main", "turn-long-1"),
            item("main", "turn-long-1", says("m1", "One")),
            thread(other),
            begins("other", "turn-other-1"),
            item("other", "turn-other-1", says("m2", "Two")),
            boom.clone(),
            ends("main", "turn-long-1"),
            ends("other", "turn-other-1"),
            begins("other", "turn-other-2"),
            ends("other", "turn-other-2"),
        ]
    };
    let events = read(&lines(json!({"id": "other"})));
    assert_eq!(
        told(&events),
        [
            "turn user",
            "done One",
            "turn user",
            "notice from here on turns of another thread, other, are among these",
            "done Two",
            "error  boom",
            "end completed",
            "end completed",
            "turn user",
            "end completed",
        ]
    );
    let two = events
        .iter()
        .find(|event| matches!(&event.payload, Payload::AssistantDone(done) if done.text == "Two"));
    let two = two.unwrap();
    assert_eq!(
        (two.turn_id.as_deref(), two.agent_id.as_deref()),
        (Some("turn-other-1"), None)
    );
    // A sub-agent's has none.
    for child in [
        json!({"id": "other", "parentThreadId": "main"}),
        json!({"id": "other", "source": {"subAgent": "review"}}),
    ] {
        let told = told(&read(&lines(child)));
        assert!(!told.iter().any(|line| line.starts_with("notice")));
        assert_eq!(told.iter().filter(|line| *line == "turn user").count(), 1);
    }
}

#[test]
fn the_turns_of_a_thread_that_is_taken_up_again_are_told_once() {
    let turn = |id: &str, status: &str| {
        json!({"id": id, "status": status, "startedAt": 100, "completedAt": 200, "items": [
            {"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "Old"}]},
            says("m", "Answer")]})
    };
    let told_of = |status: &str| json!({"id": 1, "result": {"thread": {"id": "main", "turns": [turn("turn-before-1", status)]}}});
    let lines = [
        told_of("completed"),
        begins("main", "turn-long-1"),
        told_of("completed"),
        ends("main", "turn-long-1"),
        told_of("completed"),
    ];
    let events = read(&lines);
    let old = ["turn user", "user Old", "done Answer"];
    let now = ["turn user", "end completed"];
    assert_eq!(told(&events), [&old[..], &["end completed"], &now].concat());
    let times = events
        .iter()
        .filter(|event| event.turn_id.as_deref() == Some("turn-before-1"));
    let times: Vec<_> = times.filter_map(|event| event.timestamp).collect();
    assert_eq!(
        (times.first(), times.last()),
        (Some(&100_000), Some(&200_000))
    );
    // One that was stopped says so, and one that goes on is open.
    let stopped = told(&read(&[told_of("interrupted")]));
    assert_eq!(stopped.last().unwrap(), "end interrupted");
    let on = [
        told_of("inProgress"),
        item("main", "turn-before-1", says("m3", "More")),
        ends("main", "turn-before-1"),
    ];
    let more = ["done More", "end completed"];
    assert_eq!(told(&read(&on)), [&old[..], &more].concat());
}

/// A sub-agent whose call has its result at once, and which goes on behind the turn.
#[test]
fn what_a_sub_agent_does_stands_in_the_turn_that_started_it_and_what_it_asks_waits() {
    let spawn = json!({"type": "collabAgentToolCall", "id": "s", "tool": "spawnAgent", "status": "completed",
        "prompt": "Look", "receiverThreadIds": ["child"], "agentsStates": {}});
    let ask = json!({"method": "mcpServer/elicitation/request", "id": 7, "params": {"threadId": "child",
        "turnId": "turn-child-1", "serverName": "tracker", "message": "Where?"}});
    let begun = [
        thread(json!({"id": "main"})),
        begins("main", "turn-long-1"),
        item("main", "turn-long-1", spawn),
        begins("child", "turn-child-1"),
    ];
    let behind = [
        item("child", "turn-child-1", says("m1", "One")),
        ask.clone(),
        begins("main", "turn-long-2"),
        item("child", "turn-child-1", says("m2", "Two")),
    ];
    let places = |lines: &[Value]| {
        let events = read(lines);
        let of_child = events.into_iter().filter(|event| {
            matches!(
                event.payload,
                Payload::AssistantDone(_) | Payload::QuestionRequest(_)
            )
        });
        let places = of_child.map(|event| (event.turn_id, event.parent_tool_call_id));
        places.collect::<Vec<_>>()
    };
    let within = |turn: Option<&str>| (turn.map(str::to_owned), Some("s".to_owned()));
    let first = within(Some("turn-long-1"));
    let over = [&begun[..], &[ends("main", "turn-long-1")], &behind].concat();
    assert_eq!(places(&over), [first.clone(), within(None), first.clone()]);
    assert_eq!(places(&[&begun[..], &[ask]].concat()), [first]);
}

#[test]
fn what_another_thread_said_before_is_not_of_this_session() {
    let turn = json!({"id": "turn-long-1", "status": "completed", "items": [says("m", "Answer")]});
    let answer = |id: u32, thread: &str| {
        let forked = json!({"id": thread, "forkedFromId": "main", "turns": [turn]});
        json!({"id": id, "result": {"thread": forked}})
    };
    let lines = [
        answer(1, "main"),
        answer(2, "other"),
        begins("other", "turn-other-1"),
        ends("other", "turn-other-1"),
    ];
    let notice = "notice from here on turns of another thread, other, are among these";
    assert_eq!(
        told(&read(&lines)),
        [
            "turn user",
            "done Answer",
            "end completed",
            "turn user",
            notice,
            "end completed"
        ]
    );
}

#[test]
fn what_goes_on_in_a_thread_that_is_taken_up_again_gets_its_result() {
    let command = |status: &str, code: Option<i64>| {
        json!({"type": "commandExecution", "id": "c", "command": "make",
        "status": status, "aggregatedOutput": null, "exitCode": code})
    };
    let before = |status: &str| {
        let turn = json!({"id": "turn-before-1", "status": status, "items": [command("inProgress", None)]});
        json!({"id": 1, "result": {"thread": {"id": "main", "turns": [turn]}}})
    };
    let results = |lines: &[Value]| {
        let events = read(lines).into_iter();
        let results = events.filter_map(|event| match event.payload {
            Payload::ToolResult(result) => {
                Some((result.exit_code, result.error.and_then(|error| error.code)))
            }
            Payload::PermissionResolved(resolved) => Some((None, Some(resolved.decision))),
            _ => None,
        });
        results.collect::<Vec<_>>()
    };
    let word = |word: &str| Some(word.to_owned());
    let ask = json!({"method": "item/commandExecution/requestApproval", "id": 7, "params":
        {"threadId": "main", "turnId": "turn-before-1", "itemId": "c", "command": "make"}});
    let done = item("main", "turn-before-1", command("failed", Some(2)));
    assert_eq!(
        results(&[before("inProgress"), ask, done]),
        [(None, word("allow")), (Some(2), word("exit_code"))]
    );
    assert_eq!(
        results(&[before("interrupted")]),
        [(None, word("no_result"))]
    );
}
