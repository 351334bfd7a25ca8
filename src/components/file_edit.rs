//! A changed file: its path, what became of it, counts; opened, the diff. The whole diff is fetched when asked for.

use std::rc::Rc;

use chat_event::payload::FileEdit;
use chat_feed::units;
use chat_feed::{Block, BlockId, Feed, FileEditBlock};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::icon::Icon;
use super::line::Line;
use super::{Ctx, FullDiff, diff};

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
    let what = (
        span().class("object mono").child(path),
        badge.map(|badge| (" ", span().class("file-edit__badge").child(badge))),
    );
    let counts = (
        span()
            .class("plus")
            .child(format!("+{}", facts.lines_added)),
        span()
            .class("minus")
            .child(format!("−{}", facts.lines_removed)),
    );
    let line = Line::new(kind, what)
        .icon_class("icon file-edit__icon")
        .outcome(counts);
    let body = open.then(|| div().class("body").child(body_view(ctx, block, facts)));
    (line.toggles(ctx, id, open), body).into_any()
}

fn body_view(ctx: Ctx, block: &Block, facts: &FileEdit) -> AnyView {
    if facts.binary == Some(true) {
        return div()
            .class("file-edit__note")
            .child("Binary file: its content is not shown")
            .into_any();
    }
    let id = block.id;
    let asked = ctx.with_value(|context| context.full_diff(id));
    match asked {
        Some(FullDiff::Ready(text)) => diff_or_text(&text),
        Some(FullDiff::Loading) => (
            diff_or_text(&facts.diff_preview),
            div()
                .class("file-edit__more")
                .child("Loading the full diff…"),
        )
            .into_any(),
        Some(FullDiff::Failed(why)) => {
            let retry = load_button(ctx, id, block, "Try again".to_owned());
            let note = span()
                .class("file-edit__failed")
                .child(format!("Could not load the full diff: {why}"));
            (
                diff_or_text(&facts.diff_preview),
                div().class("file-edit__more").child((note, retry)),
            )
                .into_any()
        }
        None => {
            // A diff that travels with the event needs no fetching; it is shown whole when it was asked for.
            let inline = facts
                .full_diff
                .as_ref()
                .filter(|body| body.reference().is_none());
            let whole = inline.map(|body| body.preview());
            let shows_whole = ctx.with_value(|context| context.store.shows_whole(id));
            match whole {
                Some(whole) if shows_whole || whole.len() <= facts.diff_preview.len() => {
                    diff_or_text(whole)
                }
                Some(whole) if facts.diff_preview.is_empty() && whole.len() <= 20 * 1024 => {
                    diff_or_text(whole)
                }
                Some(whole) => {
                    let label = format!("Show full diff ({})", units::bytes(whole.len() as u64));
                    let show = button()
                        .attr("type", "button")
                        .class("button")
                        .on(ev::click, move |_| {
                            ctx.with_value(|context| context.toggle_whole(id))
                        })
                        .child(label);
                    (
                        diff_or_text(&facts.diff_preview),
                        more(facts, show.into_any()),
                    )
                        .into_any()
                }
                None if is_cut(facts) && can_fetch(ctx, facts) => {
                    let label = format!("Show full diff ({})", units::bytes(facts.full_diff_size));
                    (
                        diff_or_text(&facts.diff_preview),
                        more(facts, load_button(ctx, id, block, label)),
                    )
                        .into_any()
                }
                None if is_cut(facts) => {
                    let note = "The rest of this diff is not in this file";
                    (
                        diff_or_text(&facts.diff_preview),
                        div().class("file-edit__more").child(note),
                    )
                        .into_any()
                }
                None => diff_or_text(&facts.diff_preview),
            }
        }
    }
}

fn is_cut(facts: &FileEdit) -> bool {
    facts.full_diff_size > facts.diff_preview.len() as u64
}

fn can_fetch(ctx: Ctx, facts: &FileEdit) -> bool {
    facts.full_diff_available && ctx.with_value(|context| context.fetch_diff.borrow().is_some())
}

fn more(facts: &FileEdit, action: AnyView) -> AnyView {
    let n_changed = u64::from(facts.lines_added) + u64::from(facts.lines_removed);
    let lines = units::count(n_changed, "changed line", "changed lines");
    div()
        .class("file-edit__more")
        .child((span().child(lines), action))
        .into_any()
}

fn load_button(ctx: Ctx, id: BlockId, block: &Block, label: String) -> AnyView {
    let event_id = block.event_id.clone();
    button()
        .attr("type", "button")
        .class("button")
        .on(ev::click, move |_| {
            ctx.with_value(|context: &Rc<super::Context>| context.load_diff(id, &event_id));
        })
        .child(label)
        .into_any()
}

fn diff_or_text(text: &str) -> AnyView {
    if text.is_empty() {
        return div()
            .class("file-edit__note")
            .child("This source does not tell the content of the change")
            .into_any();
    }
    diff::view(text).unwrap_or_else(|| super::output::well("well", "Diff", text.to_owned()))
}
