//! Wrappers around runs of rows: `.turn`, `.assistant-response`, `.tool-calls` … They have no box of their own, so that
//! the rows' heights are all the height there is.
//!
//! A wrapper is kept as long as one of its rows is mounted, so rows are not moved in the document when others come.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::MountedRow;
use crate::platform::dom::{self, Element};

/// One wrapper around a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// Its class.
    pub(crate) class: &'static str,
    /// An attribute by which others find it.
    pub(crate) attribute: Option<(&'static str, Rc<str>)>,
}

/// The wrappers of a list.
#[derive(Default)]
pub(crate) struct Groups {
    wrappers: BTreeMap<u32, Wrapper>,
    next_id: u32,
    top: Vec<Child>,
}

struct Wrapper {
    element: Element,
    group: Group,
    children: Vec<Child>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Child {
    Row(u32),
    Wrapper(u32),
}

impl Groups {
    /// Puts the rows and their wrappers in order within `window`.
    pub(super) fn arrange(&mut self, window: &Element, rows: &mut [MountedRow]) {
        let mut used = BTreeSet::new();
        let top = self.arrange_level(rows, 0..rows.len(), 0, &mut used);
        let before = std::mem::take(&mut self.top);
        self.place(window, rows, &before, &top);
        self.top = top;
        self.wrappers.retain(|id, wrapper| {
            let keep = used.contains(id);
            if !keep {
                wrapper.element.remove();
            }
            keep
        });
    }

    fn arrange_level(
        &mut self,
        rows: &mut [MountedRow],
        range: Range<usize>,
        level: usize,
        used: &mut BTreeSet<u32>,
    ) -> Vec<Child> {
        let mut children = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let Some(group) = rows[at].groups.get(level).cloned() else {
                rows[at].path.truncate(level);
                children.push(Child::Row(rows[at].id.0));
                at += 1;
                continue;
            };
            let run = rows[at..range.end]
                .iter()
                .take_while(|row| row.groups.get(level) == Some(&group));
            let end = at + run.count();
            let id = self.wrapper_for(&rows[at..end], level, group, used);
            used.insert(id);
            for row in &mut rows[at..end] {
                row.path.truncate(row.groups.len());
                if row.path.get(level) != Some(&id) {
                    row.path.truncate(level);
                    row.path.push(id);
                }
            }
            let inner = self.arrange_level(rows, at..end, level + 1, used);
            if let Some(wrapper) = self.wrappers.get_mut(&id) {
                let before = std::mem::replace(&mut wrapper.children, inner.clone());
                let element = wrapper.element.clone();
                self.place(&element, rows, &before, &inner);
            }
            children.push(Child::Wrapper(id));
            at = end;
        }
        children
    }

    /// The wrapper that one of the rows stands in already, else a new one.
    fn wrapper_for(
        &mut self,
        rows: &[MountedRow],
        level: usize,
        group: Group,
        used: &BTreeSet<u32>,
    ) -> u32 {
        let standing = rows
            .iter()
            .filter_map(|row| row.path.get(level))
            .find(|id| {
                !used.contains(id)
                    && self
                        .wrappers
                        .get(id)
                        .is_some_and(|wrapper| wrapper.group == group)
            });
        if let Some(id) = standing {
            return *id;
        }
        let element = dom::create("div");
        dom::write_attribute(&element, "class", group.class);
        if let Some((name, value)) = &group.attribute {
            dom::write_attribute(&element, name, value);
        }
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.wrappers.insert(
            id,
            Wrapper {
                element,
                group,
                children: Vec::new(),
            },
        );
        id
    }

    /// Brings the children of one element into order, touching only those that are out of it.
    fn place(&self, parent: &Element, rows: &[MountedRow], before: &[Child], children: &[Child]) {
        if before == children {
            return;
        }
        let mut next: Option<Element> = None;
        for child in children.iter().rev() {
            let element = match child {
                Child::Row(id) => rows
                    .iter()
                    .find(|row| row.id.0 == *id)
                    .map(|row| row.element.clone()),
                Child::Wrapper(id) => self.wrappers.get(id).map(|wrapper| wrapper.element.clone()),
            };
            let Some(element) = element else { continue };
            if !dom::stands_before(parent, &element, next.as_ref()) {
                dom::insert_before(parent, &element, next.as_ref());
            }
            next = Some(element);
        }
    }
}
