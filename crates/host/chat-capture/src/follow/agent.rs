//! Which agents keep sessions on this machine, and where: their own settings count, else their home folders.
//!
//! Seen: Claude Code 1.0 to 2.1.330, Codex 0.77 to 0.169, Gemini CLI 0.61, Pi; `formats.md` 2, 4.3, 5.5 and 10.2; Qwen Code
//! 0.24, with its source since 0.5. Droid's folder is after public readers of it, of 2025 and 2026.

use std::ffi::OsString;
use std::path::PathBuf;

/// An agent whose sessions are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// OpenCode.
    OpenCode,
    /// Gemini CLI.
    Gemini,
    /// Pi.
    Pi,
    /// Qwen Code.
    Qwen,
    /// Factory's Droid.
    Droid,
}

impl Agent {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Agent::Claude => "Claude Code",
            Agent::Codex => "Codex",
            Agent::OpenCode => "OpenCode",
            Agent::Gemini => "Gemini CLI",
            Agent::Pi => "Pi",
            Agent::Qwen => "Qwen Code",
            Agent::Droid => "Droid",
        }
    }

    /// The agent that a user means by its program's name.
    pub fn from_word(word: &str) -> Option<Agent> {
        match word {
            "claude" => Some(Agent::Claude),
            "codex" => Some(Agent::Codex),
            "opencode" => Some(Agent::OpenCode),
            "gemini" => Some(Agent::Gemini),
            "pi" => Some(Agent::Pi),
            "qwen" => Some(Agent::Qwen),
            "droid" => Some(Agent::Droid),
            _ => None,
        }
    }

    /// How it can be told which process runs a session (`holders`).
    pub(super) fn tells(self) -> Tells {
        match self {
            Agent::Codex | Agent::OpenCode => Tells::OpenFile,
            Agent::Claude => Tells::Processes,
            Agent::Qwen => Tells::Beside,
            Agent::Pi => Tells::Name("pi"),
            Agent::Droid => Tells::Name("droid"),
            Agent::Gemini => Tells::Nothing,
        }
    }

    /// What a file below its folder is; `None` for what is none of its sessions'. `path` is relative, its parts by `/`.
    pub(super) fn role(self, path: &str) -> Option<Role> {
        let parts: Vec<&str> = path.split('/').collect();
        let name = parts.last()?;
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
            Agent::OpenCode => None,
        }
    }
}

/// How an agent tells which process runs a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// It has the session's file open as long as it runs.
    OpenFile,
    /// It keeps a file for each of its processes (`running`).
    Processes,
    /// It keeps a file beside each session that says which process runs it (`running`).
    Beside,
    /// Its processes call themselves so, and stay in the folder in which the session works.
    Name(&'static str),
    Nothing,
}

/// What a file is in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The session's own file.
    Main,
    /// That of a sub-agent, of the session whose own file is `main`.
    Part { main: String, agent: String },
    /// That of a sub-agent of a session that the file names.
    Loose { agent: String },
    /// A session's own file, unless it says itself that a call of another session started it.
    SaysItself,
}

/// A folder in which an agent keeps its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose it is.
    pub agent: Agent,
    /// Where it is, whether it is there or not.
    pub folder: PathBuf,
}

/// The folders of all agents, by the environment.
///
/// ```
/// use chat_capture::{Agent, places};
/// let env = |name: &str| (name == "HOME").then(|| "/home/me".into());
/// let places = places(&env);
/// assert_eq!(places[0].agent, Agent::Claude);
/// assert_eq!(places[0].folder.to_str(), Some("/home/me/.claude/projects"));
/// ```
pub fn places(env: &dyn Fn(&str) -> Option<OsString>) -> Vec<Place> {
    let folder = |name: &str| {
        let path = env(name).map(PathBuf::from);
        path.filter(|path| !path.as_os_str().is_empty())
    };
    let home = folder("HOME").or_else(|| folder("USERPROFILE"));
    let at_home = |path: &str| home.as_ref().map(|home| home.join(path));
    // OpenCode keeps to XDG on every system.
    let data = folder("XDG_DATA_HOME").or_else(|| at_home(".local/share"));
    let qwen = folder("QWEN_RUNTIME_DIR")
        .or_else(|| folder("QWEN_HOME"))
        .or_else(|| at_home(".qwen"));
    let all = [
        (
            Agent::Claude,
            folder("CLAUDE_CONFIG_DIR")
                .or_else(|| at_home(".claude"))
                .map(|claude| claude.join("projects")),
        ),
        (
            Agent::Codex,
            folder("CODEX_HOME")
                .or_else(|| at_home(".codex"))
                .map(|codex| codex.join("sessions")),
        ),
        (Agent::OpenCode, data.map(|data| data.join("opencode"))),
        (
            Agent::Gemini,
            folder("GEMINI_CLI_HOME")
                .or_else(|| home.clone())
                .map(|home| home.join(".gemini/tmp")),
        ),
        (
            Agent::Pi,
            folder("PI_CODING_AGENT_DIR")
                .or_else(|| at_home(".pi/agent"))
                .map(|pi| pi.join("sessions")),
        ),
        (Agent::Qwen, qwen.as_ref().map(|qwen| qwen.join("projects"))),
        // Where it kept them at first.
        (Agent::Qwen, qwen.as_ref().map(|qwen| qwen.join("tmp"))),
        (
            Agent::Droid,
            folder("FACTORY_HOME_OVERRIDE")
                .or_else(|| home.clone())
                .map(|home| home.join(".factory/sessions")),
        ),
    ];
    let there = all.into_iter();
    there
        .filter_map(|(agent, folder)| {
            Some(Place {
                agent,
                folder: folder?,
            })
        })
        .collect()
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
            (Agent::Droid, "-w/s1.settings.json", "none"),
        ] {
            assert_eq!(role(agent, path), expected, "{path}");
        }
    }

    #[test]
    fn what_an_agent_is_told_of_its_folder_counts() {
        let env = |name: &str| match name {
            "HOME" => Some("/h".into()),
            "CLAUDE_CONFIG_DIR" => Some("/c".into()),
            "CODEX_HOME" => Some("".into()),
            "XDG_DATA_HOME" => Some("/d".into()),
            _ => None,
        };
        let places = places(&env);
        let folders: Vec<_> = places.iter().filter_map(|it| it.folder.to_str()).collect();
        assert_eq!(
            folders,
            [
                "/c/projects",
                "/h/.codex/sessions",
                "/d/opencode",
                "/h/.gemini/tmp",
                "/h/.pi/agent/sessions",
                "/h/.qwen/projects",
                "/h/.qwen/tmp",
                "/h/.factory/sessions"
            ]
        );
        // These name the home folder, in which the agent's own is.
        let moved = |set: &'static [&'static str]| {
            let env = |name: &str| set.contains(&name).then(|| format!("/{name}").into());
            let mut moved = super::places(&env);
            moved.retain(|it| {
                set.iter()
                    .any(|name| it.folder.starts_with(format!("/{name}")))
            });
            let folders = moved.iter().filter_map(|it| it.folder.to_str());
            folders.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            moved(&["GEMINI_CLI_HOME", "QWEN_HOME", "FACTORY_HOME_OVERRIDE"]),
            [
                "/GEMINI_CLI_HOME/.gemini/tmp",
                "/QWEN_HOME/projects",
                "/QWEN_HOME/tmp",
                "/FACTORY_HOME_OVERRIDE/.factory/sessions"
            ]
        );
        assert_eq!(
            moved(&["QWEN_HOME", "QWEN_RUNTIME_DIR"]),
            ["/QWEN_RUNTIME_DIR/projects", "/QWEN_RUNTIME_DIR/tmp"]
        );
    }
}
