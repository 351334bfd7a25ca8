//! The changed files: a tree with counts and marks of what was viewed; below it the sum of one file's edits.

use std::rc::Rc;

use chat_event::payload::FileEdit;
use chat_feed::loads::Spot;
use chat_feed::panel::{
    ChangedFile, EditDiff, FileChange, Files, Scope, Sum, TreeRow, TreeRowKind, edits_of, files,
};
use chat_feed::{BlockBody, BlockId, Feed, TurnIdx, units};
use leptos::ev;
use leptos::html::{button, div, input, option, select, span};
use leptos::prelude::*;

use super::{counts, empty, go_button, of_feed};
use crate::components::icon::{Icon, icon, icon_with};
use crate::components::whole::{self, Long};
use crate::components::{Context, Ctx, diff, output};
use crate::platform::dom::{self, Element, Event};
use crate::platform::measure;

/// Lines of the tree that are shown before the reader asks for more.
pub(super) const FILES_AT_ONCE: usize = 100;

/// Turns to choose from; the newest.
const MOST_TURNS: usize = 100;

/// Diffs that are shown one after another; the newest.
const MOST_DIFFS: usize = 50;

/// The tab.
pub(super) fn view(ctx: Ctx) -> AnyView {
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
        let path = context.panel.file.get();
        let file = changed
            .files
            .iter()
            .find(|file| Some(&file.path) == path.as_ref());
        let file = file.map(|file| file_view(ctx, context, feed, file));
        (head(ctx, feed, scope, &changed), tree, file).into_any()
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

fn tree(ctx: Ctx, context: &Rc<Context>, changed: &Files) -> impl IntoView + use<> {
    let panel = &context.panel;
    let most = panel.n_files_shown.get();
    let closed = panel.closed_folders.get();
    let viewed = panel.viewed.get();
    let chosen = panel.file.get();
    let mut rows: Vec<AnyView> = Vec::new();
    let mut n_more = 0usize;
    // Of all rows one is reached by Tab: where the reader was, or else the first.
    let entry = panel.tree_row.get_untracked();
    let (mut first, mut has_entry) = (None, false);
    // While a folder is closed, what lies deeper than it is passed.
    let mut hidden_below: Option<u16> = None;
    for row in &changed.tree {
        if hidden_below.is_some_and(|depth| row.depth > depth) {
            continue;
        }
        hidden_below = None;
        if let TreeRowKind::Folder(path) = &row.kind
            && closed.contains(path)
        {
            hidden_below = Some(row.depth);
        }
        if rows.len() == most {
            n_more += 1;
            continue;
        }
        let path = match &row.kind {
            TreeRowKind::Folder(path) => path,
            TreeRowKind::File(at) => &changed.files[*at].path,
        };
        has_entry |= entry.as_ref() == Some(path);
        first.get_or_insert(path);
        let stop = stop(context, path);
        rows.push(match &row.kind {
            TreeRowKind::Folder(path) => folder_row(ctx, row, path, (hidden_below.is_none(), stop)),
            TreeRowKind::File(at) => {
                let file = &changed.files[*at];
                let seen = viewed.get(&file.path) == Some(&file.edits.len());
                let is_chosen = chosen.as_ref() == Some(&file.path);
                file_row(ctx, row, file, (seen, is_chosen, stop))
            }
        });
    }
    if !has_entry {
        panel.tree_row.set(first.cloned());
    }
    let more = (n_more > 0).then(|| {
        button()
            .attr("type", "button")
            .class("link panel__more")
            .on(ev::click, move |_| {
                ctx.with_value(|context| {
                    context
                        .panel
                        .n_files_shown
                        .update(|most| *most += FILES_AT_ONCE)
                });
            })
            .child(format!(
                "Show {} more",
                units::grouped(n_more.min(FILES_AT_ONCE) as u64)
            ))
    });
    div()
        .class("tree")
        .attr("role", "group")
        .attr("aria-label", "Changed files")
        .on(ev::focusin, move |event| {
            if let Some(path) = dom::attribute_at(&event, "data-path") {
                ctx.with_value(|context| context.panel.tree_row.set(Some(path)));
            }
        })
        .on(ev::keydown, move |event| {
            let plain = !event.alt_key() && !event.ctrl_key() && !event.meta_key();
            if plain && move_in_tree(&event.key(), &event) {
                event.prevent_default();
                event.stop_propagation();
            }
        })
        .child((rows, more))
}

/// Whether a row is reached by Tab.
fn stop(
    context: &Rc<Context>,
    path: &str,
) -> impl Fn() -> &'static str + Clone + Send + Sync + use<> {
    let (entry, path) = (context.panel.tree_row.clone(), path.to_owned());
    move || match entry.read().as_ref() == Some(&path) {
        true => "0",
        false => "-1",
    }
}

/// Moves from row to row, and opens and closes folders, as in all trees.
fn move_in_tree(key: &str, event: &Event) -> bool {
    let Some(row) = dom::around_event(event, ".tree__row") else {
        return false;
    };
    let depth = |row: &Element| dom::attribute(row, "data-depth").unwrap_or_default();
    let is_open = dom::attribute(&row, "aria-expanded");
    let is_row = |row: &Element| dom::attribute(row, "data-path").is_some();
    let to = match (key, is_open.as_deref()) {
        ("ArrowRight", Some("false")) | ("ArrowLeft", Some("true")) => {
            dom::call_method(&row, "click");
            None
        }
        ("ArrowDown", _) | ("ArrowRight", Some(_)) => row.next_element_sibling(),
        ("ArrowUp", _) => row.previous_element_sibling(),
        ("ArrowLeft", _) => {
            let mut around = row.previous_element_sibling();
            while let Some(other) = &around
                && depth(other).len() >= depth(&row).len()
            {
                around = other.previous_element_sibling();
            }
            around
        }
        ("Home" | "End", _) => {
            let tree = row.parent_element();
            let end = if key == "Home" {
                ":first-child"
            } else {
                ":nth-last-child(1 of [data-path])"
            };
            tree.and_then(|tree| dom::first_in(&tree, &format!(":scope > [data-path]{end}")))
        }
        _ => return false,
    };
    if let Some(to) = to.filter(is_row) {
        let open = dom::first_in(&to, ".tree__open").unwrap_or(to);
        // It is shown as well.
        dom::call_method(&open, "focus");
    }
    true
}

/// One sign a level.
fn depth(row: &TreeRow) -> String {
    "·".repeat(usize::from(row.depth))
}

fn indent(depth: u16) -> String {
    // Deeper than this the names would have no room.
    format!("{}px", 16 + 16 * u32::from(depth.min(6)))
}

fn folder_row(
    ctx: Ctx,
    row: &TreeRow,
    path: &str,
    (open, stop): (bool, impl Fn() -> &'static str + Send + Sync + 'static),
) -> AnyView {
    let path = path.to_owned();
    button()
        .attr("type", "button")
        .class("tree__row tree__row--folder")
        .attr("data-path", path.clone())
        .attr("data-depth", depth(row))
        .attr("tabindex", stop)
        .style(("padding-inline-start", indent(row.depth)))
        .attr("aria-expanded", if open { "true" } else { "false" })
        .on(ev::click, move |_| {
            ctx.with_value(|context| {
                context.panel.closed_folders.update(|closed| {
                    if !closed.remove(&path) {
                        closed.insert(path.clone());
                    }
                });
            });
        })
        .child((
            icon_with(Icon::Chevron, "icon icon--chevron"),
            span().class("tree__name").child(row.name.clone()),
        ))
        .into_any()
}

fn file_row(
    ctx: Ctx,
    row: &TreeRow,
    file: &ChangedFile,
    (seen, chosen, stop): (
        bool,
        bool,
        impl Fn() -> &'static str + Clone + Send + Sync + 'static,
    ),
) -> AnyView {
    let (path, for_mark) = (file.path.clone(), file.path.clone());
    let n_edits = file.edits.len();
    let class = if seen {
        "tree__row tree__row--seen"
    } else {
        "tree__row"
    };
    let badge = match file.change {
        FileChange::Modified => None,
        FileChange::Created => Some("new"),
        FileChange::Deleted | FileChange::Renamed => Some(file.change.as_str()),
    };
    let title = match &file.old_path {
        Some(old_path) => format!("{old_path} → {}", file.path),
        None => file.path.clone(),
    };
    let open = button()
        .attr("type", "button")
        .class("tree__open")
        .attr("tabindex", stop.clone())
        .attr("title", title)
        .attr("aria-pressed", if chosen { "true" } else { "false" })
        .style(("padding-inline-start", indent(row.depth)))
        .on(ev::click, move |_| {
            ctx.with_value(|context| {
                let chosen = context.panel.file.get_untracked().as_ref() != Some(&path);
                context.panel.file.set(chosen.then(|| path.clone()));
                // Another file is read from its beginning.
                if let Some(sum) = context.panel.part(".file-sum") {
                    measure::set_scroll_top(&sum, 0.0);
                }
            });
        })
        .child((
            icon(Icon::File),
            span().class("tree__name").child(row.name.clone()),
            badge.map(|badge| span().class("tree__badge").child(badge)),
            counts(file.lines_added, file.lines_removed),
        ));
    let mark = input()
        .attr("type", "checkbox")
        .class("tree__viewed")
        .attr("tabindex", stop)
        .attr("aria-label", format!("Viewed: {}", file.shown_path))
        .attr("title", "Viewed")
        .prop("checked", seen)
        .on(ev::change, move |event| {
            let checked = event_target_checked(&event);
            ctx.with_value(|context| {
                context.panel.viewed.update(|viewed| {
                    if checked {
                        viewed.insert(for_mark.clone(), n_edits);
                    } else {
                        viewed.remove(&for_mark);
                    }
                });
            });
        });
    div()
        .class(class)
        .attr("data-path", file.path.clone())
        .attr("data-depth", depth(row))
        .attr("data-chosen", chosen.then_some(""))
        .child((open, mark))
        .into_any()
}

/// One file: where it was edited, and what came of it.
fn file_view(
    ctx: Ctx,
    context: &Rc<Context>,
    feed: &Feed,
    file: &ChangedFile,
) -> impl IntoView + use<> {
    let loaded = |id: BlockId| {
        let body = edit_at(feed, id)?.full_diff.as_ref()?;
        let text = context.wholes.text(&(id, Spot::Diff), body)?;
        Some(text.into_owned())
    };
    let last = file.edits.last().copied();
    let sum = edits_of(feed, file, loaded);
    let (added, removed) = match &sum {
        Sum::Whole {
            lines_added,
            lines_removed,
            ..
        } => (u64::from(*lines_added), u64::from(*lines_removed)),
        Sum::Apart { .. } => (file.lines_added, file.lines_removed),
    };
    let go = last.map(|last| {
        let what = (
            icon(Icon::GoTo),
            span()
                .class("visually-hidden")
                .child("Go to the newest edit"),
        );
        go_button(ctx, last, "panel__go", what)
    });
    // The tree counts what each edit did.
    let is_net = (added, removed) != (file.lines_added, file.lines_removed);
    let net = is_net.then(|| {
        let by_edits = format!(
            "What is left of all its edits, +{} −{} one by one",
            units::grouped(file.lines_added),
            units::grouped(file.lines_removed)
        );
        span().class("muted").attr("title", by_edits).child("net")
    });
    let head = div().class("file-sum__head").child((
        span()
            .class("file-sum__path path mono")
            .attr("title", file.path.clone())
            .child(file.shown_path.clone()),
        counts(added, removed),
        net,
        go,
    ));
    let edits = (file.edits.len() > 1).then(|| edit_links(ctx, file));
    let is_one = matches!(sum, Sum::Whole { .. });
    let body = match sum {
        Sum::Whole { text, .. } if text.is_empty() => div()
            .class("file-sum__note")
            .child("What was changed was changed back")
            .into_any(),
        Sum::Whole { text, .. } => diff_or_text(ctx, &text, &file.path),
        Sum::Apart { why, edits } => apart(ctx, feed, file, (why, edits)),
    };
    let class = match is_one {
        true => "file-sum file-sum--one",
        false => "file-sum",
    };
    div().class(class).child((head, edits, body))
}

fn edit_at(feed: &Feed, id: BlockId) -> Option<&FileEdit> {
    match &feed.block(id).body {
        BlockBody::FileEdit(edit) => Some(&edit.edit),
        _ => None,
    }
}

fn edit_links(ctx: Ctx, file: &ChangedFile) -> impl IntoView + use<> {
    let n_left_out = file.edits.len().saturating_sub(MOST_DIFFS);
    let links: Vec<_> = file
        .edits
        .iter()
        .enumerate()
        .skip(n_left_out)
        .map(|(nth, &id)| {
            let what = (
                span().class("visually-hidden").child("Go to edit "),
                format!("{}", nth + 1),
            );
            go_button(ctx, id, "link file-sum__edit", what)
        })
        .collect();
    let label = units::count(file.edits.len() as u64, "edit", "edits");
    div()
        .class("file-sum__edits")
        .child((span().child(label), links))
}

fn apart(
    ctx: Ctx,
    feed: &Feed,
    file: &ChangedFile,
    (why, edits): (String, Vec<EditDiff>),
) -> AnyView {
    let path = file.path.clone();
    let n_edits = edits.len();
    let note = match n_edits {
        1 => why,
        _ => format!("{why}, so the edits stand one after another"),
    };
    let n_left_out = n_edits.saturating_sub(MOST_DIFFS);
    let left_out = (n_left_out > 0).then(|| {
        let earlier = units::count(n_left_out as u64, "earlier edit", "earlier edits");
        div()
            .class("file-sum__note")
            .child(format!("{earlier} left out"))
    });
    let views: Vec<_> = edits
        .into_iter()
        .enumerate()
        .skip(n_left_out)
        .map(|(nth, edit)| {
            let heading = (n_edits > 1).then(|| {
                let what = format!("Edit {}", nth + 1);
                go_button(ctx, edit.block, "link file-sum__heading", what)
            });
            let rest = (!edit.whole)
                .then(|| rest_of(ctx, feed, edit.block))
                .flatten();
            (heading, diff_or_text(ctx, &edit.text, &path), rest)
        })
        .collect();
    (div().class("file-sum__note").child(note), left_out, views).into_any()
}

/// The button that fetches the rest of a diff, or that there is none.
fn rest_of(ctx: Ctx, feed: &Feed, id: BlockId) -> Option<AnyView> {
    let edit = edit_at(feed, id)?;
    let Some(body) = &edit.full_diff else {
        let note = "The rest of this diff is not in this file";
        return Some(div().class("file-sum__note").child(note).into_any());
    };
    let event_id = feed.block(id).event_id.clone();
    let long = Long::new(ctx, (id, Spot::Diff), &event_id, ("well", "Diff"));
    let label = format!("Load full diff ({})", units::bytes(body.byte_len()));
    Some(long.ask_view((label, None), whole::missing(body), body.byte_len()))
}

fn diff_or_text(ctx: Ctx, text: &str, path: &str) -> AnyView {
    if text.is_empty() {
        return div()
            .class("file-sum__note")
            .child("This source does not tell the content of the change")
            .into_any();
    }
    diff::view(ctx, text, path, None)
        .unwrap_or_else(|| output::well("well", "Diff", text.to_owned()))
}
