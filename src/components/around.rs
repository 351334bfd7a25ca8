//! The part with all that stands around the rows: finding, the sheet of keys, a row's buttons, the player and the panel.

use std::any::Any;
use std::rc::Rc;

use leptos::mount::mount_to;
use leptos::prelude::*;

use super::feed::FeedView;
use super::reading::READING;
use super::{
    Context, Ctx, controls, feed, find, help, links, opened, panel, place, print, script,
    selecting, transport,
};
use crate::platform::dom::{self, Element, Event};
use crate::platform::part::part;
use crate::platform::style::{self, sheet};
use crate::virtual_list::View;

part! {
    /// What stands around the rows.
    pub(crate) static AROUND: Around = table, in around, "finds, replays and sums up";
}

/// The styles of what stands around the rows.
const CSS: &str = concat!(
    sheet!("controls"),
    sheet!("find"),
    sheet!("help"),
    sheet!("export"),
    sheet!("panel"),
    sheet!("transport"),
);

/// What the part can do.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    /// What fills the places, piece by piece.
    pub(crate) mount: fn(Ctx, Places) -> Vec<Piece>,
    /// The controls in the bar.
    pub(crate) controls: fn(Ctx, ArcRwSignal<View>) -> AnyView,
    /// Does what a key asks for.
    pub(crate) key: fn(&FeedView, &Event),
    /// Does what a script asks for, by its name and the words to it.
    pub(crate) script: fn(&Rc<FeedView>, &str, &str) -> script::Answered,
    /// The rows are about to go.
    pub(crate) leave: fn(&Context),
    /// Once a frame; the last says whether rows changed.
    pub(crate) frame: fn(&Rc<Context>, &Element, bool),
}

/// Fills some of the places; what is returned keeps that alive. Each is for a task of its own: all at once held the page for
/// 90 ms of CPU, the strip of a long session and the code that is compiled as it is called most of it.
pub(crate) type Piece = Box<dyn FnOnce() -> Box<dyn Any>>;

/// Where the part goes.
pub(crate) struct Places {
    pub(crate) grid: Element,
    pub(crate) find: Element,
    pub(crate) help: Element,
    pub(crate) actions: Element,
    pub(crate) player: Element,
    pub(crate) panel: Element,
}

fn table() -> Around {
    Around {
        mount,
        controls: |ctx, view| (controls::view(ctx, view), panel::toggle_button(ctx)).into_any(),
        key: FeedView::on_key,
        script: script::perform,
        leave: opened::keep,
        frame: |context, grid, changed| {
            context.find_on(grid);
            panel::note_change(context, changed);
            script::tell(context);
            opened::look(context);
            place::look(context);
        },
    }
}

fn mount(ctx: Ctx, places: Places) -> Vec<Piece> {
    let Places {
        grid,
        find,
        help,
        actions,
        player,
        panel,
    } = places;
    let full = grid.clone();
    let beside = (grid.clone(), panel.clone());
    let feed: Piece = Box::new(move || {
        style::adopt_around(&grid, CSS);
        // The page is at rest: the next log may be long.
        READING.fetch();
        let menus = grid.clone();
        Box::new((
            (
                place::keep(ctx),
                selecting::watch(ctx, &grid),
                feed::open_kinds(ctx, &grid),
            ),
            print::listen(ctx, &grid),
            // A menu would stay where its button stood.
            dom::listen_window("resize", move |_| {
                if let Some(menu) = dom::first_in(&menus, ":popover-open") {
                    dom::call_method(&menu, "hidePopover");
                }
            }),
            mount_to(dom::as_html(&grid), find::ticks),
            mount_to(dom::as_html(&find), move || find::view(ctx)),
            mount_to(dom::as_html(&actions), move || links::actions(ctx)),
        ))
    });
    let at_sides: Piece = Box::new(move || {
        let for_help = help.clone();
        Box::new((
            mount_to(dom::as_html(&help), move || help::view(for_help)),
            mount_to(dom::as_html(&panel), move || panel::view(ctx, beside)),
        ))
    });
    let player: Piece = Box::new(move || {
        Box::new(mount_to(dom::as_html(&player), move || {
            (transport::view(ctx, full), transport::poster_view(ctx))
        }))
    });
    let strip: Piece = Box::new(move || {
        ctx.with_value(|context| context.transport.draw_strip());
        Box::new(())
    });
    vec![feed, at_sides, player, strip]
}
