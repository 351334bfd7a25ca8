//! ChatEvents as a list: in one line, in a line for each, printed over many, cut off; and as a server answers them.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{AT_REST, Context, Detection, Dialect, SessionReader, detect};
use serde_json::{Value, json};

fn event(n: usize) -> Value {
    json!({
        "id": format!("e{n}"),
        "timestamp": n,
        "sessionId": "s1",
        "type": "user_message",
        "payload": {"text": format!("[{n}], \"{{\"")},
    })
}

/// What the pieces of this size give.
fn read(text: &str, piece: usize) -> Vec<ChatEvent> {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for piece in text.as_bytes().chunks(piece) {
        reader.push(piece, AT_REST, &mut events).unwrap();
    }
    reader.finish(AT_REST, &mut events).unwrap();
    assert_eq!(reader.dialect(), Some(Dialect::ChatEvents), "{text}");
    events
}

#[track_caller]
fn check(text: &str, n_events: usize) {
    for piece in [1, 7, text.len()] {
        let told: Vec<String> = read(text, piece).iter().map(ChatEvent::to_line).collect();
        let wanted: Vec<String> = (0..n_events)
            .map(|n| {
                ChatEvent::from_json(&event(n).to_string())
                    .unwrap()
                    .to_line()
            })
            .collect();
        assert_eq!(told, wanted, "in pieces of {piece}: {text}");
    }
    assert_eq!(
        detect(text.as_bytes(), true),
        Detection::Found(Dialect::ChatEvents)
    );
}

/// The events of a list, one a line.
fn lines(n_events: usize) -> Vec<String> {
    (0..n_events).map(|n| event(n).to_string()).collect()
}

#[test]
fn a_list_is_read_as_its_events_however_it_is_laid_out() {
    let all: Vec<Value> = (0..3).map(event).collect();
    check(&json!(all).to_string(), 3);
    check(&format!("{}\n", json!(all)), 3);
    check(&serde_json::to_string_pretty(&all).unwrap(), 3);
    // As `turnreel export --to json` and the page write it.
    check(&format!("[\n{}\n]\n", lines(3).join(",\n")), 3);
    check(&format!("[{}]", lines(3).join(",\n")), 3);
    check(&format!("[\r\n{}\r\n]\r\n", lines(3).join(",\r\n")), 3);
    check(&format!("[\n{}\n]", lines(3).join("\n,\n")), 3);
    check(&json!([event(0)]).to_string(), 1);
}

#[test]
fn what_a_server_answers_is_read_as_its_events() {
    let all: Vec<Value> = (0..3).map(event).collect();
    let answer = json!({"epoch": "x", "head": 3, "events": all});
    check(&answer.to_string(), 3);
    check(&serde_json::to_string_pretty(&answer).unwrap(), 3);
}

#[test]
fn a_list_with_a_line_for_each_event_may_be_as_long_as_any_log() {
    let long = "x".repeat(1 << 20);
    let of = |n: usize| {
        let mut event = event(n);
        event["payload"]["text"] = json!(long);
        event.to_string()
    };
    let text = format!(
        "[\n{}\n]\n",
        (0..20).map(of).collect::<Vec<_>>().join(",\n")
    );
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    let (head, rest) = text.as_bytes().split_at(3 << 20);
    reader.push(head, AT_REST, &mut events).unwrap();
    assert!(!events.is_empty(), "it is read while it comes");
    reader.push(rest, AT_REST, &mut events).unwrap();
    reader.finish(AT_REST, &mut events).unwrap();
    let messages = events.iter();
    let n_messages = messages.filter(|event| matches!(event.payload, Payload::UserMessage(_)));
    assert_eq!((n_messages.count(), events.len()), (20, 20));
}

#[test]
fn an_event_that_is_too_long_is_told_by_its_place_and_the_others_are_read() {
    let mut first = event(0);
    // One that a later version knows.
    first["type"] = json!("weather");
    let mut long = event(1);
    long["payload"]["text"] = json!("x".repeat(17 << 20));
    let text = format!("[\n{first},\n{long},\n{}\n]\n", event(2));
    let events = read(&text, 1 << 20);
    let [first, told, last] = events.as_slice() else {
        panic!("{} events", events.len());
    };
    assert_eq!((first.id.as_str(), last.id.as_str()), ("e0", "e2"));
    let Payload::Notice(notice) = &told.payload else {
        panic!("{}", told.event_type());
    };
    let why = "Line 3 could not be read: it is longer than 16 MiB";
    assert_eq!((notice.text.as_str(), notice.line), (why, Some(3)));
}

#[test]
fn of_a_list_that_is_cut_off_the_events_before_are_read_and_the_rest_is_told() {
    let all: Vec<Value> = (0..3).map(event).collect();
    for text in [
        json!(all).to_string(),
        serde_json::to_string_pretty(&all).unwrap(),
        format!("[\n{}\n]\n", lines(3).join(",\n")),
    ] {
        let cut = &text[..text.rfind("\"payload\"").unwrap()];
        let events = read(cut, cut.len());
        let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(ids[..2], ["e0", "e1"], "{cut}");
        let [_, _, last] = events.as_slice() else {
            panic!("{ids:?} of {cut}");
        };
        assert!(matches!(&last.payload, Payload::Notice(_)), "{cut}");
    }
}

/// The ids of the events, and of what could not be read why and what stands there.
fn told(events: &[ChatEvent]) -> (Vec<&str>, Vec<(String, String)>) {
    let mut ids = Vec::new();
    let mut unread = Vec::new();
    for event in events {
        match &event.payload {
            Payload::Notice(notice) => {
                let found = notice.extra.get("found").unwrap().as_str().unwrap();
                unread.push((notice.text.clone(), found.into_owned()));
            }
            _ => ids.push(event.id.as_str()),
        }
    }
    (ids, unread)
}

#[test]
fn an_item_that_is_no_event_costs_itself_and_is_told_with_its_place() {
    let wrong = json!({"id": 5, "type": "turn_end", "payload": {}});
    let all = json!([event(0), wrong, event(2), 7, event(4)]);
    let text = all.to_string();
    let why = "id: invalid type: integer `5`, expected a string";
    let at = text.find("{\"id\":5").unwrap() + 1;
    for piece in [1, 50, text.len()] {
        let events = read(&text, piece);
        let (ids, unread) = told(&events);
        assert_eq!(ids, ["e0", "e2", "e4"]);
        let [(first, found), (_, other)] = &unread[..] else {
            panic!("{unread:?}");
        };
        let wanted = format!("Line 1 could not be read: {why}, in what begins at byte {at}");
        assert_eq!((first, found), (&wanted, &wrong.to_string()));
        assert_eq!(other, "7");
        let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(ids, ["e0", "l1:unreadable", "e2", "l1:unreadable2", "e4"]);
    }
    let printed = serde_json::to_string_pretty(&all).unwrap();
    let events = read(&printed, 100);
    let (ids, unread) = told(&events);
    assert_eq!(ids, ["e0", "e2", "e4"]);
    let line = printed
        .lines()
        .position(|line| line.contains("\"id\": 5"))
        .unwrap();
    let place = format!("in what begins at byte 3 of line {line}");
    assert!(unread[0].0.ends_with(&place), "{unread:?}");
}

#[test]
fn an_item_that_is_torn_costs_itself() {
    let [first, torn, third, last] = [0, 1, 2, 3].map(|n| event(n).to_string());
    for cut in 1..torn.len() {
        let torn = &torn[..cut];
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::ChatEvents);
        let mut events = Vec::new();
        let text = format!("[{first},{torn}{third},{last}]");
        reader.push(text.as_bytes(), AT_REST, &mut events).unwrap();
        reader.finish(AT_REST, &mut events).unwrap();
        let (ids, unread) = told(&events);
        assert_eq!(ids, ["e0", "e2", "e3"], "{torn}");
        let [(_, found)] = &unread[..] else {
            panic!("{unread:?}");
        };
        assert_eq!(found, torn.trim_end_matches([',', ' ']));
    }
}

#[test]
fn of_an_answer_that_is_cut_off_the_events_before_are_read() {
    let answer = json!({"epoch": "x", "events": [event(0), event(1), event(2)]});
    for text in [
        answer.to_string(),
        serde_json::to_string_pretty(&answer).unwrap(),
    ] {
        let cut = &text[..text.rfind("\"payload\"").unwrap()];
        let events = read(cut, cut.len());
        let (ids, unread) = told(&events);
        assert_eq!(ids, ["e0", "e1"], "{cut}");
        assert_eq!(unread.len(), 2, "{cut}");
    }
}

#[test]
fn what_is_said_of_one_line_is_bounded() {
    let [first, last] = [event(0).to_string(), event(1).to_string()];
    let many = "{\"a\":1},".repeat(10_000);
    let answer = format!("{{\"events\":[{first},{many}{last}]}}");
    for text in [format!("[{first},{many}{last}]"), answer] {
        let events = read(&text, 5000);
        let (ids, unread) = told(&events);
        assert_eq!((ids, unread.len()), (vec!["e0", "e1"], 33));
        let last = &unread[32].0;
        assert!(
            last.contains("9968 more parts of it are no events"),
            "{last}"
        );
    }
    // Where nothing is an event, it is one thing that could not be read.
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::ChatEvents);
    let mut events = Vec::new();
    let text = format!("[{many}1]");
    reader.push(text.as_bytes(), AT_REST, &mut events).unwrap();
    reader.finish(AT_REST, &mut events).unwrap();
    assert_eq!(told(&events).1.len(), 1);
}

#[test]
fn events_without_ids_that_share_a_line_are_told_apart() {
    let mut all: Vec<Value> = (0..3).map(event).collect();
    for event in &mut all {
        event.as_object_mut().unwrap().remove("id");
    }
    let events = read(&json!(all).to_string(), 100);
    let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["l1", "l1:1", "l1:2"]);
}

#[test]
fn other_lists_are_no_events() {
    for text in ["[1, 2]", "[]", "[\n]\n", "[{}]", "[{\"type\": \"x\"}]"] {
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        let pushed = reader.push(text.as_bytes(), AT_REST, &mut events);
        let read = pushed.and_then(|()| reader.finish(AT_REST, &mut events));
        assert!(read.is_err(), "{text}");
    }
}
