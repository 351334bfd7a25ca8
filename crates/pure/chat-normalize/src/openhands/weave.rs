//! A conversation's folder as lines for a reader: each event is a file of its own, and so are those of the agents that its
//! calls start, in conversations of their own below it.
//!
//! Nothing names the call that a conversation below works for. It begins with the words of the call, between the call and
//! its result; `resume` goes on in it for another call. So their events are told by their times:
//!
//! | the oldest event that was not told | what is done |
//! |---|---|
//! | is the session's own, or of an agent whose call waits | told |
//! | is of an agent without a call, and a call with its words waits, or one alone does | told, for that call |
//! | the same, and others went on since, or nothing more comes | told, for no call |
//! | the same, and it is all that is new | it waits |
//!
//! What the state says ([`OpenHandsState`]) stands in no event of the program's, but in those of its server: it is told in
//! their form.

mod state;

use serde_json::{Value, json};

use super::tools;
use crate::value::{str_of, text_of, text_of_blocks};
pub use state::OpenHandsState;

/// What stands in the lines beside what the program wrote.
pub(super) struct WeaveLine;

impl WeaveLine {
    /// The agent whose event it is: `{id, by?, call?}`.
    pub(super) const AGENT: &str = "$agent";
    /// What stands behind times that name no zone: `+02:00`.
    pub(super) const ZONE: &str = "$zone";
}

/// So many conversations of one session are told apart, and so many calls of one wait.
const MOST: usize = 1000;

/// The events of a session's conversations on their way to the lines of one.
///
/// ```
/// use chat_normalize::OpenHandsWeave;
/// let mut weave = OpenHandsWeave::new();
/// while let Some(of) = weave.wants() {
///     assert_eq!(of, 0);
///     weave.has_no_more(of);
/// }
/// assert_eq!(weave.next(true), None);
/// ```
#[derive(Debug)]
pub struct OpenHandsWeave {
    talks: Vec<Talk>,
    /// The time of the last line, as the program writes it.
    time: String,
}

/// One conversation.
#[derive(Debug, Default)]
struct Talk {
    /// Its folder's name; empty for the session's own.
    name: String,
    /// Whose call it works for.
    by: usize,
    next: Option<Event>,
    /// There is nothing more of it for now.
    rests: bool,
    /// The call that it works for.
    call: Option<String>,
    /// It works for none, as far as that can be told.
    is_apart: bool,
    /// Calls for agents that wait: their ids, and what they say.
    calls: Vec<(String, String)>,
}

#[derive(Debug)]
struct Event {
    text: String,
    time: String,
    value: Value,
}

impl Default for OpenHandsWeave {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenHandsWeave {
    /// The session's own conversation is there, by the number 0.
    pub fn new() -> Self {
        OpenHandsWeave {
            talks: vec![Talk::default()],
            time: String::new(),
        }
    }

    /// There is a conversation of this name below the one of the number `by`; its number. `None` where there are too many.
    pub fn add(&mut self, name: &str, by: usize) -> Option<usize> {
        let number = self.talks.len();
        if number >= MOST || by >= number {
            return None;
        }
        self.talks.push(Talk {
            name: name.to_owned(),
            by,
            ..Talk::default()
        });
        Some(number)
    }

    /// The conversation whose next event is to be given, by its number.
    pub fn wants(&self) -> Option<usize> {
        let wants = |talk: &Talk| talk.next.is_none() && !talk.rests;
        self.talks.iter().position(wants)
    }

    /// The next event of a conversation, as its file has it.
    pub fn give(&mut self, number: usize, text: &str) {
        let time = self.time.clone();
        let Some(talk) = self.talks.get_mut(number) else {
            return;
        };
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        // The words that it begins with tell whose it is; before them stands what the model is told of itself.
        let is_before = str_of(&value, "kind") == Some("SystemPromptEvent") && number > 0;
        if is_before {
            return;
        }
        let text = match value.is_object() && text.contains(['\n', '\r']) {
            true => value.to_string(),
            false => text.trim().replace(['\n', '\r'], " "),
        };
        talk.next = Some(Event {
            time: text_of(&value, "timestamp").map_or(time, str::to_owned),
            text,
            value,
        });
    }

    /// There is nothing more of a conversation, for now.
    pub fn has_no_more(&mut self, number: usize) {
        if let Some(talk) = self.talks.get_mut(number) {
            talk.rests = true;
        }
    }

    /// There may be more of all of them.
    pub fn look_again(&mut self) {
        for talk in &mut self.talks {
            talk.rests = false;
        }
    }

    /// The time of the next line, or of the last one, as the program writes it.
    pub fn time(&self) -> &str {
        let next = self.talks.iter().find_map(|talk| talk.next.as_ref());
        match next {
            Some(event) if self.time.is_empty() => &event.time,
            _ => &self.time,
        }
    }

    /// The next line, without its end, once nothing is wanted; `at_end` where nothing more will come.
    pub fn next(&mut self, at_end: bool) -> Option<String> {
        loop {
            let number = self.oldest()?;
            if number == 0 || self.has_call(number) || self.talks.get(number)?.is_apart {
                return self.tell(number);
            }
            if self.find_call(number) {
                continue;
            }
            let others = self
                .talks
                .iter()
                .enumerate()
                .filter(|(nth, _)| *nth != number);
            let is_alone = !others.into_iter().any(|(_, talk)| talk.next.is_some());
            if !at_end && is_alone {
                // What its caller says next may be the call. All that others say is younger.
                return None;
            }
            let talk = self.talks.get_mut(number)?;
            talk.call = None;
            talk.is_apart = true;
        }
    }

    /// Whether the next line is the session's own next event, as far as it is given.
    pub fn is_own_next(&self) -> bool {
        self.oldest() == Some(0)
    }

    /// The conversation with the oldest event; of two as old, the one farther below.
    fn oldest(&self) -> Option<usize> {
        let with_next = self.talks.iter().enumerate().rev();
        let with_next = with_next.filter_map(|(nth, talk)| Some((nth, talk.next.as_ref()?)));
        with_next
            .min_by(|(_, one), (_, other)| one.time.cmp(&other.time))
            .map(|(nth, _)| nth)
    }

    /// Whether the call that a conversation works for waits.
    fn has_call(&self, number: usize) -> bool {
        let waits = |talk: &Talk| {
            let call = talk.call.as_ref()?;
            let by = self.talks.get(talk.by)?;
            Some(by.calls.iter().any(|(id, _)| id == call))
        };
        self.talks.get(number).and_then(waits) == Some(true)
    }

    /// Looks which call the next event of a conversation begins with.
    fn find_call(&mut self, number: usize) -> bool {
        let Some(talk) = self.talks.get(number) else {
            return false;
        };
        let Some(by) = self.talks.get(talk.by) else {
            return false;
        };
        let taken = |id: &String| {
            let mut others = self.talks.iter().filter(|other| other.by == talk.by);
            others.any(|other| other.call.as_ref() == Some(id))
        };
        let free: Vec<&(String, String)> = by.calls.iter().filter(|(id, _)| !taken(id)).collect();
        let message = talk
            .next
            .as_ref()
            .and_then(|it| it.value.get("llm_message"));
        let words = message.map(|message| text_of_blocks(message.get("content")));
        let same = free.iter().find(|(_, said)| Some(said) == words.as_ref());
        let alone = || free.first().filter(|_| free.len() == 1);
        let Some((id, _)) = same.or_else(alone) else {
            return false;
        };
        let id = id.clone();
        if let Some(talk) = self.talks.get_mut(number) {
            talk.call = Some(id);
            talk.is_apart = false;
        }
        true
    }

    fn tell(&mut self, number: usize) -> Option<String> {
        let talk = self.talks.get_mut(number)?;
        let event = talk.next.take()?;
        talk.note_call(&event.value);
        let (name, call, by) = (talk.name.clone(), talk.call.clone(), talk.by);
        self.time = event.time;
        if number == 0 {
            return Some(event.text);
        }
        let mut mark = json!({"id": name});
        if let Some(call) = call {
            mark["call"] = call.into();
        }
        if by > 0 {
            mark["by"] = self.talks.get(by)?.name.clone().into();
        }
        let Some(members) = event.text.strip_prefix('{') else {
            return Some(event.text);
        };
        Some(format!("{{\"{}\":{mark},{members}", WeaveLine::AGENT))
    }
}

impl Talk {
    /// Takes note of a call for an agent, or of its result.
    fn note_call(&mut self, event: &Value) {
        let Some(id) = text_of(event, "tool_call_id") else {
            return;
        };
        match str_of(event, "kind") {
            Some("ActionEvent") => {
                let name = str_of(event, "tool_name").unwrap_or("");
                let action = event.get("action").unwrap_or(&Value::Null);
                if tools::kind(name, action) == "agent" && self.calls.len() < MOST {
                    let said = text_of(action, "prompt").unwrap_or("").to_owned();
                    self.calls.push((id.to_owned(), said));
                }
            }
            Some("ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation") => {
                self.calls.retain(|(call, _)| call != id);
            }
            _ => {}
        }
    }
}

/// The number in the name of an event's file of OpenHands; without five digits, or more, it is no event's.
///
/// ```
/// assert_eq!(chat_normalize::open_hands_event("event-00012-0a1b.json"), Some(12));
/// assert_eq!(chat_normalize::open_hands_event(".event-00012-0a1b.json.tmp"), None);
/// ```
pub fn event_number(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("event-")?.strip_suffix(".json")?;
    let (number, id) = rest.split_once('-')?;
    let is_number = number.len() >= 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !id.is_empty()).then(|| number.parse().ok())?
}
