//! A survivor whose text was changed: its rhythm is made to fit what it says now.

use super::kind;
use crate::event::ChatEvent;
use crate::json::Json;

/// Fits the `timing` of an event to its text, which another was put in the place of: `before` is the event as it was.
///
/// Pieces in front of what changed and behind it are as long as they were. What changed comes whole with the first piece
/// that reached into it, so that nothing says how long it was. An event that nothing was folded into stays as it is.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_event::compaction::{Folded, refit};
/// let line = |text: &str| format!(r#"{{"id":"d","timestamp":9,"sessionId":"s","type":"assistant_done","payload":{{"text":"{text}","timing":[[0,2],[3,6],[5,4],[9,0]],"ids":[["c",1,3]]}}}}"#);
/// let before = ChatEvent::from_json(&line("a secret-1 b")).unwrap();
/// let mut now = ChatEvent::from_json(&line("a [masked] b")).unwrap();
/// refit(&mut now, &before);
/// assert!(now.to_line().contains("[[0,2],[3,8],[5,2],[9,0]]"));
/// assert_eq!(Folded::of(&now).unwrap().n_events(), 4);
/// ```
pub fn refit(event: &mut ChatEvent, before: &ChatEvent) {
    if let Some(timing) = refitted(event, before)
        && let Some(mut members) = kind::members_mut(&mut event.payload)
    {
        members.set_timing(timing);
    }
}

fn refitted(event: &ChatEvent, before: &ChatEvent) -> Option<Json> {
    let timing: Vec<(i64, u64)> = kind::timing_of(&before.payload)?.parse()?;
    let (_, old, is_chunk) = kind::said_by(&before.payload)?;
    let (_, new, _) = kind::said_by(&event.payload)?;
    if old == new {
        return None;
    }
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let shorter = old.len().min(new.len());
    let alike = |pairs: &mut dyn Iterator<Item = (&char, &char)>| -> usize {
        pairs
            .take(shorter)
            .take_while(|(one, other)| one == other)
            .count()
    };
    let n_before = alike(&mut old.iter().zip(&new));
    let n_behind = alike(&mut old.iter().rev().zip(new.iter().rev())).min(shorter - n_before);
    // Where a piece ends now that ended there.
    let end_now = |end: usize| match end {
        end if end <= n_before => end,
        end if end >= old.len() - n_behind => new.len() - (old.len().saturating_sub(end)),
        _ => new.len() - n_behind,
    };
    let (mut end, mut last_end) = (0_usize, 0_usize);
    let mut fitted: Vec<(i64, u64)> = Vec::with_capacity(timing.len());
    for &(ms, n_chars) in &timing {
        end = end
            .saturating_add(usize::try_from(n_chars).ok()?)
            .min(old.len());
        let now = end_now(end);
        fitted.push((ms, (now - last_end) as u64));
        last_end = now;
    }
    // Of one that ends a text the last pair says whether it brought some of it.
    if let [others @ .., (_, last)] = fitted.as_mut_slice()
        && !is_chunk
        && *last == 0
        && timing.last().is_some_and(|&(_, n_chars)| n_chars > 0)
    {
        let giver = others.iter_mut().rev().find(|(_, n_chars)| *n_chars > 0);
        giver?.1 -= 1;
        *last = 1;
    }
    Some(Json::from(serde_json::json!(fitted)))
}
