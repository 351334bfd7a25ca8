//! The files of one session as one stream of events.
//!
//! The reader says which bytes it wants next, so that each file is read where its events belong and none is held whole:
//!
//! | what comes | read next |
//! |---|---|
//! | the beginning | what was written beside agents' files; then the session's own file |
//! | the result of a call that started an agent | the agent's file, put before that result |
//! | the word that an agent in the background is over | its file, put before that: it worked beside its caller until then |
//! | a result that refers to a file of its own | that file, put in the place of what stood for it |
//! | the end of the session's file | agents that no result named: they go to the call with their prompt |
//!
//! An agent that no call started is shown without a place where it did something, and left out, with a word, where it
//! is a warm-up or the writer of a compaction's summary.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use chat_event::payload::Notice;
use chat_event::{ChatEvent, Extra, Json, Payload};
use serde_json::Value;

use super::source::{Agent, Source, first_words};
use super::{AgentPart, SessionParts};
use crate::detect::NotASession;
use crate::dialect::Dialect;
use crate::emit::{AT_REST, Report, clean_id, hash, known_time};
use crate::reader::{Context, SessionReader};
use crate::value::text_of;

/// The longest file that is written beside an agent's.
const MAX_META_BYTES: usize = 64 * 1024;

/// The longest result that is put in its place; it stands in one event.
const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;

/// How deep agents' files are read within each other; the rest is read after the session's file.
const MAX_DEPTH: usize = 32;

/// The bytes that are wanted next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want<'a> {
    /// The file, as [`SessionParts`] names it.
    pub path: &'a str,
    /// The first byte that is wanted; what follows may be given in pieces of any size.
    pub offset: u64,
}

/// Makes the events of one session of its files.
///
/// ```
/// use chat_normalize::{Context, FolderReader, SessionParts};
/// let file = br#"{"type":"user","uuid":"u1","sessionId":"s1","message":{"content":"Hi"}}"#;
/// let mut reader = FolderReader::new(Context::default(), SessionParts::single("s1.jsonl"));
/// let mut events = Vec::new();
/// while let Some(want) = reader.wants() {
///     let rest = file.get(want.offset as usize..).unwrap_or_default();
///     // An empty piece says that the file is at its end.
///     reader.push(&rest[..rest.len().min(7)], 0, &mut events).unwrap();
/// }
/// assert!(events.iter().any(|event| event.payload.event_type() == "user_message"));
/// ```
#[derive(Debug)]
pub struct FolderReader {
    context: Context,
    main: Option<String>,
    /// Files beside agents' files that are to be read, with the agent.
    metas: VecDeque<(String, String)>,
    meta: Vec<u8>,
    meta_offset: u64,
    /// Agents' files that were not read, by the agent's id.
    agents: BTreeMap<String, AgentPart>,
    /// Agents that write a compaction's summary.
    unnamed: HashSet<String>,
    /// Calls that are known to have started an agent, from what lies beside its file.
    agents_of_call: BTreeMap<String, Vec<String>>,
    /// Calls that start agents, with their turns, and by the hash of their prompt.
    calls: HashMap<String, Option<String>>,
    calls_by_prompt: HashMap<u64, VecDeque<String>>,
    /// Those of them whose agent's file was not read.
    waiting: HashSet<String>,
    /// Results' files that were not read, by name.
    results: BTreeMap<String, String>,
    sources: Vec<Source>,
    /// A result that waits for its file.
    result: Option<Large>,
    /// The last words of the session's file, said when all is read.
    last: VecDeque<ChatEvent>,
    ids: HashSet<u64>,
    left_out: Vec<String>,
    unread: Vec<String>,
    report: Report,
    dialect: Option<Dialect>,
    /// What the session's own file is read as, whatever it looks like.
    forced: Option<Dialect>,
    session_id: Option<String>,
    native_id: Option<String>,
    time_ms: i64,
    at_rest: bool,
    began: bool,
    finished: bool,
}

#[derive(Debug)]
struct Large {
    path: String,
    event: ChatEvent,
    bytes: Vec<u8>,
    offset: u64,
}

impl FolderReader {
    /// A reader of the session that these files make.
    pub fn new(context: Context, parts: SessionParts) -> Self {
        Self::unstarted(context, parts).started()
    }

    /// The same, with the session's own file read as `dialect`.
    pub fn with_dialect(context: Context, parts: SessionParts, dialect: Dialect) -> Self {
        let mut reader = Self::unstarted(context, parts);
        reader.forced = Some(dialect);
        reader.started()
    }

    fn unstarted(context: Context, parts: SessionParts) -> Self {
        let metas = parts.agents.iter().filter_map(|agent| {
            let meta = agent.meta.clone()?;
            Some((meta, agent.agent_id.clone()))
        });
        let metas = metas.collect();
        let mut agents = BTreeMap::new();
        for agent in parts.agents {
            // The one in the session's own folder is it, should the same name lie beside the session too.
            if !(agent.flat && agents.contains_key(&agent.agent_id)) {
                agents.insert(agent.agent_id.clone(), agent);
            }
        }
        let results = parts.results.into_iter().map(|path| {
            let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
            (name.to_owned(), path.clone())
        });
        FolderReader {
            context,
            main: parts.main,
            metas,
            meta: Vec::new(),
            meta_offset: 0,
            agents,
            unnamed: HashSet::new(),
            agents_of_call: BTreeMap::new(),
            calls: HashMap::new(),
            calls_by_prompt: HashMap::new(),
            waiting: HashSet::new(),
            results: results.collect(),
            sources: Vec::new(),
            result: None,
            last: VecDeque::new(),
            ids: HashSet::new(),
            left_out: Vec::new(),
            unread: Vec::new(),
            report: Report::default(),
            dialect: None,
            forced: None,
            session_id: None,
            native_id: None,
            time_ms: AT_REST,
            at_rest: false,
            began: false,
            finished: false,
        }
    }

    /// What to read next; `None` when all is read.
    pub fn wants(&self) -> Option<Want<'_>> {
        if let Some((path, _)) = self.metas.front() {
            return Some(Want {
                path,
                offset: self.meta_offset,
            });
        }
        if let Some(large) = &self.result {
            return Some(Want {
                path: &large.path,
                offset: large.offset,
            });
        }
        self.sources.last().map(|source| Want {
            path: &source.path,
            offset: source.offset,
        })
    }

    /// Takes the next bytes of what is wanted, none where it is at its end, and appends what they give to `out`.
    ///
    /// # Errors
    ///
    /// Where the session's own file is no session. An agent's file that is none gives a `notice`.
    pub fn push(
        &mut self,
        bytes: &[u8],
        arrival_ms: i64,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), NotASession> {
        self.arrive(arrival_ms);
        let len = bytes.len() as u64;
        if !self.metas.is_empty() {
            self.take_meta(bytes);
        } else if let Some(large) = &mut self.result {
            large.offset += len;
            let room = MAX_RESULT_BYTES.saturating_sub(large.bytes.len());
            large
                .bytes
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.is_empty() || room == 0 {
                self.end_result(out);
            }
        } else if let Some(source) = self.sources.last_mut() {
            source.offset += len;
            let mut events = Vec::new();
            let verdict = if bytes.is_empty() {
                source.ended = true;
                source.reader.finish(arrival_ms, &mut events)
            } else {
                source.reader.push(bytes, arrival_ms, &mut events)
            };
            source.events.extend(events);
            if let Err(why) = verdict {
                if source.agent.is_none() {
                    self.sources.clear();
                    return Err(why);
                }
                let text = format!("{} could not be read: {why}", source.path);
                source.ended = true;
                source.events.clear();
                self.say("warning", text, out);
            }
        }
        self.go_on(out);
        Ok(())
    }

    /// What is wanted cannot be read; the rest is.
    pub fn missing(&mut self, why: &str, arrival_ms: i64, out: &mut Vec<ChatEvent>) {
        self.arrive(arrival_ms);
        let Some(want) = self.wants() else { return };
        let text = format!("{} could not be read: {why}", want.path);
        if !self.metas.is_empty() {
            self.meta.clear();
            self.take_meta(&[]);
        } else if let Some(large) = self.result.take() {
            self.emit(large.event, out);
        } else if let Some(source) = self.sources.last_mut() {
            let mut events = Vec::new();
            // What was read up to here stands, and what is open in it is closed.
            let _ = source.reader.finish(arrival_ms, &mut events);
            source.events.extend(events);
            source.ended = true;
        }
        self.say("warning", text, out);
        self.go_on(out);
    }

    /// The dialect of the session's own file, once it is known.
    pub fn dialect(&self) -> Option<Dialect> {
        let main = self.sources.first();
        self.dialect
            .or_else(|| main.and_then(|source| source.reader.dialect()))
    }

    /// The session the events belong to, once it is known.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// What was read so far, over all files that are at their end.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Files of agents beside the session that are of none of its calls; once all is read.
    ///
    /// One that every session of its folder leaves unread is nobody's.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    fn started(mut self) -> Self {
        if self.metas.is_empty() {
            self.begin();
        }
        self
    }

    fn begin(&mut self) {
        self.began = true;
        match self.main.take() {
            Some(path) => {
                let mut source = Source::new(&path, self.context.clone(), None);
                if let Some(dialect) = self.forced {
                    source.reader = SessionReader::with_dialect(self.context.clone(), dialect);
                }
                self.sources.push(source);
            }
            None => self.next_left(),
        }
    }

    fn take_meta(&mut self, bytes: &[u8]) {
        self.meta_offset += bytes.len() as u64;
        let room = MAX_META_BYTES.saturating_sub(self.meta.len());
        self.meta.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if !bytes.is_empty() && room > 0 {
            return;
        }
        let meta: Value = serde_json::from_slice(&self.meta).unwrap_or_default();
        self.meta.clear();
        self.meta_offset = 0;
        if let Some((_, agent_id)) = self.metas.pop_front() {
            if let Some(call) = text_of(&meta, "toolUseId") {
                let agents = self.agents_of_call.entry(call.to_owned()).or_default();
                agents.push(agent_id.clone());
            }
            if meta.get("agentType").and_then(Value::as_str) == Some("") {
                self.unnamed.insert(agent_id);
            }
        }
        if self.metas.is_empty() {
            self.begin();
        }
    }

    /// Hands on what can be said now, and opens the file that is needed next.
    fn go_on(&mut self, out: &mut Vec<ChatEvent>) {
        while self.result.is_none() && self.metas.is_empty() {
            let Some(source) = self.sources.last_mut() else {
                break;
            };
            let Some(event) = source.events.pop_front() else {
                if !source.ended {
                    return;
                }
                self.end_source();
                continue;
            };
            if source.agent.is_none() {
                if self.session_id.is_none() {
                    self.session_id = Some(event.session_id.clone());
                }
                if let Payload::SessionStart(start) = &event.payload {
                    self.native_id = start.native_id.clone().or(self.native_id.take());
                }
                if matches!(event.payload, Payload::SessionEnd(_)) || !self.last.is_empty() {
                    self.last.push_back(event);
                    continue;
                }
            } else if !self.has_place(&event) {
                continue;
            }
            if let Some((agent_id, call)) = self.agent_before(&event) {
                if let Some(source) = self.sources.last_mut() {
                    source.events.push_front(event);
                }
                self.open_agent(&agent_id, Some(call));
                continue;
            }
            if let Some(path) = self.file_of(&event) {
                self.result = Some(Large {
                    path,
                    event,
                    bytes: Vec::new(),
                    offset: 0,
                });
                return;
            }
            self.emit(event, out);
        }
        if self.began && self.sources.is_empty() && self.result.is_none() && !self.finished {
            self.finished = true;
            self.end(out);
        }
    }

    /// Whether an event of an agent's file has its place; the file may turn out to be another session's.
    fn has_place(&mut self, event: &ChatEvent) -> bool {
        let Some(source) = self.sources.last_mut() else {
            return false;
        };
        let Some(agent) = &mut source.agent else {
            return true;
        };
        if let Payload::SessionStart(start) = &event.payload
            && let (Some(own), Some(other)) = (agent.of_session.take(), &start.native_id)
            && own != *other
        {
            self.unread.push(source.path.clone());
            source.events.clear();
            source.ended = true;
            return false;
        }
        if !agent.looks_for_call {
            return true;
        }
        let Some(words) = first_words(event) else {
            // Nothing but what a file says of itself comes before the first words.
            agent.looks_for_call = is_of_file(event);
            return true;
        };
        agent.looks_for_call = false;
        let same = self.calls_by_prompt.get_mut(&hash(words.as_bytes()));
        let waiting = &mut self.waiting;
        let call = same.and_then(|same| {
            std::iter::from_fn(|| same.pop_front()).find(|call| waiting.contains(call))
        });
        if let Some(call) = call {
            self.waiting.remove(&call);
            let turn = self.calls.get(&call).cloned().flatten();
            agent.call = Some((call, turn));
        } else if words == "Warmup" {
            self.left_out.push(source.path.clone());
            source.events.clear();
            source.ended = true;
            return false;
        }
        true
    }

    /// The agent whose file is to be read before this event, and the call that started it.
    fn agent_before(&mut self, event: &ChatEvent) -> Option<(String, String)> {
        if self.sources.len() >= MAX_DEPTH {
            return None;
        }
        let text = |value: &Json| value.as_str().map(|text| text.into_owned());
        let call = match &event.payload {
            Payload::ToolResult(result) => {
                let call = &result.tool_call_id;
                let details = result.extra.get("details");
                let detail = |name: &str| {
                    let value = details.and_then(|details| details.get(name));
                    value.as_ref().and_then(text)
                };
                if let Some(agent_id) = detail("agentId") {
                    let agents = self.agents_of_call.entry(call.clone()).or_default();
                    if !agents.contains(&agent_id) {
                        agents.insert(0, agent_id);
                    }
                }
                // It only began, and goes on in the background.
                if detail("status").as_deref() == Some("async_launched") {
                    return None;
                }
                call.clone()
            }
            Payload::Notice(notice) => notice.extra.get("toolCallId").and_then(text)?,
            _ => return None,
        };
        let agents = self.agents_of_call.get(&call)?;
        let agent_id = agents.iter().find(|id| self.agents.contains_key(*id))?;
        Some((agent_id.clone(), call))
    }

    fn open_agent(&mut self, agent_id: &str, call: Option<String>) {
        let Some(part) = self.agents.remove(agent_id) else {
            return;
        };
        let context = Context {
            session_id: self
                .session_id
                .clone()
                .or_else(|| self.context.session_id.clone()),
            ..Context::default()
        };
        let call = call.map(|call| {
            self.waiting.remove(&call);
            let turn = self.calls.get(&call).cloned().flatten();
            (call, turn)
        });
        let agent = Agent {
            id: part.agent_id,
            looks_for_call: call.is_none(),
            call,
            of_session: self.native_id.clone().filter(|_| part.flat),
            said_prompt: false,
        };
        self.sources
            .push(Source::new(&part.path, context, Some(agent)));
    }

    /// The file that holds the whole of a result.
    fn file_of(&mut self, event: &ChatEvent) -> Option<String> {
        let Payload::ToolResult(result) = &event.payload else {
            return None;
        };
        if self.results.is_empty() {
            return None;
        }
        let text = result.result.as_str();
        let text = text.as_deref().unwrap_or_default();
        // Only what stands before the preview is the program's own.
        let head = text.split("\n\n").next().unwrap_or_default();
        let said = head
            .starts_with("<persisted-output>")
            .then(|| head.split_once("saved to: ").map(|(_, path)| path.trim()))
            .flatten();
        let details = result.extra.get("details");
        let path = details.and_then(|details| details.get("persistedOutputPath"));
        let path = path.and_then(|path| path.as_str().map(|path| path.into_owned()));
        let path = path.as_deref().or(said)?;
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        self.results.remove(name)
    }

    fn end_result(&mut self, out: &mut Vec<ChatEvent>) {
        let Some(mut large) = self.result.take() else {
            return;
        };
        let whole = large.bytes.len() as u64 == large.offset;
        if let Payload::ToolResult(result) = &mut large.event.payload {
            let text = String::from_utf8_lossy(&large.bytes);
            result.result = Json::string(&text);
        }
        let path = large.path;
        self.emit(large.event, out);
        if !whole {
            let text = format!("{path} is longer than 16 MiB; its beginning is shown");
            self.say("warning", text, out);
        }
    }

    /// The newest file is at its end.
    fn end_source(&mut self) {
        let Some(source) = self.sources.pop() else {
            return;
        };
        add(&mut self.report, source.reader.report());
        if source.agent.is_none() {
            self.dialect = source.reader.dialect();
        }
        if self.sources.is_empty() {
            self.next_left();
        }
    }

    /// Opens the next agent's file that no result named.
    fn next_left(&mut self) {
        while let Some((agent_id, part)) = self.agents.iter().next() {
            let agent_id = agent_id.clone();
            // Beside the session lie the files of others too; one is looked for where a call waits for it.
            let not_ours = part.flat && self.waiting.is_empty();
            if self.unnamed.contains(&agent_id) {
                self.left_out.push(part.path.clone());
            }
            if not_ours {
                self.unread.push(part.path.clone());
            }
            if not_ours || self.unnamed.contains(&agent_id) {
                self.agents.remove(&agent_id);
                continue;
            }
            // One in the background of which nobody said that it is over.
            let mut calls = self.agents_of_call.iter();
            let call = calls.find(|(_, agents)| agents.contains(&agent_id));
            let call = call.map(|(call, _)| call.clone());
            let call = call.filter(|call| self.calls.contains_key(call));
            self.open_agent(&agent_id, call);
            return;
        }
    }

    fn end(&mut self, out: &mut Vec<ChatEvent>) {
        if !self.left_out.is_empty() {
            let text = format!(
                "no call started what these files tell, and they are left out: {}",
                self.left_out.join(", ")
            );
            self.say("info", text, out);
        }
        for event in std::mem::take(&mut self.last) {
            self.write(event, out);
        }
    }

    /// Writes an event of the newest file.
    fn emit(&mut self, event: ChatEvent, out: &mut Vec<ChatEvent>) {
        let event = match self
            .sources
            .last_mut()
            .and_then(|source| source.agent.as_mut())
        {
            Some(agent) => agent.place(event),
            None => Some(event),
        };
        let Some(event) = event else { return };
        if let Payload::ToolCall(call) = &event.payload
            && call.kind.as_deref() == Some("agent")
        {
            let id = call.tool_call_id.clone();
            let prompt = call.args.get("prompt");
            let prompt = prompt.and_then(|prompt| prompt.as_str().map(|text| text.into_owned()));
            let prompt = hash(prompt.unwrap_or_default().as_bytes());
            self.calls.insert(id.clone(), event.turn_id.clone());
            self.waiting.insert(id.clone());
            let same = self.calls_by_prompt.entry(prompt).or_default();
            same.push_back(id);
        }
        self.write(event, out);
    }

    /// Writes an event, if it was not written: an agent's line can stand in two files.
    fn write(&mut self, mut event: ChatEvent, out: &mut Vec<ChatEvent>) {
        let key = |event: &ChatEvent| {
            hash(format!("{} {}", event.payload.event_type(), event.id).as_bytes())
        };
        if !self.ids.insert(key(&event)) {
            self.report.repeated += 1;
            return;
        }
        if !self.ids.insert(hash(event.id.as_bytes())) {
            let agent = event.agent_id.clone().unwrap_or_default();
            event.id = clean_id(&format!(
                "{agent}.{}.{}",
                event.payload.event_type(),
                event.id
            ));
            self.ids.insert(hash(event.id.as_bytes()));
        }
        if self.at_rest {
            self.time_ms = event.timestamp.unwrap_or(self.time_ms);
        }
        out.push(event);
    }

    fn arrive(&mut self, arrival_ms: i64) {
        self.at_rest = arrival_ms == AT_REST;
        if !self.at_rest {
            self.time_ms = arrival_ms;
        }
    }

    fn say(&mut self, level: &str, text: String, out: &mut Vec<ChatEvent>) {
        let session_id = match (&self.session_id, &self.context.session_id) {
            (Some(id), _) | (None, Some(id)) => id.clone(),
            (None, None) => "session".to_owned(),
        };
        let id = format!("folder-{:016x}", hash(text.as_bytes()));
        let notice = Notice {
            level: level.to_owned(),
            text,
            source: Some("reader".to_owned()),
            line: None,
            extra: Extra::default(),
        };
        let mut event = ChatEvent::new(id, self.time_ms, session_id, notice);
        event.timestamp = known_time(self.time_ms);
        self.write(event, out);
    }
}

/// Whether an event says something of the file only.
fn is_of_file(event: &ChatEvent) -> bool {
    matches!(
        event.payload,
        Payload::TurnStart(_) | Payload::SessionStart(_) | Payload::SessionStatus(_)
    )
}

fn add(sum: &mut Report, report: Report) {
    sum.lines += report.lines;
    sum.events += report.events;
    sum.unreadable += report.unreadable;
    sum.repeated += report.repeated;
    for (kind, n) in report.raw {
        *sum.raw.entry(kind).or_default() += n;
    }
    for (kind, n) in report.passed_over {
        *sum.passed_over.entry(kind).or_default() += n;
    }
}
