//! What was sent along with a prompt: pictures as thumbnails that can be enlarged, all else by name and size.
//!
//! A picture is shown from its data alone and never fetched from where it says it is. Which data is one is for
//! `chat_feed::media`.

use std::rc::Rc;

use chat_event::{Body, Json};
use chat_feed::loads::{Load, Spot};
use chat_feed::media::{self, Attachment, Picture};
use chat_feed::{Block, units};
use leptos::ev;
use leptos::html::{button, canvas, div, img, li, span, ul};
use leptos::prelude::*;

use super::whole::missing;
use super::{Context, Ctx};

/// A thumbnail fits into this, in px.
const THUMBNAIL_PX: (u32, u32) = (120, 64);
/// And an enlarged picture into this; it is no wider than its column.
const LARGE_PX: (u32, u32) = (1600, 800);

/// All that was sent along; `None` where nothing was.
pub(super) fn view(ctx: Ctx, block: &Block, attachments: Option<&Json>) -> Option<AnyView> {
    let list = Attachment::list(attachments);
    let tiles: Vec<AnyView> = list
        .iter()
        .enumerate()
        .map(|(nth, attachment)| tile(ctx, block, nth, attachment))
        .collect();
    (!tiles.is_empty()).then(|| ul().class("attachments").child(tiles).into_any())
}

fn tile(ctx: Ctx, block: &Block, nth: usize, attachment: &Attachment) -> AnyView {
    let told = attachment.name.as_deref().unwrap_or(&attachment.media_type);
    let name = match units::first_line(told, 80) {
        name if name.is_empty() => "attachment".to_owned(),
        name => name,
    };
    let size = attachment
        .data
        .as_ref()
        // Four characters of base64 are three bytes.
        .map(|data| units::bytes(data.byte_len() / 4 * 3));
    let picture = attachment
        .data
        .as_ref()
        .and_then(|data| thumbnail(ctx, block, nth, data, &name));
    let is_large = picture.is_some() && ctx.with_value(|context| context.is_large(block.id, nth));
    let class = if is_large {
        "attachment attachment--large"
    } else {
        "attachment"
    };
    let words = div().child((
        span().class("attachment__name").child(name),
        size.map(|size| span().class("subtle").child(size)),
    ));
    li().class(class).child((picture, words)).into_any()
}

/// The picture, or the room for it while it is on its way; `None` where the data is none, or too much.
fn thumbnail(ctx: Ctx, block: &Block, nth: usize, data: &Body, name: &str) -> Option<AnyView> {
    let picture = Picture::of(data.excerpt().preview)?;
    if data.byte_len() > media::MOST_BYTES {
        return None;
    }
    let place = (block.id, Spot::Attachment(nth));
    let whole = ctx.with_value(|context| {
        let whole = context.wholes.text(&place, data);
        whole.map(|whole| Picture::address(&whole).map(|address| (address, Picture::of(&whole))))
    });
    let Some(shown) = whole else {
        let failed = ctx.with_value(|context| {
            let can_fetch = context.wholes.fetch.borrow().is_some() || missing(data).is_empty();
            !can_fetch || matches!(context.wholes.load(&place), Some(Load::Failed(_)))
        });
        if failed {
            return None;
        }
        let (event_id, references) = (block.event_id.to_string(), missing(data));
        // Not while the row is being drawn: what is brought has it drawn anew.
        leptos::task::spawn_local(async move {
            ctx.try_with_value(|context: &Rc<Context>| {
                context.bring(&place, &event_id, &references);
            });
        });
        let (width, height) = picture.fitting(THUMBNAIL_PX.0, THUMBNAIL_PX.1)?;
        // An empty drawing is as large as it says, where a policy lets no style say so.
        let room = canvas()
            .class("picture")
            .attr("aria-hidden", "true")
            .attr("width", width.to_string())
            .attr("height", height.to_string());
        return Some(room.into_any());
    };
    let (address, picture) = shown?;
    let is_large = ctx.with_value(|context| context.is_large(block.id, nth));
    let most_px = if is_large { LARGE_PX } else { THUMBNAIL_PX };
    let (width, height) = picture?.fitting(most_px.0, most_px.1)?;
    let image = img()
        .class("picture__image")
        .attr("src", address)
        .attr("alt", name.to_owned())
        .attr("width", width.to_string())
        .attr("height", height.to_string())
        .attr("decoding", "async");
    let id = block.id;
    let what = if is_large { "Make smaller" } else { "Enlarge" };
    let view = button()
        .attr("type", "button")
        .class("picture")
        .attr("aria-expanded", is_large.to_string())
        .attr("aria-label", format!("{what} {name}"))
        .on(ev::click, move |_| {
            ctx.with_value(|context: &Rc<Context>| context.toggle_large(id, nth));
        })
        .child(image);
    Some(view.into_any())
}
