//! The events behind a row, as JSON.
//!
//! They are put together again from what the feed keeps. A field that no rule knows is kept where a payload is kept
//! whole, and is not told where it went into a tool call or a text.

use std::convert::Infallible;

use chat_event::payload::{
    AgentCallback, AgentMessage, AssistantDone, ErrorEvent, Interrupt, Notice, Plan, Raw,
    SessionEnd, SessionStart, ThinkingDone, ToolCall, ToolResult, TurnEnd, UserMessage,
};
use chat_event::{BodyRef, ChatEvent, Extra, Json, Payload, bodies};

use crate::block::{Block, BlockBody, BlockId, ToolCallBlock};
use crate::feed::Feed;
use crate::renderer::MODEL_NOTICE;

/// An event behind a row.
#[derive(Clone, Debug, PartialEq)]
pub struct RawEvent {
    /// Its type.
    pub event_type: String,
    /// Its JSON, indented.
    pub text: String,
}

impl RawEvent {
    /// The bodies of it that are elsewhere.
    pub fn references(&self) -> Vec<BodyRef> {
        let mut references = Vec::new();
        self.with_bodies(&mut |reference| {
            references.push(reference.clone());
            None
        });
        references
    }

    /// The same with the bodies that `find` gives; `None` where that changes nothing.
    pub fn with_bodies(
        &self,
        find: &mut dyn FnMut(&BodyRef) -> Option<String>,
    ) -> Option<RawEvent> {
        let mut event = ChatEvent::from_json(&self.text).ok()?;
        let mut changes = false;
        let Ok(()) = bodies::put_back::<Infallible>(&mut event, &mut |reference| {
            let body = find(reference);
            changes |= body.is_some();
            Ok(body)
        });
        changes.then(|| RawEvent {
            event_type: self.event_type.clone(),
            text: indented(&event),
        })
    }
}

fn indented(event: &ChatEvent) -> String {
    let line = event.to_line();
    serde_json::from_str::<serde_json::Value>(&line)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or(line)
}

/// The events behind a row, in their order.
pub fn raw_events(feed: &Feed, id: BlockId) -> Vec<RawEvent> {
    let block = feed.block(id);
    let payloads = payloads(feed, block);
    payloads
        .into_iter()
        .map(|(event_id, at_ms, payload)| {
            let event = ChatEvent {
                id: event_id.to_owned(),
                timestamp: at_ms,
                turn_id: feed.turn(block.turn).id.as_deref().map(str::to_owned),
                response_id: block
                    .response
                    .and_then(|response| feed.response(response).id.as_deref())
                    .map(str::to_owned),
                parent_tool_call_id: parent_call(feed, block),
                ..ChatEvent::new("", 0, feed.session().session_id.as_str(), payload)
            };
            RawEvent {
                event_type: event.payload.event_type().to_owned(),
                text: indented(&event),
            }
        })
        .collect()
}

fn parent_call(feed: &Feed, block: &Block) -> Option<String> {
    match &feed.block(block.parent?).body {
        // A changed file stands in the call that changed it, and names it in its payload.
        BlockBody::ToolCall(_) if matches!(block.body, BlockBody::FileEdit(_)) => None,
        BlockBody::ToolCall(call) => Some(call.tool_call_id.to_string()),
        _ => None,
    }
}

type Told<'f> = (&'f str, Option<i64>, Payload);

fn payloads<'f>(feed: &'f Feed, block: &'f Block) -> Vec<Told<'f>> {
    let (id, at_ms) = (&*block.event_id, block.at_ms);
    let one = |payload: Payload| vec![(id, at_ms, payload)];
    match &block.body {
        BlockBody::Prompt(prompt) => match &prompt.text {
            Some(text) => one(UserMessage {
                text: text.clone(),
                attachments: prompt.attachments.clone(),
                ..UserMessage::default()
            }
            .into()),
            None => Vec::new(),
        },
        // A paragraph is a row of its own; the event has all of them.
        BlockBody::Text(text) => one(AssistantDone {
            text: feed.stream(text.text).into_string(),
            ..AssistantDone::default()
        }
        .into()),
        BlockBody::Thinking(thinking) => one(ThinkingDone {
            text: feed.text(block.id).into_string(),
            redacted: thinking.redacted.then_some(true),
            ..ThinkingDone::default()
        }
        .into()),
        BlockBody::ToolCall(call) => call_payloads(feed, block, call),
        BlockBody::FileEdit(edit) => one(edit.edit.clone().into()),
        BlockBody::AgentMessage(message) => {
            let mut told: Vec<Told<'f>> = Vec::new();
            if let Some(text) = &message.message {
                let payload = AgentMessage {
                    message_id: message.message_id.to_string(),
                    target_agent_id: message.target.to_string(),
                    message: text.clone(),
                    wait: message.wait,
                    ..AgentMessage::default()
                };
                told.push((
                    message.message_event.as_deref().unwrap_or(id),
                    at_ms,
                    payload.into(),
                ));
            }
            if let Some(result) = &message.result {
                let payload = AgentCallback {
                    message_id: message.message_id.to_string(),
                    from_agent_id: message.target.to_string(),
                    result: result.clone(),
                    ..AgentCallback::default()
                };
                told.push((
                    message.result_event.as_deref().unwrap_or(id),
                    None,
                    payload.into(),
                ));
            }
            told
        }
        BlockBody::Permission(ask) => {
            let answer = ask.resolved.clone();
            let mut told = one(ask.request.clone().into());
            told.extend(answer.map(|answer| ("", ask.answered_ms, answer.into())));
            told
        }
        BlockBody::Question(ask) => {
            let answer = ask.resolved.clone();
            let mut told = one(ask.request.clone().into());
            told.extend(answer.map(|answer| ("", ask.answered_ms, answer.into())));
            told
        }
        BlockBody::Plan(entries) => one(Plan {
            entries: entries.clone(),
            ..Plan::default()
        }
        .into()),
        BlockBody::Progress(progress) => one(progress.told.clone().into()),
        BlockBody::AgentSwitch(switch) => one(switch.clone().into()),
        BlockBody::Interrupt { reason } => one(Interrupt {
            reason: reason.clone(),
            ..Interrupt::default()
        }
        .into()),
        BlockBody::Error { code, message, .. } => one(ErrorEvent {
            code: code.clone(),
            message: message.clone(),
            ..ErrorEvent::default()
        }
        .into()),
        // Sound is not kept.
        BlockBody::Audio { .. } => Vec::new(),
        BlockBody::Compaction(compaction) => one(compaction.clone().into()),
        BlockBody::Notice { text, source, .. } if source.as_deref() == Some("session_start") => {
            let model = text.strip_prefix(MODEL_NOTICE).unwrap_or(text);
            one(SessionStart {
                model: Some(model.to_owned()),
                ..SessionStart::default()
            }
            .into())
        }
        BlockBody::Notice {
            warning,
            text,
            line,
            source,
            found,
        } => one(Notice {
            level: if *warning { "warning" } else { "info" }.to_owned(),
            text: text.clone(),
            line: *line,
            source: source.clone(),
            extra: found_as_given(found.as_deref()),
        }
        .into()),
        BlockBody::Raw { label, value } => one(Raw {
            format: label.clone(),
            value: value.clone(),
            ..Raw::default()
        }
        .into()),
        BlockBody::SessionStart(start) => one((**start).clone().into()),
        BlockBody::SessionEnd { reason } => one(SessionEnd {
            reason: reason.clone(),
            ..SessionEnd::default()
        }
        .into()),
        BlockBody::Gap(gap) => one(gap.clone().into()),
        BlockBody::TurnEnd(end) => one(TurnEnd {
            usage: end.tokens.and_then(|tokens| {
                let value = serde_json::to_value(tokens).ok()?;
                Some(Json::from(&value))
            }),
            cost_usd: end.cost_usd,
            duration_ms: end.duration_ms,
            outcome: end.outcome.clone(),
            ..TurnEnd::default()
        }
        .into()),
    }
}

/// The text of a line that could not be read, where a notice has it.
fn found_as_given(found: Option<&str>) -> Extra {
    let mut extra = Extra::default();
    if let Some(found) = found {
        extra.insert(Notice::FOUND, Json::string(found));
    }
    extra
}

fn call_payloads<'f>(feed: &'f Feed, block: &'f Block, call: &'f ToolCallBlock) -> Vec<Told<'f>> {
    let mut told: Vec<Told<'f>> = Vec::new();
    if !call.orphan {
        let streamed = call.input.map(|input| feed.stream(input));
        let args = match streamed.filter(|_| call.args.is_null()) {
            Some(text) => Json::string(&text),
            None => call.args.clone(),
        };
        let payload = ToolCall {
            tool_call_id: call.tool_call_id.to_string(),
            tool_name: call.tool_name.to_string(),
            kind: Some(call.kind.as_str().to_owned()),
            title: call.title.clone(),
            args,
            ..ToolCall::default()
        };
        let id = call.args_event.as_deref().unwrap_or(&block.event_id);
        told.push((id, call.called_ms, payload.into()));
    }
    if let Some(result) = &call.result {
        let payload = ToolResult {
            tool_call_id: call.tool_call_id.to_string(),
            result: result.clone(),
            error: call.error.clone(),
            summary: call.summary.clone(),
            exit_code: call.exit_code,
            duration_ms: call.duration_ms,
            background: call.background.then_some(true),
            ..ToolResult::default()
        };
        let id = call.result_event.as_deref().unwrap_or("");
        told.push((id, feed.settled_ms(block.id), payload.into()));
    }
    told
}
