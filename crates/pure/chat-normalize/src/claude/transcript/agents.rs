//! Lines of sub-agents: which call started the one that a line is of, and lines within `progress` lines.

use serde_json::Value;

use super::ClaudeTranscript;
use crate::claude::results;
use crate::claude::seen::Met;
use crate::emit::Emitter;
use crate::value::{str_of, text_of};

impl ClaudeTranscript {
    /// The call that started the sub-agent of this line, and what the agent is called.
    pub(super) fn chain(&mut self, line: &Value) -> (Option<String>, String) {
        let uuid = text_of(line, "uuid").unwrap_or("");
        let root = text_of(line, "parentUuid")
            .and_then(|parent| self.chain_of.get(parent))
            .cloned();
        let root = root.unwrap_or_else(|| uuid.to_owned());
        self.chain_of.insert(uuid, root.clone());
        let key = text_of(line, "agentId").map_or(root, str::to_owned);
        if let Some(call) = self.chain_call.get(&key).cloned() {
            // An agent that still works is not forgotten.
            self.chain_call.insert(&key, call.clone());
            return (call, key);
        }
        let content = line
            .get("message")
            .and_then(|message| message.get("content"))
            .unwrap_or(&Value::Null);
        let prompt = results::text_of_content(content);
        let call = self.session.agent_call(&prompt);
        self.chain_call.insert(&key, call.clone());
        (call, key)
    }

    /// A sub-agent's line within a line.
    pub(super) fn agent_progress(
        &mut self,
        emitter: &mut Emitter,
        data: &Value,
        native: Option<&str>,
    ) -> bool {
        let Some(inner) = data.get("message").filter(|inner| inner.is_object()) else {
            return false;
        };
        if let Some(uuid) = text_of(inner, "uuid") {
            if self.session.seen.meet(uuid, inner) == Met::Same {
                emitter.report.repeated += 1;
                return true;
            }
            let outer_id = emitter.line_id().to_owned();
            emitter.begin_line(Some(uuid));
            let known = self.agent_line(emitter, data, inner, native);
            emitter.begin_line(Some(&outer_id));
            return known;
        }
        self.agent_line(emitter, data, inner, native)
    }

    fn agent_line(
        &mut self,
        emitter: &mut Emitter,
        data: &Value,
        inner: &Value,
        native: Option<&str>,
    ) -> bool {
        let call = native
            .filter(|id| !id.starts_with("agent_"))
            .map(str::to_owned);
        let chain = Some((call, text_of(data, "agentId").unwrap_or("agent").to_owned()));
        match str_of(inner, "type") {
            Some("assistant") => self.assistant(emitter, inner, chain),
            Some("user") => self.user(emitter, inner, chain),
            Some(_) | None => return false,
        }
        true
    }
}
