//! Which agents there are, what they are called, and how they keep their sessions.

mod places;
mod role;

pub use places::{Holds, Place, places};
pub(super) use role::Role;

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
    /// xAI's Grok Build.
    Grok,
    /// Moonshot's Kimi Code.
    Kimi,
    /// Mistral Vibe.
    Vibe,
    /// GitHub's Copilot CLI.
    Copilot,
    /// Goose.
    Goose,
    /// OpenHands.
    OpenHands,
    /// Crush.
    Crush,
    /// Cline, in an editor or without.
    Cline,
    /// Roo Code.
    Roo,
    /// Kilo Code, as an extension of editors and, since it is made of OpenCode, as a program.
    Kilo,
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
            Agent::Grok => "Grok Build",
            Agent::Kimi => "Kimi Code",
            Agent::Vibe => "Mistral Vibe",
            Agent::Copilot => "Copilot CLI",
            Agent::Goose => "Goose",
            Agent::OpenHands => "OpenHands",
            Agent::Crush => "Crush",
            Agent::Cline => "Cline",
            Agent::Roo => "Roo Code",
            Agent::Kilo => "Kilo Code",
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
            "grok" => Some(Agent::Grok),
            "kimi" => Some(Agent::Kimi),
            "vibe" => Some(Agent::Vibe),
            "copilot" => Some(Agent::Copilot),
            "openhands" => Some(Agent::OpenHands),
            "crush" => Some(Agent::Crush),
            "goose" => Some(Agent::Goose),
            "cline" => Some(Agent::Cline),
            "roo" => Some(Agent::Roo),
            "kilo" => Some(Agent::Kilo),
            _ => None,
        }
    }

    /// How it can be told which process runs a session that lies in files (`holders`). Of a database it is always who has it
    /// open.
    pub(super) fn tells(self) -> Tells {
        match self {
            Agent::Codex | Agent::OpenCode | Agent::Goose | Agent::Crush => Tells::OpenFile,
            Agent::Claude => Tells::Processes,
            Agent::Qwen => Tells::Beside,
            Agent::Copilot => Tells::OpenBeside,
            // Its RPC mode has a program of its own beside.
            Agent::Pi => Tells::Name(&["pi", "pi-rpc"]),
            Agent::Droid => Tells::Name(&["droid"]),
            Agent::Grok => Tells::Name(&["grok"]),
            Agent::Kimi => Tells::Name(&["kimi-code"]),
            Agent::Gemini => Tells::Nothing,
            // Its store knows it of each session.
            Agent::Vibe | Agent::OpenHands => Tells::Nothing,
            // Their editor does all of it in one process, for all its windows.
            Agent::Cline | Agent::Roo | Agent::Kilo => Tells::Nothing,
        }
    }

    /// Whether its sessions are documents, each in a folder of its own (`document::List`).
    fn keeps_lists(self) -> bool {
        matches!(self, Agent::Cline | Agent::Roo | Agent::Kilo)
    }

    /// How deep below its folder its sessions lie at most, where something else lies below them: Roo Code and Kilo Code keep a
    /// repository of Git with each task, Grok Build and Kimi Code what commands printed and more,
    /// Copilot CLI copies of files that it changes.
    pub(super) fn most_depth(self) -> Option<usize> {
        match self {
            Agent::Cline | Agent::Roo | Agent::Kilo | Agent::Copilot => Some(1),
            Agent::Grok => Some(2),
            Agent::Kimi => Some(4),
            _ => None,
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
    /// It has another file open as long as it runs the session, in the session's folder.
    OpenBeside,
    /// Its processes call themselves so, and stay in the folder in which the session works.
    Name(&'static [&'static str]),
    Nothing,
}
