//! Turns: they begin with a prompt, or with what the agent does where no prompt is read, and end once.
//!
//! | state | what comes | next |
//! |---|---|---|
//! | no turn | a prompt; anything the agent says or does | turn open |
//! | turn open that a prompt began | a prompt | two turns open; what comes belongs to the first |
//! | turn open that none began | a prompt | closed as completed, for no answer will end it; another is open |
//! | turn open that none began, the agent worked | other words of the user | the same |
//! | turn open | the prompt's answer with a `stopReason`; v2: `idle` | its texts, calls and requests are closed, then it is |
//! | turn open | the prompt's answer is an error | `error`, then as above, failed |
//! | turn of a history | the next message of the user, or the end of the history | closed as completed |
//! | any | the source ended | closed as interrupted |

use chat_event::payload::{ErrorEvent, Interrupt, TurnEnd, TurnStart};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::asks::Asks;
use super::content;
use super::queue::Turn;
use super::session::{Acp, Session};
use super::texts::{Next, UserText, words_hash};
use crate::emit::Emitter;
use crate::tool;
use crate::value::{list_of, text_of};

impl Acp {
    /// `session/cancel`.
    pub(super) fn cancel(&mut self, emitter: &mut Emitter, native: &str) {
        self.session(native).interrupt(emitter);
    }
}

impl Session {
    /// `session/prompt`.
    pub(super) fn prompt(
        &mut self,
        emitter: &mut Emitter,
        asks: &mut Asks,
        request: &str,
        params: &Value,
        only_client: bool,
    ) {
        self.settle(emitter, Next::Nothing);
        self.end_replayed(emitter);
        // What the agent did of itself, behind a prompt's answer or before the first: it would stay in front for ever.
        if self.turns.front().is_some_and(Turn::is_without_prompt) {
            self.close_turn(emitter, Some(asks), "completed", Extra::default());
        }
        self.skipping = false;
        self.loading = false;
        if only_client {
            // Nobody says how the turn before went, but it gave way to this one.
            while !self.turns.is_empty() {
                self.close_turn(emitter, None, "completed", Extra::default());
            }
        }
        let (text, attached) = content::of_blocks(list_of(params, "prompt"));
        self.prompts.insert(words_hash(&text), self.n_loads);
        let waits = !self.turns.is_empty();
        self.open_turn(emitter, Some(request.to_owned()));
        let user = UserText {
            message: text_of(params, "messageId").map(str::to_owned),
            text,
            attached,
            ..UserText::default()
        };
        if waits {
            // Its words stand in its own turn, not in the one that runs.
            if let Some(turn) = self.turns.pop_back() {
                self.turns.push_front(turn);
                self.write_user(emitter, user);
                if let Some(turn) = self.turns.pop_front() {
                    self.turns.push_back(turn);
                }
            }
        } else {
            self.write_user(emitter, user);
        }
    }

    /// A turn begins.
    pub(super) fn open_turn(&mut self, emitter: &mut Emitter, request: Option<String>) {
        self.n_turns += 1;
        let id = format!("{}t{}", self.prefix, self.n_turns);
        let is_first = self.turns.is_empty();
        // What the caller knows is asked in the first turn that no prompt begins.
        let told = self.user.take_if(|user| user.is_told());
        let told = told.filter(|_| is_first && request.is_none());
        let replayed = self.loading && request.is_none();
        self.turns
            .push_back(Turn::new(id.clone(), request, replayed));
        let mut place = self.quiet_place();
        place.turn_id = Some(id.clone());
        let start = TurnStart {
            trigger: if self.parent_call.is_some() {
                "system"
            } else {
                "user"
            }
            .to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{id}:start"), &place, start);
        if let Some(told) = told {
            self.write_user(emitter, told);
        }
    }

    /// The id of the next response that bears none of its own, in the turn that runs.
    pub(super) fn next_response(&mut self) -> String {
        let Some(turn) = self.turns.front_mut() else {
            return String::new();
        };
        turn.n_responses += 1;
        format!("{}.r{}", turn.id, turn.n_responses)
    }

    /// The answer to a prompt.
    pub(super) fn answered(
        &mut self,
        emitter: &mut Emitter,
        asks: &mut Asks,
        request: &str,
        result: &Value,
        version: u64,
    ) {
        let Some(reason) = text_of(result, "stopReason") else {
            // Version 2 says so only that it took the prompt.
            if version < 2 && !result.is_null() && result.get("messageId").is_none() {
                return self.stopped(emitter, asks, Some(request), "end_turn", result);
            }
            return emitter.pass_over("a prompt that was taken");
        };
        self.stopped(emitter, asks, Some(request), reason, result);
    }

    /// A turn stopped for `reason`.
    pub(super) fn stopped(
        &mut self,
        emitter: &mut Emitter,
        asks: &mut Asks,
        request: Option<&str>,
        reason: &str,
        result: &Value,
    ) {
        self.settle(emitter, Next::Nothing);
        // Prompts are answered in the order of the agent's choice.
        if let Some(request) = request {
            self.turns.bring_front(request);
        }
        if self.turns.is_empty() {
            self.open_turn(emitter, request.map(str::to_owned));
        }
        let mut extra = Extra::default();
        extra.insert("stopReason", Json::string(reason));
        let outcome = match reason {
            "end_turn" => "completed",
            "cancelled" => {
                self.interrupt(emitter);
                "interrupted"
            }
            _ => {
                let message = match reason {
                    "max_tokens" => "the answer grew too long",
                    "max_turn_requests" => "the turn asked the model too often",
                    "refusal" => "the model refused to go on",
                    other => other,
                };
                let place = self.quiet_place();
                let error = ErrorEvent {
                    code: reason.to_owned(),
                    message: message.to_owned(),
                    ..ErrorEvent::default()
                };
                let turn = place.turn_id.clone().unwrap_or_default();
                emitter.add_as(&format!("{turn}:stopped"), &place, error);
                "failed"
            }
        };
        self.write_usage(emitter, result);
        self.close_turn(emitter, Some(asks), outcome, extra);
    }

    /// A prompt was answered with an error.
    pub(super) fn failed(
        &mut self,
        emitter: &mut Emitter,
        asks: &mut Asks,
        request: &str,
        error: ErrorEvent,
        cancelled: bool,
    ) {
        self.turns.bring_front(request);
        let place = self.place(emitter, None);
        let turn = place.turn_id.clone().unwrap_or_default();
        if cancelled {
            self.interrupt(emitter);
        } else {
            emitter.add_as(&format!("{turn}:error"), &place, error);
        }
        let outcome = if cancelled { "interrupted" } else { "failed" };
        self.close_turn(emitter, Some(asks), outcome, Extra::default());
    }

    /// The user stops the turn.
    pub(super) fn interrupt(&mut self, emitter: &mut Emitter) {
        let place = self.quiet_place();
        let Some(turn) = self.turns.front_mut() else {
            return emitter.pass_over("session/cancel without a turn");
        };
        if std::mem::replace(&mut turn.interrupted, true) {
            return;
        }
        let payload = Interrupt {
            reason: "user_cancel".to_owned(),
            ..Interrupt::default()
        };
        emitter.add_as(&format!("{}:interrupt", turn.id), &place, payload);
    }

    /// Ends the turn of a history.
    pub(super) fn end_replayed(&mut self, emitter: &mut Emitter) {
        if self.turns.front().is_some_and(|turn| turn.replayed) {
            self.close_turn(emitter, None, "completed", Extra::default());
        }
    }

    /// Ends the turn that runs, and before it what is open in it.
    pub(super) fn close_turn(
        &mut self,
        emitter: &mut Emitter,
        asks: Option<&mut Asks>,
        outcome: &str,
        extra: Extra,
    ) {
        self.end_texts(emitter, None);
        let Some(turn) = self.turns.front() else {
            return;
        };
        let (turn_id, interrupted) = (turn.id.clone(), outcome == "interrupted");
        let mut open: Vec<_> = std::mem::take(&mut self.calls).into_iter().collect();
        open.sort_by_key(|(_, call)| call.order);
        for (native, mut call) in open {
            call.announce(emitter);
            self.over.insert(super::texts::id_hash("call", &native));
            let result = match call.refused {
                true => tool::refused(&call.id),
                false => tool::unanswered(&call.id, interrupted),
            };
            emitter.add_as(&format!("{}:result", call.id), &call.place, result);
        }
        self.flush_files(emitter);
        if let Some(asks) = asks {
            asks.expire_turn(emitter, &turn_id);
        }
        let place = self.quiet_place();
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            extra,
            ..TurnEnd::default()
        };
        self.turns.pop_front();
        // `append` would build the set of all that is over anew.
        self.over.extend(std::mem::take(&mut self.messages));
        // A turn that was overtaken goes on behind this one, and so do its responses.
        if self.turns.is_empty() {
            self.parts.clear();
        }
        self.terminals.clear();
        emitter.add_as(&format!("{turn_id}:end"), &place, end);
    }

    /// The source ended.
    pub(super) fn end(&mut self, emitter: &mut Emitter, asks: &mut Asks) {
        self.settle(emitter, Next::Nothing);
        self.end_replayed(emitter);
        self.loading = false;
        // A prompt that nothing was made of is shown.
        if self.turns.is_empty() && self.user.as_ref().is_some_and(UserText::is_told) {
            self.open_turn(emitter, None);
        }
        while !self.turns.is_empty() {
            self.close_turn(emitter, Some(asks), "interrupted", Extra::default());
        }
    }
}
