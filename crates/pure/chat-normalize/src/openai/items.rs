//! Items of the Responses API, in answers and in requests; which of them a request says anew stands in `item_requests`.
//!
//! | item | events |
//! |---|---|
//! | `message` | of a user, a turn; of the assistant, a text for each part |
//! | `reasoning` | thinking for each summary and each text; without any, thinking that is withheld |
//! | `function_call`, `custom_tool_call`, `local_shell_call`, `shell_call`, `apply_patch_call`, `computer_call` | a call for the client |
//! | `web_search_call`, `file_search_call`, `code_interpreter_call`, `image_generation_call`, `mcp_call`, `tool_search_call` | a call that the service runs, with its result |
//! | `…_output` | the result of the call with the same `call_id` |
//! | `mcp_approval_request`, `mcp_approval_response` | a permission, asked and given |
//! | `mcp_list_tools` | a notice |
//! | `compaction` | a compaction |
//!
//! What items are called and known by is in `names`, approvals are in `approvals`.

mod approvals;
mod names;

use chat_event::Json;
use chat_event::payload::Compaction;
use serde_json::Value;

use super::chat::yes;
use super::item_calls::{
    args_of, beside_args, function_name, given_by_client, given_by_service, is_hosted, mcp_name,
    message_of,
};
use super::responses::{FORMAT, OpenAiResponses};
use super::session::Key;
use crate::emit::Emitter;
use crate::value::{is_true, list_of, str_of, text_of};
use crate::words::counted;
pub(super) use names::{
    fingerprint, is_item, is_output, kind_of, part_key, raw_thought_key, thought_texts,
};

impl OpenAiResponses {
    /// Opens the call that an item is, for the input that follows; its id.
    pub(super) fn open_call(
        &mut self,
        emitter: &mut Emitter,
        answer_id: &str,
        item: &Value,
    ) -> Option<String> {
        let kind = kind_of(item);
        let stem = kind.strip_suffix("_call")?;
        let name = match stem {
            "function" | "custom_tool" => function_name(item),
            "mcp" => mcp_name(item),
            stem => stem.to_owned(),
        };
        let native_id = text_of(item, "call_id").or_else(|| text_of(item, "id"));
        let answer = self.session.answer(emitter, answer_id);
        let n_calls = answer.calls.next();
        let native_id = match native_id {
            Some(id) => id.to_owned(),
            None => format!("{answer_id}:call{n_calls}"),
        };
        if answer.calls.index_of(&native_id).is_none() {
            answer.calls.put(n_calls, &native_id);
        }
        let place = answer.place.clone();
        let call = self.session.calls.open(&native_id, &name, &place);
        call.hosted = is_hosted(stem, item);
        Some(native_id)
    }

    /// What a whole item says.
    pub(super) fn write_item(
        &mut self,
        emitter: &mut Emitter,
        answer_id: &str,
        item: &Value,
        key: &str,
    ) {
        let kind = kind_of(item);
        match kind {
            "message" => self.message_texts(emitter, answer_id, item, key),
            "reasoning" => self.reasoning(emitter, answer_id, item, key),
            "mcp_approval_request" => self.approval(emitter, answer_id, item, key),
            "mcp_approval_response" => {
                let id = text_of(item, "approval_request_id")
                    .unwrap_or("")
                    .to_owned();
                let decision = if is_true(item, "approve") {
                    "allow"
                } else {
                    "deny"
                };
                self.resolve(
                    emitter,
                    &id,
                    decision,
                    Some("user"),
                    text_of(item, "reason"),
                );
            }
            "mcp_list_tools" => {
                let server = str_of(item, "server_label").unwrap_or("");
                let place = self.place();
                match item.get("error").filter(|error| !error.is_null()) {
                    Some(error) => {
                        let text = format!("MCP server {server}: {}", message_of(error));
                        emitter.notice("warning", &place, FORMAT, text);
                    }
                    None => {
                        let n_tools = counted(list_of(item, "tools").len(), "tool", "tools");
                        emitter.notice(
                            "info",
                            &place,
                            FORMAT,
                            format!("MCP server {server}: {n_tools}"),
                        );
                    }
                }
            }
            "compaction" | "compaction_summary" | "context_compaction" => {
                let compaction = Compaction {
                    trigger: "auto".to_owned(),
                    summary: text_of(item, "summary").map(str::to_owned),
                    ..Compaction::default()
                };
                let place = self.place();
                emitter.add_as(&format!("{key}:compaction"), &place, compaction);
            }
            kind if is_output(kind) => self.output_item(emitter, item),
            kind if kind.ends_with("_call") => self.whole_call(emitter, answer_id, item),
            kind => emitter.raw(&self.place(), FORMAT, &format!("item {kind}"), item),
        }
    }

    fn message_texts(&mut self, emitter: &mut Emitter, answer_id: &str, item: &Value, key: &str) {
        let phase = text_of(item, "phase");
        let content = item.get("content").unwrap_or(&Value::Null);
        if let Some(text) = content.as_str() {
            let about = about_text(phase, &[], false);
            return self.session.done(
                emitter,
                answer_id,
                Key::text(part_key(key, 0)),
                text,
                &about,
            );
        }
        for (at, part) in content.as_array().into_iter().flatten().enumerate() {
            let refusal = str_of(part, "refusal");
            let text = refusal
                .or_else(|| str_of(part, "text"))
                .or_else(|| str_of(part, "transcript"));
            let about = about_text(phase, list_of(part, "annotations"), refusal.is_some());
            match text {
                Some(text) => {
                    let key = Key::text(part_key(key, at as u64));
                    self.session.done(emitter, answer_id, key, text, &about);
                }
                None => emitter.raw(&self.place(), FORMAT, "content part", part),
            }
        }
    }

    fn reasoning(&mut self, emitter: &mut Emitter, answer_id: &str, item: &Value, key: &str) {
        let mut any = false;
        for (at, part) in list_of(item, "summary").iter().enumerate() {
            if let Some(text) = text_of(part, "text") {
                let key = Key::thinking(part_key(key, at as u64));
                self.session.done(emitter, answer_id, key, text, &[]);
                any = true;
            }
        }
        for (at, part) in list_of(item, "content").iter().enumerate() {
            if let Some(text) = text_of(part, "text") {
                let key = Key::thinking(raw_thought_key(key, at as u64));
                self.session.done(emitter, answer_id, key, text, &[]);
                any = true;
            }
        }
        if any {
            return;
        }
        if text_of(item, "encrypted_content").is_some() {
            self.session
                .done(emitter, answer_id, Key::thinking(part_key(key, 0)), "", &[]);
        } else {
            emitter.pass_over("reasoning without text");
        }
    }

    fn whole_call(&mut self, emitter: &mut Emitter, answer_id: &str, item: &Value) {
        let Some(native_id) = self.open_call(emitter, answer_id, item) else {
            return;
        };
        if self
            .session
            .calls
            .get(&native_id)
            .is_some_and(|call| call.args.is_some())
        {
            return emitter.raw(&self.place(), FORMAT, "call with an id in use", item);
        }
        let calls = &mut self.session.calls;
        calls.say_with(&native_id, beside_args(item));
        calls.announce(emitter, &native_id, Some(args_of(item)));
        let hosted = self
            .session
            .calls
            .get(&native_id)
            .is_some_and(|call| call.hosted);
        if hosted && kind_of(item) == "tool_search_call" {
            self.searches.push(native_id.clone());
        }
        if hosted && let Some(given) = given_by_service(item) {
            let place = self.place();
            self.session
                .calls
                .result(emitter, &native_id, &place, &given);
        }
    }

    fn output_item(&mut self, emitter: &mut Emitter, item: &Value) {
        let place = self.session.place();
        let named = text_of(item, "call_id").map(str::to_owned);
        // What the service itself searched names no call; it follows the one it is of.
        let of_call = named.or_else(|| match kind_of(item) {
            "tool_search_output" => self.searches.pop(),
            _ => text_of(item, "id").map(str::to_owned),
        });
        let given = given_by_client(item);
        let calls = &mut self.session.calls;
        if !of_call.is_some_and(|id| calls.result(emitter, &id, &place, &given)) {
            emitter.raw(&place, FORMAT, "result of no open call", item);
        }
    }
}

/// What is said of a text beside it.
pub(super) fn about_text(
    phase: Option<&str>,
    annotations: &[Value],
    is_refusal: bool,
) -> Vec<(&'static str, Json)> {
    let mut about = Vec::new();
    if let Some(phase) = phase {
        about.push(("phase", Json::string(phase)));
    }
    if !annotations.is_empty() {
        about.push((
            "annotations",
            Json::from(Value::Array(annotations.to_vec())),
        ));
    }
    if is_refusal {
        about.push(("refusal", yes()));
    }
    about
}
