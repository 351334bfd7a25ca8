//! In which words a session is told.
//!
//! | form | a message | its name |
//! |---|---|---|
//! | events | one event, as its line stands in the log; its long bodies as references, or whole where that is asked for | `ev` |
//! | agent | one `SystemEvent`: an `agent.*` event, or a `TOOL_EVENTS_BATCH` of them | none |
//! | OpenCode | one event of OpenCode's bus, of which an event of the log may be several | none, as OpenCode's own |
//!
//! What a form has no words for is not told; the id of the next message stands for it, too.

use chat_normalize::OpenCodeOut;
use serde_json::{Value, json};

use super::message;
use crate::agent_form::AgentForm;
use crate::follow::Entry;
use crate::told::Bodies;

/// A form, and what it remembers of the session so far.
pub(crate) enum Form {
    /// The log's own.
    Events(Bodies),
    /// The workers' own.
    Agent(Box<AgentForm>),
    /// OpenCode's bus.
    OpenCode(Box<OpenCodeOut>),
}

impl Form {
    /// Whether what it says of an event depends on those before it.
    pub(super) fn remembers(&self) -> bool {
        match self {
            Form::Events(_) => false,
            Form::Agent(_) | Form::OpenCode(_) => true,
        }
    }

    /// How it wants long bodies: what is said of an event in others' words may hang on all of it.
    pub(super) fn bodies(&self) -> Bodies {
        match self {
            Form::Events(bodies) => *bodies,
            Form::Agent(_) | Form::OpenCode(_) => Bodies::Whole,
        }
    }

    /// What is said first.
    pub(super) fn greeting(&self, hello: &Value) -> String {
        let mut text = String::new();
        message(&mut text, "hello", hello);
        if let Form::OpenCode(_) = self {
            plain(
                &mut text,
                &json!({"type": "server.connected", "properties": {}}),
            );
        }
        text
    }

    /// A sign of life.
    pub(super) fn heartbeat(&self, head: u64) -> String {
        let mut text = String::new();
        match self {
            Form::Events(_) | Form::Agent(_) => message(&mut text, "hb", &json!({"head": head})),
            Form::OpenCode(_) => plain(
                &mut text,
                &json!({"type": "server.heartbeat", "properties": {}}),
            ),
        }
        text
    }

    /// Takes events that the reader knows.
    pub(super) fn look_at(&mut self, entries: &[Entry]) {
        match self {
            Form::Events(_) => {}
            Form::Agent(form) => form.look_at(entries),
            Form::OpenCode(out) => {
                let mut told = Vec::new();
                for entry in entries {
                    if let Some(event) = entry.event() {
                        out.push(&event, &mut told);
                    }
                    told.clear();
                }
            }
        }
    }

    /// Says the events, with the ids that `id_line` gives for them.
    ///
    /// Where an event is several messages the last has the id: a reader that is cut off between them is told all of them
    /// again, under the ids they had.
    pub(super) fn tell(
        &mut self,
        entries: &[Entry],
        id_line: &dyn Fn(u64) -> String,
        text: &mut String,
    ) {
        match self {
            Form::Events(_) => {
                for entry in entries {
                    text.push_str(&id_line(entry.seq()));
                    text.push_str("event: ev\ndata: ");
                    text.push_str(entry.line());
                    text.push_str("\n\n");
                }
            }
            Form::Agent(form) => {
                for told in form.tell(entries) {
                    if let Some(seq) = told.whole_to {
                        text.push_str(&id_line(seq));
                    }
                    plain(text, &told.event);
                }
            }
            Form::OpenCode(out) => {
                let mut told = Vec::new();
                for entry in entries {
                    let Some(event) = entry.event() else { continue };
                    out.push(&event, &mut told);
                    let n_told = told.len();
                    for (n_before, value) in told.drain(..).enumerate() {
                        if n_before + 1 == n_told {
                            text.push_str(&id_line(entry.seq()));
                        }
                        plain(text, &value);
                    }
                }
            }
        }
    }

    /// Begins anew.
    pub(super) fn forget(&mut self) {
        match self {
            Form::Events(_) => {}
            Form::Agent(form) => form.forget(),
            Form::OpenCode(out) => **out = OpenCodeOut::default(),
        }
    }
}

/// A message without a name.
fn plain(text: &mut String, data: &Value) {
    text.push_str("data: ");
    text.push_str(&data.to_string());
    text.push_str("\n\n");
}
