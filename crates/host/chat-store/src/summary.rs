//! What the list of sessions says of one, kept as its events come.

use chat_event::{ChatEvent, Payload};
use serde::Serialize;

/// One row of the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The session.
    pub id: String,
    /// Its own title, else the first line of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent's name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which normalizer read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The sandbox; by default the session is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    /// `busy`, `idle`, `retrying` or `ended`.
    pub status: String,
    /// Whether it came with the program.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sample: bool,
    /// The first event's own time, Unix epoch in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    /// When the last event was stored, Unix epoch in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_activity_ms: Option<i64>,
    /// The last event's number.
    pub head: u64,
    /// How many events are stored.
    pub events: u64,
    /// The log's epoch.
    pub epoch: String,
}

/// A title longer than this is cut: a list has one line for it.
const TITLE_CHARS: usize = 120;

impl Summary {
    pub(crate) fn new(id: &str) -> Self {
        Summary {
            id: id.to_owned(),
            status: "idle".to_owned(),
            ..Summary::default()
        }
    }

    /// Takes the next event of the log.
    pub(crate) fn take(&mut self, event: &ChatEvent) {
        if let Some(seq) = event.seq {
            self.head = self.head.max(seq);
        }
        self.events += 1;
        if self.started_ms.is_none() {
            self.started_ms = event.timestamp;
        }
        self.last_activity_ms = event.recv.or(event.timestamp).or(self.last_activity_ms);
        match &event.payload {
            Payload::SessionStart(start) => {
                replace(&mut self.agent, &start.agent);
                replace(&mut self.provider, &start.provider);
                replace(&mut self.model, &start.model);
                replace(&mut self.cwd, &start.cwd);
                replace(&mut self.sandbox_id, &start.sandbox_id);
                if let Some(title) = start.title.as_deref().and_then(first_line) {
                    self.title = Some(title);
                }
                self.sample |= start
                    .extra
                    .get("sample")
                    .is_some_and(|value| value.as_text() == "true");
                if self.status == "ended" {
                    "idle".clone_into(&mut self.status);
                }
            }
            // What a sub-agent is told is not what the session is about.
            Payload::UserMessage(message)
                if self.title.is_none() && event.parent_tool_call_id.is_none() =>
            {
                self.title = first_line(message.text.preview());
            }
            Payload::TurnStart(_) => "busy".clone_into(&mut self.status),
            Payload::TurnEnd(_) | Payload::Interrupt(_) => "idle".clone_into(&mut self.status),
            Payload::SessionEnd(_) => "ended".clone_into(&mut self.status),
            Payload::SessionStatus(status)
                if matches!(status.status.as_str(), "busy" | "idle" | "retrying") =>
            {
                self.status.clone_from(&status.status);
            }
            _ => {}
        }
    }
}

fn replace(slot: &mut Option<String>, said: &Option<String>) {
    if said.is_some() {
        slot.clone_from(said);
    }
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(match line.char_indices().nth(TITLE_CHARS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    })
}
