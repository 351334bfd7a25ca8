//! Masks the events of a session as they come, before they are stored.

use std::collections::BTreeMap;

use chat_event::compaction::Folded;
use chat_event::{ChatEvent, Payload};

use super::finder::{Finder, id_label};
use super::flows::{Flows, take_text};
use super::parts::piece_of;
use super::plan::read;
use super::write::replaced;

/// Masks the secrets of a session while it goes on. What is masked is gone: there is no second look.
///
/// Each event comes out as one of the same id, in its order; before it there may be some that bring what was held back of
/// others. Of a text that comes in pieces the last word waits until it is whole, and what waits is told by
/// [`LiveMasker::finish`] where nothing follows. Labels say the kind alone, so that an event is the same whenever it comes.
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
            if says_all(stored) {
                self.flows.forget_whole_of(stored);
            }
            self.flows.forget(|piece| end(stored, piece) == End::Whole);
        }
    }

    /// The name of an event as it is stored: some hold secrets.
    pub fn id(&self, id: &str) -> Option<String> {
        let found = self.finder.in_id(id);
        let stretches = found.iter().map(|found| (&found.range, id_label(found)));
        (!found.is_empty()).then(|| replaced(id, &read(id), stretches))
    }

    /// The event as it is to be stored, the last of these; others before it bring what waited.
    pub fn push(&mut self, mut event: ChatEvent) -> Vec<ChatEvent> {
        // Others were folded into it, and are what it is apart; a short line may stand for more than memory holds, and is masked
        // as the line it is.
        let folded = Folded::of(&event).filter(|folded| folded.n_bytes() <= Folded::MOST_BYTES);
        if let Some(folded) = folded {
            return folded.events().flat_map(|event| self.push(event)).collect();
        }
        self.finder.answers.note(&event);
        if let Some(text) = take_text(&mut event) {
            // What it says beside is looked at as in any other event.
            let event = self.finder.event(event);
            return self.flows.push(event, text, &mut self.finder);
        }
        // Its ids are those of the pieces, which were masked.
        let event = self.finder.event(event);
        let mut events = Vec::new();
        if says_all(&event) {
            self.flows.forget_whole_of(&event);
        } else {
            let ends = |piece: &ChatEvent| end(&event, piece) != End::None;
            events = self.flows.finish(ends, &mut self.finder);
            self.flows.forget(|piece| end(&event, piece) == End::Whole);
        }
        events.push(event);
        events
    }

    /// What waits now, to come back to where what is pushed from here on is not stored: [`LiveMasker::go_back`].
    pub fn place(&self) -> Place {
        Place(self.flows.clone())
    }

    /// What was pushed since was not stored, and comes again.
    pub fn go_back(&mut self, place: Place) {
        self.flows = place.0;
    }

    /// Whether a part of some text waits for what follows.
    pub fn holds(&self) -> bool {
        self.flows.hold()
    }

    /// What waits, where nothing will follow.
    pub fn finish(&mut self) -> Vec<ChatEvent> {
        self.flows.finish(|_| true, &mut self.finder)
    }

    /// Looks at what waits, as it is done from time to time; whether something was looked at so often before and nothing of it
    /// came since.
    pub fn look(&mut self, often: u64) -> bool {
        self.flows.look(often)
    }

    /// What waits, and was looked at so often. Texts may go on behind it; a word that may be half of a secret is masked.
    pub fn pause(&mut self, often: u64) -> Vec<ChatEvent> {
        self.flows.pause(often, &mut self.finder)
    }

    /// How often something was masked since this was last asked, by its kind.
    pub fn take_masked(&mut self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.finder.masked)
    }
}

/// What waited at some moment.
#[derive(Debug)]
pub struct Place(Flows);

/// What an event is to a text of which a piece is the last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It goes on.
    None,
    /// Nothing of it comes any more, but for what is late.
    Turn,
    /// Nothing does.
    Whole,
}

fn end(event: &ChatEvent, piece: &ChatEvent) -> End {
    let is_output = matches!(piece.payload, Payload::ToolOutputChunk(_));
    let is_agents = piece.agent_id == event.agent_id;
    let is_turns = event.turn_id.is_none() || piece.turn_id == event.turn_id;
    match (&event.payload, &piece.payload) {
        (Payload::ToolResult(result), Payload::ToolOutputChunk(chunk))
            if chunk.tool_call_id == result.tool_call_id =>
        {
            End::Whole
        }
        (Payload::SessionEnd(_), _) => End::Whole,
        // What runs behind a turn's end prints on.
        _ if is_output => End::None,
        (Payload::TurnStart(_), _) if is_agents && piece.turn_id != event.turn_id => End::Whole,
        (Payload::Interrupt(_), _) if piece.parent_tool_call_id != event.parent_tool_call_id => {
            End::None
        }
        (Payload::TurnEnd(_) | Payload::Interrupt(_), _) if is_agents && is_turns => End::Turn,
        _ => End::None,
    }
}

/// Whether an event says what the pieces of its text said: what waits of them is in there.
fn says_all(event: &ChatEvent) -> bool {
    match &event.payload {
        Payload::AssistantDone(done) => !done.text.is_empty(),
        Payload::ThinkingDone(done) => !done.text.is_empty(),
        Payload::ToolCall(call) => !call.args.is_null(),
        _ => false,
    }
}
