//! The law of references: a string and the reference that stands for it give the same feed to look at.

use std::collections::BTreeMap;
use std::convert::Infallible;

use chat_event::{Body, BodyRef, ChatEvent, Excerpt, Json, PREVIEW_BYTES, bodies};
use chat_feed::arrangement::{Arrangement, Row};
use chat_feed::long_text::{
    WHOLE_BYTES, ask_label, ends, indented, shortened, shows, texts, whole_bytes,
};
use chat_feed::{BlockBody, ChatRenderer, Feed};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Texts below, at and far above the length from which a body is referred to.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a line\n",
        "é",
        "😀 wide\n",
        "\r",
        "\t",
        "\n",
        "\\ \"quoted\" ",
        "x",
        "\u{1b}[1m",
    ]);
    let pieces = prop::collection::vec(piece, 1..20);
    (pieces, 0..900_usize).prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

fn events(texts: &[String; 4]) -> Vec<ChatEvent> {
    let [a, b, c, d] = texts;
    let lines = [
        json!({"type": "user_message", "payload": {"text": a, "attachments": [{"name": b}]}}),
        json!({"type": "tool_call", "payload": {"toolCallId": "t", "toolName": "Run", "args": {"z": c, "deep": [{"s": d}], "n": 1.5}}}),
        json!({"type": "tool_result", "payload": {"toolCallId": "t", "result": b, "error": {"message": "a line"}}}),
        json!({"type": "tool_call", "payload": {"toolCallId": "u", "toolName": "Bash", "args": {"command": [a, "x"]}}}),
        json!({"type": "tool_result", "payload": {"toolCallId": "u", "result": [{"type": "text", "text": c}, {"type": "text", "text": d}]}}),
        json!({"type": "agent_message", "payload": {"messageId": "m", "message": d}}),
        json!({"type": "agent_callback", "payload": {"messageId": "m", "result": c}}),
        json!({"type": "raw", "payload": {"format": "x", "value": {"k": b}}}),
    ];
    let event = |(at, line): (usize, &Value)| {
        let mut line = line.clone();
        line["id"] = format!("e{at}").into();
        line["timestamp"] = at.into();
        line["sessionId"] = "s".into();
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

/// The events as a server tells them, and the bodies it keeps.
fn told(events: &[ChatEvent]) -> (Vec<ChatEvent>, BTreeMap<String, String>) {
    let mut kept = BTreeMap::new();
    let mut told = events.to_vec();
    for event in &mut told {
        let Ok(()) = bodies::take_out(event, PREVIEW_BYTES, &mut |text| {
            // Any name will do that is the same for the same text.
            let name = format!("{}-{}", text.len(), kept.len());
            kept.insert(name.clone(), text.to_owned());
            Ok::<_, Infallible>(BodyRef::to(text, name))
        });
        // What is told is written and read on its way.
        *event = ChatEvent::from_json(&event.to_line()).unwrap();
    }
    (told, kept)
}

fn feed_of(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::new();
    for event in events {
        renderer.apply(event, &mut Vec::new());
    }
    renderer.end_of_log(&mut Vec::new());
    renderer
}

/// All that rows show of bodies; `whole` puts those back that a reader has loaded.
fn shown(feed: &Feed, whole: &dyn Fn(&Json) -> Option<Json>) -> Vec<String> {
    let arrangement = Arrangement::default();
    let body = |body: &Body| {
        let json = match body {
            Body::Inline(text) => Json::string(&text.read()),
            Body::Ref { .. } => serde_json::to_string(body)
                .map(|text| serde_json::from_str(&text).unwrap())
                .unwrap(),
        };
        whole(&json).map_or_else(
            || {
                let excerpt = body.excerpt();
                format!(
                    "{:?} {:?}",
                    ends(&excerpt, str::to_owned),
                    ask_label(&excerpt, WHOLE_BYTES as u64)
                )
            },
            |json| indented(&json),
        )
    };
    let value = |json: &Json| match whole(json) {
        Some(json) => indented(&json),
        None => format!(
            "{} of {} {:?}",
            indented(shortened(json).as_ref().unwrap_or(json)),
            whole_bytes(json),
            texts(json).map(|texts| texts.iter().map(&body).collect::<Vec<_>>())
        ),
    };
    let mut shown = vec![format!("{:?}", feed.session().title)];
    for block in feed.rows() {
        shown.push(match &block.body {
            BlockBody::Prompt(prompt) => prompt.text.as_ref().map(&body).unwrap_or_default(),
            BlockBody::ToolCall(call) => format!(
                "{:?} {} {} {:?} {:?}",
                call.headline(),
                arrangement.is_open(feed, Row::Block(block.id)),
                value(&call.args),
                call.result.as_ref().map(&value),
                call.result
                    .as_ref()
                    .map(|result| whole(result).is_none() && shows(result, "a line")),
            ),
            BlockBody::AgentMessage(message) => format!(
                "{:?} {:?}",
                message.message.as_ref().map(&body),
                message.result.as_ref().map(&body)
            ),
            BlockBody::Raw { value: raw, .. } => value(raw),
            other => format!("{other:?}"),
        });
    }
    shown
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_reference_and_the_string_it_stands_for_are_shown_alike(
        a in text(), b in text(), c in text(), d in text()
    ) {
        let sent = events(&[a, b, c, d]);
        let (told, kept) = told(&sent);
        let (here, elsewhere) = (feed_of(&sent), feed_of(&told));
        let nothing = |_: &Json| None;
        prop_assert_eq!(shown(here.feed(), &nothing), shown(elsewhere.feed(), &nothing));
        // And once all of it is loaded.
        let same = |json: &Json| Some(json.clone());
        let loaded = |json: &Json| {
            let filled = bodies::retell(json, &mut |body| {
                body.reference().map(|reference| kept[&reference.sha256].clone())
            });
            Some(filled.unwrap_or_else(|| json.clone()))
        };
        prop_assert_eq!(shown(here.feed(), &same), shown(elsewhere.feed(), &loaded));
    }

    #[test]
    fn an_excerpt_holds_both_ends_and_is_short(text in text()) {
        let excerpt = Excerpt::of(&text);
        prop_assert!(text.starts_with(&*excerpt.preview) && text.ends_with(&*excerpt.tail));
        prop_assert!(excerpt.preview.len() <= 4096 && excerpt.tail.len() <= 2048);
        prop_assert_eq!(excerpt.lines, Some(text.lines().count() as u64));
        prop_assert_eq!(excerpt.is_whole(), text.len() <= excerpt.preview.len() + excerpt.tail.len());
        if let Some(whole) = excerpt.whole() {
            prop_assert_eq!(&*whole, text.as_str());
        }
    }
}
