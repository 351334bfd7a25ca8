//! `response_item` lines: what the model was given and gave, its calls and their results among it.

use serde_json::Value;

use super::CodexRollout;
use super::said::Source;
use crate::codex::content;
use crate::codex::given::{Given, given};
use crate::codex::session::Ended;
use crate::codex::tools::Spec;
use crate::emit::Emitter;
use crate::value::{list_of, str_of, text_of};

/// The tool by which the agent asks the person; a rollout has no line of its own for that.
const QUESTION_TOOL: &str = "request_user_input";

impl CodexRollout {
    pub(super) fn response_item(&mut self, emitter: &mut Emitter, item: &Value) {
        let kind = text_of(item, "type").unwrap_or(if item.get("role").is_some() {
            "message"
        } else {
            ""
        });
        match kind {
            "message" => self.message(emitter, item),
            "reasoning" => self.thoughts(emitter, item, Source::Response),
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                self.call(emitter, kind, item);
            }
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                self.output(emitter, item);
            }
            "web_search_call" | "image_generation_call" => {
                let stem = kind.trim_end_matches("_call");
                self.renamed_item(emitter, stem, item, Source::Response);
            }
            "agent_message" => self.between_agents(emitter, item),
            // What the model is told beside the conversation, and the state of the files for an undo.
            "additional_tools" | "ghost_snapshot" | "compaction" | "compaction_trigger" => {
                emitter.pass_over(kind);
            }
            _ => self.raw(emitter, &format!("response_item {kind}"), item),
        }
    }

    fn call(&mut self, emitter: &mut Emitter, kind: &str, item: &Value) {
        let scope = self.session.work_scope(emitter, "", None);
        let native = text_of(item, "call_id").or_else(|| text_of(item, "id"));
        let native = native.map_or_else(|| format!("call-{}", emitter.line_id()), str::to_owned);
        let id = self.session.id_of(&scope.turn, &native);
        if self.session.is_called(&id) {
            emitter.pass_over("call that came before");
            return;
        }
        self.session.owes_answer(true);
        let (name, args) = match kind {
            "custom_tool_call" => (
                str_of(item, "name").unwrap_or("tool").to_owned(),
                serde_json::json!({"input": item.get("input").unwrap_or(&Value::Null)}),
            ),
            "local_shell_call" => (
                "local_shell".to_owned(),
                item.get("action").cloned().unwrap_or(Value::Null),
            ),
            "tool_search_call" => (
                "tool_search".to_owned(),
                item.get("arguments").cloned().unwrap_or(Value::Null),
            ),
            _ => {
                let said = item.get("arguments").cloned().unwrap_or(Value::Null);
                // Arguments are JSON within a string.
                let args = said
                    .as_str()
                    .and_then(|text| serde_json::from_str(text).ok());
                let name = str_of(item, "name").unwrap_or("tool");
                let name = match text_of(item, "namespace") {
                    Some(namespace) if namespace.starts_with("mcp__") => {
                        format!("{}__{name}", namespace.trim_end_matches("__"))
                    }
                    Some(_) | None => name.to_owned(),
                };
                (name, args.unwrap_or(said))
            }
        };
        let spec = Spec::of_call(&name, args);
        if spec.is_untold() || spec.is_script() {
            return self.session.hold(&scope, &id, spec);
        }
        let questions = Some(&spec.args).filter(|_| name == QUESTION_TOOL).cloned();
        self.session.call(emitter, &scope, &id, spec);
        if let Some(args) = questions.filter(|args| !list_of(args, "questions").is_empty()) {
            let asks = &mut self.session.asks;
            asks.question(emitter, &scope, &id, Some(id.clone()), &args);
        }
    }

    fn output(&mut self, emitter: &mut Emitter, item: &Value) {
        let native = text_of(item, "call_id").unwrap_or("");
        let Some(id) = self.session.latest_id(native) else {
            self.raw(emitter, "output of no call", item);
            return;
        };
        match self.session.ended(&id) {
            // The item said it before, and better.
            Some(Ended::Told) => return emitter.pass_over("output of a call that ended"),
            Some(Ended::Closed) => return emitter.pass_over("output of a call that was closed"),
            None => {}
        }
        let output = item
            .get("output")
            .or_else(|| item.get("tools"))
            .unwrap_or(&Value::Null);
        let text = match output {
            Value::String(text) => text.clone(),
            Value::Array(_) => content::texts_of(Some(output)).join("\n"),
            Value::Object(_) => {
                str_of(output, "content").map_or_else(|| output.to_string(), str::to_owned)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
        };
        self.session.asks.told_by_output(emitter, &id, &text);
        let mut given = given(&text);
        given.attachments = item.get("output").and_then(content::attachments_of);
        let failed = output.get("success") == Some(&Value::Bool(false))
            || given.interrupted
            || is_refusal(&text)
            || self.is_image_missing(&id, &text, &given);
        // Its calls tell of no image that it shows.
        let is_told = !failed && !given.failed && given.attachments.is_none();
        if is_told && self.session.is_told_by_its_calls(&id) {
            return emitter.pass_over("output of a script whose calls are items");
        }
        let call = self.session.calls.get(&id);
        if let Some(call) = call.filter(|call| call.spec.name == "write_stdin") {
            let shell = call.spec.args.get("session_id").and_then(Value::as_u64);
            let is_told = !failed && self.tell_shell(emitter, shell, &given);
            if is_told || self.has_item("commandexecution") {
                // How the command ended is said by its own item, or was said of its own call.
                given.exit_code = None;
                given.runs_on = false;
            }
        } else if let Some(shell) = given.shell {
            self.shells.put(shell, id.clone());
        }
        if given.runs_on {
            if let Some(call) = self.session.calls.get_mut(&id) {
                call.so_far = Some(given);
            }
            return;
        }
        self.session.result_text(emitter, &id, given, failed);
    }

    /// Whether a call that was to show an image says why it shows none: nothing else in its output tells that it failed.
    fn is_image_missing(&self, id: &str, text: &str, given: &Given) -> bool {
        let call = self.session.calls.get(id);
        call.is_some_and(|call| call.spec.name == "view_image")
            && given.attachments.is_none()
            && is_without_image(text)
    }

    /// A call looked after the command that runs on in a session: what it printed is the command's, and so is its end.
    /// Whether that is told of the call that began it, which is open.
    fn tell_shell(&mut self, emitter: &mut Emitter, shell: Option<u64>, more: &Given) -> bool {
        let Some(id) = shell.and_then(|shell| self.shells.at(shell)).cloned() else {
            return false;
        };
        let has_item = self.has_item("commandexecution");
        let call = self.session.calls.get_mut(&id);
        let Some(so_far) = call.and_then(|call| call.so_far.as_mut()) else {
            return false;
        };
        so_far.text.push_str(&more.text);
        if more.exit_code.is_none() || has_item {
            return true;
        }
        let mut whole = so_far.clone();
        whole.exit_code = more.exit_code;
        // How long each look took says nothing of the whole.
        whole.duration_ms = None;
        self.session.result_text(emitter, &id, whole, false);
        true
    }
}

/// What the program answers in place of a tool.
fn is_refusal(text: &str) -> bool {
    [
        "unsupported call",
        "unsupported custom tool call",
        "apply_patch verification failed",
        "patch rejected",
        "exec_command failed",
        "failed to parse function arguments",
        "exec command rejected",
        "rejected: ",
        "collab spawn failed",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

/// What the program answers in place of an image: in old versions one that was shown says `attached local image path`, later it is
/// in the output.
fn is_without_image(text: &str) -> bool {
    [
        "unable to ",
        "failed to read image at",
        "image path `",
        "view_image is ",
        "view_image.detail ",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}
