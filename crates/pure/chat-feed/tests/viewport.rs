//! The viewport in a browser made of numbers: a scroller that clamps and rounds as Chromium does, and rows whose
//! real height is known only when they are mounted.

mod anchors;
mod ends;
mod following;
mod window;

use chat_feed::viewport::{Align, RowId, Viewport, Window};
use proptest::prelude::*;

/// The page and the browser around a viewport.
struct Page {
    viewport: Viewport,
    /// What a row measures once it is mounted.
    real_px: Vec<f64>,
    next_id: u32,
    sizer_px: f64,
    scroll_top_px: f64,
    client_px: f64,
    device_pixel_ratio: f64,
    now_ms: f64,
    drawn: Window,
}

impl Page {
    fn new(client_px: f64, device_pixel_ratio: f64) -> Page {
        let mut viewport = Viewport::new();
        viewport.on_resize(800.0, client_px, device_pixel_ratio);
        Page {
            drawn: viewport.window(),
            viewport,
            real_px: Vec::new(),
            next_id: 0,
            sizer_px: 0.0,
            scroll_top_px: 0.0,
            client_px,
            device_pixel_ratio,
            now_ms: 0.0,
        }
    }

    /// A page with rows, all drawn, at the end.
    fn with_rows(n_rows: u32, estimate_px: f64, real_px: impl Fn(u32) -> f64) -> Page {
        let mut page = Page::new(900.0, 1.0);
        page.append(n_rows, estimate_px, real_px);
        page.settle();
        page
    }

    fn name(&mut self, real_px: f64) -> RowId {
        let id = RowId(self.next_id);
        self.next_id += 1;
        self.real_px.push(real_px);
        id
    }

    fn append(&mut self, n_rows: u32, estimate_px: f64, real_px: impl Fn(u32) -> f64) {
        for place in 0..n_rows {
            self.insert_at(self.viewport.heights().len(), estimate_px, real_px(place));
        }
    }

    fn insert_at(&mut self, rank: usize, estimate_px: f64, real_px: f64) {
        let id = self.name(real_px);
        let after = rank
            .checked_sub(1)
            .and_then(|rank| self.viewport.heights().at_rank(rank));
        assert!(self.viewport.insert_after(after, id, estimate_px));
    }

    fn max_scroll_px(&self) -> f64 {
        (self.sizer_px - self.client_px).max(0.0)
    }

    fn browser_scrolls_to(&mut self, px: f64) {
        let rounded_px = (px * self.device_pixel_ratio).round() / self.device_pixel_ratio;
        self.scroll_top_px = rounded_px.clamp(0.0, self.max_scroll_px());
    }

    /// One frame, as the module says it goes; the scroll event comes after it.
    fn frame(&mut self) -> bool {
        self.now_ms += 16.7;
        let window = self.next_window();
        let mut news = window.ids != self.drawn.ids;
        for id in &window.ids {
            news |= self.viewport.set_measured(*id, self.real_px[id.0 as usize]) != 0.0;
        }
        let write = self.viewport.after_measure();
        self.sizer_px = self.viewport.scroll_height_px();
        self.scroll_top_px = self.scroll_top_px.clamp(0.0, self.max_scroll_px());
        if let Some(px) = write {
            news = true;
            self.browser_scrolls_to(px);
        }
        let top_px = window
            .ids
            .first()
            .and_then(|first| self.viewport.block_top_px(*first));
        self.drawn = Window {
            top_px: top_px.unwrap_or(0.0),
            ..window
        };
        self.viewport
            .on_scroll(self.scroll_top_px, self.now_ms, false);
        news
    }

    /// What is drawn already, as long as it will do.
    fn next_window(&self) -> Window {
        let ids = &self.drawn.ids;
        let heights = self.viewport.heights();
        let ranks: Vec<_> = ids.iter().map(|id| heights.rank_of(*id)).collect();
        let stands = |first: usize| {
            let mut places = ranks.iter().zip(first..);
            places.all(|(rank, place)| *rank == Some(place))
        };
        let window = self.viewport.window();
        assert!(
            self.viewport.will_do(&window.ranks),
            "{window:?} would be mounted again and again"
        );
        match ranks
            .first()
            .copied()
            .flatten()
            .filter(|first| stands(*first))
        {
            Some(first) if self.viewport.will_do(&(first..first + ids.len())) => Window {
                ranks: first..first + ids.len(),
                ids: ids.clone(),
                ..window
            },
            _ => window,
        }
    }

    /// Frames until nothing changes any more.
    fn settle(&mut self) {
        for _ in 0..60 {
            if !self.frame() {
                return;
            }
        }
        panic!("the list does not come to rest: {:?}", self.viewport);
    }

    /// The user moves the scroll position; the browser shows it before anybody is told.
    fn user_scrolls_to(&mut self, px: f64) {
        self.browser_scrolls_to(px);
        self.now_ms += 16.7;
        self.viewport
            .on_scroll(self.scroll_top_px, self.now_ms, true);
    }

    fn user_scrolls_by(&mut self, px: f64) {
        self.user_scrolls_to(self.scroll_top_px + px);
    }

    /// Where a drawn row really is on the screen.
    fn on_screen_px(&self, id: RowId) -> Option<f64> {
        let place = self.drawn.ids.iter().position(|drawn| *drawn == id)?;
        let above_px: f64 = self.drawn.ids[..place]
            .iter()
            .map(|id| self.real_px[id.0 as usize])
            .sum();
        Some(self.drawn.top_px + above_px - self.scroll_top_px)
    }

    /// The drawn rows cover the viewport, as far as there are rows, and are not many more than needed.
    fn check(&self) {
        let window = &self.drawn;
        assert_eq!(window.ranks.len(), window.ids.len());
        let height_px: f64 = window
            .ids
            .iter()
            .map(|id| self.real_px[id.0 as usize])
            .sum();
        let top_px = window.top_px - self.scroll_top_px;
        let n_rows = self.viewport.heights().len();
        assert!(
            window.ranks.start == 0 || top_px <= 1.0,
            "blank above: {window:?}"
        );
        assert!(
            window.ranks.end == n_rows || top_px + height_px >= self.client_px - 1.0,
            "blank below: {window:?}"
        );
        if window.ranks.start == 0 && n_rows > 0 {
            assert!(top_px <= 1.0, "a gap of {top_px} px above the first row");
        }
        if window.ranks.end == n_rows && self.viewport.heights().total_px() > self.client_px {
            assert!(
                top_px + height_px >= self.client_px - 1.0,
                "a gap below the last row"
            );
        }
        assert!(window.top_px >= -1.0, "rows above the sizer");
        assert!(
            window.top_px + height_px <= self.sizer_px + 1.0,
            "rows below the sizer"
        );
        assert!(self.sizer_px <= 8_000_000.0);
    }
}

#[derive(Clone, Debug)]
enum Step {
    InsertAt {
        share: f64,
        n_rows: u32,
        estimate_px: f64,
        real_px: f64,
    },
    Append {
        n_rows: u32,
        real_px: f64,
    },
    RemoveAt {
        share: f64,
        n_rows: usize,
    },
    Resize {
        share: f64,
        real_px: f64,
    },
    Restate {
        estimate_px: f64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let px = || (0u32..64 * 900).prop_map(|units| f64::from(units) / 64.0);
    prop_oneof![
        3 => (0.0..1.0f64, 1u32..30, px(), px()).prop_map(|(share, n_rows, estimate_px, real_px)| Step::InsertAt {
            share,
            n_rows,
            estimate_px,
            real_px
        }),
        2 => (1u32..200, px()).prop_map(|(n_rows, real_px)| Step::Append { n_rows, real_px }),
        2 => (0.0..1.0f64, 1usize..20).prop_map(|(share, n_rows)| Step::RemoveAt { share, n_rows }),
        3 => (0.0..1.0f64, px()).prop_map(|(share, real_px)| Step::Resize { share, real_px }),
        1 => px().prop_map(|estimate_px| Step::Restate { estimate_px }),
    ]
}

impl Page {
    /// Changes the list anywhere but in the anchor row.
    fn apply(&mut self, step: &Step, anchor: RowId) {
        let n_rows = self.viewport.heights().len();
        let rank = |share: f64| (share * n_rows as f64) as usize;
        match step {
            Step::InsertAt {
                share,
                n_rows,
                estimate_px,
                real_px,
            } => {
                for place in 0..*n_rows as usize {
                    self.insert_at(rank(*share) + place, *estimate_px, *real_px);
                }
            }
            Step::Append { n_rows, real_px } => self.append(*n_rows, 40.0, |_| *real_px),
            Step::RemoveAt { share, n_rows } => {
                for _ in 0..*n_rows {
                    match self.viewport.heights().at_rank(rank(*share)) {
                        Some(id) if id != anchor => assert!(self.viewport.remove(id)),
                        Some(_) | None => return,
                    }
                }
            }
            Step::Resize { share, real_px } => {
                match self.viewport.heights().at_rank(rank(*share)) {
                    Some(id) if id != anchor => {
                        self.real_px[id.0 as usize] = *real_px;
                        self.viewport.set_measured(id, *real_px);
                    }
                    Some(_) | None => {}
                }
            }
            Step::Restate { estimate_px } => {
                self.viewport.invalidate_estimates();
                self.viewport.restate(
                    1_000_000,
                    |id, old_px| if id == anchor { old_px } else { *estimate_px },
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_the_reader_looks_at_stays_whatever_changes_elsewhere(
        (n_rows, estimate_px) in prop_oneof![Just((400u32, 60.0)), Just((30_000, 900.0))],
        device_pixel_ratio in prop_oneof![Just(1.0), Just(1.25), Just(2.0), Just(3.0)],
        share in 0.05..0.95f64,
        wheel_px in -2000.0..2000.0f64,
        steps in prop::collection::vec(step(), 1..20),
    ) {
        let mut page = Page::new(900.0, device_pixel_ratio);
        page.append(n_rows, estimate_px, |place| f64::from(place * 37 % 1500) + 0.25);
        page.settle();
        page.user_scrolls_to(page.max_scroll_px() * share);
        page.settle();
        page.user_scrolls_by(wheel_px);
        page.settle();
        prop_assume!(!page.viewport.following());
        page.check();
        for step in &steps {
            let Some(anchor) = page.viewport.anchor() else { break };
            let before_px = page.on_screen_px(anchor.id).unwrap();
            prop_assert!((before_px - anchor.top_px).abs() <= 1.0);
            page.apply(step, anchor.id);
            // A list that became too short cannot keep any place.
            let heights = page.viewport.heights();
            let wanted_px = heights.top_of(anchor.id).unwrap() - anchor.top_px;
            let fits = wanted_px >= 0.0 && wanted_px <= heights.total_px() - 900.0;
            // What the reader sees after the first frame, and after all measurements have come in.
            page.frame();
            let after_px = page.on_screen_px(anchor.id);
            if fits && page.viewport.anchor().is_some_and(|now| now.id == anchor.id) {
                prop_assert!((after_px.unwrap() - before_px).abs() <= 1.0, "{before_px} became {after_px:?} by {step:?}");
            }
            let kept = page.viewport.anchor();
            page.settle();
            page.check();
            if fits && kept == page.viewport.anchor() && kept.is_some_and(|kept| kept.id == anchor.id) {
                let after_px = page.on_screen_px(anchor.id).unwrap();
                prop_assert!((after_px - before_px).abs() <= 1.0, "{before_px} became {after_px} by {step:?}");
            }
            prop_assert!(!page.viewport.following());
        }
    }

    #[test]
    fn a_wheel_moves_what_is_seen_by_as_much_in_short_and_in_endless_lists(
        (n_rows, estimate_px) in prop_oneof![Just((2000u32, 60.0)), Just((30_000, 900.0))],
        share in 0.0..1.0f64,
        turns in prop::collection::vec(-1500.0..1500.0f64, 1..60),
    ) {
        let mut page = Page::new(900.0, 2.0);
        page.append(n_rows, estimate_px, |place| estimate_px * 0.5 + f64::from(place * 31 % 300));
        page.settle();
        page.user_scrolls_to(page.max_scroll_px() * share);
        page.settle();
        for turn_px in turns {
            let seen: Vec<(RowId, f64)> =
                page.drawn.ids.iter().filter_map(|id| Some((*id, page.on_screen_px(*id)?))).collect();
            let in_view = seen.iter().find(|(_, px)| (0.0..900.0).contains(px)).copied();
            let before_px = page.scroll_top_px;
            let list_before_px = page.viewport.list_top_px();
            page.user_scrolls_by(turn_px);
            let moved_px = page.scroll_top_px - before_px;
            let inside = page.scroll_top_px > 2.0 && page.scroll_top_px < page.max_scroll_px() - 2.0;
            if inside && !page.viewport.following() {
                let list_moved_px = page.viewport.list_top_px() - list_before_px;
                prop_assert!((list_moved_px - moved_px).abs() <= 1.0, "{list_moved_px} for {moved_px}");
            }
            page.frame();
            if let Some((id, px)) = in_view.filter(|_| inside && !page.viewport.following()) {
                // The row is measured by now; only what was never measured before may differ, not what was seen.
                if let Some(now_px) = page.on_screen_px(id).filter(|_| moved_px.abs() < 400.0) {
                    prop_assert!((px - moved_px - now_px).abs() <= 1.5, "{px} - {moved_px} became {now_px}");
                }
            }
            page.settle();
            page.check();
        }
    }

    #[test]
    fn few_rows_are_mounted_however_long_the_list(
        n_rows in prop_oneof![Just(100u32), Just(10_000), Just(100_000)],
        row_px in 16.0..200.0f64,
        stops in prop::collection::vec(0.0..=1.0f64, 1..12),
    ) {
        let mut page = Page::new(900.0, 1.0);
        page.append(n_rows, row_px, |_| row_px);
        page.settle();
        for stop in stops {
            page.user_scrolls_to(page.max_scroll_px() * stop);
            page.frame();
            // The viewport, one more on either side, and up to two ahead of the movement.
            prop_assert!(page.drawn.ids.len() as f64 <= 900.0 * 5.0 / row_px + 3.0);
            page.settle();
            page.viewport.on_rest();
            page.settle();
            prop_assert!(page.drawn.ids.len() as f64 <= 900.0 * 3.0 / row_px + 3.0);
            page.check();
        }
    }
}
