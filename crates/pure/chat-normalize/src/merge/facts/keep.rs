//! What of a fact is new where another source told it already.

use chat_event::payload::{SessionStart, Usage};
use chat_event::{ChatEvent, Payload};

use super::key;
use crate::merge::wording::Wording;

pub(super) fn context_of(usage: &Usage) -> Option<u64> {
    let told = (usage.context_used, usage.context_size);
    (told != (None, None)).then(|| key(&["context", &format!("{told:?}")]))
}

/// Leaves of a session's figures what they say of its context.
pub(in crate::merge) fn keep_context(payload: &mut Payload) {
    if let Payload::Usage(usage) = payload {
        *usage = Usage {
            scope: std::mem::take(&mut usage.scope),
            cumulative: usage.cumulative,
            context_used: usage.context_used,
            context_size: usage.context_size,
            ..Usage::default()
        };
    }
}

/// What a turn used, as its end says it, with the number of that fact.
pub(in crate::merge) fn usage_of_end(event: &ChatEvent) -> Option<(u64, Usage)> {
    let Payload::TurnEnd(end) = &event.payload else {
        return None;
    };
    let mut usage: Usage = end.usage.as_ref()?.parse()?;
    "turn".clone_into(&mut usage.scope);
    usage.cost_usd = usage.cost_usd.or(end.cost_usd);
    let turn = event.turn_id.as_deref().unwrap_or_default();
    Some((key(&["usage", turn]), usage))
}

/// Leaves of a `session_start` the facts that `is_new`; false where nothing is left.
pub(in crate::merge) fn keep_new(
    payload: &mut Payload,
    wording: Wording,
    is_new: &mut dyn FnMut(u64) -> bool,
) -> bool {
    let Payload::SessionStart(start) = payload else {
        return true;
    };
    let mut any = false;
    if let Some(agent) = start.agent.take() {
        // A source that knows no version says less than one that does.
        let bare = agent.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
        let first = is_new(key(&["agent of", bare]));
        let fresh = if bare == agent {
            first
        } else {
            is_new(key(&["agent", &agent]))
        };
        any |= fresh;
        start.agent = Some(agent).filter(|_| fresh);
    }
    let mut keep = |name: &str, value: &mut Option<String>| {
        let fresh = value
            .as_ref()
            .is_some_and(|value| is_new(key(&["fact", name, &wording.of(&**value)])));
        any |= fresh;
        if !fresh {
            *value = None;
        }
    };
    keep("nativeId", &mut start.native_id);
    keep("model", &mut start.model);
    // A guess is no word of who tells the same.
    let guessed = start.extra.remove(SessionStart::CWD_GUESSED);
    let of_cwd = if guessed.is_some() {
        "cwd guessed"
    } else {
        "cwd"
    };
    keep(of_cwd, &mut start.cwd);
    keep("title", &mut start.title);
    keep("gitBranch", &mut start.git_branch);
    keep("sandboxId", &mut start.sandbox_id);
    if let Some(tools) = start.tools.take() {
        let fresh = is_new(key(&["fact", "tools", &tools.as_text()]));
        any |= fresh;
        start.tools = Some(tools).filter(|_| fresh);
    }
    if start.timestamp_source.is_some() {
        let fresh = is_new(key(&["timestampSource"]));
        if !fresh {
            start.timestamp_source = None;
        }
        any |= fresh;
    }
    let names: Vec<(String, u64)> = start
        .extra
        .iter()
        .map(|(name, value)| (name.to_owned(), key(&["fact", name, &value.as_text()])))
        .collect();
    for (name, value) in names {
        if is_new(value) {
            any = true;
        } else {
            start.extra.remove(&name);
        }
    }
    if let Some(guessed) = guessed.filter(|_| start.cwd.is_some()) {
        start.extra.insert(SessionStart::CWD_GUESSED, guessed);
    }
    any
}
