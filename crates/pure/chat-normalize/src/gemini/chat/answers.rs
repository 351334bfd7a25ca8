//! Answers: of one that comes again only what is new is told.

use chat_event::Extra;
use chat_event::payload::{Retract, SessionStart};
use serde_json::Value;

use super::{FORMAT, GeminiChat, Known};
use crate::emit::{Emitter, Place, hash};
use crate::gemini::{messages, tools};
use crate::track::NewCall;
use crate::value::{list_of, str_of, text_of};

impl GeminiChat {
    /// The model answered, or its answer stands there again.
    pub(super) fn answer(&mut self, emitter: &mut Emitter, key: u64, id: &str, message: &Value) {
        let is_new = !self.known.contains_key(&key);
        if is_new {
            self.track.need_turn(emitter, id);
        }
        let mut known = self.known.remove(&key).unwrap_or_default();
        if is_new {
            known.turn_id = self.track.turn_id().map(str::to_owned);
        }
        let is_current = known.turn_id.as_deref() == self.track.turn_id();
        let place = Place {
            turn_id: known.turn_id.clone(),
            ..Place::default()
        }
        .in_response(id);
        if let Some(model) = text_of(message, "model") {
            let facts = SessionStart {
                model: Some(model.to_owned()),
                ..SessionStart::default()
            };
            self.fact(emitter, facts);
        }
        let mut thoughts = messages::thoughts(message);
        if thoughts.is_empty() && known.thoughts.is_empty() {
            thoughts = messages::thought_parts(message);
        }
        for (part, thought) in thoughts.iter().enumerate() {
            let told = hash(thought.as_bytes());
            if known.thoughts.get(part) != Some(&told) {
                match known.thoughts.get_mut(part) {
                    Some(before) => *before = told,
                    None => known.thoughts.push(told),
                }
                let part = u32::try_from(part).unwrap_or(u32::MAX);
                self.track.thought(emitter, id, part, thought, false);
            }
        }
        let said = messages::answered(message);
        let told = hash(said.text.as_bytes());
        if !said.text.is_empty() && known.text != told {
            known.text = told;
            self.track.text(emitter, id, 0, &said.text);
        }
        for attachment in &said.attachments {
            emitter.raw(&place, FORMAT, "attachment of an answer", attachment);
        }
        self.tokens(emitter, &mut known, &place, message);
        let calls = list_of(message, "toolCalls");
        for call in calls {
            if is_current {
                self.call(emitter, &mut known, key, id, call);
            } else if text_of(call, "id")
                .is_none_or(|id| !known.over.contains(&hash(id.as_bytes())))
            {
                emitter.pass_over("call of a turn that ended");
            }
        }
        if is_current && is_new && calls.is_empty() {
            self.asked_in_parts(emitter, &mut known, key, id, message);
        }
        if is_current {
            // A message that was set anew has its calls among its parts.
            let calls_on = !calls.is_empty() || messages::asked(message).next().is_some();
            let done = !calls_on && !said.text.is_empty();
            self.outcome = if done { "completed" } else { "interrupted" };
        }
        self.known.insert(key, known);
    }

    fn tokens(&mut self, emitter: &mut Emitter, known: &mut Known, place: &Place, message: &Value) {
        let Some(usage) = messages::usage(message) else {
            return;
        };
        let told = hash(message["tokens"].to_string().as_bytes());
        if known.tokens == told {
            return;
        }
        known.tokens = told;
        let id = place.response_id.clone().unwrap_or_default();
        // Figures that were corrected stand in for the first ones, so that sums are right.
        if let Some(before) = known.usage_id.take() {
            let retract = Retract {
                event_ids: vec![before],
                extra: Extra::default(),
            };
            emitter.add_as(&format!("{id}:retract"), place, retract);
        }
        let event = emitter.add_as(&format!("{id}:usage"), place, usage);
        known.usage_id = Some(event.id.clone());
    }

    /// Calls of a message that was not told before and has them among its parts alone: what they gave is in the answers
    /// that stand behind it in the user's name.
    fn asked_in_parts(
        &mut self,
        emitter: &mut Emitter,
        known: &mut Known,
        message_key: u64,
        response_id: &str,
        message: &Value,
    ) {
        for (n, asked) in messages::asked(message).enumerate() {
            let mut call = asked.clone();
            if text_of(asked, "id").is_none()
                && let Some(members) = call.as_object_mut()
            {
                let id = format!("{response_id}:call{n}");
                let name = str_of(asked, "name").unwrap_or("").to_owned();
                self.nameless.entry(name).or_default().push_back(id.clone());
                members.insert("id".to_owned(), id.into());
            }
            self.call(emitter, known, message_key, response_id, &call);
        }
    }

    fn call(
        &mut self,
        emitter: &mut Emitter,
        known: &mut Known,
        message_key: u64,
        response_id: &str,
        call: &Value,
    ) {
        let Some(id) = text_of(call, "id") else {
            return emitter.raw(&self.track.place(), FORMAT, "call without an id", call);
        };
        let key = hash(id.as_bytes());
        if known.over.contains(&key) {
            return;
        }
        let name = str_of(call, "name").unwrap_or("");
        let args = call.get("args").unwrap_or(&Value::Null);
        if self.track.waiting(id).is_none() {
            let new = NewCall {
                id,
                response_id,
                name,
                args,
                title: tools::title(name, args),
                kind: tools::kind(name),
            };
            self.track.call(emitter, new);
            self.asked.insert(key, message_key);
            if let Some(plan) = tools::plan(name, args) {
                let place = self.track.place().in_response(response_id);
                emitter.add_as(&format!("{id}:plan"), &place, plan);
            }
        }
        if !messages::is_over(call) {
            return;
        }
        known.over.insert(key);
        // The call bears the time at which it was over.
        self.at_time(emitter, call, "timestamp");
        let Some(ended) = self.track.result(emitter, id, messages::result(call)) else {
            return;
        };
        if str_of(call, "status") == Some("success") {
            let cwd = self.track.facts.cwd();
            if let Some(edit) = messages::edit(&ended, call, cwd.as_deref()) {
                self.track.edit(emitter, &ended, edit);
            }
        }
    }
}
