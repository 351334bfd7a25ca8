//! Grok Build, the `grok` of xAI: `updates.jsonl`, in which it keeps what it tells its clients of a session.
//!
//! | `sessionUpdate` | what it gives |
//! |---|---|
//! | `user_message_chunk` with another `promptIndex` | a prompt: a turn begins; the blocks behind its first are more of it |
//! | … without one | a word to the agent at work; where it rests, a prompt |
//! | … with `hostTurn` | a turn that the program began by itself, as when a task is over |
//! | `agent_message_chunk`, `agent_thought_chunk` | a whole text or thought: pieces are put together before they are written |
//! | `tool_call`, `tool_call_update` | `calls` |
//! | `plan` | a plan |
//! | `turn_completed` | what the turn used; it is over |
//! | `rewind_marker` | the turns from that prompt on were left |
//! | compactions, retries, other models, sub-agents | `asides` |
//!
//! The lines are messages of the Agent Client Protocol, and of its own beside it, without `jsonrpc` and with their times.
//! Nothing in them says what a person is asked, nor where the session works: its folder is noted beside them, in
//! `summary.json`. A sub-agent's session is a file of its own. Seen: 0.2.111; the rest after its source, of August 2026
//! (`xai-grok-shell`, `session/storage` and `extensions/notification.rs`). The program of superagent-ai that is called Grok
//! CLI is another one: `grok`.

mod asides;
mod calls;
mod lines;

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, SessionStart, Usage};
use serde_json::{Map, Value};

use crate::acp::{Held, held};
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::track::{Said, ended};
use crate::value::{amount_of, count_of, is_true, list_of, rounded, str_of, text_of};
use calls::Printed;
use lines::{Line, is_of, session_of};

pub(crate) static PROFILE: Profile = Profile {
    word: "grok-build",
    name: "Grok Build session",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of,
    session_of,
    make: |context| Box::new(GrokBuild::new(context)),
};

const FORMAT: &str = "grok-build";

/// A dollar has so many of the ticks in which costs are told.
const TICKS: f64 = 10_000_000_000.0;

/// So many prompts can be gone back to.
const MOST_PROMPTS: usize = 10_000;

/// Reads it.
#[derive(Debug)]
pub(crate) struct GrokBuild {
    run: RunTrack,
    /// The turns that stand, each with the number of its prompt.
    prompts: Vec<(u64, String)>,
    /// The prompt whose blocks come.
    asking: Option<u64>,
    /// What the calls that run printed so far.
    printed: Printed,
    /// The request to the model of which something was told last.
    stream: Option<u64>,
}

impl GrokBuild {
    pub(crate) fn new(context: &Context) -> Self {
        GrokBuild {
            run: RunTrack::new(context),
            prompts: Vec::new(),
            asking: None,
            printed: Printed::default(),
            stream: None,
        }
    }

    fn begin(&mut self, emitter: &mut Emitter, line: &Line<'_>) {
        if !self.run.track.facts.begun() {
            let facts = SessionStart {
                agent: Some("Grok Build".to_owned()),
                native_id: Some(line.session.to_owned()),
                provider: Some(FORMAT.to_owned()),
                ..SessionStart::default()
            };
            self.run.facts(emitter, facts, Map::new());
        }
    }

    /// What a person said, or the program in place of one.
    fn said(&mut self, emitter: &mut Emitter, update: &Value) {
        let meta = update.get("_meta").unwrap_or(&Value::Null);
        if let Some(model) = text_of(meta, "modelId") {
            self.model(emitter, model);
        }
        let said = match held(update.get("content").unwrap_or(&Value::Null)) {
            Held::Text(text) => Said {
                text,
                ..Said::default()
            },
            Held::Attachment(attachment) => Said {
                attachments: vec![attachment],
                ..Said::default()
            },
            Held::Audio(_) | Held::Unknown => {
                let place = self.run.track.place();
                return emitter.raw(&place, FORMAT, "content of a prompt", update);
            }
        };
        if is_true(meta, "hostTurn") {
            return self.began_itself(emitter, &said.text);
        }
        let index = count_of(meta, "promptIndex");
        let goes_on = index.is_some() && index == self.asking;
        self.asking = index;
        let is_open = self.run.track.turn_id().is_some();
        let id = format!("{}:user", emitter.line_id());
        if is_open && goes_on {
            return self.run.track.user(emitter, &id, said);
        }
        if is_open && index.is_none() {
            return self.run.track.steer(emitter, &id, said);
        }
        self.close(emitter, "interrupted");
        self.run.ask(emitter, None, said);
        if let (Some(index), Some(turn)) = (index, self.run.track.turn_id()) {
            self.prompts.push((index, turn.to_owned()));
            let too_many = self.prompts.len().saturating_sub(MOST_PROMPTS);
            self.prompts.drain(..too_many);
        }
    }

    /// The program goes on by itself, with these words to the model.
    fn began_itself(&mut self, emitter: &mut Emitter, text: &str) {
        self.asking = None;
        self.close(emitter, "interrupted");
        self.run.open_turn(emitter, None, "system");
        let place = self.run.track.place();
        emitter.notice("info", &place, FORMAT, text);
    }

    /// A text or a thought, and to which request to the model it belongs.
    fn spoke(&mut self, emitter: &mut Emitter, line: &Line<'_>, is_thought: bool) {
        let content = line.update.get("content").unwrap_or(&Value::Null);
        let response = self.response(emitter, line);
        match held(content) {
            Held::Text(text) if is_thought => self.run.thought(emitter, &response, &text, false),
            Held::Text(text) => self.run.text(emitter, &response, &text),
            _ => {
                let place = self.run.track.place().in_response(&response);
                emitter.raw(&place, FORMAT, "content of a message", line.update);
            }
        }
    }

    /// The response that is told of: each request to the model has its own.
    fn response(&mut self, emitter: &mut Emitter, line: &Line<'_>) -> String {
        let stream = count_of(line.meta, "streamStartMs");
        if stream.is_some() && stream != self.stream {
            self.run.next_response();
            self.stream = stream;
        }
        self.asking = None;
        let response = self.run.response(emitter, None);
        emitter.goes_on(&self.run.track.place());
        response
    }

    fn model(&mut self, emitter: &mut Emitter, model: &str) {
        let facts = SessionStart {
            model: Some(model.to_owned()),
            ..SessionStart::default()
        };
        self.run.facts(emitter, facts, Map::new());
    }

    /// A turn is over.
    fn completed(&mut self, emitter: &mut Emitter, update: &Value) {
        if self.run.track.turn_id().is_none() {
            return emitter.pass_over("the end of a turn of which nothing was told");
        }
        let place = self.run.track.place();
        let turn = place.turn_id.clone().unwrap_or_default();
        let told = update.get("usage").filter(|usage| usage.is_object());
        if let Some(told) = told {
            let cached = count_of(told, "cachedReadTokens");
            let written = count_of(told, "cacheCreationTokens");
            // It tells of all that was sent, and of what of it was in the cache.
            let sent = count_of(told, "inputTokens").unwrap_or(0);
            let of_cache = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
            let usage = Usage {
                scope: "turn".to_owned(),
                input_tokens: sent.saturating_sub(of_cache),
                output_tokens: count_of(told, "outputTokens").unwrap_or(0),
                cache_read_tokens: cached,
                cache_write_tokens: written,
                reasoning_tokens: count_of(told, "reasoningTokens"),
                cost_usd: amount_of(told, "costUsdTicks").map(|ticks| rounded(ticks / TICKS)),
                ..Usage::default()
            };
            emitter.add_as(&format!("{turn}:usage"), &place, usage);
        }
        let outcome = match str_of(update, "stop_reason") {
            Some("end_turn") | None => "completed",
            Some("cancelled") => "interrupted",
            Some(reason) => {
                let error = ErrorEvent {
                    code: reason.to_owned(),
                    message: str_of(update, "agent_result").unwrap_or(reason).to_owned(),
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{turn}:error"), &place, error);
                "failed"
            }
        };
        self.close(emitter, outcome);
    }

    fn close(&mut self, emitter: &mut Emitter, outcome: &str) {
        self.printed.clear();
        self.run.close(emitter, ended(outcome));
    }

    /// The user went back to before a prompt.
    fn went_back(&mut self, emitter: &mut Emitter, update: &Value) {
        let Some(target) = count_of(update, "target_prompt_index") else {
            return emitter.pass_over("going back to no prompt");
        };
        self.close(emitter, "interrupted");
        self.asking = None;
        let (stay, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.prompts)
            .into_iter()
            .partition(|(index, _)| *index < target);
        self.prompts = stay;
        let left: Vec<String> = left.into_iter().map(|(_, turn)| turn).collect();
        emitter.went_back(left.len(), left);
    }

    fn planned(&mut self, emitter: &mut Emitter, update: &Value) {
        let plan = crate::tool::todo_list(list_of(update, "entries"), "content");
        let place = self.run.track.place();
        emitter.add("plan", &place, plan);
    }
}

impl Normalizer for GrokBuild {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        let Some(line) = Line::of(value) else {
            return emitter.raw(&self.run.track.place(), FORMAT, "no update", value);
        };
        emitter.begin_line(line.id().as_deref());
        self.run.at(emitter, line.time_ms());
        self.begin(emitter, &line);
        match line.kind {
            "user_message_chunk" => self.said(emitter, line.update),
            "agent_message_chunk" => self.spoke(emitter, &line, false),
            "agent_thought_chunk" => self.spoke(emitter, &line, true),
            "tool_call" => self.called(emitter, &line),
            "tool_call_update" => self.call_updated(emitter, &line),
            "plan" => self.planned(emitter, line.update),
            "turn_completed" => self.completed(emitter, line.update),
            "rewind_marker" => self.went_back(emitter, line.update),
            _ => self.aside(emitter, &line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.run.at(emitter, None);
        self.close(emitter, "interrupted");
    }
}
