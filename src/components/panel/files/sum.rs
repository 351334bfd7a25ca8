//! One changed file: where it was edited, and the sum of its edits.

use std::rc::Rc;

use chat_event::payload::FileEdit;
use chat_feed::loads::Spot;
use chat_feed::panel::{ChangedFile, EditDiff, Sum, edits_of};
use chat_feed::{BlockBody, BlockId, Feed, marks, units};
use leptos::html::{div, span};
use leptos::prelude::*;

use crate::components::icon::{Icon, icon};
use crate::components::panel::{counts, go_button, path_parts};
use crate::components::whole::{self, Long};
use crate::components::{Context, Ctx, diff, output};

/// Diffs that are shown one after another; the newest.
const MOST_DIFFS: usize = 50;

/// What is shown of one file. It is drawn anew where this changes, and not with all of the panel: a diff keeps its place, and
/// what is selected in it.
#[derive(Clone, PartialEq)]
pub(super) struct Chosen {
    file: ChangedFile,
    sum: Sum,
    /// Of what refresh of the panel, where more is shown of it than this tells: how far a load is.
    refresh: Option<u32>,
}

impl Chosen {
    pub(super) fn new(context: &Rc<Context>, feed: &Feed, file: &ChangedFile) -> Chosen {
        let loaded = |id: BlockId| {
            let body = edit_at(feed, id)?.full_diff.as_ref()?;
            let text = context.wholes.text(&(id, Spot::Diff), body)?;
            Some(text.into_owned())
        };
        let sum = edits_of(feed, file, loaded);
        let loads =
            matches!(&sum, Sum::Apart { edits, .. } if edits.iter().any(|edit| !edit.whole));
        Chosen {
            file: file.clone(),
            sum,
            refresh: loads.then(|| context.panel.version.get_untracked()),
        }
    }
}

/// One file: where it was edited, and what came of it.
pub(super) fn file_view(ctx: Ctx, feed: &Feed, chosen: Chosen) -> impl IntoView + use<> {
    let (file, sum) = (&chosen.file, chosen.sum);
    let last = file.edits.last().copied();
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
            .attr("title", marks::written_out(&file.path))
            .child(path_parts(&file.shown_path)),
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
    div().class(class).child((head, edits, undone(file), body))
}

/// How many of the edits are of turns that are undone.
fn undone(file: &ChangedFile) -> Option<impl IntoView + use<>> {
    let n_edits = units::count(file.edits.len() as u64, "edit", "edits");
    let words = match file.n_undone {
        0 => return None,
        n if n == file.edits.len() => "Of turns that are undone".to_owned(),
        1 => format!("1 of {n_edits} is of an undone turn"),
        n => format!(
            "{} of {n_edits} are of undone turns",
            units::grouped(n as u64)
        ),
    };
    let words = format!("{words}; nothing says that the file was put back");
    Some(div().class("file-sum__note").child(words))
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
