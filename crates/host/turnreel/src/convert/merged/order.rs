//! The order of what several sources say of one turn: what they all say tells where the rest belongs.
//!
//! Each source says what it says in order. Before an event that others have too, what they say before it is told; so a
//! source that says little does not run ahead of one that says more.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use chat_event::{ChatEvent, Payload};

/// Whether a turn of the session begins with this.
pub(super) fn begins_turn(event: &ChatEvent) -> bool {
    matches!(event.payload, Payload::TurnStart(_)) && event.parent_tool_call_id.is_none()
}

/// What a source says of a turn, as numbers.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    turn: Option<String>,
    keys: HashSet<u64>,
    words: HashSet<u64>,
}

impl Stretch {
    /// Of these events, each with what it is about.
    pub(super) fn of<'a>(events: impl Iterator<Item = &'a (ChatEvent, Option<u64>)>) -> Stretch {
        let mut stretch = Stretch::default();
        for (event, key) in events {
            if stretch.turn.is_none() && begins_turn(event) {
                stretch.turn.clone_from(&event.turn_id);
            }
            stretch.keys.extend(key);
            stretch.words.extend(words_of(event));
        }
        stretch
    }

    /// The id that the turn has in its source.
    pub(super) fn turn(&self) -> Option<String> {
        self.turn.clone()
    }

    /// Whether both have the same call, response, prompt or compaction.
    pub(super) fn shares(&self, other: &Stretch) -> bool {
        !self.keys.is_disjoint(&other.keys)
    }

    /// Whether both have the same text.
    pub(super) fn has_words_of(&self, other: &Stretch) -> bool {
        !self.words.is_disjoint(&other.words)
    }

    /// What it is about.
    pub(super) fn keys(&self) -> impl Iterator<Item = &u64> {
        self.keys.iter()
    }

    /// Whether it is about this too.
    pub(super) fn is_about(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }
}

fn key(words: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// What an event is about, by the ids that the program itself gives.
pub(super) fn key_of(event: &ChatEvent) -> Option<u64> {
    let part = |what: &str, part: Option<u32>| {
        let response = event.response_id.as_deref()?;
        Some(key(&[what, response, &part.unwrap_or(0).to_string()]))
    };
    match &event.payload {
        Payload::TurnStart(start) => {
            let prompt = start.extra.get("promptId")?;
            Some(key(&["prompt", &prompt.as_str()?]))
        }
        Payload::AssistantChunk(it) => part("text", it.part),
        Payload::AssistantDone(it) => part("text", it.part),
        Payload::ThinkingChunk(it) => part("thought", it.part),
        Payload::ThinkingDone(it) => part("thought", it.part),
        Payload::ToolCall(it) => Some(key(&["call", &it.tool_call_id])),
        Payload::ToolInputChunk(it) => Some(key(&["call", &it.tool_call_id])),
        Payload::ToolOutputChunk(it) => Some(key(&["result", &it.tool_call_id])),
        // What goes on in the background has two.
        Payload::ToolResult(it) if it.background == Some(false) => {
            Some(key(&["end", &it.tool_call_id]))
        }
        Payload::ToolResult(it) => Some(key(&["result", &it.tool_call_id])),
        Payload::FileEdit(it) => Some(key(&["edit", &it.tool_call_id, &it.file_path])),
        Payload::PermissionRequest(it) => Some(key(&["permission", it.tool_call_id.as_deref()?])),
        // What a program prints and what it stores of it have one id.
        Payload::Compaction(_) => Some(key(&["compaction", &event.id])),
        _ => None,
    }
}

/// The words of a person or of the agent.
fn words_of(event: &ChatEvent) -> Option<u64> {
    let by = event.parent_tool_call_id.as_deref().unwrap_or_default();
    match &event.payload {
        Payload::UserMessage(it) => Some(key(&["user", by, it.text.preview().trim()])),
        Payload::AssistantDone(it) => Some(key(&["agent", by, it.text.trim()])),
        Payload::ThinkingDone(it) => Some(key(&["thinking", by, it.text.trim()])),
        _ => None,
    }
}

/// What a source says of the turn, and how much of it is told.
struct Side {
    at: usize,
    events: Vec<Option<ChatEvent>>,
    keys: Vec<Vec<u64>>,
    /// Where each number stands, from the first to the last.
    places: HashMap<u64, Vec<usize>>,
    n_told: usize,
    /// It is brought up to somewhere now.
    goes: bool,
}

impl Side {
    fn of(at: usize, stretch: &Stretch, events: Vec<ChatEvent>) -> Side {
        let (start, end) = (key(&["turn begins"]), key(&["turn ends"]));
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut keys = Vec::with_capacity(events.len());
        for (n, event) in events.iter().enumerate() {
            let mut of_event: Vec<u64> = key_of(event).into_iter().chain(words_of(event)).collect();
            let is_own = event.turn_id == stretch.turn && event.parent_tool_call_id.is_none();
            match event.payload {
                Payload::TurnStart(_) if is_own => of_event.push(start),
                Payload::TurnEnd(_) if is_own => of_event.push(end),
                _ => {}
            }
            for key in &of_event {
                places.entry(*key).or_default().push(n);
            }
            keys.push(of_event);
        }
        Side {
            at,
            events: events.into_iter().map(Some).collect(),
            keys,
            places,
            n_told: 0,
            goes: false,
        }
    }

    /// Where it says, of what is not told yet, what has one of these numbers.
    fn place_of(&self, keys: &[u64]) -> Option<usize> {
        let places = keys.iter().filter_map(|key| {
            let places = self.places.get(key)?;
            let next = places.partition_point(|place| *place < self.n_told);
            places.get(next).copied()
        });
        places.min()
    }

    /// Where the prompt stands, if nothing was done before it.
    fn prompt(&self) -> Option<usize> {
        let rest = self.events.iter().enumerate().skip(self.n_told);
        for (n, event) in rest {
            match event.as_ref().map(|event| &event.payload) {
                Some(Payload::UserMessage(_)) => return Some(n),
                Some(
                    Payload::SessionStart(_)
                    | Payload::SessionStatus(_)
                    | Payload::TurnStart(_)
                    | Payload::Notice(_)
                    | Payload::Progress(_),
                ) => {}
                _ => return None,
            }
        }
        None
    }
}

/// The events of one turn in the order in which they are told, each with its source.
pub(super) fn side_by_side(
    mut sources: Vec<(usize, Stretch, Vec<ChatEvent>)>,
) -> Vec<(usize, ChatEvent)> {
    // Where they disagree, who says most is followed, whichever was named first.
    sources.sort_by_key(|(_, _, events)| std::cmp::Reverse(events.len()));
    let mut sides: Vec<Side> = sources
        .into_iter()
        .map(|(at, stretch, events)| Side::of(at, &stretch, events))
        .collect();
    let mut told = Vec::new();
    for n in 0..sides.len() {
        let until = sides.get(n).map_or(0, |side| side.events.len());
        go(&mut sides, n, until, &mut told);
    }
    told
}

/// Tells of one side what stands before `until`, and of the others what comes before that.
fn go(sides: &mut [Side], one: usize, until: usize, told: &mut Vec<(usize, ChatEvent)>) {
    let Some(side) = sides.get_mut(one).filter(|side| !side.goes) else {
        return;
    };
    side.goes = true;
    while let Some(side) = sides.get(one).filter(|side| side.n_told < until) {
        let keys = side.keys.get(side.n_told).cloned().unwrap_or_default();
        for other in 0..sides.len() {
            let place = sides.get(other).and_then(|side| side.place_of(&keys));
            if let Some(place) = place.filter(|_| other != one) {
                // Of what both say, that counts which says more.
                let says_more = says_more(sides, (other, place), one);
                go(sides, other, place + usize::from(says_more), told);
            }
        }
        tell(sides, one, told);
        let begins = told.last().is_some_and(|(_, event)| begins_turn(event));
        for other in (0..sides.len()).filter(|other| *other != one) {
            // The others say it at once: who knows it best is not for the order.
            let says_it = sides.get(other).is_some_and(|side| {
                !side.goes && !keys.is_empty() && side.place_of(&keys) == Some(side.n_told)
            });
            if says_it {
                tell(sides, other, told);
            }
            // A prompt stands before what is done about it.
            if let Some(place) = sides.get(other).filter(|_| begins).and_then(Side::prompt) {
                go(sides, other, place + 1, told);
            }
        }
    }
    if let Some(side) = sides.get_mut(one) {
        side.goes = false;
    }
}

/// Whether what one side says there says more than what another one says next.
fn says_more(sides: &[Side], (one, place): (usize, usize), other: usize) -> bool {
    let said = |side: usize, place: Option<usize>| {
        let side = sides.get(side)?;
        let event = side.events.get(place.unwrap_or(side.n_told))?.as_ref()?;
        let payload = serde_json::to_string(&event.payload).unwrap_or_default();
        Some((event.response_id.is_some(), payload.len()))
    };
    said(one, Some(place)) > said(other, None)
}

fn tell(sides: &mut [Side], one: usize, told: &mut Vec<(usize, ChatEvent)>) {
    if let Some(side) = sides.get_mut(one) {
        let event = side.events.get_mut(side.n_told).and_then(Option::take);
        side.n_told += 1;
        told.extend(event.map(|event| (side.at, event)));
    }
}
