//! What assistants say: texts and thoughts as they grow, and calls.

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::message::Message;
use super::shapes::time_of;
use super::speech::Grown;
use super::talk::Talk;
use crate::emit::Emitter;
use crate::speech::Kind;
use crate::value::str_of;

impl Talk {
    /// What an assistant says, as far as it does by now.
    pub(super) fn assistant(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let mut told = self.messages.remove(message.id).unwrap_or_default();
        let finish = message.finish();
        // What has ended grows no more, but may be stopped after that.
        if told.finish.is_some() && told.finish.as_deref() == finish.and_then(reason) {
            self.messages.insert(message.id, told);
            emitter.report.repeated += 1;
            return;
        }
        self.run.response(emitter, Some(message.id));
        if message.within.is_none() {
            self.answered_by(emitter, message);
        }
        let is_over = finish.is_some();
        let has_calls = message.has("tool_call");
        self.set_time(emitter, message);
        let mut n_grown = [0_usize; 2];
        let mut n_others = 0;
        for (kind, part) in message.parts() {
            match kind {
                "text" => {
                    let text = str_of(part, "text").unwrap_or("");
                    let grown = grown(&mut told.grown, Kind::Text, &mut n_grown);
                    let is_over = is_over || has_calls;
                    grown.tell(emitter, &mut self.run, message.id, text, is_over);
                }
                "reasoning" => {
                    let text = str_of(part, "thinking").unwrap_or("");
                    let grown = grown(&mut told.grown, Kind::Thinking, &mut n_grown);
                    let now_ms = emitter.time_ms;
                    let ended_ms = time_of(part, "finished_at");
                    emitter.time_ms = ended_ms.unwrap_or(now_ms);
                    let is_over = is_over || has_calls || ended_ms.is_some();
                    grown.tell(emitter, &mut self.run, message.id, text, is_over);
                    emitter.time_ms = now_ms;
                }
                "tool_call" => {
                    self.call(emitter, message.id, &mut told, part, is_over);
                }
                "finish" => {}
                _ => {
                    n_others += 1;
                    if n_others > told.n_others {
                        told.n_others = n_others;
                        match kind {
                            "tool_result" => self.result(emitter, part),
                            _ => self.other(emitter, kind, part),
                        }
                    }
                }
            }
        }
        for (own, n_grown) in told.grown.iter_mut().zip(n_grown) {
            for gone in own.iter_mut().skip(n_grown) {
                gone.take_back(emitter, &self.run);
            }
        }
        self.worked_ms = Some(emitter.time_ms);
        if let Some(finish) = finish {
            self.finished(emitter, message, &mut told, finish);
        } else if message.within.is_none() {
            self.ending = None;
            self.calls_more = false;
        }
        self.messages.insert(message.id, told);
    }

    /// Which model answers.
    fn answered_by(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let Some(model) = message.model else {
            return;
        };
        let facts = SessionStart {
            model: Some(model.to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        if let Some(provider) = message.provider {
            rest.insert("modelProvider".to_owned(), Value::from(provider));
        }
        self.run.facts(emitter, facts, rest);
    }

    /// What an assistant says is told when it was written last; calls come before their results, which its end does not.
    fn set_time(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let of_thoughts = message.parts().filter(|(kind, _)| *kind == "reasoning");
        let thought_ms = of_thoughts
            .filter_map(|(_, part)| time_of(part, "finished_at"))
            .max();
        let ended_ms = match message.finish() {
            Some(_) if message.has("tool_call") => None,
            Some(finish) => time_of(finish, "time"),
            None => message.updated_ms,
        };
        let known = [message.created_ms, thought_ms, ended_ms];
        self.run.at(emitter, known.into_iter().flatten().max());
    }
}

fn reason(finish: &Value) -> Option<&str> {
    str_of(finish, "reason")
}

/// The text or thought that is the next of its kind.
fn grown<'a>(all: &'a mut [Vec<Grown>; 2], kind: Kind, n_grown: &mut [usize; 2]) -> &'a mut Grown {
    let own = &mut all[kind as usize];
    let at = n_grown[kind as usize];
    n_grown[kind as usize] += 1;
    if own.len() == at {
        own.push(Grown::new(kind));
    }
    &mut own[at]
}
