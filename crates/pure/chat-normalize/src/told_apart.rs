//! Several sessions that are shown as one: their ids told apart.

use chat_event::{ChatEvent, Payload};

/// Names what events of other sessions than `first` have and refer to after their own: sessions use the same ids.
///
/// ```
/// use chat_event::ChatEvent;
/// let line = br#"{"id":"e1","timestamp":1,"sessionId":"s2","turnId":"t1","type":"turn_start","payload":{"trigger":"user"}}"#;
/// let mut events = [ChatEvent::from_json(std::str::from_utf8(line).unwrap()).unwrap()];
/// chat_normalize::tell_apart(&mut events, "s1");
/// assert_eq!((events[0].id.as_str(), events[0].turn_id.as_deref()), ("s2.e1", Some("s2.t1")));
/// ```
pub fn tell_apart(events: &mut [ChatEvent], first: &str) {
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
