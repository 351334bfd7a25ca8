//! Lines that are no part of a turn: what the session is, how it is set, where it was set back.

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::{FORMAT, Kimi};
use crate::emit::Emitter;
use crate::value::{count_of, str_of, text_of};

/// The program's own accounts, which say nothing that is not said elsewhere; their kinds begin so.
const PLUMBING: [&str; 24] = [
    "agent.",
    "context.append_message",
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
                self.tells_ends |= text_of(line, "protocol_version").is_some_and(tells_ends);
                return self.facts(emitter, line);
            }
            "config.update" | "profile.bind" | "tools.set_active_tools" | "permission.set_mode" => {
                return self.facts(emitter, line);
            }
            "context.undo" => {
                let n_turns = count_of(line, "count").unwrap_or(1);
                let n_turns = usize::try_from(n_turns).unwrap_or(usize::MAX);
                let left = self.standing.leave(n_turns);
                return emitter.went_back(n_turns, left);
            }
            "context.clear" => {
                return emitter.cleared(self.standing.leave(usize::MAX));
            }
            "llm.request" if self.asks_again(emitter, text_of(line, "attempt")) => return,
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

    fn facts(&mut self, emitter: &mut Emitter, line: &Value) {
        let disclosed = line.get("environmentDisclosure").unwrap_or(&Value::Null);
        let cwd = text_of(line, "cwd").or_else(|| text_of(disclosed, "cwd"));
        let tools = line.get("names").or_else(|| line.get("activeToolNames"));
        let facts = SessionStart {
            agent: Some("Kimi Code".to_owned()),
            provider: Some("kimi".to_owned()),
            model: text_of(line, "modelAlias").map(str::to_owned),
            cwd: cwd.map(str::to_owned),
            tools: tools.filter(|tools| tools.is_array()).map(Into::into),
            ..SessionStart::default()
        };
        let mode = text_of(line, "mode");
        let mode = mode.map(|mode| ("permissionMode".to_owned(), Value::from(mode)));
        let rest: Map<String, Value> = mode.into_iter().collect();
        self.track.facts.say(emitter, facts, rest);
    }
}

/// Whether the lines of this version say when a turn is over: since 1.5.
fn tells_ends(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let mut next = || -> u32 { numbers.next().and_then(Result::ok).unwrap_or(0) };
    (next(), next()) >= (1, 5)
}
