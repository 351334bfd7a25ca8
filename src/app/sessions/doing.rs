//! What a session is at, in one line: what it waits for, does or failed of, and since when.

use chat_feed::sessions::{Row, State};
use chat_feed::{ToolKind, units};
use leptos::html::{div, span};
use leptos::prelude::*;

use crate::element::seen;

const MINUTE_MS: i64 = 60_000;

/// Such a line: words, with code among them.
#[derive(Default)]
struct Told {
    class: &'static str,
    words: String,
    code: String,
    more: String,
    since_ms: Option<i64>,
}

impl Told {
    fn words(words: String) -> Told {
        Told {
            class: "session__now",
            words,
            ..Told::default()
        }
    }
}

/// Whether a row has a line of what it waits for, does or failed of. One that runs has room for it whether it is doing
/// something at the moment or not, also between its turns: those below would move each time.
pub(super) fn has_now(row: &Row, now_ms: i64) -> bool {
    match row.state(now_ms) {
        State::NeedsYou | State::Running | State::Quiet | State::Idle | State::Failed => true,
        State::Done | State::Cancelled => false,
    }
}

/// How much it did, in the place of what it does.
pub(super) fn did(row: &Row) -> impl IntoView + use<> {
    let mut did = Vec::new();
    if row.turns > 0 {
        did.push(units::count(row.turns, "turn", "turns"));
    }
    if row.steps > 0 {
        did.push(units::count(row.steps, "step", "steps"));
    }
    div().class("session__now").child(did.join(" · "))
}

/// What the agent waits for, what it is doing and since when, or what it failed of.
pub(in crate::app) fn now_line(row: &Row, now_ms: i64) -> Option<impl IntoView + use<>> {
    let told = match row.state(now_ms) {
        State::NeedsYou => waits_for(row),
        State::Running => {
            let doing = row.doing.as_ref()?;
            let (words, code) = doing_text(row, &doing.tool, &doing.object);
            Told {
                code,
                since_ms: doing.since_ms,
                ..Told::words(words)
            }
        }
        State::Quiet => {
            let silent_min = now_ms.saturating_sub(row.at_ms()) / MINUTE_MS;
            let silent = match silent_min / 60 {
                0 => format!("{silent_min} min"),
                hours @ 1..48 => format!("{hours} h"),
                hours => format!("{} days", hours / 24),
            };
            let silent = format!("No event for {silent}");
            match &row.doing {
                None => Told::words(silent),
                Some(doing) => {
                    let (words, code) = doing_text(row, &doing.tool, &doing.object);
                    Told {
                        code,
                        ..Told::words(format!("{silent}, last: {words}"))
                    }
                }
            }
        }
        State::Failed => Told {
            class: "session__now session__now--failed",
            ..Told::words(row.failure.clone().unwrap_or_else(|| "Failed".to_owned()))
        },
        State::Idle if row.turns == 0 => Told::words("No response yet".to_owned()),
        State::Idle | State::Done | State::Cancelled => return None,
    };
    let since = told.since_ms.and_then(|since_ms| passed(now_ms, since_ms));
    let code =
        (!told.code.is_empty()).then(|| span().class("session__code").child(seen::text(told.code)));
    // It may be allowed here: nothing of it is hidden.
    let what = span()
        .class("session__what")
        .child((seen::text(told.words), code, told.more));
    let since = since.map(|since| span().class("session__since").child(since));
    Some(div().class(told.class).child((what, since)))
}

/// What it waits for an answer to, and how many more it does.
fn waits_for(row: &Row) -> Told {
    let ask = row.ask.clone().unwrap_or_default();
    let object = units::below(&ask.text, row.cwd.as_deref());
    let is_command = matches!(ToolKind::of(None, &ask.tool), ToolKind::Execute);
    let (words, code, end) = match (ask.kind.as_str(), object) {
        ("question", question) => (question.to_owned(), "", ""),
        (_, "") => (format!("Allow {}?", ask.tool), "", ""),
        (_, command) if is_command => (format!("Allow {}: ", ask.tool), command, "?"),
        (_, object) => (format!("Allow {}: {object}?", ask.tool), "", ""),
    };
    let more = match row.asks {
        0 | 1 => end.to_owned(),
        n => format!("{end} (+{})", n - 1),
    };
    Told {
        class: "session__now session__now--waits",
        code: code.to_owned(),
        more,
        since_ms: ask.since_ms,
        ..Told::words(words)
    }
}

/// A tool by its name and what it works on; a command, which is code, as it would be typed.
fn doing_text(row: &Row, tool: &str, object: &str) -> (String, String) {
    let object = units::below(object, row.cwd.as_deref());
    match ToolKind::of(None, tool) {
        ToolKind::Execute if !object.is_empty() => (String::new(), format!("$ {object}")),
        _ => (format!("{tool} {object}").trim().to_owned(), String::new()),
    }
}

/// Time that has passed in whole seconds, from one on.
pub(super) fn passed(now_ms: i64, since_ms: i64) -> Option<String> {
    units::passed(u64::try_from(now_ms.saturating_sub(since_ms)).ok()?)
}
