//! The transport bar: play, steps, time, speed, and the strip of the session with its thumb.
//!
//! What is played, and which moment that is, is for the player; what a strip is drawn from for [`strip`]. What stands
//! over the rows until it plays is the [`poster`].

mod buttons;
mod by_keys;
mod chapters;
mod hover;
mod poster;
mod rewind;
mod strip;
mod words;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::playback::{Command, Player, State};
use leptos::ev;
use leptos::html::div;
use leptos::prelude::*;

use super::{Context, Ctx};
use crate::feed_store::FeedStore;
use crate::platform::dom::{self, Element};
use crate::platform::{frame, pointer, style};

use by_keys::own_key;

pub(crate) use by_keys::on_key;
pub(crate) use poster::Poster;
pub(crate) use rewind::button as rewind_button;
pub(crate) use words::Said;

/// A strip of a session that goes on, or is still coming in, is drawn anew at most so often.
const STRIP_EVERY_MS: f64 = 1_000.0;

/// While it plays, or more comes, who cannot see which moment is shown is told at most so often.
const HEARD_EVERY_MS: f64 = 1_000.0;

/// What the bar keeps while the feed is shown.
#[derive(Default)]
pub(crate) struct TransportState {
    /// How the time is said.
    said: RwSignal<Said>,
    /// Counts up when the strip is to be drawn anew.
    strip: RwSignal<u32>,
    /// Whether it is drawn at all: it is drawn from all events, and the bar does not wait for it.
    strip_is_due: RwSignal<bool>,
    drawn: Cell<Option<(u32, u64, f64)>>,
    /// Whether a frame was asked for that draws it later.
    put_off: Rc<Cell<bool>>,
    /// The same for what is told to who cannot see it.
    heard_later: Rc<Cell<bool>>,
    /// Where along the strip the pointer is, while it is over it.
    pub(crate) hover: RwSignal<Option<f64>>,
    /// Where it was when the reader put away what is said of that place.
    put_away: Cell<Option<f64>>,
    /// Whether a session that goes on shows its bar although nobody looks back.
    pub(crate) opened: RwSignal<bool>,
    /// What stands over the rows until it plays.
    poster: RwSignal<Option<Poster>>,
    /// What to call when the feed begins or ends to look back.
    told_back: Cell<bool>,
    on_back: RefCell<Option<Box<dyn Fn()>>>,
}

impl Context {
    /// Does what is asked of the player; the newest row of the moment comes into view.
    pub(crate) fn play(&self, command: Command) {
        // Nothing is made up that moves for those who want no motion.
        self.store.set_types_whole(!style::reduced_motion());
        self.leave_poster(command);
        // To stop is no move: what is being read stays. Nor is it one to play what moves already.
        let (moves, command) = self
            .store
            .player(|player| (player.moves(), player.meant_by(command)));
        self.store.play(command);
        if command.moves()
            && !(moves && command == Command::Play)
            && let Some(list) = &*self.list.borrow()
        {
            list.follow_end();
        }
    }

    /// To the end, or the newest of a session that goes on; that needs no bar then.
    fn go_to_newest(&self) {
        // The button is of no use there.
        self.hand_focus_on(".transport__live", Some(".strip"));
        self.play(Command::Live);
        self.transport.opened.set(false);
    }

    /// Whether there is more than one moment to go to.
    pub(crate) fn has_moments(&self) -> bool {
        self.store.player(|player| player.clock().n_events() > 1)
    }

    /// Whether the keys of the bar act.
    pub(crate) fn has_transport(&self) -> bool {
        let state = self.store.player(|player| player.state());
        self.has_moments()
            && (state != State::LiveFollowing || self.transport.opened.get_untracked())
    }

    /// Whom to tell that the feed begins or ends to look back.
    pub(crate) fn on_looking_back(&self, tell: impl Fn() + 'static) {
        *self.transport.on_back.borrow_mut() = Some(Box::new(tell));
    }

    /// Once a frame: goes on playing. Whether the next frame will show something else.
    pub(crate) fn advance(&self) -> bool {
        let now_ms = frame::now_ms();
        let plays = self.store.advance(now_ms);
        let back = self.store.looks_back();
        if self.transport.told_back.replace(back) != back
            && let Some(tell) = &*self.transport.on_back.borrow()
        {
            tell();
        }
        let (n_events, axis_ms) = self
            .store
            .player(|player| (player.clock().n_events(), player.axis_ms()));
        let grew = |(known, axis, _)| known != n_events || axis != axis_ms;
        let transport = &self.transport;
        // It is drawn from all events: drawing it on each frame of a log that comes in took a third of the time of a
        // million events.
        let wait_ms = match transport.drawn.get() {
            Some(drawn) if !grew(drawn) => return plays,
            Some((_, _, at_ms)) if self.live.get() || self.busy.get() => {
                STRIP_EVERY_MS - (now_ms - at_ms)
            }
            Some(_) | None => 0.0,
        };
        if wait_ms <= 0.0 {
            transport.drawn.set(Some((n_events, axis_ms, now_ms)));
            transport
                .strip
                .update(|count| *count = count.wrapping_add(1));
        } else {
            // Nothing more may come: what was put off is drawn all the same.
            self.put_off(&transport.put_off, wait_ms, FeedStore::ask_frame);
        }
        plays
    }

    /// Has the store do something once in so many milliseconds, a second at most, however often it is asked for meanwhile.
    fn put_off(&self, is_asked: &Rc<Cell<bool>>, wait_ms: f64, act: fn(&FeedStore)) {
        if is_asked.replace(true) {
            return;
        }
        let (store, is_asked) = (Rc::downgrade(&self.store), is_asked.clone());
        leptos::task::spawn_local(async move {
            // Never less than nothing.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            frame::sleep(wait_ms.ceil() as u32).await;
            is_asked.set(false);
            if let Some(store) = store.upgrade() {
                act(&store);
            }
        });
    }
}

impl TransportState {
    /// Draws the strip from now on.
    pub(crate) fn draw_strip(&self) {
        self.strip_is_due.set(true);
    }

    /// Puts away what is said of the place under the pointer until that is another, and says whether there was anything.
    pub(crate) fn leave_hover(&self) -> bool {
        let hover = self.hover.get_untracked();
        self.put_away.set(hover);
        self.hover.set(None);
        hover.is_some()
    }

    /// Draws the strip anew in the next frame, though no more has come.
    pub(crate) fn redraw_strip(&self) {
        self.drawn.set(None);
    }

    /// Forgets what belongs to the session that is going: the next may have as many events, and be as long.
    pub(crate) fn forget(&self) {
        self.redraw_strip();
        self.hover.set(None);
    }
}

/// The bar. `grid` is the element that full screen shows.
pub(crate) fn view(ctx: Ctx, grid: Element) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let opened = ctx.with_value(|context| context.transport.opened);
    // Opened and closed seldom: what is in it moves by itself.
    let shown = Memo::new(move |_| {
        moved.track();
        opened.track();
        ctx.with_value(|context| {
            let plain = context.attribute("controls").as_deref() == Some("none");
            context.has_transport() && !plain
        })
    });
    move || {
        let shown = shown.get();
        if !shown {
            ctx.with_value(|context| context.hand_focus_on(".transport", None));
        }
        shown.then(|| {
            div()
                .class("transport")
                .attr("part", "player")
                .attr("role", "group")
                .attr("aria-label", "Replay")
                .on(ev::keydown, move |event| {
                    if own_key(ctx, &event) {
                        event.prevent_default();
                        event.stop_propagation();
                    }
                })
                .child((scrubber(ctx), buttons::view(ctx, grid.clone())))
        })
    }
}

/// What stands over the rows until it plays, where there is such a thing.
pub(crate) fn poster_view(ctx: Ctx) -> impl IntoView {
    poster::view(ctx)
}

fn on_axis(ctx: Ctx, change: fn(&mut Player)) {
    ctx.with_value(|context| context.store.on_axis(change));
}

/// The moment that is shown, as it is told to who cannot see it.
#[derive(Clone, PartialEq)]
struct Heard {
    n_events: u32,
    text: String,
    /// How the player stands and how often somebody went elsewhere; where it stands still also what is shown, and how often
    /// the strip was drawn, which is seldom while more comes.
    stands: (State, u32, Option<(Option<u32>, u32)>),
    at_ms: f64,
}

/// At once what the reader does, and now and then what plays or comes.
fn heard(ctx: Ctx) -> Memo<Heard> {
    let moved = ctx.with_value(|context| context.store.moved());
    let strip = ctx.with_value(|context| context.transport.strip);
    Memo::new(move |before: Option<&Heard>| {
        moved.track();
        let n_drawn = strip.get();
        let now_ms = frame::now_ms();
        ctx.with_value(|context| {
            let (state, shown) = context
                .store
                .player(|player| (player.state(), player.shown()));
            let plays = state == State::ReplayPlaying;
            let still = (!plays).then_some((shown, n_drawn));
            let stands = (state, context.store.seek_count(), still);
            if let Some(before) = before.filter(|it| it.stands == stands) {
                let wait_ms = HEARD_EVERY_MS - (now_ms - before.at_ms);
                if plays && wait_ms > 0.0 {
                    // What plays may wait at the newest from now on.
                    context.put_off(
                        &context.transport.heard_later,
                        wait_ms,
                        FeedStore::tell_moved,
                    );
                }
                if !plays || wait_ms > 0.0 {
                    return before.clone();
                }
            }
            Heard {
                n_events: context.store.player(Player::n_events),
                text: words::spoken(context),
                stands,
                at_ms: now_ms,
            }
        })
    })
}

fn scrubber(ctx: Ctx) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let hover = ctx.with_value(|context| context.transport.hover);
    let drawn = ctx.with_value(|context| context.transport.strip);
    let seek = move |event: &dom::Event| {
        if let Some(share) = pointer::share_along(event) {
            ctx.with_value(|context| {
                #[allow(clippy::cast_precision_loss)]
                let axis_ms = context.store.player(|player| player.axis_ms()) as f64;
                context.play(Command::SeekNear(share * axis_ms));
            });
        }
    };
    let share = {
        let moved = moved.clone();
        Memo::new(move |_| {
            moved.track();
            ctx.with_value(|context| context.store.player(words::share))
        })
    };
    let place = move || format!("{:.4}%", share.get() * 100.0);
    let done = div()
        .class("strip__future")
        .style(("inset-inline-start", place));
    let thumb = div()
        .class("strip__thumb")
        .style(("inset-inline-start", place));
    let heard = heard(ctx);
    div()
        .class("strip")
        .attr("part", "scrubber")
        .attr("role", "slider")
        .attr("tabindex", "0")
        .attr("aria-label", "Moment of the session")
        .attr("aria-valuemin", "0")
        .attr("aria-valuemax", move || {
            moved.track();
            ctx.with_value(|context| {
                context
                    .store
                    .player(|player| player.clock().n_events())
                    .to_string()
            })
        })
        .attr("aria-valuenow", move || {
            heard.with(|it| it.n_events.to_string())
        })
        .attr("aria-valuetext", move || heard.with(|it| it.text.clone()))
        // What came since the reader last did anything is to be pointed at, too.
        .on(ev::pointerenter, move |event| {
            if !pointer::is_down(&event) {
                on_axis(ctx, Player::fit_axis);
            }
        })
        .on(ev::pointerdown, move |event| {
            if pointer::is_down(&event) {
                on_axis(ctx, |player| player.hold_axis(true));
                pointer::hold(&event);
                seek(&event);
            }
        })
        .on(ev::lostpointercapture, move |_| {
            on_axis(ctx, |player| player.hold_axis(false));
        })
        .on(ev::pointermove, move |event| {
            let share = pointer::share_along(&event);
            let put_away = ctx.with_value(|context| context.transport.put_away.get());
            hover.set(share.filter(|_| share != put_away));
            if pointer::is_held(&event) {
                seek(&event);
            }
        })
        .on(ev::pointerleave, move |_| hover.set(None))
        .child((
            move || {
                drawn.track();
                let is_due = ctx.with_value(|context| context.transport.strip_is_due.get());
                is_due.then(|| ctx.with_value(|context| strip::view(context)))
            },
            done,
            thumb,
            move || hover.get().map(|share| hover::view(ctx, share)),
        ))
}
