//! Items of sub-agents: what they were asked, what they answered, when they began and ended.

use chat_event::payload::{AgentCallback, AgentMessage, ToolError};
use chat_event::{Body, Extra, Json};
use serde_json::Value;

use super::member;
use crate::codex::collab::{own_name, without_head};
use crate::codex::outcome::{Outcome, write_result};
use crate::codex::session::{Call, Scope, Session, Spawned};
use crate::codex::tools::Spec;
use crate::emit::{Emitter, hash};
use crate::value::{str_of, text_of};
use crate::words::one_line;

impl Session {
    /// What an item says of the agents it has to do with.
    pub(super) fn collab(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, item: &Value) {
        let receivers = member(item, "receiver_thread_ids", "receiverThreadIds");
        let receivers: Vec<&str> = receivers
            .and_then(Value::as_array)
            .map(|ids| ids.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        self.learn_names(item);
        if let Some(prompt) = text_of(item, "prompt") {
            for (n, receiver) in receivers.iter().enumerate() {
                self.spawned
                    .entry((*receiver).to_owned())
                    .or_insert_with(|| spawned(scope, id));
                let message = AgentMessage {
                    message_id: format!("{id}.{n}"),
                    target_agent_id: self.agent_name(receiver).to_owned(),
                    target_session_id: (*receiver).to_owned(),
                    message: Body::from(prompt),
                    wait: false,
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{id}:message{n}"), &scope.place, message);
            }
        }
        let states = member(item, "agents_states", "agentsStates").and_then(Value::as_object);
        for (thread, state) in states.into_iter().flatten() {
            let said = text_of(state, "message").or_else(|| text_of(state, "completed"));
            if let Some(said) = said {
                self.callback(
                    emitter,
                    scope,
                    &format!("{id}:callback-{thread}"),
                    thread,
                    said,
                );
            }
        }
    }

    /// A sub-agent's answer.
    pub(crate) fn callback(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        event_id: &str,
        from: &str,
        text: &str,
    ) {
        let text = without_head(text);
        // Closing an agent says again what waiting for it said.
        let said = hash(format!("{from}\n{text}").as_bytes());
        if !self.called_back.put(said, ()) {
            emitter.pass_over("answer of an agent that came before");
            return;
        }
        let message_id = self.spawned.get(from);
        let message_id = message_id.map(|spawned| format!("{}.0", spawned.call));
        let callback = AgentCallback {
            message_id: message_id.unwrap_or_else(|| from.to_owned()),
            from_agent_id: self.agent_name(from).to_owned(),
            from_session_id: from.to_owned(),
            result: Body::from(text),
            extra: Extra::default(),
        };
        emitter.add_as(event_id, &scope.place, callback);
    }

    /// A sub-agent began or ended; the call that started it is shown where nothing else shows it.
    pub(super) fn sub_agent(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        id: &str,
        item: &Value,
    ) {
        let thread = member(item, "agent_thread_id", "agentThreadId")
            .and_then(Value::as_str)
            .unwrap_or("");
        let name = member(item, "agent_path", "agentPath").and_then(Value::as_str);
        match str_of(item, "kind") {
            Some("started") if !thread.is_empty() => {
                self.spawned.insert(thread.to_owned(), spawned(scope, id));
                if let Some(name) = name {
                    self.spawned.insert(name.to_owned(), spawned(scope, id));
                    self.names
                        .insert(thread.to_owned(), own_name(name).to_owned());
                    self.tell_held(emitter, id, |held| held.of_agent(name));
                }
                self.tell_held(emitter, id, |held| held);
                if !self.is_called(id) {
                    let args = serde_json::json!({});
                    let mut spec =
                        Spec::of_call("spawn_agent", args).of_agent(name.unwrap_or(thread));
                    spec.title = name.map(|name| one_line(own_name(name)));
                    self.call(emitter, scope, id, spec);
                }
                if let Some(call) = self.calls.get_mut(id) {
                    call.agent = Some(thread.to_owned());
                }
                let asked = self
                    .calls
                    .get(id)
                    .and_then(|call| text_of(&call.spec.args, "message"));
                if let Some(asked) = asked {
                    let message = AgentMessage {
                        message_id: format!("{id}.0"),
                        target_agent_id: self.agent_name(thread).to_owned(),
                        target_session_id: thread.to_owned(),
                        message: Body::from(asked),
                        wait: false,
                        extra: Extra::default(),
                    };
                    emitter.add_as(&format!("{id}:message0"), &scope.place, message);
                }
            }
            Some(kind @ ("completed" | "failed" | "interrupted")) => {
                let spawned = self.spawned.get(thread);
                let call_id = spawned.map_or_else(String::new, |spawned| spawned.call.clone());
                match self.take_call(&call_id) {
                    Some(call) => agent_ended(emitter, &call_id, &call, kind),
                    None => emitter.pass_over("subAgentActivity"),
                }
            }
            Some(_) | None => emitter.pass_over("subAgentActivity"),
        }
    }
}

/// The call `id`, which starts a sub-agent.
fn spawned(scope: &Scope, id: &str) -> Spawned {
    Spawned {
        call: id.to_owned(),
        turn_id: scope.place.turn_id.clone(),
    }
}

/// What a sub-agent was started for is done: it was `completed`, it was `interrupted`, or it failed.
pub(crate) fn agent_ended(emitter: &mut Emitter, call_id: &str, call: &Call, kind: &str) {
    let error = |code: Option<&str>, message: &str| ToolError {
        code: code.map(str::to_owned),
        message: message.to_owned(),
        extra: Extra::default(),
    };
    let error = match kind {
        "completed" => None,
        "interrupted" => Some(error(Some(kind), "the agent was interrupted")),
        _ => Some(error(None, "the agent failed")),
    };
    let outcome = Outcome {
        result: Json::string(""),
        error,
        summary: Some(kind.to_owned()),
        ..Outcome::default()
    };
    write_result(emitter, call_id, call, outcome);
}
