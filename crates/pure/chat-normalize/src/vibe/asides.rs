//! Entries beside the talk: what was done to the history, and words of the program.

use chat_event::payload::Compaction;
use serde_json::Value;

use super::FORMAT;
use super::talk::{Talk, created_ms};
use crate::emit::Emitter;
use crate::value::{keep_others, str_of, text_of};

impl Talk {
    /// The history was made shorter, or something else was done to it.
    pub(super) fn checkpoint(&mut self, emitter: &mut Emitter, entry: &Value) {
        self.run.at(emitter, created_ms(entry));
        let place = self.place();
        let kind = str_of(entry, "kind").unwrap_or("");
        let id = emitter.line_id().to_owned();
        if !self.over.insert(&id, ()) {
            emitter.report.repeated += 1;
            return;
        }
        if kind.contains("compact") {
            let mut compaction = Compaction {
                trigger: "auto".to_owned(),
                summary: text_of(entry, "message").map(str::to_owned),
                ..Compaction::default()
            };
            let details = entry.get("details").unwrap_or(&Value::Null);
            keep_others(&mut compaction.extra, details, &[]);
            emitter.add("compaction", &place, compaction);
            return;
        }
        let words = text_of(entry, "message").unwrap_or(kind);
        emitter.notice("info", &place, FORMAT, words);
    }

    /// What the program says of itself, of a hook, or of the session.
    pub(super) fn notice(&mut self, emitter: &mut Emitter, entry: &Value) {
        self.run.at(emitter, created_ms(entry));
        let id = emitter.line_id().to_owned();
        if !self.over.insert(&id, ()) {
            emitter.report.repeated += 1;
            return;
        }
        let detail = entry.get("detail").unwrap_or(&Value::Null);
        match str_of(detail, "kind").unwrap_or("") {
            "session_title_updated" => self.titled(emitter, text_of(detail, "title")),
            "hook_run_started" | "hook_started" | "hook_run_completed" => {
                emitter.pass_over("a hook that runs");
            }
            kind => {
                let source = if kind.starts_with("hook") {
                    "hook"
                } else {
                    FORMAT
                };
                let level = match str_of(entry, "level") {
                    Some("info") | None => "info",
                    Some(_) => "warning",
                };
                let words = text_of(detail, "content").or_else(|| text_of(entry, "message"));
                let place = self.place();
                match words {
                    Some(words) => {
                        emitter.notice(level, &place, source, words);
                    }
                    None => emitter.pass_over("a notice without words"),
                }
            }
        }
    }
}
