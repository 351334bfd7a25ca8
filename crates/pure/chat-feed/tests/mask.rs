//! What holds of masking: a planted secret is nowhere in what is written, however it was cut or hidden; the rest stays.
//! One file: all of it is made of the same few events, and read back the same way.

use chat_event::compaction::Folded;
use chat_event::{ChatEvent, Payload};
use chat_feed::mask::Masker;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::mask_plan;
use mask_plan::plan_of;

mod bounds;
mod cut_off;
mod laws;
mod names;
mod written;

fn masked(events: &[ChatEvent]) -> Vec<String> {
    let mut masker = Masker::new(plan_of(events));
    events.iter().map(|event| masker.line(event)).collect()
}

fn read(lines: &[String]) -> Vec<ChatEvent> {
    let read = lines
        .iter()
        .map(|line| ChatEvent::from_json(line).expect("a line is an event"));
    read.collect()
}

fn event(id: usize, kind: &str, payload: &Value) -> ChatEvent {
    let line = json!({"id": format!("e{id}"), "timestamp": 1, "sessionId": "s", "type": kind, "turnId": "t", "responseId": "r", "payload": payload});
    ChatEvent::from_json(&line.to_string()).expect("an event")
}

/// A text of each event that is masked, as it reads.
fn told(kind: &str, text: &str) -> String {
    let payload = match kind {
        "tool_call" => json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": text}}),
        _ => json!({"text": text}),
    };
    masked(&[event(1, kind, &payload)]).concat()
}

#[test]
fn an_answer_to_a_secret_question_is_masked_whatever_it_looks_like() {
    let asked = json!({"requestId": "q", "toolCallId": "c", "questions": [
        {"id": "a", "text": "Where?", "options": []},
        {"id": "b", "text": "Which password?", "options": [], "secret": true},
    ]});
    let shapes = [
        json!([["staging"], ["hunter2"]]),
        json!({"a": "staging", "b": "hunter2"}),
        json!({"answers": {"b": {"answers": ["hunter2"]}, "a": {"answers": ["staging"]}}}),
    ];
    for answers in shapes {
        let mut events = [
            event(1, "question_request", &asked),
            event(
                2,
                "question_resolved",
                &json!({"requestId": "q", "answers": answers, "outcome": "answered"}),
            ),
            event(
                3,
                "tool_result",
                &json!({"toolCallId": "c", "result": "They said staging and hunter2."}),
            ),
        ];
        // The answer may come before its question.
        for (one, other) in [(0, 0), (0, 1), (1, 2)] {
            events.swap(one, other);
            let all = masked(&events).concat();
            assert!(!all.contains("hunter2"), "{all}");
            assert_eq!(all.matches("staging").count(), 2, "{all}");
            assert_eq!(all.matches("[masked: secret answer").count(), 2, "{all}");
            let found = plan_of(&events).found()[0].n_places;
            assert_eq!(found, 2, "{all}");
        }
    }
    // A number is one as well, and what does not say to which question it is may be the secret.
    for answers in [
        json!([["staging"], [4711]]),
        json!({"x": 4711, "y": "staging"}),
    ] {
        let lines = masked(&[
            event(1, "question_request", &asked),
            event(
                2,
                "question_resolved",
                &json!({"requestId": "q", "answers": answers, "outcome": "answered"}),
            ),
        ]);
        assert!(!lines[1].contains("4711"), "{}", lines[1]);
    }
}

#[test]
fn the_same_secret_has_the_same_label_and_the_kind_is_named() {
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let text = format!(
        "one {token} two ghp_{} three {token}",
        "zY8xW6vU4tS2rQ0pO8nM6lK4jI2hG0fE8dC6"
    );
    let line = told("user_message", &text);
    assert!(
        line.contains("one [masked: github token #1] two [masked: github token #2] three [masked: github token #1]"),
        "{line}"
    );
}

#[test]
fn as_many_places_are_told_as_are_masked() {
    let events = [
        event(
            0,
            "user_message",
            &json!({"text": "marisol@laptop, and marisol"}),
        ),
        event(
            1,
            "assistant_chunk",
            &json!({"text": "in /home/mar", "index": 0}),
        ),
        event(
            2,
            "assistant_chunk",
            &json!({"text": "isol of marisol", "index": 1}),
        ),
    ];
    let plan = plan_of(&events);
    let told: Vec<_> = plan
        .found()
        .iter()
        .map(|found| (found.kind, found.n_places, found.n_values))
        .collect();
    assert_eq!(told, [("user name", 4, 1)]);
    assert_eq!(plan.found()[0].places[0].n_places, 4);
    let mut masker = Masker::new(plan);
    events.iter().for_each(|event| drop(masker.line(event)));
    assert_eq!(
        masker
            .masked()
            .map(|(_, _, n_places)| n_places)
            .sum::<u64>(),
        4
    );
}

#[test]
fn a_title_is_masked_as_the_session_is() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let events = [event(
        0,
        "user_message",
        &json!({"text": format!("/home/marisol {token}")}),
    )];
    let mut masker = Masker::new(plan_of(&events));
    let title = format!("\"Push\" with {} for marisol", &token[..30]);
    assert_eq!(
        masker.text(&title),
        "\"Push\" with [masked: github token #1] for [masked: user name #1]"
    );
    assert_eq!(masker.text("a \\ \"title\""), "a \\ \"title\"");
}

#[test]
fn what_is_code_or_a_name_is_left() {
    for text in [
        "let key = map.keys().next(); // keyboard: 12",
        "password: String,",
        "fn token(&self) -> Token { self.next_token() }",
        "input_tokens: 1200, cache_read_tokens=99",
        "git clone git@github.com:owner/repo.git",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "550e8400-e29b-41d4-a716-446655440000",
        "integrity sha512-9Sp3uAPz8sHm4kQ2VdRzY1bNcX7wLf0aJtEoGi6K5uMxPyBvTnZqCrDhWgSeFjIl==",
        "http://127.0.0.1:7473/ and 0.0.0.0",
        "PASSWORD=$DB_PASSWORD token=${{ secrets.TOKEN }} key=process.env.API_KEY",
        "Chrome/120.0.0.0 Safari",
        "icons/128x128@2x.png and left-pad@1.3.0",
    ] {
        let event = event(1, "user_message", &json!({"text": text}));
        assert_eq!(
            masked(std::slice::from_ref(&event)),
            [event.to_line()],
            "{text}"
        );
    }
}

#[test]
fn a_value_is_told_by_its_key_and_by_the_option_before_it() {
    let args = json!({"headers": {"x-api-key": "9f86d081884c7d659a2f"}, "password": "hunter22", "argv": ["login", "--password", "hunter23x"]});
    let line = masked(&[event(
        1,
        "tool_call",
        &json!({"toolCallId": "c", "toolName": "x", "args": args}),
    )])
    .concat();
    for gone in ["9f86d081884c7d659a2f", "hunter22", "hunter23x"] {
        assert!(!line.contains(gone), "{line}");
    }
}

#[test]
fn an_id_stays_an_id_and_a_kind_may_be_kept() {
    let token = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5";
    let events = [event(
        1,
        "tool_call",
        &json!({"toolCallId": token, "toolName": "x", "args": {"to": "ann@example.com"}}),
    )];
    let line = masked(&events).concat();
    assert!(
        line.contains(r#""toolCallId":"masked-github-token-1""#),
        "{line}"
    );
    let mut plan = plan_of(&events);
    assert_eq!(plan.found().len(), 2, "{:?}", plan.found());
    plan.keep("e-mail address", true);
    let line = Masker::new(plan).line(&events[0]);
    assert!(
        line.contains("ann@example.com") && !line.contains(token),
        "{line}"
    );
}
