//! Looking for something in what is shown, and showing only what was found.

use std::rc::Rc;

use chat_feed::arrangement::Filter;
use chat_feed::find::Find;
use chat_feed::{Feed, FeedPatch};

use super::FeedStore;

/// Hears what changed of what is searched.
pub(super) type TellFind = Box<dyn Fn(&Feed, &[FeedPatch])>;

impl FeedStore {
    /// Looks for something, or for nothing any more.
    pub(crate) fn set_find(&self, find: Option<Find>) {
        // What finds is in a part of its own: only a search that goes on is told what changes.
        let searched = self.find.clone();
        let tell: TellFind = Box::new(move |feed, patches| {
            if let Some(find) = &mut *searched.borrow_mut() {
                find.note(feed, patches);
            }
        });
        *self.tell_find.borrow_mut() = find.is_some().then_some(tell);
        *self.find.borrow_mut() = find;
    }

    /// What is looked for and was found; `None` where nothing is looked for.
    pub(crate) fn find<T>(&self, read: impl FnOnce(&Find, &Feed) -> T) -> Option<T> {
        self.find
            .borrow()
            .as_ref()
            .map(|find| read(find, &self.feed()))
    }

    /// Changes what is looked for.
    pub(crate) fn change_find(&self, change: impl FnOnce(&mut Find, &Feed)) {
        if let Some(find) = &mut *self.find.borrow_mut() {
            change(find, &self.feed());
        }
    }

    /// Looks through about so many bytes more; false where something is left.
    pub(crate) fn search_on(&self, budget_bytes: usize) -> bool {
        let mut changed = Vec::new();
        let mut done = true;
        self.change_find(|find, feed| done = find.search(feed, budget_bytes, &mut changed));
        if !changed.is_empty() && self.arrangement.borrow().is_filtered() {
            let update = |block| FeedPatch::Update { block };
            let mut updates = changed.into_iter().map(update).collect();
            self.gathered.borrow_mut().take_from(&mut updates);
            (self.on_dirty.borrow())();
        }
        done
    }

    /// Whether a filter decides what is shown.
    pub(crate) fn is_filtered(&self) -> bool {
        self.arrangement.borrow().is_filtered()
    }

    /// Shows only what was found, or everything again.
    pub(crate) fn show_only_found(&self, only: bool) {
        let find = self.find.clone();
        let filter: Filter = Rc::new(move |_, block| {
            find.borrow()
                .as_ref()
                .is_some_and(|find| find.is_hit(block))
        });
        if only || self.arrangement.borrow().is_filtered() {
            self.set_filter(only.then_some(filter));
        }
    }
}
