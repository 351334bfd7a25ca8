//! Runs: a run is a turn; what it waits for when it ends is asked, and answered by the next run's input.
//!
//! | state | event | next |
//! |---|---|---|
//! | no turn | `RUN_STARTED`, or anything said | turn open |
//! | turn open | `RUN_STARTED` | closed as interrupted, and the next open |
//! | turn open | `RUN_FINISHED`: success | closed; calls that were made wait to the end of the next run: the front end answers them, or the server makes those that it asked for |
//! | turn open | `RUN_FINISHED`: interrupt | questions and permissions asked, closed; where the next run does not say what it was given, a call that is begun again or has its result was allowed |
//! | turn open | `RUN_FINISHED`: cancelled | `interrupt`, closed as interrupted |
//! | turn open | `RUN_ERROR` | `error`, closed as failed |
//! | no turn | `RUN_FINISHED` of a run that is over, or one that says nothing else | no turn |

use std::collections::BTreeSet;

use chat_event::payload::{
    ErrorEvent, Interrupt, PermissionOption, PermissionRequest, PermissionResolved, Question,
    QuestionRequest, QuestionResolved, TurnEnd, TurnStart, Usage,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::events::{AgUi, id_hash};
use super::names::field;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, list_of, str_of, text_of};

/// What a run waits for.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The id its events bear.
    id: String,
    place: Place,
    question: bool,
    /// The call that leave is asked for.
    call: Option<String>,
}

impl AgUi {
    pub(super) fn run_started(&mut self, emitter: &mut Emitter, event: &Value) {
        if self.turn.is_some() {
            self.close_turn(emitter, "interrupted", Extra::default());
        }
        let said = event.get("input").filter(|input| input.is_object());
        let input = said.unwrap_or(&Value::Null);
        let run = field(event, "runId", "run_id").map(str::to_owned);
        self.resume(emitter, list_of(input, "resume"));
        self.tool_messages(emitter, list_of(input, "messages"));
        // Few servers say what a run was given: then the call itself shows whether it may be made.
        self.expire(emitter, |ask| said.is_some() || ask.call.is_none());
        self.open_turn(emitter, run);
        self.input(emitter, list_of(input, "messages"));
    }

    /// A turn begins.
    pub(super) fn open_turn(&mut self, emitter: &mut Emitter, run: Option<String>) {
        self.n_turns += 1;
        let mut id = run.unwrap_or_else(|| format!("run-{}", self.n_turns));
        if !self.turns.insert(id_hash("turn", &id)) {
            id = format!("{id}~{}", self.n_turns);
            self.turns.insert(id_hash("turn", &id));
        }
        self.begin_turn(emitter, &id);
        if self.n_turns == 1
            && let Some(prompt) = self.prompt.clone()
        {
            self.user_message(emitter, &format!("{id}:prompt"), &prompt, None);
            self.prompt = Some(prompt);
        }
    }

    /// The turn of this id is the one that runs; its place.
    pub(super) fn begin_turn(&mut self, emitter: &mut Emitter, id: &str) -> Place {
        self.turn = Some(id.to_owned());
        self.lanes.clear();
        let place = self.quiet_place(None);
        let start = TurnStart {
            trigger: "user".to_owned(),
            ..TurnStart::default()
        };
        emitter.add_as(&format!("{id}:start"), &place, start);
        place
    }

    pub(super) fn run_finished(&mut self, emitter: &mut Emitter, event: &Value) {
        let run = field(event, "runId", "run_id");
        let is_over = run.is_some_and(|run| self.turns.contains(&id_hash("turn", run)));
        let is_null = |key| event.get(key).is_none_or(Value::is_null);
        let is_bare = ["usage", "outcome", "result"].into_iter().all(is_null);
        if self.turn.is_none() && (is_over || is_bare) {
            return emitter.pass_over("the end of a run that is over");
        }
        let place = self.place(emitter, None);
        let turn = place.turn_id.clone().unwrap_or_default();
        self.write_usage(emitter, event);
        let outcome = event.get("outcome").unwrap_or(&Value::Null);
        let kind = str_of(outcome, "type").or_else(|| outcome.as_str());
        let mut extra = Extra::default();
        if let Some(result) = event.get("result").filter(|result| !result.is_null()) {
            extra.insert("result", Json::from(result));
        }
        let ended = match kind {
            Some("cancelled" | "canceled") => {
                let interrupt = Interrupt {
                    reason: "user_cancel".to_owned(),
                    ..Interrupt::default()
                };
                emitter.add_as(&format!("{turn}:interrupt"), &place, interrupt);
                "interrupted"
            }
            Some("interrupt") => {
                for interrupt in list_of(outcome, "interrupts") {
                    self.ask(emitter, interrupt, &place);
                }
                extra.insert("stopReason", Json::string("interrupt"));
                "completed"
            }
            Some(_) | None => "completed",
        };
        self.close_turn(emitter, ended, extra);
    }

    pub(super) fn run_failed(&mut self, emitter: &mut Emitter, event: &Value) {
        let place = self.place(emitter, None);
        let turn = place.turn_id.clone().unwrap_or_default();
        self.write_usage(emitter, event);
        let error = ErrorEvent {
            code: text_of(event, "code").unwrap_or("run_error").to_owned(),
            message: text_of(event, "message")
                .unwrap_or("the run failed")
                .to_owned(),
            ..ErrorEvent::default()
        };
        emitter.add_as(&format!("{turn}:error"), &place, error);
        self.close_turn(emitter, "failed", Extra::default());
    }

    fn close_turn(&mut self, emitter: &mut Emitter, outcome: &str, extra: Extra) {
        self.close_texts(emitter);
        self.chunked = None;
        // Calls that were made and not answered may be answered in the next run.
        let turn = self.turn.clone();
        let completed = outcome == "completed";
        let subs: BTreeSet<String> = std::mem::take(&mut self.subs)
            .into_values()
            .filter(|sub| sub.own)
            .map(|sub| sub.call_id)
            .collect();
        self.close_calls(emitter, outcome == "interrupted", |id, call| {
            let made = call.announced && call.place.turn_id == turn;
            completed && made && !subs.contains(id)
        });
        self.expire(emitter, |ask| ask.place.turn_id != turn);
        let Some(turn) = turn else {
            return;
        };
        let place = self.quiet_place(None);
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            extra,
            ..TurnEnd::default()
        };
        self.turn = None;
        emitter.add_as(&format!("{turn}:end"), &place, end);
    }

    /// The source ended.
    pub(super) fn end_all(&mut self, emitter: &mut Emitter) {
        if self.turn.is_some() {
            self.close_turn(emitter, "interrupted", Extra::default());
        }
        self.close_calls(emitter, false, |_, _| false);
        self.expire(emitter, |_| true);
    }

    fn write_usage(&mut self, emitter: &mut Emitter, event: &Value) {
        let entries = list_of(event, "usage");
        if entries.is_empty() {
            return;
        }
        let sum = |key: &str| {
            entries
                .iter()
                .filter_map(|entry| count_of(entry, key))
                .reduce(u64::saturating_add)
        };
        let cached = sum("cachedInputTokens");
        let usage = Usage {
            scope: "turn".to_owned(),
            // What came from the cache is counted among what was read.
            input_tokens: sum("inputTokens")
                .unwrap_or(0)
                .saturating_sub(cached.unwrap_or(0)),
            output_tokens: sum("outputTokens").unwrap_or(0),
            cache_read_tokens: cached,
            reasoning_tokens: sum("reasoningTokens"),
            model: match entries {
                [entry] => text_of(entry, "model").map(str::to_owned),
                _ => None,
            },
            ..Usage::default()
        };
        let place = self.quiet_place(None);
        let turn = place.turn_id.clone().unwrap_or_default();
        emitter.add_as(&format!("{turn}:usage"), &place, usage);
    }

    /// One thing that the run waits for: leave to make a call, or an answer.
    fn ask(&mut self, emitter: &mut Emitter, interrupt: &Value, place: &Place) {
        let named = text_of(interrupt, "id");
        let before = named.and_then(|id| self.asks.remove_entry(id));
        if let Some((native, before)) = before {
            if before.place == *place {
                self.asks.insert(native, before);
                return emitter.pass_over("what is asked again");
            }
            before.close(emitter, None);
        }
        let native = named.unwrap_or("interrupt");
        let uses = self.uses.entry(id_hash("ask", native)).or_insert(0);
        *uses = uses.saturating_add(1);
        let id = match uses {
            1 => native.to_owned(),
            uses => format!("{native}~{uses}"),
        };
        // What is asked without an id is another question each time.
        let native = named.map_or_else(|| id.clone(), str::to_owned);
        let reason = text_of(interrupt, "reason").unwrap_or("");
        let message = text_of(interrupt, "message");
        let call = field(interrupt, "toolCallId", "tool_call_id");
        let known = call.and_then(|call| self.calls.get_mut(call));
        let tool_name = known.map(|call| {
            call.asked_for = true;
            call.name.clone()
        });
        let lower = reason.to_ascii_lowercase();
        let wants_leave = ["approv", "confirm", "permission"]
            .iter()
            .any(|word| lower.contains(word))
            || (call.is_some() && interrupt.get("responseSchema").is_none());
        if wants_leave {
            let option = PermissionOption::new;
            let payload = PermissionRequest {
                request_id: id.clone(),
                tool_call_id: call.map(|call| self.call_id(call)),
                tool_name: tool_name.unwrap_or_default(),
                title: message.map(str::to_owned),
                options: vec![
                    option("resolved", "Allow", "allow_once"),
                    option("cancelled", "Reject", "reject_once"),
                ],
                reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
                ..PermissionRequest::default()
            };
            emitter.add_as(&format!("{id}:ask"), place, payload);
        } else {
            let schema = interrupt.get("responseSchema");
            let mut extra = Extra::default();
            if let Some(schema) = schema {
                extra.insert("responseSchema", Json::from(schema));
            }
            let payload = QuestionRequest {
                answerable: None,
                request_id: id.clone(),
                tool_call_id: call.map(|call| self.call_id(call)),
                questions: vec![Question {
                    header: Some(reason.to_owned()).filter(|_| message.is_some()),
                    text: message.unwrap_or(reason).to_owned(),
                    extra,
                    ..Question::default()
                }],
                extra: Extra::default(),
            };
            emitter.add_as(&format!("{id}:ask"), place, payload);
        }
        let ask = Ask {
            id,
            place: place.clone(),
            question: !wants_leave,
            call: call.map(str::to_owned).filter(|_| wants_leave),
        };
        self.asks.insert(native, ask);
    }

    /// What a run's input says to what the run before waited for.
    fn resume(&mut self, emitter: &mut Emitter, entries: &[Value]) {
        for entry in entries {
            let id = field(entry, "interruptId", "interrupt_id").unwrap_or("");
            let Some(ask) = self.asks.remove(id) else {
                emitter.pass_over("an answer to nothing");
                continue;
            };
            let resolved = str_of(entry, "status") != Some("cancelled");
            let payload = entry.get("payload");
            ask.close(emitter, Some((resolved, payload)));
        }
    }

    /// Leave was asked for a call, and what becomes of the call shows the answer.
    pub(super) fn shown(&mut self, emitter: &mut Emitter, call: &str, may: impl FnOnce() -> bool) {
        let of_call = |ask: &Ask| ask.call.as_deref() == Some(call);
        let asked = self.asks.iter().find(|(_, ask)| of_call(ask));
        let asked = asked.map(|(native, _)| native.clone());
        if let Some(ask) = asked.and_then(|native| self.asks.remove(&native)) {
            let may = Value::Bool(may());
            ask.close(emitter, Some((true, Some(&may))));
        }
    }

    fn expire(&mut self, emitter: &mut Emitter, is_over: impl Fn(&Ask) -> bool) {
        let asks = std::mem::take(&mut self.asks);
        for (native, ask) in asks {
            if is_over(&ask) {
                ask.close(emitter, None);
            } else {
                self.asks.insert(native, ask);
            }
        }
    }
}

impl Ask {
    fn close(self, emitter: &mut Emitter, answer: Option<(bool, Option<&Value>)>) {
        let event_id = format!("{}:answer", self.id);
        if self.question {
            let payload = QuestionResolved {
                request_id: self.id,
                answers: answer.and_then(|answer| answer.1).map(Json::from),
                outcome: match answer {
                    Some((true, _)) => "answered",
                    Some((false, _)) => "rejected",
                    None => "expired",
                }
                .to_owned(),
                extra: Extra::default(),
            };
            emitter.add_as(&event_id, &self.place, payload);
            return;
        }
        // A tool that may not be called is told in the answer.
        let refused = answer.and_then(|answer| answer.1).is_some_and(|payload| {
            payload == &Value::Bool(false)
                || payload.get("approved") == Some(&Value::Bool(false))
                || matches!(str_of(payload, "decision"), Some("reject" | "deny"))
        });
        let payload = PermissionResolved {
            request_id: self.id,
            decision: match answer {
                Some((true, _)) if !refused => "allow",
                Some(_) => "deny",
                None => "cancel",
            }
            .to_owned(),
            by: answer.map(|_| "user".to_owned()),
            ..PermissionResolved::default()
        };
        emitter.add_as(&event_id, &self.place, payload);
    }
}
