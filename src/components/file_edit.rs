//! A changed file: its path, what became of it, counts; opened, the diff. The whole diff is fetched when asked for.

use chat_event::PREVIEW_BYTES;
use chat_event::payload::FileEdit;
use chat_feed::loads::Spot;
use chat_feed::{Block, Feed, FileEditBlock, units};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::diff::{self, OldText};
use super::icon::Icon;
use super::line::{self, DrawnLine, draw_counts, draw_path};
use super::whole::{self, Long};
use super::{Ctx, later};

/// A changed file.
pub(crate) fn view(ctx: Ctx, feed: &Feed, block: &Block, edit: &FileEditBlock) -> AnyView {
    let id = block.id;
    let facts = &edit.edit;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let badge = match facts.change_type.as_str() {
        "created" => Some("new"),
        "deleted" => Some("deleted"),
        "renamed" => Some("renamed"),
        _ => None,
    };
    let kind = match facts.change_type.as_str() {
        "created" => Icon::Plus,
        "deleted" => Icon::Minus,
        _ => Icon::Pencil,
    };
    let cwd = feed.session().cwd.as_deref();
    let new_path = units::below(&facts.file_path, cwd);
    let path = match &facts.old_path {
        Some(old_path) if *old_path != facts.file_path => {
            format!("{} → {new_path}", units::below(old_path, cwd))
        }
        _ => new_path.to_owned(),
    };
    let number = ctx.with_value(|context| context.store.number_in_company(id));
    let line = DrawnLine::new(kind, "icon file-edit__icon")
        .says_of_file(|strokes| {
            // The header of a company names the file for all of them.
            match number {
                Some(number) => strokes.span("muted", &format!("Edit {number}")),
                None => draw_path(strokes, &path, &facts.file_path),
            }
            if let Some(badge) = badge {
                strokes.text(" ");
                strokes.span("file-edit__badge", badge);
            }
        })
        .ended(
            |strokes| draw_counts(strokes, facts.lines_added, facts.lines_removed),
            "",
        );
    let body = open.then(|| line::body(later::body(ctx, feed, block)));
    (line.toggles(open), body).into_any()
}

/// The diff, or what is known of it.
pub(super) fn body_view(ctx: Ctx, block: &Block, facts: &FileEdit) -> AnyView {
    if facts.binary == Some(true) {
        return div()
            .class("file-edit__note")
            .child("Binary file: its content is not shown")
            .into_any();
    }
    let preview = facts.diff_preview.read();
    let Some(body) = &facts.full_diff else {
        let rest = (facts.full_diff_size > preview.len() as u64).then(|| {
            div()
                .class("file-edit__more")
                .child("The rest of this diff is not in this file")
        });
        return (diff_or_text(ctx, facts, &preview, None), rest).into_any();
    };
    let old = OldText::of(ctx, block.id, facts.old_text.as_ref());
    let excerpt = body.excerpt();
    if excerpt.bytes <= preview.len() as u64 {
        return diff_or_text(ctx, facts, &preview, old);
    }
    // Paper has no buttons: what is here is shown.
    let asked = ctx.with_value(|context| context.diffs.are_whole());
    if let Some(whole) = excerpt.whole()
        && (preview.is_empty() || whole.len() <= PREVIEW_BYTES || asked)
    {
        return diff_or_text(ctx, facts, &whole, old);
    }
    let place = (block.id, Spot::Diff);
    let long = Long::new(ctx, place, &block.event_id, ("well", "Diff"));
    let whole = ctx.with_value(|context| context.wholes.text(&long.place, body));
    if let Some(whole) = whole {
        // Only what is looked at is put into the page: all of it may be shown.
        let cut = (excerpt.bytes > whole.len() as u64).then(|| {
            let first = units::bytes(whole.len() as u64);
            let note = format!("The first {first} of {}", units::bytes(excerpt.bytes));
            div().class("subtle").child(note)
        });
        let old = old.filter(|_| cut.is_none());
        return (diff_or_text(ctx, facts, &whole, old), cut, long.less_view()).into_any();
    }
    let beginning = match preview.is_empty() {
        // Whole lines of it.
        true => {
            let end = excerpt.preview.rfind('\n').map_or(0, |at| at + 1);
            &excerpt.preview[..end]
        }
        false => &preview,
    };
    let label = format!("Show full diff ({})", units::bytes(excerpt.bytes));
    let ask = long.ask_view((label, None), whole::missing(body), excerpt.bytes);
    let n_changed = u64::from(facts.lines_added) + u64::from(facts.lines_removed);
    let lines = units::count(n_changed, "changed line", "changed lines");
    let more = div()
        .class("file-edit__more")
        .child((span().child(lines), ask));
    (diff_or_text(ctx, facts, beginning, None), more).into_any()
}

fn diff_or_text(ctx: Ctx, facts: &FileEdit, text: &str, old: Option<OldText>) -> AnyView {
    if text.is_empty() {
        return div()
            .class("file-edit__note")
            .child("This source does not tell the content of the change")
            .into_any();
    }
    diff::view(ctx, text, &facts.file_path, old)
        .unwrap_or_else(|| super::output::well("well", "Diff", text.to_owned()))
}
