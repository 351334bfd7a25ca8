//! Masks the events of a session as they come, before they are stored.

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload, stable_hash};

use super::answers::Answers;
use super::find::{Found, Rank, apart, find};
use super::flow::{Flow, Look, label_of};
use super::flows::Flows;
use super::known::Known;
use super::labels::Labels;
use super::line::{self, Text};
use super::masker::{MOST_ROUNDS, UNRESTING};
use super::parts::piece_of;
use super::plan::{found_in, read};
use super::write::replaced;

/// So many secrets of a session are looked for where nothing tells them.
const MOST_KNOWN: usize = 1_000;

/// Masks the secrets of a session while it goes on. What is masked is gone: there is no second look.
///
/// Each event comes out as one of the same id, in its order; before it there may be some that bring what was held back of
/// others. Of a text that comes in pieces the last word waits until it is whole, and what waits is told by
/// [`LiveMasker::finish`] where nothing follows. The same value has the same label everywhere, and so have all others of its kind: labels
/// say the kind alone.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::mask::LiveMasker;
/// let mut masker = LiveMasker::new();
/// let mut said = String::new();
/// for piece in ["export API_TOKEN=s3cr", "3t9x7q and", " go"] {
///     let line = format!(r#"{{"id":"e","timestamp":1,"sessionId":"s","type":"tool_output_chunk","payload":{{"toolCallId":"c","chunk":"{piece}"}}}}"#);
///     for event in masker.push(ChatEvent::from_json(&line).unwrap()) {
///         let chat_event::Payload::ToolOutputChunk(chunk) = event.payload else { panic!() };
///         said.push_str(&chunk.chunk);
///     }
/// }
/// assert_eq!(said, "export API_TOKEN=[masked: secret] and ");
/// assert!(masker.holds());
/// ```
#[derive(Debug, Default)]
pub struct LiveMasker {
    flows: Flows,
    finder: Finder,
}

/// A text that is of no event, in pieces: a body that is kept beside the log.
///
/// ```
/// use chat_feed::mask::TextMasker;
/// let mut masker = TextMasker::default();
/// let mut kept = masker.push("password: hunter2");
/// kept += &masker.push("x!\n");
/// kept += &masker.finish();
/// assert_eq!(kept, "password: [masked: password]\n");
/// ```
#[derive(Debug, Default)]
pub struct TextMasker {
    flow: Flow,
    finder: Finder,
}

impl TextMasker {
    /// Takes the next piece, and gives what can be given by now.
    pub fn push(&mut self, piece: &str) -> String {
        self.flow.push(piece, &mut self.finder)
    }

    /// What waits: nothing follows, or what is no text.
    pub fn finish(&mut self) -> String {
        self.flow.finish(&mut self.finder)
    }

    /// How often something was masked, by its kind.
    pub fn masked(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.finder.masked.iter().map(|(kind, n)| (*kind, *n))
    }
}

/// What finds secrets, and knows those of the session.
#[derive(Debug, Default)]
struct Finder {
    answers: Answers,
    labels: Labels,
    known: Option<Known>,
    masked: BTreeMap<&'static str, u64>,
}

impl LiveMasker {
    /// A masker of a session of which nothing came yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event that is stored already, where the session began before: who asks for secrets, and which texts are not
    /// whole yet.
    pub fn resume(&mut self, stored: &ChatEvent) {
        self.finder.answers.note(stored);
        if piece_of(stored).is_some() {
            self.flows.resume(stored);
        } else {
            self.flows.forget_whole_of(stored);
            if let Some(ends) = ended_by(stored) {
                self.flows.forget(ends);
            }
        }
    }

    /// The name of an event as it is stored: some hold secrets.
    pub fn id(&self, id: &str) -> Option<String> {
        let found = self.finder.in_id(id);
        let stretches = found.iter().map(|found| (&found.range, id_label(found)));
        (!found.is_empty()).then(|| replaced(id, &read(id), stretches))
    }

    /// The event as it is to be stored, the last of these; others before it bring what waited.
    pub fn push(&mut self, event: ChatEvent) -> Vec<ChatEvent> {
        self.finder.answers.note(&event);
        if piece_of(&event).is_some() {
            let event = self.finder.event(event, true);
            return self.flows.push(event, &mut self.finder);
        }
        let says_all = matches!(
            event.payload,
            Payload::AssistantDone(_) | Payload::ThinkingDone(_) | Payload::ToolCall(_)
        );
        let mut events = Vec::new();
        if says_all {
            self.flows.forget_whole_of(&event);
        } else if let Some(ends) = ended_by(&event) {
            events = self.flows.finish(&ends, &mut self.finder);
            self.flows.forget(&ends);
        }
        events.push(self.finder.event(event, false));
        events
    }

    /// Whether a part of some text waits for what follows.
    pub fn holds(&self) -> bool {
        self.flows.hold()
    }

    /// What waits, where nothing will follow.
    pub fn finish(&mut self) -> Vec<ChatEvent> {
        self.flows.finish(|_| true, &mut self.finder)
    }

    /// What waits, where nothing followed for long. Texts may go on behind it; a word that may be half of a secret is masked.
    pub fn pause(&mut self) -> Vec<ChatEvent> {
        self.flows.pause(&mut self.finder)
    }

    /// How often something was masked, by its kind.
    pub fn masked(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.finder.masked.iter().map(|(kind, n)| (*kind, *n))
    }
}

/// Whose texts an event ends.
fn ended_by(event: &ChatEvent) -> Option<Box<dyn Fn(&ChatEvent) -> bool + '_>> {
    match &event.payload {
        Payload::ToolResult(result) => {
            let of_call = |piece: &ChatEvent| match &piece.payload {
                Payload::ToolOutputChunk(chunk) => chunk.tool_call_id == result.tool_call_id,
                _ => false,
            };
            Some(Box::new(of_call))
        }
        Payload::TurnStart(_)
        | Payload::TurnEnd(_)
        | Payload::Interrupt(_)
        | Payload::ErrorEvent(_) => {
            let turn = event.turn_id.as_ref();
            let of_turn = move |piece: &ChatEvent| {
                let is_other = matches!(event.payload, Payload::TurnStart(_));
                let is_same = piece.turn_id.as_ref() == turn;
                // Another turn of the same agent begins where this one has ended.
                turn.is_none() || is_same != is_other && piece.agent_id == event.agent_id
            };
            Some(Box::new(of_turn))
        }
        Payload::SessionEnd(_) => Some(Box::new(|_| true)),
        _ => None,
    }
}

/// As ids are written, which have fewer characters. Two that are masked are still told from each other.
fn id_label(found: &Found) -> String {
    let kind = found
        .kind
        .replace(|char: char| !char.is_ascii_alphanumeric(), "-");
    let hash = stable_hash(found.value.as_bytes()) & 0xffff_ffff;
    format!("masked-{kind}-{hash:08x}")
}

impl Finder {
    fn in_id(&self, id: &str) -> Vec<Found> {
        let mut all = find(id);
        all.retain(|found| found.rank == Rank::Shape);
        apart(all)
    }

    /// The event with labels in its strings; but for the piece that it brings, which is a part of a text.
    fn event(&mut self, event: ChatEvent, but_piece: bool) -> ChatEvent {
        let as_texts = self.answers.as_texts(&event).into_owned();
        let field = piece_of(&event)
            .map(|(field, _)| field)
            .filter(|_| but_piece);
        let line = as_texts.to_line();
        let changed = line::change(&line, &mut |text| {
            let is_session = text.path.len() == 1 && text.path[0] == "sessionId";
            if is_session || super::plan::is_piece(text, field) {
                return None;
            }
            self.string(text)
        });
        match changed {
            // With strings in the place of strings it is an event, if another one.
            Some(line) => ChatEvent::from_json(&line).unwrap_or_else(|_| unreadable(&event)),
            None => event,
        }
    }

    fn string(&mut self, text: &Text<'_>) -> Option<String> {
        let mut changed: Option<String> = None;
        for _ in 0..MOST_ROUNDS {
            let now = Text {
                raw: changed.as_deref().unwrap_or(text.raw),
                ..*text
            };
            let read = read(now.raw);
            let context = (&self.labels, &self.answers);
            let mut all = found_in(&now, &read, self.known.as_ref(), context);
            all.retain(|found| found.rank > Rank::Personal);
            let all = apart(all);
            if all.is_empty() {
                return changed;
            }
            let label = |found: &Found| match now.is_id() {
                true => id_label(found),
                false => label_of(found.kind),
            };
            let stretches = all.iter().map(|found| (&found.range, label(found)));
            let replaced = replaced(now.raw, &read, stretches);
            all.iter().for_each(|found| self.note(found));
            changed = Some(replaced);
        }
        // What cannot be brought to rest is not written.
        Some(UNRESTING.to_owned())
    }
}

impl Look for Finder {
    fn find(&self, text: &str) -> Vec<Found> {
        let mut all = find(text);
        if let Some(known) = &self.known {
            known.find(text, &self.labels, &mut all);
        }
        all.retain(|found| found.rank > Rank::Personal);
        apart(all)
    }

    /// It is looked for from now on where nothing tells it.
    fn note(&mut self, found: &Found) {
        *self.masked.entry(found.kind).or_insert(0) += 1;
        let n_known = self.labels.all().len();
        if n_known >= MOST_KNOWN {
            return;
        }
        self.labels.of(found);
        if self.labels.all().len() > n_known {
            self.known = Some(Known::new(&self.labels, |_| true));
        }
    }
}

/// What is stored of an event that is none any more once it is masked.
fn unreadable(event: &ChatEvent) -> ChatEvent {
    let payload = chat_event::payload::Raw {
        format: "masked".to_owned(),
        value: chat_event::Json::from(&serde_json::Value::from(UNRESTING)),
        ..chat_event::payload::Raw::default()
    };
    let mut stored = event.clone();
    stored.payload = payload.into();
    stored.extra = chat_event::Extra::default();
    stored
}
