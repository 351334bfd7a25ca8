//! What the bus of a session tells of rows, given one by one.

use super::super::event_table::Data;
use super::*;

fn row(seq: i64, kind: &str, data: &Value) -> Event {
    Event {
        rowid: seq + 1,
        id: format!("evt_{seq}"),
        session: "ses_1".to_owned(),
        seq,
        kind: format!("{kind}.1"),
        data: Data::Text(data.to_string()),
    }
}

fn begin() -> Event {
    let info = json!({"id": "ses_1", "directory": "/w", "title": "t", "time": {"created": 1}});
    row(
        0,
        "session.created",
        &json!({"sessionID": "ses_1", "info": info}),
    )
}

fn message(seq: i64, role: &str) -> Event {
    let info = json!({"id": format!("msg_{seq}"), "sessionID": "ses_1", "role": role,
        "time": {"created": 1_790_000_000_000_i64 + seq}, "agent": "build",
        "model": {"providerID": "p", "modelID": "m"}});
    row(
        seq,
        "message.updated",
        &json!({"sessionID": "ses_1", "info": info}),
    )
}

fn text(seq: i64, of: i64) -> Event {
    let part = json!({"id": format!("prt_{seq}"), "messageID": format!("msg_{of}"),
        "sessionID": "ses_1", "type": "text", "text": "Hi"});
    row(
        seq,
        "message.part.updated",
        &json!({"sessionID": "ses_1", "part": part}),
    )
}

#[test]
fn a_prompt_after_an_end_that_was_told_is_new_work() {
    let told = Told {
        seqs: [("ses_1".to_owned(), 4)].into(),
        ended: true,
        ..Told::default()
    };
    let mut bus = Bus::new(Agent::OpenCode, told);
    let mut events = Vec::new();
    // It was cut off in the middle of an answer.
    for row in [
        begin(),
        message(1, "user"),
        text(2, 1),
        message(3, "assistant"),
        text(4, 3),
    ] {
        bus.feed(row, &mut events);
    }
    assert!(events.is_empty(), "{events:?}");
    for row in [
        message(5, "user"),
        text(6, 5),
        message(7, "assistant"),
        text(8, 7),
    ] {
        bus.feed(row, &mut events);
    }
    let is_busy = |event: &ChatEvent| matches!(&event.payload, chat_event::Payload::SessionStatus(it) if it.status == "busy");
    assert!(events.iter().any(is_busy), "{events:?}");
}

#[test]
fn a_row_that_cannot_be_read_is_named_once() {
    let broken = || Event {
        data: Data::Text("{\"sessionID\":".to_owned()),
        ..row(1, "message.updated", &json!({}))
    };
    let long = Event {
        data: Data::Long(20_000_000),
        ..row(2, "message.part.updated", &json!({}))
    };
    let mut bus = Bus::new(Agent::OpenCode, Told::default());
    let mut events = Vec::new();
    for row in [begin(), broken(), long, broken()] {
        bus.feed(row, &mut events);
    }
    let notices = events.iter().filter_map(|event| match &event.payload {
        chat_event::Payload::Notice(notice) => Some((&*event.session_id, &*notice.text)),
        _ => None,
    });
    let notices: Vec<(&str, &str)> = notices.collect();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices.iter().all(|(session, _)| *session == "ses_1"));
    assert!(
        notices[0]
            .1
            .starts_with("Row 2 (message.updated.1) could not be read: ")
    );
    assert!(notices[1].1.contains("20000000 bytes"), "{notices:?}");
}

/// The answer of a message is whole, and no word says how it ended.
fn whole(seq: i64, of: i64) -> Event {
    let mut whole = message(seq, "assistant");
    if let Data::Text(data) = &mut whole.data {
        *data = data
            .replace(&format!("msg_{seq}"), &format!("msg_{of}"))
            .replace("\"created\"", "\"completed\":1790000000005,\"created\"");
    }
    whole
}

fn n_ends(events: &[ChatEvent]) -> usize {
    let is_end = |event: &&ChatEvent| matches!(event.payload, chat_event::Payload::TurnEnd(_));
    events.iter().filter(is_end).count()
}

/// The agent makes room where the model's context was too small for it, and goes on.
#[test]
fn an_answer_that_was_cut_off_ends_no_turn() {
    let step =
        json!({"id": "prt_4", "messageID": "msg_3", "sessionID": "ses_1", "type": "step-start"});
    let step = row(
        4,
        "message.part.updated",
        &json!({"sessionID": "ses_1", "part": step}),
    );
    for rows in [vec![], vec![step]] {
        let mut bus = Bus::new(Agent::OpenCode, Told::default());
        let mut events = Vec::new();
        let prompted = [
            begin(),
            message(1, "user"),
            text(2, 1),
            message(3, "assistant"),
        ];
        for row in prompted.into_iter().chain(rows).chain([whole(5, 3)]) {
            bus.feed(row, &mut events);
        }
        assert!(!events.is_empty());
        assert_eq!(n_ends(&events), 0, "{events:?}");
    }
}

/// The message of a command that the user ran is over before its call, and says not how it ended.
#[test]
fn a_command_of_the_user_is_over_with_its_call() {
    let call = |seq: i64, status: &str| {
        let state = json!({"status": status, "input": {"command": "ls"}, "output": "a", "title": "",
            "metadata": {"output": "a"}, "time": {"start": 1_790_000_000_003_i64, "end": 1_790_000_000_004_i64}});
        let part = json!({"id": "prt_call", "messageID": "msg_3", "sessionID": "ses_1", "type": "tool",
            "tool": "bash", "callID": "c", "state": state});
        row(
            seq,
            "message.part.updated",
            &json!({"sessionID": "ses_1", "part": part}),
        )
    };
    let mut bus = Bus::new(Agent::OpenCode, Told::default());
    let mut events = Vec::new();
    let rows = [
        begin(),
        message(1, "user"),
        text(2, 1),
        message(3, "assistant"),
        call(4, "running"),
        whole(5, 3),
    ];
    for row in rows {
        bus.feed(row, &mut events);
    }
    assert_eq!(n_ends(&events), 0, "{events:?}");
    bus.feed(call(6, "completed"), &mut events);
    assert_eq!(n_ends(&events), 1, "{events:?}");
    let result = events.iter().find_map(|event| match &event.payload {
        chat_event::Payload::ToolResult(result) => Some(result.error.is_none()),
        _ => None,
    });
    assert_eq!(result, Some(true));
}

/// A part of an answer: a text or a thought that has begun or is whole, or a call.
fn part(seq: i64, message: i64, part: &Value) -> Event {
    let mut part = part.clone();
    part["messageID"] = json!(format!("msg_{message}"));
    part["sessionID"] = json!("ses_1");
    row(
        seq,
        "message.part.updated",
        &json!({"sessionID": "ses_1", "part": part}),
    )
}

fn begun(id: &str) -> Value {
    json!({"id": id, "type": "text", "text": "", "time": {"start": 1_790_000_000_004_i64}})
}

fn said(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "text", "text": text,
        "time": {"start": 1_790_000_000_004_i64, "end": 1_790_000_000_009_i64}})
}

fn call(status: &str) -> Value {
    let state = json!({"status": status, "input": {"command": "ls"}, "output": "a", "title": "",
        "metadata": {"output": "a"}, "time": {"start": 1_790_000_000_005_i64, "end": 1_790_000_000_006_i64}});
    json!({"id": "prt_call", "type": "tool", "tool": "bash", "callID": "c", "state": state})
}

fn prompted() -> Vec<Event> {
    vec![
        begin(),
        message(1, "user"),
        text(2, 1),
        message(3, "assistant"),
        part(4, 3, &json!({"id": "prt_4", "type": "step-start"})),
        part(5, 3, &begun("prt_5")),
    ]
}

/// What is told of an answer's text and of its call, in its order.
fn told(events: &[ChatEvent]) -> Vec<&str> {
    let types = events.iter().map(ChatEvent::event_type);
    let wanted = ["assistant_done", "tool_call", "tool_result"];
    types.filter(|it| wanted.contains(it)).collect()
}

#[test]
fn a_call_stands_below_the_text_that_announces_it() {
    let rows = || {
        let mut rows = prompted();
        rows.extend([
            part(6, 3, &call("pending")),
            part(7, 3, &call("running")),
            message(8, "user"),
            part(9, 3, &said("prt_5", "I'll look.")),
            part(10, 3, &call("completed")),
        ]);
        rows
    };
    let mut bus = Bus::new(Agent::OpenCode, Told::default());
    let mut events = Vec::new();
    let mut upto = 0;
    for row in rows() {
        let seq = row.seq;
        bus.feed(row, &mut events);
        let seqs = &bus.reading.told.seqs;
        // Who begins anew while a row waits reads it again.
        let last = if (6..9).contains(&seq) { 5 } else { seq };
        assert_eq!(seqs.get("ses_1"), Some(&last));
        if seq == 8 {
            upto = events.len();
        }
    }
    assert_eq!(
        told(&events),
        ["assistant_done", "tool_call", "tool_result"]
    );
    // One that was told up to there goes on with the same.
    let told = Told {
        seqs: [("ses_1".to_owned(), 5)].into(),
        ..Told::default()
    };
    let mut bus = Bus::new(Agent::OpenCode, told);
    let mut rest = Vec::new();
    for row in rows() {
        bus.feed(row, &mut rest);
    }
    assert_eq!(rest, events[upto..]);
}

#[test]
fn a_call_waits_no_longer_than_for_the_end_of_its_step_or_a_second() {
    let ends = [
        part(7, 3, &json!({"id": "prt_7", "type": "step-finish"})),
        whole(7, 3),
        message(7, "assistant"),
    ];
    for end in ends {
        let mut bus = Bus::new(Agent::OpenCode, Told::default());
        let mut events = Vec::new();
        for row in prompted() {
            bus.feed(row, &mut events);
        }
        bus.feed(part(6, 3, &call("running")), &mut events);
        assert!(told(&events).is_empty(), "{events:?}");
        bus.feed(end, &mut events);
        assert_eq!(told(&events)[0], "tool_call");
        assert!(!bus.reading.holds_back);
    }
    let mut bus = Bus::new(Agent::OpenCode, Told::default());
    let mut events = Vec::new();
    for row in prompted() {
        bus.feed(row, &mut events);
    }
    bus.feed(part(6, 3, &call("running")), &mut events);
    bus.let_go(Some(Instant::now()), &mut events);
    assert!(told(&events).is_empty() && bus.reading.holds_back);
    let later = Instant::now() + std::time::Duration::from_secs(1);
    bus.let_go(Some(later), &mut events);
    assert_eq!(told(&events), ["tool_call"]);
    // And the others do not wait for that text again.
    bus.feed(part(7, 3, &call("completed")), &mut events);
    bus.feed(part(8, 3, &said("prt_5", "I'll look.")), &mut events);
    assert_eq!(
        told(&events),
        ["tool_call", "tool_result", "assistant_done"]
    );
}

#[test]
fn so_many_rows_wait_at_most() {
    let mut bus = Bus::new(Agent::OpenCode, Told::default());
    let mut events = Vec::new();
    for row in prompted() {
        bus.feed(row, &mut events);
    }
    for seq in 6..600 {
        bus.feed(part(seq, 3, &call("running")), &mut events);
    }
    assert_eq!(told(&events), ["tool_call"]);
    assert_eq!(bus.reading.told.seqs["ses_1"], 599);
}
