//! That all say the same of sessions that no agent would write, made by dice.

use chat_event::payload::{
    AssistantChunk, ErrorEvent, Interrupt, PermissionRequest, PermissionResolved, QuestionRequest,
    QuestionResolved, Retract, SessionEnd, SessionStart, SessionStatus, ToolCall, ToolError,
    ToolInputChunk, ToolResult, TurnEnd, TurnStart, UserMessage,
};
use chat_event::{ChatEvent, Json, Payload, SetBack};

use super::{Everywhere, set_back};
use crate::support::dice::Dice;

/// Sessions that no agent would write: turns side by side, sub-agents of their own, clocks that go back, and requests that are
/// told late, twice, by two sources, and answered before they are asked.
#[test]
fn all_say_the_same_of_whatever_is_told() {
    let mut dice = Dice::new(11);
    for round in 0..1000 {
        let mut everywhere = Everywhere::of("s1");
        for nth in 0..dice.between(1, 40) {
            let payload = match dice.between(0, 2) {
                0 => of_a_turn(&mut dice),
                _ => of_what_is_open(&mut dice),
            };
            let at_ms = dice.between(1, 30) as i64;
            let mut event = ChatEvent::new(format!("e{nth}"), at_ms, "s1", payload);
            event.recv = Some(dice.between(20, 30) as i64).filter(|_| round % 2 == 0);
            let named = dice.between(0, 4) > 0;
            event.turn_id = named.then(|| format!("t{}", dice.between(0, 4)));
            if dice.between(0, 6) == 0 {
                event.parent_tool_call_id = Some(format!("c{}", dice.between(0, 3)));
            }
            // No source takes back a piece of a call that is still being written, nor what a sub-agent said first.
            let is_piece = matches!(event.payload, Payload::ToolInputChunk(_));
            if is_piece || event.parent_tool_call_id.is_some() {
                event.id.insert(0, 'n');
            }
            everywhere.take(&event, &round);
        }
    }
}

/// What begins, ends or tells of turns and sessions.
fn of_a_turn(dice: &mut Dice) -> Payload {
    let outcome = ["completed", "interrupted", "failed"][dice.between(0, 3) as usize];
    let status = ["busy", "idle", "retrying"][dice.between(0, 3) as usize];
    match dice.between(0, 14) {
        0 | 1 => TurnStart::default().into(),
        2 | 3 => UserMessage::default().into(),
        4 | 5 => AssistantChunk {
            text: "Hi".into(),
            ..AssistantChunk::default()
        }
        .into(),
        6 | 7 => {
            let mut end = TurnEnd {
                outcome: Some(outcome.to_owned()).filter(|_| dice.between(0, 2) == 0),
                ..TurnEnd::default()
            };
            if dice.between(0, 3) == 0 {
                end.extra.insert("guessed", serde_json::json!(true).into());
            }
            end.into()
        }
        8 => Interrupt::default().into(),
        9 => ErrorEvent::default().into(),
        10 => SessionEnd::default().into(),
        11 => SessionStart::default().into(),
        12 => set_back(SetBack {
            left: vec![format!("t{}", dice.between(0, 4))],
            cleared: dice.between(0, 3) == 0,
            ..SetBack::default()
        }),
        _ => SessionStatus {
            status: status.to_owned(),
            ..SessionStatus::default()
        }
        .into(),
    }
}

/// Calls and requests, their results and answers, and that something is taken back.
fn of_what_is_open(dice: &mut Dice) -> Payload {
    let call_id = format!("c{}", dice.between(0, 4));
    let request_id = format!("r{}", dice.between(0, 4));
    let tool_name = format!("tool {}", dice.between(0, 2));
    let asked_for = Some(call_id.clone()).filter(|_| dice.between(0, 2) == 0);
    let answerable = Some(dice.between(0, 2) == 0).filter(|_| dice.between(0, 3) > 0);
    match dice.between(0, 15) {
        0..=2 => ToolCall {
            tool_call_id: call_id,
            tool_name,
            ..ToolCall::default()
        }
        .into(),
        3 => ToolInputChunk {
            tool_call_id: call_id,
            ..ToolInputChunk::default()
        }
        .into(),
        4..=6 => {
            let code = [None, Some("no_result"), Some("interrupted"), Some("failed")];
            let code = code[dice.between(0, 4) as usize].filter(|_| dice.between(0, 2) == 0);
            let said = [Json::default(), Json::string(""), Json::string("Done")];
            ToolResult {
                tool_call_id: call_id,
                result: said[dice.between(0, 3) as usize].clone(),
                background: Some(dice.between(0, 2) == 0).filter(|_| dice.between(0, 2) == 0),
                error: code.map(|code| ToolError {
                    code: Some(code.to_owned()),
                    ..ToolError::default()
                }),
                ..ToolResult::default()
            }
            .into()
        }
        7..=9 => PermissionRequest {
            request_id,
            tool_call_id: asked_for,
            tool_name,
            answerable,
            ..PermissionRequest::default()
        }
        .into(),
        10 => QuestionRequest {
            request_id,
            tool_call_id: asked_for,
            answerable,
            ..QuestionRequest::default()
        }
        .into(),
        11 | 12 => PermissionResolved {
            request_id,
            decision: ["allow", "deny"][dice.between(0, 2) as usize].to_owned(),
            ..PermissionResolved::default()
        }
        .into(),
        13 => QuestionResolved {
            request_id,
            ..QuestionResolved::default()
        }
        .into(),
        _ => Retract {
            event_ids: vec![format!("e{}", dice.between(0, 40))],
            ..Retract::default()
        }
        .into(),
    }
}
