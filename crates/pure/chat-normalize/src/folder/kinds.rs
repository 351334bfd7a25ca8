//! What a file of a folder is by its name and the folders around it, where nothing beside it need be known.

use super::paths::stem;

pub(super) enum Kind<'a> {
    Session,
    Agent(&'a str),
    Meta,
    Other,
}

pub(super) fn kind<'a>(path: &str, name: &'a str) -> Kind<'a> {
    if name.starts_with('.') {
        return Kind::Other;
    }
    if name.ends_with(".meta.json") {
        return Kind::Meta;
    }
    let agent = name
        .strip_prefix("agent-")
        .and_then(|name| name.strip_suffix(".jsonl"));
    match agent {
        Some(agent_id) => Kind::Agent(agent_id),
        None if stem(path) != path => Kind::Session,
        None => Kind::Other,
    }
}

/// What a task's folder holds beside its messages.
pub(super) const BESIDE_TASKS: [&str; 5] = [
    "api_conversation_history.json",
    "context_history.json",
    "history_item.json",
    "task_metadata.json",
    "settings.json",
];

/// Behind a session's name: what is noted of it.
pub(super) const NOTES: [&str; 2] = [".compaction.json", ".json"];

/// The path, without its ending, of a session of Droid's of which it is noted at `path` what it used.
pub(super) fn used_of(path: &str) -> Option<&str> {
    path.strip_suffix(crate::droid::NOTE)
}

/// What the task is called whose messages lie at `path`, with its folder; nothing where its folder is the one given.
pub(super) fn task_of(path: &str) -> Option<&str> {
    if path == "ui_messages.json" {
        return Some("");
    }
    let task = path
        .strip_suffix("/ui_messages.json")
        .or_else(|| path.strip_suffix(".messages.json"))?;
    (!task.is_empty() && !task.ends_with('/')).then_some(task)
}

/// The session whose parts lie in `dir`, and what kind of parts: `p/s1/subagents/x` is of `p/s1`.
pub(super) fn owner(dir: &str) -> Option<(&str, &str)> {
    for part in ["subagents", "tool-results"] {
        let inner = format!("/{part}");
        let at = dir.rfind(&format!("{inner}/"));
        let at = at.or_else(|| dir.strip_suffix(&inner).map(str::len));
        if let Some(at) = at.filter(|at| *at > 0) {
            return Some((&dir[..at], part));
        }
    }
    None
}
