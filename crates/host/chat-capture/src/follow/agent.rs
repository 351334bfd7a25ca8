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
    /// Goose.
    Goose,
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
            Agent::Goose => "Goose",
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
            Agent::Pi => Tells::Name("pi"),
            Agent::Droid => Tells::Name("droid"),
            Agent::Grok => Tells::Name("grok"),
            Agent::Gemini => Tells::Nothing,
            // Their editor does all of it in one process, for all its windows.
            Agent::Cline | Agent::Roo | Agent::Kilo => Tells::Nothing,
        }
    }

    /// Whether its sessions are documents, each in a folder of its own (`document::List`).
    fn keeps_lists(self) -> bool {
        matches!(self, Agent::Cline | Agent::Roo | Agent::Kilo)
    }

    /// How deep below its folder its sessions lie at most, where something else lies below them: Roo Code and Kilo Code keep a
    /// repository of Git with each task, Grok Build what commands printed and more.
    pub(super) fn most_depth(self) -> Option<usize> {
        match self {
            Agent::Cline | Agent::Roo | Agent::Kilo => Some(1),
            Agent::Grok => Some(2),
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
    /// Its processes call themselves so, and stay in the folder in which the session works.
    Name(&'static str),
    Nothing,
}
