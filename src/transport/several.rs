//! Several sessions in one source: which there are, and how their ids are told apart where they are shown as one.

use std::pin::Pin;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Head, LogSession, LogSessions};

use crate::platform::frame::Slice;
use crate::platform::stream::{self, Blob, ByteStream};

/// Of a file so much is looked at for a second session, at its beginning and at its end: where there is one, at all of it.
/// Looking at 16 MiB of each took a tenth of a second before its first rows.
const LOOKED_BYTES: u64 = 64 * 1024;

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
    let beginning = stream::bytes_of_blob(file, 0, LOOKED_BYTES).await.ok()?;
    if !matches!(Head::of(&beginning), Head::Log(_)) {
        return None;
    }
    // A length is no fraction, and not below 0.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let n_bytes = file.size() as u64;
    let end_at = n_bytes.saturating_sub(LOOKED_BYTES);
    let end = stream::bytes_of_blob(file, end_at, n_bytes - end_at)
        .await
        .ok()?;
    let mut ends = LogSessions::default();
    ends.push(&beginning);
    // Both may be cut within a line, and are no one text.
    ends.push(b"\n");
    ends.push(&end);
    if ends.n_sessions() < 2 {
        return None;
    }
    let mut bytes = ByteStream::of_blob(file).ok()?;
    let mut sessions = LogSessions::default();
    let mut slice = Slice::begin();
    while let Some(piece) = bytes.next().await.ok()? {
        sessions.push(&piece);
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
        let payload = &mut event.payload;
        names
            .chain(payload.tool_call_id_mut())
            .for_each(|name| name_after(name, &of));
        ids_of(payload)
            .into_iter()
            .for_each(|name| name_after(name, &of));
    }
    event.session_id = of;
}

fn name_after(name: &mut String, session: &str) {
    if !name.is_empty() {
        name.insert(0, '.');
        name.insert_str(0, session);
    }
}

/// Ids of requests, messages and events that stand in what an event bears.
fn ids_of(payload: &mut Payload) -> Vec<&mut String> {
    match payload {
        Payload::PermissionRequest(request) => vec![&mut request.request_id],
        Payload::QuestionRequest(request) => vec![&mut request.request_id],
        Payload::PermissionResolved(resolved) => vec![&mut resolved.request_id],
        Payload::QuestionResolved(resolved) => vec![&mut resolved.request_id],
        Payload::AgentMessage(message) => vec![&mut message.message_id],
        Payload::AgentCallback(callback) => vec![&mut callback.message_id],
        Payload::Retract(retract) => retract.event_ids.iter_mut().collect(),
        _ => Vec::new(),
    }
}
