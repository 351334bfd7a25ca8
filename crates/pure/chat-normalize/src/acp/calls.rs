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
//!
//! What is known of one call is in `call`.

mod call;

use serde_json::Value;

use super::session::Session;
use super::texts::{Next, id_hash};
use super::{FORMAT, content};
use crate::emit::Emitter;
use crate::value::{list_of, str_of, text_of};
pub(crate) use call::Call;

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
