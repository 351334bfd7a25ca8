//! What stands at the top of a transcript.

use chat_event::{ChatEvent, Payload};

use super::times::utc;
use super::transcript::Transcript;
use super::writer::{Writer, code, words};
use crate::projections::TextSink;

/// What stands at the top.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) title: Option<String>,
    prompt: Option<String>,
    pub(super) agent: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    is_cwd_guessed: bool,
    git_branch: Option<String>,
    started_ms: Option<i64>,
}

impl Facts {
    pub(super) fn note(&mut self, event: &ChatEvent) {
        if self.started_ms.is_none() {
            self.started_ms = event.timestamp.filter(|&ms| ms > 0);
        }
        match &event.payload {
            Payload::SessionStart(start) => {
                let keep = |old: &mut Option<String>, new: &Option<String>| {
                    if let Some(new) = new.as_ref().filter(|new| !new.is_empty()) {
                        *old = Some(new.clone());
                    }
                };
                keep(&mut self.title, &start.title);
                keep(&mut self.agent, &start.agent);
                keep(&mut self.model, &start.model);
                let had_none = self.cwd.is_none();
                if start.tells_cwd(self.cwd.as_deref(), &mut self.is_cwd_guessed) {
                    keep(&mut self.cwd, &start.cwd);
                }
                if had_none {
                    keep(&mut self.git_branch, &start.git_branch);
                }
            }
            Payload::UserMessage(message)
                if event.parent_tool_call_id.is_none() && self.prompt.is_none() =>
            {
                self.prompt = chat_event::gist::title(&message.text.preview());
            }
            _ => {}
        }
    }
}

impl Transcript {
    pub(super) fn head<S: TextSink>(&mut self, out: &mut Writer<'_, S>) {
        if std::mem::replace(&mut self.has_head, true) {
            return;
        }
        let facts = &self.facts;
        let title = facts.title.as_deref().or(facts.prompt.as_deref());
        out.block(&format!("# {}", words(title.unwrap_or("Session"))));
        let started = facts.started_ms.map(|ms| format!("- Started: {}", utc(ms)));
        let told = |name: &str, value: &Option<String>| {
            let value = value.as_deref().map(code)?;
            (!value.is_empty()).then(|| format!("- {name}: {value}"))
        };
        let lines = [
            told("Agent", &facts.agent),
            told("Model", &facts.model),
            told("Folder", &facts.cwd),
            told("Branch", &facts.git_branch),
            started,
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        if !lines.is_empty() {
            out.block(&lines.join("\n"));
        }
    }
}
