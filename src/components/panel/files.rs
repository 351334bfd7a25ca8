//! The changed files: a tree with counts and marks of what was viewed; below it the sum of one file's edits.

mod sum;
mod tree;

use chat_feed::panel::{Files, Scope, files};
use chat_feed::{Feed, TurnIdx, units};
use leptos::ev;
use leptos::html::{div, option, select, span};
use leptos::prelude::*;

use super::{counts, empty, of_feed};
use crate::components::Ctx;
use sum::{Chosen, file_view};
pub(super) use tree::FILES_AT_ONCE;
use tree::tree;

/// Turns to choose from; the newest.
const MOST_TURNS: usize = 100;

/// The tab.
pub(super) fn view(ctx: Ctx) -> AnyView {
    let version = ctx.with_value(|context| context.panel.version.clone());
    let chosen = ArcMemo::new(move |_| {
        version.track();
        ctx.with_value(|context| {
            let scope = context.panel.scope.get();
            let path = context.panel.file.get()?;
            let feed = context.store.feed();
            let changed = files(&feed, scope);
            let file = changed.files.iter().find(|file| file.path == path)?;
            Some(Chosen::new(context, &feed, file))
        })
    });
    let file = move || {
        let chosen = chosen.get()?;
        Some(ctx.with_value(|context| file_view(ctx, &context.store.feed(), chosen)))
    };
    (list(ctx), file).into_any()
}

/// All files, as a tree.
fn list(ctx: Ctx) -> AnyView {
    of_feed(ctx, move |context, feed| {
        let scope = context.panel.scope.get();
        let changed = files(feed, scope);
        if changed.files.is_empty() && scope == Scope::Session {
            return empty(
                "No file was changed",
                "Files that the agent creates, edits or deletes are listed here.",
            );
        }
        let tree = tree(ctx, context, &changed);
        (head(ctx, feed, scope, &changed), tree).into_any()
    })
}

fn head(ctx: Ctx, feed: &Feed, scope: Scope, changed: &Files) -> impl IntoView + use<> {
    let n_files = units::count(changed.files.len() as u64, "file", "files");
    let of_turn = |turn: usize| u32::try_from(turn).map(TurnIdx).ok();
    let mut turns: Vec<AnyView> = Vec::new();
    let edited = feed.turns().iter().enumerate().rev();
    for (turn_idx, turn) in edited.filter(|(_, turn)| turn.edits > 0).take(MOST_TURNS) {
        let chosen = of_turn(turn_idx).is_some_and(|turn| scope == Scope::Turn(turn));
        let name = match turn.number {
            0 => "Outside of turns".to_owned(),
            number => format!("Turn {number}"),
        };
        turns.push(
            option()
                .attr("value", turn_idx.to_string())
                .prop("selected", chosen)
                .child(name)
                .into_any(),
        );
    }
    let choose = select()
        .class("panel__scope")
        .attr("aria-label", "Files of")
        .on(ev::change, move |event| {
            let turn = event_target_value(&event).parse::<u32>().map(TurnIdx);
            ctx.with_value(|context| {
                context
                    .panel
                    .scope
                    .set(turn.map_or(Scope::Session, Scope::Turn))
            });
        })
        .child((
            option()
                .attr("value", "")
                .prop("selected", scope == Scope::Session)
                .child("Whole session"),
            turns,
        ));
    div().class("panel__line").child((
        span().child(n_files),
        counts(changed.lines_added, changed.lines_removed),
        choose,
    ))
}
