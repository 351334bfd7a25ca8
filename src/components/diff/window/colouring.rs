//! Colours of an open diff: asked for by what is in the page, and drawn together when they come.

use super::Window;
use crate::components::colours;
use crate::platform::dom::Element;
use crate::platform::frame;

impl Window {
    /// Asks for the colours of what a chunk shows; hunks of which some have come are noted.
    pub(super) fn ask_colours(&self, chunk: usize, on_screen: bool) {
        let Some(told) = self.told.borrow().clone() else {
            return;
        };
        let list = self.list.borrow();
        for hunk in list.hunks_of(chunk) {
            let Some(language) = list.language(hunk.0) else {
                continue;
            };
            for old in [true, false] {
                let known = {
                    let colours = self.colours.borrow();
                    let colours = colours.get(&hunk);
                    let side = colours.map(|colours| if old { &colours.old } else { &colours.new });
                    side.is_some_and(Option::is_some)
                };
                if known {
                    continue;
                }
                let text = {
                    let mut asked = self.asked.borrow_mut();
                    let text = asked.entry((hunk.0, hunk.1, old)).or_insert_with(|| {
                        // Too long for colours is as good as no text.
                        list.side_text(hunk, old).unwrap_or_default().into()
                    });
                    text.clone()
                };
                if text.is_empty() {
                    continue;
                }
                if let Some(lines) = colours::ask(language, text, on_screen, &told) {
                    let mut colours = self.colours.borrow_mut();
                    let of_hunk = colours.entry(hunk).or_default();
                    let side = if old {
                        &mut of_hunk.old
                    } else {
                        &mut of_hunk.new
                    };
                    if !lines.is_empty() {
                        self.fresh.borrow_mut().insert(hunk);
                    }
                    *side = Some(lines);
                    self.asked
                        .borrow_mut()
                        .insert((hunk.0, hunk.1, old), "".into());
                }
            }
        }
    }

    /// Colours have come: once for all that come together.
    pub(super) fn redraw_soon(&self) {
        if self.redraws.replace(true) {
            return;
        }
        let me = self.me.clone();
        leptos::task::spawn_local(async move {
            frame::yield_now().await;
            if let Some(me) = me.upgrade() {
                me.redraws.set(false);
                me.redraw();
            }
        });
    }

    fn redraw(&self) {
        let top_px = self.top_px.get();
        let drawn: Vec<(usize, Element)> = {
            let drawn = self.drawn.borrow();
            let drawn = drawn.iter();
            drawn
                .map(|(chunk, element)| (*chunk, element.clone()))
                .collect()
        };
        for (chunk, _) in &drawn {
            self.ask_colours(*chunk, self.is_on_screen(*chunk, top_px));
        }
        let fresh = std::mem::take(&mut *self.fresh.borrow_mut());
        for (chunk, element) in &drawn {
            let hunks = self.list.borrow().hunks_of(*chunk);
            if hunks.iter().any(|hunk| fresh.contains(hunk)) {
                self.draw(*chunk, element);
            }
        }
    }
}
