//! Texts and thoughts, as they begin, in pieces, and whole.

use serde_json::{Value, json};

use super::{Said, Told};
use crate::value::{str_of, text_of};

impl Said<'_> {
    /// The part as it begins; its kind is `text` or `reasoning`.
    pub(super) fn begun(&self, answer: &str, kind: &str) -> Value {
        json!({"id": self.part_id(answer, kind), "messageID": answer, "type": kind, "text": "",
            "time": {"start": self.time_ms}})
    }

    /// The part as it ends.
    pub(super) fn whole(&self, answer: &str, kind: &str) -> Value {
        let mut part = self.begun(answer, kind);
        part["text"] = json!(str_of(self.properties, "text").unwrap_or(""));
        part["time"]["end"] = json!(self.time_ms);
        part
    }

    /// A piece of it.
    pub(super) fn piece(&self, answer: &str, kind: &str) -> Told {
        let piece = json!({"messageID": answer, "partID": self.part_id(answer, kind),
            "field": "text", "delta": str_of(self.properties, "delta").unwrap_or("")});
        vec![("message.part.delta", piece)]
    }

    /// Ids of texts count in their answer.
    fn part_id(&self, answer: &str, kind: &str) -> String {
        let id = text_of(self.properties, &format!("{kind}ID"));
        format!("{answer}.{}", id.unwrap_or(kind))
    }
}
