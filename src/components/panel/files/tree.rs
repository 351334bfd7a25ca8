//! The tree of changed files: folders that open and close, files with counts and marks of what was viewed.

use std::rc::Rc;

use chat_feed::panel::{ChangedFile, FileChange, Files, TreeRow, TreeRowKind};
use chat_feed::{marks, units};
use leptos::ev;
use leptos::html::{button, div, input, span};
use leptos::prelude::*;

use crate::components::icon::{Icon, icon, icon_with};
use crate::components::panel::{counts, path_parts};
use crate::components::{Context, Ctx, seen};
use crate::platform::dom::{self, Element, Event};
use crate::platform::measure;

/// Lines of the tree that are shown before the reader asks for more.
pub(in crate::components::panel) const FILES_AT_ONCE: usize = 100;

/// The tree, as far as its folders are open and its rows asked for.
pub(super) fn tree(ctx: Ctx, context: &Rc<Context>, changed: &Files) -> impl IntoView + use<> {
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
                let seen = file.edits.iter().all(|edit| viewed.contains(edit));
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
        .attr("title", marks::written_out(&path))
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
            span().class("tree__name path").child(path_parts(&row.name)),
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
    let (path, edits) = (file.path.clone(), file.edits.clone());
    let is_undone = file.n_undone == file.edits.len();
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
        .attr("title", marks::written_out(&title))
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
            span()
                .class("tree__name")
                .child(seen::text(row.name.as_str())),
            badge.map(|badge| span().class("tree__badge").child(badge)),
            is_undone.then(|| span().class("tree__badge").child("undone")),
            counts(file.lines_added, file.lines_removed),
        ));
    let mark = input()
        .attr("type", "checkbox")
        .class("tree__viewed")
        .attr("tabindex", stop)
        .attr(
            "aria-label",
            format!("Viewed: {}", marks::written_out(&file.shown_path)),
        )
        .attr("title", "Viewed")
        .prop("checked", seen)
        .on(ev::change, move |event| {
            let checked = event_target_checked(&event);
            ctx.with_value(|context| {
                context.panel.viewed.update(|viewed| {
                    for edit in &edits {
                        match checked {
                            true => viewed.insert(*edit),
                            false => viewed.remove(edit),
                        };
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
