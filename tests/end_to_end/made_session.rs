//! A session that a test makes event by event on the server, and the page that follows it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::Tab;
use crate::sessions::LIVE;

/// For what takes many events, or many tries.
pub(crate) const LONG: Duration = Duration::from_secs(120);

fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis().try_into().unwrap_or(0))
}

/// An event of the one turn, of now.
pub(crate) fn event(id: &str, kind: &str, payload: &Value) -> Value {
    json!({"id": id, "timestamp": now_ms(), "type": kind, "turnId": "t1", "responseId": "r1", "payload": payload})
}

/// A turn that has begun.
pub(crate) fn beginning() -> Value {
    json!([
        event(
            "b1",
            "session_start",
            &json!({"agent": "Claude Code", "title": "Asking"})
        ),
        event("b2", "turn_start", &json!({"trigger": "user"})),
        event("b3", "user_message", &json!({"text": "Clean up, please"})),
    ])
}

/// Opens a session and waits until it is live and has so many events.
pub(crate) async fn open(tab: &Tab, address: &str, n_events: usize) {
    tab.goto(address).await;
    let here = format!("{LIVE} && __test.feed().eventCount >= {n_events}");
    tab.wait_for("the session to be live", LONG, &here).await;
}

/// What the page shows, as text to compare.
pub(crate) async fn rows_of(tab: &Tab) -> String {
    tab.eval("__test.feed().serializeRows({ maskTimes: false })")
        .await
}
