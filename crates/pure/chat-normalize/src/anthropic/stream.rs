//! An answer as it streams: its blocks put together from their pieces, and written whole when they stop.
//!
//! What has come of an answer is kept in `writing`.

mod writing;

use serde_json::{Value, json};

use super::messages::{AnthropicMessages, FORMAT};
use crate::claude::call_id_of;
use crate::emit::Emitter;
use crate::value::{count_of, str_of, text_of};
use writing::{Piece, Run, is_cited, join_texts};
pub(super) use writing::{Writing, put_together};

impl AnthropicMessages {
    pub(super) fn event(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        match kind {
            "message_start" => {
                let message = event.get("message").unwrap_or(&Value::Null);
                let id = text_of(message, "id")
                    .unwrap_or_else(|| emitter.line_id())
                    .to_owned();
                self.begin(emitter, &id, message);
                emitter.pass_over("message_start");
                return;
            }
            "ping" | "message_stop" if self.writing.is_none() => return emitter.pass_over(kind),
            _ => {}
        }
        if self.writing.is_none() {
            // The beginning of the stream is missing.
            let id = format!("r-{}", emitter.line_id());
            self.begin(emitter, &id, &Value::Null);
        }
        let Some(writing) = &mut self.writing else {
            return;
        };
        writing.n_events += 1;
        // Pieces have no ids of their own.
        emitter.begin_line(Some(&format!("{}.{}", writing.id, writing.n_events)));
        match kind {
            "content_block_start" => self.block_start(emitter, event),
            "content_block_delta" => self.block_delta(emitter, event),
            "content_block_stop" => self.block_stop(emitter, count_of(event, "index").unwrap_or(0)),
            "message_delta" => {
                writing.count(event);
                let delta = event.get("delta").unwrap_or(&Value::Null);
                if let Some(reason) = text_of(delta, "stop_reason") {
                    writing.stop_reason = Some(reason.to_owned());
                }
                emitter.pass_over("message_delta");
            }
            "message_stop" => self.end_answer(emitter, None),
            "ping" => emitter.pass_over("ping"),
            kind => {
                let place = self.session.place(None, None);
                emitter.raw(&place, FORMAT, kind, event);
            }
        }
    }

    fn block_start(&mut self, emitter: &mut Emitter, event: &Value) {
        let index = count_of(event, "index").unwrap_or(0);
        self.block_stop(emitter, index);
        let mut block = event.get("content_block").cloned().unwrap_or_default();
        name_server(&mut block);
        let is_text = str_of(&block, "type") == Some("text");
        let cited = is_cited(&block);
        let run = self.writing.as_ref().and_then(|it| it.run.as_ref());
        let goes_on = is_text && run.is_some_and(|run| run.cited || cited);
        if !goes_on {
            self.end_run(emitter);
        }
        if text_of(&block, "tool_use_id").is_none() {
            self.is_late(&block);
        }
        let place = self.session.place(None, None);
        let Some(writing) = &mut self.writing else {
            return;
        };
        let id = writing.id.clone();
        let message = self.session.message(&id, &place);
        let place = place.in_response(&message.response_id);
        let mut call = None;
        match str_of(&block, "type").unwrap_or("") {
            "text" if goes_on => {}
            "text" => message.text.begin(),
            "thinking" | "redacted_thinking" => message.thinking.begin(),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let native_id = call_id_of(emitter, &block);
                let name = str_of(&block, "name").unwrap_or("").to_owned();
                self.session.open_call(emitter, &native_id, &name, &place);
                call = Some(native_id);
            }
            _ => {}
        }
        let (text, thinking) = (text_of(&block, "text"), text_of(&block, "thinking"));
        let built = text.or(thinking).unwrap_or("").to_owned();
        if let Some(text) = text {
            self.session.text_chunk(emitter, &place, &id, text);
        } else if let Some(thinking) = thinking {
            self.session.thinking_chunk(emitter, &place, &id, thinking);
        }
        emitter.pass_over("content_block_start");
        let piece = Piece {
            block,
            built,
            call,
            cited,
        };
        if let Some(writing) = &mut self.writing {
            writing.blocks.insert(index, piece);
        }
    }

    fn block_delta(&mut self, emitter: &mut Emitter, event: &Value) {
        let index = count_of(event, "index").unwrap_or(0);
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let kind = str_of(delta, "type").unwrap_or("");
        let place = self.session.place(None, None);
        let Some(writing) = &mut self.writing else {
            return;
        };
        let id = writing.id.clone();
        // The start of the block is missing.
        let of_kind = match kind {
            "thinking_delta" => "thinking",
            "compaction_delta" => "compaction",
            _ => "text",
        };
        let piece = match (writing.blocks.contains_key(&index), kind) {
            (false, "text_delta" | "thinking_delta" | "compaction_delta") => {
                let block = json!({ "type": of_kind });
                writing.blocks.entry(index).or_insert(Piece {
                    block,
                    built: String::new(),
                    call: None,
                    cited: false,
                })
            }
            _ => match writing.blocks.get_mut(&index) {
                Some(piece) => piece,
                None => return emitter.raw(&place, FORMAT, "a piece without its block", event),
            },
        };
        match kind {
            "text_delta" => {
                let text = str_of(delta, "text").unwrap_or("");
                piece.built.push_str(text);
                self.session.text_chunk(emitter, &place, &id, text);
            }
            "thinking_delta" => {
                let text = str_of(delta, "thinking").unwrap_or("");
                piece.built.push_str(text);
                self.session.thinking_chunk(emitter, &place, &id, text);
            }
            "compaction_delta" => {
                piece.built.push_str(str_of(delta, "content").unwrap_or(""));
                emitter.pass_over("compaction_delta");
            }
            "input_json_delta" => match piece.call.clone() {
                Some(call) => {
                    let input = str_of(delta, "partial_json").unwrap_or("");
                    self.session.input_chunk(emitter, &call, input);
                }
                None => emitter.raw(&place, FORMAT, "input of no call", event),
            },
            "citations_delta" => {
                piece.cited = true;
                emitter.pass_over(kind);
            }
            "signature_delta" => emitter.pass_over(kind),
            kind => emitter.raw(&place, FORMAT, &format!("delta {kind}"), event),
        }
    }

    /// A block is whole.
    fn block_stop(&mut self, emitter: &mut Emitter, index: u64) {
        let Some(writing) = &mut self.writing else {
            return;
        };
        let Some(Piece {
            mut block,
            built,
            call,
            cited,
        }) = writing.blocks.remove(&index)
        else {
            return emitter.pass_over("content_block_stop");
        };
        match str_of(&block, "type").unwrap_or("") {
            "text" => block["text"] = Value::from(built),
            "thinking" => block["thinking"] = Value::from(built),
            "compaction" if !built.is_empty() => block["content"] = Value::from(built),
            _ => {}
        }
        if let Some(call) = call {
            let input = self
                .session
                .calls
                .get(&call)
                .map_or("", |call| call.input.as_str());
            if !input.trim().is_empty() {
                block["input"] = serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
            }
            block["id"] = Value::from(call);
        }
        writing.note(&block);
        if str_of(&block, "type") == Some("text") {
            match &mut writing.run {
                Some(run) => {
                    join_texts(&mut run.block, &block);
                    run.cited = cited;
                }
                None => {
                    writing.run = Some(Run {
                        index,
                        block,
                        cited,
                    });
                }
            }
            return emitter.pass_over("content_block_stop");
        }
        self.whole_block(emitter, index, &block);
    }

    /// No more text goes on with the one that waits.
    fn end_run(&mut self, emitter: &mut Emitter) {
        let run = self.writing.as_mut().and_then(|it| it.run.take());
        if let Some(Run { index, block, .. }) = run {
            self.whole_block(emitter, index, &block);
        }
    }

    fn whole_block(&mut self, emitter: &mut Emitter, index: u64, block: &Value) {
        let Some(writing) = &self.writing else {
            return;
        };
        let id = writing.id.clone();
        let late = self.is_late(block);
        emitter.begin_line(Some(&id));
        let place = self.session.place(None, None);
        if late {
            return emitter.raw(&place, FORMAT, "result of no open call", block);
        }
        let response_id = self.session.message(&id, &place).response_id.clone();
        let place = place.in_response(&response_id);
        self.session
            .block(emitter, &place, &id, block, &format!("b{index}"));
    }

    /// The blocks that did not stop will not any more; calls among them stay open, for their input is not whole.
    pub(super) fn close_blocks(&mut self, emitter: &mut Emitter) {
        let Some(writing) = &self.writing else {
            return;
        };
        let whole = |piece: &Piece| piece.call.is_none();
        let open = writing.blocks.iter().filter(|(_, piece)| whole(piece));
        for index in open.map(|(index, _)| *index).collect::<Vec<_>>() {
            self.block_stop(emitter, index);
        }
        self.end_run(emitter);
    }
}

/// A server's tool bears the server's name, as agents name them.
fn name_server(block: &mut Value) {
    if str_of(block, "type") != Some("mcp_tool_use") {
        return;
    }
    if let (Some(server), Some(tool)) = (text_of(block, "server_name"), text_of(block, "name")) {
        block["name"] = Value::from(format!("mcp__{server}__{tool}"));
    }
}
