//! What the chat files of Gemini CLI say more than once: answers that stand there again, as they were or anew.

use crate::support::{assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn header() -> Value {
    json!({"sessionId": "g1", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "kind": "main"})
}

fn message(id: &str, kind: &str, content: Value) -> Value {
    json!({"id": id, "timestamp": "2026-01-01T00:00:01Z", "type": kind, "content": content})
}

fn set(messages: &[Value]) -> Value {
    json!({"$set": {"messages": messages}})
}

fn read(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::GeminiChat, lines);
    assert_sound("again", &read.events);
    read.events
}

#[test]
fn a_turn_that_was_stopped_or_failed_is_so_when_its_answer_stands_there_again() {
    let begin = [
        message("u1", "user", json!("Q1")),
        message("a1", "gemini", json!("Part")),
    ];
    let cases = [
        ("info", "Request cancelled.", "end interrupted"),
        ("error", "Broken", "end failed"),
    ];
    for (kind, word, end) in cases {
        let lines = [
            &[header()],
            &begin[..],
            &[message("i1", kind, json!(word)), header(), set(&begin)],
            &[
                message("u2", "user", json!("Q2")),
                message("a2", "gemini", json!("B")),
            ],
        ];
        let told = told(&read(&lines.concat()));
        let ends: Vec<&String> = told.iter().filter(|line| line.starts_with("end")).collect();
        assert_eq!(ends, [end, "end completed"], "{kind}");
    }
}

#[test]
fn an_answer_set_anew_stands_in_its_own_turn_and_the_old_one_is_taken_back() {
    let answer = |text: &str, thought: &str| {
        let mut answer = message("a1", "gemini", json!(text));
        answer["thoughts"] = json!([{"subject": "", "description": thought}]);
        answer
    };
    let prompts = ["u1", "u2"].map(|id| message(id, "user", json!("Q")));
    let [first, second] = &prompts;
    let lines = [
        header(),
        first.clone(),
        answer("Old", "Hm"),
        second.clone(),
        set(&[first.clone(), answer("New", "Oh"), second.clone()]),
        message("a2", "gemini", json!("B")),
    ];
    let events = read(&lines);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Q",
            "thinking Hm",
            "done Old",
            "end completed",
            "turn user",
            "user Q",
            "retract 1",
            "thinking Oh",
            "retract 1",
            "done New",
            "done B",
            "end completed",
        ]
    );
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::AssistantDone(done) => Some((done.text.as_str(), event.turn_id.as_deref())),
        _ => None,
    });
    assert_eq!(
        said.collect::<Vec<_>>(),
        [("Old", Some("u1")), ("New", Some("u1")), ("B", Some("u2"))]
    );
}

#[test]
fn what_is_attached_to_an_answer_is_told_once() {
    let picture = |data: &str| json!({"inlineData": {"mimeType": "image/png", "data": data}});
    let answer = |pictures: &[Value]| {
        let parts = [&[json!({"text": "x"})], pictures].concat();
        message("a1", "gemini", json!(parts))
    };
    let mut grown = answer(&[picture("AAAA")]);
    grown["toolCalls"] = json!([]);
    let lines = [
        header(),
        message("u1", "user", json!("Q1")),
        answer(&[picture("AAAA")]),
        grown,
        answer(&[picture("AAAA"), picture("BBBB")]),
    ];
    let told = told(&read(&lines));
    let pictures: Vec<&String> = told.iter().filter(|line| line.starts_with("raw")).collect();
    assert_eq!(
        pictures,
        [
            r#"raw {"mediaType":"image/png","data":"AAAA"}"#,
            r#"raw {"mediaType":"image/png","data":"BBBB"}"#
        ]
    );
}

#[test]
fn a_thought_that_goes_on_is_one_whatever_its_pieces_end_in() {
    let piece =
        |subject: &str, description: &str| json!({"subject": subject, "description": description});
    let mut answer = message("a1", "gemini", json!("x"));
    answer["thoughts"] = json!([
        piece("A", ""),
        piece("", "this is **"),
        piece("", "bold** text"),
        piece("B", "ends **so**"),
        piece("", " it"),
    ]);
    let lines = [header(), message("u1", "user", json!("Q1")), answer];
    let told = told(&read(&lines));
    let thoughts: Vec<&String> = told
        .iter()
        .filter(|line| line.starts_with("thinking"))
        .collect();
    assert_eq!(
        thoughts,
        [
            "thinking **A**\n\nthis is **bold** text",
            "thinking **B**\n\nends **so** it"
        ]
    );
}
