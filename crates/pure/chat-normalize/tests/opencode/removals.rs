//! Answers and calls that are removed while they are open.

use super::*;
use crate::support::told;

fn begun() -> Vec<Value> {
    let part = json!({"id": "prt_0", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "Hi"});
    vec![
        bus(
            "session.created",
            json!({"info": {"id": "ses_1", "version": "1.18.33"}}),
        ),
        info("msg_1", None, json!({})),
        bus("message.part.updated", json!({ "part": part })),
        busy(),
        info("msg_2", Some("msg_1"), json!({"time": {"created": 1}})),
    ]
}

fn idle() -> [Value; 2] {
    let rests = bus("session.status", json!({"status": {"type": "idle"}}));
    [rests, bus("session.idle", json!({}))]
}

fn statuses(events: &[ChatEvent]) -> Vec<String> {
    let status = |event: &ChatEvent| match &event.payload {
        Payload::SessionStatus(status) => Some(status.status.clone()),
        _ => None,
    };
    events.iter().filter_map(status).collect()
}

#[test]
fn a_session_rests_whose_open_answer_was_removed() {
    let open = bus(
        "message.part.updated",
        json!({"part": {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_2", "type": "text", "text": "He", "time": {"start": 1}}}),
    );
    let removed = bus("message.removed", json!({"messageID": "msg_2"}));
    let [rests, last_word] = idle();
    let orders = [
        [removed.clone(), rests.clone(), last_word.clone()],
        [rests.clone(), removed.clone(), last_word.clone()],
        [rests, last_word, removed],
    ];
    for end in orders {
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        for line in begun().iter().chain([&open]).chain(&end) {
            let line = format!("{line}\n");
            reader.push(line.as_bytes(), 0, &mut events).unwrap();
        }
        // Before the source ended.
        assert_eq!(statuses(&events), ["busy", "idle"]);
        reader.finish(0, &mut events).unwrap();
        assert_sound("removed", &events);
        assert_eq!(told(&events).last().unwrap(), "end completed");
    }
}

#[test]
fn a_call_that_was_removed_gets_no_result_and_its_question_no_answer() {
    for state in [
        json!({"status": "running", "input": {"command": "x"}, "time": {"start": 1}}),
        json!({"status": "pending", "input": {}, "raw": "{\"comm"}),
    ] {
        let part = json!({"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_2", "type": "tool", "tool": "bash",
            "callID": "c1", "state": state});
        let asked = json!({"id": "per_1", "permission": "bash", "patterns": ["x"], "metadata": {},
            "tool": {"messageID": "msg_2", "callID": "c1"}});
        let lines = [
            begun(),
            vec![
                bus("message.part.updated", json!({ "part": part })),
                bus("permission.asked", asked),
                bus(
                    "message.part.removed",
                    json!({"messageID": "msg_2", "partID": "prt_1"}),
                ),
            ],
            idle().to_vec(),
        ]
        .concat();
        let events = read(&lines).0;
        let kinds: Vec<&str> = events.iter().map(ChatEvent::event_type).collect();
        assert!(!kinds.contains(&"tool_result"), "{kinds:?}");
        let at = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
        assert!(at("permission_resolved") < at("retract"), "{kinds:?}");
    }
}
