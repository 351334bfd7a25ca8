//! Scrolling, and whether it was the reader who scrolled: only then may it end or resume following.

use std::cell::Cell;

use super::WeakList;
use crate::platform::dom::{self, Element, Listener};
use crate::platform::frame;

/// A scroll within this time after an act of the reader is the reader's; wheels and flings go on that long.
const ACT_LASTS_MS: f64 = 200.0;

/// What the reader's hands do.
#[derive(Default)]
pub(crate) struct Intent {
    last_act_ms: Cell<f64>,
    holding: Cell<bool>,
    moved: Cell<bool>,
}

impl Intent {
    /// The reader did something that scrolls.
    pub(crate) fn act(&self) {
        self.last_act_ms.set(frame::now_ms());
    }

    /// Whether a scroll at this time is the reader's; each one carries the act on, as flings do.
    pub(crate) fn acted(&self, now_ms: f64) -> bool {
        let acted = self.holding.get() || now_ms - self.last_act_ms.get() < ACT_LASTS_MS;
        if acted {
            self.last_act_ms.set(now_ms);
            self.moved.set(true);
        }
        acted
    }

    /// The reader went somewhere by a key, a link or a find.
    pub(crate) fn go(&self) {
        self.moved.set(true);
    }

    /// Whether the reader has scrolled since `forget`.
    pub(crate) fn moved(&self) -> bool {
        self.moved.get()
    }

    /// What the reader did before no longer counts.
    pub(crate) fn forget(&self) {
        self.moved.set(false);
    }
}

/// Listens to all that scrolls.
pub(crate) fn listen(scroller: &Element, list: WeakList) -> Vec<Listener> {
    let with = |act: fn(&super::VirtualList)| {
        let list = list.clone();
        move |_| {
            if let Some(list) = list.upgrade() {
                act(&list);
            }
        }
    };
    let on_key = {
        let list = list.clone();
        move |event| {
            let scrolls = |name: &str| {
                matches!(
                    name,
                    "PageUp" | "PageDown" | "Home" | "End" | "ArrowUp" | "ArrowDown" | " "
                )
            };
            if let (Some(list), Some(key)) = (list.upgrade(), dom::key_of(&event))
                && scrolls(&key.name)
            {
                list.intent.act();
            }
        }
    };
    vec![
        dom::listen(scroller, "scroll", with(|list| list.scrolled())),
        dom::listen(scroller, "scrollend", with(|list| list.scroll_ended())),
        dom::listen_passive(scroller, "wheel", with(|list| list.intent.act())),
        dom::listen_passive(scroller, "touchmove", with(|list| list.intent.act())),
        dom::listen(scroller, "keydown", on_key),
        // The thumb of the scrollbar is held by a pointer that goes down on the scroller itself.
        dom::listen(scroller, "pointerdown", {
            let list = list.clone();
            move |event| {
                if let Some(list) = list.upgrade() {
                    list.intent
                        .holding
                        .set(dom::is_target(&event, list.scroller()));
                }
            }
        }),
        dom::listen_window("pointerup", with(|list| list.intent.holding.set(false))),
        dom::listen_window("pointercancel", with(|list| list.intent.holding.set(false))),
    ]
}
