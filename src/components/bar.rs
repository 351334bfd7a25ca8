//! The bar above a feed: title, agent and model, connection, tokens and cost; below it the turn the reader is in.

use std::cell::Cell;
use std::rc::Rc;

use chat_event::gist::gist;
use chat_feed::arrangement::Row;
use chat_feed::sessions::{agent_name, called};
use chat_feed::units;
use chat_feed::viewport::Align;
use chat_feed::{BlockBody, Feed, Turn, TurnIdx, TurnState};
use leptos::ev;
use leptos::html::{button, div, header, span};
use leptos::prelude::*;

use super::around::AROUND;
use super::icon::{Icon, icon};
use super::lacks::{self, Lacks};
use super::reading::READING;
use super::{Context, Ctx, elapsed, line};
use crate::platform::clock;
use crate::virtual_list::View;

/// How what is shown comes here, in a word and a shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Connection {
    /// `live`, `connecting`, `catching-up`, `reconnecting`, `offline`, `replay`, `ended`, `error`
    pub(crate) state: &'static str,
    /// What the chip says.
    pub(crate) text: String,
}

/// A note across the feed: what is wrong, where, and what can be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Note {
    /// What.
    pub(crate) what: String,
    /// Where, and what next.
    pub(crate) more: String,
}

/// How much of a file was read.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// In percent, where its length is known.
    pub(crate) percent: u64,
    /// In bytes; none of something else that takes its time.
    pub(crate) n_read: u64,
    /// Of so many bytes, where that is known.
    pub(crate) of_bytes: Option<u64>,
    /// About so much of it will be shown, where that is not all.
    pub(crate) fits: Option<u64>,
    /// Events that it gave.
    pub(crate) n_events: u64,
}

/// Whether a reader wants no more of what is read.
pub(crate) type Stop = StoredValue<Rc<Cell<bool>>, LocalStorage>;

/// What the bar shows beyond the feed's facts.
#[derive(Clone)]
pub(crate) struct BarState {
    /// The connection.
    pub(crate) connection: ArcRwSignal<Connection>,
    /// Whether what is shown is of the past.
    pub(crate) back: ArcRwSignal<bool>,
    /// How much of a file was read, while it is read.
    pub(crate) progress: ArcRwSignal<Option<Reading>>,
    /// Whether the reader wants no more of it.
    pub(crate) stop: Stop,
    /// Why nothing comes for now; it can be tried again at once.
    pub(crate) away: ArcRwSignal<Option<Note>>,
    retry: StoredValue<Box<dyn Fn()>, LocalStorage>,
    /// Parts of the page that did not come.
    pub(crate) lacks: Lacks,
    /// What is wrong.
    pub(crate) note: ArcRwSignal<Option<Note>>,
    /// Whether there is a bar at all.
    pub(crate) shown: ArcRwSignal<bool>,
    view: ArcRwSignal<View>,
}

impl BarState {
    /// A bar that says nothing yet.
    pub(crate) fn new(view: ArcRwSignal<View>, lacks: Lacks) -> BarState {
        BarState {
            connection: ArcRwSignal::new(Connection::default()),
            back: ArcRwSignal::new(false),
            progress: ArcRwSignal::new(None),
            stop: StoredValue::new_local(Rc::default()),
            away: ArcRwSignal::new(None),
            retry: StoredValue::new_local(Box::new(|| {})),
            lacks,
            note: ArcRwSignal::new(None),
            shown: ArcRwSignal::new(true),
            view,
        }
    }

    /// What to do when the reader will not wait for the next try.
    pub(crate) fn on_retry(&self, retry: impl Fn() + 'static) {
        self.retry.set_value(Box::new(retry));
    }
}

/// The bar and the turn header.
pub(crate) fn view(ctx: Ctx, state: BarState) -> impl IntoView {
    let facts = ctx.with_value(|context| context.store.facts());
    let (for_bar, facts_for_newer) = (facts.clone(), facts.clone());
    let bar = {
        let state = state.clone();
        move || {
            for_bar.track();
            state
                .shown
                .get()
                .then(|| ctx.with_value(|context| bar(ctx, context, &state)))
        }
    };
    let turn = {
        let view = state.view.clone();
        let shown = state.shown.clone();
        let facts_for_turn = facts.clone();
        // Of the rows that pass by the top edge few begin a turn.
        let top = Memo::new(move |_| {
            facts_for_turn.track();
            let top = view.read().top?;
            Some(ctx.with_value(|context| context.store.turn_at(top)))
        });
        move || {
            facts.track();
            let top = top.get();
            shown
                .get()
                .then(|| {
                    ctx.with_value(|context| {
                        let header = turn_header(ctx, context, top);
                        // Who steps through hits finds the buttons where they were.
                        let room = || div().class("turn-header").attr("aria-hidden", "true");
                        header.or_else(|| context.finds_now().then(|| room().into_any()))
                    })
                })
                .flatten()
        }
    };
    let progress = {
        let (progress, stop) = (state.progress.clone(), state.stop);
        move || {
            progress.get().map(|reading| {
                let told = READING.get().filter(|_| reading.n_read > 0);
                div().class("loading").child((
                    div()
                        .class("loading__done")
                        .attr("role", "progressbar")
                        .attr("aria-label", "Reading the session")
                        .attr("aria-valuenow", reading.percent.to_string())
                        .style(("inline-size", format!("{}%", reading.percent))),
                    told.map(|view| view(&reading, stop)),
                ))
            })
        }
    };
    let note = {
        let note = state.note.clone();
        move || note.get().map(note_view)
    };
    let away = {
        let (away, retry) = (state.away.clone(), state.retry);
        move || away.get().map(|note| away_view(note, retry))
    };
    let newer = {
        let schema = Memo::new(move |_| {
            facts_for_newer.track();
            ctx.with_value(|context| context.store.feed().session().newer_schema)
        });
        move || schema.get().map(newer_view)
    };
    let lacks = lacks::view(&state.lacks);
    let controls = {
        let shown = state.shown.clone();
        let view = state.view.clone();
        let surrounded = ctx.with_value(|context| context.surrounded.clone());
        let connection = state.connection.clone();
        move || {
            let is_here = surrounded.get() && shown.get();
            is_here.then(|| match AROUND.get() {
                Some(around) => (around.controls)(ctx, view.clone()),
                // They are on their way: what stands beside them is where it will stay.
                None => {
                    let is_live = connection.read().state == "live";
                    let class = match is_live {
                        true => "controls-room controls-room--live",
                        false => "controls-room",
                    };
                    div().class(class).into_any()
                }
            })
        }
    };
    let bar = div().class("bar-row").child((bar, controls));
    (bar, turn, progress, away, lacks, note, newer)
}

fn bar(ctx: Ctx, context: &Rc<Context>, state: &BarState) -> AnyView {
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
    let elapsed = session
        .first_ms
        .zip(session.last_ms)
        .and_then(|(first, last)| u64::try_from(last - first).ok())
        .filter(|ms| *ms >= 1_000)
        .map(units::duration);
    // What stands outside of turns has no end that could be told: it goes on where the source says so.
    let works = matches!(session.status.as_deref(), Some("busy" | "retrying"));
    let runs = |turn: &Turn| turn.state == TurnState::Running && (turn.number > 0 || works);
    let elapsed = match feed.turns().last().is_some_and(runs) {
        true => elapsed::of_session(ctx, session.first_ms, elapsed),
        false => elapsed.map(|text| span().child(text).into_any()),
    };
    let newest = feed.turns().iter().rfind(|turn| turn.number > 0);
    let outcome = newest.map(|turn| turn.state);
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
                .attr("title", title.clone())
                .child(units::first_line(&title, 200)),
            div()
                .class("bar__by")
                .attr("title", by(agent, model))
                .child(span().child(by(agent_name(agent), units::model(model)))),
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
            .attr("title", "Go to the next of them")
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
    let n_tokens = counts.input_tokens.saturating_add(counts.output_tokens);
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

/// Whether it is the name of a model; some agents write `<synthetic>` where none answered.
pub(super) fn names_model(model: &str) -> bool {
    !model.starts_with('<')
}

/// The connection without its numbers.
fn spoken(state: &str) -> &'static str {
    match state {
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

/// The turn at the top edge: its number, its prompt's first line, what it took; a click goes to the prompt.
fn turn_header(ctx: Ctx, context: &Rc<Context>, top: Option<TurnIdx>) -> Option<AnyView> {
    let feed = context.store.feed();
    let turn: &Turn = feed.turn(top?);
    if turn.number == 0 {
        return None;
    }
    let prompt = turn.prompt.filter(|id| feed.contains(*id));
    let title = prompt
        .and_then(|id| match &feed.block(id).body {
            BlockBody::Prompt(prompt) => prompt.text.as_ref().map(|body| gist(&body.head(), 200)),
            _ => None,
        })
        .unwrap_or_default();
    let took = match turn.state {
        TurnState::Running => elapsed::of_turn(ctx, turn.started_ms),
        _ => {
            let took = turn.took_ms.and_then(units::told_duration);
            took.map(|text| span().child(text).into_any())
        }
    };
    let files = (turn.files > 0).then(|| units::count(u64::from(turn.files), "file", "files"));
    let counts = line::counts(turn.lines_added, turn.lines_removed);
    let number = span()
        .class("turn-header__number")
        .child(format!("Turn {}", turn.number));
    let what = span().class("turn-header__title").child(title);
    let right = span().class("turn-header__facts").child((
        took,
        files.map(|text| span().child(text)),
        (turn.edits > 0).then(|| span().child(counts)),
    ));
    let go = move || {
        ctx.with_value(|context| {
            let prompt = prompt.and_then(|prompt| context.store.id_of(Row::Block(prompt)));
            if let (Some(id), Some(list)) = (prompt, &*context.list.borrow()) {
                list.scroll_to(id, Align::Start);
            }
        });
    };
    Some(
        button()
            .attr("type", "button")
            .class("turn-header")
            .on(ev::click, move |_| go())
            .child((number, what, right))
            .into_any(),
    )
}

/// Each second it says something else: that is for the eye, and the chip says it once to all.
fn away_view(note: Note, retry: StoredValue<Box<dyn Fn()>, LocalStorage>) -> impl IntoView {
    let try_now = button()
        .attr("type", "button")
        .class("button")
        .on(ev::click, move |_| retry.with_value(|retry| retry()))
        .child("Retry now");
    let what = div().class("note__what").child(note.what);
    let more = div().class("note__more").child(note.more);
    div().class("note note--away").child((
        icon(Icon::Retry),
        div().class("note__text").child((what, more)),
        try_now,
    ))
}

/// All of such a log is shown, but some of it perhaps as no more than its JSON.
fn newer_view(schema: u64) -> impl IntoView {
    let what = "This log was written by a newer version";
    let known = chat_event::SCHEMA;
    let more = format!(
        "Its schema is {schema}, this page knows {known}. What is new in it is shown as raw JSON; a newer page shows more."
    );
    div()
        .class("note note--away")
        .attr("role", "status")
        .child((
            icon(Icon::Alert),
            div().class("note__text").child((
                div().class("note__what").child(what),
                div().class("note__more").child(more),
            )),
        ))
}

fn note_view(note: Note) -> impl IntoView {
    let what = span().class("note__what").child(lacks::sentence(note.what));
    let more = (!note.more.is_empty()).then(|| div().class("note__more").child(note.more));
    div()
        .class("note")
        .attr("role", "alert")
        .child((icon(Icon::Broken), div().child((what, more))))
}
