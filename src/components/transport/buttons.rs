//! The row below the strip: play and steps, the time, the chapter, speed, and the way back to the newest.

use chat_feed::playback::{Command, Direction, MAX_SPEED, Player, SPEEDS, State, Stop};
use leptos::ev;
use leptos::html::{button, div, option, select, span};
use leptos::prelude::*;

use super::{chapters, words};
use crate::components::Ctx;
use crate::components::icon::{Icon, icon};
use crate::platform::dom::Element;
use crate::platform::pointer;

/// The row.
pub(super) fn view(ctx: Ctx, grid: Element) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let said = ctx.with_value(|context| context.transport.said);
    let ask = move |command| ctx.with_value(|context| context.play(command));
    let step = move |name: &'static str, key: &'static str, shape, stop, direction| {
        icon_button(name, key, shape, move || {
            ask(Command::Step(stop, direction))
        })
    };
    let plays = {
        let moved = moved.clone();
        Memo::new(move |_| {
            moved.track();
            ctx.with_value(|context| {
                context
                    .store
                    .player(|player| player.state() == State::ReplayPlaying)
            })
        })
    };
    let play = button()
        .attr("type", "button")
        .class("transport__play")
        .attr(
            "aria-label",
            move || if plays.get() { "Pause" } else { "Play" },
        )
        .attr("title", move || {
            if plays.get() {
                "Pause (Space)"
            } else {
                "Play (Space)"
            }
        })
        .on(ev::click, move |_| ask(Command::Toggle))
        .child(move || icon(if plays.get() { Icon::Pause } else { Icon::Play }));
    let steps = div().class("transport__steps").child((
        step(
            "Turn before",
            "Shift+←",
            Icon::Markers(false),
            Stop::Turn,
            Direction::Back,
        ),
        step(
            "Event before",
            "←",
            Icon::Step(false),
            Stop::Event,
            Direction::Back,
        ),
        play,
        step(
            "Next event",
            "→",
            Icon::Step(true),
            Stop::Event,
            Direction::On,
        ),
        step(
            "Next turn",
            "Shift+→",
            Icon::Markers(true),
            Stop::Turn,
            Direction::On,
        ),
    ));
    let time = {
        let moved = moved.clone();
        button()
            .attr("type", "button")
            .class("transport__time")
            .attr("title", move || {
                let made_up = ctx.with_value(|context| {
                    context
                        .store
                        .player(|player| player.clock().is_reconstructed())
                });
                match made_up {
                    true => "Elapsed, or events; the log tells no times, so its pace is made up",
                    false => "Time of day, elapsed, or events",
                }
            })
            .on(ev::click, move |_| said.update(|said| *said = said.next()))
            .child(move || {
                moved.track();
                let (now, of) = ctx.with_value(|context| words::time(context, said.get()));
                (
                    span().class("transport__now").child(now),
                    span().class("transport__of").child(format!(" / {of}")),
                    span()
                        .class("visually-hidden")
                        .child(": show it another way"),
                )
            })
    };
    let counted = {
        let moved = moved.clone();
        span().class("transport__count").child(move || {
            moved.track();
            ctx.with_value(|context| words::counted(context))
        })
    };
    let made_up = {
        let moved = moved.clone();
        Memo::new(move |_| {
            moved.track();
            ctx.with_value(|context| context.store.player(words::is_made_up))
        })
    };
    let note = span()
        .class("transport__note")
        .attr(
            "data-on",
            move || if made_up.get() { "true" } else { "false" },
        )
        .attr(
            "title",
            "The log tells this text only as a whole, so the pace of its typing is made up",
        )
        .child("pace made up");
    div().class("transport__row").child((
        steps,
        time,
        // Where it is narrow, a line ends here.
        span().class("transport__break"),
        chapters::view(ctx),
        counted,
        note,
        speeds(ctx),
        toggles(ctx),
        icon_button("Full screen", "", Icon::Full, move || {
            pointer::toggle_full_screen(&grid);
        }),
        back(ctx),
    ))
}

/// How far behind the newest it is, and the way there.
fn back(ctx: Ctx) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    move || {
        moved.track();
        ctx.with_value(|context| {
            let live = context.live.get();
            let behind = live.then(|| words::behind(context)).flatten();
            let name = if live { "Return to live" } else { "To the end" };
            let back = context.store.looks_back();
            let closes = live && !back;
            let said = behind.map(|behind| span().class("transport__behind").child(behind));
            let button = button()
                .attr("type", "button")
                .class("button transport__live")
                .attr("title", format!("{name} (L)"))
                .attr("disabled", !back && !closes)
                .on(ev::click, move |_| {
                    ctx.with_value(|context| {
                        context.play(Command::Live);
                        context.transport.opened.set(false);
                    });
                })
                .child((icon(Icon::Live), if closes { "Close" } else { name }));
            (said, button)
        })
    }
}

fn speeds(ctx: Ctx) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let now = Memo::new(move |_| {
        moved.track();
        ctx.with_value(|context| context.store.player(|player| player.speed()))
    });
    let options = SPEEDS
        .iter()
        .map(|&speed| {
            let words = if speed >= MAX_SPEED {
                "max".to_owned()
            } else {
                format!("{speed}×")
            };
            option()
                .attr("value", speed.to_string())
                .attr("selected", move || (now.get() - speed).abs() < f64::EPSILON)
                .child(words)
        })
        .collect::<Vec<_>>();
    select()
        .class("transport__speed")
        .attr("aria-label", "Speed")
        .attr("title", "Speed (< and >)")
        .on(ev::change, move |event| {
            if let Ok(speed) = event_target_value(&event).parse() {
                ctx.with_value(|context| context.play(Command::Speed(speed)));
            }
        })
        .prop("value", move || now.get().to_string())
        .child(options)
}

fn toggles(ctx: Ctx) -> impl IntoView {
    (
        toggle(
            ctx,
            "Skip idle",
            Icon::Markers(true),
            Player::skips_idle,
            Command::SkipIdle,
        ),
        toggle(ctx, "Loop", Icon::Retry, Player::loops, Command::Loop),
    )
}

fn toggle(
    ctx: Ctx,
    name: &'static str,
    shape: Icon,
    is_on: fn(&Player) -> bool,
    set: fn(bool) -> Command,
) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let on = Memo::new(move |_| {
        moved.track();
        ctx.with_value(|context| context.store.player(is_on))
    });
    button()
        .attr("type", "button")
        .class("transport__toggle")
        .attr(
            "aria-pressed",
            move || if on.get() { "true" } else { "false" },
        )
        .attr("title", name)
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.play(set(!on.get_untracked())));
        })
        .child((icon(shape), span().class("transport__word").child(name)))
}

fn icon_button(
    name: &'static str,
    key: &'static str,
    shape: Icon,
    act: impl Fn() + 'static,
) -> impl IntoView {
    let title = if key.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({key})")
    };
    button()
        .attr("type", "button")
        .class("icon-button")
        .attr("aria-label", name)
        .attr("title", title)
        .on(ev::click, move |_| act())
        .child(icon(shape))
}
