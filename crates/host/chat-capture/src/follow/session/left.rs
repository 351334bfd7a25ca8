//! The turns that a session left when its file was written anew without them, as Copilot CLI does where the user goes back.
//!
//! The file that is read then has a line that says so, and not which turns those were: its log knows them, and the file has
//! those that stand.

use std::collections::HashSet;

use chat_event::payload::Notice;
use chat_event::{ChatEvent, Payload, SetBack};

use super::Session;
use crate::follow::Taker;
use crate::follow::agent::Agent;

impl Session {
    /// Takes note of a turn that its own file has.
    pub(super) fn note_turn(&mut self, event: &ChatEvent) {
        if self.agent == Agent::Copilot
            && let Some(turn) = turn_of(event)
        {
            self.turns.insert(turn.to_owned());
        }
    }

    /// Names the turns that were left, in what is to be told of it. Where the log cannot be read now they are not named.
    pub(in crate::follow) fn name_left(&self, events: &mut [ChatEvent], taker: &mut dyn Taker) {
        if self.agent != Agent::Copilot || !events.iter().any(|event| unnamed(event).is_some()) {
            return;
        }
        let log = self
            .session_id
            .as_deref()
            .map(|id| taker.log_after(id, "0"));
        let Some(Ok((log, _))) = log else {
            return;
        };
        let told: HashSet<&str> = log.iter().map(|event| event.id.as_str()).collect();
        let mut standing = standing(&log);
        for event in events {
            if told.contains(event.id.as_str()) {
                continue;
            }
            let Some(notice) = unnamed_mut(event) else {
                continue;
            };
            let (stay, left) = standing
                .into_iter()
                .partition(|turn| self.turns.contains(turn));
            standing = stay;
            let left = SetBack {
                left,
                ..SetBack::default()
            };
            left.write(&mut notice.extra);
        }
    }
}

/// The turn that begins with an event, of the main agent.
fn turn_of(event: &ChatEvent) -> Option<&str> {
    let begins =
        matches!(event.payload, Payload::TurnStart(_)) && event.parent_tool_call_id.is_none();
    event.turn_id.as_deref().filter(|_| begins)
}

/// A notice that the user went back, and not behind which turns.
fn unnamed(event: &ChatEvent) -> Option<&Notice> {
    match &event.payload {
        Payload::Notice(notice) if notice.source.as_deref() == Some(SetBack::SOURCE) => {
            Some(notice).filter(|notice| SetBack::of(notice).is_none())
        }
        _ => None,
    }
}

fn unnamed_mut(event: &mut ChatEvent) -> Option<&mut Notice> {
    unnamed(event)?;
    match &mut event.payload {
        Payload::Notice(notice) => Some(notice),
        _ => None,
    }
}

/// The turns that stand, as a log tells it, in their order.
fn standing(log: &[ChatEvent]) -> Vec<String> {
    let mut standing: Vec<String> = Vec::new();
    for event in log {
        if let Some(turn) = turn_of(event) {
            standing.push(turn.to_owned());
        }
        if let Payload::Notice(notice) = &event.payload
            && let Some(told) = SetBack::of(notice)
        {
            standing.retain(|turn| !told.left.contains(turn));
            standing.extend(told.again);
        }
    }
    standing
}
