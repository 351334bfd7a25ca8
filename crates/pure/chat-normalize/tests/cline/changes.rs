//! Lines that say how a task's document changed, beside what else may stand there.

use super::{BEGAN_MS, ask, say, task, with};
use crate::support::{assert_sound, read_lines, told};
use chat_normalize::{AT_REST, Context, Dialect, SessionReader, TaskLine};
use serde_json::{Value, json};

fn changed(message: &Value) -> Value {
    serde_json::from_str(&TaskLine::changed(&message.to_string())).unwrap()
}

fn left(messages: &[Value]) -> Value {
    let messages: Vec<String> = messages.iter().map(Value::to_string).collect();
    serde_json::from_str(&TaskLine::left(messages.iter().map(String::as_str))).unwrap()
}

#[test]
fn a_question_that_is_answered_in_its_own_message_is_answered_once() {
    let asked = ask(
        "followup",
        1,
        r#"{"question":"Which?","options":["A","B"]}"#,
    );
    let chosen = r#"{"question":"Which?","options":["A","B"],"selected":"B"}"#;
    let again = with(ask("followup", 1, chosen), "isAnswered", json!(true));
    let lines = [
        say("task", 0, "Go"),
        asked,
        changed(&again),
        changed(&again),
    ];
    let events = task(&lines);
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event.payload.event_type())
        .collect();
    let count = |kind: &str| kinds.iter().filter(|it| **it == kind).count();
    assert_eq!(
        (count("question_request"), count("question_resolved")),
        (1, 1)
    );
}

#[test]
fn what_a_request_is_put_together_from_is_told_once_it_is() {
    let quoted = "[read_file for 'a'] Result:\n1";
    let loading = json!({"request": format!("{quoted}\n\nLoading...")});
    let whole = json!({"request": format!("{quoted}\n\n<environment_details>\n# Current Working Directory (/w) Files\n")});
    let call = say("tool", 1, r#"{"tool":"readFile","path":"a"}"#);
    let begin = [
        say("task", 0, "Go"),
        call,
        say("api_req_started", 2, &loading.to_string()),
    ];
    let result = format!("result c{} 1", BEGAN_MS + 1);
    for more in [
        vec![changed(&say("api_req_started", 2, &whole.to_string()))],
        vec![say("text", 3, "So.")],
        vec![],
    ] {
        let lines = [&begin[..], &more].concat();
        let told = told(&task(&lines));
        assert!(told.contains(&result), "{told:#?}");
    }
}

#[test]
fn who_it_is_may_be_told_from_outside() {
    let mut reader = SessionReader::new(Context {
        agent: Some("Kilo Code".to_owned()),
        ..Context::default()
    });
    let mut events = Vec::new();
    let request = say("api_req_started", 1, r#"{"apiProtocol":"openai"}"#);
    for line in [say("text", 0, "Go"), request] {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), AT_REST, &mut events).unwrap();
    }
    assert_eq!(super::facts(&events)["agent"], "Kilo Code");
}

#[test]
fn changes_of_what_is_none_are_nothing() {
    let odd = [
        json!({"$changed": null}),
        json!({"$changed": {"$changed": say("text", 0, "x")}}),
        json!({"$left": null}),
        json!({"$left": [1, null, {}, {"ts": "x"}]}),
        left(&[]),
        changed(&say("text", 77, "never told")),
        changed(&say("api_req_started", 77, "{}")),
        left(&[say("user_feedback", 77, "")]),
        json!({"$at": -1, "$left": 1}),
    ];
    let lines = [&[say("task", 0, "Go")][..], &odd, &[say("text", 1, "Hi")]].concat();
    let read = read_lines(Dialect::ClineTask, &lines);
    assert_sound("cline", &read.events);
    assert!(told(&read.events).contains(&"done Hi".to_owned()));
    let session = json!({"version": 1, "sessionId": "s", "agent": "lead", "messages": [{"id": "a", "role": "user", "content": "Go"}]});
    let lines = [&[session][..], &odd].concat();
    assert_sound("cline", &read_lines(Dialect::ClineSession, &lines).events);
}
