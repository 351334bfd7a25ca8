//! The transcript itself: turns, what was said in them, and who said it.

use std::collections::{HashMap, VecDeque};

use chat_event::payload::{Question, TurnStart, Usage};
use chat_event::{ChatEvent, Payload};

use super::call;
use super::facts::Facts;
use super::writer::{Writer, code, words};
use crate::projections::TextSink;
use crate::projections::conversation::{Block, Entry, EntryBody, Tree};
use crate::projections::plain::body_text;
use crate::projections::summary::usage::{TurnUsage, UsageNote};
use crate::renderer::seen::hash;
use crate::set_backs::SetBacks;

/// Lines that no rule knows are shown up to here.
pub(super) const RAW_BYTES: usize = 2 * 1024;

/// Where the transcript stands.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) facts: Facts,
    pub(super) has_head: bool,
    n_turns: u32,
    pub(super) turn: Option<u64>,
    /// The turns that have a heading: two may be open, and what is said of one comes between what is said of the other.
    pub(super) turns: HashMap<u64, TurnFacts>,
    /// What responses used, of turns whose end is not written yet.
    pub(super) used: HashMap<u64, TurnUsage>,
    /// Whether the last that was said was said by the assistant, so that its name need not be said again.
    pub(super) assistant_speaks: bool,
    /// Which turns the user went back behind.
    pub(super) set_backs: SetBacks<u64, u64>,
    /// Questions that wait for their answers, by their request.
    pub(super) asked: VecDeque<(String, Vec<Question>)>,
}

/// What is known of a turn beside its entries.
#[derive(Debug)]
pub(super) struct TurnFacts {
    number: u32,
    /// When it began, where an event says so by itself.
    pub(super) began_ms: Option<i64>,
    /// What ended its work, as its end would say it.
    pub(super) stopped: Option<&'static str>,
}

impl Transcript {
    pub(super) fn tree<S: TextSink>(&mut self, tree: &Tree, sink: &mut S) {
        let Some(entry) = tree.root() else { return };
        let mut out = Writer::new(sink);
        self.head(&mut out);
        self.begin_turn(entry, &mut out);
        self.entry(tree, entry, &mut out);
        out.finish();
    }

    /// The heading of a turn, before the first thing that is said in it.
    fn begin_turn<S: TextSink>(&mut self, entry: &Entry, out: &mut Writer<'_, S>) {
        let (start, began_ms) = match &entry.body {
            EntryBody::Response(_) => (None, None),
            EntryBody::Event(event) => match &event.payload {
                Payload::TurnStart(start) => (Some(start), event.timestamp),
                Payload::UserMessage(_)
                | Payload::UserAudio(_)
                | Payload::AgentCallback(_)
                | Payload::Plan(_)
                | Payload::PermissionRequest(_)
                | Payload::QuestionRequest(_) => (None, event.timestamp),
                // What is said of a session stands where it came.
                _ => return,
            },
        };
        if self.turn == Some(entry.turn) {
            return;
        }
        self.turn = Some(entry.turn);
        self.assistant_speaks = false;
        if let Some(known) = self.turns.get(&entry.turn) {
            return out.block(&format!("## Turn {}, continued", known.number));
        }
        self.n_turns += 1;
        let facts = TurnFacts {
            number: self.n_turns,
            began_ms,
            stopped: None,
        };
        self.turns.insert(entry.turn, facts);
        let task = start.map_or_else(String::new, task_of);
        let undone = match self.set_backs.of(&entry.turn) {
            Some(_) => ", undone",
            None => "",
        };
        out.block(&format!("## Turn {}{undone}{task}", self.n_turns));
    }

    /// Entries lie no deeper than the conversation allows, so calling itself is safe.
    pub(super) fn entry<S: TextSink>(
        &mut self,
        tree: &Tree,
        entry: &Entry,
        out: &mut Writer<'_, S>,
    ) {
        let response = match &entry.body {
            EntryBody::Event(event) => return self.event(entry, event, out),
            EntryBody::Response(response) => response,
        };
        for block in &response.blocks {
            match block {
                Block::Text(text) => {
                    let text = text.text();
                    if !text.trim().is_empty() {
                        self.speaker(entry, out);
                        out.prose(&text);
                    }
                }
                Block::Thinking(thinking) => {
                    let text = thinking.text();
                    if thinking.redacted && text.trim().is_empty() {
                        out.block("*Thinking, withheld by the provider*");
                    } else if !text.trim().is_empty() {
                        self.speaker(entry, out);
                        out.block("*Thinking*");
                        out.quoted(|out| out.prose(&text));
                    }
                }
                Block::Call(key) => {
                    let Some(call) = tree.call(*key) else {
                        continue;
                    };
                    if call.called {
                        self.speaker(entry, out);
                    }
                    call::write_head(out, call);
                    if !call.children.is_empty() {
                        self.assistant_speaks = false;
                        out.quoted(|out| {
                            for child in tree.within(call) {
                                self.entry(tree, child, out);
                            }
                        });
                        self.assistant_speaks = true;
                    }
                    call::write_outcome(out, call);
                }
                Block::Message(event) => {
                    if let Payload::AgentMessage(message) = &event.payload {
                        self.speaker(entry, out);
                        out.block(&format!(
                            "**Message to** {}",
                            code(&message.target_agent_id)
                        ));
                        out.quoted(|out| out.prose(&body_text(&message.message)));
                    }
                }
                Block::Gone => {}
            }
        }
    }

    /// Who says what follows, where it was another before.
    fn speaker<S: TextSink>(&mut self, entry: &Entry, out: &mut Writer<'_, S>) {
        if !std::mem::replace(&mut self.assistant_speaks, true) {
            let agent = entry.agent_id.as_deref().map(code);
            let agent = agent.filter(|agent| !agent.is_empty());
            let agent = agent.map_or_else(String::new, |agent| format!(" {agent}"));
            out.block(&format!("**Assistant**{agent}"));
        }
    }

    pub(super) fn note_usage(&mut self, turn: u64, event: &ChatEvent, usage: &Usage) {
        let response = event.response_id.as_deref().map(hash);
        let of_agent = event.parent_tool_call_id.is_some();
        let note = UsageNote::of(turn, response, of_agent, usage, event.timestamp);
        self.used.entry(turn).or_default().take(&note);
    }
}

fn task_of(start: &TurnStart) -> String {
    let trigger = match start.trigger.as_str() {
        "" | "user" => String::new(),
        trigger => format!(" ({})", words(trigger)),
    };
    let task = start.task.as_ref();
    let label = task.and_then(|task| task.get("label"));
    let label = label.as_ref().and_then(|label| label.as_str());
    match label {
        Some(label) => format!("{trigger}: {}", words(&label)),
        None => trigger,
    }
}
