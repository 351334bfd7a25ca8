//! Which rows are wanted in the page, and which of them a frame mounts: it may leave some to the next.

use std::collections::VecDeque;
use std::ops::Range;

use chat_feed::viewport::RowId;

use super::{MountedRow, VirtualList};
use crate::platform::{dom, frame};

/// So long rows are mounted within a frame that can wait: the page's first ones, whose code is compiled as it is called, and
/// those beyond the screen while nothing moves. At the end of a log that was read, those held the page for 25 ms.
const SLICE_MS: f64 = 8.0;

/// The rows to mount, by their ranks.
pub(super) struct Wanted {
    pub(super) ids: Vec<RowId>,
    pub(super) first_rank: usize,
    pub(super) n_rows: usize,
}

impl VirtualList {
    pub(super) fn wanted(&self) -> Wanted {
        let viewport = self.viewport.borrow();
        let heights = viewport.heights();
        let n_rows = heights.len();
        let Some(ranks) = &*self.forced.borrow() else {
            let window = viewport.window();
            return Wanted {
                ids: window.ids,
                first_rank: window.ranks.start,
                n_rows,
            };
        };
        let first = heights.at_rank(ranks.start);
        let ids = first.map_or_else(Vec::new, |first| {
            let rows = heights.iter_from(first).take(ranks.len());
            rows.map(|(id, _)| id).collect()
        });
        Wanted {
            ids,
            first_rank: ranks.start,
            n_rows,
        }
    }

    /// Unmounts all others, and mounts of these as many as this frame has time for; the next one goes on. Returns the rank of
    /// the first one mounted, and whether any was mounted now.
    pub(super) fn mount_wanted(&self, wanted: &Wanted) -> (usize, bool) {
        let ids = &wanted.ids;
        let focused = dom::focused_in(&self.window);
        self.unmount(|row| !ids.contains(&row.id));
        let mut old: Vec<MountedRow> = std::mem::take(&mut *self.mounted.borrow_mut());
        let mut here = self.due_at_once(wanted, &old);
        let until_ms = frame::now_ms() + SLICE_MS;
        let mut mounted_any = false;
        let mut row_at = |at: usize| match old.iter().position(|row| row.id == ids[at]) {
            Some(at) => old.swap_remove(at),
            None => {
                mounted_any = true;
                self.mount(ids[at], wanted.first_rank + at, wanted.n_rows)
            }
        };
        let mut rows: VecDeque<MountedRow> = here.clone().map(&mut row_at).collect();
        while here.end < ids.len() && frame::now_ms() < until_ms {
            rows.push_back(row_at(here.end));
            here.end += 1;
        }
        while here.start > 0 && frame::now_ms() < until_ms {
            here.start -= 1;
            rows.push_front(row_at(here.start));
        }
        if here.len() < ids.len() {
            self.rows_changed.set(true);
            (self.request_frame)();
        }
        *self.mounted.borrow_mut() = rows.into();
        self.arrange();
        // A row that moved to another wrapper has lost the focus on the way.
        if let Some(focused) = focused.filter(|focused| {
            self.window.contains(Some(focused.as_ref())) && !dom::has_focus(focused)
        }) {
            dom::focus(&focused);
        }
        (wanted.first_rank + here.start, mounted_any)
    }

    /// Which of them cannot wait, by their places: those on the screen, and what is between them and those that are mounted.
    fn due_at_once(&self, wanted: &Wanted, mounted: &[MountedRow]) -> Range<usize> {
        let all = 0..wanted.ids.len();
        let viewport = self.viewport.borrow();
        if self.forced.borrow().is_some() || viewport.is_moving() {
            return all;
        }
        let place_of = |id| wanted.ids.iter().position(|other| *other == id);
        let mut places = mounted.iter().filter_map(|row| place_of(row.id));
        let mounted = places
            .next()
            .map(|first| first..places.next_back().unwrap_or(first) + 1);
        // Who follows the end looks at the last of them.
        if mounted.is_none() && !self.filled.get() && !viewport.following() {
            return 0..all.end.min(1);
        }
        let screen = viewport.on_screen();
        let place = |rank: usize| rank.saturating_sub(wanted.first_rank).min(all.end);
        let screen = place(screen.start)..place(screen.end);
        let mounted = mounted.unwrap_or_else(|| screen.clone());
        screen.start.min(mounted.start)..screen.end.max(mounted.end)
    }
}
