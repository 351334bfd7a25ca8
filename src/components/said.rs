//! What a key or a button did, or did not, where nothing else shows it: said for a while above the end of the rows.

use super::Context;
use crate::platform::dom::{self, Element};
use crate::platform::frame;

/// So long it stands there.
const SAID_MS: u32 = 3_000;

impl Context {
    /// Says something, to be seen and heard.
    pub(super) fn say(&self, words: String) {
        if let Some(place) = self.place_of_words() {
            leptos::task::spawn_local(show(place, words));
        }
    }

    /// Puts a text on the clipboard, and says so in these words.
    pub(super) fn copy(&self, text: &str, done: &'static str) {
        let copying = dom::copying(text);
        let Some(place) = self.place_of_words() else {
            return;
        };
        leptos::task::spawn_local(async move {
            // Not every page lets what it frames do that.
            let words = if copying.await {
                done
            } else {
                "Could not copy"
            };
            show(place, words.to_owned()).await;
        });
    }

    fn place_of_words(&self) -> Option<Element> {
        let list = self.list.borrow();
        let frame = list.as_ref()?.scroller().parent_element()?;
        let place = dom::first_in(&frame, ".said").unwrap_or_else(|| {
            let place = dom::create("div");
            dom::write_attribute(&place, "class", "said");
            dom::write_attribute(&place, "role", "status");
            dom::insert_before(&frame, &place, None);
            place
        });
        Some(place)
    }
}

async fn show(place: Element, words: String) {
    // A status is heard once it changes, also where it says the same once more.
    dom::write_text(&place, "");
    frame::yield_now().await;
    dom::write_text(&place, "");
    let said = dom::create("span");
    dom::write_text(&said, &words);
    dom::insert_before(&place, &said, None);
    frame::sleep(SAID_MS).await;
    // Others may stand there by now, also of the same words.
    said.remove();
}
