//! One call, put together from what is told of it.

use chat_event::payload::{ToolCall, ToolInputChunk, ToolOutputChunk};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::Mention;
use crate::acp::content;
use crate::emit::{Emitter, Place};
use crate::tool;
use crate::value::{list_of, str_of, text_of};

/// A call without its result.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(in crate::acp) order: u64,
    /// The id its events bear.
    pub(in crate::acp) id: String,
    pub(in crate::acp) place: Place,
    /// The call whose sub-agent made it.
    pub(in crate::acp) parent: Option<String>,
    pub(super) name: Option<String>,
    pub(super) first_title: Option<String>,
    pub(super) title: Option<String>,
    pub(super) kind: Option<String>,
    pub(in crate::acp) args: Value,
    pub(super) locations: Value,
    /// What was said of it last.
    pub(in crate::acp) content: Vec<Value>,
    pub(in crate::acp) raw_output: Value,
    /// What Claude Code's tool answered, as its own stream has it.
    pub(in crate::acp) response: Value,
    pub(super) announced: bool,
    pub(super) announced_args: bool,
    /// Output that was written.
    pub(in crate::acp) printed: String,
    pub(in crate::acp) exit_code: Option<i64>,
    /// The client refused it.
    pub(in crate::acp) refused: bool,
}

impl Call {
    /// Takes what is given.
    pub(super) fn take(&mut self, update: &Value, how: Mention) {
        let meta = update.get("_meta").unwrap_or(&Value::Null);
        let claude = meta.get("claudeCode").unwrap_or(&Value::Null);
        let name = text_of(claude, "toolName")
            .or_else(|| text_of(meta, "toolName"))
            .or_else(|| text_of(update, "name"));
        if let Some(name) = name {
            self.name = Some(name.to_owned());
        }
        if let Some(response) = claude.get("toolResponse").filter(|held| !held.is_null()) {
            self.response = response.clone();
        }
        let title = text_of(update, "title");
        if self.first_title.is_none() {
            self.first_title = title.map(str::to_owned);
        }
        let asked = how == Mention::Permission;
        if let Some(title) = title.filter(|_| !asked || self.title.is_none()) {
            self.title = Some(title.to_owned());
        }
        if let Some(kind) = text_of(update, "kind").filter(|_| !asked || self.kind.is_none()) {
            self.kind = Some(kind.to_owned());
        }
        let given = |key: &str| update.get(key).filter(|held| !held.is_null());
        if let Some(args) = given("rawInput").filter(|_| !asked || !self.has_args()) {
            self.args = args.clone();
        }
        if let Some(locations) = given("locations").filter(|_| !asked) {
            self.locations = locations.clone();
        }
        if let Some(content) = given("content").filter(|_| !asked) {
            self.content = content.as_array().cloned().unwrap_or_default();
        }
        if let Some(output) = given("rawOutput") {
            self.raw_output = output.clone();
        }
    }

    pub(super) fn has_args(&self) -> bool {
        match &self.args {
            Value::Null => false,
            // OpenCode says where a command will run before it says which.
            Value::Object(members) => members.keys().any(|key| key != "cwd"),
            Value::Array(items) => !items.is_empty(),
            Value::String(text) => !text.is_empty(),
            Value::Bool(_) | Value::Number(_) => true,
        }
    }

    /// Writes the call; arguments that come later are written as input.
    pub(in crate::acp) fn announce(&mut self, emitter: &mut Emitter) {
        let has_args = self.has_args();
        let with_args = std::mem::replace(&mut self.announced_args, has_args);
        let name = self.name();
        if std::mem::replace(&mut self.announced, true) {
            if self.announced_args && !with_args {
                let chunk = ToolInputChunk {
                    tool_call_id: self.id.clone(),
                    tool_name: name,
                    chunk: self.args.to_string(),
                    offset: Some(0),
                    ..ToolInputChunk::default()
                };
                emitter.add_as(&format!("{}:input", self.id), &self.place, chunk);
            }
            return;
        }
        let own = self.title.clone().filter(|title| *title != name);
        let title = own
            .map(|title| crate::words::one_line(&title))
            .or_else(|| tool::title(&name, &self.args));
        let mut extra = Extra::default();
        if self
            .locations
            .as_array()
            .is_some_and(|list| !list.is_empty())
        {
            extra.insert("locations", Json::from(&self.locations));
        }
        let payload = ToolCall {
            tool_call_id: self.id.clone(),
            args: if self.args.is_null() {
                Json::from(Value::Object(serde_json::Map::new()))
            } else {
                Json::from(&self.args)
            },
            title,
            kind: Some(self.kind_of(&name).to_owned()),
            tool_name: name,
            extra,
        };
        emitter.add_as(&format!("{}:call", self.id), &self.place, payload);
    }

    /// The tool's name: said, or in the first title (OpenCode), or in the id (Gemini), or only its kind.
    pub(in crate::acp) fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let is_name = |text: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            text.len() <= 64 && !text.is_empty() && text.chars().all(fits)
        };
        if let Some(title) = self.first_title.as_deref().filter(|title| is_name(title)) {
            return title.to_owned();
        }
        let id = self.id.split('~').next().unwrap_or_default();
        if let Some((name, number)) = id.rsplit_once('-')
            && is_name(name)
            && number.len() >= 10
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return name.to_owned();
        }
        self.kind.clone().unwrap_or_else(|| "tool".to_owned())
    }

    /// The kind of the call, after `design/events.md`.
    pub(in crate::acp) fn kind_of(&self, name: &str) -> &'static str {
        let by_name = tool::kind(name);
        match self.kind.as_deref() {
            Some("read") => "read",
            Some("edit" | "delete" | "move") => "edit",
            Some("search") => "search",
            Some("execute") => "execute",
            Some("fetch") => "fetch",
            Some("switch_mode") => "plan",
            Some("think") if by_name == "other" => "think",
            _ => by_name,
        }
    }

    /// Writes what was printed anew.
    pub(in crate::acp) fn prints(&mut self, emitter: &mut Emitter, more: &str) {
        if more.is_empty() {
            return;
        }
        self.announce(emitter);
        self.printed.push_str(more);
        let chunk = ToolOutputChunk {
            tool_call_id: self.id.clone(),
            chunk: more.to_owned(),
            ..ToolOutputChunk::default()
        };
        emitter.add_as(
            &format!("{}:out{}", self.id, self.printed.len()),
            &self.place,
            chunk,
        );
    }

    /// The paths it says it is about.
    pub(in crate::acp) fn is_about(&self, path: &str) -> bool {
        self.locations
            .as_array()
            .into_iter()
            .flatten()
            .any(|location| str_of(location, "path") == Some(path))
            || ["file_path", "filePath", "path", "notebook_path"]
                .iter()
                .any(|key| str_of(&self.args, key) == Some(path))
    }

    /// Whether the agent told nothing of what it gave.
    pub(in crate::acp) fn tells_nothing(&self) -> bool {
        self.content.is_empty() && self.raw_output.is_null() && self.exit_code.is_none()
    }

    /// The text of its content.
    pub(in crate::acp) fn content_text(&self) -> String {
        let blocks = self
            .content
            .iter()
            .filter(|item| str_of(item, "type") == Some("content"))
            .filter_map(|item| item.get("content"));
        let texts: Vec<String> = blocks
            .map(|block| content::text_of_blocks(std::slice::from_ref(block)))
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n")
    }

    /// The terminals it shows.
    pub(in crate::acp) fn terminals(&self) -> Vec<String> {
        self.content
            .iter()
            .filter_map(|item| text_of(item, "terminalId").map(str::to_owned))
            .collect()
    }

    /// The entries of a list of things to do that it wrote.
    pub(in crate::acp) fn todos(&self) -> Option<&[Value]> {
        let of = |held: &'_ Value| held.get("todos").is_some_and(Value::is_array);
        let metadata = self.raw_output.get("metadata").unwrap_or(&Value::Null);
        [metadata, &self.args]
            .into_iter()
            .find(|held| of(held))
            .map(|held| list_of(held, "todos"))
    }
}
