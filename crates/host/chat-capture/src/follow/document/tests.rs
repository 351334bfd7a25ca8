//! Documents that are lists, told state by state, against what one reading of the last state gives.

#[path = "../../../tests/support/cline.rs"]
mod cline;
mod odd;

use std::path::Path;

use chat_event::{ChatEvent, Payload, SetBack};
use chat_normalize::{AT_REST, Context, SessionReader};
use serde_json::{Value, json};

use super::super::file::{Facts, Taken};
use super::super::source::{Piece, Source};
use cline::{ask, say, with};

/// A source that is read state by state.
struct Told {
    dir: tempfile::TempDir,
    name: &'static str,
    source: Source,
    events: Vec<ChatEvent>,
    n_states: i64,
}

impl Told {
    fn new(name: &'static str) -> Told {
        Told {
            dir: tempfile::tempdir().unwrap(),
            name,
            source: Source::new(Context::default(), Taken::default()),
            events: Vec::new(),
            n_states: 0,
        }
    }

    /// Reads the next state; what is new. Whether it was found to be another file.
    fn state(&mut self, text: &str) -> (Vec<ChatEvent>, bool) {
        let path = self.dir.path().join(self.name);
        std::fs::write(&path, text).unwrap();
        self.n_states += 1;
        let facts = Facts {
            changed_ms: crate::pipe::now_ms() + self.n_states,
            ..Facts::of(&path).unwrap()
        };
        let mut new = Vec::new();
        let is_other = loop {
            match self.source.read(&path, facts, &mut new).unwrap() {
                Piece::Told | Piece::New => {}
                Piece::Whole { .. } | Piece::Torn { .. } => break false,
                Piece::Replaced => break true,
            }
        };
        self.events.extend(new.iter().cloned());
        (new, is_other)
    }

    fn messages(&mut self, messages: &[Value]) -> Vec<ChatEvent> {
        self.state(&Value::from(messages).to_string()).0
    }

    fn finish(mut self) -> Vec<ChatEvent> {
        let mut ends = Vec::new();
        self.source.finish(&mut ends).unwrap();
        self.events.extend(ends);
        self.events
    }
}

fn whole(text: &str) -> Vec<ChatEvent> {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader.push(text.as_bytes(), AT_REST, &mut events).unwrap();
    reader.finish(AT_REST, &mut events).unwrap();
    events
}

/// What was told, whenever that was, but for the pieces of texts.
fn compared(events: &[ChatEvent]) -> Vec<String> {
    let is_piece = |event: &&ChatEvent| {
        matches!(
            event.payload,
            Payload::AssistantChunk(_) | Payload::ThinkingChunk(_) | Payload::ToolOutputChunk(_)
        )
    };
    let events = events.iter().filter(|event| !is_piece(event));
    let mut lines: Vec<String> = events
        .map(|event| {
            let mut event: Value = serde_json::to_value(event).unwrap();
            event["timestamp"] = Value::Null;
            event.to_string()
        })
        .collect();
    lines.sort();
    lines
}

fn story(folder: &str, name: &str) -> String {
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions");
    std::fs::read_to_string(stories.join(folder).join(name)).unwrap()
}

fn kinds(events: &[ChatEvent]) -> Vec<&str> {
    events.iter().map(|it| it.payload.event_type()).collect()
}

/// The states that a program writes of a task, message by message: texts and calls that grow, requests that are put together
/// and have their costs once they are answered.
fn states_of(messages: &[Value]) -> Vec<Vec<Value>> {
    let mut states = Vec::new();
    let mut so_far: Vec<Value> = Vec::new();
    let mut request: Option<usize> = None;
    for message in messages {
        let kind = message["say"].as_str().or_else(|| message["ask"].as_str());
        let text = message["text"].as_str().unwrap_or("").to_owned();
        if kind == Some("api_req_started") || so_far.len() + 1 == messages.len() {
            // What the one before cost is known by now.
            if let Some(at) = request.take() {
                so_far[at] = messages[at].clone();
                states.push(so_far.clone());
            }
        }
        if kind == Some("api_req_started") {
            let told: Value = serde_json::from_str(&text).unwrap();
            let asked = told["request"].as_str().unwrap_or("");
            let said = asked.split("\n\n<environment").next().unwrap_or("");
            let loading = json!({"request": format!("{said}\n\nLoading...")});
            for told in [loading, json!({"request": asked})] {
                let mut states_so_far = so_far.clone();
                states_so_far.push(with(message.clone(), "text", told.to_string()));
                states.push(states_so_far);
            }
            request = Some(so_far.len());
            so_far.push(with(
                message.clone(),
                "text",
                json!({"request": asked}).to_string(),
            ));
            continue;
        }
        if message.get("partial").is_some() {
            let cut = text.char_indices().nth(text.chars().count() / 2);
            let half = &text[..cut.map_or(0, |(at, _)| at)];
            let mut state = so_far.clone();
            let half = with(message.clone(), "text", half);
            state.push(with(half, "partial", true));
            states.push(state);
        }
        so_far.push(message.clone());
        states.push(so_far.clone());
    }
    if let Some(at) = request {
        so_far[at] = messages[at].clone();
    }
    states.push(so_far);
    states
}

#[test]
fn a_task_told_state_by_state_is_as_one_that_lies_there() {
    let text = story("cline-task", "input.ui_messages.json");
    let messages: Vec<Value> = serde_json::from_str(&text).unwrap();
    for pretty in [false, true] {
        let mut told = Told::new("ui_messages.json");
        for state in states_of(&messages) {
            let state = Value::from(state);
            let text = match pretty {
                true => serde_json::to_string_pretty(&state).unwrap(),
                false => state.to_string(),
            };
            told.state(&text);
        }
        assert_eq!(compared(&told.finish()), compared(&whole(&text)));
    }
}

#[test]
fn a_session_told_state_by_state_is_as_one_that_lies_there() {
    let text = story("cline-session", "input.messages.json");
    let document: Value = serde_json::from_str(&text).unwrap();
    let messages = document["messages"].as_array().unwrap();
    let mut told = Told::new("s.messages.json");
    for n in 0..=messages.len() {
        let mut state = document.clone();
        state["updated_at"] = format!("2026-11-30T10:01:{n:02}.200Z").into();
        state["messages"] = messages[..n].into();
        // Its tokens and its last block come when it is whole.
        let mut part = state.clone();
        if let Some(last) = part["messages"].as_array_mut().unwrap().last_mut() {
            last.as_object_mut().unwrap().remove("metrics");
            if last["role"] == "assistant" {
                last["content"].as_array_mut().unwrap().pop();
            }
        }
        for state in [part, state] {
            let text = serde_json::to_string_pretty(&state).unwrap();
            for cut in [text.len() / 3, text.len() - 2, text.len()] {
                told.state(&text[..cut]);
            }
        }
    }
    assert_eq!(compared(&told.finish()), compared(&whole(&text)));
}

#[test]
fn a_state_that_is_being_written_says_what_stands_in_it_and_takes_nothing_away() {
    let text = story("cline-task", "input.ui_messages.json");
    let mut told = Told::new("ui_messages.json");
    for cut in (0..text.len()).step_by(997) {
        if text.is_char_boundary(cut) {
            told.state(&text[..cut]);
        }
    }
    told.state(&text);
    // Written over: it is empty, half there, and whole again.
    for cut in [0, 1, text.len() / 2, text.len() - 1, text.len()] {
        let cut = (0..=cut).rev().find(|it| text.is_char_boundary(*it));
        assert_eq!(told.state(&text[..cut.unwrap()]).0, []);
    }
    told.state("[]");
    told.state(&text);
    assert_eq!(compared(&told.finish()), compared(&whole(&text)));
}

#[test]
fn what_programs_tidy_up_is_not_set_back() {
    let begin = [
        say("text", 0, "Go"),
        say("api_req_started", 1, r#"{"apiProtocol":"openai"}"#),
    ];
    let partial = with(
        ask("tool", 2, r#"{"tool":"readFile","path":"a"}"#),
        "partial",
        true,
    );
    let mut told = Told::new("ui_messages.json");
    told.messages(&[&begin[..], &[partial]].concat());
    // It is allowed by itself, and stands in another form.
    let call = say("tool", 3, r#"{"tool":"readFile","path":"a"}"#);
    let new = told.messages(&[&begin[..], std::slice::from_ref(&call)].concat());
    let is_call = |event: &&ChatEvent| matches!(event.payload, Payload::ToolCall(_));
    assert_eq!(new.iter().filter(is_call).count(), 1);
    let resumed = [&begin[..], &[call.clone(), ask("resume_task", 4, "")]].concat();
    let new = told.messages(&resumed);
    assert!(kinds(&new).contains(&"turn_end"), "{new:#?}");
    let again = [begin[0].clone(), call, ask("resume_task", 5, "")];
    assert_eq!(told.messages(&again), []);
    let all = told.finish();
    assert_eq!(all.iter().filter(is_call).count(), 1);
    assert!(!kinds(&all).contains(&"notice"), "{all:#?}");
}

#[test]
fn what_the_user_goes_back_behind_is_told_as_left() {
    let mut messages = vec![say("text", 0, "Go"), say("completion_result", 1, "Done.")];
    messages.push(ask("completion_result", 2, ""));
    let mut told = Told::new("ui_messages.json");
    told.messages(&messages);
    let kept = messages.clone();
    messages.push(say("user_feedback", 3, "More"));
    messages.push(say("text", 4, "I look."));
    let new = told.messages(&messages);
    let turn = new.iter().find_map(|event| event.turn_id.clone()).unwrap();
    // The prompt is written anew, with other words.
    let edited = [&kept[..], &[say("user_feedback", 5, "Less")]].concat();
    let new = told.messages(&edited);
    let left = new.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => SetBack::of(notice),
        _ => None,
    });
    assert_eq!(left.unwrap().left, [turn]);
    let place = |kind: &str| kinds(&new).iter().position(|it| *it == kind);
    assert!(place("notice") < place("user_message"), "{new:#?}");
    // Within a turn.
    let longer = [&edited[..], &[say("text", 6, "Less.")]].concat();
    told.messages(&longer);
    let new = told.messages(&edited);
    assert!(kinds(&new).contains(&"notice"), "{new:#?}");
    // One in the middle is taken away.
    let less = [&edited[..1], &edited[2..]].concat();
    let new = told.messages(&less);
    assert!(kinds(&new).contains(&"notice"), "{new:#?}");
    // Another task in the same file.
    assert!(
        told.state(&Value::from(vec![say("text", 70, "New")]).to_string())
            .1
    );
}

#[test]
fn a_call_that_asks_and_rests_asks_a_person_until_it_is_answered() {
    let begin = [
        say("text", 0, "Go"),
        say("api_req_started", 1, r#"{"apiProtocol":"openai"}"#),
    ];
    let call = ask("tool", 2, r#"{"tool":"appliedDiff","path":"a"}"#);
    let mut told = Told::new("ui_messages.json");
    let new = told.messages(&[&begin[..], std::slice::from_ref(&call)].concat());
    assert!(!kinds(&new).contains(&"permission_request"), "{new:#?}");
    let mut rests = Vec::new();
    told.source.quiet(&mut rests);
    told.source.quiet(&mut rests);
    assert_eq!(kinds(&rests), ["permission_request"]);
    let answered = [&begin[..], &[with(call, "isAnswered", true)]].concat();
    let new = told.messages(&answered);
    assert_eq!(kinds(&new), ["permission_resolved"]);
    let more = say("api_req_started", 3, r#"{"apiProtocol":"openai"}"#);
    let new = told.messages(&[&answered[..], &[more]].concat());
    let n_asked = |kind: &&&str| kind.starts_with("permission");
    assert_eq!(kinds(&new).iter().filter(n_asked).count(), 0, "{new:#?}");
    assert!(kinds(&new).contains(&"tool_result"), "{new:#?}");
}

#[test]
fn what_a_request_cost_is_told_when_it_is_known() {
    let request = |at_ms: i64, told: &str| say("api_req_started", at_ms, told);
    let mut told = Told::new("ui_messages.json");
    let mut messages = vec![
        say("text", 0, "Go"),
        request(1, r#"{"apiProtocol":"openai"}"#),
    ];
    messages.push(say("text", 2, "So."));
    messages.push(request(3, r#"{"apiProtocol":"openai"}"#));
    told.messages(&messages);
    messages[1] = request(1, r#"{"apiProtocol":"openai","tokensIn":7,"tokensOut":8}"#);
    let new = told.messages(&messages);
    assert_eq!(kinds(&new), ["usage"]);
    let text = Value::from(messages.clone()).to_string();
    assert_eq!(told.messages(&messages), []);
    assert_eq!(compared(&told.finish()), compared(&whole(&text)));
}

/// What is looked at of a state is all of it, and what is read as JSON is what changed: measured, as times differ too much.
#[test]
fn of_a_long_document_only_what_changed_is_read() {
    let text = |nth: i64| "word ".repeat(200) + &nth.to_string();
    let mut messages: Vec<Value> = (0..3000)
        .map(|nth| say(if nth == 0 { "task" } else { "text" }, nth, &text(nth)))
        .collect();
    let mut told = Told::new("ui_messages.json");
    told.messages(&messages);
    let n_lines = told.source.reader.report().lines;
    for nth in 3000..3010 {
        messages.push(say("text", nth, &text(nth)));
        told.messages(&messages);
    }
    assert_eq!(told.source.reader.report().lines, n_lines + 10);
}
