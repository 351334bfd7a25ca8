//! What two sources tell of, told once where it is read from top to bottom: a hook asks what its agent's own log tells of
//! too. Where it has rows, `renderer::two_sources` makes one of both.

use std::collections::VecDeque;

use chat_event::payload::{PermissionRequest, QuestionRequest};
use chat_event::{ChatEvent, Json, Payload};

/// So many requests are kept for what another source tells of them.
const MOST_ASKS: usize = 256;

/// How an event stands to what was told before it.
#[derive(Debug)]
pub(super) enum Told<'e> {
    /// It is news.
    Now(&'e ChatEvent),
    /// It is news of a request that another source calls otherwise: as an event of that one.
    Renamed(Box<ChatEvent>),
    /// Another source told it.
    Before {
        /// The request that stands there.
        request_id: String,
        /// The call that it is about, as this source knows.
        call_id: Option<String>,
    },
}

/// The requests of a session.
#[derive(Debug, Default)]
pub(super) struct TwoSources {
    asks: VecDeque<Ask>,
}

/// One request, as the first source told it.
#[derive(Debug)]
struct Ask {
    request_id: String,
    /// What the second source calls it.
    second_id: Option<String>,
    is_question: bool,
    what: String,
    call_id: Option<String>,
    side: Side,
    answer: Answer,
}

/// Where a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// A hook asks so: it is answered here, and may know no call.
    Here,
    /// The agent's own log tells so of what a hook asks.
    There,
    /// No second source is known to tell of it.
    Alone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Open,
    Refused,
    Over,
}

impl TwoSources {
    /// Takes the next event.
    pub(super) fn take<'e>(&mut self, event: &'e ChatEvent) -> Told<'e> {
        match &event.payload {
            Payload::PermissionRequest(request) => self.asked(event, Ask::of_permission(request)),
            Payload::QuestionRequest(request) => self.asked(event, Ask::of_question(request)),
            Payload::PermissionResolved(resolved) => {
                let answer = match resolved.decision.as_str() {
                    "allow" => Answer::Over,
                    _ => Answer::Refused,
                };
                self.answered(event, false, &resolved.request_id, answer)
            }
            Payload::QuestionResolved(resolved) => {
                self.answered(event, true, &resolved.request_id, Answer::Over)
            }
            // Nobody waits any more.
            Payload::SessionEnd(_) => {
                self.asks.clear();
                Told::Now(event)
            }
            _ => Told::Now(event),
        }
    }

    fn asked<'e>(
        &mut self,
        event: &'e ChatEvent,
        (now, call_id): (Ask, Option<String>),
    ) -> Told<'e> {
        let is_known = self
            .asks
            .iter()
            .any(|ask| ask.is(now.is_question, &now.request_id));
        let mut asks = self.asks.iter_mut().rev();
        if !is_known && let Some(before) = asks.find(|ask| ask.is_told_again_by(&now)) {
            before.second_id = Some(now.request_id);
            return Told::Before {
                request_id: before.request_id.clone(),
                call_id,
            };
        }
        if !is_known {
            self.asks.push_back(now);
            if self.asks.len() > MOST_ASKS {
                self.asks.pop_front();
            }
        }
        Told::Now(event)
    }

    fn answered<'e>(
        &mut self,
        event: &'e ChatEvent,
        is_question: bool,
        request_id: &str,
        answer: Answer,
    ) -> Told<'e> {
        let mut asks = self.asks.iter_mut();
        let Some(ask) = asks.find(|ask| ask.is(is_question, request_id)) else {
            return Told::Now(event);
        };
        if ask.second_id.is_some() && ask.answer != Answer::Open {
            return Told::Before {
                request_id: ask.request_id.clone(),
                call_id: None,
            };
        }
        ask.answer = answer;
        if ask.request_id == request_id {
            return Told::Now(event);
        }
        let mut event = event.clone();
        match &mut event.payload {
            Payload::PermissionResolved(resolved) => {
                resolved.request_id.clone_from(&ask.request_id);
            }
            Payload::QuestionResolved(resolved) => resolved.request_id.clone_from(&ask.request_id),
            _ => {}
        }
        Told::Renamed(Box::new(event))
    }
}

impl Ask {
    fn of_permission(request: &PermissionRequest) -> (Ask, Option<String>) {
        let args = request
            .args
            .as_ref()
            .map(Json::to_value)
            .unwrap_or_default();
        let call_id = request.tool_call_id.clone();
        let side = match (request.answerable, &call_id) {
            (Some(false), Some(_)) => Side::There,
            // A refusal that the agent tells of offers no answers.
            (_, Some(_)) if request.options.is_empty() => Side::There,
            (Some(false), None) => Side::Alone,
            _ => Side::Here,
        };
        let ask = Ask {
            request_id: request.request_id.clone(),
            second_id: None,
            is_question: false,
            what: format!("{}\0{args}", request.tool_name),
            call_id: call_id.clone(),
            side,
            answer: Answer::Open,
        };
        (ask, call_id)
    }

    fn of_question(request: &QuestionRequest) -> (Ask, Option<String>) {
        let texts: Vec<&str> = request
            .questions
            .iter()
            .map(|asked| asked.text.as_str())
            .collect();
        let call_id = request.tool_call_id.clone();
        let side = match (request.answerable, &call_id) {
            (Some(false), Some(_)) => Side::There,
            (Some(false), None) => Side::Alone,
            _ => Side::Here,
        };
        let ask = Ask {
            request_id: request.request_id.clone(),
            second_id: None,
            is_question: true,
            what: texts.join("\0"),
            call_id: call_id.clone(),
            side,
            answer: Answer::Open,
        };
        (ask, call_id)
    }

    /// Whether a source calls it so.
    fn is(&self, is_question: bool, request_id: &str) -> bool {
        self.is_question == is_question
            && (self.request_id == request_id || self.second_id.as_deref() == Some(request_id))
    }

    /// Whether what is asked now is what this asks: it waits, or was refused here just before.
    fn is_told_again_by(&self, now: &Ask) -> bool {
        let are_two_sides = match self.answer {
            Answer::Open => {
                matches!(
                    (self.side, now.side),
                    (Side::Here, Side::There) | (Side::There, Side::Here)
                )
            }
            Answer::Refused => self.side == Side::Here && now.side == Side::There,
            Answer::Over => false,
        };
        // Where both know their call, it is one.
        let calls = [&self.call_id, &now.call_id];
        let is_one_call = calls.contains(&&None) || self.call_id == now.call_id;
        are_two_sides
            && is_one_call
            && self.second_id.is_none()
            && self.is_question == now.is_question
            && self.what == now.what
    }
}
