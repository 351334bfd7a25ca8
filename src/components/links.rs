//! Links to events, copies of rows and files to open: the buttons on the row under the pointer or the focus, the keys for
//! the same, and the row that a link led to, which lights up once.
//!
//! What stands in the address is the page's: a link is told by `af-link`, which a listener may take over, and the row
//! that has the focus by `af-select`. No page opens a file of the reader's machine, so `af-open-file` asks whoever can.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use chat_event::BodyRef;
use chat_feed::arrangement::Row;
use chat_feed::controls;
use chat_feed::viewport::{Align, RowId};
use chat_feed::{Block, BlockId, Feed, answer_text};
use leptos::ev;
use leptos::html::button;
use leptos::prelude::*;

use super::icon::{Icon, icon};
use super::{Context, Ctx, feed, later};
use crate::platform::dom::{self, Element, Member};
use crate::platform::{frame, location};
use crate::virtual_list::VirtualList;

/// How long a row stays lit, in milliseconds: long enough to be found, whether or not anything may move.
const LIT_MS: u32 = 1_600;

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

    /// Puts a link to a row on the clipboard, unless the page around makes its own.
    pub(crate) fn copy_link(&self, row: RowId) {
        if let (Some(event_id), Some(name)) = (self.event_of(row), self.name_of(row)) {
            self.copy_link_to(&event_id, &name);
        }
    }

    /// The same, to an event or one of its rows.
    pub(super) fn copy_link_to(&self, event_id: &str, name: &str) {
        let address = location::with_fragment("e", name);
        let detail = dom::object_of(&[
            ("eventId", Member::Text(event_id)),
            ("href", Member::Text(&address)),
        ]);
        let host = self.links.host.borrow();
        if host
            .as_ref()
            .is_none_or(|host| dom::asks_leave(host, "af-link", &detail))
        {
            self.copy(&address, "Link copied");
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

    /// Whether a link has just led to a row.
    pub(super) fn is_lit(&self, row: RowId) -> bool {
        self.links.lit.get() == Some(row)
    }

    /// A row comes into the page. One that is gone to from far, or in a page that has just come, may do so frames later, or
    /// once more: it is lit from then on.
    pub(super) fn note_mounted(self: &Rc<Self>, row: RowId) {
        if self.is_lit(row) {
            self.put_out_later();
        }
    }

    fn put_out_later(self: &Rc<Self>) {
        let nth = self.links.n_lit.get().wrapping_add(1);
        self.links.n_lit.set(nth);
        let context = Rc::downgrade(self);
        leptos::task::spawn_local(async move {
            frame::sleep(LIT_MS).await;
            if let Some(context) = context.upgrade()
                && context.links.n_lit.get() == nth
                && let Some(row) = context.links.lit.take()
                && let Some(list) = &*context.list.borrow()
            {
                context.dress_anew(list, row);
            }
        });
    }

    /// Of a row that is not in the page nothing is to be changed, and it may be gone.
    fn dress_anew(&self, list: &VirtualList, row: RowId) {
        if list.element_of(row).is_some() {
            list.changed(row);
        }
    }

    pub(super) fn event_of(&self, row: RowId) -> Option<String> {
        let feed = self.store.feed();
        Some(feed.block(self.block_of(&feed, row)?).event_id.to_string())
    }

    /// What a link to a row names it.
    pub(super) fn name_of(&self, row: RowId) -> Option<String> {
        let feed = self.store.feed();
        Some(feed.name_of(self.block_of(&feed, row)?))
    }

    /// The block that a row's link leads to.
    fn block_of(&self, feed: &Feed, row: RowId) -> Option<BlockId> {
        match self.store.row(row) {
            Row::Block(block) | Row::Company(block) => Some(block),
            Row::Work(turn) => feed.turn(turn).prompt,
        }
    }

    /// The row in which something happened.
    pub(super) fn row_around(&self, event: &dom::Event) -> Option<(RowId, Element)> {
        let element = dom::around_event(event, ".row")?;
        let list = self.list.borrow();
        let rows = list.as_ref()?.mounted_rows();
        rows.into_iter().find(|(_, row)| *row == element)
    }

    /// The pointer or the focus is on a row: the buttons go there.
    pub(super) fn note_row(&self, event: &dom::Event) {
        let Some((row, element)) = self.row_around(event) else {
            return;
        };
        let actions = self.links.actions.borrow();
        let elsewhere = actions
            .as_ref()
            .filter(|actions| actions.parent_element().as_ref() != Some(&element));
        // Who is in them by keys does not lose them to a pointer that lies anywhere.
        let used = elsewhere.and_then(dom::focused_in);
        let by_keys = |button: &Element| dom::is(button, ":focus-visible");
        if used.as_ref().is_some_and(by_keys) {
            return;
        }
        // What is moved loses the focus: keys go on from the row whose button was clicked.
        let left = elsewhere.and_then(|actions| actions.parent_element());
        if let Some(left) = left.filter(|_| used.is_some()) {
            dom::focus(&left);
        }
        self.links.on.set(Some(row));
        if let Some(actions) = elsewhere {
            let opens = self.attribute("opens-files").is_some();
            if self.links.page_opens.get_untracked() != opens {
                self.links.page_opens.set(opens);
            }
            match self.has_file(row) {
                true => dom::write_attribute(actions, "data-file", ""),
                false => dom::remove_attribute(actions, "data-file"),
            }
            dom::insert_before(&element, actions, None);
        }
    }

    /// A row has the focus: the page around may keep it in its address.
    pub(super) fn note_focus(&self, event: &dom::Event) {
        self.note_row(event);
        let row = self.links.on.get();
        if row.is_none() || self.links.selected.replace(row) == row {
            return;
        }
        let event_id = row.and_then(|row| self.event_of(row));
        let name = row.and_then(|row| self.name_of(row));
        if let (Some(event_id), Some(name), Some(host)) =
            (event_id, name, &*self.links.host.borrow())
        {
            let detail = [
                ("eventId", Member::Text(&event_id)),
                ("name", Member::Text(&name)),
            ];
            dom::dispatch(host, "af-select", &dom::object_of(&detail));
        }
    }

    pub(super) fn forget_links(&self) {
        self.links.on.set(None);
        self.links.selected.set(None);
        self.links.damage.set(None);
        self.links.lit.set(None);
        if let Some(actions) = &*self.links.actions.borrow() {
            actions.remove();
        }
    }

    pub(super) fn set_actions(&self, actions: Element) {
        *self.links.actions.borrow_mut() = Some(actions);
    }
}

/// The buttons; there is one set, and it is put on one row at a time.
pub(super) fn actions(ctx: Ctx) -> impl IntoView {
    let opens = ctx.with_value(|context| context.links.page_opens.clone());
    let action = move |name: &'static str,
                       key: &'static str,
                       class: &'static str,
                       shape: Icon,
                       act: fn(&Rc<Context>, RowId)| {
        button()
            .attr("type", "button")
            .class(class)
            .attr("aria-label", name)
            .attr("title", format!("{name} ({key})"))
            .on(ev::click, move |_| {
                ctx.with_value(|context| {
                    if let Some(row) = context.links.on.get() {
                        act(context, row);
                    }
                });
            })
            .child(icon(shape))
    };
    let file = move || {
        // Only a page that opens files is asked for it in so many words.
        let name = match opens.get() {
            true => "Open file",
            false => "Copy path",
        };
        let act = |context: &Rc<Context>, row| {
            context.open_file(row);
        };
        action(name, "o", "icon-button row-actions__file", Icon::File, act)
    };
    (
        file,
        action(
            "Copy text",
            "y",
            "icon-button",
            Icon::Copy,
            |context, row| {
                context.copy_row(row);
            },
        ),
        action(
            "Copy the whole answer",
            "Y",
            "icon-button row-actions__answer",
            Icon::Copy,
            |context, row| {
                context.copy_answer(row);
            },
        ),
        action(
            "Copy link",
            "l",
            "icon-button",
            Icon::Link,
            |context, row| {
                context.copy_link(row);
            },
        ),
    )
}

/// Tells the page around how the reader wants it shown: as an attribute that does so.
pub(crate) fn tell_choice(host: &Element, attribute: &str, value: &str) {
    let detail = [
        ("attribute", Member::Text(attribute)),
        ("value", Member::Text(value)),
    ];
    dom::dispatch(host, "af-view", &dom::object_of(&detail));
}
