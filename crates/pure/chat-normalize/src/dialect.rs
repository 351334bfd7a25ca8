//! The formats that are read, in the order in which a value is asked for them.
//!
//! A new format is a line of the list below and a module of its own, with a [`Profile`] and a [`Normalizer`]: what it is
//! called, how it is told and who reads it stands there. What a profile holds is in `profile`, what the reader of a
//! format has to do in `normalizer`; nothing else names formats.

mod normalizer;
mod profile;

pub(crate) use normalizer::Normalizer;
pub(crate) use profile::{Form, Naming, Origin, Profile, Sessions};

use serde_json::Value;

use crate::sides::Router;
use crate::{
    acp, ag_ui, agent_events, anthropic, chat_events, claude, claude_like, cline, codex, copilot,
    crush, cursor, droid, gemini, goose, grok, grok_build, kimi, mini_swe_agent, openai, opencode,
    openhands, pi, qwen, sandbox_agent, swe_agent, vibe,
};

/// Makes [`Dialect`] of one list, so that none lacks a profile or a place in the order.
macro_rules! dialects {
    ($($(#[$doc:meta])* $dialect:ident = $profile:path,)*) => {
        /// The formats that are read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Dialect {
            $($(#[$doc])* $dialect,)*
        }

        const IN_ORDER: &[Dialect] = &[$(Dialect::$dialect,)*];

        impl Dialect {
            /// What is known of it.
            pub(crate) fn profile(self) -> &'static Profile {
                match self {
                    $(Dialect::$dialect => &$profile,)*
                }
            }
        }
    };
}

// The narrow stand before the wide: the first that takes a value has it.
dialects! {
    /// `{event_type, event_data}` of sandbox workers.
    AgentEvents = agent_events::PROFILE,
    /// Agent Client Protocol, one direction or both.
    Acp = acp::PROFILE,
    /// AG-UI events of an agent's runs.
    AgUi = ag_ui::PROFILE,
    /// sandbox-agent's universal events.
    SandboxAgent = sandbox_agent::PROFILE,
    /// The messages that a task of Cline, Roo Code or Kilo Code shows.
    ClineTask = cline::TASK,
    /// The files below `~/.cline/data/sessions`.
    ClineSession = cline::SESSION,
    /// `cline --json`.
    ClineStream = cline::STREAM,
    /// `goose session export`, `goose run --output-format json`, and the files of versions before 1.10.
    GooseSession = goose::SESSION,
    /// `goose run --output-format stream-json`.
    GooseStream = goose::STREAM,
    /// `crush session show ID --json`.
    CrushSession = crush::SESSION,
    /// Rows of Crush's database.
    CrushRows = crush::ROWS,
    /// `grok -p … --format json`.
    Grok = grok::PROFILE,
    /// The files below `~/.grok/sessions` of xAI's program.
    GrokBuild = grok_build::PROFILE,
    /// The records of a session below `~/.vibe/logs/session/unified`.
    VibeSession = vibe::SESSION,
    /// `vibe -p … --output streaming`, or `json`.
    VibeStream = vibe::STREAM,
    /// `droid exec --output-format stream-json`.
    DroidStream = droid::STREAM,
    /// The files below `~/.factory/sessions`.
    DroidSession = droid::SESSION,
    /// `cursor-agent -p … --output-format stream-json`.
    CursorStream = cursor::PROFILE,
    /// `amp -x … --stream-json`.
    AmpStream = claude_like::AMP,
    /// `qwen -p … --output-format stream-json`.
    QwenStream = claude_like::QWEN,
    /// The chat files below `~/.qwen/projects`.
    QwenChat = qwen::PROFILE,
    /// The `.traj.json` documents of mini-swe-agent.
    MiniSweAgent = mini_swe_agent::PROFILE,
    /// `GET /event` of an OpenCode server.
    OpenCodeEvents = opencode::EVENTS,
    /// `opencode run --format json`.
    OpenCodeRun = opencode::RUN,
    /// `opencode export`.
    OpenCodeExport = opencode::EXPORT,
    /// `codex exec --json`.
    CodexExec = codex::EXEC,
    /// The files below `~/.codex/sessions`.
    CodexRollout = codex::ROLLOUT,
    /// The JSON-RPC of `codex app-server`, one direction or both.
    CodexAppServer = codex::APP_SERVER,
    /// `gemini -o stream-json`.
    GeminiStream = gemini::STREAM,
    /// The chat files below `~/.gemini/tmp`.
    GeminiChat = gemini::CHAT,
    /// `pi --mode json`.
    PiStream = pi::STREAM,
    /// The files below `~/.pi/agent/sessions`.
    PiSession = pi::SESSION,
    /// Trajectories, events and evaluation outputs of OpenHands.
    OpenHands = openhands::PROFILE,
    /// The `.traj` documents of SWE-agent.
    SweAgent = swe_agent::PROFILE,
    /// The events of GitHub Copilot CLI's session files.
    Copilot = copilot::PROFILE,
    /// `kimi -p … --output-format stream-json`.
    KimiStream = kimi::STREAM,
    /// The wire logs of Kimi Code.
    Kimi = kimi::PROFILE,
    /// ChatEvents, passed through.
    ChatEvents = chat_events::PROFILE,
    /// What Claude Code tells its hooks, one input a line.
    ClaudeHooks = claude::HOOKS,
    /// `claude --print --output-format stream-json`.
    ClaudeStream = claude::STREAM,
    /// The files below `~/.claude/projects`.
    ClaudeTranscript = claude::TRANSCRIPT,
    /// Events, answers, requests and messages of Anthropic's Messages API.
    AnthropicMessages = anthropic::PROFILE,
    /// Answers, requests and messages of Chat Completions.
    OpenAiChat = openai::CHAT,
    /// Events, responses, requests and items of the Responses API.
    OpenAiResponses = openai::RESPONSES,
}

impl Dialect {
    /// All of them.
    ///
    /// ```
    /// use chat_normalize::Dialect;
    /// assert!(Dialect::all().any(|dialect| dialect.word() == "codex-exec"));
    /// ```
    pub fn all() -> impl Iterator<Item = Dialect> {
        IN_ORDER.iter().copied()
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        self.profile().name
    }

    /// The word it goes by on a command line: `claude-stream`.
    pub fn word(self) -> &'static str {
        self.profile().word
    }

    /// The dialect that goes by `word`.
    pub fn from_word(word: &str) -> Option<Dialect> {
        Dialect::all().find(|dialect| dialect.word() == word)
    }

    /// Whether the source says when a turn is over. Where it does not, a quiet period is taken for the end.
    pub(crate) fn tells_turn_end(self) -> bool {
        self.profile().tells_turn_end
    }

    pub(crate) fn form(self) -> Form {
        self.profile().form
    }

    /// What a value of it says of the session it stands in.
    pub(crate) fn naming(self, value: &Value) -> Naming<'_> {
        match self.profile().sessions {
            Sessions::InTurn(naming) => naming(value),
            Sessions::One | Sessions::NamedLate | Sessions::SideBySide(_) => Naming::Untold,
        }
    }

    /// Who tells apart the sessions that a source of it carries side by side; `None` where that is one at a time.
    pub(crate) fn router(self) -> Option<Box<dyn Router>> {
        match self.profile().sessions {
            Sessions::SideBySide(make) => Some(make()),
            Sessions::One | Sessions::NamedLate | Sessions::InTurn(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_a_word_and_a_name_of_its_own() {
        for dialect in Dialect::all() {
            assert_eq!(Dialect::from_word(dialect.word()), Some(dialect));
            let same_name = Dialect::all().filter(|other| other.name() == dialect.name());
            assert_eq!(same_name.count(), 1, "{}", dialect.name());
        }
    }
}
