//! The turn at the top edge, in a line below the bar.

use std::rc::Rc;

use chat_event::gist::gist;
use chat_feed::arrangement::Row;
use chat_feed::viewport::Align;
use chat_feed::{BlockBody, Turn, TurnIdx, TurnState, units};
use leptos::ev;
use leptos::html::{button, span};
use leptos::prelude::*;

use crate::components::{Context, Ctx, elapsed, line, prompt, seen};

/// The turn at the top edge: its number, its prompt's first line, what it took; a click goes to the prompt.
pub(super) fn turn_header(
    ctx: Ctx,
    context: &Rc<Context>,
    top: Option<TurnIdx>,
) -> Option<AnyView> {
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
        TurnState::Running if feed.session().works() => elapsed::of_turn(ctx, turn.started_ms),
        // No time passes in one of a session that rests, though nobody said that it is over.
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
    let undone = prompt::undone_mark(turn.is_undone());
    let what = span().class("turn-header__title").child(seen::text(title));
    let right = span().class("turn-header__facts").child((
        took,
        files.map(|text| span().child(text)),
        (turn.edits > 0).then(|| span().child(counts)),
    ));
    let go = move || {
        ctx.with_value(|context| {
            let prompt = prompt.and_then(|prompt| context.store.id_of(Row::Block(prompt)));
            if let (Some(id), Some(list)) = (prompt, &*context.list.borrow()) {
                list.go_to(id, Align::Start);
            }
        });
    };
    Some(
        button()
            .attr("type", "button")
            .class("turn-header")
            .on(ev::click, move |_| go())
            .child((number, undone, what, right))
            .into_any(),
    )
}
