//! JSON as a reader wants it: an object's fields one under the other, anything deeper as indented text. And lines that
//! nobody has a rule for.

use chat_event::{Json, PREVIEW_BYTES};
use chat_feed::loads::Spot;
use chat_feed::{Block, long_text, units};
use leptos::html::{dd, dl, dt};
use leptos::prelude::*;

use super::icon::Icon;
use super::line::{self, Line, verb_and_object};
use super::whole::Long;
use super::{Ctx, diff, seen};

/// A line that no rule knows.
pub(crate) fn view(ctx: Ctx, block: &Block, label: &str, value: &Json) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let short = long_text::shortened(value);
    let gist = units::first_line(&short.as_ref().unwrap_or(value).as_text(), 200);
    let line = Line::new(
        Icon::Brackets,
        verb_and_object(label.to_owned(), " ", gist, true),
    );
    let body = open.then(|| {
        let place = (id, Spot::Text);
        let long = Long::new(ctx, place, &block.event_id, ("well well--wrap", "JSON"));
        line::body(long.json_view(value))
    });
    (line.toggles(open), body).into_any()
}

/// The arguments of a call, one under the other; what is long of them on demand.
///
/// Those that are told elsewhere are left out; where none is left there is nothing.
pub(crate) fn arguments(
    ctx: Ctx,
    block: &Block,
    event_id: &str,
    args: &Json,
    told: &[&str],
) -> Option<AnyView> {
    let long = |spot: Spot, class| Long::new(ctx, (block.id, spot), event_id, (class, "Argument"));
    let Some(members) = args.parse::<serde_json::Map<String, serde_json::Value>>() else {
        return Some(long(Spot::Argument("".into()), "well well--wrap").json_view(args));
    };
    let rows: Vec<_> = members
        .iter()
        .filter(|(name, _)| !told.contains(&name.as_str()))
        .map(|(name, value)| {
            let value = Json::from(value);
            let long = long(Spot::Argument(name.as_str().into()), "fields__long");
            let body = value.to_body();
            // What a call would change is read as what one has changed; who looks for words in it sees it as it was given.
            let is_diff =
                name == "diff" && !ctx.with_value(|context| context.store.shows_whole(block.id));
            let whole = body.as_ref().filter(|_| is_diff);
            let whole = whole.and_then(|body| body.excerpt().whole());
            if let Some(diff) = whole.and_then(|text| diff::view(ctx, &text, "", None)) {
                return (dt().child("diff"), dd().child(diff)).into_any();
            }
            let view = match body {
                Some(body) if body.byte_len() <= PREVIEW_BYTES as u64 => {
                    seen::text(body.preview().into_string())
                }
                Some(body) => long.view(&body),
                None => match value.as_text().starts_with(['{', '[']) {
                    true => long.json_view(&value),
                    false => seen::text(value.as_text().into_string()),
                },
            };
            (dt().child(seen::text(&**name)), dd().child(view)).into_any()
        })
        .collect();
    (!rows.is_empty()).then(|| dl().class("well fields").child(rows).into_any())
}
