//! The texts of a session that come in pieces, each masked by itself while it comes.

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};

use super::flow::{Flow, HALF, Look, ends_word, label_of};
use super::parts::{Whole, piece_of};

/// Ids have at most 128 bytes.
const LONGEST_NAMED: usize = 128 - ":rest".len();

/// Texts that may be open beside each other; the oldest is taken to have ended where there are more.
const MOST_OPEN: usize = 256;

/// Which text it is, its part, and which of several that are shown as one.
type Name = (Whole, Option<u32>, String);

/// One text, and the last event that brought something of it.
#[derive(Clone, Debug)]
struct Open {
    flow: Flow,
    last: ChatEvent,
    /// The number that the next piece has; `None` where they have none.
    next: Option<u64>,
    /// How many characters came, where it is known.
    n_chars: Option<u64>,
    /// When it was pushed to last: as a count of all pieces, and of looks at what waits.
    at: u64,
    looked: u64,
    /// What came before the next piece is lost, or is yet to come: its first word may be half of one.
    is_torn: bool,
}

/// The open texts of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    open: BTreeMap<Name, Open>,
    n_pieces: u64,
    n_looks: u64,
}

impl Flows {
    /// Whether something waits to be given.
    pub(super) fn hold(&self) -> bool {
        self.open.values().any(|open| open.flow.holds())
    }

    /// A piece that is in the log, of a text that may go on: what was held of it is lost.
    pub(super) fn resume(&mut self, event: &ChatEvent) {
        let (Some(name), Some((_, text))) = (name_of(event), piece_of(event)) else {
            return;
        };
        let before = self.open.remove(&name);
        let given = before.map(|open| open.flow.into_text()).unwrap_or_default() + text;
        let mut open = self.opened(event, Flow::behind(&given));
        open.next = index_of(event).and_then(|index| index.checked_add(1));
        open.n_chars = None;
        // Words that waited did so at their beginning, or a label stands in their place.
        open.is_torn = given.is_empty() || given.ends_with(|char| ends_word(char) || char == ']');
        self.open.insert(name, open);
    }

    /// The piece as it may be given now, and before it what others have to give that are taken to have ended.
    pub(super) fn push(
        &mut self,
        mut event: ChatEvent,
        text: String,
        look: &mut dyn Look,
    ) -> Vec<ChatEvent> {
        let Some(name) = name_of(&event) else {
            set_text(&mut event, text);
            return vec![event];
        };
        let mut events = self.make_room(&name, look);
        let index = index_of(&event);
        let is_first = !self.open.contains_key(&name);
        let mut open = match self.open.remove(&name) {
            Some(open) => open,
            None => self.opened(&event, Flow::default()),
        };
        // Some begin with 1.
        open.is_torn |= is_first && index > Some(1);
        let is_late = open
            .next
            .zip(index)
            .is_some_and(|(next, index)| index < next);
        if is_late {
            // It stands between others: its first and last words may be halves.
            set_text(&mut event, alone(&text, look));
            self.open.insert(name, open);
            events.push(event);
            return events;
        }
        let (text, hole) = open.in_place(&mut event, &text);
        let is_early = open
            .next
            .zip(index)
            .is_some_and(|(next, index)| index > next);
        let mut given = String::new();
        if hole || is_early {
            given = open.flow.pause(look);
            open.flow = Flow::default();
            open.is_torn = true;
        }
        if hole {
            given.push('…');
        }
        open.next = index.and_then(|index| index.checked_add(1));
        if std::mem::take(&mut open.is_torn) {
            given += &open.flow.tear(&text);
        }
        given += &open.flow.push(&text, look);
        self.n_pieces += 1;
        open.at = self.n_pieces;
        open.looked = self.n_looks;
        // Without its text, which may be long.
        open.last = event.clone();
        self.open.insert(name, open);
        set_text(&mut event, given);
        events.push(event);
        events
    }

    /// The event says what a text was: what waits of it is in there.
    pub(super) fn forget_whole_of(&mut self, event: &ChatEvent) {
        let Some((whole, _)) = Whole::of(event) else {
            return;
        };
        let part = part_of(event);
        self.open
            .retain(|(of, its_part, _), _| *of != whole || (part.is_some() && *its_part != part));
    }

    /// What waits of the texts that these events are the last of.
    pub(super) fn finish(
        &mut self,
        ends: impl Fn(&ChatEvent) -> bool,
        look: &mut dyn Look,
    ) -> Vec<ChatEvent> {
        self.each_rest(|open| ends(&open.last), &mut |flow| flow.finish(look))
    }

    /// Looks at what waits: whether some of it did so often before.
    pub(super) fn look(&mut self, often: u64) -> bool {
        self.n_looks += 1;
        let n_looks = self.n_looks;
        let mut open = self.open.values();
        open.any(|open| open.flow.holds() && n_looks - open.looked > often)
    }

    /// What waits of texts of which nothing came for so many looks; they may go on.
    pub(super) fn pause(&mut self, often: u64, look: &mut dyn Look) -> Vec<ChatEvent> {
        let n_looks = self.n_looks;
        let waits = |open: &Open| n_looks - open.looked >= often;
        self.each_rest(waits, &mut |flow| flow.pause(look))
    }

    fn each_rest(
        &mut self,
        which: impl Fn(&Open) -> bool,
        rest: &mut dyn FnMut(&mut Flow) -> String,
    ) -> Vec<ChatEvent> {
        let open = self.open.values_mut();
        let mut open: Vec<_> = open.filter(|open| which(open)).collect();
        open.sort_by_key(|open| open.at);
        open.into_iter()
            .filter_map(|open| open.rest(rest))
            .collect()
    }

    /// Forgets texts of which nothing waits.
    pub(super) fn forget(&mut self, which: impl Fn(&ChatEvent) -> bool) {
        self.open
            .retain(|_, open| open.flow.holds() || !which(&open.last));
    }

    fn opened(&self, event: &ChatEvent, flow: Flow) -> Open {
        Open {
            flow,
            last: event.clone(),
            next: None,
            n_chars: Some(0),
            at: self.n_pieces,
            looked: self.n_looks,
            is_torn: false,
        }
    }

    fn make_room(&mut self, name: &Name, look: &mut dyn Look) -> Vec<ChatEvent> {
        if self.open.len() < MOST_OPEN || self.open.contains_key(name) {
            return Vec::new();
        }
        // Best one of which nothing waits.
        let open = self.open.iter();
        let oldest = open.min_by_key(|(_, open)| (open.flow.holds(), open.at));
        let oldest = oldest.map(|(name, _)| name.clone());
        let oldest = oldest.and_then(|name| self.open.remove(&name));
        let rest = oldest.and_then(|mut open| open.rest(&mut |flow| flow.pause(look)));
        rest.into_iter().collect()
    }
}

impl Open {
    /// What of a piece is new, behind what came before, and whether there is a hole before it. The piece says no more where it
    /// stands: what is given stands elsewhere.
    fn in_place(&mut self, event: &mut ChatEvent, text: &str) -> (String, bool) {
        let n_chars = text.chars().count() as u64;
        let offset = match &mut event.payload {
            Payload::ToolInputChunk(chunk) => chunk.offset.take(),
            _ => None,
        };
        let (Some(offset), Some(have)) = (offset, self.n_chars) else {
            self.n_chars = self.n_chars.map(|have| have.saturating_add(n_chars));
            return (text.to_owned(), false);
        };
        self.n_chars = Some(have.max(offset.saturating_add(n_chars)));
        let n_known = usize::try_from(have.saturating_sub(offset)).unwrap_or(usize::MAX);
        (text.chars().skip(n_known).collect(), offset > have)
    }

    /// What waits, as an event of its own.
    fn rest(&mut self, rest: &mut dyn FnMut(&mut Flow) -> String) -> Option<ChatEvent> {
        if !self.flow.holds() {
            return None;
        }
        let text = rest(&mut self.flow);
        let mut event = self.last.clone();
        // Told again, it is the same; where the name were too long, who keeps it names it.
        event.id = match event.id.len() {
            1..=LONGEST_NAMED => format!("{}:rest", event.id),
            _ => String::new(),
        };
        event.extra = chat_event::Extra::default();
        match &mut event.payload {
            Payload::AssistantChunk(chunk) => chunk.index = None,
            Payload::ThinkingChunk(chunk) => chunk.index = None,
            _ => {}
        }
        let is_empty = text.is_empty();
        set_text(&mut event, text);
        (!is_empty).then_some(event)
    }
}

fn name_of(event: &ChatEvent) -> Option<Name> {
    let (whole, is_piece) = Whole::of(event)?;
    let stream = match &event.payload {
        Payload::ToolOutputChunk(chunk) => chunk.stream.clone(),
        _ => None,
    };
    is_piece.then(|| (whole, part_of(event), stream.unwrap_or_default()))
}

fn part_of(event: &ChatEvent) -> Option<u32> {
    match &event.payload {
        Payload::AssistantChunk(chunk) => chunk.part,
        Payload::AssistantDone(done) => done.part,
        Payload::ThinkingChunk(chunk) => chunk.part,
        Payload::ThinkingDone(done) => done.part,
        _ => None,
    }
}

fn index_of(event: &ChatEvent) -> Option<u64> {
    match &event.payload {
        Payload::AssistantChunk(chunk) => chunk.index,
        Payload::ThinkingChunk(chunk) => chunk.index,
        _ => None,
    }
}

/// Takes the piece out of the event.
pub(super) fn take_text(event: &mut ChatEvent) -> Option<String> {
    Some(std::mem::take(match &mut event.payload {
        Payload::AssistantChunk(chunk) => &mut chunk.text,
        Payload::ThinkingChunk(chunk) => &mut chunk.text,
        Payload::ToolInputChunk(chunk) => &mut chunk.chunk,
        Payload::ToolOutputChunk(chunk) => &mut chunk.chunk,
        _ => return None,
    }))
}

pub(super) fn set_text(event: &mut ChatEvent, text: String) {
    match &mut event.payload {
        Payload::AssistantChunk(chunk) => chunk.text = text,
        Payload::ThinkingChunk(chunk) => chunk.text = text,
        Payload::ToolInputChunk(chunk) => chunk.chunk = text,
        Payload::ToolOutputChunk(chunk) => chunk.chunk = text,
        _ => {}
    }
}

/// A piece by itself, its first and its last word masked: they may be the halves of a secret.
fn alone(text: &str, look: &mut dyn Look) -> String {
    let first = text.find(ends_word).unwrap_or(text.len());
    let (first, rest) = text.split_at(first);
    let last = rest.rfind(ends_word).unwrap_or(0);
    let space = rest[last..].chars().next().map_or(0, char::len_utf8);
    let (middle, last) = rest.split_at(last + space);
    let middle = Flow::default().push_all(middle, look);
    format!("{}{middle}{}", half(first), half(last))
}

/// What stands in the place of a word that may be half of a secret.
fn half(word: &str) -> String {
    match word.is_empty() {
        true => String::new(),
        false => label_of(HALF),
    }
}
