//! Which streaming event means what.

use chat_event::payload::AudioDone;
use serde_json::Value;

use super::{FORMAT, OpenAiResponses};
use crate::emit::Emitter;
use crate::openai::session::Key;
use crate::value::{count_of, text_of};

impl OpenAiResponses {
    /// The event `response.KIND`.
    pub(super) fn event(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        if self.repeats.has_come(self.current.as_deref(), kind, event) {
            return emitter.pass_over("an event that came before");
        }
        let nothing = Value::Null;
        let response = event.get("response").unwrap_or(&nothing);
        let item = event.get("item").unwrap_or(&nothing);
        match kind {
            "created" | "queued" | "in_progress" => self.begin(emitter, response),
            "completed" | "incomplete" | "failed" | "cancelled" | "done"
                if self.is_over(response) =>
            {
                emitter.pass_over("an answer that was said before");
            }
            "completed" | "incomplete" | "failed" | "cancelled" | "done" => {
                let status = text_of(response, "status").unwrap_or(kind).to_owned();
                if self.has_failed(response, &status) {
                    return self.end_failed(emitter, response);
                }
                self.begin(emitter, response);
                self.end(emitter, response, &status);
            }
            "output_item.added" => self.item_began(emitter, item, event),
            "output_item.done" => {
                let place = count_of(event, "output_index");
                self.item_whole(emitter, item, place, false);
            }
            "output_text.delta" | "refusal.delta" | "audio.transcript.delta" => {
                let key = Key::text(self.text_key(event, "content_index"));
                self.piece(emitter, key, event);
            }
            "output_text.done" | "refusal.done" => self.text_whole(emitter, kind, event),
            "reasoning_summary_text.delta" | "reasoning_summary.delta" => {
                let key = Key::thinking(self.text_key(event, "summary_index"));
                self.piece(emitter, key, event);
            }
            "reasoning_text.delta" => {
                let key = Key::thinking(self.reasoning_key(event));
                self.piece(emitter, key, event);
            }
            "reasoning_summary_text.done" | "reasoning_summary.done" => {
                let key = Key::thinking(self.text_key(event, "summary_index"));
                self.thought_whole(emitter, key, event);
            }
            "reasoning_text.done" => {
                let key = Key::thinking(self.reasoning_key(event));
                self.thought_whole(emitter, key, event);
            }
            "output_text.annotation.added" => {
                let index = count_of(event, "content_index").unwrap_or(0);
                if let Some(open) = self.items.open_of(event)
                    && let Some(annotation) = event.get("annotation")
                {
                    open.annotations
                        .entry(index)
                        .or_default()
                        .push(annotation.clone());
                }
                emitter.pass_over("response.output_text.annotation.added");
            }
            "function_call_arguments.delta"
            | "mcp_call_arguments.delta"
            | "mcp_call.arguments.delta"
            | "custom_tool_call_input.delta"
            | "code_interpreter_call_code.delta"
            | "code_interpreter_call.code.delta"
            | "apply_patch_call_operation_diff.delta"
            | "shell_call_command.delta" => self.input(emitter, event),
            "shell_call_output_content.delta" => self.output(emitter, event),
            "web_search_call.searching"
            | "file_search_call.searching"
            | "code_interpreter_call.interpreting"
            | "image_generation_call.generating" => self.progress(emitter, kind, event),
            "compaction.compacting" => emitter.busy_with(&self.place(), "compacting"),
            "audio.delta" => self.sound(emitter, event),
            "audio.done" => {
                let place = self.place();
                emitter.add_as(
                    &format!("{}:audio", self.answer_id()),
                    &place,
                    AudioDone::default(),
                );
            }
            // What they say comes with the item that they are of, too.
            "content_part.added"
            | "content_part.done"
            | "reasoning_summary_part.added"
            | "reasoning_summary_part.done"
            | "audio.transcript.done"
            | "image_generation_call.partial_image"
            | "shell_call_command.added"
            | "keepalive" => emitter.pass_over(&format!("response.{kind}")),
            kind if is_of_an_item(kind) => emitter.pass_over(&format!("response.{kind}")),
            kind => emitter.raw(&self.place(), FORMAT, &format!("response.{kind}"), event),
        }
    }
}

/// Events that say how far an item is, or repeat what it says when it is whole.
fn is_of_an_item(kind: &str) -> bool {
    let Some((_, what)) = kind.rsplit_once('.') else {
        return false;
    };
    let known = kind.split('.').next().is_some_and(|item| {
        item.contains("_call") || matches!(item, "mcp_list_tools" | "image_gen_call")
    });
    known
        && matches!(
            what,
            "in_progress" | "completed" | "failed" | "done" | "searching" | "calling"
        )
}
