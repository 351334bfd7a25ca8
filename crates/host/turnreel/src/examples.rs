//! The example sessions that an empty data folder begins with, so that the first page shows something.
//!
//! They are logs as the server writes them, made by `turnreel pipe` of recordings of a real agent.

use std::path::Path;

use chat_event::{ChatEvent, Payload};
use chat_store::SessionId;

use crate::data_dir;
use crate::state::State;
use crate::told::Told;

const LOGS: &[(&str, &str)] = &[
    ("read-edit", include_str!("../examples/read-edit.jsonl")),
    ("subagent", include_str!("../examples/subagent.jsonl")),
];

/// Says that a folder had them: who removed them, and all else, has seen them.
const GIVEN: &str = "examples-given";

/// Whether the folder began with them.
pub(crate) fn were_given(dir: &Path) -> bool {
    dir.join(GIVEN).exists()
}

/// Imports them. What cannot be imported is said in the log, and no reason not to serve.
pub(crate) async fn import(state: &State) {
    // Where it cannot be noted they may come once more.
    let _ = data_dir::write_private(&state.store.dir().join(GIVEN), b"");
    for &(name, text) in LOGS {
        let importing = state.clone();
        let imported = tokio::task::spawn_blocking(move || import_one(&importing, text)).await;
        let why = match imported {
            Ok(Ok(())) => continue,
            Ok(Err(why)) => why,
            Err(why) => why.to_string(),
        };
        tracing::warn!(name, "could not import an example session: {why}");
    }
}

fn import_one(state: &State, text: &str) -> Result<(), String> {
    let mut events = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut event = ChatEvent::from_json(line).map_err(|why| why.to_string())?;
        if let Payload::SessionStart(start) = &mut event.payload {
            start.extra.insert("sample", true_json());
        }
        if !event.is_control() {
            events.push(event);
        }
    }
    let Some(first) = events.first() else {
        return Ok(());
    };
    let id = SessionId::parse(&first.session_id).map_err(|why| why.to_string())?;
    // They are as old as they say: a list by activity shows what is new first.
    let recv_ms = events.last().and_then(|event| event.timestamp).unwrap_or(0);
    let live = state.live_or_new(&id).map_err(|why| why.message)?;
    let appended = live
        .session
        .append(events, true, recv_ms)
        .map_err(|why| why.to_string())?;
    live.publish(
        &appended.epoch,
        appended.stored.into_iter().map(Told::new).collect(),
        appended.summary,
        &state.list,
    );
    Ok(())
}

fn true_json() -> chat_event::Json {
    chat_event::Json::from(serde_json::Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::Value;

    use super::LOGS;

    /// The recordings that they were made of, as the rules read them now.
    const RECORDED: [(&str, &str); 2] = [
        (
            "read-edit",
            include_str!("../../../../tests/sessions/read-edit/events.jsonl"),
        ),
        (
            "subagent",
            include_str!("../../../../tests/sessions/subagent/events.jsonl"),
        ),
    ];

    #[test]
    fn they_say_what_their_recordings_say_now() {
        let parse = |line| serde_json::from_str::<Value>(line).expect("a line is JSON");
        for ((name, example), (of, recorded)) in LOGS.iter().zip(RECORDED) {
            assert_eq!(*name, of);
            let shown: HashMap<String, Value> = example
                .lines()
                .map(parse)
                .map(|event| (event["id"].to_string(), event))
                .collect();
            for mut event in recorded.lines().map(parse) {
                let shown = &shown[&event["id"].to_string()];
                // They are called examples, and were sent with their prompt.
                if event["type"] == "session_start" {
                    event["payload"]["title"] = shown["payload"]["title"].clone();
                }
                assert_eq!(
                    shown["payload"], event["payload"],
                    "{name}: {}",
                    event["id"]
                );
            }
        }
    }
}
