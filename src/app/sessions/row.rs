//! One row: as a line of the list, and as a line of the table.

use std::rc::Rc;

use chat_feed::marks;
use chat_feed::sessions::{Pace, Row, State};
use chat_feed::units;
use leptos::html::{div, span};
use leptos::prelude::*;
use leptos::svg;

use super::super::local::LocalSession;
use super::doing::{did, has_now, now_line, passed};
use super::glyph;
use crate::element::seen;
use crate::platform::clock;

const MINUTE_MS: i64 = 60_000;
/// Of a session that was shorter its tenths of seconds are told.
const SHORT_MS: u64 = 10_000;

/// How a row is looked at.
pub(super) struct Look {
    pub(super) is_table: bool,
    pub(super) is_open: bool,
    /// Whether keys are at it.
    pub(super) is_at: bool,
    pub(super) is_chosen: bool,
    pub(super) is_unread: bool,
    pub(super) now_ms: i64,
}

/// What is above a section.
pub(super) fn heading(title: &'static str, n: usize, has_names: bool) -> impl IntoView {
    let names = has_names.then(|| {
        (
            span().class("sessions__name").child("Time"),
            span()
                .class("sessions__name sessions__name--pace")
                .child("Last 10 min"),
            span()
                .class("sessions__name sessions__name--context")
                .child("Context"),
            span()
                .class("sessions__name sessions__name--end")
                .child("Spent"),
        )
    });
    div().class("sessions__group").child((
        span().class("sessions__section").child(title),
        span().class("sessions__n").child(units::grouped(n as u64)),
        names,
    ))
}

/// A session of the server.
pub(super) fn session(row: &Rc<Row>, look: &Look) -> AnyView {
    let state = row.state(look.now_ms);
    let title = row.name(&clock::day_and_time);
    let parts = [row.agent_name(), row.project(), row.git_branch.as_deref()];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    let mut by = match parts.is_empty() {
        true => row.id.clone(),
        false => parts.join(" · "),
    };
    if row.packed {
        by.push_str(" · packed away");
    }
    let at_ms = Some(row.at_ms()).filter(|at_ms| *at_ms > i64::MIN);
    let outer = outer(look)
        .attr("data-session-id", row.id.clone())
        .attr("data-status", row.status.clone())
        .attr("data-state", state.word())
        .attr("data-needs-you", (state == State::NeedsYou).then_some(""));
    let sign = (
        glyph(state),
        span().class("session__check").attr("aria-hidden", "true"),
        span().class("visually-hidden").child(state.word()),
    );
    let unread = look.is_unread.then(|| {
        span()
            .class("session__unread")
            .attr("role", "img")
            .attr("aria-label", "Unread")
    });
    let name = span().class("session__title").child(seen::text(title));
    let by = span().class("session__by").child(seen::text(by));
    if !look.is_table {
        // How long it waits matters more than when it asked, and its line is for what it asks.
        let waits_ms = row.ask.as_ref().and_then(|ask| ask.since_ms);
        let waits_ms = waits_ms.filter(|_| state == State::NeedsYou);
        let waits = waits_ms.and_then(|since_ms| passed(look.now_ms, since_ms));
        let when = waits.map(|waits| (waits, None));
        let when = when.or_else(|| at_ms.map(|at_ms| in_little_room(look.now_ms, at_ms)));
        let cost = row.cost_usd.filter(|usd| *usd > 0.0).map(units::dollars);
        let spent = cost.or_else(|| tokens(row));
        let text = div().class("session__text").child((
            div()
                .class("session__line")
                .child((name, unread, when.map(time))),
            div().class("session__line").child((
                by,
                spent.map(|spent| span().class("session__spent").child(spent)),
            )),
            match now_line(row, look.now_ms) {
                Some(now) => Some(now.into_any()),
                None => has_now(row, look.now_ms).then(|| did(row).into_any()),
            },
        ));
        return outer.child((sign, text)).into_any();
    }
    let now = now_line(row, look.now_ms).map_or_else(|| did(row).into_any(), IntoAny::into_any);
    let line = div().class("session__line").child((name, unread, by));
    let text = div().class("session__text").child((line, now));
    let when = at_ms.map(|at_ms| relative(look.now_ms, at_ms));
    outer
        .child((sign, text, facts(row, look.now_ms, when)))
        .into_any()
}

/// The right part of the table: time, pace, context, spent.
fn facts(row: &Row, now_ms: i64, when: Option<String>) -> impl IntoView {
    let state = row.state(now_ms);
    let waits_ms = row.ask.as_ref().and_then(|ask| ask.since_ms);
    let first = match state {
        State::NeedsYou => waits_ms
            .and_then(|since_ms| passed(now_ms, since_ms))
            .map(|passed| format!("waiting {passed}")),
        State::Running | State::Quiet if row.turns > 0 => Some(format!("Turn {}", row.turns)),
        State::Running
        | State::Quiet
        | State::Idle
        | State::Failed
        | State::Done
        | State::Cancelled => when,
    };
    let lasted_ms = row.lasted_ms(now_ms);
    let lasted = lasted_ms.and_then(|lasted_ms| match state {
        State::NeedsYou | State::Running | State::Quiet => {
            units::passed(lasted_ms).map(|lasted| format!("{lasted} in"))
        }
        State::Idle | State::Failed | State::Done | State::Cancelled if lasted_ms < SHORT_MS => {
            units::told_duration(lasted_ms)
        }
        State::Idle | State::Failed | State::Done | State::Cancelled => units::passed(lasted_ms),
    });
    let gauge = row.context_percent().map(|percent| {
        let level = match percent {
            0..60 => "plain",
            60..80 => "high",
            _ => "full",
        };
        div().class("gauge").attr("data-level", level).child((
            span().class("gauge__bar").child(
                span()
                    .class("gauge__used")
                    .style(("inline-size", format!("{percent}%"))),
            ),
            span()
                .class("gauge__text")
                // Something is in it.
                .child(match percent {
                    0 => "<\u{a0}1\u{a0}%".to_owned(),
                    percent => format!("{percent}\u{a0}%"),
                }),
        ))
    });
    let tokens = tokens(row);
    let cost = row.cost_usd.filter(|usd| *usd > 0.0).map(units::dollars);
    (
        div().class("session__cell").child((
            div()
                .class("session__first")
                .child(first.unwrap_or_default()),
            div().child(lasted.unwrap_or_default()),
        )),
        div()
            .class("session__cell session__cell--pace")
            .child(bars(&row.pace, now_ms)),
        div()
            .class("session__cell session__cell--context")
            .child(gauge),
        div().class("session__cell session__cell--end").child((
            div()
                .class("session__first")
                .child(tokens.unwrap_or_default()),
            div().child(cost.unwrap_or_default()),
        )),
    )
}

fn tokens(row: &Row) -> Option<String> {
    let n_tokens = row.tokens.filter(|n| *n > 0)?;
    Some(format!("{} tokens", units::tokens(n_tokens)))
}

/// The last ten minutes; each bar is half a minute, as high as its share of the busiest.
fn bars(pace: &Pace, now_ms: i64) -> impl IntoView + use<> {
    const HEIGHT: f64 = 16.0;
    let bars = pace.bars(now_ms);
    let most = bars.iter().copied().max().unwrap_or(0).max(1);
    let mut path = String::new();
    for (at, count) in bars.iter().enumerate() {
        // Roots, because one busy half minute would else make all others flat.
        let share = (f64::from(*count) / f64::from(most)).sqrt();
        let height = if *count == 0 {
            0.5
        } else {
            (share * HEIGHT).max(2.0)
        };
        path.push_str(&format!("M{} {HEIGHT}v-{height:.1}h4V{HEIGHT}Z", at * 6));
    }
    svg::svg()
        .attr("class", "pace")
        .attr("viewBox", "0 0 120 16")
        .attr("aria-hidden", "true")
        .child(svg::path().attr("d", path))
}

/// A session of dropped files.
pub(super) fn local(session: &LocalSession, look: &Look) -> AnyView {
    let (title, by, changed_ms) = session.told();
    let name = span().class("session__title").child(seen::text(title));
    let by = span().class("session__by").child(seen::text(by));
    let outer = outer(look).attr("title", marks::written_out(&session.name));
    let state = match (session.failed, &session.row().outcome) {
        (true, _) => Some(State::Failed),
        (false, Some(_)) => Some(session.row().state(look.now_ms)),
        // Only its beginning was read.
        (false, None) => None,
    };
    let sign = match state {
        Some(state) => (
            glyph(state),
            span().class("visually-hidden").child(state.word()),
        )
            .into_any(),
        None => glyph::file(),
    };
    if look.is_table {
        let text = div()
            .class("session__text")
            .child(div().class("session__line").child((name, by)));
        let when = relative(look.now_ms, changed_ms);
        let time = div()
            .class("session__cell")
            .child(div().class("session__first").child(when));
        return outer.child((sign, text, time)).into_any();
    }
    let text = div().class("session__text").child((
        div()
            .class("session__line")
            .child((name, time(in_little_room(look.now_ms, changed_ms)))),
        div().class("session__line").child(by),
    ));
    outer.child((sign, text)).into_any()
}

fn outer(
    look: &Look,
) -> leptos::html::HtmlElement<leptos::html::Div, impl leptos::attr::Attribute + use<>, ()> {
    div()
        .class("session")
        .attr("data-at", look.is_at.then_some(""))
        .attr("data-open", look.is_open.then_some(""))
        .attr("data-chosen", look.is_chosen.then_some(""))
        .attr("data-unread", look.is_unread.then_some(""))
}

/// When something was, by the page's clock.
fn relative(now_ms: i64, at_ms: i64) -> String {
    lately(now_ms, at_ms).unwrap_or_else(|| clock::day_and_time(at_ms))
}

/// The same where a title needs the room: of other days the day, and all of it where it is pointed at.
fn in_little_room(now_ms: i64, at_ms: i64) -> (String, Option<String>) {
    match lately(now_ms, at_ms) {
        Some(said) => (said, None),
        None => (clock::day(at_ms), Some(clock::day_and_time(at_ms))),
    }
}

fn time((said, whole): (String, Option<String>)) -> impl IntoView {
    span()
        .class("session__time")
        .attr("title", whole)
        .child(said)
}

/// When something was, where that is less than half a day ago.
fn lately(now_ms: i64, at_ms: i64) -> Option<String> {
    match now_ms.saturating_sub(at_ms) {
        past_ms if past_ms < MINUTE_MS => Some("now".to_owned()),
        past_ms if past_ms < 60 * MINUTE_MS => Some(format!("{} min", past_ms / MINUTE_MS)),
        past_ms if past_ms < 12 * 60 * MINUTE_MS => Some(clock::time_of_day(at_ms)),
        _ => None,
    }
}
