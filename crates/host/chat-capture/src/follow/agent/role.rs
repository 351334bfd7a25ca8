//! What a file below an agent's folder is: a session's own, a part of one, or none of theirs.

use super::Agent;

/// What a file is in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::follow) enum Role {
    /// The session's own file.
    Main,
    /// That of a sub-agent, of the session whose own file is `main`.
    Part { main: String, agent: String },
    /// What is noted of the session whose own file is `main`, and changes while it runs.
    Note { main: String },
    /// That of a sub-agent of a session that the file names.
    Loose { agent: String },
    /// A session's own file, unless it says itself that a call of another session started it.
    SaysItself,
}

impl Agent {
    /// What a file below its folder is; `None` for what is none of its sessions'. `path` is relative, its parts by `/`.
    pub(in crate::follow) fn role(self, path: &str) -> Option<Role> {
        let parts: Vec<&str> = path.split('/').collect();
        let name = parts.last()?;
        if self.keeps_lists() {
            return self.is_list(&parts).then_some(Role::Main);
        }
        if self == Agent::Kimi {
            return kimi(&parts);
        }
        if self == Agent::Copilot {
            return copilot(&parts);
        }
        if self == Agent::Droid
            && let Some(own) = path.strip_suffix(".settings.json")
        {
            let is_note = parts.len() == 2 && !name.starts_with('.');
            let main = format!("{own}.jsonl");
            return is_note.then_some(Role::Note { main });
        }
        let stem = name.strip_suffix(".jsonl");
        // As Gemini CLI wrote them at first.
        let document = || name.strip_suffix(".json").filter(|_| self == Agent::Gemini);
        let stem = stem.or_else(document).filter(|stem| !stem.is_empty())?;
        if name.starts_with('.') {
            return None;
        }
        match self {
            Agent::Claude => match (parts.as_slice(), stem.strip_prefix("agent-")) {
                // Beside the sessions: it says itself of which one it is.
                ([_, _], Some(agent)) => Some(Role::Loose {
                    agent: agent.to_owned(),
                }),
                ([_, _], None) => Some(Role::Main),
                ([project, session, "subagents", ..], Some(agent)) => Some(Role::Part {
                    main: format!("{project}/{session}.jsonl"),
                    agent: agent.to_owned(),
                }),
                _ => None,
            },
            Agent::Codex | Agent::Pi => Some(Role::Main),
            Agent::Gemini => matches!(parts.as_slice(), [_, "chats", _]).then_some(Role::Main),
            Agent::Qwen => match (parts.as_slice(), stem.strip_prefix("agent-")) {
                ([_, "chats", _] | [_, "chats", "archive", _], _) => Some(Role::Main),
                ([project, "subagents", session, _], Some(agent)) => Some(Role::Part {
                    main: format!("{project}/chats/{session}.jsonl"),
                    agent: agent.to_owned(),
                }),
                _ => None,
            },
            Agent::Droid => Some(Role::SaysItself),
            Agent::Grok => {
                matches!(parts.as_slice(), [_, _, "updates.jsonl"]).then_some(Role::Main)
            }
            Agent::OpenCode
            | Agent::Copilot
            | Agent::Vibe
            | Agent::OpenHands
            | Agent::Kimi
            | Agent::Crush
            | Agent::Goose
            | Agent::Cline
            | Agent::Roo
            | Agent::Kilo => None,
        }
    }

    fn is_list(self, parts: &[&str]) -> bool {
        match parts {
            [_, "ui_messages.json"] => true,
            [_, name] => {
                let is_session = name.ends_with(".messages.json") && !name.starts_with('.');
                is_session && self == Agent::Cline
            }
            _ => false,
        }
    }
}

/// Kimi Code keeps a folder for each session, with one for each agent in it.
fn kimi(parts: &[&str]) -> Option<Role> {
    let main = |project: &str, session: &str| format!("{project}/{session}/agents/main/wire.jsonl");
    let is_hidden = |name: &&str| name.starts_with('.');
    match *parts {
        _ if parts.iter().any(is_hidden) => None,
        [project, session, "state.json"] => Some(Role::Note {
            main: main(project, session),
        }),
        [_, _, "agents", "main", "wire.jsonl"] => Some(Role::Main),
        [project, session, "agents", agent, "wire.jsonl"] => Some(Role::Part {
            main: main(project, session),
            agent: agent.to_owned(),
        }),
        _ => None,
    }
}

/// Copilot CLI keeps a folder for each session, and its locks in one whose name begins with a dot.
fn copilot(parts: &[&str]) -> Option<Role> {
    match *parts {
        [session, _] if session.starts_with('.') => None,
        [_, "events.jsonl"] => Some(Role::Main),
        [session, "workspace.yaml"] => Some(Role::Note {
            main: format!("{session}/events.jsonl"),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_session_a_part_of_one_or_none_of_ours() {
        let role = |agent: Agent, path: &str| match agent.role(path) {
            None => "none".to_owned(),
            Some(Role::Main) => "main".to_owned(),
            Some(Role::Part { main, agent }) => format!("{agent} of {main}"),
            Some(Role::Note { main }) => format!("note of {main}"),
            Some(Role::Loose { agent }) => format!("{agent} of some"),
            Some(Role::SaysItself) => "it says".to_owned(),
        };
        for (agent, path, expected) in [
            (Agent::Claude, "p/s1.jsonl", "main"),
            (Agent::Claude, "p/agent-a1.jsonl", "a1 of some"),
            (
                Agent::Claude,
                "p/s1/subagents/agent-a1.jsonl",
                "a1 of p/s1.jsonl",
            ),
            (
                Agent::Claude,
                "p/s1/subagents/workflows/r/agent-a2.jsonl",
                "a2 of p/s1.jsonl",
            ),
            (Agent::Claude, "p/s1/subagents/agent-a1.meta.json", "none"),
            (Agent::Claude, "p/s1/tool-results/x.jsonl", "none"),
            (Agent::Claude, "s1.jsonl", "none"),
            (Agent::Codex, "2026/11/27/rollout-x.jsonl", "main"),
            (Agent::Codex, "2026/11/27/.rollout-x.jsonl", "none"),
            (Agent::Codex, "2026/11/27/rollout-x.json", "none"),
            (Agent::Gemini, "p/chats/session-1.jsonl", "main"),
            (Agent::Gemini, "p/chats/session-1.json", "main"),
            (Agent::Gemini, "p/logs.json", "none"),
            (Agent::Gemini, "p/logs/x.jsonl", "none"),
            (Agent::Qwen, "p/chats/s1.jsonl", "main"),
            (Agent::Qwen, "p/chats/s1.runtime.json", "none"),
            (Agent::Qwen, "p/chats/archive/s1.jsonl", "main"),
            (
                Agent::Qwen,
                "p/subagents/s1/agent-a1.jsonl",
                "a1 of p/chats/s1.jsonl",
            ),
            (Agent::Qwen, "p/subagents/s1/agent-a1.meta.json", "none"),
            (Agent::Qwen, "p/subagents/s1/agent-a1.jsonl.stream", "none"),
            (Agent::Qwen, "p/workflows/r1/journal.jsonl", "none"),
            (Agent::Droid, "-w/s1.jsonl", "it says"),
            (Agent::Droid, "-w/s1.settings.json", "note of -w/s1.jsonl"),
            (Agent::Droid, "-w/s1.settings.json.bak", "none"),
            (Agent::Droid, "-w/.settings.json", "none"),
            (Agent::Droid, "-w/x/s1.settings.json", "none"),
            (Agent::Grok, "%2Fw/01a/updates.jsonl", "main"),
            (Agent::Grok, "%2Fw/01a/events.jsonl", "none"),
            (Agent::Grok, "%2Fw/prompt_history.jsonl", "none"),
            (Agent::Grok, "%2Fw/01a/terminal/updates.jsonl", "none"),
            (
                Agent::Kimi,
                "wd_w_1/session_1/agents/main/wire.jsonl",
                "main",
            ),
            (
                Agent::Kimi,
                "wd_w_1/session_1/agents/agent-0/wire.jsonl",
                "agent-0 of wd_w_1/session_1/agents/main/wire.jsonl",
            ),
            (
                Agent::Kimi,
                "wd_w_1/session_1/state.json",
                "note of wd_w_1/session_1/agents/main/wire.jsonl",
            ),
            (
                Agent::Kimi,
                "wd_w_1/session_1/agents/main/wire.jsonl.bak",
                "none",
            ),
            (
                Agent::Kimi,
                "wd_w_1/session_1/agents/main/tasks/wire.jsonl",
                "none",
            ),
            (Agent::Kimi, "wd_w_1/session_1/notify/state.json", "none"),
            (Agent::Kimi, ".index-cache/scan.json", "none"),
            (Agent::Kimi, ".index-dirty/session_1/state.json", "none"),
            (Agent::Copilot, "01a/events.jsonl", "main"),
            (
                Agent::Copilot,
                "01a/workspace.yaml",
                "note of 01a/events.jsonl",
            ),
            (Agent::Copilot, "01a/session.jsonl", "none"),
            (Agent::Copilot, "01a/files/events.jsonl", "none"),
            (Agent::Copilot, ".locks/events.jsonl", "none"),
            (Agent::Copilot, ".locks/workspace.yaml", "none"),
            (Agent::Cline, "1/ui_messages.json", "main"),
            (Agent::Cline, "1/api_conversation_history.json", "none"),
            (Agent::Cline, "s1/s1.messages.json", "main"),
            (Agent::Cline, "s1/.messages.json", "none"),
            (Agent::Cline, "ui_messages.json", "none"),
            (Agent::Roo, "1/ui_messages.json", "main"),
            (Agent::Roo, "1/.ui_messages.json.new_1.tmp", "none"),
            (Agent::Roo, "1/s1.messages.json", "none"),
            (Agent::Kilo, "1/checkpoints/ui_messages.json", "none"),
        ] {
            assert_eq!(role(agent, path), expected, "{path}");
        }
    }
}
