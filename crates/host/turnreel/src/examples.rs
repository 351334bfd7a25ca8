//! The example session that an empty data folder begins with, so that the first page shows what there is to see.
//!
//! It is a log as the server writes it, made of a recording of a real agent, with the pace at which that worked.

use std::path::Path;

use chat_event::{ChatEvent, Payload};
use chat_store::SessionId;

use crate::data_dir;
use crate::state::State;
use crate::told::Told;

const LOGS: &[(&str, &str)] = &[(
    "upload-retry",
    include_str!("../examples/upload-retry.jsonl"),
)];

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
    const RECORDED: [(&str, &str); 1] = [(
        "upload-retry",
        include_str!("../../../../tests/sessions/upload-retry/events.jsonl"),
    )];

    fn parse(line: &str) -> Value {
        serde_json::from_str(line).expect("a line is JSON")
    }

    #[test]
    fn they_say_what_their_recordings_say_now() {
        assert_eq!(LOGS.len(), RECORDED.len());
        for ((name, example), (of, recorded)) in LOGS.iter().zip(RECORDED) {
            assert_eq!(*name, of);
            let shown: HashMap<String, Value> = example
                .lines()
                .map(parse)
                .map(|event| (event["id"].to_string(), event))
                .collect();
            for mut event in recorded.lines().map(parse) {
                let shown = &shown[&event["id"].to_string()];
                // They are called examples.
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

    /// What is in them that a newcomer is to see, and that they can be played: the pace is that of the agent.
    #[test]
    fn the_first_shows_a_whole_piece_of_work_at_its_pace() {
        let (_, example) = LOGS[0];
        let events: Vec<Value> = example.lines().map(parse).collect();
        let n_of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
        assert_eq!(n_of("turn_start"), 3);
        assert_eq!(n_of("turn_end"), 3);
        for (kind, at_least) in [
            ("assistant_chunk", 20),
            ("thinking_done", 1),
            ("plan", 2),
            ("file_edit", 3),
        ] {
            assert!(n_of(kind) >= at_least, "{kind}");
        }
        assert!(events.iter().any(|event| event["agentId"].is_string()));
        let failed = |event: &Value| event["payload"]["error"]["code"] == "exit_code";
        assert!(events.iter().any(failed), "a command fails");
        let times: Vec<i64> = events
            .iter()
            .filter_map(|event| event["timestamp"].as_i64())
            .collect();
        assert!(times.is_sorted());
        let whole_ms = times[times.len() - 1] - times[0];
        assert!((90_000..300_000).contains(&whole_ms), "{whole_ms} ms");
        let idle = |pair: &[i64]| pair[1] - pair[0] > 10_000;
        assert_eq!(times.windows(2).filter(|pair| idle(pair)).count(), 2);
        assert!(example.len() < 150_000, "{} bytes", example.len());
    }

    #[test]
    fn nothing_of_a_machine_stands_in_them() {
        for (name, example) in LOGS {
            for path in example.split("/home/").skip(1) {
                assert!(path.starts_with("dev/"), "{name}: /home/{path:.40}");
            }
            for other in ["/root", "/Users/", "sk-ant-"] {
                assert!(!example.contains(other), "{name}: {other}");
            }
        }
    }
}
