//! Texts of a person, of the model and of other agents. What several sources say is written once.

use chat_event::Json;
use chat_event::shell::script_of;
use serde_json::Value;

use super::{CodexRollout, Review};
use crate::codex::collab::task_words;
use crate::codex::given::given;
use crate::codex::{content, items};
use crate::emit::{Emitter, hash};
use crate::value::{str_of, text_of};

/// What the program writes into the user's mouth begins so.
const NOT_TYPED: [&str; 15] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<collaboration_mode>",
    "<skill>",
    "<skills_instructions>",
    "<recommended_plugins>",
    "<INSTRUCTIONS>",
    "<codex_internal_context",
    "<goal_context>",
    "<extension_context>",
    "<external_",
    "# AGENTS.md instructions",
];

/// Who says a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Response,
    Event,
    Item,
}

impl CodexRollout {
    pub(super) fn message(&mut self, emitter: &mut Emitter, item: &Value) {
        let (text, attachments) = content::content_of(item);
        match str_of(item, "role") {
            // The rest is the program's own talk with the model, such as the summary for a compaction.
            Some("assistant") if self.has_item("agentmessage") => {
                emitter.pass_over("message that is an item")
            }
            Some("assistant") => {
                let id = text_of(item, "id");
                let text = match self.items.contains("plan") {
                    // The item of it tells the plan.
                    true => without_plan(&text),
                    false => text,
                };
                self.agent_text(emitter, Source::Response, id, &text);
            }
            Some("user") => {
                let start = text.trim_start();
                if start.starts_with("<hook_prompt") {
                    // Why a hook does not let the agent stop; as an item it is told by that.
                    match self.has_item("hookprompt") {
                        true => emitter.pass_over("message that is an item"),
                        false => self.hook_prompt(emitter, start),
                    }
                    return;
                }
                if let Some(shell) = start.strip_prefix("<user_shell_command>") {
                    return self.shell_command(emitter, shell);
                }
                if start.starts_with("<user_action>") {
                    return self.user_action(emitter, start);
                }
                if NOT_TYPED.iter().any(|prefix| start.starts_with(prefix)) {
                    emitter.pass_over("message of the program");
                    return;
                }
                self.user_text(emitter, Source::Response, None, &text, attachments);
            }
            Some("developer" | "system") => emitter.pass_over("message of the program"),
            Some(_) | None => self.raw(emitter, "message", item),
        }
    }

    fn hook_prompt(&mut self, emitter: &mut Emitter, text: &str) {
        let inner = text.split_once('>').map_or(text, |(_, inner)| inner);
        let inner = inner.trim().trim_end_matches("</hook_prompt>").trim();
        let place = self.session.scope("", None).place;
        emitter.notice("info", &place, "hook", inner.to_owned());
    }

    /// A command that the person ran, with what became of it; newer versions have an item or an event for it.
    fn shell_command(&mut self, emitter: &mut Emitter, said: &str) {
        // What it printed may hold any tag.
        let head = said.split_once("<result>").map_or(said, |(head, _)| head);
        let command = between(head, "<command>", "</command>").unwrap_or(head);
        if !self.is_news(Source::Response, "shell", &script_of(command.trim())) {
            emitter.pass_over("shell command that is told");
            return;
        }
        let result = given(between(said, "<result>", "</result>").unwrap_or("").trim());
        let item = serde_json::json!({
            "id": format!("shell-{}", emitter.line_id()),
            "command": command.trim(),
            "aggregated_output": result.text,
            "exit_code": result.exit_code,
            "duration_ms": result.duration_ms,
        });
        self.event_item(emitter, "CommandExecution", &item);
    }

    /// What the person did in the program, mostly a review, whose end another line tells.
    fn user_action(&mut self, emitter: &mut Emitter, said: &str) {
        if !matches!(self.review, Review::None) {
            emitter.pass_over("review that is told");
            return;
        }
        let words = between(said, "<results>", "</results>");
        let words = words.or_else(|| between(said, "<action>", "</action>"));
        let place = self.session.scope("", None).place;
        emitter.notice("info", &place, "codex", words.unwrap_or(said).trim());
    }

    pub(super) fn user_text(
        &mut self,
        emitter: &mut Emitter,
        source: Source,
        id: Option<&str>,
        text: &str,
        attachments: Option<Json>,
    ) {
        if !self.is_news(source, "user", text) {
            return;
        }
        if !self.session.turn("").is_some_and(|turn| turn.is_told) {
            self.session.open_turn(emitter, "", None, false);
        }
        self.session.owes_answer(true);
        let scope = self.session.scope("", None);
        let native = id.map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        self.session
            .user_message(emitter, &scope, &native, text, attachments);
    }

    pub(super) fn agent_text(
        &mut self,
        emitter: &mut Emitter,
        source: Source,
        id: Option<&str>,
        text: &str,
    ) {
        if !self.is_news(source, "agent", text) {
            return;
        }
        if let Review::Told(found) = &self.review
            && !found.is_empty()
            && text.contains(found.as_str())
        {
            self.session.owes_answer(false);
            return emitter.pass_over("review that is told");
        }
        let scope = self.session.work_scope(emitter, "", None);
        self.session.owes_answer(false);
        let native = id.map_or_else(|| format!("m-{}", emitter.line_id()), str::to_owned);
        let id = self.session.id_of(&scope.turn, &native);
        self.session
            .texts
            .done(emitter, &scope, items::part(&id, false, 0), text);
    }

    pub(super) fn thoughts(&mut self, emitter: &mut Emitter, item: &Value, source: Source) {
        let summary = item
            .get("summary_text")
            .or_else(|| item.get("summary"))
            .or_else(|| item.get("text"));
        let raw = item.get("raw_content").or_else(|| item.get("content"));
        let texts: Vec<(u32, String)> = (0..)
            .zip(content::texts_of(summary))
            .chain((items::RAW_THOUGHTS..).zip(content::texts_of(raw)))
            .map(|(number, text)| (number, text.to_owned()))
            .collect();
        if texts.is_empty() {
            emitter.pass_over("reasoning without text");
            return;
        }
        let mut id = None;
        for (number, text) in texts {
            if !self.is_news(source, "thought", &text) {
                continue;
            }
            let scope = self.session.work_scope(emitter, "", None);
            let native = text_of(item, "id")
                .map_or_else(|| format!("r-{}", emitter.line_id()), str::to_owned);
            let id = id.get_or_insert_with(|| self.session.id_of(&scope.turn, &native));
            self.session
                .texts
                .done(emitter, &scope, items::part(id, true, number), &text);
        }
    }

    pub(super) fn between_agents(&mut self, emitter: &mut Emitter, item: &Value) {
        let scope = self.session.work_scope(emitter, "", None);
        let (author, recipient) = (
            str_of(item, "author").unwrap_or(""),
            str_of(item, "recipient").unwrap_or(""),
        );
        let text = content::texts_of(item.get("content")).join("\n");
        let id = text_of(item, "id").map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        let below = recipient.strip_prefix(author);
        if !author.is_empty() && below.is_some_and(|below| below.starts_with('/')) {
            // To a sub-agent, in whose file this is: its task.
            let task = task_words(&text);
            self.session.user_message(emitter, &scope, &id, &task, None);
        } else {
            self.session.callback(emitter, &scope, &id, author, &text);
        }
    }

    /// Whether `text` was not written yet, as often as `source` says it.
    pub(super) fn is_news(&mut self, source: Source, what: &str, text: &str) -> bool {
        let mut said = format!("{what}\n{}", text.trim());
        if what == "user" {
            // Several texts of a prompt stand on lines of their own in one source and run together in another.
            said.retain(|c| !c.is_whitespace());
        }
        let key = hash(said.as_bytes());
        let said = self.said.entry((key, source)).or_default();
        *said += 1;
        let written = self.written.entry(key).or_default();
        if *said <= *written {
            return false;
        }
        *written = *said;
        true
    }
}

fn without_plan(text: &str) -> String {
    let parts = text
        .split_once("<proposed_plan>")
        .and_then(|(before, rest)| Some((before, rest.rsplit_once("</proposed_plan>")?.1)));
    match parts {
        Some((before, behind)) => [before.trim_end(), behind].concat(),
        None => text.to_owned(),
    }
}

/// What stands between two tags.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.rsplit_once(close)?.0)
}
