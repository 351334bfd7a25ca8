//! Lines that are no part of a turn: what the session is, how it is set, where it was set back.

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::{FORMAT, Kimi};
use crate::emit::Emitter;
use crate::value::{str_of, text_of};

/// The program's own accounts, which say nothing that is not said elsewhere; their kinds begin so.
const PLUMBING: [&str; 24] = [
    "agent.",
    "context.undone",
    "cron.",
    "file_history.",
    "forked",
    "full_compaction.",
    "interruptionReminder.",
    "llm.",
    "mcp.",
    "plan.revision",
    "plugin.",
    "prompt.",
    "runtime.",
    "staleGuard.",
    "subagent.",
    "task.",
    "token_counting.",
    "tools.register_user_tool",
    "tools.reset_active_tools",
    "tools.unregister_user_tool",
    "tools.update_store",
    "tower_mode.",
    "turn.step.",
    "usage.record",
];

impl Kimi {
    /// A line of this kind, where it is one of these.
    pub(super) fn aside(&mut self, emitter: &mut Emitter, kind: &str, line: &Value) {
        let place = self.track.place();
        let notice = match kind {
            "metadata" => {
                self.turns.tells_ends |= text_of(line, "protocol_version").is_some_and(tells_ends);
                return self.facts(emitter, line);
            }
            "config.update" | "profile.bind" | "tools.set_active_tools" | "permission.set_mode" => {
                return self.facts(emitter, line);
            }
            "context.clear" => {
                return emitter.cleared(self.turns.leave_all());
            }
            "llm.request" => return self.requested(emitter, line),
            "plan_mode.enter" => "Plan mode began".to_owned(),
            "plan_mode.exit" | "plan_mode.cancel" => "Plan mode ended".to_owned(),
            "swarm_mode.enter" => "Swarm mode began".to_owned(),
            "swarm_mode.exit" => "Swarm mode ended".to_owned(),
            "goal.create" => format!("Goal: {}", str_of(line, "objective").unwrap_or("")),
            "goal.update" => match (text_of(line, "status"), text_of(line, "reason")) {
                (Some(status), Some(reason)) => format!("The goal is {status}: {reason}"),
                (Some(status), None) => format!("The goal is {status}"),
                (None, _) => return emitter.pass_over(kind),
            },
            "goal.clear" => "The goal was dropped".to_owned(),
            _ if PLUMBING.iter().any(|start| kind.starts_with(start)) => {
                return emitter.pass_over(kind);
            }
            _ => return emitter.raw(&place, FORMAT, kind, line),
        };
        emitter.notice("info", &place, "kimi", notice);
    }

    /// Whether the model is asked once more, as `2/10` says.
    fn asks_again(&self, emitter: &mut Emitter, attempt: Option<&str>) -> bool {
        let again = attempt.and_then(|attempt| attempt.split_once('/'));
        let Some((nth, of)) = again.filter(|(nth, _)| *nth != "1") else {
            return false;
        };
        if self.track.turn_id().is_some() {
            let text = format!("attempt {nth} of {of}");
            emitter.retrying(&self.track.place(), Some(text));
        }
        true
    }

    /// `llm.request`: it alone has the name of the model that is asked.
    fn requested(&mut self, emitter: &mut Emitter, line: &Value) {
        if str_of(line, "kind").is_none_or(|kind| kind == "loop")
            && let Some(model) = text_of(line, "model")
        {
            self.named.model = Some(model.to_owned());
            let facts = SessionStart {
                model: Some(model.to_owned()),
                ..self.who()
            };
            self.track.facts.say(emitter, facts, Map::new());
        }
        if !self.asks_again(emitter, text_of(line, "attempt")) {
            emitter.pass_over("llm.request");
        }
    }

    fn who(&self) -> SessionStart {
        SessionStart {
            agent: Some("Kimi Code".to_owned()),
            native_id: self.native_id.clone(),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        }
    }

    fn facts(&mut self, emitter: &mut Emitter, line: &Value) {
        let disclosed = line.get("environmentDisclosure").unwrap_or(&Value::Null);
        let cwd = text_of(line, "cwd").or_else(|| text_of(disclosed, "cwd"));
        let tools = line.get("names").or_else(|| line.get("activeToolNames"));
        let facts = SessionStart {
            model: self.named.alias(text_of(line, "modelAlias")),
            cwd: cwd.map(str::to_owned),
            tools: tools.filter(|tools| tools.is_array()).map(Into::into),
            ..self.who()
        };
        let told = [
            ("permissionMode", text_of(line, "mode")),
            ("thinkingLevel", text_of(line, "thinkingEffort")),
        ];
        let told = told.into_iter();
        let told = told.filter_map(|(name, said)| Some((name.to_owned(), Value::from(said?))));
        let rest: Map<String, Value> = told.collect();
        self.track.facts.say(emitter, facts, rest);
    }
}

/// What the model is called.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// As the user's settings name it.
    alias: Option<String>,
    /// As its provider does, once it was asked.
    model: Option<String>,
}

impl Named {
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The model by the name that the settings have for it, where nothing better is known of that.
    fn alias(&mut self, alias: Option<&str>) -> Option<String> {
        // It stands for what the environment names.
        let alias = alias.filter(|alias| *alias != "__kimi_env_model__")?;
        if self.alias.as_deref() == Some(alias) {
            return None;
        }
        self.alias = Some(alias.to_owned());
        self.model = None;
        self.alias.clone()
    }
}

/// Whether the lines of this version say when a turn is over: since 1.5.
fn tells_ends(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let mut next = || -> u32 { numbers.next().and_then(Result::ok).unwrap_or(0) };
    (next(), next()) >= (1, 5)
}
