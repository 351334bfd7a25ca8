//! What the user, the model and the tools say.

use chat_event::{Json, Payload};
use serde_json::{Value, json};

use super::{FORMAT, QwenChat};
use crate::emit::Emitter;
use crate::gemini::messages;
use crate::track::Said;
use crate::value::{count_of, list_of, str_of, text_of};

/// What the program writes in the user's name, for its own ends.
const NOT_TYPED: [&str; 4] = [
    "notification",
    "cron",
    "goal_runtime",
    "background_task_completed",
];

impl QwenChat {
    pub(super) fn user(&mut self, emitter: &mut Emitter, id: &str, line: &Value) {
        let message = line.get("message").unwrap_or(&Value::Null);
        let (said, echoes) = messages::said(message);
        for echo in &echoes {
            let part = json!({"functionResponse": echo.told});
            self.result(emitter, &part, &Value::Null, line);
        }
        let is_echo = !echoes.is_empty();
        if said.text.is_empty() && said.attachments.is_empty() {
            if !is_echo {
                emitter.pass_over("empty words of the user's");
            }
            return;
        }
        let shown = line.pointer("/systemPayload/displayText");
        let shown = shown
            .and_then(Value::as_str)
            .filter(|shown| !shown.is_empty());
        let kind = str_of(line, "subtype").unwrap_or("");
        if NOT_TYPED.contains(&kind) {
            self.close(emitter);
            self.open_turn(emitter, id, "system");
            return self.told_of_task(emitter, &said.text, shown.unwrap_or(&said.text));
        }
        let steers = (is_echo || kind == "mid_turn_user_message") && self.track.turn_id().is_some();
        if !steers {
            self.close(emitter);
            self.open_turn(emitter, id, "user");
        }
        self.words(emitter, id, said, shown, steers);
    }

    fn words(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        mut said: Said,
        shown: Option<&str>,
        steers: bool,
    ) {
        // What the program made of it for the model: files that were named, written out.
        let sent = shown.filter(|shown| *shown != said.text);
        let sent = sent.map(|shown| std::mem::replace(&mut said.text, shown.to_owned()));
        let event_id = format!("{id}:user");
        match steers {
            true => self.track.steer(emitter, &event_id, said),
            false => self.track.user(emitter, &event_id, said),
        }
        if let (Some(sent), Some(event)) = (sent, emitter.out.last_mut())
            && let Payload::UserMessage(message) = &mut event.payload
        {
            message.extra.insert("sent", Json::string(&sent));
        }
    }

    pub(super) fn open_turn(&mut self, emitter: &mut Emitter, id: &str, trigger: &str) {
        let stem = if id.is_empty() {
            emitter.line_id().to_owned()
        } else {
            id.to_owned()
        };
        self.track.open_turn(emitter, &stem, trigger);
        if let Some(turn) = self.track.turn_id() {
            self.standing.begin(turn);
        }
    }

    pub(super) fn assistant(&mut self, emitter: &mut Emitter, id: &str, line: &Value) {
        if self.track.turn_id().is_none() {
            self.open_turn(emitter, id, "system");
        }
        let message = line.get("message").unwrap_or(&Value::Null);
        let response = if id.is_empty() {
            emitter.line_id().to_owned()
        } else {
            id.to_owned()
        };
        for (part, thought) in messages::thought_parts(message).iter().enumerate() {
            let part = u32::try_from(part).unwrap_or(u32::MAX);
            self.track.thought(emitter, &response, part, thought, false);
        }
        let said = messages::answered(message);
        self.track.text(emitter, &response, 0, &said.text);
        for attachment in &said.attachments {
            let place = self.track.place().in_response(&response);
            emitter.raw(&place, FORMAT, "attachment of an answer", attachment);
        }
        let mut calls = false;
        for (n, call) in messages::asked(message).enumerate() {
            calls = true;
            self.call(emitter, &response, n, call);
        }
        self.tokens(emitter, &response, line);
        if calls || !said.text.is_empty() {
            self.outcome = if calls { "interrupted" } else { "completed" };
        }
    }

    fn tokens(&mut self, emitter: &mut Emitter, response: &str, line: &Value) {
        let told = line.get("usageMetadata").unwrap_or(&Value::Null);
        let count = |key: &str| count_of(told, key);
        let (input, output) = (count("promptTokenCount"), count("candidatesTokenCount"));
        if input.unwrap_or(0) == 0 && output.unwrap_or(0) == 0 {
            return;
        }
        let tokens = json!({"model": line.get("model"), "tokens": {
            "input": input, "output": output, "cached": count("cachedContentTokenCount"),
            "thoughts": count("thoughtsTokenCount"), "total": count("totalTokenCount"),
        }});
        if let Some(mut usage) = messages::usage(&tokens) {
            usage.context_size = count_of(line, "contextWindowSize").filter(|size| *size > 0);
            let place = self.track.place().in_response(response);
            emitter.add_as(&format!("{response}:usage"), &place, usage);
        }
    }

    pub(super) fn results(&mut self, emitter: &mut Emitter, line: &Value) {
        let told = line.get("toolCallResult").unwrap_or(&Value::Null);
        let parts = line
            .get("message")
            .map_or(&[][..], |message| list_of(message, "parts"));
        let is_answer = |part: &&Value| part.get("functionResponse").is_some();
        let mut n_answers = 0;
        for part in parts.iter().filter(is_answer) {
            n_answers += 1;
            // What stands beside is of one call.
            let told = match n_answers {
                1 => told,
                _ => &Value::Null,
            };
            self.result(emitter, part, told, line);
        }
        // Pictures stand behind the answer; a cancelled call may have none.
        match (n_answers, text_of(told, "callId")) {
            (0, Some(id)) if self.track.waiting(id).is_some() => {
                let part = json!({"functionResponse": {"id": id, "response": null}});
                self.result(emitter, &part, told, line);
            }
            (0, _) => {
                let place = self.track.place();
                emitter.raw(&place, FORMAT, "tool_result without an answer", line);
            }
            _ => {}
        }
    }
}
