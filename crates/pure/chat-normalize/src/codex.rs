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
mod given;
mod items;
mod outcome;
mod reviews;
mod rollout;
mod session;
mod texts;
mod tokens;
mod tools;
mod turn_diff;

pub(crate) use changes::{Files, of_item, of_patch_text};
pub(crate) use exec::is_numbered;
pub(crate) use tools::kind as tool_kind;

use serde_json::Value;

use crate::dialect::{Form, Origin, Profile, Sessions};
use crate::value::text_of;
use app_server::{CodexAppServer, Threads, is_app_server_line};
use exec::{CodexExec, is_exec_line};
use rollout::{CodexRollout, is_rollout_line};

pub(crate) static EXEC: Profile = Profile {
    word: "codex-exec",
    name: "Codex exec JSON",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: true,
    recognise: |value| is_exec_line(value).then_some(true),
    session_of,
    make: |context| Box::new(CodexExec::new(context)),
};

pub(crate) static ROLLOUT: Profile = Profile {
    word: "codex-rollout",
    name: "Codex rollout",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    // Up to 0.7x neither begins nor ends are in it; where there are begins, more comes until the end.
    tells_turn_end: false,
    tells_edits_late: true,
    recognise: is_rollout_line,
    session_of,
    make: |_| Box::new(CodexRollout::new()),
};

pub(crate) static APP_SERVER: Profile = Profile {
    word: "codex-app-server",
    name: "Codex app-server JSON-RPC",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::SideBySide(|| Box::<Threads>::default()),
    tells_turn_end: true,
    tells_edits_late: true,
    recognise: is_app_server_line,
    session_of,
    make: |_| Box::new(CodexAppServer::new()),
};

/// The thread a line names.
fn session_of(value: &Value) -> Option<String> {
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
