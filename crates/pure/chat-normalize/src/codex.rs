//! Codex: `codex exec --json`, its rollout files, and the JSON-RPC of `codex app-server`.
//!
//! What the three have in common stands in `session` (threads, turns, calls, texts) and the files below it; what a line
//! of each means, in `exec`, `rollout` and `app_server`. Items are the same in all of them but for the spelling of
//! their names (`command_execution`, `CommandExecution`, `commandExecution`). Seen: 0.77 to 0.169.

mod app_server;
mod asks;
mod changes;
mod collab;
mod content;
mod exec;
mod items;
mod outcome;
mod reviews;
mod rollout;
mod session;
mod texts;
mod tokens;
mod tools;
mod turn_diff;

pub(crate) use app_server::{CodexAppServer, Threads, is_app_server_line};
pub(crate) use changes::{Files, of_item, of_patch_text};
pub(crate) use exec::{CodexExec, is_exec_line, is_numbered};
pub(crate) use rollout::{CodexRollout, is_rollout_line};
pub(crate) use tools::kind as tool_kind;

use serde_json::Value;

use crate::value::text_of;

/// The thread a line names.
pub(crate) fn session_of(value: &Value) -> Option<String> {
    if is_exec_line(value) {
        return text_of(value, "thread_id").map(str::to_owned);
    }
    if is_rollout_line(value).is_some() {
        return rollout::thread_of(value).map(str::to_owned);
    }
    if is_app_server_line(value).is_some() {
        return app_server::thread_of(value).map(str::to_owned);
    }
    None
}
