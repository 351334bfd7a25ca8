//! Links to events, copies of rows and files to open: the buttons on the row under the pointer or the focus, the keys for
//! the same, and the row that a link led to, which lights up once.
//!
//! What stands in the address is the page's: a link is told by `af-link`, which a listener may take over, and the row
//! that has the focus by `af-select`. No page opens a file of the reader's machine, so `af-open-file` asks whoever can.
//!
//! What is copied is in `copies`, the row that lights up in `lit`, and the buttons are in `buttons`.

mod buttons;
mod copies;
mod lit;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::arrangement::Row;
use chat_feed::viewport::{Align, RowId};
use chat_feed::{Block, BlockId, Feed, controls};
use leptos::prelude::*;

use super::{Context, feed};
use crate::platform::dom::{self, Element, Member};
use crate::virtual_list::VirtualList;
pub(super) use buttons::actions;

/// What of links is kept while the feed is shown.
#[derive(Default)]
pub(crate) struct Links {
    /// The element in the page, whose listeners hear of links.
    pub(crate) host: RefCell<Option<Element>>,
    actions: RefCell<Option<Element>>,
    /// The row that the buttons are on.
    on: Cell<Option<RowId>>,
    /// Whether the page around opens files, as it said when the buttons came there.
    page_opens: ArcRwSignal<bool>,
    selected: Cell<Option<RowId>>,
    /// The damaged place that was gone to last.
    damage: Cell<Option<BlockId>>,
    /// The row that a link led to, until it goes out.
    lit: Cell<Option<RowId>>,
    /// Counts up with each time that a row is lit: only the last time puts it out.
    n_lit: Cell<u32>,
}

impl Context {
    /// Asks the page around for something that is not the feed's; true where somebody does it.
    pub(crate) fn command(&self, name: &str) -> bool {
        let host = self.links.host.borrow();
        let detail = dom::object_of(&[("command", Member::Text(name))]);
        host.as_ref()
            .is_some_and(|host| !dom::asks_leave(host, "af-command", &detail))
    }

    /// The reader wants it shown in another way; the page around may keep that for the next time.
    pub(crate) fn choose(&self, attribute: &str, value: &str) {
        if let Some(host) = &*self.links.host.borrow() {
            dom::write_attribute(host, attribute, value);
            tell_choice(host, attribute, value);
        }
    }

    /// An attribute of the element, for what can be set in the page as well.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        dom::attribute(self.links.host.borrow().as_ref()?, name)
    }

    /// An attribute that says something once: it is gone with this.
    pub(super) fn take_attribute(&self, name: &str) -> Option<String> {
        let said = self.attribute(name)?;
        if let Some(host) = &*self.links.host.borrow() {
            dom::remove_attribute(host, name);
        }
        Some(said)
    }

    /// Whether a row is about a file.
    fn has_file(&self, row: RowId) -> bool {
        let block = self.store.block_at(row);
        block.is_some_and(|block| self.store.feed().block(block).body.file_path().is_some())
    }

    /// Asks the page around to open the file that a row is about; where nobody does, its path goes on the clipboard.
    /// False where the row is about none.
    pub(crate) fn open_file(&self, row: RowId) -> bool {
        let Some(block) = self.store.block_at(row) else {
            return false;
        };
        let (path, line, event_id, cwd) = {
            let feed = self.store.feed();
            let block = feed.block(block);
            let Some(path) = block.body.file_path() else {
                return false;
            };
            let line = block.body.file_line();
            let cwd = feed.session().cwd.clone();
            (path, line, block.event_id.to_string(), cwd)
        };
        let mut detail = vec![
            ("path", Member::Text(&path)),
            ("eventId", Member::Text(&event_id)),
        ];
        // What is not known is left out.
        detail.extend(line.map(|line| ("line", Member::Number(line))));
        detail.extend(cwd.as_deref().map(|cwd| ("cwd", Member::Text(cwd))));
        let host = self.links.host.borrow();
        if host
            .as_ref()
            .is_none_or(|host| dom::asks_leave(host, "af-open-file", &dom::object_of(&detail)))
        {
            self.copy(&controls::copied(&path), "Path copied");
        }
        true
    }

    /// Brings the row that a link names into the middle and lights it up; false where it is not here.
    pub(crate) fn go_to_id(self: &Rc<Self>, name: &str) -> bool {
        let Some(block) = self.store.block_named(name) else {
            return false;
        };
        self.go_to_block(block);
        true
    }

    /// Goes to the next place where the log is damaged, counted from the one gone to before; behind the last the first
    /// is next.
    pub(crate) fn go_to_damage(self: &Rc<Self>) {
        let before = self.links.damage.get();
        let next = {
            let feed = self.store.feed();
            // Rows of damage behind one another are one place.
            let is_place = |block: &&Block| {
                let before = feed.prev(block.id);
                let goes_on = before.is_some_and(|before| feed.block(before).body.is_damage());
                block.body.is_damage() && !goes_on
            };
            let mut rows = feed.rows();
            let after = before.is_some_and(|before| rows.any(|block| block.id == before));
            let next = if after { rows.find(is_place) } else { None };
            next.or_else(|| feed.rows().find(is_place))
                .map(|block| block.id)
        };
        self.links.damage.set(next);
        if let Some(block) = next {
            self.go_to_block(block);
        }
    }

    /// Opens what hides a block; the row that shows it, and the list that has it.
    pub(super) fn bring_out(&self, block: BlockId) -> Option<(RowId, Rc<VirtualList>)> {
        let list = self.list.borrow().clone()?;
        if !self.store.feed().contains(block) {
            return None;
        }
        let row = self.store.reveal(block)?;
        feed::settle(self, &list);
        Some((self.store.id_of(row)?, list))
    }

    fn go_to_block(self: &Rc<Self>, block: BlockId) {
        let Some((id, list)) = self.bring_out(block) else {
            return;
        };
        let before = self.links.lit.replace(Some(id));
        // Whatever was lit before does not put this one out.
        self.links.n_lit.set(self.links.n_lit.get().wrapping_add(1));
        for row in before.into_iter().chain([id]) {
            self.dress_anew(&list, row);
        }
        if list.element_of(id).is_some() {
            self.put_out_later();
        }
        list.scroll_to(id, Align::Center);
        list.update();
    }

    pub(super) fn event_of(&self, row: RowId) -> Option<String> {
        let feed = self.store.feed();
        let block = block_of(&feed, self.store.row(row))?;
        Some(feed.block(block).event_id.to_string())
    }

    /// What a link to a row names it.
    pub(super) fn name_of(&self, row: RowId) -> Option<String> {
        self.name_of_row(self.store.row(row))
    }

    /// The same for what stands in no list now.
    pub(super) fn name_of_row(&self, row: Row) -> Option<String> {
        let feed = self.store.feed();
        let block = block_of(&feed, row)?;
        Some(feed.name_of(block))
    }
}

/// The block that a row's link leads to, where the feed has it.
fn block_of(feed: &Feed, row: Row) -> Option<BlockId> {
    let block = match row {
        Row::Block(block) | Row::Company(block) => block,
        Row::Work(turn) => feed.turn(turn).prompt?,
    };
    feed.contains(block).then_some(block)
}

/// Tells the page around how the reader wants it shown: as an attribute that does so.
pub(crate) fn tell_choice(host: &Element, attribute: &str, value: &str) {
    let detail = [
        ("attribute", Member::Text(attribute)),
        ("value", Member::Text(value)),
    ];
    dom::dispatch(host, "af-view", &dom::object_of(&detail));
}
