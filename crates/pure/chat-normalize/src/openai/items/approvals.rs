//! Approvals that a service asks for, before it calls a tool of an MCP server.

use chat_event::payload::{PermissionOption, PermissionRequest, PermissionResolved};
use chat_event::{Extra, Json};
use serde_json::Value;

use crate::emit::Emitter;
use crate::openai::item_calls::{args_of, mcp_name};
use crate::openai::responses::OpenAiResponses;
use crate::value::text_of;

impl OpenAiResponses {
    pub(super) fn approval(
        &mut self,
        emitter: &mut Emitter,
        answer_id: &str,
        item: &Value,
        key: &str,
    ) {
        let answer = self.session.answer(emitter, answer_id);
        answer.asks = true;
        let place = answer.place.clone();
        let id = text_of(item, "id").unwrap_or(key).to_owned();
        let args = args_of(item);
        let option = PermissionOption::new;
        let request = PermissionRequest {
            request_id: id.clone(),
            tool_name: mcp_name(item),
            title: crate::openai::tools::title(&mcp_name(item), &args),
            args: Some(Json::from(&args)),
            options: vec![
                option("approve", "Approve", "allow_once"),
                option("deny", "Deny", "reject_once"),
            ],
            ..PermissionRequest::default()
        };
        emitter.add_as(&format!("{id}:asked"), &place, request);
        self.asked.insert(id, place);
    }

    pub(super) fn resolve(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        decision: &str,
        by: Option<&str>,
        message: Option<&str>,
    ) {
        let place = self
            .asked
            .remove(id)
            .unwrap_or_else(|| self.session.place());
        let resolved = PermissionResolved {
            request_id: id.to_owned(),
            decision: decision.to_owned(),
            scope: by.map(|_| "once".to_owned()),
            by: by.map(str::to_owned),
            message: message.map(str::to_owned),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{id}:resolved"), &place, resolved);
    }

    /// Approvals that nobody gave will not be given.
    pub(in crate::openai) fn cancel_asked(&mut self, emitter: &mut Emitter) {
        while let Some(id) = self.asked.keys().next().cloned() {
            self.resolve(emitter, &id, "cancel", None, None);
        }
    }
}
