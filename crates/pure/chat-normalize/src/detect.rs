//! Which dialect a source speaks, from the structure of its first lines.
//!
//! Keys are looked for, never prefixes: their order differs from version to version. The tests follow the table in the
//! project's notes on formats, checked against Claude Code 1.0.128 to 2.1.330.

use std::fmt;

use chat_event::Payload;
use chat_event::jsonl::{LineContent, LineSplitter};
use serde_json::Value;

use crate::opencode::{Shape, shape};
use crate::value::{event_data, parse_document, parse_line, str_of};

/// How much of a source is looked at before it is called no session.
pub const HEAD_BYTES: usize = 64 * 1024;

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// ChatEvents, passed through.
    ChatEvents,
    /// `claude --print --output-format stream-json`.
    ClaudeStream,
    /// The files below `~/.claude/projects`.
    ClaudeTranscript,
    /// `{event_type, event_data}` of sandbox workers.
    AgentEvents,
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
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 10] = [
        Dialect::ChatEvents,
        Dialect::ClaudeStream,
        Dialect::ClaudeTranscript,
        Dialect::AgentEvents,
        Dialect::OpenCodeEvents,
        Dialect::OpenCodeRun,
        Dialect::OpenCodeExport,
        Dialect::CodexExec,
        Dialect::CodexRollout,
        Dialect::CodexAppServer,
    ];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::ChatEvents => "ChatEvent JSONL",
            Dialect::ClaudeStream => "Claude Code stream-json",
            Dialect::ClaudeTranscript => "Claude Code transcript",
            Dialect::AgentEvents => "agent.* events",
            Dialect::CodexExec => "Codex exec JSON",
            Dialect::CodexRollout => "Codex rollout",
            Dialect::CodexAppServer => "Codex app-server JSON-RPC",
            Dialect::OpenCodeEvents => "OpenCode event bus",
            Dialect::OpenCodeRun => "OpenCode run JSON",
            Dialect::OpenCodeExport => "OpenCode export",
        }
    }
}

/// Why a source is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotASession {
    /// The line that shows it, from 1.
    pub line: u64,
    /// What that line is.
    pub found: String,
}

impl fmt::Display for NotASession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not a session log: line {} is {}; formats read are ",
            self.line, self.found
        )?;
        for (at, dialect) in Dialect::ALL.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            f.write_str(dialect.name())?;
        }
        Ok(())
    }
}

impl std::error::Error for NotASession {}

/// What the first bytes tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detection {
    /// This is the dialect.
    Found(Dialect),
    /// More bytes are needed to say.
    NeedMore,
    /// It is none.
    None(NotASession),
}

/// Tells the dialect from the first bytes of a source; `at_end` where there are no more.
///
/// ```
/// use chat_normalize::{Detection, Dialect, detect};
/// let head = b"a warning\n{\"uuid\":\"u\",\"session_id\":\"s\",\"subtype\":\"init\",\"type\":\"system\"}\n";
/// assert_eq!(detect(head, false), Detection::Found(Dialect::ClaudeStream));
/// ```
pub fn detect(head: &[u8], at_end: bool) -> Detection {
    let mut detector = Detector::default();
    let mut found = None;
    let mut splitter = LineSplitter::new();
    let mut take = |line: chat_event::jsonl::Line<'_>| {
        if found.is_none() {
            found = match line.content {
                LineContent::Bytes(bytes) => {
                    detector.line(line.number, &String::from_utf8_lossy(bytes))
                }
                LineContent::Zeros | LineContent::TooLong => {
                    detector.other(line.number, "no text");
                    None
                }
            };
        }
    };
    splitter.push(head, &mut take);
    if at_end {
        splitter.finish(&mut take);
    }
    match found.or_else(|| at_end.then(|| detector.at_end()).flatten()) {
        Some(dialect) => Detection::Found(dialect),
        None if at_end || detector.gave_up() => Detection::None(detector.not_a_session()),
        None => Detection::NeedMore,
    }
}

/// Looks at lines one by one until one is decisive.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    bytes: usize,
    weak: Option<Dialect>,
    first: Option<NotASession>,
    /// A value that began in the first line and is not whole: a pretty-printed document.
    document: Option<String>,
}

/// A document that is printed over several lines is put together up to this size.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

impl Detector {
    /// Takes the next line; the dialect, once it is sure.
    pub(crate) fn line(&mut self, number: u64, text: &str) -> Option<Dialect> {
        self.bytes += text.len() + 1;
        if let Some(document) = &mut self.document {
            document.push('\n');
            document.push_str(text);
        }
        let trimmed = event_data(text).unwrap_or(text.trim_start());
        if trimmed.is_empty() {
            return None;
        }
        let parsed = parse_line(trimmed);
        for value in &parsed.values {
            match verdict(value) {
                Some((dialect, true)) => return Some(dialect),
                Some((dialect, false)) => self.weak = self.weak.or(Some(dialect)),
                None => {}
            }
        }
        if self.first.is_none() {
            let found = match parsed.values.first() {
                Some(value) => describe(value),
                None if parsed.cut_off => {
                    "the beginning of a JSON value that does not end".to_owned()
                }
                None if trimmed.starts_with(['{', '[']) => "broken JSON".to_owned(),
                None => "plain text".to_owned(),
            };
            self.first = Some(NotASession {
                line: number,
                found,
            });
            if parsed.cut_off && parsed.values.is_empty() && trimmed.starts_with(['{', '[']) {
                self.document = Some(text.to_owned());
            }
        }
        None
    }

    /// Takes a line that is no text.
    pub(crate) fn other(&mut self, number: u64, found: &str) {
        self.bytes += 1;
        if self.first.is_none() {
            self.first = Some(NotASession {
                line: number,
                found: found.to_owned(),
            });
        }
    }

    /// The dialect where nothing decisive came to the end.
    pub(crate) fn at_end(&self) -> Option<Dialect> {
        let of_document = self.document.as_ref().and_then(|document| {
            let parsed = parse_document(document);
            let verdicts: Vec<_> = parsed.values.iter().filter_map(verdict).collect();
            let decisive = verdicts.iter().find(|(_, sure)| *sure).or(verdicts.first());
            let dialect = decisive.map(|(dialect, _)| *dialect);
            // Only exports are known to be cut off so.
            dialect.filter(|dialect| !parsed.cut_off || *dialect == Dialect::OpenCodeExport)
        });
        of_document.or(self.weak)
    }

    /// The document the source is, where it is one printed over several lines.
    pub(crate) fn document(&self) -> Option<&str> {
        self.document.as_deref()
    }

    /// Whether enough was seen to call it no session.
    pub(crate) fn gave_up(&self) -> bool {
        let limit = if self.document.is_some() {
            MAX_DOCUMENT_BYTES
        } else {
            HEAD_BYTES
        };
        self.weak.is_none() && self.bytes >= limit
    }

    /// Whether enough was seen to go by what is likely.
    pub(crate) fn settled(&self) -> Option<Dialect> {
        self.weak
            .filter(|_| self.document.is_none() && self.bytes >= HEAD_BYTES)
    }

    pub(crate) fn not_a_session(&self) -> NotASession {
        self.first.clone().unwrap_or(NotASession {
            line: 1,
            found: "empty".to_owned(),
        })
    }
}

/// The dialect one value speaks for, and whether that decides.
fn verdict(value: &Value) -> Option<(Dialect, bool)> {
    let kind = str_of(value, "type").unwrap_or("");
    let has = |key: &str| value.get(key).is_some();
    let is_object = |key: &str| value.get(key).is_some_and(Value::is_object);
    if has("jsonrpc") || has("hook_event_name") {
        return None;
    }
    if crate::agent_events::is_agent_event(value) {
        return Some((Dialect::AgentEvents, true));
    }
    if let Some((shape, sure)) = shape(value) {
        let dialect = match shape {
            Shape::Event => Dialect::OpenCodeEvents,
            Shape::Run => Dialect::OpenCodeRun,
            Shape::Export => Dialect::OpenCodeExport,
        };
        return Some((dialect, sure));
    }
    if crate::codex::is_exec_line(value) {
        return Some((Dialect::CodexExec, true));
    }
    if let Some(sure) = crate::codex::is_rollout_line(value) {
        return Some((Dialect::CodexRollout, sure));
    }
    if let Some(sure) = crate::codex::is_app_server_line(value) {
        return Some((Dialect::CodexAppServer, sure));
    }
    if is_object("payload") && has("type") {
        // Codex rollouts have a payload too, but times as text.
        let known = Payload::TYPES.contains(&kind);
        let numeric_time = value.get("timestamp").is_some_and(Value::is_number);
        if known && (numeric_time || has("sessionId") || has("seq") || has("id")) {
            return Some((Dialect::ChatEvents, true));
        }
        return (numeric_time && has("sessionId") && has("id"))
            .then_some((Dialect::ChatEvents, false));
    }
    if has("session_id") || has("parent_tool_use_id") {
        let known = match kind {
            "stream_event" => is_object("event"),
            "system" => has("subtype"),
            "result" => has("subtype") || has("is_error"),
            "user" | "assistant" => is_object("message") && !has("parentUuid"),
            "rate_limit_event" | "tool_progress" | "tool_use_summary" | "auth_status" => true,
            _ => false,
        };
        if known && !(has("parentUuid") || has("sessionId")) {
            return Some((Dialect::ClaudeStream, true));
        }
    }
    match kind {
        "control_request" if is_object("request") => return Some((Dialect::ClaudeStream, false)),
        "control_response" if is_object("response") => return Some((Dialect::ClaudeStream, false)),
        "system" if str_of(value, "subtype") == Some("init") && has("claude_code_version") => {
            return Some((Dialect::ClaudeStream, true));
        }
        _ => {}
    }
    let message = value.get("message");
    // Qwen Code's logs have the same envelope with `message.parts`.
    let claude_message =
        message.is_some_and(|message| message.is_object() && message.get("parts").is_none());
    match kind {
        "user" | "assistant" if claude_message => {
            let sure = has("parentUuid") || has("sessionId") || has("uuid");
            Some((Dialect::ClaudeTranscript, sure))
        }
        "summary" if has("leafUuid") => Some((Dialect::ClaudeTranscript, true)),
        "file-history-snapshot" if has("snapshot") => Some((Dialect::ClaudeTranscript, true)),
        "attachment" if is_object("attachment") => Some((
            Dialect::ClaudeTranscript,
            has("parentUuid") || has("sessionId"),
        )),
        "system" | "progress" if has("parentUuid") && has("uuid") => {
            Some((Dialect::ClaudeTranscript, true))
        }
        _ if crate::claude::is_side_line(kind) && has("sessionId") => {
            Some((Dialect::ClaudeTranscript, true))
        }
        _ => None,
    }
}

/// What a value is, in a few words.
fn describe(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&str> = members.keys().map(String::as_str).take(5).collect();
            for name in &mut names {
                *name = crate::emit::cut(name, 30);
            }
            match members.get("type").and_then(Value::as_str) {
                Some(kind) => format!("a JSON object of type \"{}\"", crate::emit::cut(kind, 60)),
                None if names.is_empty() => "an empty JSON object".to_owned(),
                None => format!("a JSON object with {}", names.join(", ")),
            }
        }
        Value::Array(_) => "a JSON array".to_owned(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {
            "a bare JSON value".to_owned()
        }
    }
}
