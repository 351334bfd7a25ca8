//! One file of a session while it is read, and how the events of a sub-agent's file are put below its call.

use std::collections::VecDeque;

use chat_event::{ChatEvent, Json, Payload, SetBack, TextRef};

use crate::emit::is_line_number;
use crate::reader::{Context, SessionReader};

/// A file that is being read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: String,
    pub(super) offset: u64,
    pub(super) ended: bool,
    pub(super) reader: SessionReader,
    /// Events that wait for another file.
    pub(super) events: VecDeque<ChatEvent>,
    /// The sub-agent whose file it is; `None` for the session's own.
    pub(super) agent: Option<Agent>,
}

/// A sub-agent whose file is being read.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) id: String,
    /// The call that started it, once that is known, with its turn.
    pub(super) call: Option<(String, Option<String>)>,
    /// It is still to be told, by its first words, which call started it.
    pub(super) looks_for_call: bool,
    /// It must say first that it is of this session.
    pub(super) of_session: Option<String>,
    pub(super) said_prompt: bool,
}

impl Source {
    pub(super) fn new(path: &str, context: Context, agent: Option<Agent>) -> Self {
        Source {
            path: path.to_owned(),
            offset: 0,
            ended: false,
            reader: SessionReader::new(context),
            events: VecDeque::new(),
            agent,
        }
    }
}

impl Agent {
    /// The event as it stands in the session; `None` for what a file says only because it is one.
    pub(super) fn place(&mut self, mut event: ChatEvent) -> Option<ChatEvent> {
        match &mut event.payload {
            // Its turns are those of the agent, and a part of the session begins and ends nothing.
            Payload::TurnStart(_)
            | Payload::TurnEnd(_)
            | Payload::SessionStart(_)
            | Payload::SessionEnd(_)
            | Payload::SessionStatus(_) => return None,
            // The words it was started with are the calling agent's.
            Payload::UserMessage(_) if !self.said_prompt => {
                event.extra.insert("from", Json::string("agent"));
                self.said_prompt = true;
            }
            // It may call its turns as the session does, which nobody went back behind.
            Payload::Notice(notice) => SetBack::rename(notice, |turn_id| {
                *turn_id = format!("{}.{turn_id}", self.id);
            }),
            _ => {}
        }
        event.agent_id.get_or_insert_with(|| self.id.clone());
        let (call, turn) = match self.call.clone() {
            Some((call, turn)) => (Some(call), turn),
            None => (None, None),
        };
        event.turn_id = turn;
        if event.parent_tool_call_id.is_none() {
            event.parent_tool_call_id = call;
        }
        // Lines without an id are named by their number, which says nothing outside their file.
        if is_line_number(&event.id) {
            event.id = crate::emit::clean_id(&format!("{}.{}", self.id, event.id));
        }
        Some(event)
    }
}

/// The text of an agent's first words, where this event is them.
pub(super) fn first_words(event: &ChatEvent) -> Option<TextRef<'_>> {
    match &event.payload {
        Payload::UserMessage(message) => Some(message.text.preview()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sub_agent_left_is_no_turn_of_the_session() {
        let line = r#"{"id":"e","timestamp":1,"sessionId":"s","type":"notice","payload":{"text":"back","leftTurnIds":["t1"]}}"#;
        let mut agent = Agent {
            id: "a".to_owned(),
            call: Some(("c".to_owned(), Some("t1".to_owned()))),
            looks_for_call: false,
            of_session: None,
            said_prompt: true,
        };
        let placed = agent.place(ChatEvent::from_json(line).unwrap()).unwrap();
        assert_eq!(placed.turn_id.as_deref(), Some("t1"));
        let Payload::Notice(notice) = &placed.payload else {
            panic!("{placed:?}");
        };
        assert_eq!(SetBack::of(notice).unwrap().left, ["a.t1"]);
    }
}
