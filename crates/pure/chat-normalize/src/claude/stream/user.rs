//! `user` lines: replayed words of a person, what the program says in their place, and the results of calls.

use chat_event::payload::UserMessage;
use chat_event::{Body, Json};
use serde_json::Value;

use super::{ClaudeStream, FORMAT};
use crate::claude::said::{Said, is_by_others, piece_tag, pieces_of};
use crate::claude::side_lines;
use crate::emit::{Emitter, Place};
use crate::value::{is_true, str_of};

impl ClaudeStream {
    pub(super) fn user(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let content = line
            .get("message")
            .and_then(|message| message.get("content"))
            .unwrap_or(&Value::Null);
        let details = line.get("tool_use_result");
        match content {
            Value::String(text) => self.user_text(emitter, line, place, &[text.as_str()], None),
            Value::Array(blocks) => {
                let n_results = blocks
                    .iter()
                    .filter(|block| str_of(block, "type") == Some("tool_result"))
                    .count();
                let details = details.filter(|_| n_results == 1);
                let attachments = crate::claude::attachments(blocks);
                let mut texts = Vec::new();
                for block in blocks {
                    match str_of(block, "type").unwrap_or("") {
                        "tool_result" => {
                            self.session
                                .tool_result(emitter, place, block, details, Some(line))
                        }
                        "text" => texts.push(str_of(block, "text").unwrap_or("")),
                        "image" | "document" => {}
                        kind => emitter.raw(place, FORMAT, &format!("user block {kind}"), block),
                    }
                }
                if !texts.is_empty() || attachments.is_some() {
                    self.user_text(emitter, line, place, &texts, attachments);
                }
            }
            other => emitter.raw(place, FORMAT, "user content", other),
        }
    }

    fn user_text(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        place: &Place,
        texts: &[&str],
        attachments: Option<Json>,
    ) {
        let text = &texts.join("\n");
        if place.parent_tool_call_id.is_some() {
            side_lines::said_to_sub_agent(emitter, place, text, attachments);
            return;
        }
        if is_true(line, "isSynthetic") {
            match &mut self.pending_compaction {
                Some((_, _, compaction)) => {
                    compaction.summary = Some(text.to_owned());
                    self.flush_compaction(emitter);
                }
                None => side_lines::given_by_program(emitter, place, text, attachments),
            }
            return;
        }
        // Before 2.0 a replayed line bears no mark; later, words without one are the program's own.
        let replay = is_true(line, "isReplay") || !self.has_version;
        let mut pieces = pieces_of(texts);
        let by_others = is_by_others(line);
        let replay = replay && !by_others;
        let mut attachments = attachments;
        if replay && attachments.is_some() && !pieces.iter().any(Said::is_typed) {
            pieces.push(Said::Words(String::new()));
        }
        let is_prompt = |said: &Said| match said {
            Said::Words(words) | Said::Command(words) | Said::Shell(words) => {
                let known = self.said_prompt.as_deref();
                replay && known.is_none_or(|prompt| prompt.trim() != words.trim())
            }
            _ => false,
        };
        let mut place = place.clone();
        if !self.session.in_turn() && pieces.iter().any(is_prompt) {
            let id = emitter.line_id().to_owned();
            self.session.open_turn(emitter, &id, "user");
            // What the program says beside the prompt is of the turn, too.
            place = self.session.place(None, None);
        }
        for (at, said) in pieces.into_iter().enumerate() {
            let tag = piece_tag(at);
            match said {
                Said::Interrupt => {
                    self.session.interrupt(emitter, &place, "user_cancel");
                }
                Said::Words(words) | Said::Command(words) | Said::Shell(words) if replay => {
                    if self
                        .said_prompt
                        .take()
                        .is_none_or(|prompt| prompt.trim() != words.trim())
                    {
                        self.user_message(emitter, &tag, &words, attachments.take());
                    } else {
                        emitter.pass_over("user, a replay of the prompt");
                    }
                }
                Said::Words(words) | Said::Command(words) | Said::Shell(words) if by_others => {
                    side_lines::given_by_program(emitter, &place, &words, attachments.take());
                }
                Said::Done(text) | Said::Output(text) if text.trim().is_empty() => {
                    emitter.pass_over("user, a command that printed nothing");
                }
                Said::Done(text)
                | Said::Output(text)
                | Said::TaskNotification(text)
                | Said::Injected(text)
                | Said::Words(text)
                | Said::Command(text)
                | Said::Shell(text) => {
                    emitter.notice("info", &place, "claude-code", text);
                }
            }
        }
    }

    pub(super) fn user_message(
        &mut self,
        emitter: &mut Emitter,
        tag: &str,
        text: &str,
        attachments: Option<Json>,
    ) {
        let place = self.session.place(None, None);
        emitter.add(
            tag,
            &place,
            UserMessage {
                text: Body::from(text),
                attachments,
                ..UserMessage::default()
            },
        );
    }
}
