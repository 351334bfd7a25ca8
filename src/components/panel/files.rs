//! The changed files: a tree with counts and marks of what was viewed; below it the sum of one file's edits.

mod sum;
mod tree;

use chat_feed::panel::{Files, Scope, files};
use chat_feed::{Feed, TurnIdx, units};
use leptos::ev;
use leptos::html::{div, option, select, span};
use leptos::prelude::*;

use super::{counts, empty, of_feed};
use crate::components::{Context, Ctx};
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
        if changed.files.is_empty() && scope == Scope::Session && changed.n_put_back == 0 {
            return empty(
                "No file was changed",
                "Files that the agent creates, edits or deletes are listed here.",
            );
        }
        let tree = tree(ctx, context, &changed);
        let put_back = (changed.n_put_back > 0).then(|| {
            let edits = units::count(changed.n_put_back as u64, "edit", "edits");
            let words = format!("Left out: {edits} of undone turns, which the agent put back");
            div().class("panel__note").child(words)
        });
        (head(context, ctx, scope, &changed), put_back, tree).into_any()
    })
}

/// Turns with edits, the newest first, and the one that is chosen: it may have none at the moment that is shown, be
/// unknown at it, or be too old.
fn turns_to_choose(feed: &Feed, scope: Scope) -> Vec<usize> {
    let edited = feed.turns().iter().enumerate().rev();
    let edited = edited.filter(|(_, turn)| turn.edits > 0);
    let mut listed: Vec<usize> = edited
        .map(|(turn_idx, _)| turn_idx)
        .take(MOST_TURNS)
        .collect();
    if let Scope::Turn(TurnIdx(chosen)) = scope {
        let chosen = chosen as usize;
        // From the newest to the oldest.
        if let Err(place) = listed.binary_search_by(|listed| chosen.cmp(listed)) {
            listed.insert(place, chosen);
        }
    }
    listed
}

fn head(context: &Context, ctx: Ctx, scope: Scope, changed: &Files) -> impl IntoView + use<> {
    let n_files = units::count(changed.files.len() as u64, "file", "files");
    let listed = turns_to_choose(&context.store.feed(), scope);
    let option_of = |turn_idx: usize| {
        let turn = context.store.whole(|feed, _| {
            let turn = feed.turns().get(turn_idx)?;
            Some((turn.number, turn.is_undone()))
        });
        let name = match turn? {
            (0, _) => "Outside of turns".to_owned(),
            (number, false) => format!("Turn {number}"),
            (number, true) => format!("Turn {number}, undone"),
        };
        let of_turn = u32::try_from(turn_idx).map(TurnIdx).map(Scope::Turn);
        let option = option()
            .attr("value", turn_idx.to_string())
            .prop("selected", of_turn == Ok(scope))
            .child(name);
        Some(option.into_any())
    };
    let turns: Vec<AnyView> = listed.into_iter().filter_map(option_of).collect();
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
