//! Generated sessions, and the view that the laws compare.

pub(crate) mod compact;
pub(crate) mod mask_live;
pub(crate) mod mask_plan;
mod mirror;

pub(crate) use mirror::{Mirror, runs, view};

use chat_event::{ChatEvent, Json, payload::*};
use chat_feed::{Block, BlockBody, Feed};
use proptest::prelude::*;
use serde_json::json;

/// The texts of all rows.
pub(crate) fn text_of(feed: &Feed) -> Vec<String> {
    feed.rows()
        .map(|block| feed.text(block.id).to_string())
        .collect()
}

/// A log of up to `most` events, numbered.
pub(crate) fn log(most: usize) -> impl Strategy<Value = Vec<ChatEvent>> {
    proptest::collection::vec(event(), 0..most).prop_map(|events| {
        let number = |(nth, event): (usize, ChatEvent)| ChatEvent {
            seq: Some(nth as u64 + 1),
            id: format!("e{nth}"),
            timestamp: Some(1_000 + nth as i64 * 10),
            ..event
        };
        let mut events: Vec<_> = events.into_iter().enumerate().map(number).collect();
        // Some sources take back what they sent.
        for nth in (7..events.len()).step_by(11) {
            events[nth].payload = Retract {
                event_ids: vec![format!("e{}", nth - 3), format!("e{}", nth - 6)],
                ..Retract::default()
            }
            .into();
        }
        events
    })
}

fn event() -> impl Strategy<Value = ChatEvent> {
    let some = |of: &'static str| proptest::option::weighted(0.7, of);
    (
        payload(),
        some("t[123]"),
        some("r[123]"),
        proptest::option::weighted(0.2, "c[1234]"),
    )
        .prop_map(|(payload, turn_id, response_id, parent)| {
            let (event_type, payload) = payload;
            let mut event = ChatEvent::new(
                "e",
                0,
                "s",
                chat_event::Payload::from_json(event_type, payload),
            );
            event.turn_id = turn_id;
            event.response_id = response_id;
            event.parent_tool_call_id = parent;
            event
        })
}

fn payload() -> impl Strategy<Value = (&'static str, Json)> {
    let text = "(ab|x y|\n|\n\n|```|# h|é|~~~ rs\n){0,4}";
    let id = "c[1234]";
    let part = proptest::option::weighted(0.4, 0u32..3);
    let index = proptest::option::weighted(0.2, 0u64..5);
    let error = proptest::sample::select(vec![
        serde_json::Value::Null,
        json!({"message": "no"}),
        json!({"code": "no_result", "message": "none"}),
    ]);
    let choices = prop_oneof![
        3 => (text, part.clone(), index.clone()).prop_map(|(text, part, index)| ("assistant_chunk", json!({"text": text, "part": part, "index": index}))),
        2 => (text, part.clone()).prop_map(|(text, part)| ("assistant_done", json!({"text": text, "part": part}))),
        2 => (text, part.clone(), index).prop_map(|(text, part, index)| ("thinking_chunk", json!({"text": text, "part": part, "index": index}))),
        1 => (text, part, any::<bool>()).prop_map(|(text, part, redacted)| ("thinking_done", json!({"text": text, "part": part, "redacted": redacted}))),
        3 => (id, "(Read|Bash|Task)").prop_map(|(id, name)| ("tool_call", json!({"toolCallId": id, "toolName": name, "args": {"command": "ls"}}))),
        1 => (id, text, proptest::option::of(0u64..9)).prop_map(|(id, text, offset)| ("tool_input_chunk", json!({"toolCallId": id, "toolName": "Read", "chunk": text, "offset": offset}))),
        1 => (id, text, 1usize..70).prop_map(|(id, text, times)| ("tool_output_chunk", json!({"toolCallId": id, "chunk": text.repeat(times)}))),
        2 => (id, error, given()).prop_map(|(id, error, given)| ("tool_result", json!({"toolCallId": id, "result": given, "error": error}))),
        1 => (id, given(), proptest::bool::ANY).prop_map(|(id, given, goes_on)| ("tool_result", json!({"toolCallId": id, "result": given, "background": goes_on}))),
        1 => (id, text, 0usize..70).prop_map(|(id, text, times)| ("file_edit", json!({"toolCallId": id, "filePath": "a", "changeType": "modified", "linesAdded": 1, "diffPreview": text.repeat(times), "fullDiff": text.repeat(times + 1)}))),
        1 => ("m[12]", "[bcd]").prop_map(|(id, to)| ("agent_message", json!({"messageId": id, "targetAgentId": to, "message": "do", "wait": true}))),
        1 => ("m[12]", "[bcd]").prop_map(|(id, from)| ("agent_callback", json!({"messageId": id, "fromAgentId": from, "result": "did"}))),
        1 => ("p[12]", proptest::option::weighted(0.5, "c[12]")).prop_map(|(id, call)| ("permission_request", json!({"requestId": id, "toolCallId": call, "toolName": "Bash"}))),
        1 => ("p[12]", "(allow|deny)").prop_map(|(id, decision)| ("permission_resolved", json!({"requestId": id, "decision": decision, "by": "user"}))),
        1 => ("q[12]", proptest::option::weighted(0.5, "c[12]")).prop_map(|(id, call)| ("question_request", json!({"requestId": id, "toolCallId": call, "questions": [{"text": "why?"}]}))),
        1 => id.prop_map(|id| ("tool_call", json!({"toolCallId": id, "toolName": "TodoWrite", "args": {"todos": [{"content": "x", "status": "pending"}]}}))),
        1 => "q[12]".prop_map(|id| ("question_resolved", json!({"requestId": id, "outcome": "answered"}))),
        1 => "(user|system)".prop_map(|trigger| ("turn_start", json!({"trigger": trigger}))),
        1 => proptest::option::of("(completed|interrupted|failed)").prop_map(|outcome| ("turn_end", json!({"outcome": outcome}))),
        1 => text.prop_map(|text| ("user_message", json!({"text": text}))),
        1 => "[ab]".prop_map(|message| ("error", json!({"code": "x", "message": message}))),
        3 => prop_oneof![
            Just(("interrupt", json!({"reason": "user_cancel"}))),
            Just(("session_end", json!({"reason": "done"}))),
            Just(("session_start", json!({"agent": "a", "model": "m"}))),
            Just(("session_status", json!({"status": "busy"}))),
            Just(("session_status", json!({"status": "retrying", "message": "attempt 1 of 2: busy"}))),
            Just(("plan", json!({"entries": [{"content": "x", "status": "pending"}]}))),
            Just(("progress", json!({"message": "half", "percent": 50}))),
            Just(("progress", json!({"message": "half", "toolCallId": "c1"}))),
            Just(("user_audio", json!({"transcription": "hello"}))),
            Just(("audio_chunk", json!({"data": "AA==", "seq": 0}))),
            Just(("audio_done", json!({"durationMs": 10}))),
            Just(("agent_switch", json!({"fromAgentId": "a", "toAgentId": "b"}))),
            Just(("compaction", json!({"trigger": "auto"}))),
            Just(("notice", json!({"level": "warning", "text": "odd"}))),
            set_back(),
            set_back(),
            Just(("usage", json!({"scope": "turn", "inputTokens": 3}))),
            Just(("raw", json!({"format": "f", "value": [1]}))),
            Just(("hologram", json!({"x": 1}))),
            Just(("tool_call", json!({"toolCallId": []}))),
            Just(("log_gap", json!({"from": 3, "to": 5, "why": "torn"}))),
        ],
    ];
    choices.prop_map(|(event_type, payload)| (event_type, Json::from(payload)))
}

/// The user goes back behind turns, or forward again.
fn set_back() -> impl Strategy<Value = (&'static str, serde_json::Value)> {
    let ids = || proptest::collection::vec("t[123]", 0..3);
    let flags = (any::<bool>(), proptest::bool::weighted(0.2));
    (ids(), ids(), flags).prop_map(|(left, again, (files_restored, cleared))| {
        let told = json!({"level": "info", "text": "back", "source": "branch", "leftTurnIds": left, "againTurnIds": again, "filesRestored": files_restored, "cleared": cleared});
        ("notice", told)
    })
}

/// What a call gave: short, long enough to lie packed, more than opens by itself.
fn given() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => Just("done".to_owned()),
        10 => "[a-é ]{300,600}",
        1 => Just("one line\n".repeat(8_000)),
    ]
}

fn text_event(id: String, payload: impl Into<chat_event::Payload>) -> ChatEvent {
    let mut event = ChatEvent::new(id, 0, "s", payload);
    event.turn_id = Some("t1".to_owned());
    event.response_id = Some("r1".to_owned());
    event
}

/// The text as chunks, cut at `cuts` (where these are character boundaries).
pub(crate) fn chunks_of(text: &str, mut cuts: Vec<usize>) -> Vec<ChatEvent> {
    cuts.retain(|&cut| text.is_char_boundary(cut) && cut <= text.len());
    cuts.push(text.len());
    cuts.sort_unstable();
    let mut start = 0;
    let mut chunks = Vec::new();
    for (nth, cut) in cuts.into_iter().enumerate() {
        let chunk = AssistantChunk {
            text: text[start..cut].to_owned(),
            ..AssistantChunk::default()
        };
        chunks.push(text_event(format!("c{nth}"), chunk));
        start = cut;
    }
    chunks
}

/// The `assistant_done` of a text.
pub(crate) fn done(text: &str, nth: usize) -> ChatEvent {
    text_event(
        format!("d{nth}"),
        AssistantDone {
            text: text.to_owned(),
            ..AssistantDone::default()
        },
    )
}

/// One of a part's numbered chunks.
pub(crate) fn numbered_chunk(index: u64) -> ChatEvent {
    let text = if index % 4 == 3 {
        format!("{index}\n\n")
    } else {
        format!("{index} ")
    };
    let chunk = AssistantChunk {
        text,
        part: Some(0),
        index: Some(index),
        ..AssistantChunk::default()
    };
    text_event(format!("n{index}"), chunk)
}

/// A turn in which everything runs, and then ends.
pub(crate) fn running_turn_and(end: &str) -> Vec<ChatEvent> {
    let lines = [
        ("turn_start", json!({"trigger": "user"})),
        ("assistant_chunk", json!({"text": "half a sen"})),
        ("thinking_chunk", json!({"text": "hm"})),
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {}}),
        ),
        (
            "tool_input_chunk",
            json!({"toolCallId": "c2", "chunk": "{"}),
        ),
        (
            "permission_request",
            json!({"requestId": "p1", "toolName": "Bash"}),
        ),
        (
            "question_request",
            json!({"requestId": "q1", "questions": []}),
        ),
        (end, json!({"reason": "x", "message": "x"})),
    ];
    let event = |(nth, (event_type, payload)): (usize, &(&str, serde_json::Value))| {
        let payload = chat_event::Payload::from_json(event_type, Json::from(payload));
        text_event(format!("e{nth}"), payload)
    };
    lines.iter().enumerate().map(event).collect()
}

/// Whether a row is shown as running or waiting.
pub(crate) fn waits(block: &Block) -> bool {
    match &block.body {
        BlockBody::Permission(ask) => ask.resolved.is_none() && !ask.expired,
        BlockBody::Question(ask) => ask.resolved.is_none() && !ask.expired,
        BlockBody::Audio { done, .. } => !done,
        _ => runs(block),
    }
}

/// The events as a bad line brings them: each so many places late, and some of them twice.
pub(crate) fn late_and_twice<'a>(
    events: &'a [ChatEvent],
    jitter: &[(usize, bool)],
) -> Vec<&'a ChatEvent> {
    let mut wire: Vec<(usize, &ChatEvent)> = Vec::new();
    for ((nth, event), &(late, twice)) in events.iter().enumerate().zip(jitter) {
        wire.push((nth + late, event));
        if twice {
            wire.push((nth + late / 2, event));
        }
    }
    wire.sort_by_key(|&(at, _)| at);
    wire.into_iter().map(|(_, event)| event).collect()
}
