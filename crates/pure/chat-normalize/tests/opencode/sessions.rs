//! Sessions that share a bus.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::status;
use crate::support::{read_lines_as_one, sessions_of, told};

#[test]
fn in_one_session_others_of_the_bus_are_said_once_and_counted() {
    let mut lines = vec![status("ses_1", "busy")];
    for n in 2..5 {
        lines.push(status(&format!("ses_{n}"), "busy"));
        lines.push(status(&format!("ses_{n}"), "idle"));
    }
    lines.push(status("ses_1", "idle"));
    let read = read_lines_as_one(Dialect::OpenCodeEvents, &lines);
    let (events, report) = (read.events, read.report);
    let notices: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::Notice(notice) => Some(notice.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        [
            "the bus tells of another session, too: ses_2 is not read",
            "3 other sessions of the bus were not read",
        ]
    );
    assert_eq!(report.passed_over["event of another session"], 6);
}

#[test]
fn sessions_that_share_a_bus_are_sessions_of_their_own() {
    let created = |session: &str, parent: Option<&str>| {
        json!({"type": "session.created",
        "properties": {"info": {"id": session, "parentID": parent}}})
    };
    let message = |session: &str, id: &str, role: &str, rest: Value| {
        let mut info = json!({"id": id, "sessionID": session, "role": role});
        for (key, value) in rest.as_object().unwrap() {
            info[key] = value.clone();
        }
        json!({"type": "message.updated", "properties": {"info": info}})
    };
    let part = |session: &str, message: &str, id: &str, rest: Value| {
        let mut part = json!({"id": id, "sessionID": session, "messageID": message});
        for (key, value) in rest.as_object().unwrap() {
            part[key] = value.clone();
        }
        json!({"type": "message.part.updated", "properties": {"part": part}})
    };
    let says = |text: &str| json!({"type": "text", "text": text, "time": {"start": 1, "end": 2}});
    let task = json!({"type": "tool", "tool": "task", "callID": "c", "state": {"status": "running",
        "input": {"description": "Look"}, "metadata": {"sessionId": "ses_c"}}});
    let whole = json!({"parentID": "m1", "finish": "stop", "time": {"created": 1, "completed": 2}});
    let lines = [
        status("ses_a", "busy"),
        created("ses_b", None),
        status("ses_b", "busy"),
        message("ses_a", "ma", "assistant", json!({"parentID": "m0"})),
        message("ses_b", "mb", "assistant", json!({"parentID": "m1"})),
        part("ses_a", "ma", "p1", task),
        // Who works for another, by its call and by its own word; and who does nothing.
        message("ses_c", "mc", "assistant", json!({})),
        created("ses_d", Some("ses_b")),
        json!({"type": "session.updated", "properties": {"info": {"id": "ses_e", "title": "Old"}}}),
        part("ses_b", "mb", "p1", says("B")),
        part("ses_c", "mc", "p2", says("C")),
        part("ses_d", "md", "p3", says("D")),
        message("ses_b", "mb", "assistant", whole),
        status("ses_b", "idle"),
        status("ses_a", "busy"),
    ];
    let sessions = sessions_of(Dialect::OpenCodeEvents, &lines);
    let told: Vec<(&str, String)> = sessions
        .iter()
        .map(|(id, events)| (id.as_str(), told(events).join("; ")))
        .collect();
    assert_eq!(
        told,
        [
            (
                "ses_a",
                "turn user; call c task; done C; failed c no_result; end interrupted".to_owned()
            ),
            (
                "ses_b",
                "turn user; done B; done D; end completed".to_owned()
            ),
        ]
    );
    let statuses = |id: &str| {
        let statuses = sessions[id]
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::SessionStatus(status) => Some(status.status.as_str()),
                _ => None,
            });
        statuses.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        (statuses("ses_a"), statuses("ses_b")),
        ("busy idle".to_owned(), "busy idle".to_owned())
    );
}
