//! `user` lines: a person's words and commands, what the program says in their place, and the results of calls.

use chat_event::payload::{Compaction, UserMessage};
use chat_event::{Body, Json};
use serde_json::{Map, Value};

use super::{ClaudeTranscript, FORMAT, is_meta};
use crate::claude::said::{Said, is_by_others, piece_tag, pieces, pieces_of};
use crate::claude::side_lines;
use crate::emit::{Emitter, Place};
use crate::value::{is_true, str_of, text_of};

impl ClaudeTranscript {
    pub(super) fn user(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        chain: Option<(Option<String>, String)>,
    ) {
        let content = line
            .get("message")
            .and_then(|message| message.get("content"))
            .unwrap_or(&Value::Null);
        let place = self.place(chain.as_ref());
        match content {
            Value::String(text) => self.user_text(
                emitter,
                line,
                chain.is_some(),
                &place,
                &[text.as_str()],
                None,
            ),
            Value::Array(blocks) => {
                let n_results = blocks
                    .iter()
                    .filter(|block| str_of(block, "type") == Some("tool_result"))
                    .count();
                let details = line.get("toolUseResult").filter(|_| n_results == 1);
                let mut texts = Vec::new();
                for block in blocks {
                    match str_of(block, "type").unwrap_or("") {
                        "tool_result" => {
                            self.waits |= chain.is_none() && !is_meta(line);
                            self.call_is_over(emitter, block);
                            let ran = self.session.runs_in_background();
                            self.session
                                .tool_result(emitter, &place, block, details, Some(line));
                            self.background_changed(emitter, ran);
                        }
                        "text" => texts.push(str_of(block, "text").unwrap_or("")),
                        "image" | "document" => {}
                        kind => emitter.raw(&place, FORMAT, &format!("user block {kind}"), block),
                    }
                }
                let attachments = attachments(blocks);
                if !texts.is_empty() || attachments.is_some() {
                    self.user_text(emitter, line, chain.is_some(), &place, &texts, attachments);
                }
            }
            other => emitter.raw(&place, FORMAT, "user content", other),
        }
    }

    fn call_is_over(&mut self, emitter: &mut Emitter, result: &Value) {
        if let Some(id) = text_of(result, "tool_use_id") {
            self.printed.remove(id);
            self.flush_usage_of_call(emitter, id);
        }
    }

    fn user_text(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        side: bool,
        place: &Place,
        texts: &[&str],
        attachments: Option<Json>,
    ) {
        let text = &texts.join("\n");
        if is_true(line, "isCompactSummary") {
            return self.compact_summary(emitter, place, text);
        }
        if is_true(line, "isMeta") || is_true(line, "turnCompanion") {
            let said = pieces(text);
            let said = match said.as_slice() {
                // Around all of it the tag says no more than that.
                [Said::Injected(inner)] => inner,
                _ => text,
            };
            side_lines::given_by_program(emitter, place, said, attachments);
            return;
        }
        if side {
            side_lines::said_to_sub_agent(emitter, place, text, attachments);
            return;
        }
        self.said_in_session(emitter, line, texts, attachments);
    }

    /// The summary of what was compacted.
    fn compact_summary(&mut self, emitter: &mut Emitter, place: &Place, text: &str) {
        match &mut self.pending_compaction {
            Some((_, _, _, compaction)) => compaction.summary = Some(text.to_owned()),
            None => {
                let compaction = Compaction {
                    summary: Some(text.to_owned()),
                    ..Compaction::default()
                };
                emitter.add("compaction", place, compaction);
            }
        }
    }

    /// What stands in a line that a person wrote, or the program in a person's place: prompts and commands begin turns.
    fn said_in_session(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        texts: &[&str],
        mut attachments: Option<Json>,
    ) {
        let woken = is_by_others(line);
        let mut said = pieces_of(texts);
        if attachments.is_some() && !said.iter().any(Said::is_typed) {
            // A picture alone is a prompt, whatever the program says beside it.
            said.push(Said::Words(String::new()));
        }
        // What a person says beside a command is a prompt.
        let is_prompt = said.iter().any(|said| matches!(said, Said::Words(_)));
        let trigger = said.iter().find_map(|said| match said {
            Said::Words(_) if woken => Some("system"),
            Said::Command(_) if self.of_local => None,
            Said::Words(_) | Said::Shell(_) | Said::Command(_) => Some("user"),
            Said::TaskNotification(_) => Some("system"),
            Said::Interrupt | Said::Done(_) | Said::Output(_) | Said::Injected(_) => None,
        });
        self.waits |= trigger.is_some();
        for (at, said) in said.into_iter().enumerate() {
            let tag = piece_tag(at);
            match said {
                Said::Interrupt => {
                    let place = self.late_place();
                    self.session.interrupt(emitter, &place, "user_cancel");
                }
                Said::Words(words) if woken => {
                    self.begin_turn(emitter, line, "system");
                    let place = self.place(None);
                    side_lines::given_by_program(emitter, &place, &words, attachments.take());
                }
                Said::Words(words) | Said::Shell(words) => {
                    self.begin_turn(emitter, line, "user");
                    self.user_message(emitter, &tag, &words, attachments.take(), false);
                }
                Said::Command(words) if self.of_local => {
                    emitter.notice("info", &self.place(None), "command", words);
                }
                Said::Command(words) => {
                    self.begin_turn(emitter, line, "user");
                    let turn = self.session.turns.last().filter(|_| !is_prompt);
                    self.command_turn = turn.map(|turn| turn.id.clone());
                    self.user_message(emitter, &tag, &words, attachments.take(), false);
                    self.tell_asked_compaction(emitter);
                }
                Said::TaskNotification(text) => {
                    self.begin_turn(emitter, line, "system");
                    side_lines::task_notification(emitter, &self.place(None), &text);
                    self.task_ended(emitter, &text);
                }
                Said::Done(text) => self.command_done(emitter, &text),
                Said::Output(text) => {
                    self.has_answer();
                    side_lines::printed(emitter, &self.place(None), &text);
                }
                Said::Injected(text) => {
                    // What stands beside a prompt is of its turn.
                    if let Some(trigger) = trigger {
                        self.begin_turn(emitter, line, trigger);
                    }
                    side_lines::said_by_program(emitter, &self.place(None), &text);
                }
            }
        }
    }

    /// A person's words in the turn that is open.
    pub(crate) fn user_message(
        &mut self,
        emitter: &mut Emitter,
        tag: &str,
        text: &str,
        attachments: Option<Json>,
        steering: bool,
    ) {
        let place = self.place(None);
        let mut message = UserMessage {
            text: Body::from(text),
            attachments,
            ..UserMessage::default()
        };
        if steering {
            message
                .extra
                .insert("steering", Json::from(Value::Bool(true)));
        }
        emitter.add(tag, &place, message);
    }
}

/// Pictures and documents beside a user's words: `[{name?, mediaType, data | text | ref}]`.
pub(crate) fn attachments(blocks: &[Value]) -> Option<Json> {
    let mut found = Vec::new();
    for block in blocks {
        if !matches!(str_of(block, "type"), Some("image" | "document")) {
            continue;
        }
        let source = block.get("source").unwrap_or(&Value::Null);
        let mut attachment = Map::new();
        if let Some(name) = str_of(block, "title") {
            attachment.insert("name".to_owned(), Value::from(name));
        }
        let media_type = str_of(source, "media_type").unwrap_or("application/octet-stream");
        attachment.insert("mediaType".to_owned(), Value::from(media_type));
        // Of a document of text that is the text; others are in Base64, or say where they lie.
        let (key, value) = match source.get("data").filter(|data| !data.is_null()) {
            Some(text) if str_of(source, "type") == Some("text") => ("text", Some(text)),
            Some(data) => ("data", Some(data)),
            None => {
                let at = ["url", "file_id"].iter().find_map(|key| source.get(*key));
                ("ref", at)
            }
        };
        attachment.insert(key.to_owned(), value.cloned().unwrap_or_default());
        found.push(Value::Object(attachment));
    }
    (!found.is_empty()).then(|| Json::from(Value::Array(found)))
}
