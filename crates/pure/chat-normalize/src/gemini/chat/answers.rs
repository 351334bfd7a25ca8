//! Answers: of one that comes again only what is new is told.

use chat_event::Extra;
use chat_event::payload::{Retract, SessionStart};
use serde_json::Value;

use super::{FORMAT, GeminiChat, Known};
use crate::emit::{Emitter, Place, hash};
use crate::gemini::{messages, tools};
use crate::track::{NewCall, text_in, thought_in};
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
        let mut says_more = is_new;
        for (part, thought) in thoughts.iter().enumerate() {
            let told = hash(thought.as_bytes());
            let before = known.thoughts.get_mut(part);
            if before.as_ref().is_some_and(|before| before.0 == told) {
                continue;
            }
            says_more = true;
            take_back(emitter, &place, before.as_ref().map(|before| &before.1));
            let number = u32::try_from(part).unwrap_or(u32::MAX);
            let event_id = thought_in(emitter, &place, number, thought, false);
            match before {
                Some(before) => *before = (told, event_id),
                None => known.thoughts.push((told, event_id)),
            }
        }
        let said = messages::answered(message);
        let told = hash(said.text.as_bytes());
        let before = known.text.as_ref();
        if !said.text.is_empty() && before.is_none_or(|before| before.0 != told) {
            says_more = true;
            take_back(emitter, &place, before.map(|before| &before.1));
            known.text = Some((told, text_in(emitter, &place, 0, &said.text)));
        }
        for (at, attachment) in said.attachments.iter().enumerate() {
            let told = hash(attachment.to_string().as_bytes());
            match known.attachments.get_mut(at) {
                Some(before) if *before == told => continue,
                Some(before) => *before = told,
                None => known.attachments.push(told),
            }
            says_more = true;
            emitter.raw(&place, FORMAT, "attachment of an answer", attachment);
        }
        self.tokens(emitter, &mut known, &place, message);
        let calls = list_of(message, "toolCalls");
        let n_before = emitter.report.events;
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
        says_more |= emitter.report.events > n_before;
        // What was told before says nothing of how the turn stands now: it may have been stopped since.
        if is_current && says_more {
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
        take_back(emitter, place, known.usage_id.as_ref());
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

/// What was said `before` is said otherwise now.
fn take_back(emitter: &mut Emitter, place: &Place, before: Option<&String>) {
    if let Some(before) = before {
        let retract = Retract {
            event_ids: vec![before.clone()],
            extra: Extra::default(),
        };
        let id = place.response_id.as_deref().unwrap_or("");
        emitter.add_as(&format!("{id}:retract"), place, retract);
    }
}
