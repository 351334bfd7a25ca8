//! The list of sessions: status, title, agent and project, time of the last event.

use leptos::ev;
use leptos::html::{button, div, input, li, span, ul};
use leptos::prelude::*;
use leptos::svg;

use super::{Open, PageRef, State};
use crate::platform::clock;
use crate::transport::Connection;
use crate::transport::list::Row;

/// The newest first; what waits and what runs before what rests.
pub(super) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let key = |row: &Row| {
            (
                group_of(row),
                std::cmp::Reverse(row.last_activity_ms.or(row.started_ms)),
            )
        };
        key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
    });
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Running,
    Earlier,
    Samples,
}

impl Group {
    fn title(self) -> &'static str {
        match self {
            Group::Running => "Running",
            Group::Earlier => "Earlier",
            Group::Samples => "Examples",
        }
    }
}

fn group_of(row: &Row) -> Group {
    match row.status.as_str() {
        "busy" | "retrying" => Group::Running,
        _ if row.sample => Group::Samples,
        _ => Group::Earlier,
    }
}

/// The list with its head.
pub(super) fn view(page: PageRef, state: State) -> impl IntoView {
    let n_rows = move || state.rows.with(Vec::len);
    let head = div().class("sessions__head").child((
        span().class("sessions__title").child("Sessions"),
        span()
            .class("sessions__count")
            .child(move || n_rows().to_string()),
    ));
    let filter = div().class("sessions__filter").child(
        input()
            .attr("type", "search")
            .attr("placeholder", "Filter")
            .attr("aria-label", "Filter sessions")
            .class("field")
            .on(ev::input, move |event| {
                state.filter.set(event_target_value(&event))
            }),
    );
    let note = move || connection_note(state);
    let refused = move || {
        let elsewhere = matches!(state.open.get(), Open::Local(_) | Open::Other(_));
        (state.refused.get() && elsewhere).then(|| refused_note(page))
    };
    let none = move || {
        let live = matches!(state.connection.get(), Some(Connection::Live));
        (live && n_rows() == 0)
            .then(|| div().class("sessions__none muted").child("No sessions yet"))
    };
    let rows = move || {
        let wanted = state.filter.get().to_lowercase();
        let now_ms = state.now_ms.get();
        let open = state.open.get();
        state.rows.with(|rows| {
            let mut items: Vec<AnyView> = Vec::new();
            let mut last = None;
            for row in rows.iter().filter(|row| matches(row, &wanted)) {
                let group = group_of(row);
                if last.replace(group) != Some(group) {
                    items.push(
                        li().class("sessions__group")
                            .attr("role", "presentation")
                            .child(group.title())
                            .into_any(),
                    );
                }
                let chosen = matches!(&open, Open::Session(id) if *id == row.id);
                items.push(row_view(page, row, now_ms, chosen).into_any());
            }
            items
        })
    };
    let local = move || super::local::rows(page, state);
    (
        head,
        filter,
        note,
        refused,
        none,
        ul().class("sessions__list").child((local, rows)),
    )
}

fn matches(row: &Row, wanted: &str) -> bool {
    wanted.split_whitespace().all(|word| {
        let texts = [
            row.title.as_deref(),
            row.agent.as_deref(),
            row.cwd.as_deref(),
            Some(&row.status),
            Some(&row.id),
        ];
        texts
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(word))
    })
}

fn row_view(page: PageRef, row: &Row, now_ms: i64, chosen: bool) -> impl IntoView + use<> {
    let title = row
        .title
        .clone()
        .filter(|title| !title.trim().is_empty())
        .unwrap_or_else(|| "Untitled session".to_owned());
    let project = row
        .cwd
        .as_deref()
        .and_then(|cwd| cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()));
    let by: Vec<&str> = [row.agent.as_deref(), project]
        .into_iter()
        .flatten()
        .collect();
    let by = if by.is_empty() {
        row.id.clone()
    } else {
        by.join(" · ")
    };
    let when = row
        .last_activity_ms
        .map(|at_ms| relative(now_ms, at_ms))
        .unwrap_or_default();
    let status = match row.status.as_str() {
        "busy" => "Running",
        "retrying" => "Retrying",
        "ended" => "Ended",
        _ => "Idle",
    };
    let id = row.id.clone();
    let text = div().class("session__text").child((
        div().class("session__line").child((
            span().class("session__title").child(title),
            span().class("session__time").child(when),
        )),
        div().class("session__by").child(by),
    ));
    li().child(
        button()
            .attr("type", "button")
            .class("session")
            .attr("data-session-id", row.id.clone())
            .attr("data-status", row.status.clone())
            .attr("aria-current", if chosen { Some("true") } else { None })
            .on(ev::click, move |_| {
                page.with_value(|page| page.open_session(&id))
            })
            .child((
                glyph(&row.status),
                span().class("visually-hidden").child(status),
                text,
            )),
    )
}

/// The glyphs differ in shape, not in colour alone.
pub(super) fn glyph(status: &str) -> impl IntoView + use<> {
    let strokes = match status {
        "busy" => "M8 2a6 6 0 1 1-4.200 1.800M9.500 8a1.500 1.500 0 1 1-3 0 1.500 1.500 0 0 1 3 0Z",
        "retrying" => "M13 8a5 5 0 1 1-1.500-3.500L13 6M13 2.500V6H9.500",
        "ended" => "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM5.500 8.200l1.700 1.700 3.300-3.600",
        _ => {
            "M8 2a6 6 0 0 1 4.200 1.800M14 8a6 6 0 0 1-1.800 4.200M8 14a6 6 0 0 1-4.200-1.800M2 8a6 6 0 0 1 1.800-4.200M8 5.500V8l1.500 1"
        }
    };
    svg::svg()
        .attr("class", "glyph")
        .attr("viewBox", "0 0 16 16")
        .attr("aria-hidden", "true")
        .child(svg::path().attr("d", strokes))
}

pub(super) fn relative(now_ms: i64, at_ms: i64) -> String {
    const MINUTE_MS: i64 = 60_000;
    match now_ms.saturating_sub(at_ms) {
        past_ms if past_ms < MINUTE_MS => "now".to_owned(),
        past_ms if past_ms < 60 * MINUTE_MS => format!("{} min", past_ms / MINUTE_MS),
        past_ms if past_ms < 12 * 60 * MINUTE_MS => clock::time_of_day(at_ms),
        _ => clock::day_and_time(at_ms),
    }
}

/// The server wants its token, while something is shown that needs none.
fn refused_note(page: PageRef) -> impl IntoView + use<> {
    let leave = button()
        .attr("type", "button")
        .class("link")
        .on(ev::click, move |_| page.with_value(|page| page.leave()))
        .child("Enter it…");
    div()
        .class("sessions__note")
        .attr("role", "status")
        .child(("The server asks for its token. ", leave))
}

/// What is wrong with the connection to the list, if anything is; the list stays.
fn connection_note(state: State) -> Option<impl IntoView + use<>> {
    let text = match state.connection.get()? {
        Connection::Reconnecting { seconds, .. } => {
            format!("The server does not answer. Next try in {seconds}\u{a0}s.")
        }
        Connection::Offline => "No network. The list is as it was.".to_owned(),
        Connection::Connecting
        | Connection::CatchingUp(_)
        | Connection::Live
        | Connection::Polling
        | Connection::Ended => return None,
    };
    Some(
        div()
            .class("sessions__note")
            .attr("role", "status")
            .child(text),
    )
}
