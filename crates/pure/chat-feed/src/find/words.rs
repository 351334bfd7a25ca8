//! All texts of a block that somebody may look for: what was written, thought, asked for and printed, whether it is
//! shown now or not.
//!
//! Escape sequences of terminals are left out, as they are on the screen. Of a body that is elsewhere only the ends are
//! here; [`Seen::partly`] says so.

use std::borrow::Cow;
use std::ops::ControlFlow;

use chat_event::{Body, Json};

use crate::block::{BlockBody, BlockId, ToolCallBlock};
use crate::controls;
use crate::feed::Feed;
use crate::long_text::untagged;
use crate::tool::ToolKind;

/// Shown one text after the other; breaks off once it knows enough.
pub(super) type Visit<'v> = &'v mut dyn FnMut(&str) -> ControlFlow<()>;

/// What was not shown of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Whether a part of its texts is elsewhere.
    pub(super) partly: bool,
    /// Whether some of that is no body of an event, so that who looks through the log does not come upon it.
    pub(super) beyond: bool,
}

/// Shows all texts of a block.
pub(super) fn visit_texts(feed: &Feed, id: BlockId, visit: Visit<'_>) -> Seen {
    let mut reader = Reader {
        visit,
        seen: Seen::default(),
    };
    let _ = reader.block(feed, id);
    reader.seen
}

/// A text without what only a terminal obeys, and without the carriage returns before line breaks.
///
/// Each line is taken by itself: of a text that grows only the newest lines are looked at.
pub fn cleaned(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\r', b'\x1b', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        match line.contains('\u{1b}') {
            true => controls::without(line, &mut out, &mut controls::keep_seen),
            false => out.push_str(line),
        }
    }
    Cow::Owned(out)
}

/// The paths a block is about.
pub(super) fn visit_paths(feed: &Feed, id: BlockId, visit: Visit<'_>) {
    let _ = match &feed.block(id).body {
        BlockBody::FileEdit(edit) => {
            let old = edit.edit.old_path.as_deref().unwrap_or_default();
            visit(&edit.edit.file_path).is_continue() && visit(old).is_continue()
        }
        BlockBody::ToolCall(call) => call.path().is_some_and(|path| visit(&path).is_continue()),
        _ => false,
    };
}

/// How much is read for the paths a block is about, in bytes: a call tells its own in its arguments.
pub(super) fn len_of_paths(feed: &Feed, id: BlockId) -> usize {
    match &feed.block(id).body {
        BlockBody::ToolCall(call) => call.args.text_len(),
        _ => 0,
    }
}

/// The names of the agents that a block is by, or to.
pub(super) fn visit_agents(feed: &Feed, id: BlockId, visit: Visit<'_>) {
    let block = feed.block(id);
    match &block.body {
        BlockBody::AgentMessage(message)
            if visit(&message.sender).is_break() || visit(&message.target).is_break() =>
        {
            return;
        }
        BlockBody::AgentSwitch(switch)
            if visit(&switch.from_agent_id).is_break() || visit(&switch.to_agent_id).is_break() =>
        {
            return;
        }
        _ => {}
    }
    for call in agents_around(feed, id) {
        if let Some(agent) = call.agent()
            && visit(&agent).is_break()
        {
            return;
        }
    }
}

/// How much is read for them, in bytes.
pub(super) fn len_of_agents(feed: &Feed, id: BlockId) -> usize {
    let calls = agents_around(feed, id);
    calls.map(|call| call.args.text_len()).sum()
}

/// The calls of agents that a block is, or lies within.
fn agents_around(feed: &Feed, id: BlockId) -> impl Iterator<Item = &ToolCallBlock> {
    let blocks = std::iter::successors(Some(id), |&id| feed.block(id).parent);
    blocks.filter_map(|id| match &feed.block(id).body {
        BlockBody::ToolCall(call) if call.kind == ToolKind::Agent => Some(&**call),
        _ => None,
    })
}

struct Reader<'v> {
    visit: Visit<'v>,
    seen: Seen,
}

impl Reader<'_> {
    fn block(&mut self, feed: &Feed, id: BlockId) -> ControlFlow<()> {
        match &feed.block(id).body {
            BlockBody::Prompt(prompt) => {
                self.body(prompt.text.as_ref())?;
                self.json(prompt.attachments.as_ref())
            }
            BlockBody::Text(_) | BlockBody::Thinking(_) => self.text(&feed.text(id)),
            BlockBody::ToolCall(call) => {
                self.text(&call.tool_name)?;
                self.text(call.title.as_deref().unwrap_or_default())?;
                self.json(Some(&call.args))?;
                if call.args.is_null()
                    && let Some(input) = call.input
                {
                    self.text(&feed.stream(input))?;
                }
                if let Some(error) = &call.error {
                    // Neither its code is shown nor the tags around it.
                    self.text(untagged(&error.message))?;
                }
                self.text(call.summary.as_deref().unwrap_or_default())?;
                self.text(call.progress.as_ref().map_or("", |told| &told.message))?;
                let result = call.result.as_ref();
                let said = result.filter(|_| call.failure().is_some());
                match said.and_then(|result| result.as_str()) {
                    Some(said) => self.text(untagged(&said))?,
                    None => self.json(result)?,
                }
                self.text(&feed.text(id))
            }
            BlockBody::FileEdit(edit) => {
                let facts = &edit.edit;
                self.text(&facts.file_path)?;
                self.text(facts.old_path.as_deref().unwrap_or_default())?;
                self.text(&facts.diff_preview.read())?;
                let here = facts.full_diff.is_some();
                let whole = facts.diff_preview.len() as u64 >= facts.full_diff_size;
                let lacks = facts.full_diff_available && !here && !whole;
                self.seen.partly |= lacks;
                self.seen.beyond |= lacks;
                self.body(facts.full_diff.as_ref())
            }
            BlockBody::AgentMessage(message) => {
                self.text(&message.target)?;
                self.body(message.message.as_ref())?;
                self.body(message.result.as_ref())
            }
            BlockBody::Permission(ask) => {
                self.text(&ask.request.tool_name)?;
                self.text(ask.request.title.as_deref().unwrap_or_default())?;
                self.text(ask.request.reason.as_deref().unwrap_or_default())?;
                self.json(ask.request.args.as_ref())?;
                match &ask.resolved {
                    Some(answer) => {
                        self.text(&answer.decision)?;
                        self.text(answer.message.as_deref().unwrap_or_default())
                    }
                    None => ControlFlow::Continue(()),
                }
            }
            BlockBody::Question(ask) => {
                for question in &ask.request.questions {
                    self.text(question.header.as_deref().unwrap_or_default())?;
                    self.text(&question.text)?;
                    for option in &question.options {
                        self.text(&option.label)?;
                        self.text(option.description.as_deref().unwrap_or_default())?;
                    }
                }
                let answer = ask.resolved.as_ref();
                self.json(answer.and_then(|answer| answer.answers.as_ref()))
            }
            BlockBody::Plan(entries) => entries
                .iter()
                .try_for_each(|entry| self.text(&entry.content)),
            BlockBody::Progress(progress) => self.text(&progress.told.message),
            BlockBody::AgentSwitch(switch) => {
                self.text(&switch.from_agent_id)?;
                self.text(&switch.to_agent_id)
            }
            BlockBody::Interrupt { reason } => self.text(reason),
            BlockBody::Error { code, message, .. } => {
                self.text(code)?;
                self.text(message)
            }
            BlockBody::Compaction(compaction) => {
                self.text(compaction.summary.as_deref().unwrap_or_default())
            }
            BlockBody::Notice { text, source, .. } => {
                self.text(untagged(text))?;
                self.text(source.as_deref().unwrap_or_default())
            }
            BlockBody::Raw { label, value } => {
                self.text(label)?;
                self.json(Some(value))
            }
            BlockBody::SessionStart(start) => {
                let told = [
                    &start.agent,
                    &start.model,
                    &start.cwd,
                    &start.title,
                    &start.git_branch,
                ];
                let mut told = told.into_iter().flatten();
                told.try_for_each(|text| self.text(text))
            }
            BlockBody::SessionEnd { reason } => self.text(reason),
            BlockBody::Gap(gap) => self.text(&gap.why),
            BlockBody::Audio { .. } | BlockBody::TurnEnd(_) => ControlFlow::Continue(()),
        }
    }

    fn text(&mut self, text: &str) -> ControlFlow<()> {
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        (self.visit)(&cleaned(text))
    }

    fn body(&mut self, body: Option<&Body>) -> ControlFlow<()> {
        match body {
            None => ControlFlow::Continue(()),
            Some(Body::Inline(text)) => self.text(&text.read()),
            Some(body @ Body::Ref { .. }) => {
                let excerpt = body.excerpt();
                match excerpt.whole() {
                    Some(whole) => self.text(&whole),
                    None => {
                        self.seen.partly = true;
                        self.text(&excerpt.preview)?;
                        self.text(&excerpt.tail)
                    }
                }
            }
        }
    }

    /// The strings and numbers of a value; names of its members are no words of anybody.
    fn json(&mut self, json: Option<&Json>) -> ControlFlow<()> {
        let Some(json) = json else {
            return ControlFlow::Continue(());
        };
        if let Some(body) = json.to_body() {
            return self.body(Some(&body));
        }
        // Looking for references first saves a tree for nearly everything.
        if json.as_text().contains(r#"{"$body""#) {
            return self.tree(&json.to_value());
        }
        self.tokens(&json.as_text())
    }

    /// Reads compact JSON from its first to its last byte, without a tree of it.
    fn tokens(&mut self, text: &str) -> ControlFlow<()> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let (end, escaped) = string_end(bytes, at + 1);
                    let is_name = bytes.get(end + 1) == Some(&b':');
                    if !is_name {
                        let unescaped = escaped
                            .then(|| serde_json::from_str::<String>(text.get(at..=end)?).ok())
                            .flatten();
                        match unescaped {
                            Some(unescaped) => self.text(&unescaped)?,
                            None => self.text(text.get(at + 1..end).unwrap_or_default())?,
                        }
                    }
                    at = end + 1;
                }
                b'-' | b'0'..=b'9' => {
                    let rest = &bytes[at..];
                    let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}');
                    let len = rest.iter().position(is_end).unwrap_or(rest.len());
                    self.text(&text[at..at + len])?;
                    at += len;
                }
                _ => at += 1,
            }
        }
        ControlFlow::Continue(())
    }

    /// Values are never deeper than [`chat_event::MAX_DEPTH`].
    fn tree(&mut self, value: &serde_json::Value) -> ControlFlow<()> {
        use serde_json::Value;
        match value {
            Value::Null | Value::Bool(_) => ControlFlow::Continue(()),
            Value::Number(number) => self.text(&number.to_string()),
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.tree(item)),
            Value::Object(members) if members.contains_key("$body") => {
                self.body(Json::from(value).to_body().as_ref())
            }
            Value::Object(members) => members.values().try_for_each(|item| self.tree(item)),
        }
    }
}

/// Where a JSON string ends, and whether anything in it is escaped.
fn string_end(bytes: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    let mut escaped = false;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        if bytes[at + found] == b'"' {
            return (at + found, escaped);
        }
        escaped = true;
        at += found + 2;
    }
    (bytes.len(), escaped)
}
