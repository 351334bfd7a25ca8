//! What was sent along with a prompt, or came with a result: pictures as thumbnails that can be enlarged, sound with a
//! button that plays it, all else by name and size.
//!
//! Both are shown from their data alone and never fetched from where they say they are. Which data is one is for
//! `chat_feed::media`. Nothing plays before the reader asks.

use std::rc::Rc;

use chat_event::{Body, BodyRef, Json};
use chat_feed::loads::{Load, Spot};
use chat_feed::media::{self, Attachment, Picture, Sound};
use chat_feed::{Block, BlockBody, BlockId, Feed, units};
use leptos::ev;
use leptos::html::{audio, button, canvas, div, img, li, span, ul};
use leptos::prelude::*;

use super::icon::{Icon, icon};
use super::line::{self, Line};
use super::output::keeping_focus;
use super::whole::missing;
use super::{Context, Ctx, seen};
use crate::platform::dom::{self, Element};

/// A thumbnail fits into this, in px.
const THUMBNAIL_PX: (u32, u32) = (120, 64);
/// And an enlarged picture into this; it is no wider than its column.
const LARGE_PX: (u32, u32) = (1600, 800);

/// Whose it is: the row, and the event that brought it.
#[derive(Clone, Copy)]
struct Of<'a> {
    ctx: Ctx,
    id: BlockId,
    event_id: &'a str,
}

/// All that was sent along; `None` where nothing was.
pub(super) fn view(ctx: Ctx, block: &Block, attachments: Option<&Json>) -> Option<AnyView> {
    let list = Attachment::list(attachments);
    list_view(ctx, block.id, &block.event_id, (0, &list))
}

/// What came with an event of a row, and the number of the first; `None` where nothing did.
pub(super) fn list_view(
    ctx: Ctx,
    id: BlockId,
    event_id: &str,
    (first, list): (usize, &[Attachment]),
) -> Option<AnyView> {
    let of = Of { ctx, id, event_id };
    let tiles = (first..).zip(list);
    let tiles: Vec<AnyView> = tiles
        .map(|(nth, attachment)| tile(of, nth, attachment))
        .collect();
    (!tiles.is_empty()).then(|| ul().class("attachments").child(tiles).into_any())
}

/// A spoken answer: how much of it has come, and a button that plays it where the log holds it.
pub(super) fn spoken(ctx: Ctx, feed: &Feed, block: &Block) -> AnyView {
    let BlockBody::Audio {
        chunks,
        duration_ms,
        done,
        ..
    } = &block.body
    else {
        return ().into_any();
    };
    let what = if *done { "Spoken answer" } else { "Speaking" };
    let pieces = units::count(u64::from(*chunks), "piece", "pieces");
    let time = duration_ms
        .and_then(units::told_duration)
        .unwrap_or_default();
    let line = Line::new(Icon::Live, span().child(what))
        .outcome(pieces)
        .time(time)
        .view();
    let of = Of {
        ctx,
        id: block.id,
        event_id: &block.event_id,
    };
    // What grows is not played: with each piece it would begin anew.
    let player = done.then(|| spoken_player(of, &feed.sound(block.id), *chunks));
    let player = player.flatten();
    let player = player.map(line::body);
    (line, player).into_any()
}

/// The player of a spoken answer. Its pieces are put together once it is pressed: a row is drawn often.
fn spoken_player(of: Of<'_>, pieces: &str, n_pieces: u32) -> Option<AnyView> {
    const NAME: &str = "the spoken answer";
    Sound::of_pieces(pieces, n_pieces)?;
    let place = (of.id, Spot::Attachment(0));
    match of.ctx.with_value(|context| context.wholes.load(&place)) {
        Some(Load::Here) => {
            let data = Sound::joined(pieces, n_pieces)?;
            Some(playing(of, 0, Sound::address(&data)?, NAME))
        }
        load => Some(play_button(of, 0, (load, Vec::new()), NAME)),
    }
}

fn tile(of: Of<'_>, nth: usize, attachment: &Attachment) -> AnyView {
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
        .and_then(|data| thumbnail(of, nth, data, &name));
    let sound = attachment
        .data
        .as_ref()
        .and_then(|data| player(of, nth, data, &name));
    let is_large = picture.is_some() && of.ctx.with_value(|context| context.is_large(of.id, nth));
    let class = if is_large {
        "attachment attachment--large"
    } else {
        "attachment"
    };
    let words = div().child((
        span().class("attachment__name").child(seen::text(name)),
        size.map(|size| span().class("subtle").child(size)),
    ));
    li().class(class).child((picture, sound, words)).into_any()
}

/// The picture, or the room for it while it is on its way; `None` where the data is none, or too much.
fn thumbnail(of: Of<'_>, nth: usize, data: &Body, name: &str) -> Option<AnyView> {
    let ctx = of.ctx;
    let picture = Picture::of(&data.excerpt().preview)?;
    if data.byte_len() > media::MOST_BYTES {
        return None;
    }
    let place = (of.id, Spot::Attachment(nth));
    let whole = ctx.with_value(|context| {
        let whole = context.wholes.text(&place, data);
        whole.map(|whole| Picture::address(&whole).map(|address| (address, Picture::of(&whole))))
    });
    let Some(shown) = whole else {
        let (event_id, references) = (of.event_id.to_owned(), missing(data));
        let load = ctx.with_value(|context| {
            let can_fetch = context.wholes.can_fetch(&references);
            can_fetch.then(|| context.wholes.load(&place))
        });
        let load = load?;
        if let Some(Load::Failed(why)) = load {
            let again = move |context: &Rc<Context>| {
                context.bring(&place, &event_id, &references);
            };
            let words = format!("Could not load it: {why}. Try again");
            let view = button()
                .attr("type", "button")
                .class("link")
                .attr("aria-label", format!("{words} {name}"))
                .on(ev::click, move |event| {
                    keeping_focus(ctx, &event, || ctx.with_value(&again));
                })
                .child(words);
            return Some(view.into_any());
        }
        // Once, and not while the row is being drawn: what is brought has it drawn anew.
        if load.is_none() {
            leptos::task::spawn_local(async move {
                ctx.try_with_value(|context: &Rc<Context>| {
                    context.bring(&place, &event_id, &references);
                });
            });
        }
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
    let is_large = ctx.with_value(|context| context.is_large(of.id, nth));
    let most_px = if is_large { LARGE_PX } else { THUMBNAIL_PX };
    let (width, height) = picture?.fitting(most_px.0, most_px.1)?;
    let image = img()
        .class("picture__image")
        .attr("src", address)
        .attr("alt", name.to_owned())
        .attr("width", width.to_string())
        .attr("height", height.to_string())
        .attr("decoding", "async");
    let id = of.id;
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

/// Sound: a button, and once it is pressed what plays it. `None` where the data is none, or too much.
fn player(of: Of<'_>, nth: usize, data: &Body, name: &str) -> Option<AnyView> {
    Sound::of(&data.excerpt().preview)?;
    if data.byte_len() > media::MOST_BYTES {
        return None;
    }
    let place = (of.id, Spot::Attachment(nth));
    let (whole, load) = of.ctx.with_value(|context| {
        let whole = context.wholes.text(&place, data);
        let address = whole.map(|whole| Sound::address(&whole));
        (address, context.wholes.load(&place))
    });
    if let Some(address) = whole {
        return Some(playing(of, nth, address?, name));
    }
    let references = missing(data);
    let can_fetch = of
        .ctx
        .with_value(|context| context.wholes.can_fetch(&references));
    can_fetch.then(|| play_button(of, nth, (load, references), name))
}

/// What plays sound that is here.
fn playing(of: Of<'_>, nth: usize, address: String, name: &str) -> AnyView {
    let (ctx, id) = (of.ctx, of.id);
    let play = move |element: Element, address: String| {
        // What is being heard stays as it is until its end: late pieces of an answer would begin it anew.
        if dom::is_heard(&element) {
            return;
        }
        if dom::attribute(&element, "src").as_ref() != Some(&address) {
            dom::write_attribute(&element, "src", &address);
        }
        let here = Some((id, nth));
        ctx.try_with_value(|context| {
            if context.sound_due.get() == here {
                context.sound_due.set(None);
                dom::play(&element);
            }
        });
    };
    audio()
        .class("sound")
        .attr("controls", "")
        .attr("preload", "metadata")
        .attr("aria-label", name.to_owned())
        .directive(play, address)
        .on(ev::ended, move |_| {
            ctx.try_with_value(|context| context.store.touch(id));
        })
        .into_any()
}

/// The button that has it played; how far it has come, and what is missing of it.
fn play_button(
    of: Of<'_>,
    nth: usize,
    (load, references): (Option<Load>, Vec<BodyRef>),
    name: &str,
) -> AnyView {
    let (ctx, id) = (of.ctx, of.id);
    let place = (id, Spot::Attachment(nth));
    let word = match load {
        Some(Load::Coming { .. }) => "Loading …".to_owned(),
        Some(Load::Failed(why)) => format!("Could not load it: {why}. Try again"),
        None | Some(Load::Here) => "Play".to_owned(),
    };
    let event_id = of.event_id.to_owned();
    let view = button()
        .attr("type", "button")
        .class("link sound__play")
        .attr("aria-label", format!("{word} {name}"))
        .on(ev::click, move |event| {
            keeping_focus(ctx, &event, || {
                ctx.with_value(|context: &Rc<Context>| {
                    context.sound_due.set(Some((id, nth)));
                    context.bring(&place, &event_id, &references);
                });
            });
        })
        .child((icon(Icon::Play), word));
    view.into_any()
}
