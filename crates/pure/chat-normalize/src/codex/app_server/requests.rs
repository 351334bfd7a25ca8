//! What the server asks its client, and the answers of both.

use serde_json::Value;

use super::CodexAppServer;
use super::wire::id_text;
use crate::codex::asks::About;
use crate::emit::Emitter;
use crate::value::{count_of, list_of, str_of, text_of};

impl CodexAppServer {
    /// The client asks.
    pub(super) fn client_asks(
        &mut self,
        emitter: &mut Emitter,
        method: &str,
        id: Option<&Value>,
        params: &Value,
    ) {
        if method == "thread/rollback"
            && let (Some(id), Some(n_turns)) = (id, count_of(params, "numTurns"))
        {
            let n_turns = usize::try_from(n_turns).unwrap_or(usize::MAX);
            self.rollbacks.insert(id_text(id), n_turns);
        }
        emitter.pass_over("request of the client");
    }

    /// What the server answers of a thread: it may have been set back.
    fn is_set_back(&mut self, emitter: &mut Emitter, native: &str, result: &Value, thread: &Value) {
        let asked = self.rollbacks.remove(native);
        let id = text_of(thread, "id").unwrap_or("");
        if !self.session.is_main(id) {
            return;
        }
        // Who takes a thread up is told its model as well.
        match (asked, result.get("model")) {
            (Some(n_turns), _) => self.session.set_back_by(emitter, n_turns),
            (None, None) => {
                let turns = list_of(thread, "turns").iter();
                let turns: Vec<&str> = turns.filter_map(|turn| text_of(turn, "id")).collect();
                self.session.made_of(emitter, &turns);
            }
            (None, Some(_)) => {}
        }
    }

    /// The server asks.
    pub(super) fn request(
        &mut self,
        emitter: &mut Emitter,
        method: &str,
        id: &Value,
        params: &Value,
        message: &Value,
    ) {
        let native = id_text(id);
        let thread = str_of(params, "threadId")
            .or_else(|| str_of(params, "conversationId"))
            .unwrap_or("");
        let turn = text_of(params, "turnId");
        match method {
            "item/commandExecution/requestApproval"
            | "item/fileChange/requestApproval"
            | "item/permissions/requestApproval"
            | "execCommandApproval"
            | "applyPatchApproval" => {
                let scope = self.session.asking_scope(emitter, thread, turn);
                let item = text_of(params, "itemId").or_else(|| text_of(params, "callId"));
                let call_id = item.map(|item| self.session.id_of(&scope.turn, item));
                let spec = call_id
                    .as_ref()
                    .and_then(|id| self.session.calls.get(id))
                    .map(|call| &call.spec);
                let name = match method {
                    "item/fileChange/requestApproval" | "applyPatchApproval" => "apply_patch",
                    "item/permissions/requestApproval" => "permissions",
                    _ if params.get("command").is_none_or(Value::is_null)
                        && params.get("networkApprovalContext").is_some() =>
                    {
                        "network"
                    }
                    _ => "shell",
                };
                let about = About::new(name, call_id.clone(), spec, params);
                self.session
                    .asks
                    .approval(emitter, &scope, &native, about, params);
            }
            "item/tool/requestUserInput" | "mcpServer/elicitation/request" => {
                let scope = self.session.asking_scope(emitter, thread, turn);
                let call_id =
                    text_of(params, "itemId").map(|item| self.session.id_of(&scope.turn, item));
                let call_id = call_id.filter(|id| self.session.is_called(id));
                self.session
                    .asks
                    .question(emitter, &scope, &native, call_id, params);
            }
            // Plumbing between server and client; a called tool is an item, too.
            "item/tool/call" | "account/chatgptAuthTokens/refresh" | "attestation/generate" => {
                emitter.pass_over(method);
            }
            _ => self.raw(emitter, method, message),
        }
    }

    /// Client or server answers.
    pub(super) fn response(
        &mut self,
        emitter: &mut Emitter,
        id: &Value,
        message: &Value,
        by_client: bool,
    ) {
        let native = id_text(id);
        let result = message.get("result");
        let is_answer = result.is_some_and(|result| {
            ["decision", "answers", "action", "permissions"]
                .iter()
                .any(|key| result.get(*key).is_some())
        });
        if self.session.asks.is_open(&native) && (by_client || is_answer) {
            self.session.asks.answer(emitter, &native, result);
            return;
        }
        let thread = result
            .and_then(|result| result.get("thread"))
            .filter(|thread| thread.is_object());
        match (thread, message.get("error")) {
            (Some(thread), _) if !by_client => {
                let result = result.unwrap_or(&Value::Null);
                self.thread(emitter, thread, text_of(result, "model"));
                self.is_set_back(emitter, &native, result, thread);
            }
            (_, Some(error)) if !by_client => {
                self.rollbacks.remove(&native);
                let text = str_of(error, "message").unwrap_or("the request failed");
                let place = self.session.scope("", None).place;
                emitter.notice("warning", &place, "codex", text);
            }
            _ => emitter.pass_over("response"),
        }
    }
}
