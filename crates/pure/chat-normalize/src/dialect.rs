//! The formats that are read: what each is called, how it is told, and who reads it.
//!
//! A new dialect is a variant of [`Dialect`], a row of [`TABLE`] and a [`Normalizer`]; nothing else names dialects.

use std::fmt;

use serde_json::Value;

use crate::emit::Emitter;
use crate::reader::Context;
use crate::sandbox_agent;
use crate::sides::Router;
use crate::{
    acp, ag_ui, agent_events, anthropic, chat_events, claude, claude_like, codex, copilot, cursor,
    droid, gemini, grok, kimi, openai, opencode, openhands, pi, qwen, swe_agent,
};

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// ChatEvents, passed through.
    ChatEvents,
    /// `claude --print --output-format stream-json`.
    ClaudeStream,
    /// The files below `~/.claude/projects`.
    ClaudeTranscript,
    /// What Claude Code tells its hooks, one input a line.
    ClaudeHooks,
    /// `{event_type, event_data}` of sandbox workers.
    AgentEvents,
    /// Agent Client Protocol, one direction or both.
    Acp,
    /// AG-UI events of an agent's runs.
    AgUi,
    /// sandbox-agent's universal events.
    SandboxAgent,
    /// `codex exec --json`.
    CodexExec,
    /// The files below `~/.codex/sessions`.
    CodexRollout,
    /// The JSON-RPC of `codex app-server`, one direction or both.
    CodexAppServer,
    /// `GET /event` of an OpenCode server.
    OpenCodeEvents,
    /// `opencode run --format json`.
    OpenCodeRun,
    /// `opencode export`.
    OpenCodeExport,
    /// Events, answers, requests and messages of Anthropic's Messages API.
    AnthropicMessages,
    /// Answers, requests and messages of Chat Completions.
    OpenAiChat,
    /// Events, responses, requests and items of the Responses API.
    OpenAiResponses,
    /// `gemini -o stream-json`.
    GeminiStream,
    /// The chat files below `~/.gemini/tmp`.
    GeminiChat,
    /// `pi --mode json`.
    PiStream,
    /// The files below `~/.pi/agent/sessions`.
    PiSession,
    /// Trajectories, events and evaluation outputs of OpenHands.
    OpenHands,
    /// The `.traj` documents of SWE-agent.
    SweAgent,
    /// The events of GitHub Copilot CLI's session files.
    Copilot,
    /// The wire logs of Kimi Code.
    Kimi,
    /// `qwen -p … --output-format stream-json`.
    QwenStream,
    /// The chat files below `~/.qwen/projects`.
    QwenChat,
    /// `amp -x … --stream-json`.
    AmpStream,
    /// `droid exec --output-format stream-json`.
    DroidStream,
    /// The files below `~/.factory/sessions`.
    DroidSession,
    /// `grok -p … --format json`.
    Grok,
    /// `cursor-agent -p … --output-format stream-json`.
    CursorStream,
}

/// One dialect's rules: values in, events out by way of the emitter.
pub(crate) trait Normalizer: fmt::Debug + Send {
    /// Takes one value: a line, the data of a server-sent event, or a document (an array's items one by one).
    fn line(&mut self, emitter: &mut Emitter, value: &Value);

    /// Takes a line as it stands, where the dialect reads text; `false` where it wants values.
    fn text(&mut self, _emitter: &mut Emitter, _text: &str) -> bool {
        false
    }

    /// Nothing came for a while: what waits for the next line is told without it.
    fn rest(&mut self, _emitter: &mut Emitter) {}

    /// The source ended: what is open is closed.
    fn finish(&mut self, emitter: &mut Emitter);
}

/// What a value says of the session it stands in, where a source can go on in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming<'v> {
    /// This session begins with it, or goes on.
    Begins(&'v str),
    /// It comes before a session begins; what it calls that may be no session's name.
    Before(&'v str),
    /// Nothing else than all others.
    Untold,
}

/// How the values of a source are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A value to a line; the lines of an event stream (`data: …`) are read as well.
    Lines,
    /// One document, on one line or many. Of one that is cut off, the whole items of its list are read.
    Document,
}

/// What the end of a source says, where its own rules do not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The file is read to its end.
    OfFile,
    /// The program that wrote it is gone.
    OfStream,
    /// Nothing: a log of ChatEvents says itself when its session ends.
    Untold,
}

/// What is known of a dialect.
pub(crate) struct Row {
    pub(crate) dialect: Dialect,
    /// The word it goes by on a command line.
    word: &'static str,
    /// Its name, for people.
    name: &'static str,
    form: Form,
    /// Whether the source says when a turn is over; where it does not, a quiet period tells.
    tells_turn_end: bool,
    /// Whether a value is of this dialect: `None` no, `Some(false)` likely, `Some(true)` for sure.
    pub(crate) recognise: fn(&Value) -> Option<bool>,
    /// The session that a value of this dialect names.
    pub(crate) session_of: fn(&Value) -> Option<String>,
    pub(crate) make: fn(&Context) -> Box<dyn Normalizer>,
}

/// All dialects, in the order in which a value is asked for them: the narrow before the wide.
pub(crate) static TABLE: &[Row] = &[
    Row {
        dialect: Dialect::AgentEvents,
        word: "agent-events",
        name: "agent.* events",
        form: Form::Lines,
        tells_turn_end: false,
        recognise: |value| agent_events::is_agent_event(value).then_some(true),
        session_of: agent_events::session_of,
        make: |_| Box::new(agent_events::AgentEvents::new()),
    },
    Row {
        dialect: Dialect::Acp,
        word: "acp",
        name: "Agent Client Protocol",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: acp::is_acp,
        session_of: acp::session_of,
        make: |context| Box::new(acp::Acp::new(context.prompt.clone())),
    },
    Row {
        dialect: Dialect::AgUi,
        word: "ag-ui",
        name: "AG-UI",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: ag_ui::is_ag_ui,
        session_of: ag_ui::session_of,
        make: |context| Box::new(ag_ui::AgUi::new(context.prompt.clone())),
    },
    Row {
        dialect: Dialect::SandboxAgent,
        word: "sandbox-agent",
        name: "sandbox-agent events",
        form: Form::Lines,
        // Turns may be missing in it.
        tells_turn_end: false,
        recognise: sandbox_agent::is_universal,
        session_of: |_| None,
        make: |_| Box::new(sandbox_agent::SandboxAgent::new()),
    },
    Row {
        dialect: Dialect::Grok,
        word: "grok",
        name: "Grok CLI JSON",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: grok::is_of,
        session_of: grok::session_of,
        make: |context| Box::new(grok::Grok::new(context)),
    },
    Row {
        dialect: Dialect::DroidStream,
        word: "droid-stream",
        name: "Droid stream-json",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: droid::is_stream_line,
        session_of: |_| None,
        make: |context| Box::new(droid::DroidStream::new(context)),
    },
    Row {
        dialect: Dialect::DroidSession,
        word: "droid-session",
        name: "Droid session file",
        form: Form::Lines,
        // Older files say no end of a turn.
        tells_turn_end: false,
        recognise: droid::is_session_line,
        session_of: droid::session_of,
        make: |_| Box::new(droid::DroidSession::new()),
    },
    Row {
        dialect: Dialect::CursorStream,
        word: "cursor-stream",
        name: "Cursor stream-json",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: cursor::is_of,
        session_of: |_| None,
        make: |context| Box::new(cursor::Cursor::new(context)),
    },
    Row {
        dialect: Dialect::AmpStream,
        word: "amp-stream",
        name: "Amp stream JSON",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: claude_like::is_amp,
        session_of: |_| None,
        make: |context| Box::new(claude_like::ClaudeLike::amp(context)),
    },
    Row {
        dialect: Dialect::QwenStream,
        word: "qwen-stream",
        name: "Qwen Code stream-json",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: claude_like::is_qwen,
        session_of: |_| None,
        make: |context| Box::new(claude_like::ClaudeLike::qwen(context)),
    },
    Row {
        dialect: Dialect::QwenChat,
        word: "qwen-chat",
        name: "Qwen Code chat file",
        form: Form::Lines,
        tells_turn_end: false,
        recognise: qwen::is_of,
        session_of: |_| None,
        make: |_| Box::new(qwen::QwenChat::new()),
    },
    Row {
        dialect: Dialect::OpenCodeEvents,
        word: "opencode-events",
        name: "OpenCode event bus",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: |value| opencode::is_of(value, opencode::Shape::Event),
        session_of: opencode::session_of,
        make: |_| Box::new(opencode::OpenCodeEvents::new()),
    },
    Row {
        dialect: Dialect::OpenCodeRun,
        word: "opencode-run",
        name: "OpenCode run JSON",
        form: Form::Lines,
        tells_turn_end: false,
        recognise: |value| opencode::is_of(value, opencode::Shape::Run),
        session_of: opencode::session_of,
        make: |context| {
            Box::new(opencode::OpenCodeRun::new(
                context.prompt.clone(),
                context.cwd.clone(),
            ))
        },
    },
    Row {
        dialect: Dialect::OpenCodeExport,
        word: "opencode-export",
        name: "OpenCode export",
        form: Form::Document,
        tells_turn_end: true,
        recognise: |value| opencode::is_of(value, opencode::Shape::Export),
        session_of: opencode::session_of,
        make: |_| Box::new(opencode::OpenCodeExport::new()),
    },
    Row {
        dialect: Dialect::CodexExec,
        word: "codex-exec",
        name: "Codex exec JSON",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: |value| codex::is_exec_line(value).then_some(true),
        session_of: codex::session_of,
        make: |context| Box::new(codex::CodexExec::new(context)),
    },
    Row {
        dialect: Dialect::CodexRollout,
        word: "codex-rollout",
        name: "Codex rollout",
        form: Form::Lines,
        // Up to 0.7x neither begins nor ends are in it; where there are begins, more comes until the end.
        tells_turn_end: false,
        recognise: codex::is_rollout_line,
        session_of: codex::session_of,
        make: |_| Box::new(codex::CodexRollout::new()),
    },
    Row {
        dialect: Dialect::CodexAppServer,
        word: "codex-app-server",
        name: "Codex app-server JSON-RPC",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: codex::is_app_server_line,
        session_of: codex::session_of,
        make: |_| Box::new(codex::CodexAppServer::new()),
    },
    Row {
        dialect: Dialect::GeminiStream,
        word: "gemini-stream",
        name: "Gemini CLI stream-json",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: gemini::is_stream_line,
        session_of: |_| None,
        make: |context| Box::new(gemini::GeminiStream::new(context)),
    },
    Row {
        dialect: Dialect::GeminiChat,
        word: "gemini-chat",
        name: "Gemini CLI chat file",
        form: Form::Document,
        tells_turn_end: false,
        recognise: gemini::is_chat_value,
        session_of: gemini::chat_session_of,
        make: |_| Box::new(gemini::GeminiChat::new()),
    },
    Row {
        dialect: Dialect::PiStream,
        word: "pi-json",
        name: "Pi JSON",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: pi::is_stream_line,
        session_of: pi::session_of,
        make: |context| Box::new(pi::PiStream::new(context.prompt.clone())),
    },
    Row {
        dialect: Dialect::PiSession,
        word: "pi-session",
        name: "Pi session file",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: pi::is_session_line,
        session_of: pi::session_of,
        make: |_| Box::new(pi::PiSession::new()),
    },
    Row {
        dialect: Dialect::OpenHands,
        word: "openhands",
        name: "OpenHands",
        form: Form::Document,
        tells_turn_end: false,
        recognise: openhands::is_of,
        session_of: openhands::session_of,
        make: |_| Box::new(openhands::OpenHands::new()),
    },
    Row {
        dialect: Dialect::SweAgent,
        word: "swe-agent",
        name: "SWE-agent trajectory",
        form: Form::Document,
        tells_turn_end: false,
        recognise: swe_agent::is_of,
        session_of: |_| None,
        make: |_| Box::new(swe_agent::SweAgent::new()),
    },
    Row {
        dialect: Dialect::Copilot,
        word: "copilot",
        name: "Copilot CLI events",
        form: Form::Lines,
        recognise: copilot::is_of,
        session_of: copilot::session_of,
        make: |_| Box::new(copilot::Copilot::new()),
        tells_turn_end: false,
    },
    Row {
        dialect: Dialect::Kimi,
        word: "kimi",
        name: "Kimi Code wire log",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: kimi::is_of,
        session_of: |_| None,
        make: |_| Box::new(kimi::Kimi::new()),
    },
    Row {
        dialect: Dialect::ChatEvents,
        word: "chat-events",
        name: "ChatEvent JSONL",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: chat_events::is_chat_event,
        session_of: |_| None,
        make: |context| Box::new(chat_events::ChatEvents::new(context.session_id.is_some())),
    },
    Row {
        dialect: Dialect::ClaudeHooks,
        word: "claude-hooks",
        name: "Claude Code hook input",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: claude::is_hook_input,
        session_of: |_| None,
        make: |_| Box::new(claude::ClaudeHooks::new()),
    },
    Row {
        dialect: Dialect::ClaudeStream,
        word: "claude-stream",
        name: "Claude Code stream-json",
        form: Form::Lines,
        tells_turn_end: true,
        recognise: claude::is_stream_line,
        session_of: |_| None,
        make: |context| Box::new(claude::ClaudeStream::new(context.prompt.clone())),
    },
    Row {
        dialect: Dialect::ClaudeTranscript,
        word: "claude-transcript",
        name: "Claude Code transcript",
        form: Form::Lines,
        tells_turn_end: false,
        recognise: claude::is_transcript_line,
        session_of: |_| None,
        make: |_| Box::new(claude::ClaudeTranscript::new()),
    },
    Row {
        dialect: Dialect::AnthropicMessages,
        word: "anthropic-messages",
        name: "Anthropic Messages",
        form: Form::Document,
        tells_turn_end: true,
        recognise: anthropic::is_of,
        session_of: anthropic::session_of,
        make: |context| Box::new(anthropic::AnthropicMessages::new(context.prompt.clone())),
    },
    Row {
        dialect: Dialect::OpenAiChat,
        word: "openai-chat",
        name: "OpenAI Chat Completions",
        form: Form::Document,
        tells_turn_end: true,
        recognise: openai::is_chat,
        session_of: openai::chat_session,
        make: |context| Box::new(openai::OpenAiChat::new(context.prompt.clone())),
    },
    Row {
        dialect: Dialect::OpenAiResponses,
        word: "openai-responses",
        name: "OpenAI Responses",
        form: Form::Document,
        tells_turn_end: true,
        recognise: openai::is_responses,
        session_of: openai::responses_session,
        make: |context| Box::new(openai::OpenAiResponses::new(context.prompt.clone())),
    },
];

impl Dialect {
    /// All of them.
    ///
    /// ```
    /// use chat_normalize::Dialect;
    /// assert!(Dialect::all().any(|dialect| dialect.word() == "codex-exec"));
    /// ```
    pub fn all() -> impl Iterator<Item = Dialect> {
        TABLE.iter().map(|row| row.dialect)
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The word it goes by on a command line: `claude-stream`.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// The dialect that goes by `word`.
    pub fn from_word(word: &str) -> Option<Dialect> {
        let row = TABLE.iter().find(|row| row.word == word)?;
        Some(row.dialect)
    }

    /// Whether it is what one run of a program prints. A file that is read again while it grows is the same each time.
    pub(crate) fn is_of_a_run(self) -> bool {
        matches!(
            self,
            Dialect::ClaudeStream
                | Dialect::CodexExec
                | Dialect::CodexAppServer
                | Dialect::OpenCodeRun
                | Dialect::GeminiStream
                | Dialect::PiStream
                | Dialect::Acp
                | Dialect::QwenStream
                | Dialect::AmpStream
                | Dialect::DroidStream
                | Dialect::Grok
                | Dialect::CursorStream
        )
    }

    /// What a value of it says of the session it stands in.
    pub(crate) fn naming(self, value: &Value) -> Naming<'_> {
        match self {
            Dialect::ClaudeStream => claude::naming(value),
            _ => Naming::Untold,
        }
    }

    /// Who tells apart the sessions that a source of it carries side by side; `None` where that is one at a time.
    pub(crate) fn router(self) -> Option<Box<dyn Router>> {
        match self {
            Dialect::Acp => Some(Box::<acp::AcpSessions>::default()),
            Dialect::CodexAppServer => Some(Box::<codex::Threads>::default()),
            Dialect::OpenCodeEvents => Some(Box::<opencode::BusSessions>::default()),
            _ => None,
        }
    }

    /// What its end says.
    pub(crate) fn ending(self) -> Ending {
        match self {
            Dialect::ChatEvents => Ending::Untold,
            Dialect::OpenCodeEvents => Ending::OfStream,
            _ if self.is_of_a_run() => Ending::OfStream,
            _ => Ending::OfFile,
        }
    }

    /// Whether the source says when a turn is over. Where it does not, [`SessionReader::quiet`](crate::SessionReader::quiet)
    /// takes a quiet period for the end.
    pub fn tells_turn_end(self) -> bool {
        self.row().tells_turn_end
    }

    /// Whether a call's edits may be told apart from its result, after other events.
    pub(crate) fn tells_edits_late(self) -> bool {
        matches!(
            self,
            Dialect::AgentEvents
                | Dialect::SandboxAgent
                | Dialect::OpenCodeEvents
                | Dialect::OpenCodeRun
                | Dialect::OpenCodeExport
                | Dialect::CodexExec
                | Dialect::CodexRollout
                | Dialect::CodexAppServer
        )
    }

    pub(crate) fn form(self) -> Form {
        self.row().form
    }

    pub(crate) fn row(self) -> &'static Row {
        // Every dialect has a row (a test holds it).
        let row = TABLE.iter().find(|row| row.dialect == self);
        row.unwrap_or(&TABLE[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_one_row_and_a_word_of_its_own() {
        for row in TABLE {
            assert_eq!(row.dialect.word(), row.word, "{:?}", row.dialect);
            assert_eq!(Dialect::from_word(row.word), Some(row.dialect));
            let same_name = TABLE.iter().filter(|other| other.name == row.name);
            assert_eq!(same_name.count(), 1, "{}", row.name);
        }
    }
}
