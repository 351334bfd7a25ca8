//! `event_msg` lines: what a person was shown.

use chat_event::payload::{SessionStart, TurnEnd};
use serde_json::{Map, Value};

use super::said::Source;
use super::{CodexRollout, Review};
use crate::codex::session::ended;
use crate::codex::tokens::News;
use crate::codex::{content, items, reviews};
use crate::emit::Emitter;
use crate::value::{count_of, list_of, str_of, text_of};

impl CodexRollout {
    pub(super) fn event(&mut self, emitter: &mut Emitter, event: &Value) {
        let kind = str_of(event, "type").unwrap_or("");
        let turn = text_of(event, "turn_id");
        match kind {
            "task_started" | "turn_started" => {
                self.said.clear();
                self.written.clear();
                self.review = Review::None;
                emitter.more_comes(true);
                self.session.open_turn(emitter, "", turn, true);
            }
            "task_complete" | "turn_complete" => self.complete(emitter, event),
            "turn_aborted" => {
                let scope = self.session.work_scope(emitter, "", turn);
                self.session.interrupt(emitter, &scope, "user_cancel");
                let end = TurnEnd {
                    duration_ms: count_of(event, "duration_ms"),
                    ..ended("interrupted")
                };
                self.session.close_turn(emitter, "", end);
            }
            "item_completed" => self.completed_item(emitter, event, turn),
            "user_message" => {
                let text = str_of(event, "message").unwrap_or("");
                let images = content::images_of(event);
                self.user_text(emitter, Source::Event, None, text, images);
            }
            "agent_message" => {
                let text = str_of(event, "message").unwrap_or("");
                self.agent_text(emitter, Source::Event, None, text);
            }
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.thoughts(emitter, event, Source::Event);
            }
            "token_count" => self.token_count(emitter, event),
            "exec_command_end" if self.is_shell_told(event, Source::Event) => {
                emitter.pass_over("shell command that is told");
            }
            "exec_command_end" => {
                self.event_item(emitter, "CommandExecution", event);
            }
            "patch_apply_end" => self.event_item(emitter, "FileChange", event),
            "web_search_end" => self.renamed_item(emitter, "web_search", event, Source::Event),
            "mcp_tool_call_end" => self.mcp_end(emitter, event),
            "view_image_tool_call" if self.has_output_to_come(text_of(event, "call_id")) => {
                emitter.pass_over(kind);
            }
            "view_image_tool_call" => self.event_item(emitter, "ImageView", event),
            "dynamic_tool_call_response" => self.event_item(emitter, "DynamicToolCall", event),
            "image_generation_end" => self.event_item(emitter, "ImageGeneration", event),
            "error" | "stream_error" => self.error(emitter, kind, event),
            "guardian_assessment" => {
                let scope = self.session.scope("", turn);
                self.session.reviewed(emitter, &scope, event);
            }
            "plan_update" => {
                let scope = self.session.work_scope(emitter, "", turn);
                self.session
                    .plan(emitter, &scope, items::plan_entries(list_of(event, "plan")));
            }
            "thread_settings_applied" => {
                let settings = event.get("thread_settings").unwrap_or(&Value::Null);
                self.model(emitter, settings);
            }
            "thread_name_updated" => {
                let facts = SessionStart {
                    title: text_of(event, "thread_name").map(str::to_owned),
                    ..SessionStart::default()
                };
                self.session.facts.say(emitter, facts, Map::new());
            }
            "collab_agent_spawn_end"
            | "collab_agent_interaction_end"
            | "collab_waiting_end"
            | "collab_close_end" => {
                self.collab_end(emitter, kind, event);
            }
            "exited_review_mode" if matches!(self.review, Review::Told(_)) => {
                emitter.pass_over(kind);
            }
            "entered_review_mode"
            | "exited_review_mode"
            | "undo_completed"
            | "warning"
            | "background_event" => {
                let place = self.session.scope("", turn).place;
                let output = event.get("review_output").unwrap_or(&Value::Null);
                let review = reviews::words(output);
                match kind {
                    "entered_review_mode" => self.review = Review::Open,
                    "exited_review_mode" => {
                        self.review = Review::Told(reviews::first_words(output).to_owned());
                    }
                    _ => {}
                }
                let words =
                    text_of(event, "message").or_else(|| text_of(event, "user_facing_hint"));
                let words = review.or_else(|| words.map(str::to_owned));
                let words = words.unwrap_or_else(|| kind.replace('_', " "));
                emitter.notice("info", &place, "codex", words);
            }
            "thread_rolled_back" => {
                let n_turns = count_of(event, "num_turns").unwrap_or(1);
                let n_turns = usize::try_from(n_turns).unwrap_or(usize::MAX);
                self.session.set_back_by(emitter, n_turns);
            }
            // Their beginnings are in the calls; what else they say is elsewhere, or is about the account.
            "exec_command_begin"
            | "patch_apply_begin"
            | "mcp_tool_call_begin"
            | "web_search_begin"
            | "dynamic_tool_call_request"
            | "item_started"
            | "turn_diff"
            | "context_compacted"
            | "thread_goal_updated"
            | "account/rateLimits/updated"
            | "sub_agent_activity"
            | "mcp_startup_complete" => emitter.pass_over(kind),
            _ => self.raw(emitter, &format!("event_msg {kind}"), event),
        }
    }

    fn complete(&mut self, emitter: &mut Emitter, event: &Value) {
        let error = event.get("error").filter(|error| !error.is_null());
        if let Some(error) = error {
            let message = str_of(error, "message")
                .or_else(|| error.as_str())
                .unwrap_or("the turn failed");
            let code = text_of(error, "codex_error_info").unwrap_or("turn_failed");
            self.session.error(emitter, "", code, message);
        }
        let place = self.session.scope("", None).place;
        let model = self.session.model.clone();
        if let Some(usage) = self.session.tokens.session_usage(model) {
            emitter.add("usage", &place, usage);
        }
        let end = TurnEnd {
            duration_ms: count_of(event, "duration_ms"),
            ..ended(if error.is_some() {
                "failed"
            } else {
                "completed"
            })
        };
        self.session.close_turn(emitter, "", end);
    }

    fn error(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let error = event.get("error").unwrap_or(&Value::Null);
        let message = text_of(event, "message")
            .or_else(|| text_of(error, "message"))
            .unwrap_or(kind);
        if kind == "stream_error" {
            self.session.retrying(emitter, "", message.to_owned());
            return;
        }
        let code = text_of(event, "codex_error_info").or_else(|| text_of(error, "kind"));
        self.session
            .error(emitter, "", code.unwrap_or("error"), message);
    }

    fn token_count(&mut self, emitter: &mut Emitter, event: &Value) {
        let info = event.get("info").unwrap_or(&Value::Null);
        let (total, last) = (info.get("total_token_usage"), info.get("last_token_usage"));
        let Some(last) = last.filter(|last| last.is_object()) else {
            emitter.pass_over("token_count without tokens");
            return;
        };
        let window = count_of(info, "model_context_window");
        let model = self.session.model.clone();
        let place = self.session.scope("", None).place;
        match self.session.tokens.news(total, last, window, model) {
            Some(News::Response(usage) | News::Context(usage)) => {
                emitter.add("usage", &place, usage);
            }
            None => emitter.pass_over("token_count as before"),
        }
    }
}
