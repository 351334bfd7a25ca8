//! Items that are tool calls: what they print, how they end, and which files they changed.

use chat_event::payload::{FileEdit, ToolError, ToolOutputChunk};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::{Phase, member, plan_entries};
use crate::codex::changes;
use crate::codex::collab::{agent_of_output, is_collab, output_words};
use crate::codex::given::{Given, is_refusal};
use crate::codex::outcome::{MAX_ERROR_BYTES, Outcome, outcome, summary, write_result};
use crate::codex::session::{Call, Ended, Scope, Session};
use crate::codex::tools::Spec;
use crate::edit::edits_summary;
use crate::emit::{Emitter, cut};
use crate::value::{list_of, str_of};

impl Session {
    /// A piece of a command's output.
    pub(crate) fn output(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, chunk: &str) {
        if self.ended(id) == Some(Ended::Told) {
            emitter.pass_over("output after the result");
            return;
        }
        self.asks.settle(emitter, id, Some(true));
        let (n, place) = match self.calls.get_mut(id) {
            Some(call) => {
                call.printed.push_str(chunk);
                call.n_chunks += 1;
                (call.n_chunks.to_string(), call.place.clone())
            }
            // It outlived its turn, or was never begun.
            None => (format!("late-{}", emitter.line_id()), scope.place.clone()),
        };
        let payload = ToolOutputChunk {
            tool_call_id: id.to_owned(),
            chunk: chunk.to_owned(),
            ..ToolOutputChunk::default()
        };
        emitter.add_as(&format!("{id}:o{n}"), &place, payload);
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn tool_item(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        id: &str,
        kind: &str,
        item: &Value,
        spec: Spec,
        phase: Phase,
    ) {
        if phase != Phase::Completed {
            match self.is_called(id) {
                true => {}
                false if spec.is_untold() => self.hold(scope, id, spec),
                false => self.call(emitter, scope, id, spec),
            }
            return;
        }
        self.tell_held(emitter, id, |held| held.learn(&spec));
        match self.ended(id) {
            // 0.77 ends a declined command twice, and the first end is the true one.
            Some(Ended::Told) => {
                emitter.pass_over("second end of an item");
                return;
            }
            Some(Ended::Closed) => {
                let code = member(item, "exit_code", "exitCode").and_then(Value::as_i64);
                let text = match code {
                    Some(code) => {
                        format!("a command that outlived its turn ended with exit code {code}")
                    }
                    None => "a call that outlived its turn ended".to_owned(),
                };
                emitter.notice("info", &scope.place, "codex", text);
                return;
            }
            None => {}
        }
        if !self.is_called(id) {
            self.call(emitter, scope, id, spec);
        }
        let Some(call) = self.take_call(id) else {
            return;
        };
        let mut outcome = outcome(kind, item, &call);
        self.asks.settle(emitter, id, Some(!outcome.declined));
        let mut edits = Vec::new();
        if kind == "filechange" && outcome.error.is_none() {
            let changes = changes::of_item(item.get("changes").unwrap_or(&Value::Null));
            edits = self.edits_of(id, &changes);
            outcome.summary = Some(edits_summary(&edits));
        }
        write_result(emitter, id, &call, outcome);
        self.edits(emitter, id, &call, edits);
        if kind.starts_with("collab") {
            self.collab(emitter, scope, id, item);
        }
    }

    /// What a call changed.
    fn edits_of(&mut self, id: &str, changes: &[changes::FileChange]) -> Vec<FileEdit> {
        let cwd = self.facts.cwd();
        let changes = changes.iter();
        changes
            .map(|change| self.files.edit(id, cwd.as_deref(), change))
            .collect()
    }

    /// Writes what a call changed.
    fn edits(&mut self, emitter: &mut Emitter, id: &str, call: &Call, edits: Vec<FileEdit>) {
        for (n, edit) in edits.into_iter().enumerate() {
            self.turn_diff.told(&edit);
            emitter.add_as(&format!("{id}:edit{n}"), &call.place, edit);
        }
    }

    /// A call's result as its text alone tells it, from a rollout's response items.
    pub(crate) fn result_text(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        given: Given,
        failed: bool,
    ) {
        self.tell_held(emitter, id, |held| match agent_of_output(&given.text) {
            Some(agent) => held.of_agent(&agent),
            None => held,
        });
        let mut given = given;
        let Some(call) = self.take_call(id) else {
            return;
        };
        if is_collab(&call.spec.name) {
            given.text = output_words(&given.text).unwrap_or(given.text);
        }
        let code = given.exit_code.filter(|code| *code != 0);
        let failed = failed || given.failed;
        let error = (failed || code.is_some()).then(|| ToolError {
            code: match (given.interrupted, code) {
                (true, _) => Some("interrupted".to_owned()),
                (false, Some(_)) => Some("exit_code".to_owned()),
                (false, None) => is_refusal(&given.text).then(|| "declined".to_owned()),
            },
            message: cut(given.text.trim(), MAX_ERROR_BYTES).to_owned(),
            extra: Extra::default(),
        });
        let mut outcome = Outcome {
            result: Json::string(&given.text),
            summary: summary(
                call.spec.kind,
                &given.text,
                given.exit_code,
                error.is_some(),
            ),
            text: given.text,
            attachments: given.attachments,
            error,
            exit_code: given.exit_code,
            duration_ms: given.duration_ms,
            declined: false,
        };
        if outcome.error.is_some() {
            write_result(emitter, id, &call, outcome);
            return;
        }
        let mut edits = Vec::new();
        if call.spec.name == "apply_patch" {
            let args = &call.spec.args;
            let patch = args
                .as_str()
                .or_else(|| str_of(args, "input"))
                .unwrap_or("");
            let cwd = self.facts.cwd();
            let patched = changes::of_patch_text(patch, cwd.as_deref()).unwrap_or_default();
            edits = self.edits_of(id, &patched);
            outcome.summary = Some(edits_summary(&edits));
            // That it went well is all that the code of a patch says.
            outcome.exit_code = outcome.exit_code.filter(|code| *code != 0);
        }
        write_result(emitter, id, &call, outcome);
        match call.spec.name.as_str() {
            "apply_patch" => self.edits(emitter, id, &call, edits),
            "update_plan" => {
                let entries = plan_entries(list_of(&call.spec.args, "plan"));
                let scope = Scope {
                    turn: String::new(),
                    place: call.place.clone(),
                };
                self.plan(emitter, &scope, entries);
            }
            _ => {}
        }
    }
}
