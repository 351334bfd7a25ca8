//! What a session is called, where its program notes that beside the session's own file and may change it at any time.

use chat_event::ChatEvent;
use chat_event::payload::SessionStart;

use crate::emit::{hash, known_time};

/// The id of the line that says it: the same whoever reads it, and whenever.
pub(crate) fn title_line(title: &str) -> String {
    format!("title-{:016x}", hash(title.as_bytes()))
}

/// Says that a session is called so, as its reader does where it is told that in [`Context::title`]: for who finds out later.
///
/// [`Context::title`]: crate::Context::title
pub fn titled(session_id: &str, provider: &str, title: &str, at_ms: i64) -> ChatEvent {
    let start = SessionStart {
        title: Some(title.to_owned()),
        provider: Some(provider.to_owned()),
        ..SessionStart::default()
    };
    let id = format!("{}:start", title_line(title));
    let mut event = ChatEvent::new(id, at_ms, session_id.to_owned(), start);
    event.timestamp = known_time(at_ms);
    event
}
