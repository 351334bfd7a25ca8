//! The parts of a session beside its own file, as Claude Code writes them while it runs (`formats.md` 2.5): sub-agents'
//! files, which grow beside it; results that were too large for it are `results`'. Qwen Code writes its sub-agents' files alike;
//! those of Droid's say themselves which call started them, and of Kimi Code's the session's file says it.
//!
//! How their events stand in the session is what `chat_normalize::FolderReader` does for who reads all files at rest; the
//! test `a_session_with_agents_is_told_as_it_is_converted` holds the two together.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use chat_event::{ChatEvent, Json, Payload, stable_hash};
use serde::Deserialize;

use super::file::Followed;
use super::owners::calling;

/// The longest file that is written beside an agent's.
const MAX_META_BYTES: u64 = 64 * 1024;

/// The calls of a session that started sub-agents.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Each with its turn.
    turns: HashMap<String, Option<String>>,
    by_prompt: HashMap<u64, VecDeque<String>>,
    /// Those whose agent's file is not known.
    waiting: HashSet<String>,
    /// Agents that a result named, with its call.
    named: HashMap<String, String>,
}

impl Calls {
    /// Takes note of an event of the session, or of one of its agents.
    pub(super) fn note(&mut self, event: &ChatEvent) {
        match &event.payload {
            Payload::ToolCall(call) if call.kind.as_deref() == Some("agent") => {
                let id = call.tool_call_id.clone();
                let prompt = call.args.get("prompt");
                let prompt = prompt.and_then(|it| it.as_str().map(|text| text.into_owned()));
                let prompt = stable_hash(prompt.unwrap_or_default().as_bytes());
                self.turns.insert(id.clone(), event.turn_id.clone());
                self.waiting.insert(id.clone());
                self.by_prompt.entry(prompt).or_default().push_back(id);
            }
            Payload::ToolResult(result) => {
                let details = result.extra.get("details");
                let agent = details.and_then(|details| details.get("agentId"));
                self.name(agent.as_ref(), &result.tool_call_id);
            }
            Payload::Progress(progress) => {
                if let Some(call) = &progress.tool_call_id {
                    self.name(progress.extra.get("agentId"), call);
                }
            }
            _ => {}
        }
    }

    /// Takes note of which agent a call started, where that is said.
    fn name(&mut self, agent: Option<&Json>, call: &str) {
        if let Some(agent) = agent.and_then(|id| id.as_str().map(|id| id.into_owned())) {
            self.named.entry(agent).or_insert_with(|| call.to_owned());
        }
    }

    /// Whether this call starts an agent.
    pub(super) fn starts_agent(&self, call: &str) -> bool {
        self.turns.contains_key(call)
    }

    /// The call that started an agent, with its turn, once that is known: by what lies beside its file, by a result, by
    /// the words that it began with.
    fn of(&mut self, agent: &str, beside: Option<&str>, words: Option<u64>) -> Option<Call> {
        let told = beside.filter(|call| self.turns.contains_key(*call));
        let named = || self.named.get(agent).map(String::as_str);
        let call = match told.or_else(named) {
            Some(call) => call.to_owned(),
            None => {
                let same = self.by_prompt.get_mut(&words?)?;
                let waiting = &self.waiting;
                std::iter::from_fn(|| same.pop_front()).find(|call| waiting.contains(call))?
            }
        };
        self.waiting.remove(&call);
        let turn = self.turns.get(&call).cloned().flatten();
        Some(Call { id: call, turn })
    }
}

/// A call that started an agent.
#[derive(Clone, Debug)]
pub(super) struct Call {
    id: String,
    turn: Option<String>,
}

/// What a sub-agent's file is in its session.
#[derive(Debug)]
pub(super) struct SubAgent {
    pub(super) id: String,
    /// It lies beside sessions: it is shown only where a call waits for it.
    is_loose: bool,
    /// Its first line names the call that started it, and it is known as the session that the file would be else.
    says_itself: bool,
    /// The session's file, and nothing else, names the call that started it.
    is_named: bool,
    call: Option<Call>,
    /// The call that is named beside its file.
    beside: Option<String>,
    /// It writes a compaction's summary, which is no work of the session.
    is_unnamed: bool,
    said_prompt: bool,
    words: Option<u64>,
    is_warm_up: bool,
}

/// What is written beside an agent's file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    tool_use_id: Option<String>,
    agent_type: Option<String>,
}

impl SubAgent {
    pub(super) fn new(path: &Path) -> SubAgent {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.unwrap_or_default();
        // One of Kimi Code's is in a folder that is called as it is.
        let is_named = path.file_name().is_some_and(|name| name == "wire.jsonl");
        let folder_of_it = || path.parent()?.file_name()?.to_str();
        let id = match is_named {
            true => folder_of_it(),
            false => stem.strip_prefix("agent-"),
        };
        let folder = path.components().rev().nth(1);
        let is_part = path.components().any(|it| it.as_os_str() == "subagents");
        let says_itself = id.is_none();
        SubAgent {
            id: id.unwrap_or(stem).to_owned(),
            is_loose: !says_itself && !is_named && (!is_part || folder.is_none()),
            says_itself,
            is_named,
            call: None,
            beside: None,
            is_unnamed: false,
            said_prompt: false,
            words: None,
            is_warm_up: false,
        }
    }

    /// Looks for what started it; whether its events have a place now. `words` are those that it began with.
    pub(super) fn find_call(&mut self, calls: &mut Calls, path: &Path) -> bool {
        if self.call.is_some() {
            return true;
        }
        if self.is_named {
            self.call = calls.of(&self.id, None, None);
            return self.call.is_some();
        }
        if self.beside.is_none() && self.says_itself {
            self.beside = calling(path);
        } else if self.beside.is_none() && !self.is_loose {
            self.read_meta(path);
        }
        if self.is_unnamed {
            return false;
        }
        if self.beside.is_none() && self.words.is_none() {
            self.words = first_words(path, &mut self.is_warm_up);
        }
        self.call = calls.of(&self.id, self.beside.as_deref(), self.words);
        self.call.is_some()
    }

    /// Whether this call started it.
    pub(super) fn is_of(&self, call: &str) -> bool {
        self.call.as_ref().is_some_and(|own| own.id == call)
    }

    /// Its file is read from its beginning again.
    pub(super) fn begin_anew(&mut self) {
        self.said_prompt = false;
    }

    /// Whether it is shown without a call, once nothing more is to come.
    pub(super) fn stands_alone(&self) -> bool {
        !self.is_loose && !self.is_unnamed && !self.is_warm_up
    }

    fn read_meta(&mut self, path: &Path) {
        let mut bytes = Vec::new();
        let read = Followed::open(&path.with_extension("meta.json"))
            .and_then(|mut file| file.read(0, MAX_META_BYTES, &mut bytes));
        if read.is_err() {
            return;
        }
        let meta: Meta = serde_json::from_slice(&bytes).unwrap_or_default();
        self.beside = meta.tool_use_id;
        self.is_unnamed = meta.agent_type.as_deref() == Some("");
    }

    /// The event as it stands in the session; `None` for what a file says only because it is one.
    pub(super) fn place(&mut self, mut event: ChatEvent) -> Option<ChatEvent> {
        match &event.payload {
            Payload::TurnStart(_)
            | Payload::TurnEnd(_)
            | Payload::SessionStart(_)
            | Payload::SessionEnd(_)
            | Payload::SessionStatus(_) => return None,
            // The words it was started with are the calling agent's.
            Payload::UserMessage(_) if !self.said_prompt => {
                event.extra.insert("from", Json::string("agent"));
                self.said_prompt = true;
            }
            _ => {}
        }
        event.agent_id.get_or_insert_with(|| self.id.clone());
        event.turn_id = self.call.as_ref().and_then(|call| call.turn.clone());
        if event.parent_tool_call_id.is_none() {
            event.parent_tool_call_id = self.call.as_ref().map(|call| call.id.clone());
        }
        // Lines without an id are named by their number, which says nothing outside their file.
        if is_line_number(&event.id) {
            event.id = format!("{}.{}", self.id, event.id);
        }
        Some(event)
    }
}

/// The hash of an agent's first words, where they stand in its first lines.
fn first_words(path: &Path, is_warm_up: &mut bool) -> Option<u64> {
    let mut head = Vec::new();
    Followed::open(path)
        .and_then(|mut file| file.read(0, 4 * MAX_META_BYTES, &mut head))
        .ok()?;
    let line = head.split(|byte| *byte == b'\n').find_map(|line| {
        let line: serde_json::Value = serde_json::from_slice(line).ok()?;
        (line.get("type")?.as_str()? == "user").then_some(line)
    })?;
    let message = line.get("message")?;
    let content = message.get("content").or_else(|| message.get("parts"))?;
    let text = content
        .as_str()
        .or_else(|| content.pointer("/0/text")?.as_str())?;
    *is_warm_up = text == "Warmup";
    Some(stable_hash(text.as_bytes()))
}

/// Whether an event's id names a line by its number.
fn is_line_number(id: &str) -> bool {
    let head = id.split(':').next().unwrap_or_default();
    let head = head.strip_prefix("end.").unwrap_or(head);
    head.strip_prefix('l')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The call whose agent's file is told before this, and whether it is known that the agent is over: its result, or for an
/// agent in the background, which goes on behind that, the word that it is over.
pub(super) fn ends_agent(event: &ChatEvent) -> Option<(String, bool)> {
    let text = |value: &Json| value.as_str().map(|text| text.into_owned());
    match &event.payload {
        Payload::ToolResult(result) => {
            let details = result.extra.get("details");
            let status = details.and_then(|details| details.get("status"));
            let status = status.as_ref().and_then(text);
            let only_began =
                status.as_deref() == Some("async_launched") || result.background == Some(true);
            let says_how = result.background == Some(false) && !result.is_missing();
            let is_over = says_how || status.as_deref() == Some("completed");
            (!only_began).then(|| (result.tool_call_id.clone(), is_over))
        }
        Payload::Notice(notice) => Some((notice.extra.get("toolCallId").and_then(text)?, true)),
        _ => None,
    }
}
