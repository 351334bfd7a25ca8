//! Sub-agents: each works in a call, which is made up where the agent named none.

use chat_event::payload::ToolCall;
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::events::AgUi;
use super::names::field;
use crate::emit::{Emitter, Place};
use crate::value::text_of;
use crate::words::one_line;

/// A sub-agent that runs.
#[derive(Debug)]
pub(crate) struct Sub {
    /// The call it runs in.
    pub(super) call_id: String,
    /// The call was made up for it.
    pub(super) own: bool,
}

impl AgUi {
    /// `SUBAGENT_STARTED`.
    pub(super) fn sub_started(&mut self, emitter: &mut Emitter, event: &Value) {
        let Some(run) = field(event, "subagentRunId", "subagent_run_id").map(str::to_owned) else {
            let place = self.quiet_place(None);
            return emitter.raw(&place, super::FORMAT, "SUBAGENT_STARTED", event);
        };
        if self.subs.contains_key(&run) {
            return emitter.pass_over("a sub-agent that runs");
        }
        let call = field(event, "parentToolCallId", "parent_tool_call_id").map(str::to_owned);
        let own = call.is_none();
        let call_id = call.unwrap_or_else(|| run.clone());
        if own {
            let parent = field(event, "parentSubagentRunId", "parent_subagent_run_id");
            let mut started = Map::new();
            let name = text_of(event, "name").unwrap_or("subagent");
            started.insert("toolCallName".to_owned(), name.into());
            let started = Value::Object(started);
            let parent = parent.map(str::to_owned);
            if !self.need_call(emitter, &call_id, &started, parent, true) {
                return;
            }
            if let Some(call) = self.calls.get_mut(&call_id)
                && !std::mem::replace(&mut call.announced, true)
            {
                let mut args = Map::new();
                for key in ["description", "input"] {
                    if let Some(held) = event.get(key).filter(|held| !held.is_null()) {
                        args.insert(key.to_owned(), held.clone());
                    }
                }
                let payload = ToolCall {
                    tool_call_id: call.id.clone(),
                    tool_name: name.to_owned(),
                    args: Json::from(Value::Object(args)),
                    title: text_of(event, "description").map(one_line),
                    kind: Some("agent".to_owned()),
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{}:call", call.id), &call.place, payload);
            }
        }
        self.subs.insert(run, Sub { call_id, own });
    }

    /// `SUBAGENT_FINISHED` and `SUBAGENT_ERROR`.
    pub(super) fn sub_ended(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let run = field(event, "subagentRunId", "subagent_run_id").unwrap_or("");
        let Some(sub) = self.subs.remove(run) else {
            return emitter.pass_over("the end of a sub-agent that is over");
        };
        self.lanes.remove(&Some(run.to_owned()));
        let message = text_of(event, "message").unwrap_or("the sub-agent failed");
        let failed = kind == "SUBAGENT_ERROR";
        if sub.own {
            let mut held = Map::new();
            match event.get("result") {
                Some(Value::String(text)) => {
                    held.insert("content".to_owned(), text.as_str().into())
                }
                Some(Value::Null) | None => None,
                Some(result) => held.insert("content".to_owned(), result.to_string().into()),
            };
            if failed {
                held.insert("error".to_owned(), message.into());
            }
            self.write_result(emitter, &sub.call_id, &Value::Object(held));
        } else if failed {
            let place = Place {
                parent_tool_call_id: Some(self.call_id(&sub.call_id)),
                ..self.quiet_place(None)
            };
            emitter.notice("warning", &place, "agent", message);
        } else {
            emitter.pass_over(kind);
        }
    }
}
