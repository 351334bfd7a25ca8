//! What calls had to wait for: approvals and answers.

use std::collections::HashMap;

use crate::block::{Block, BlockBody, BlockId, TurnIdx};
use crate::feed::Feed;

/// When each call was asked for and answered, from the first question to the last answer.
pub(super) fn waits_of(feed: &Feed) -> HashMap<BlockId, (i64, Option<i64>)> {
    let mut calls: HashMap<&str, BlockId> = HashMap::new();
    // A source that counts its calls anew in every turn means that of the turn it asks in.
    let mut of_turns: HashMap<(&str, TurnIdx), BlockId> = HashMap::new();
    let mut asks: Vec<Asked<'_>> = Vec::new();
    for block in feed.rows() {
        if let BlockBody::ToolCall(call) = &block.body {
            calls.insert(&call.tool_call_id, block.id);
            of_turns.insert((&call.tool_call_id, block.turn), block.id);
        }
        asks.extend(asked(block));
    }
    let mut waits: HashMap<BlockId, (i64, Option<i64>)> = HashMap::new();
    for ask in asks {
        let of_turn = || of_turns.get(&(ask.call_id, ask.turn)).copied();
        // One in the background may be of a turn before.
        let earlier = || {
            let call = calls.get(ask.call_id).copied();
            call.filter(|&call| feed.block(call).turn < ask.turn)
        };
        let call = ask.call.or_else(of_turn).or_else(earlier);
        let (Some(call), Some(asked_ms)) = (call, ask.asked_ms) else {
            continue;
        };
        if ask.answered_ms.is_none() && !ask.open {
            continue;
        }
        let wait = waits.entry(call).or_insert((asked_ms, ask.answered_ms));
        wait.0 = wait.0.min(asked_ms);
        wait.1 = wait
            .1
            .zip(ask.answered_ms)
            .map(|(one, other)| one.max(other));
    }
    waits
}

/// What is asked for a call.
struct Asked<'f> {
    call_id: &'f str,
    /// The row of the call, where the renderer knows it.
    call: Option<BlockId>,
    turn: TurnIdx,
    asked_ms: Option<i64>,
    answered_ms: Option<i64>,
    open: bool,
}

fn asked(block: &Block) -> Option<Asked<'_>> {
    let (call_id, call, answered_ms) = match &block.body {
        BlockBody::Permission(ask) => (&ask.request.tool_call_id, ask.call, ask.answered_ms),
        BlockBody::Question(ask) => (&ask.request.tool_call_id, None, ask.answered_ms),
        _ => return None,
    };
    Some(Asked {
        call_id: call_id.as_deref()?,
        call,
        turn: block.turn,
        asked_ms: block.at_ms,
        answered_ms,
        open: block.body.waits(),
    })
}
