//! JSON as a reader wants it: an object's fields one under the other, anything deeper as indented text. And lines that
//! nobody has a rule for.

use chat_event::Json;
use chat_feed::Block;
use chat_feed::units;
use leptos::html::{dd, div, dl, dt};
use leptos::prelude::*;

use super::icon::Icon;
use super::line::{Line, verb_and_object};
use super::{Ctx, output};

/// Longer JSON is cut: it is text for a reader, not the data.
const MOST_CHARS: usize = 20_000;

/// A line that no rule knows.
pub(crate) fn view(ctx: Ctx, block: &Block, label: &str, value: &Json) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let gist = units::first_line(value.as_text(), 200);
    let line = Line::new(
        Icon::Brackets,
        verb_and_object(label.to_owned(), gist, true),
    );
    let body = open.then(|| div().class("body").child(tree(value)));
    (line.toggles(ctx, id, open), body).into_any()
}

/// The fields of an object, each value as text where it is text.
pub(crate) fn fields(value: &Json) -> AnyView {
    let serde_json::Value::Object(members) = value.to_value() else {
        return tree(value);
    };
    let rows: Vec<_> = members
        .iter()
        .map(|(name, value)| {
            let text = match value {
                serde_json::Value::String(text) => clip(text.clone()),
                serde_json::Value::Array(_) | serde_json::Value::Object(_) => clip(indented(value)),
                other => other.to_string(),
            };
            (dt().child(name.clone()), dd().child(text))
        })
        .collect();
    dl().class("well fields").child(rows).into_any()
}

/// Any JSON, indented.
pub(crate) fn tree(value: &Json) -> AnyView {
    let text = match value.as_str() {
        Some(text) => text.into_owned(),
        // Numbers that no type holds would be lost on the way through a tree, so small JSON stays as it came.
        None if value.as_text().len() < 100 => value.as_text().to_owned(),
        None => indented(&value.to_value()),
    };
    output::well("well well--wrap", "JSON", clip(text))
}

fn indented(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn clip(text: String) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!(
            "{} … ({} more)",
            &text[..at],
            units::bytes((text.len() - at) as u64)
        ),
        None => text,
    }
}
