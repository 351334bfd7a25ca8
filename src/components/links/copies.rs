//! What is copied of a row: its link, its words, the answer of its turn.

use std::collections::BTreeMap;
use std::rc::Rc;

use chat_event::BodyRef;
use chat_feed::arrangement::Row;
use chat_feed::viewport::RowId;
use chat_feed::{BlockId, answer_text};

use crate::components::{Context, later};
use crate::platform::dom::{self, Member};
use crate::platform::location;

impl Context {
    /// Puts a link to a row on the clipboard, unless the page around makes its own.
    pub(crate) fn copy_link(&self, row: RowId) {
        if let (Some(event_id), Some(name)) = (self.event_of(row), self.name_of(row)) {
            self.copy_link_to(&event_id, &name);
        }
    }

    /// The same, to an event or one of its rows.
    pub(in crate::components) fn copy_link_to(&self, event_id: &str, name: &str) {
        self.hand_on(event_id, &location::with_fragment("e", name));
    }

    /// Puts a link to a moment on the clipboard, by the time that has passed in the session: `1:23.5`.
    pub(in crate::components) fn copy_link_to_moment(&self, time: &str) {
        self.hand_on("", &location::with_fragment("t", time));
    }

    fn hand_on(&self, event_id: &str, address: &str) {
        let detail = dom::object_of(&[
            ("eventId", Member::Text(event_id)),
            ("href", Member::Text(address)),
        ]);
        let host = self.links.host.borrow();
        if host
            .as_ref()
            .is_none_or(|host| dom::asks_leave(host, "af-link", &detail))
        {
            self.copy(address, "Link copied");
        }
    }

    /// Puts what a row holds on the clipboard: of a group what its rows hold; of a line that says it all, that line.
    pub(crate) fn copy_row(self: &Rc<Self>, row: RowId) {
        let blocks = match self.store.row(row) {
            Row::Block(block) => vec![block],
            Row::Company(head) => self.store.members(head),
            Row::Work(_) => Vec::new(),
        };
        let shown = || {
            let element = self.list.borrow().as_ref()?.element_of(row)?;
            Some(dom::shown_text_of(&element))
        };
        let shown = shown().unwrap_or_default();
        // At once where nothing is to be fetched: not every browser lets a page write later than that.
        if later::is_here()
            && let (text, missing) = self.text_of(&blocks, &BTreeMap::new())
            && missing.is_empty()
        {
            return self.copy_out(&text.unwrap_or(shown));
        }
        let event_id = self.event_of(row);
        let context = self.clone();
        leptos::task::spawn_local(async move {
            later::here(&context).await;
            let mut come = BTreeMap::new();
            for (event_id, body) in context.text_of(&blocks, &come).1 {
                // What does not come is copied as far as it is here, and says so.
                if !come.contains_key(&body.sha256)
                    && let Some(coming) = context.wholes.body(&event_id, &body)
                    && let Ok(text) = coming.await
                {
                    come.insert(body.sha256, text);
                }
            }
            // Another session may be shown by now.
            let is_shown = context
                .store
                .block_of_id(event_id.as_deref().unwrap_or_default());
            if is_shown.is_some() {
                let text = context.text_of(&blocks, &come).0;
                context.copy_out(&text.unwrap_or(shown));
            }
        });
    }

    /// Puts the whole answer that a row is a part of on the clipboard; what any other row holds.
    pub(crate) fn copy_answer(self: &Rc<Self>, row: RowId) {
        let block = self.store.block_at(row);
        let answer = block.and_then(|block| answer_text(&self.store.feed(), block));
        match answer {
            Some(answer) => self.copy_out(&answer),
            None => self.copy_row(row),
        }
    }

    /// What rows hold, with the bodies that have come by their names; and which are still to come, by their events.
    fn text_of(
        &self,
        blocks: &[BlockId],
        come: &BTreeMap<String, String>,
    ) -> (Option<String>, Vec<(String, BodyRef)>) {
        let feed = self.store.feed();
        let mut missing = Vec::new();
        let mut find = |event_id: &str, body: &BodyRef| {
            let text = come.get(&body.sha256).cloned();
            if text.is_none() {
                missing.push((event_id.to_owned(), body.clone()));
            }
            text
        };
        let here = blocks.iter().filter(|block| feed.contains(**block));
        let texts: Vec<String> = here
            .filter_map(|block| later::text(&feed, *block, &mut find))
            .collect();
        ((!texts.is_empty()).then(|| texts.join("\n\n")), missing)
    }

    /// Puts text on the clipboard, unless the page around does it.
    fn copy_out(&self, text: &str) {
        let host = self.links.host.borrow();
        let detail = dom::object_of(&[("text", Member::Text(text))]);
        if host
            .as_ref()
            .is_none_or(|host| dom::asks_leave(host, "af-copy", &detail))
        {
            self.copy(text, "Copied");
        }
    }
}
