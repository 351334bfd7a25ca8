//! The row below the strip: play and steps, the time, the chapter, speed, and the way back to the newest.

use chat_feed::playback::{Command, Direction, MAX_SPEED, Player, SPEEDS, Stop};
use leptos::ev;
use leptos::html::{button, div, option, select, span};
use leptos::prelude::*;

use super::chapters;
use super::words::{self, Said};
use crate::components::Ctx;
use crate::components::icon::{Icon, icon, icon_with};
use crate::platform::dom::{self, Element};
use crate::platform::pointer;

/// It points down.
const CHEVRON: &str = "icon transport__chevron";

/// As wide as a menu is at least.
const MENU_PX: f64 = 216.0;

/// The row.
pub(super) fn view(ctx: Ctx, grid: Element) -> impl IntoView {
    let full = icon_button("Full screen", "", Icon::Full, move || {
        pointer::toggle_full_screen(&grid);
    });
    let link = icon_button("Copy link to this moment", "", Icon::Link, move || {
        ctx.with_value(|context| {
            let time = context.store.player(words::in_address);
            context.copy_link_to_moment(&time);
        });
    });
    let others = (
        chapters::view(ctx),
        counted(ctx),
        made_up(ctx),
        speeds(ctx),
        toggles(ctx),
        link,
        full,
        back(ctx),
    );
    div().class("transport__row").child((
        steps(ctx),
        time(ctx),
        // Where it is narrow, a line ends here.
        span().class("transport__break"),
        rest(others),
    ))
}

/// What the player says of itself, told anew with each of its moves.
fn of_player<T>(ctx: Ctx, read: fn(&Player) -> T) -> Memo<T>
where
    T: Copy + PartialEq + Send + Sync + 'static,
{
    let moved = ctx.with_value(|context| context.store.moved());
    Memo::new(move |_| {
        moved.track();
        ctx.with_value(|context| context.store.player(read))
    })
}

/// Play, between the steps back and those on.
fn steps(ctx: Ctx) -> impl IntoView {
    let ask = move |command| ctx.with_value(|context| context.play(command));
    let step = move |name: &'static str, key: &'static str, shape, stop, direction| {
        icon_button(name, key, shape, move || {
            ask(Command::Step(stop, direction))
        })
    };
    let plays = of_player(ctx, Player::moves);
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
    div().class("transport__steps").child((
        step(
            "Previous turn",
            "Shift+←",
            Icon::Markers(false),
            Stop::Turn,
            Direction::Back,
        ),
        step(
            "Previous event",
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
    ))
}

/// The time, in the way that was chosen last; pressed, the next way.
fn time(ctx: Ctx) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let said = ctx.with_value(|context| context.transport.said);
    let even = of_player(ctx, |player| player.clock().is_reconstructed());
    button()
        .attr("type", "button")
        .class("transport__time")
        .attr("data-wall", move || said.get() == Said::Wall && !even.get())
        // One way is left.
        .attr("disabled", move || even.get())
        .attr("title", move || match said.get() {
            _ if even.get() => "Events: the log tells no times, so its pace is made up",
            Said::Wall => "Time of day; press for the time elapsed",
            Said::Elapsed => "Time elapsed; press for events",
            Said::Events => "Events; press for the time of day",
        })
        .on(ev::click, move |_| said.update(|said| *said = said.next()))
        .child((
            move || {
                moved.track();
                let time = ctx.with_value(|context| words::time(context, said.get()));
                let day = time
                    .day
                    .map(|day| span().class("transport__day").child(day));
                (
                    span().class("transport__now").child((day, time.now)),
                    span()
                        .class("transport__of")
                        .child(format!(" / {}", time.of)),
                )
            },
            icon_with(Icon::Chevron, CHEVRON),
        ))
}

/// What the time does not tell of how far it is.
fn counted(ctx: Ctx) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let said = ctx.with_value(|context| context.transport.said);
    span().class("transport__count").child(move || {
        moved.track();
        ctx.with_value(|context| words::counted_beside(context, said.get()))
    })
}

/// A note while a text is typed that came whole.
fn made_up(ctx: Ctx) -> impl IntoView {
    let made_up = of_player(ctx, words::is_made_up);
    span()
        .class("transport__note")
        .attr(
            "data-on",
            move || if made_up.get() { "true" } else { "false" },
        )
        .attr(
            "title",
            "The log tells this text only as a whole, so the pace of its typing is made up",
        )
        .child("pace made up")
}

/// What else there is; in a small feed it is in a menu, and with room enough its style makes that no more than what is in it.
fn rest(others: impl IntoView) -> impl IntoView {
    let opener = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("id", "player-opener")
        .attr("aria-label", "More")
        .attr("title", "More")
        .attr("popovertarget", "player-menu")
        .child(icon(Icon::More));
    let menu = div()
        .class("menu transport__rest")
        .attr("id", "player-menu")
        .attr("popover", "auto")
        .on(ev::beforetoggle, |event| {
            dom::place_above(&event, "#player-opener", ".transport", MENU_PX);
        })
        .child(others);
    (opener, menu)
}

/// How far behind the newest it is, and the way there.
fn back(ctx: Ctx) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let (for_live, for_back) = (moved.clone(), moved.clone());
    let live = Memo::new(move |_| {
        for_live.track();
        ctx.with_value(|context| context.live.get())
    });
    let back = Memo::new(move |_| {
        for_back.track();
        ctx.with_value(|context| context.store.looks_back())
    });
    let name = move || match (live.get(), back.get()) {
        (true, true) => "Return to live",
        (true, false) => "Close",
        (false, _) => "End of session",
    };
    let behind = span().class("transport__behind").child(move || {
        moved.track();
        let behind = live.get() && back.get();
        behind.then(|| ctx.with_value(|context| words::behind(context)))
    });
    let button = button()
        .attr("type", "button")
        .class("button transport__live")
        .attr("title", move || format!("{} (L)", name()))
        .attr("disabled", move || !live.get() && !back.get())
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.go_to_newest());
        })
        .child((
            move || icon(if live.get() { Icon::Live } else { Icon::End }),
            span().class("transport__way").child(name),
        ));
    (behind, button)
}

fn speeds(ctx: Ctx) -> impl IntoView {
    let now = of_player(ctx, Player::speed);
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
    // A page may say one of its own.
    let other = move || {
        let speed = now.get();
        let is_listed = SPEEDS.contains(&speed);
        (!is_listed).then(|| {
            option()
                .attr("value", speed.to_string())
                .prop("selected", true)
                .child(format!("{speed}×"))
        })
    };
    let choice = select()
        .class("transport__speed")
        .attr("aria-label", "Speed")
        .attr("title", "Speed (< and >)")
        .on(ev::change, move |event| {
            if let Ok(speed) = event_target_value(&event).parse() {
                ctx.with_value(|context| context.play(Command::Speed(speed)));
            }
        })
        .prop("value", move || now.get().to_string())
        .child((options, other));
    span()
        .class("transport__speeds")
        .child((choice, icon_with(Icon::Chevron, CHEVRON)))
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
        toggle(ctx, "Loop", Icon::Loop, Player::loops, Command::Loop),
    )
}

fn toggle(
    ctx: Ctx,
    name: &'static str,
    shape: Icon,
    is_on: fn(&Player) -> bool,
    set: fn(bool) -> Command,
) -> impl IntoView {
    let on = of_player(ctx, is_on);
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
