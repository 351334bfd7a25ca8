//! Sessions that the user sets back, and commands that the user runs.

use super::{read, status};
use crate::support::{assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload, SetBack};
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn session(revert: Value) -> Value {
    let info = json!({"id": "ses_1", "version": "1.18.34", "revert": revert});
    json!({"type": "session.updated", "properties": {"sessionID": "ses_1", "info": info}})
}

fn prompt(id: &str) -> Value {
    json!({"info": {"id": id, "sessionID": "ses_1", "role": "user", "time": {"created": 1000}},
        "parts": [{"id": format!("prt_{id}"), "sessionID": "ses_1", "messageID": id, "type": "text", "text": id}]})
}

fn answer(id: &str, to: &str) -> Value {
    json!({"info": {"id": id, "sessionID": "ses_1", "role": "assistant", "parentID": to, "finish": "stop",
        "time": {"created": 1000, "completed": 2000}}, "parts": []})
}

/// A message as the bus tells it.
fn on_bus(message: &Value) -> Vec<Value> {
    let mut events =
        vec![json!({"type": "message.updated", "properties": {"info": message["info"]}})];
    for part in message["parts"].as_array().unwrap() {
        events.push(json!({"type": "message.part.updated", "properties": {"part": part}}));
    }
    events
}

fn turn(prompt_id: &str, answer_id: &str) -> Vec<Value> {
    let mut events = on_bus(&prompt(prompt_id));
    events.push(status("ses_1", "busy"));
    events.extend(on_bus(&answer(answer_id, prompt_id)));
    events.push(status("ses_1", "idle"));
    events
}

/// What notices say, and the turns they name.
fn notices(events: &[ChatEvent]) -> Vec<(String, Option<String>)> {
    let notices = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => {
            let left = notice.extra.get("leftTurnIds");
            let left = left.map(|left| left.as_text().to_string());
            Some((notice.text.clone(), left))
        }
        _ => None,
    });
    notices.collect()
}

fn set_back(to: &str, left: &str) -> (String, Option<String>) {
    let text = format!("the session was set back to what stood before message {to}");
    (text, Some(left.to_owned()).filter(|left| !left.is_empty()))
}

#[test]
fn a_session_that_is_set_back_names_the_turns_once_and_says_that_they_stand_again() {
    let begun = [
        turn("msg_1", "msg_2"),
        turn("msg_3", "msg_4"),
        turn("msg_5", "msg_6"),
    ]
    .concat();
    let to = |id: &str| session(json!({"messageID": id}));
    let removed = |id: &str| json!({"type": "message.removed", "properties": {"sessionID": "ses_1", "messageID": id}});
    let three = set_back("msg_3", r#"["msg_3","msg_5"]"#);
    let again = (
        "the session goes on where it was: what was set back stands again".to_owned(),
        None,
    );
    for (lines, wanted) in [
        (
            vec![to("msg_3"), status("ses_1", "idle"), to("msg_3")],
            vec![three.clone()],
        ),
        (
            vec![to("msg_3"), session(Value::Null)],
            vec![three.clone(), again],
        ),
        (
            vec![to("msg_5"), to("msg_3")],
            vec![set_back("msg_5", r#"["msg_5"]"#), three.clone()],
        ),
        // An answer is set back to: its turn stands.
        (vec![to("msg_4")], vec![set_back("msg_4", r#"["msg_5"]"#)]),
        // The user goes on from there: what was left is gone.
        (
            vec![
                to("msg_3"),
                removed("msg_3"),
                removed("msg_5"),
                session(Value::Null),
                to("msg_1"),
            ],
            vec![three.clone(), set_back("msg_1", r#"["msg_1"]"#)],
        ),
        (vec![session(Value::Null)], vec![]),
    ] {
        let (events, _) = read(&[&begun[..], &lines].concat());
        assert_eq!(notices(&events), wanted);
    }
    // A document says it first.
    let messages = [
        prompt("msg_1"),
        answer("msg_2", "msg_1"),
        prompt("msg_3"),
        answer("msg_4", "msg_3"),
    ];
    let info = json!({"id": "ses_1", "revert": {"messageID": "msg_3"}});
    let export = json!({"info": info, "messages": messages});
    let events = read_lines(Dialect::OpenCodeExport, &[export]).events;
    assert_sound("export", &events);
    assert_eq!(notices(&events), [set_back("msg_3", r#"["msg_3"]"#)]);
}

/// What notices say of turns and files.
fn told_of_turns(lines: &[Value]) -> Vec<SetBack> {
    let (events, _) = read(lines);
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => SetBack::of(notice),
        _ => None,
    });
    told.collect()
}

#[test]
fn turns_stand_again_where_the_session_goes_forward_and_files_are_put_back_from_a_snapshot() {
    let begun = [
        turn("msg_1", "msg_2"),
        turn("msg_3", "msg_4"),
        turn("msg_5", "msg_6"),
    ]
    .concat();
    let set_back = |left: &[&str], again: &[&str], files_restored| SetBack {
        left: left.iter().map(|id| (*id).to_owned()).collect(),
        again: again.iter().map(|id| (*id).to_owned()).collect(),
        files_restored,
        cleared: false,
    };
    let to = |id: &str| session(json!({"messageID": id}));
    let kept = |id: &str| session(json!({"messageID": id, "snapshot": "4b825dc6"}));
    let removed = |id: &str| json!({"type": "message.removed", "properties": {"sessionID": "ses_1", "messageID": id}});
    for (lines, wanted) in [
        (
            vec![kept("msg_3"), to("msg_5"), session(Value::Null)],
            vec![
                set_back(&["msg_3", "msg_5"], &[], true),
                set_back(&["msg_5"], &["msg_3"], false),
                set_back(&[], &["msg_5"], false),
            ],
        ),
        // The user goes on from there: what is left is so for good.
        (
            vec![
                to("msg_5"),
                removed("msg_5"),
                session(Value::Null),
                to("msg_3"),
                session(Value::Null),
            ],
            vec![
                set_back(&["msg_5"], &[], false),
                set_back(&["msg_3"], &[], false),
                set_back(&[], &["msg_3"], false),
            ],
        ),
        (
            vec![session(json!({"messageID": "msg_5", "snapshot": ""}))],
            vec![set_back(&["msg_5"], &[], false)],
        ),
    ] {
        assert_eq!(told_of_turns(&[&begun[..], &lines].concat()), wanted);
    }
}

#[test]
fn a_command_that_the_user_ran_is_what_they_said() {
    let ran = json!({"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "synthetic": true,
        "ignored": true, "text": "The following tool was executed by the user"});
    let call = |status: &str| {
        json!({"id": "prt_2", "sessionID": "ses_1", "messageID": "msg_2", "type": "tool",
        "tool": "bash", "callID": "c", "state": {"status": status, "input": {"command": "make"}, "output": "made\n",
            "metadata": {"output": "made\n", "exit": 0}, "time": {"start": 1000, "end": 2000}}})
    };
    let info = |whole: bool| {
        let time = if whole {
            json!({"created": 1000, "completed": 2000})
        } else {
            json!({"created": 1000})
        };
        json!({"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "time": time})
    };
    let user =
        json!({"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1000}});
    let message = |info: Value| json!({"type": "message.updated", "properties": {"info": info}});
    let part = |part: Value| json!({"type": "message.part.updated", "properties": {"part": part}});
    let bus = [
        message(user.clone()),
        part(ran.clone()),
        message(info(false)),
        part(call("running")),
        part(call("completed")),
        message(info(true)),
        status("ses_1", "idle"),
    ];
    let wanted = [
        "turn user",
        "user !make",
        "call c bash",
        "result c made\n",
        "end completed",
    ];
    let said = |events: &[ChatEvent]| {
        assert_sound("a command", events);
        told(events)
    };
    assert_eq!(said(&read(&bus).0), wanted);
    let messages = [
        json!({"info": user, "parts": [ran]}),
        json!({"info": info(true), "parts": [call("completed")]}),
    ];
    let export = json!({"info": {"id": "ses_1"}, "messages": messages});
    assert_eq!(
        said(&read_lines(Dialect::OpenCodeExport, &[export]).events),
        wanted
    );
}
