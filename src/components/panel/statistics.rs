//! The session in figures.

use chat_feed::panel::{CallCount, Statistics, TurnFigures, statistics};
use chat_feed::projections::TokenCounts;
use chat_feed::{Feed, TurnState, units};
use leptos::html::{div, span, table, tbody, td, th, thead, tr};
use leptos::prelude::*;

use super::{call_words, counts, empty, go_button, of_feed};
use crate::components::Ctx;

/// What the times of a session with waits do not tell.
const WAITS: &str = "Turns and calls took what their agent says: some count the time they waited for an answer, some do not.";

/// Turns of the table; the newest.
const MOST_TURNS: usize = 100;

/// The tab.
pub(super) fn view(ctx: Ctx) -> AnyView {
    of_feed(ctx, move |_, feed| {
        if feed.is_empty() {
            return empty(
                "Nothing to count yet",
                "Tokens, cost, durations and errors are summed up here.",
            );
        }
        let figures = statistics(feed);
        (
            totals(&figures),
            kinds(&figures),
            slowest(ctx, feed, &figures),
            failures(ctx, feed, &figures),
            turns(ctx, &figures),
        )
            .into_any()
    })
}

fn title(text: impl IntoView + 'static) -> impl IntoView {
    div().class("panel__title").child(text)
}

fn totals(figures: &Statistics) -> impl IntoView + use<> {
    let tokens = figures.tokens.unwrap_or_default();
    let told = |n_tokens: u64| (n_tokens > 0).then(|| units::grouped(n_tokens));
    let lines: Vec<_> = [
        ("Tokens read", told(tokens.input_tokens)),
        ("Tokens written", told(tokens.output_tokens)),
        ("… for thinking", told(tokens.reasoning_tokens)),
        ("Read from cache", told(tokens.cache_read_tokens)),
        ("Written to cache", told(tokens.cache_write_tokens)),
        ("Cost", figures.cost_usd.map(units::dollars)),
        (
            "First to last event",
            figures.duration_ms.and_then(units::told_duration),
        ),
        ("Time in turns", units::told_duration(figures.busy_ms)),
        (
            "Waiting for answers",
            units::told_duration(figures.waited_ms),
        ),
        (
            "Time in calls, added up",
            units::told_duration(figures.calls.duration_ms),
        ),
        (
            "Files changed",
            (figures.files_changed > 0).then(|| units::grouped(figures.files_changed as u64)),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .map(|(name, value)| {
        tr().child((
            th().attr("scope", "row").child(name),
            td().class("figures__number").child(value),
        ))
    })
    .collect();
    // What runs at the same time is added up, and each agent counts waits as it likes: the figures need not fit together.
    let waits = (figures.waited_ms > 0 && figures.calls.duration_ms > 0).then_some(WAITS);
    (
        title("Totals"),
        table().class("figures").child(tbody().child(lines)),
        waits.map(|note| div().class("panel__note").child(note)),
    )
}

fn kinds(figures: &Statistics) -> Option<impl IntoView + use<>> {
    let most = figures
        .by_kind
        .iter()
        .map(|(_, count)| count.total)
        .max()
        .filter(|most| *most > 0)?;
    let rows: Vec<_> = figures
        .by_kind
        .iter()
        .map(|(kind, count)| {
            let percent = (count.total * 100).div_ceil(most);
            let bar = span()
                .class("figures__bar")
                .style(("inline-size", format!("{percent}%")));
            tr().child((
                th().attr("scope", "row").child(told(kind)),
                td().class("figures__bars")
                    .attr("aria-hidden", "true")
                    .child(bar),
                td().class("figures__number")
                    .child(units::grouped(count.total)),
                td().class("figures__number").child(not_well(count)),
            ))
        })
        .collect();
    let head = format!("Calls · {}", units::grouped(figures.calls.total));
    Some((
        title(head),
        table().class("figures").child(tbody().child(rows)),
    ))
}

/// What calls of a kind are called, as the find bar has it.
fn told(kind: &'static str) -> &'static str {
    match kind {
        "read" => "Reads",
        "edit" => "Edits",
        "search" => "Searches",
        "execute" => "Commands",
        "fetch" => "Web",
        "think" => "Thinking",
        "agent" => "Subagents",
        "plan" => "Plans",
        "other" => "Others",
        kind => kind,
    }
}

fn not_well(count: &CallCount) -> Option<impl IntoView + use<>> {
    let failed = (count.failed > 0).then(|| format!("{} failed", units::grouped(count.failed)));
    let denied = (count.denied > 0).then(|| format!("{} denied", units::grouped(count.denied)));
    let open = (count.without_result > 0)
        .then(|| format!("{} open", units::grouped(count.without_result)));
    let class = if failed.is_some() {
        "figures__failed"
    } else {
        "subtle"
    };
    let words: Vec<String> = [failed, denied, open].into_iter().flatten().collect();
    (!words.is_empty()).then(|| span().class(class).child(words.join(", ")))
}

fn slowest(ctx: Ctx, feed: &Feed, figures: &Statistics) -> Option<impl IntoView + use<>> {
    let most = figures.slowest.first()?.duration_ms.max(1);
    let cwd = feed.session().cwd.clone();
    let rows: Vec<_> = figures
        .slowest
        .iter()
        .map(|slow| {
            let percent = (slow.duration_ms.saturating_mul(100))
                .div_ceil(most)
                .min(100);
            let what = (
                call_words(seen_from(cwd.as_deref(), &slow.line), &slow.line),
                span()
                    .class("calls__time")
                    .child(units::duration(slow.duration_ms)),
                span()
                    .class("calls__bar")
                    .attr("aria-hidden", "true")
                    .style(("inline-size", format!("{percent}%"))),
            );
            go_button(ctx, slow.block, "calls__row calls__row--slow", what)
        })
        .collect();
    Some((title("Slowest calls"), div().class("calls").child(rows)))
}

/// What a row says, its path as it is seen from the session's folder.
fn seen_from(cwd: Option<&str>, line: &str) -> String {
    match line.split_once(' ') {
        Some((verb, object)) => format!("{verb} {}", units::below(object, cwd)),
        None => line.to_owned(),
    }
}

fn failures(ctx: Ctx, feed: &Feed, figures: &Statistics) -> Option<impl IntoView + use<>> {
    if figures.failures.is_empty() {
        return None;
    }
    let cwd = feed.session().cwd.clone();
    let rows: Vec<_> = figures
        .failures
        .iter()
        .map(|failure| {
            let told = match (failure.count, failure.undone) {
                (0 | 1, false) => None,
                (0 | 1, true) => Some("undone".to_owned()),
                (count, false) => Some(format!("× {count}")),
                (count, true) => Some(format!("× {count}, undone")),
            };
            let told = told.map(|words| span().class("calls__time").child(words));
            let words = call_words(seen_from(cwd.as_deref(), &failure.line), &failure.line);
            let what = (words, told);
            go_button(ctx, failure.block, "calls__row calls__row--failed", what)
        })
        .collect();
    let shown = figures.failures.len() as u64;
    let head = match figures.n_failures > shown {
        true => format!(
            "Failures · {}, the newest {shown}",
            units::grouped(figures.n_failures)
        ),
        false => format!("Failures · {}", units::grouped(figures.n_failures)),
    };
    Some((title(head), div().class("calls").child(rows)))
}

fn turns(ctx: Ctx, figures: &Statistics) -> Option<impl IntoView + use<>> {
    if figures.turns.is_empty() {
        return None;
    }
    let n_left_out = figures.turns.len().saturating_sub(MOST_TURNS);
    let rows: Vec<_> = figures
        .turns
        .iter()
        .skip(n_left_out)
        .map(|turn| turn_row(ctx, turn))
        .collect();
    let heads = [
        ("Turn", ""),
        ("Steps", "figures__number"),
        ("Lines", "figures__number"),
        ("Tokens", "figures__number"),
        ("Time", "figures__number"),
    ];
    let heads: Vec<_> = heads
        .into_iter()
        .map(|(name, class)| th().attr("scope", "col").class(class).child(name))
        .collect();
    let head = match n_left_out {
        0 => "Turns".to_owned(),
        _ => format!("Turns · the newest {MOST_TURNS}"),
    };
    Some((
        title(head),
        table()
            .class("figures figures--turns")
            .child((thead().child(tr().child(heads)), tbody().child(rows))),
    ))
}

fn turn_row(ctx: Ctx, turn: &TurnFigures) -> impl IntoView + use<> {
    let name = match turn.prompt {
        Some(prompt) => go_button(ctx, prompt, "link", turn.number.to_string()).into_any(),
        None => span().child(turn.number.to_string()).into_any(),
    };
    let state = match turn.state {
        TurnState::Running => turn.runs.then_some("running"),
        TurnState::Completed => None,
        TurnState::Interrupted => Some("stopped"),
        TurnState::Failed => Some("failed"),
    };
    let class = if turn.state == TurnState::Failed {
        "figures__failed"
    } else {
        "subtle"
    };
    let used = turn.tokens.map(TokenCounts::fresh);
    let number = |text: Option<String>| {
        td().class("figures__number")
            .child(text.unwrap_or_default())
    };
    tr().child((
        th().attr("scope", "row").child((
            name,
            state.map(|word| span().class(class).child(format!(" {word}"))),
            turn.undone.then(|| span().class("subtle").child(" undone")),
        )),
        number((turn.steps > 0).then(|| units::grouped(turn.steps.into()))),
        td().class("figures__number")
            .child(counts(turn.lines_added.into(), turn.lines_removed.into())),
        number(used.filter(|used| *used > 0).map(units::tokens)),
        number(turn.duration_ms.and_then(units::told_duration)),
    ))
}
