//! Threads of one app-server: sub-agents that outlive a turn, sessions beside the first, turns from before.

use crate::support::{assert_sound, read_lines, read_lines_as_one, sessions_of, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn read(lines: &[Value]) -> Vec<ChatEvent> {
    let events = read_lines(Dialect::CodexAppServer, lines).events;
    assert_sound("codex-app-server", &events);
    events
}

fn read_as_one(lines: &[Value]) -> Vec<ChatEvent> {
    let events = read_lines_as_one(Dialect::CodexAppServer, lines).events;
    assert_sound("codex-app-server", &events);
    events
}

/// What is told of each session.
fn told_of_sessions(lines: &[Value]) -> Vec<(String, Vec<String>)> {
    let sessions = sessions_of(Dialect::CodexAppServer, lines).into_iter();
    let told = sessions.map(|(id, events)| (id, told(&events)));
    told.collect()
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
fn in_one_session_a_thread_that_nobody_started_has_turns_and_a_notice() {
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
    let events = read_as_one(&lines(json!({"id": "other"})));
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
        told(&read_as_one(&lines)),
        [
            "turn user",
            "done Answer",
            "end completed",
            "turn user",
            notice,
            "end completed"
        ]
    );
    // By itself it is a session that was only looked at, and is there when work begins in it.
    let turn = ["turn user", "end completed"].map(str::to_owned);
    let sessions = told_of_sessions(&lines);
    assert_eq!(sessions[1], ("other".to_owned(), turn.to_vec()));
    assert_eq!(sessions.len(), 2);
}

#[test]
fn threads_that_run_side_by_side_are_sessions_of_their_own() {
    let boom = json!({"method": "error", "params": {"threadId": "two", "turnId": "turn-of-two-1",
        "error": {"message": "boom"}}});
    let ask = json!({"method": "item/commandExecution/requestApproval", "id": 7, "params":
        {"threadId": "two", "turnId": "turn-of-two-1", "itemId": "c", "command": "make"}});
    let answer = json!({"dir": "client", "msg": {"id": 7, "result": {"decision": "accept"}}});
    let lines = [
        thread(json!({"id": "one", "cliVersion": "1"})),
        begins("one", "turn-of-one-1"),
        thread(json!({"id": "two", "cliVersion": "1", "cwd": "/two"})),
        begins("two", "turn-of-two-1"),
        item("one", "turn-of-one-1", says("m", "One")),
        ask,
        item("two", "turn-of-two-1", says("m", "Two")),
        item("two", "turn-of-two-1", activity("s", "started")),
        answer,
        boom,
        begins("child", "turn-child-1"),
        item("child", "turn-child-1", says("m", "Child")),
        ends("one", "turn-of-one-1"),
        thread(json!({"id": "guest", "parentThreadId": "one"})),
        begins("guest", "turn-guest-1"),
        item("guest", "turn-guest-1", says("m", "Guest")),
        ends("two", "turn-of-two-1"),
        begins("one", "turn-of-one-2"),
        ends("one", "turn-of-one-2"),
    ];
    let sessions = told_of_sessions(&lines);
    let of = |at: usize| (sessions[at].0.as_str(), sessions[at].1.join("; "));
    let turn = "turn user; end completed";
    let one = format!("turn user; done One; end completed; done Guest; {turn}");
    assert_eq!(of(0), ("one", one));
    let two = "turn user; asked request-7; done Two; call s spawn_agent; answered allow; error  boom; done Child; \
               end completed; failed s no_result";
    assert_eq!(of(1), ("two", two.to_owned()));
    assert_eq!(sessions.len(), 2);
    // What stands in one stands there in one alone, and each rests when its own turns are over.
    let events = sessions_of(Dialect::CodexAppServer, &lines);
    for (id, n_turns) in [("one", 2), ("two", 1)] {
        let idle = |event: &&ChatEvent| matches!(&event.payload, Payload::SessionStatus(status) if status.status == "idle");
        let ends = |event: &&ChatEvent| matches!(&event.payload, Payload::SessionEnd(_));
        let starts = |event: &&ChatEvent| matches!(&event.payload, Payload::SessionStart(_));
        let of = &events[id];
        let count = |is: &dyn Fn(&&ChatEvent) -> bool| of.iter().filter(|event| is(event)).count();
        assert_eq!((count(&starts), count(&ends)), (1, 1), "{id}");
        assert!(count(&idle) >= n_turns, "{id}");
    }
}

#[test]
fn a_fork_is_a_session_with_all_that_was_said_before() {
    let turn = json!({"id": "turn-long-1", "status": "completed", "items": [says("m", "Answer")]});
    let lines = [
        thread(json!({"id": "main"})),
        begins("main", "turn-long-1"),
        item("main", "turn-long-1", says("m", "Answer")),
        ends("main", "turn-long-1"),
        json!({"id": 2, "result": {"model": "made-1", "thread": {"id": "fork", "forkedFromId": "main", "turns": [turn]}}}),
        begins("fork", "turn-long-2"),
        ends("fork", "turn-long-2"),
    ];
    let said = ["turn user", "done Answer", "end completed"].map(str::to_owned);
    let more = ["turn user", "end completed"].map(str::to_owned);
    assert_eq!(
        told_of_sessions(&lines),
        [
            ("fork".to_owned(), [&said[..], &more].concat()),
            ("main".to_owned(), said.to_vec()),
        ]
    );
    let events = sessions_of(Dialect::CodexAppServer, &lines);
    let Payload::SessionStart(start) = &events["fork"][0].payload else {
        panic!("{:?}", events["fork"][0]);
    };
    let from = start.extra.get("forkedFromId");
    let from = from.map(|from| from.as_text().to_string());
    assert_eq!(from.as_deref(), Some("\"main\""));
}

/// What a notice says, and the turns it names.
fn set_backs(events: &[ChatEvent]) -> Vec<(String, Option<String>)> {
    let notices = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => Some((notice.text.clone(), notice.extra.get("leftTurnIds"))),
        _ => None,
    });
    notices
        .map(|(text, left)| (text, left.map(|left| left.as_text().to_string())))
        .collect()
}

#[test]
fn turns_that_were_rolled_back_are_named_once() {
    let user = |turn: &str| {
        let text = json!([{"type": "text", "text": "Ask"}]);
        item(
            "main",
            turn,
            json!({"type": "userMessage", "id": "u", "content": text}),
        )
    };
    let turn = |id: &str| [begins("main", id), user(id), ends("main", id)];
    let begun: Vec<Value> = [thread(json!({"id": "main"}))]
        .into_iter()
        .chain(
            ["turn-long-1", "turn-long-2", "turn-long-3"]
                .iter()
                .flat_map(|id| turn(id)),
        )
        .collect();
    let standing = |ids: &[&str]| {
        let turns: Vec<Value> = ids
            .iter()
            .map(|id| json!({"id": id, "status": "completed", "items": []}))
            .collect();
        json!({"id": 4, "result": {"thread": {"id": "main", "turns": turns}}})
    };
    let asks = json!({"dir": "client", "msg": {"method": "thread/rollback", "id": 4,
        "params": {"threadId": "main", "numTurns": 2}}});
    let reverted = |ids: Value| json!({"method": "thread/reverted", "params": {"threadId": "main", "turnIds": ids}});
    let two = (
        "the user went back: 2 turns before this line were left".to_owned(),
        Some("[\"turn-long-2\",\"turn-long-3\"]".to_owned()),
    );
    let some = (
        "the user went back: turns before this line were left".to_owned(),
        None,
    );
    let answer = standing(&["turn-long-1"]);
    for (lines, wanted) in [
        // Both sides are read, or the server's alone.
        (vec![asks, answer.clone()], vec![two.clone()]),
        (vec![answer.clone()], vec![two.clone()]),
        (vec![answer.clone(), answer.clone()], vec![two.clone()]),
        (
            vec![reverted(json!(["turn-long-2", "turn-long-3"]))],
            vec![two.clone()],
        ),
        // The answer says it, too; and a turn that is named twice is one.
        (
            vec![answer, reverted(json!(["turn-long-2", "turn-long-3"]))],
            vec![two.clone()],
        ),
        (
            vec![reverted(json!([
                "turn-long-3",
                "turn-long-2",
                "turn-long-3"
            ]))],
            vec![two],
        ),
        (vec![reverted(json!(null))], vec![some]),
        // It stands as it was, is not known so, or was not told whole.
        (
            vec![standing(&["turn-long-1", "turn-long-2", "turn-long-3"])],
            vec![],
        ),
        (vec![standing(&["turn-other-1"])], vec![]),
        (vec![standing(&[])], vec![]),
    ] {
        let lines = [&begun[..], &lines].concat();
        assert_eq!(set_backs(&read(&lines)), wanted);
    }
}

#[test]
fn an_error_of_a_turn_has_one_id_live_and_told_again() {
    let error = json!({"message": "boom"});
    let live = [
        thread(json!({"id": "main"})),
        begins("main", "turn-long-1"),
        json!({"method": "error", "params": {"threadId": "main", "turnId": "turn-long-1", "error": error}}),
        json!({"method": "turn/completed", "params": {"threadId": "main",
            "turn": {"id": "turn-long-1", "status": "failed", "error": error}}}),
    ];
    let turn = json!({"id": "turn-long-1", "status": "failed", "error": error, "items": [says("m", "Hm")]});
    let again = [json!({"id": 1, "result": {"thread": {"id": "main", "turns": [turn]}}})];
    let ids = |lines: &[Value]| {
        let errors = read(lines).into_iter();
        let errors = errors.filter(|event| matches!(event.payload, Payload::ErrorEvent(_)));
        errors.map(|event| event.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&live), ["turn-long-1:error"]);
    assert_eq!(ids(&again), ids(&live));
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
