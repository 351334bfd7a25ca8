//! Several sessions in one source: which there are, and how their ids are told apart where they are shown as one.

use std::pin::Pin;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Head, LogSession, LogSessions};

use crate::platform::frame::Slice;
use crate::platform::stream::{Blob, ByteStream};

/// A file is looked through this far for a second session; where there is one, all of it.
const LOOKED_BYTES: u64 = 16 * 1024 * 1024;

/// The sessions of a file, once it is looked through.
pub(crate) type Found = Pin<Box<dyn Future<Output = Vec<LogSession>>>>;

/// Finds the sessions of a file; none where it is no log of several, or cannot be read: whoever reads it tells why.
pub(super) fn sessions_in(file: Blob) -> Found {
    Box::pin(async move {
        let sessions = look_through(&file).await.unwrap_or_default();
        match sessions.len() {
            0 | 1 => Vec::new(),
            _ => sessions,
        }
    })
}

async fn look_through(file: &Blob) -> Option<Vec<LogSession>> {
    let mut bytes = ByteStream::of_blob(file).ok()?;
    let mut sessions = LogSessions::default();
    let mut n_read = 0;
    let mut slice = Slice::begin();
    while let Some(piece) = bytes.next().await.ok()? {
        if n_read == 0 && !matches!(Head::of(&piece), Head::Log(_)) {
            return None;
        }
        n_read += piece.len() as u64;
        sessions.push(&piece);
        if n_read >= LOOKED_BYTES && sessions.n_sessions() < 2 {
            return None;
        }
        slice.give_way().await;
    }
    Some(sessions.finish())
}

/// Names what events of other sessions than this one have and refer to after their own: they use the same ids.
pub(super) fn tell_apart(events: &mut [ChatEvent], first: &str) {
    let others = events.iter_mut();
    for event in others.filter(|event| event.session_id != first) {
        name_after_session(event);
    }
}

fn name_after_session(event: &mut ChatEvent) {
    let of = std::mem::take(&mut event.session_id);
    if !of.is_empty() {
        let own = [
            &mut event.turn_id,
            &mut event.response_id,
            &mut event.parent_tool_call_id,
        ];
        let names = own.into_iter().flatten().chain([&mut event.id]);
        for name in names.chain(ids_of(&mut event.payload)) {
            if !name.is_empty() {
                name.insert(0, '.');
                name.insert_str(0, &of);
            }
        }
    }
    event.session_id = of;
}

/// Ids of calls, requests and events that stand in what an event bears.
fn ids_of(payload: &mut Payload) -> Vec<&mut String> {
    match payload {
        Payload::ToolCall(call) => vec![&mut call.tool_call_id],
        Payload::ToolInputChunk(chunk) => vec![&mut chunk.tool_call_id],
        Payload::ToolOutputChunk(chunk) => vec![&mut chunk.tool_call_id],
        Payload::ToolResult(result) => vec![&mut result.tool_call_id],
        Payload::FileEdit(edit) => vec![&mut edit.tool_call_id],
        Payload::Progress(progress) => progress.tool_call_id.iter_mut().collect(),
        Payload::PermissionRequest(request) => {
            let call = request.tool_call_id.iter_mut();
            call.chain([&mut request.request_id]).collect()
        }
        Payload::QuestionRequest(request) => {
            let call = request.tool_call_id.iter_mut();
            call.chain([&mut request.request_id]).collect()
        }
        Payload::PermissionResolved(resolved) => vec![&mut resolved.request_id],
        Payload::QuestionResolved(resolved) => vec![&mut resolved.request_id],
        Payload::AgentMessage(message) => vec![&mut message.message_id],
        Payload::AgentCallback(callback) => vec![&mut callback.message_id],
        Payload::Retract(retract) => retract.event_ids.iter_mut().collect(),
        _ => Vec::new(),
    }
}
