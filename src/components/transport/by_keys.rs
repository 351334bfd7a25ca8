//! What keys ask of the player: in all of the feed, and in its bar alone.

use chat_feed::playback::{Command, Direction, Stop};
use leptos::prelude::*;

use crate::components::{Context, Ctx, keys};
use crate::platform::dom::{self, Element};

/// Does what a key of the table asks of the player; false where there is none to play, or the key is a control's own.
pub(crate) fn on_key(
    context: &Context,
    command: keys::Command,
    event: &dom::Event,
    scroller: &Element,
) -> bool {
    use keys::Command as Key;
    let in_control = dom::began_in_control(event, scroller);
    let step = |stop, direction| Command::Step(stop, direction);
    let ask = match command {
        // Going back is what opens the bar of a session that goes on.
        Key::PlayOrPause | Key::NextEvent | Key::PreviousEvent if in_control => return false,
        Key::NextEvent | Key::PreviousEvent if dom::began_in_wide(event, scroller) => return false,
        Key::PlayOrPause if !context.has_transport() => return false,
        Key::PlayOrPause => Command::Toggle,
        Key::NextEvent => step(Stop::Event, Direction::On),
        Key::PreviousEvent => step(Stop::Event, Direction::Back),
        Key::NextTurn => step(Stop::Turn, Direction::On),
        Key::PreviousTurn => step(Stop::Turn, Direction::Back),
        Key::NextMarker => step(Stop::Marker, Direction::On),
        Key::PreviousMarker => step(Stop::Marker, Direction::Back),
        Key::NextChunk => step(Stop::Chunk, Direction::On),
        Key::PreviousChunk => step(Stop::Chunk, Direction::Back),
        Key::Tenth => {
            let digit = dom::key_of(event).and_then(|key| key.name.parse::<u32>().ok());
            let length_ms = context.store.player(|player| player.clock().length_ms());
            #[allow(clippy::cast_precision_loss)]
            let tenth_ms = length_ms as f64 / 10.0;
            Command::SeekNear(f64::from(digit.unwrap_or(0)) * tenth_ms)
        }
        Key::Faster => Command::Faster(Direction::On),
        Key::Slower => Command::Faster(Direction::Back),
        Key::SkipIdle => {
            let skips = context.store.player(|player| player.skips_idle());
            Command::SkipIdle(!skips)
        }
        Key::Live => {
            if context.has_moments() {
                context.go_to_newest();
            }
            return true;
        }
        // All others are the feed's.
        _ => return false,
    };
    // Before the only event there is nothing to look at.
    if context.has_moments() {
        context.play(ask);
    }
    true
}

/// Keys that act in the bar alone; those of the table act in all of the feed.
pub(super) fn own_key(ctx: Ctx, event: &dom::Event) -> bool {
    let Some(key) = dom::key_of(event) else {
        return false;
    };
    let ask = |command| {
        ctx.with_value(|context| context.play(command));
        true
    };
    let is_letter = key.name.chars().count() == 1 && key.name != " ";
    // A list of speeds goes through what it lists by its own.
    if !is_letter && dom::is_within(event, "select") {
        return false;
    }
    if key.control || (is_letter && !ctx.with_value(|context| context.shortcuts.get())) {
        return false;
    }
    let on_strip = dom::is_within(event, ".strip");
    match keys::asked_in(keys::Within::Bar, &key.name) {
        // Lists and menus go through what they list.
        Some(keys::Command::NextEvent) if on_strip => {
            ask(Command::Step(Stop::Event, Direction::On))
        }
        Some(keys::Command::PreviousEvent) if on_strip => {
            ask(Command::Step(Stop::Event, Direction::Back))
        }
        Some(keys::Command::PlayOrPause) => ask(Command::Toggle),
        Some(keys::Command::Back) => ask(Command::SeekBy(-10_000.0)),
        Some(keys::Command::On) => ask(Command::SeekBy(10_000.0)),
        Some(keys::Command::First) => ask(Command::SeekTo(0)),
        Some(keys::Command::Last) => {
            // The bar stays although there is nothing to look back from: the focus is in it.
            ctx.with_value(|context| context.transport.opened.set(true));
            ask(Command::Live)
        }
        Some(by @ (keys::Command::TenthBack | keys::Command::TenthOn)) => {
            let length_ms =
                ctx.with_value(|context| context.store.player(|player| player.clock().length_ms()));
            #[allow(clippy::cast_precision_loss)]
            let tenth_ms = length_ms as f64 / 10.0;
            let by_ms = if by == keys::Command::TenthBack {
                -tenth_ms
            } else {
                tenth_ms
            };
            ask(Command::SeekBy(by_ms))
        }
        _ => false,
    }
}
