//! What a result tells of what goes on behind it: a command or an agent in the background, and what an agent reported.

use serde_json::Value;

use super::kind;
use crate::value::{count_of, list_of, str_of, text_of};

const RUNS_ON: &str = "It runs in the background.";

/// The task that a call left running, by what is told of its result. An agent that is taken up again works there, too.
pub(crate) fn task_left_by<'a>(name: &str, details: &'a Value) -> Option<&'a str> {
    if is_launched(details) {
        return text_of(details, "agentId").or_else(|| text_of(details, "taskId"));
    }
    let watches = || text_of(details, "taskId").filter(|_| name == "Monitor");
    text_of(details, "backgroundTaskId")
        .or_else(|| text_of(details, "resumedAgentId"))
        .or_else(watches)
}

pub(super) fn is_launched(details: &Value) -> bool {
    matches!(
        str_of(details, "status"),
        Some("async_launched" | "remote_launched")
    )
}

/// What is told of a call that left something running: what it printed by then. All that else is said is how the model
/// has to wait for it.
pub(crate) fn said_at_launch(name: &str, details: &Value) -> String {
    let printed = ["stdout", "stderr"].map(|key| text_of(details, key));
    let printed: Vec<&str> = printed.into_iter().flatten().collect();
    match (printed.is_empty(), kind(name)) {
        (false, _) => printed.join("\n"),
        (true, "agent") => "It works in the background.".to_owned(),
        (true, _) => RUNS_ON.to_owned(),
    }
}

/// Whether a call that left something running gave nothing but that it did: once that ended, it is not so any more.
pub(crate) fn says_only_that_it_runs(name: &str, details: &Value) -> bool {
    task_left_by(name, details).is_some() && said_at_launch(name, details) == RUNS_ON
}

/// Where the output of a command lies that runs in the background: only the words for the model say it.
pub(crate) fn output_path(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("Output is being written to: ")?;
    let line = rest.lines().next()?;
    let path = line.split_once(". ").map_or(line, |(path, _)| path);
    Some(path.trim_end_matches('.')).filter(|path| !path.is_empty())
}

/// What a sub-agent reported, without the words around it that are for the model.
pub(crate) fn report_of_agent(name: &str, details: &Value) -> Option<String> {
    if matches!(name, "Task" | "Agent") && is_launched(details) {
        return Some(said_at_launch(name, details));
    }
    let blocks = list_of(details, "content");
    let only_text = blocks
        .iter()
        .all(|block| str_of(block, "type") == Some("text"));
    if !matches!(name, "Task" | "Agent") || !only_text {
        return None;
    }
    let n_of = |key: &str| count_of(details, key).and_then(|n| usize::try_from(n).ok());
    let n_notes = n_of("harnessNoteCount").unwrap_or(0);
    let n_tail = n_of("harnessTailCount").unwrap_or(0);
    let end = blocks.len().saturating_sub(n_tail);
    let texts = blocks.get(n_notes..end)?.iter();
    let texts: Vec<&str> = texts.filter_map(|block| str_of(block, "text")).collect();
    Some(texts.join("\n")).filter(|report| !report.trim().is_empty())
}
