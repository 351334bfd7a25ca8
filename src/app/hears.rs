//! What the page hears of its document and of the feed in it.

use std::rc::Rc;

use leptos::prelude::WithUntracked;

use super::state::Open;
use super::{Page, liking};
use crate::element;
use crate::platform::{dom, folder, location};

impl Page {
    /// Listens as long as the page is there.
    pub(super) fn listen(self: &Rc<Self>) {
        let over = dom::listen_document("dragover", |event| {
            if folder::is_in(&event) {
                event.prevent_default();
            }
        });
        let page = self.clone();
        let dropped = dom::listen_document("drop", move |event| {
            if folder::is_in(&event) {
                event.prevent_default();
                page.take_files(folder::take(&event));
            }
        });
        let page = self.clone();
        let keys = dom::listen_document("keydown", move |event| {
            page.take_key(&event);
        });
        let page = self.clone();
        let turned_to = dom::listen_document("focusin", move |event| page.note_feed(&event));
        let page = self.clone();
        let commands = dom::listen(&self.feed, "af-command", move |event| {
            match dom::detail_of(&event, "command").as_deref() {
                Some("sessions") => page.toggle_list(),
                Some(element::REMOVE) => page.ask_to_remove_open(),
                Some(_) | None => return,
            }
            event.prevent_default();
        });
        let selected = dom::listen(&self.feed, "af-select", |event| {
            if let Some(name) = dom::detail_of(&event, "name") {
                location::set_in_fragment("e", &name);
            }
        });
        let page = self.clone();
        let moved = dom::listen_window("popstate", move |_| page.go_to_address());
        let page = self.clone();
        let title = dom::listen(&self.feed, "af-session", move |event| {
            *page.title.borrow_mut() = dom::detail_of(&event, "title");
            page.write_title();
        });
        let page = self.clone();
        let refused = dom::listen(&self.feed, "af-error", move |event| {
            // What is read from an address is no matter of the server's token: the note in the feed says what is wrong.
            let is_servers = |open: &Open| !matches!(open, Open::Local(_) | Open::Address(_));
            if dom::is_in_detail(&event, "refused") && page.state.open.with_untracked(is_servers) {
                // The page asks for the token, which says it.
                event.prevent_default();
                page.refuse();
            } else {
                page.note_failure();
            }
        });
        let page = self.clone();
        let ready = dom::listen(&self.feed, "af-ready", move |event| {
            page.note_outcome(dom::detail_of(&event, "outcome"));
        });
        let page = self.clone();
        let badge = dom::listen(&self.feed, "af-badge", move |event| {
            let n_new = dom::number_in_detail(&event, "badge").unwrap_or(0.0);
            // As it was counted.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            page.n_new.set(n_new as u32);
            page.write_title();
        });
        let page = self.clone();
        let follows = dom::listen(&self.feed, "af-follow", move |event| {
            if !dom::is_in_detail(&event, "following") {
                page.went.set(true);
            }
        });
        let finds = dom::listen(&self.feed, "af-filter", |event| {
            Page::note_find(
                dom::detail_of(&event, "question"),
                dom::detail_of(&event, "only"),
            );
        });
        let page = self.clone();
        let placed = dom::listen(&self.feed, "af-place", move |event| {
            page.keep_place(dom::detail_of(&event, "place"));
            Page::keep_opened(dom::detail_of(&event, "opened"));
        });
        let liked = dom::listen(&self.feed, "af-view", |event| {
            let chosen = dom::detail_of(&event, "attribute").zip(dom::detail_of(&event, "value"));
            if let Some((attribute, value)) = chosen {
                liking::keep(&attribute, &value);
            }
        });
        // They are needed as long as the page is there.
        std::mem::forget([over, dropped, keys, title, refused, ready, badge]);
        std::mem::forget([
            commands, selected, moved, turned_to, follows, finds, placed, liked,
        ]);
    }
}
