//! Questions: asked when they are called, once, and answered by their results.

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{calls, gets, ms, questions, said, transcript};
use crate::support::{assert_sound, read_lines};

#[test]
fn a_question_of_a_transcript_is_asked_when_it_is_called_and_answered_by_its_result() {
    let prompt = said("user", "u1", 0, json!("Ask"));
    let call = calls("q", 1, "AskUserQuestion", &questions());
    let mut answered = gets("q", 9, "Your questions have been answered", false);
    answered["toolUseResult"] = json!({"answers": {"Which colour?": "Red"}});
    let events = transcript(&[prompt.clone(), call.clone(), answered]);
    let of_question = |events: &[ChatEvent]| -> Vec<(Option<i64>, String)> {
        let of = events.iter().filter_map(|event| match &event.payload {
            Payload::QuestionRequest(_) => Some((event.timestamp, "asks".to_owned())),
            Payload::QuestionResolved(it) => Some((event.timestamp, it.outcome.clone())),
            _ => None,
        });
        of.collect()
    };
    let at = |seconds: i64, word: &str| (Some(ms(seconds)), word.to_owned());
    assert_eq!(of_question(&events), [at(1, "asks"), at(9, "answered")]);
    for (kind, text, outcome) in [
        (
            Some("user-rejected"),
            "The user doesn't want to",
            "rejected",
        ),
        (Some("interrupted"), "[Tool call interrupted", "expired"),
        (
            None,
            "<tool_use_error>InputValidationError</tool_use_error>",
            "expired",
        ),
    ] {
        let mut result = gets("q", 9, text, true);
        if let Some(kind) = kind {
            result["toolDenialKind"] = json!(kind);
        }
        let events = transcript(&[prompt.clone(), call.clone(), result]);
        assert_eq!(of_question(&events), [at(1, "asks"), at(9, outcome)]);
    }
    // Nothing is asked by a call that holds no question, and by one that asks something else.
    let others = [
        prompt,
        calls("q", 1, "AskUserQuestion", &json!({})),
        calls("b", 1, "Bash", &questions()),
    ];
    assert_eq!(of_question(&transcript(&others)), []);
}

#[test]
fn a_question_is_asked_once_however_its_hooks_come() {
    let hook = |event: &str, more: Value| {
        let mut line = json!({"hook_event_name": event, "session_id": "s1", "prompt_id": "p1", "cwd": "/w",
            "tool_name": "AskUserQuestion", "tool_input": questions()});
        let members = line.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        line
    };
    let call = hook("PreToolUse", json!({"tool_use_id": "q"}));
    let request = hook("PermissionRequest", json!({}));
    let mut input = questions();
    input["answers"] = json!({"Which colour?": "Red"});
    let done = hook(
        "PostToolUse",
        json!({"tool_use_id": "q", "tool_input": input, "tool_response": {"answers": {"Which colour?": "Red"}}}),
    );
    for lines in [
        vec![call.clone(), request.clone(), done.clone()],
        vec![request.clone(), call.clone(), done.clone()],
        vec![call, done.clone()],
        vec![request, done],
    ] {
        let events = read_lines(Dialect::ClaudeHooks, &lines).events;
        assert_sound("hooks", &events);
        let asked = events
            .iter()
            .filter(|event| matches!(event.payload, Payload::QuestionRequest(_)));
        let outcomes = events.iter().filter_map(|event| match &event.payload {
            Payload::QuestionResolved(it) => Some(it.outcome.as_str()),
            _ => None,
        });
        assert_eq!(asked.count(), 1, "{lines:?}");
        assert_eq!(outcomes.collect::<Vec<_>>(), ["answered"], "{lines:?}");
    }
}
