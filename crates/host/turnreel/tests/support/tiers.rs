//! The set-ups of what lies elsewhere: servers that copy to a store, what they are told, and sessions that somebody takes away.

use std::path::Path;

use serde_json::{Value, json};

use super::Server;
use super::removing::files_of;

/// A server whose PostgreSQL is at `url`.
pub(crate) fn with_postgres(dir: &Path, url: &str) -> Server {
    Server::start_on(dir, "127.0.0.1:0", &["--no-examples", "--postgres", url])
}

/// A server whose Redis is at `url`.
pub(crate) fn with_redis(dir: &Path, url: &str) -> Server {
    Server::start_on(dir, "127.0.0.1:0", &["--no-examples", "--redis", url])
}

/// Removes the files of a session, as somebody does by hand.
pub(crate) fn take_away(data: &Path, session: &str) {
    for name in files_of(data, session) {
        std::fs::remove_file(data.join(name)).unwrap();
    }
}

pub(crate) fn tool_call(n: u64, tool: &str) -> Value {
    json!({"id": format!("c{n}"), "timestamp": 1_700_000_000_000 + n, "turnId": "t", "type": "tool_call",
        "payload": {"toolCallId": format!("call{n}"), "toolName": tool, "kind": "execute"}})
}

pub(crate) fn tool_result(n: u64, took_ms: u64) -> Value {
    json!({"id": format!("r{n}"), "timestamp": 1_700_000_000_000 + n + took_ms, "turnId": "t", "type": "tool_result",
        "payload": {"toolCallId": format!("call{n}"), "result": "done"}})
}

pub(crate) fn file_edit(n: u64, path: &str, change: &str) -> Value {
    json!({"id": format!("f{n}"), "timestamp": 1_700_000_000_000 + n, "type": "file_edit",
        "payload": {"filePath": path, "changeType": change, "linesAdded": n, "linesRemoved": 1,
            "diffPreview": "+a", "fullDiff": "+a\n", "fullDiffSize": 3, "fullDiffAvailable": true}})
}
