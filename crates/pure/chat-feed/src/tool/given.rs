//! What a call was given, as far as others than its line ask for it.

use std::borrow::Cow;

use chat_event::Json;
use chat_event::shell::script_of_words;

use super::ToolKind;
use super::line::one_line;
use crate::block::ToolCallBlock;
use crate::units;

/// What arguments are called that are a list of things to do.
pub(super) const PLANS: [&str; 4] = ["todos", "plan", "entries", "items"];
/// What arguments are called that are run in a shell.
pub(super) const COMMANDS: [&str; 2] = ["command", "cmd"];
/// What arguments are called that name a file, what is looked for and where, what is fetched, and the lines that are read.
pub(super) const PATHS: [&str; 5] = ["file_path", "filePath", "path", "notebook_path", "filename"];

impl ToolCallBlock {
    /// What its arguments plan, where that is a list of things to do: how many there are, how many of them are done, and what
    /// is done now.
    pub(crate) fn plan(&self) -> Option<(usize, usize, Option<String>)> {
        let list = PLANS.iter().find_map(|name| self.args.get(name));
        let entries = list?.parse::<Vec<serde_json::Value>>()?;
        let is = |entry: &serde_json::Value, status: &str| {
            entry.get("status").and_then(serde_json::Value::as_str) == Some(status)
        };
        if !entries.iter().all(|entry| entry.get("status").is_some()) {
            return None;
        }
        let now = entries.iter().find(|entry| is(entry, "in_progress"));
        let now = now.and_then(|entry| {
            let mut words = ["content", "step", "title"].iter();
            words.find_map(|name| entry.get(*name)?.as_str().map(str::to_owned))
        });
        let n_done = entries.iter().filter(|entry| is(entry, "completed"));
        Some((entries.len(), n_done.count(), now))
    }

    /// The plan that it asks for leave to do, in words, and whether that is all of it and not the beginning of a long one.
    pub fn proposed_plan(&self) -> Option<(String, bool)> {
        // Most calls plan nothing: their arguments are not looked at.
        if self.kind != ToolKind::Plan || self.lists_steps {
            return None;
        }
        let words = text_of(&self.args, "plan")?;
        let body = self.args.get("plan").and_then(|plan| plan.to_body());
        Some((words, body.is_none_or(|body| body.excerpt().is_whole())))
    }

    /// Whether it asks for leave to do as it plans, in words.
    pub(crate) fn proposes_plan(&self) -> bool {
        self.proposed_plan().is_some()
    }

    /// What a command's caller says beside it, for a line above what it printed: what it is for, and how it is to be run.
    /// Empty where nothing is said.
    pub fn remarks(&self) -> Vec<String> {
        let said = |names: &[&str]| names.iter().find_map(|name| text_of(&self.args, name));
        let is_set = |name: &str| self.args.get(name)?.parse::<bool>();
        let n_ms = |name: &str| self.args.get(name)?.parse::<u64>();
        let purpose = said(&["description", "justification"]);
        let purpose = purpose.map(|words| one_line(words.trim())).filter(|words| {
            // Some callers say the command again.
            !words.is_empty() && Some(words) != said(&["command"]).as_ref()
        });
        let folder = said(&["workdir", "dir_path"]).filter(|folder| !folder.is_empty());
        let background = ["run_in_background", "is_background"];
        let background = background
            .into_iter()
            .any(|name| is_set(name) == Some(true));
        // Some count seconds without saying so: nobody runs a command for less than one.
        let limit = n_ms("timeout").map(|limit| if limit < 1_000 { limit * 1_000 } else { limit });
        let limit = limit.or_else(|| n_ms("timeout_ms"));
        [
            purpose,
            folder.map(|folder| format!("in {}", one_line(&folder))),
            background.then(|| "in the background".to_owned()),
            limit.map(|limit_ms| format!("for {} at most", units::duration(limit_ms))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The argument that is run in a shell: its name, and what it says.
    pub fn command_arg(&self) -> Option<(&'static str, Json)> {
        let mut args = COMMANDS.iter();
        args.find_map(|name| Some((*name, self.args.get(name)?)))
    }

    /// What it runs in a shell, where all of that is here.
    pub fn command(&self) -> Option<String> {
        let (name, said) = self.command_arg()?;
        match said.to_body() {
            Some(text) => text.excerpt().whole().map(Cow::into_owned),
            // A list of words.
            None => text_of(&self.args, name),
        }
    }

    /// The file it works on.
    pub(crate) fn path(&self) -> Option<String> {
        self.told(&PATHS)
    }

    /// Where a command runs, where its call says so.
    pub fn working_directory(&self) -> Option<String> {
        self.told(&["workdir", "cwd", "dir_path"])
    }

    /// The agent it starts, by its kind or name.
    pub(crate) fn agent(&self) -> Option<String> {
        let known = self.kind == ToolKind::Agent;
        known
            .then(|| self.told(&["subagent_type", "agent", "agentType"]))
            .flatten()
    }

    pub(super) fn told(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| text_of(&self.args, key))
    }
}

pub(super) fn text_of(args: &Json, key: &str) -> Option<String> {
    let value = args.get(key)?;
    // Some agents give a command as a list of words.
    if let Some(words) = value.parse::<Vec<Json>>() {
        let words: Vec<String> = words.iter().map(beginning).collect::<Option<_>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        return Some(script_of_words(&words).map_or_else(|| words.join(" "), str::to_owned));
    }
    beginning(&value)
}

/// The first argument that is a text: what a reader would recognise the call by.
pub(super) fn first_text(args: &Json) -> Option<String> {
    let members = args.parse::<serde_json::Map<String, serde_json::Value>>()?;
    members.values().find_map(|value| match value.as_str() {
        Some(text) => Some(text.to_owned()),
        None => Json::from(value).body_ref().map(|body| body.preview),
    })
}

/// The beginning of a text: as much as a line could show, the same whether it is here or elsewhere.
pub(super) fn beginning(value: &Json) -> Option<String> {
    value.to_body().map(|body| body.head().into_string())
}
