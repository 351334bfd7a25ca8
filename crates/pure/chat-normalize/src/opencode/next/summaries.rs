//! A session that is made shorter: the summary that stands for what was said.

use serde_json::json;

use super::{Next, Said, Told, part};
use crate::value::{is_true, text_of};

impl Next {
    pub(super) fn compacted(&mut self, said: &Said<'_>) -> Told {
        let begun = self.compacting.remove(said.session).unwrap_or_default();
        let reason = text_of(&begun, "reason").or_else(|| text_of(said.properties, "reason"));
        let is_manual =
            reason == Some("manual") || (begun.get("auto").is_some() && !is_true(&begun, "auto"));
        let id = text_of(said.properties, "messageID").or_else(|| text_of(&begun, "messageID"));
        let id = format!("{}.summary", id.unwrap_or(said.id));
        let mut told = part(json!({"id": format!("{id}.asked"), "messageID": id,
            "type": "compaction", "auto": !is_manual}));
        if let Some(summary) = said.any_of(&["text", "summary"]) {
            let time_ms = said.time_ms;
            let updated = |end_ms: Option<i64>| {
                let info = json!({"id": id, "sessionID": said.session, "role": "assistant",
                    "summary": true, "finish": "stop", "parentID": self.asked.get(said.session),
                    "time": {"created": time_ms, "completed": end_ms}});
                ("message.updated", json!({ "info": info }))
            };
            told.insert(0, updated(None));
            told.extend(part(
                json!({"id": format!("{id}.text"), "messageID": id, "type": "text",
                "text": summary, "time": {"start": time_ms, "end": time_ms}}),
            ));
            told.push(updated(time_ms));
        }
        told.push(("session.compacted", json!({})));
        told
    }
}
