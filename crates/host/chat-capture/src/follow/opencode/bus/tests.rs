//! What the bus of a session tells of rows, given one by one.

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
        bus.feed(&row, &mut events);
    }
    assert!(events.is_empty(), "{events:?}");
    for row in [
        message(5, "user"),
        text(6, 5),
        message(7, "assistant"),
        text(8, 7),
    ] {
        bus.feed(&row, &mut events);
    }
    let is_busy = |event: &ChatEvent| matches!(&event.payload, chat_event::Payload::SessionStatus(it) if it.status == "busy");
    assert!(events.iter().any(is_busy), "{events:?}");
}

#[test]
fn a_row_that_cannot_be_read_is_named_once() {
    let broken = Event {
        data: Data::Text("{\"sessionID\":".to_owned()),
        ..row(1, "message.updated", &json!({}))
    };
    let long = Event {
        data: Data::Long(20_000_000),
        ..row(2, "message.part.updated", &json!({}))
    };
    let mut bus = Bus::new(Agent::OpenCode, Told::default());
    let mut events = Vec::new();
    for row in [&begin(), &broken, &long, &broken] {
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
            bus.feed(&row, &mut events);
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
        bus.feed(&row, &mut events);
    }
    assert_eq!(n_ends(&events), 0, "{events:?}");
    bus.feed(&call(6, "completed"), &mut events);
    assert_eq!(n_ends(&events), 1, "{events:?}");
    let result = events.iter().find_map(|event| match &event.payload {
        chat_event::Payload::ToolResult(result) => Some(result.error.is_none()),
        _ => None,
    });
    assert_eq!(result, Some(true));
}
