//! The session on paper: all its rows, whatever moment is shown, unfolded, with their diffs whole, and nothing of the controls
//! around them. How it looks then is for `style/print.css`.
//!
//! A browser asks before it prints and waits for what is done here; afterwards everything is as it was.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use chat_feed::arrangement::{Mode, Verbosity};
use chat_feed::playback::{Command, Player, State};
use chat_feed::units;
use leptos::prelude::WithValue;

use super::{Context, Ctx, feed};
use crate::platform::dom::{self, Element};

/// More rows are not printed: a browser takes seconds to lay out so many, and nobody reads the paper.
const MOST_ROWS: usize = 5_000;

/// Prepares `frame` to be printed, as long as what is returned is kept.
pub(super) fn listen(ctx: Ctx, frame: &Element) -> Box<dyn Any> {
    let head = dom::create("div");
    dom::write_attribute(&head, "class", "print-head");
    dom::insert_before(frame, &head, dom::first_in(frame, ".top").as_ref());
    let before: Rc<RefCell<Option<Before>>> = Rc::default();
    let kept = before.clone();
    let begin = dom::listen_window("beforeprint", move |_| {
        ctx.try_with_value(|context| begin(context, &head, &kept));
    });
    let end = dom::listen_window("afterprint", move |_| {
        ctx.try_with_value(|context| end(context, &before));
    });
    Box::new((begin, end))
}

/// How the rows were arranged before, whether a filter left some out, and which moment was shown: a paper shows nothing that
/// would say so.
struct Before {
    mode: Mode,
    filtered: bool,
    moment: Option<Moment>,
}

/// How many events were shown of how many milliseconds of playing, and whether it played.
struct Moment {
    n_events: u32,
    played_ms: f64,
    plays: bool,
}

impl Moment {
    fn shown_in(context: &Context) -> Option<Moment> {
        let of = |player: &Player| Moment {
            n_events: player.n_events(),
            played_ms: player.played_ms(),
            plays: player.state() == State::ReplayPlaying,
        };
        context.store.looks_back().then(|| context.store.player(of))
    }

    fn show_in(&self, context: &Context) {
        let store = &context.store;
        let seek = || {
            // Within a text that is typed, or of several events at the same time.
            store.place(Command::SeekNear(self.played_ms));
            if store.player(Player::n_events) != self.n_events {
                store.place(Command::SeekTo(self.n_events));
            }
        };
        seek();
        if self.plays {
            // What is read while it is played would begin at its start.
            store.place(Command::Play);
            seek();
        }
    }
}

fn begin(context: &Rc<Context>, head: &Element, before: &RefCell<Option<Before>>) {
    let Some(list) = context.list.borrow().clone() else {
        return;
    };
    before.borrow_mut().get_or_insert(Before {
        mode: context.store.mode(),
        filtered: context.store.is_filtered(),
        moment: Moment::shown_in(context),
    });
    if context.store.looks_back() {
        context.store.place(Command::Live);
    }
    context.store.show_only_found(false);
    context.store.set_mode(Mode {
        verbosity: Verbosity::Verbose,
        fold: false,
        group: false,
        // What the page leaves out is on no paper.
        thinking: context.store.mode().thinking,
    });
    feed::settle(context, &list);
    let n_rows = list.len();
    dom::write_text(head, &words(context, n_rows));
    // Those that are there are drawn whole from now on, and so are those that come.
    context.diffs.set_whole(true);
    context.store.touch_mounted();
    feed::settle(context, &list);
    list.force(Some(0..n_rows.min(MOST_ROWS)));
}

fn end(context: &Rc<Context>, before: &RefCell<Option<Before>>) {
    let Some(before) = before.borrow_mut().take() else {
        return;
    };
    let Some(list) = context.list.borrow().clone() else {
        return;
    };
    context.diffs.set_whole(false);
    context.store.set_mode(before.mode);
    context.store.show_only_found(before.filtered);
    if let Some(moment) = before.moment {
        moment.show_in(context);
    }
    context.store.touch_mounted();
    list.force(None);
    feed::settle(context, &list);
}

/// What stands above the rows: which session it is, and how much of it is not there.
fn words(context: &Context, n_rows: usize) -> String {
    let session = context.store.feed().session().clone();
    let left = n_rows.saturating_sub(MOST_ROWS);
    let left = (left > 0).then(|| {
        let rows = units::count(left as u64, "more row", "more rows");
        format!("{rows}: export the session to have all of it")
    });
    let parts = [session.title, session.agent, Some(session.session_id), left];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}
