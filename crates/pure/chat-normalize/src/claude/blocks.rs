//! Content blocks of assistant messages, whole and in pieces.
//!
//! Every `assistant` line of the programs seen has one block (a few of other writers have several), and several lines
//! share one `message.id`. The line of a block comes after its pieces and before its `content_block_stop`.

use chat_event::Extra;
use chat_event::payload::{
    AssistantChunk, AssistantDone, Compaction, ErrorEvent, ThinkingChunk, ThinkingDone,
    ToolInputChunk,
};
use serde_json::Value;

use super::results;
use super::session::{Message, OpenMessage, Parts, Session};
use crate::emit::{Emitter, Place};
use crate::value::{list_of, str_of, text_of};
use crate::words::answers_in_place;

impl Session {
    /// The blocks of an `assistant` line.
    pub(crate) fn assistant_blocks(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        message: &Value,
    ) {
        let native_id = match text_of(message, "id") {
            Some(id) => id.to_owned(),
            // Without an id, every line is a message of its own.
            None => emitter.line_id().to_owned(),
        };
        let response_id = self.message(&native_id, place).response_id.clone();
        let place = place.in_response(&response_id);
        match message.get("content") {
            Some(Value::String(text)) => self.text_done(emitter, &place, &native_id, text, "b0"),
            Some(Value::Array(blocks)) => {
                for (at, block) in blocks.iter().enumerate() {
                    self.block(emitter, &place, &native_id, block, &format!("b{at}"));
                }
            }
            Some(other) => emitter.raw(&place, self.format, "assistant content", other),
            None => emitter.raw(&place, self.format, "assistant without content", message),
        }
    }

    /// An API error: its text says what failed, and what else its line holds is shown as an answer's. Whether the turn
    /// failed by it is the caller's to say.
    pub(crate) fn api_error(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        (code, message): (Option<&str>, &Value),
    ) {
        let text = results::text_of_content(message.get("content").unwrap_or(&Value::Null));
        emitter.add(
            "error",
            place,
            ErrorEvent {
                code: code.unwrap_or("api_error").to_owned(),
                message: text,
                extra: Extra::default(),
            },
        );
        self.blocks_beside_text(emitter, place, message);
    }

    /// What a line holds beside its text.
    fn blocks_beside_text(&mut self, emitter: &mut Emitter, place: &Place, message: &Value) {
        let rest: Vec<Value> = list_of(message, "content")
            .iter()
            .filter(|block| str_of(block, "type") != Some("text"))
            .cloned()
            .collect();
        if !rest.is_empty()
            && let Some(mut members) = message.as_object().cloned()
        {
            members.insert("content".to_owned(), Value::Array(rest));
            self.assistant_blocks(emitter, place, &Value::Object(members));
        }
    }

    /// A whole block of an answer.
    pub(crate) fn block(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        native_id: &str,
        block: &Value,
        tag: &str,
    ) {
        match str_of(block, "type").unwrap_or("") {
            "text" => self.text_done(
                emitter,
                place,
                native_id,
                str_of(block, "text").unwrap_or(""),
                tag,
            ),
            "thinking" => {
                let text = str_of(block, "thinking").unwrap_or("");
                self.thinking_done(emitter, place, native_id, text, text.is_empty(), tag);
            }
            "redacted_thinking" => self.thinking_done(emitter, place, native_id, "", true, tag),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.tool_use(emitter, place, block),
            kind if kind.ends_with("_tool_result") || kind == "tool_result" => {
                self.tool_result(emitter, place, block, None, None);
            }
            "compaction" => {
                let compaction = Compaction {
                    trigger: "auto".to_owned(),
                    summary: text_of(block, "content").map(str::to_owned),
                    ..Compaction::default()
                };
                emitter.add(tag, place, compaction);
            }
            "container_upload" => {
                let file = text_of(block, "file_id").unwrap_or("a file");
                let text = format!("{file} was put into the container");
                emitter.notice("info", place, self.format, text);
            }
            "fallback" => match model_of(block, "to") {
                Some(now) => {
                    let text = answers_in_place(now, model_of(block, "from"), None);
                    emitter.notice("info", place, self.format, text);
                }
                None => emitter.raw(place, self.format, "block fallback", block),
            },
            kind => emitter.raw(place, self.format, &format!("block {kind}"), block),
        }
    }

    fn text_done(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        native_id: &str,
        text: &str,
        tag: &str,
    ) {
        let parts = &mut self.message(native_id, place).text;
        let part = parts.done;
        parts.done += 1;
        parts.started = parts.started.max(parts.done);
        parts.open.remove(&part);
        let done = AssistantDone {
            text: text.to_owned(),
            part: Some(part),
            ..AssistantDone::default()
        };
        emitter.add(tag, place, done);
    }

    fn thinking_done(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        native_id: &str,
        text: &str,
        redacted: bool,
        tag: &str,
    ) {
        let parts = &mut self.message(native_id, place).thinking;
        let part = parts.done;
        parts.done += 1;
        parts.started = parts.started.max(parts.done);
        parts.open.remove(&part);
        let done = ThinkingDone {
            text: text.to_owned(),
            part: Some(part),
            redacted: redacted.then_some(true),
            ..ThinkingDone::default()
        };
        emitter.add(tag, place, done);
    }

    /// A whole call.
    pub(crate) fn tool_use(&mut self, emitter: &mut Emitter, place: &Place, block: &Value) {
        let native_id = call_id_of(emitter, block);
        let name = str_of(block, "name").unwrap_or("").to_owned();
        let input = block.get("input").cloned().unwrap_or(Value::Null);
        if let Some(call) = self.calls.get(&native_id)
            && call.announced
            && call.name == name
            && call.args == input
        {
            // The same call word for word while it is open is a line that was written twice.
            emitter.pass_over("repeated tool_use");
            return;
        }
        let call = self.open_call(emitter, &native_id, &name, place);
        if call.announced {
            emitter.raw(place, self.format, "tool_use with an id in use", block);
            return;
        }
        call.announced = true;
        call.name.clone_from(&name);
        call.args.clone_from(&input);
        call.place = place.clone();
        call.input = String::new();
        if let Some(call) = self.calls.remove(&native_id) {
            self.write_call(emitter, &call, &input, "call");
            if !self.has_requests {
                self.asks.begun(emitter, &call);
            }
            self.note_call(&native_id, call);
        }
    }

    /// A piece of text.
    pub(crate) fn text_chunk(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        native_id: &str,
        text: &str,
    ) {
        if text.is_empty() {
            return;
        }
        let (part, place) = self.push_piece(place, native_id, text, |it| &mut it.text);
        let chunk = AssistantChunk {
            text: text.to_owned(),
            part: Some(part),
            ..AssistantChunk::default()
        };
        emitter.add("", &place, chunk);
    }

    /// A piece of thinking.
    pub(crate) fn thinking_chunk(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        native_id: &str,
        text: &str,
    ) {
        if text.is_empty() {
            return;
        }
        let (part, place) = self.push_piece(place, native_id, text, |it| &mut it.thinking);
        let chunk = ThinkingChunk {
            text: text.to_owned(),
            part: Some(part),
            ..ThinkingChunk::default()
        };
        emitter.add("", &place, chunk);
    }

    /// Adds a piece to the part that is being written, of texts or of thoughts; which part, and its place.
    fn push_piece(
        &mut self,
        place: &Place,
        native_id: &str,
        text: &str,
        parts: fn(&mut Message) -> &mut Parts,
    ) -> (u32, Place) {
        let message = self.message(native_id, place);
        let place = place.in_response(&message.response_id);
        let parts = parts(message);
        let part = parts.current();
        let open = parts.open.entry(part);
        let (written, _) = open.or_insert_with(|| (String::new(), place.clone()));
        written.push_str(text);
        self.open_messages
            .insert(OpenMessage::new(&place, native_id));
        (part, place)
    }

    /// A piece of a call's input.
    pub(crate) fn input_chunk(&mut self, emitter: &mut Emitter, native_id: &str, chunk: &str) {
        if chunk.is_empty() {
            return;
        }
        let Some(call) = self.calls.get_mut(native_id).filter(|call| !call.announced) else {
            emitter.pass_over("input of a call that is whole");
            return;
        };
        let payload = ToolInputChunk {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            chunk: chunk.to_owned(),
            offset: Some(call.input_chars),
            ..ToolInputChunk::default()
        };
        call.input.push_str(chunk);
        call.input_chars += chunk.chars().count() as u64;
        let place = call.place.clone();
        emitter.add("", &place, payload);
    }
}

impl super::session::Parts {
    /// The part that chunks belong to now.
    fn current(&mut self) -> u32 {
        // A chunk behind a part that is done opens the next one.
        self.started = self.started.max(self.done + 1);
        self.started - 1
    }

    /// A new block begins.
    pub(crate) fn begin(&mut self) {
        self.started += 1;
    }
}

/// The model on one side of a change of models.
fn model_of<'a>(block: &'a Value, side: &str) -> Option<&'a str> {
    text_of(block.get(side)?, "model")
}

/// The id of a call; one that has none is named by its line.
pub(crate) fn call_id_of(emitter: &Emitter, block: &Value) -> String {
    text_of(block, "id").map_or_else(|| format!("call-{}", emitter.line_id()), str::to_owned)
}
