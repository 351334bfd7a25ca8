//! What a session used: not in its own file, but in `ID.settings.json` beside `ID.jsonl`, which is written anew with each answer.
//!
//! `tokenUsage` there counts from the session's beginning, without what its sub-agents used, and `inputTokens` without what
//! came from the cache. Seen: 0.225.2.

use chat_event::ChatEvent;
use chat_event::payload::Usage;
use serde_json::Value;

use crate::emit::{hash, known_time};
use crate::value::count_of;

/// What the name of a session's note ends in, where that of its own file ends in `.jsonl`.
pub(crate) const NOTE: &str = ".settings.json";

/// The part of a note that says it, as text for [`Context::used`]; nothing where nothing was used yet.
///
/// [`Context::used`]: crate::Context::used
pub(crate) fn used_in(note: &Value) -> Option<String> {
    let tokens = note.get("tokenUsage")?;
    usage_of(tokens).map(|_| tokens.to_string())
}

/// The usage that such a text tells, and the id of the line that tells it: the same whoever reads it, and whenever.
pub(super) fn usage_in(used: &str) -> Option<(String, Usage)> {
    let usage = usage_of(&serde_json::from_str(used).ok()?)?;
    let figures = format!(
        "{} {} {:?} {:?} {:?}",
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens
    );
    Some((format!("used-{:016x}", hash(figures.as_bytes())), usage))
}

/// Says what a session of Droid used up to now, as its reader does at the end where it is told that in [`Context::used`]: for
/// who follows the note beside it. `note` is all of that file.
///
/// [`Context::used`]: crate::Context::used
pub fn droid_used(session_id: &str, note: &[u8], at_ms: i64) -> Option<ChatEvent> {
    let note: Value = serde_json::from_slice(note).ok()?;
    let (line, usage) = usage_in(&used_in(&note)?)?;
    let id = format!("{line}:usage");
    let mut event = ChatEvent::new(id, at_ms, session_id.to_owned(), usage);
    event.timestamp = known_time(at_ms);
    Some(event)
}

fn usage_of(tokens: &Value) -> Option<Usage> {
    let usage = Usage {
        scope: "session".to_owned(),
        cumulative: Some(true),
        input_tokens: count_of(tokens, "inputTokens")?,
        output_tokens: count_of(tokens, "outputTokens").unwrap_or(0),
        cache_read_tokens: count_of(tokens, "cacheReadTokens"),
        cache_write_tokens: count_of(tokens, "cacheCreationTokens"),
        reasoning_tokens: count_of(tokens, "thinkingTokens"),
        ..Usage::default()
    };
    let is_any = usage.input_tokens > 0 || usage.output_tokens > 0;
    is_any.then_some(usage)
}
