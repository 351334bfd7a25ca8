//! What the tools say that start sub-agents, wait for them and close them.

use serde_json::Value;

use super::items::member;
use super::session::Session;
use super::tools::Spec;
use crate::value::{list_of, str_of, text_of};
use crate::words::one_line;

/// Whether the tool is one of them.
pub(crate) fn is_collab(name: &str) -> bool {
    matches!(
        name,
        "spawn_agent"
            | "wait_agent"
            | "wait"
            | "send_input"
            | "close_agent"
            | "resume_agent"
            | "send_message"
            | "list_agents"
    )
}

impl Spec {
    /// Whether it is a script of the model's, which calls other tools.
    pub(crate) fn is_script(&self) -> bool {
        self.name == "exec" && self.args.get("input").is_some()
    }

    /// Whether it is not said yet what is looked for, or who is started.
    pub(crate) fn is_untold(&self) -> bool {
        match self.name.as_str() {
            "web_search" => self.title.is_none(),
            "spawn_agent" => text_of(&self.args, "agent").is_none(),
            _ => false,
        }
    }

    /// The call with what its end says of it.
    pub(crate) fn learn(self, end: &Spec) -> Spec {
        let is_model_s = self.args.get("message").is_some();
        match text_of(&end.args, "agent") {
            Some(agent) if is_model_s => self.of_agent(agent),
            None if is_model_s => self,
            Some(_) | None => end.clone(),
        }
    }

    /// The call that starts this agent.
    pub(crate) fn of_agent(mut self, agent: &str) -> Spec {
        // A path of who started whom ends with the agent's own name.
        let agent = agent.rsplit('/').next().unwrap_or(agent);
        if let Some(args) = self.args.as_object_mut() {
            args.entry("agent").or_insert_with(|| Value::from(agent));
        }
        self
    }
}

impl Session {
    /// The name that a sub-agent goes by, of its thread or of its path: all that is told of it is told of one agent.
    pub(crate) fn agent_name<'a>(&'a self, agent: &'a str) -> &'a str {
        self.names
            .get(agent)
            .map_or_else(|| own_name(agent), String::as_str)
    }

    /// Takes the names of the agents that an item is about.
    pub(crate) fn learn_names(&mut self, item: &Value) {
        let agents = member(item, "receiver_agents", "receiverAgents");
        for agent in agents.and_then(Value::as_array).into_iter().flatten() {
            let thread = member(agent, "thread_id", "threadId").and_then(Value::as_str);
            if let (Some(thread), Some(name)) = (thread, name_of(agent)) {
                let name = own_name(name).to_owned();
                self.names.entry(thread.to_owned()).or_insert(name);
            }
        }
    }
}

/// What one agent says to another: under lines about the message stands the message.
pub(crate) fn without_head(text: &str) -> &str {
    match text.split_once("\nPayload:\n") {
        Some((head, message))
            if head.starts_with("Message Type:") && !message.trim().is_empty() =>
        {
            message.trim_start_matches('\n')
        }
        Some(_) | None => text,
    }
}

/// What a sub-agent was told to do. Where the program hides that, the lines about it name the task.
pub(crate) fn task_words(text: &str) -> String {
    let said = without_head(text);
    let mut lines = said.lines();
    let name = lines.find_map(|line| line.strip_prefix("Task name: "));
    match name {
        Some(name) if said.starts_with("Message Type:") => {
            format!("{}: the task itself is encrypted", own_name(name.trim()))
        }
        Some(_) | None => said.to_owned(),
    }
}

/// An agent's path without the session itself, in which all of them are.
pub(crate) fn own_name(path: &str) -> &str {
    path.strip_prefix("/root/").unwrap_or(path)
}

/// The agent that an item starts, by the name it goes by.
pub(crate) fn agent_of(item: &Value) -> Option<&str> {
    let agents = member(item, "receiver_agents", "receiverAgents")?;
    let agent = agents.as_array()?.first()?;
    name_of(agent)
}

fn name_of(agent: &Value) -> Option<&str> {
    [
        "agent_nickname",
        "agentNickname",
        "nickname",
        "task_name",
        "agent_path",
        "agent_id",
    ]
    .iter()
    .find_map(|key| text_of(agent, key))
}

/// The agent that was started, as the model was told.
pub(crate) fn agent_of_output(text: &str) -> Option<String> {
    let said: Value = serde_json::from_str(text).ok()?;
    name_of(&said).map(str::to_owned)
}

/// What the model was told, in words; `None` where it is another thing.
pub(crate) fn output_words(text: &str) -> Option<String> {
    let said: Value = serde_json::from_str(text).ok()?;
    if let Some(states) = said.get("status").filter(|states| states.is_object()) {
        return Some(state_words(states, None));
    }
    if let Some(state) = said.get("previous_status") {
        return Some(state_word(state));
    }
    let message = text_of(&said, "message").map(str::to_owned);
    let name = || name_of(&said).map(|name| name.rsplit('/').next().unwrap_or(name));
    message.or_else(|| name().map(|name| format!("started {name}")))
}

/// Where agents stand, and what they answered; `item` names them.
pub(crate) fn state_words(states: &Value, item: Option<&Value>) -> String {
    let states = states.as_object().into_iter().flatten();
    let words: Vec<(&str, String)> = states
        .map(|(thread, state)| (thread.as_str(), state_word(state)))
        .collect();
    if let [(_, words)] = words.as_slice() {
        return words.clone();
    }
    let lines: Vec<String> = words
        .iter()
        .map(|(thread, words)| {
            let agents = item.map_or(&[][..], |item| list_of(item, "receiver_agents"));
            let mut agents = agents.iter();
            let named = agents.find(|agent| str_of(agent, "thread_id") == Some(thread));
            let name = named.and_then(name_of).unwrap_or(thread);
            format!("{name}: {words}")
        })
        .collect();
    lines.join("\n")
}

fn state_word(state: &Value) -> String {
    let said = ["message", "completed", "errored", "status"]
        .iter()
        .find_map(|key| text_of(state, key));
    match said.or_else(|| state.as_str()) {
        Some(words) if state.is_string() => one_line(&words.replace('_', " ")),
        Some(words) => words.to_owned(),
        None => state.as_object().map_or_else(String::new, |state| {
            let mut keys = state.keys();
            keys.next()
                .map(|key| key.replace('_', " "))
                .unwrap_or_default()
        }),
    }
}
