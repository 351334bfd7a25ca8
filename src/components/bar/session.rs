//! The session in one line: title, agent and model, connection, tokens and cost.

use std::rc::Rc;

use chat_feed::sessions::{agent_name, called};
use chat_feed::{Feed, TurnState, marks, units};
use leptos::ev;
use leptos::html::{button, div, header, span};
use leptos::prelude::*;

use super::names_model;
use super::state::{BarState, Connection};
use crate::components::icon::{Icon, icon};
use crate::components::{Context, Ctx, elapsed, seen};
use crate::platform::clock;

/// The line.
pub(super) fn bar(ctx: Ctx, context: &Rc<Context>, state: &BarState) -> AnyView {
    let feed = context.store.feed();
    let session = feed.session();
    let agent = session.agent.as_deref().map(agent_name);
    let title = called(
        session.title.as_deref(),
        session.cwd.as_deref(),
        &session.session_id,
        (agent.filter(|name| !name.is_empty()), session.first_ms),
        &clock::day_and_time,
    );
    let model = session.model.as_deref().filter(|model| names_model(model));
    let model = model.unwrap_or_default();
    let by = |agent: &str, model: &str| match (agent, model) {
        ("", by) | (by, "") => by.to_owned(),
        (agent, model) => format!("{agent} · {model}"),
    };
    let agent = session.agent.as_deref().unwrap_or_default();
    let elapsed = feed.lasted_ms().filter(|ms| *ms >= 1_000);
    let elapsed = elapsed.map(units::duration);
    let elapsed = match session.works() {
        true => elapsed::of_session(ctx, session.first_ms, elapsed),
        false => elapsed.map(|text| span().child(text).into_any()),
    };
    let outcome = session.outcome;
    let spent = spent(&feed);
    let (connection, back) = (state.connection.clone(), state.back.clone());
    let chip = move || {
        let Connection { state, text } = connection.get();
        // The past is not live, but a connection that is in trouble is more urgent than that.
        let replays = back.get() && matches!(state, "live" | "ended");
        let real = replays.then(|| format!("Connection: {text}"));
        let (state, text) = match replays {
            true => ("replay", "Replay".to_owned()),
            false => (state, text),
        };
        let (state, text) = match (state, outcome) {
            ("ended", Some(TurnState::Failed)) => ("failed", "Failed".to_owned()),
            ("ended", Some(TurnState::Interrupted)) => ("interrupted", "Interrupted".to_owned()),
            _ => (state, text),
        };
        (!text.is_empty()).then(|| {
            span()
                .class("connection")
                .attr("data-state", state)
                .attr("title", real.clone())
                .child((
                    icon(connection_icon(state)),
                    text,
                    // Said when it changes, and not with each second of a wait.
                    span()
                        .class("visually-hidden")
                        .attr("role", "status")
                        .child((spoken(state), real.map(|real| format!(", {real}")))),
                ))
        })
    };
    header()
        .class("bar")
        .child((
            div()
                .class("bar__title")
                .attr("role", (!title.is_empty()).then_some("heading"))
                .attr("aria-level", (!title.is_empty()).then_some("2"))
                .attr("title", marks::written_out(&title))
                .child(seen::text(units::first_line(&title, 200))),
            div()
                .class("bar__by")
                .attr("title", marks::written_out(&by(agent, model)))
                .child(span().child(seen::text(by(agent_name(agent), units::model(model))))),
            div().class("bar__facts").child((
                chip,
                damage(ctx, session.damaged_places),
                elapsed,
                spent.map(|(text, title)| {
                    span().class("bar__spent").attr("title", title).child(text)
                }),
                gauge(&feed),
            )),
        ))
        .into_any()
}

/// How many places of the log are damaged; a click goes from one to the next.
fn damage(ctx: Ctx, n_places: u64) -> Option<impl IntoView + use<>> {
    (n_places > 0).then(|| {
        button()
            .attr("type", "button")
            .class("bar__damage")
            .attr(
                "title",
                "Go to the next of them; lines behind one another are one place",
            )
            .on(ev::click, move |_| ctx.with_value(Context::go_to_damage))
            .child((
                icon(Icon::Broken),
                units::count(n_places, "damaged place", "damaged places"),
            ))
    })
}

/// Tokens and cost; pointed at, which tokens.
fn spent(feed: &Feed) -> Option<(String, Option<String>)> {
    let counts = feed.tokens().unwrap_or_default();
    let n_tokens = counts.fresh();
    let tokens = (n_tokens > 0).then(|| format!("{} tokens", units::tokens(n_tokens)));
    // What failed before it began cost nothing; what it cost is no news then.
    let cost = feed.cost_usd().filter(|usd| *usd > 0.0);
    let cost = cost.map(units::dollars);
    let parts: Vec<String> = [tokens, cost].into_iter().flatten().collect();
    let which = [
        ("read", counts.input_tokens),
        ("written", counts.output_tokens),
        ("read from cache", counts.cache_read_tokens),
        ("written to cache", counts.cache_write_tokens),
    ];
    let which = which.into_iter().filter(|(_, n)| *n > 0);
    let which: Vec<String> = which
        .map(|(what, n)| format!("{} {what}", units::grouped(n)))
        .collect();
    let title = (n_tokens > 0).then(|| format!("Tokens: {}", which.join(", ")));
    (!parts.is_empty()).then(|| (parts.join(" · "), title))
}

/// The connection without its numbers.
fn spoken(state: &str) -> &'static str {
    match state {
        "unreached" => ", the server is not reached and is tried again",
        "reconnecting" => ", the connection is lost and is tried again",
        "catching-up" => ", catching up",
        _ => "",
    }
}

/// How full the context window is, where both its size and what is in it are told.
fn gauge(feed: &Feed) -> Option<impl IntoView + use<>> {
    let context = feed.context();
    let (used, size) = context.used.zip(context.size.filter(|size| *size > 0))?;
    let percent = (u128::from(used) * 100 / u128::from(size)).min(100);
    let level = match percent {
        0..60 => "low",
        60..80 => "high",
        _ => "full",
    };
    let title = format!("{} of {} tokens", units::tokens(used), units::tokens(size));
    let share = match percent {
        0 if used > 0 => "Context < 1 %".to_owned(),
        percent => format!("Context {percent} %"),
    };
    let fill = span()
        .class("gauge__fill")
        .style(("inline-size", format!("{percent}%")));
    Some(
        span()
            .class("gauge")
            .attr("data-level", level)
            .attr("title", title)
            .child((
                span()
                    .class("gauge__bar")
                    .attr("aria-hidden", "true")
                    .child(fill),
                share,
            )),
    )
}

fn connection_icon(state: &str) -> Icon {
    match state {
        "live" => Icon::Live,
        "replay" => Icon::Clock,
        "ended" => Icon::Done,
        "failed" => Icon::Failed,
        "interrupted" => Icon::Stopped,
        "offline" | "error" => Icon::Off,
        _ => Icon::Retry,
    }
}
