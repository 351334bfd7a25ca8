//! Several sessions that are shown as one: their ids told apart.

use chat_event::{ChatEvent, Payload, SetBack};

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
        if let Payload::Notice(notice) = payload {
            SetBack::rename(notice, |turn_id| name_after(turn_id, &of));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_were_left_are_those_of_their_session() {
        let of = |session: &str| {
            let line = format!(
                r#"{{"id":"e","timestamp":1,"sessionId":"{session}","type":"notice","payload":{{"text":"back","leftTurnIds":["t2"],"againTurnIds":["t1"]}}}}"#
            );
            ChatEvent::from_json(&line).unwrap()
        };
        let mut events = [of("s1"), of("s2")];
        tell_apart(&mut events, "s1");
        let named = events.map(|event| match event.payload {
            Payload::Notice(notice) => SetBack::of(&notice).map(|told| (told.left, told.again)),
            _ => None,
        });
        let names = |left: &str, again: &str| Some((vec![left.to_owned()], vec![again.to_owned()]));
        assert_eq!(named, [names("t2", "t1"), names("s2.t2", "s2.t1")]);
    }
}
