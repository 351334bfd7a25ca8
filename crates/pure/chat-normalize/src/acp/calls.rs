//! Tool calls: any mention makes one, fields that are given replace those before, the first end counts.
//!
//! | state | what comes | next |
//! |---|---|---|
//! | unknown | any mention | held, as long as it is pending and has empty arguments |
//! | held | arguments, another status, a request about it | announced: `tool_call` |
//! | announced | arguments where none were | `tool_input_chunk` |
//! | announced | output while it runs, as a whole so far | `tool_output_chunk` with what is new |
//! | any | `completed`, `failed` | `tool_result`, edits, plan; over |
//! | over | `tool_call`, and no history is read out | another call, `id~2` |
//! | over | anything else | passed over |

use chat_event::payload::{ToolCall, ToolInputChunk, ToolOutputChunk};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::FORMAT;
use super::content;
use super::session::Session;
use super::texts::{Next, id_hash};
use crate::emit::{Emitter, Place};
use crate::tool;
use crate::value::{list_of, str_of, text_of};

/// What a message says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    /// `tool_call`.
    Call,
    /// `tool_call_update`.
    Update,
    /// A request for permission: it may word the arguments in its own way.
    Permission,
}

/// A call without its result.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(super) order: u64,
    /// The id its events bear.
    pub(super) id: String,
    pub(super) place: Place,
    /// The call whose sub-agent made it.
    pub(super) parent: Option<String>,
    name: Option<String>,
    first_title: Option<String>,
    title: Option<String>,
    kind: Option<String>,
    pub(super) args: Value,
    locations: Value,
    /// What was said of it last.
    pub(super) content: Vec<Value>,
    pub(super) raw_output: Value,
    /// What Claude Code's tool answered, as its own stream has it.
    pub(super) response: Value,
    announced: bool,
    announced_args: bool,
    /// Output that was written.
    pub(super) printed: String,
    pub(super) exit_code: Option<i64>,
    /// The client refused it.
    pub(super) refused: bool,
}

impl Session {
    /// A message mentions a call; `false` where it was read before or names none.
    pub(super) fn mention(
        &mut self,
        emitter: &mut Emitter,
        update: &Value,
        how: Mention,
        parent: Option<String>,
    ) -> bool {
        let Some(native) = text_of(update, "toolCallId").map(str::to_owned) else {
            let place = self.quiet_place();
            emitter.raw(&place, FORMAT, "a call without an id", update);
            return false;
        };
        self.settle(emitter, Next::Call(&native));
        let is_new = !self.calls.contains_key(&native);
        let is_over = is_new && self.is_over(Next::Call(&native));
        // Some servers count their calls anew with each answer. A history says them all once more, too.
        let is_another = how == Mention::Call && !self.loading;
        if self.skipping || (is_over && !is_another) {
            emitter.pass_over("a call that is over");
            return false;
        }
        if is_new {
            if is_over {
                self.use_again(id_hash("call", &native));
            }
            let place = self.call_place(emitter, parent.clone());
            self.n_calls += 1;
            let call = Call {
                order: self.n_calls,
                id: self.call_id(&native),
                place,
                parent,
                ..Call::default()
            };
            self.calls.insert(native.clone(), call);
        }
        if let Some(call) = self.calls.get_mut(&native) {
            call.take(update, how);
            let status = str_of(update, "status");
            let begun = !matches!(status, None | Some("pending"));
            if begun || call.has_args() || how == Mention::Permission {
                call.announce(emitter);
            }
        }
        for item in list_of(update, "content") {
            if let Some(terminal) = text_of(item, "terminalId") {
                self.attach_terminal(&native, terminal);
            }
        }
        self.outputs(emitter, &native, update);
        match str_of(update, "status") {
            Some(status @ ("completed" | "failed")) if how != Mention::Permission => {
                self.result(emitter, &native, status == "failed");
            }
            _ => {}
        }
        true
    }

    /// `tool_call_content_chunk` of version 2.
    pub(super) fn content_chunk(
        &mut self,
        emitter: &mut Emitter,
        update: &Value,
        parent: Option<String>,
    ) {
        let mut mention = serde_json::Map::new();
        if let Some(id) = update.get("toolCallId") {
            mention.insert("toolCallId".to_owned(), id.clone());
        }
        let mention = Value::Object(mention);
        if !self.mention(emitter, &mention, Mention::Update, parent) {
            return;
        }
        let Some(call) = text_of(update, "toolCallId").and_then(|id| self.calls.get_mut(id)) else {
            return;
        };
        let Some(item) = update.get("content") else {
            return emitter.pass_over("a piece without content");
        };
        call.announce(emitter);
        let text = item
            .get("content")
            .filter(|_| str_of(item, "type") == Some("content"))
            .map(|block| content::text_of_blocks(std::slice::from_ref(block)));
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            call.prints(emitter, &text);
        }
        call.content.push(item.clone());
        if let (Some(native), Some(terminal)) =
            (text_of(update, "toolCallId"), text_of(item, "terminalId"))
        {
            self.attach_terminal(native, terminal);
        }
    }

    /// Output that an update holds.
    fn outputs(&mut self, emitter: &mut Emitter, native: &str, update: &Value) {
        let Some(call) = self.calls.get_mut(native) else {
            return;
        };
        let meta = update.get("_meta").unwrap_or(&Value::Null);
        // An extension of Zed's: the agent runs the command, the client shows its terminal.
        if let Some(output) = meta.get("terminal_output") {
            let data = str_of(output, "data").unwrap_or("").to_owned();
            call.prints(emitter, &data);
        }
        if let Some(exit) = meta.get("terminal_exit") {
            call.exit_code = exit.get("exit_code").and_then(Value::as_i64);
        }
        // The content of a command that runs is its output so far; before, it may be a description.
        let runs = str_of(update, "status") == Some("in_progress") && call.announced;
        let of_command =
            call.kind.as_deref() == Some("execute") && meta.get("claudeCode").is_none();
        if runs && of_command && update.get("content").is_some() {
            let so_far = call.content_text();
            if let Some(more) = so_far.strip_prefix(call.printed.as_str()) {
                let more = more.to_owned();
                call.prints(emitter, &more);
            }
        }
    }

    /// The id that the events of the call `native` bear.
    pub(super) fn call_id(&self, native: &str) -> String {
        let id = self.numbered(native, id_hash("call", native));
        format!("{}{id}", self.prefix)
    }

    /// The call `native` is over.
    pub(super) fn take_call(&mut self, native: &str) -> Option<Call> {
        let call = self.calls.remove(native)?;
        self.over.insert(id_hash("call", native));
        self.call_answered(call.parent.as_ref());
        Some(call)
    }
}

impl Call {
    /// Takes what is given.
    fn take(&mut self, update: &Value, how: Mention) {
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

    fn has_args(&self) -> bool {
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
    pub(super) fn announce(&mut self, emitter: &mut Emitter) {
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
    pub(super) fn name(&self) -> String {
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
    pub(super) fn kind_of(&self, name: &str) -> &'static str {
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
    pub(super) fn prints(&mut self, emitter: &mut Emitter, more: &str) {
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
    pub(super) fn is_about(&self, path: &str) -> bool {
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
    pub(super) fn tells_nothing(&self) -> bool {
        self.content.is_empty() && self.raw_output.is_null() && self.exit_code.is_none()
    }

    /// The text of its content.
    pub(super) fn content_text(&self) -> String {
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
    pub(super) fn terminals(&self) -> Vec<String> {
        self.content
            .iter()
            .filter_map(|item| text_of(item, "terminalId").map(str::to_owned))
            .collect()
    }

    /// The entries of a list of things to do that it wrote.
    pub(super) fn todos(&self) -> Option<&[Value]> {
        let of = |held: &'_ Value| held.get("todos").is_some_and(Value::is_array);
        let metadata = self.raw_output.get("metadata").unwrap_or(&Value::Null);
        [metadata, &self.args]
            .into_iter()
            .find(|held| of(held))
            .map(|held| list_of(held, "todos"))
    }
}
