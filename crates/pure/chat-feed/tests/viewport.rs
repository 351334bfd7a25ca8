//! The viewport in a browser made of numbers: a scroller that clamps and rounds as Chromium does, and rows whose
//! real height is known only when they are mounted. One file: all of its tests play in that one browser.

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
        let rows: Vec<(RowId, f64)> = (0..n_rows)
            .map(|place| (self.name(real_px(place)), estimate_px))
            .collect();
        assert_eq!(self.viewport.extend_back(rows), n_rows as usize);
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

#[test]
fn a_million_rows_mount_one_screen_and_its_overscan() {
    let mut page = Page::with_rows(1_000_000, 170.0, |place| f64::from(place % 300) + 20.0);
    assert_eq!(page.sizer_px, 8_000_000.0);
    assert!(page.viewport.at_end() && page.on_screen_px(RowId(999_999)).is_some());
    for share in [0.0, 0.25, 0.5, 0.999, 1.0] {
        page.user_scrolls_to(page.max_scroll_px() * share);
        page.settle();
        page.check();
        let share_seen = page.drawn.ranks.start as f64 / 1e6;
        assert!(
            (share_seen - share).abs() < 0.01,
            "{share_seen} seen at {share}"
        );
        assert!(page.drawn.ids.len() < 100);
    }
    assert!(page.viewport.following());
}

#[test]
fn rows_without_height_do_not_mount_the_whole_list() {
    let page = Page::with_rows(100_000, 0.0, |_| 0.0);
    assert!(
        page.drawn.ids.len() <= 900 * 3 / 4 + 6,
        "{} rows",
        page.drawn.ids.len()
    );
}

#[test]
fn following_keeps_the_last_row_at_the_bottom() {
    let mut page = Page::with_rows(50, 40.0, |place| f64::from(place) + 30.0);
    for _ in 0..40 {
        page.append(7, 40.0, |place| f64::from(place) * 55.0);
        page.settle();
        page.check();
        let last = page.viewport.heights().last().unwrap();
        let bottom_px = page.on_screen_px(last).unwrap() + page.real_px[last.0 as usize];
        assert!(
            (bottom_px - 900.0).abs() <= 1.0,
            "the end is at {bottom_px}"
        );
        assert_eq!(page.viewport.unseen(), 0);
    }
    assert!(page.viewport.following());
}

#[test]
fn what_is_held_stays_where_it_is_and_following_goes_on_once_it_is_let_go() {
    let mut page = Page::with_rows(50, 40.0, |_| 40.0);
    let row = page.viewport.heights().at_rank(40).unwrap();
    let held_px = page.on_screen_px(row);
    page.viewport.hold(true);
    for _ in 0..5 {
        page.append(7, 40.0, |_| 55.0);
        page.settle();
        assert_eq!(page.on_screen_px(row), held_px);
    }
    assert!(page.viewport.following());
    page.viewport.hold(false);
    page.settle();
    page.check();
    assert!(page.viewport.at_end());
    let row = page.viewport.heights().at_rank(80).unwrap();
    let held_px = page.on_screen_px(row);
    page.viewport.hold(true);
    page.append(7, 40.0, |_| 55.0);
    page.settle();
    // Text is selected meanwhile.
    page.viewport.stop_following();
    page.viewport.hold(false);
    page.append(7, 40.0, |_| 55.0);
    page.settle();
    assert_eq!(page.on_screen_px(row), held_px);
    assert!(!page.viewport.following());
}

#[test]
fn a_short_list_stands_at_the_top_and_follows_once_it_is_longer() {
    let mut page = Page::with_rows(3, 50.0, |_| 50.0);
    assert_eq!(page.on_screen_px(RowId(0)), Some(0.0));
    page.append(100, 50.0, |_| 50.0);
    page.settle();
    assert_eq!(page.on_screen_px(RowId(102)), Some(850.0));
}

#[test]
fn scrolling_up_stops_following_and_scrolling_to_the_end_resumes_it() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    page.user_scrolls_by(-30.0);
    assert!(!page.viewport.following() && page.viewport.at_end());
    page.user_scrolls_by(-300.0);
    assert!(!page.viewport.at_end());
    page.user_scrolls_by(200.0);
    assert!(
        !page.viewport.following(),
        "130 px from the end is not the end"
    );
    page.user_scrolls_by(70.0);
    assert!(page.viewport.following(), "60 px from the end is");
    page.settle();
    assert_eq!(page.on_screen_px(RowId(99)), Some(850.0));
}

#[test]
fn no_change_of_layout_starts_or_stops_following() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    // Rows near the end go, and the browser moves up by itself, while the user happens to turn the wheel down.
    for id in 60..99 {
        page.viewport.remove(RowId(id));
    }
    let total_px = page.viewport.heights().total_px();
    page.viewport.on_scroll(total_px - 900.0, 1.0, true);
    assert!(page.viewport.following());
    page.viewport.on_resize(300.0, 400.0, 1.0);
    page.client_px = 400.0;
    page.settle();
    assert!(page.viewport.following());

    page.user_scrolls_by(-500.0);
    page.settle();
    // The list becomes so short that its end is in view.
    for id in (2..60).rev() {
        page.viewport.remove(RowId(id));
    }
    page.settle();
    page.check();
    assert!(page.viewport.at_end() && !page.viewport.following());
    page.append(50, 50.0, |_| 50.0);
    page.settle();
    assert!(!page.viewport.following() && page.viewport.unseen() > 0);
}

#[test]
fn what_moves_the_page_while_following_is_put_back() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    page.browser_scrolls_to(1000.0);
    page.viewport.on_scroll(1000.0, 1.0, false);
    page.settle();
    assert!(page.viewport.following());
    assert_eq!(page.on_screen_px(RowId(99)), Some(850.0));
    // The same by find in page, which says so.
    page.viewport.stop_following();
    page.browser_scrolls_to(1000.0);
    page.viewport.on_scroll(1000.0, 2.0, false);
    page.settle();
    assert_eq!(page.on_screen_px(RowId(20)), Some(0.0));
}

#[test]
fn new_rows_are_counted_until_they_are_seen() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    page.user_scrolls_by(-1000.0);
    page.settle();
    assert_eq!(
        (page.viewport.unseen(), page.viewport.first_unseen()),
        (0, None)
    );
    page.append(30, 50.0, |_| 50.0);
    page.insert_at(0, 50.0, 50.0);
    page.settle();
    assert_eq!(
        (page.viewport.unseen(), page.viewport.first_unseen()),
        (30, Some(RowId(100)))
    );
    page.viewport.remove(RowId(99));
    page.viewport.remove(RowId(110));
    page.settle();
    assert_eq!(
        (page.viewport.unseen(), page.viewport.first_unseen()),
        (29, Some(RowId(100)))
    );
    page.user_scrolls_by(1100.0);
    page.settle();
    let n_unseen = page.viewport.unseen();
    assert!(n_unseen > 0 && n_unseen < 29, "{n_unseen}");
    page.viewport.follow_end();
    page.settle();
    assert_eq!(page.viewport.unseen(), 0);
    assert_eq!(page.on_screen_px(RowId(129)), Some(850.0));
}

#[test]
fn an_anchor_that_goes_leaves_its_neighbours_where_they_are() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    page.user_scrolls_to(2030.0);
    page.settle();
    let anchor = page.viewport.anchor().unwrap();
    let next = page.viewport.heights().next(anchor.id).unwrap();
    let before_px = page.on_screen_px(next);
    assert!(page.viewport.remove(anchor.id));
    page.settle();
    assert_eq!(page.on_screen_px(next), before_px);
    // All of them, from the anchor on: the row before holds its place as far as the list reaches.
    page.viewport.on_home();
    page.settle();
    for id in 0..100 {
        page.viewport.remove(RowId(id));
        page.settle();
        page.check();
    }
    assert_eq!(page.viewport.window().ids, []);
    page.append(1, 50.0, |_| 50.0);
    page.settle();
    assert_eq!(page.on_screen_px(RowId(100)), Some(0.0));
}

#[test]
fn a_row_asked_for_is_where_it_was_asked_for_after_all_is_measured() {
    for (n_rows, estimate_px) in [(3000, 30.0), (100_000, 300.0)] {
        let mut page = Page::with_rows(n_rows, estimate_px, |place| {
            f64::from(place * 17 % 700) + 15.0
        });
        for id in [n_rows / 2, 7, n_rows - 40, 0, n_rows / 3] {
            let row_px = page.real_px[id as usize];
            for (align, wanted_px) in [
                (Align::Start, 0.0),
                (Align::Center, (900.0 - row_px) / 2.0),
                (Align::End, 900.0 - row_px),
            ] {
                assert!(page.viewport.scroll_to(RowId(id), align));
                page.settle();
                page.check();
                let px = page.on_screen_px(RowId(id)).unwrap();
                let top_px = page.viewport.heights().top_of(RowId(id)).unwrap();
                let wanted_px = f64::min(wanted_px, top_px);
                assert!(
                    (px - wanted_px).abs() <= 1.0,
                    "row {id} is at {px}, not at {wanted_px} for {align:?}"
                );
                page.viewport.scroll_to(RowId(id), Align::Nearest);
                page.settle();
                assert!(
                    (page.on_screen_px(RowId(id)).unwrap() - px).abs() <= 1.0,
                    "it was whole already"
                );
            }
        }
        assert!(!page.viewport.scroll_to(RowId(u32::MAX), Align::Start));
    }
}

#[test]
fn home_and_end_reach_the_ends_from_anywhere() {
    for (n_rows, estimate_px) in [(300u32, 30.0), (200_000, 300.0)] {
        let mut page = Page::with_rows(n_rows, estimate_px, |place| {
            f64::from(place * 17 % 700) + 15.0
        });
        page.user_scrolls_to(page.max_scroll_px() * 0.4);
        page.settle();
        page.viewport.on_home();
        page.settle();
        page.check();
        assert_eq!(
            (page.scroll_top_px, page.on_screen_px(RowId(0))),
            (0.0, Some(0.0))
        );
        page.viewport.follow_end();
        page.settle();
        page.check();
        let last = RowId(n_rows - 1);
        assert!(
            (page.on_screen_px(last).unwrap() + page.real_px[last.0 as usize] - 900.0).abs() <= 1.0
        );
        assert!((page.scroll_top_px - page.max_scroll_px()).abs() <= 1.0);
    }
}

#[test]
fn who_scrolls_to_the_top_is_there_whatever_the_first_rows_measure() {
    for real_px in [12.0, 400.0] {
        for from_px in [300.0, 500.0, 700.0, 3_000.0] {
            let mut page = Page::with_rows(300, 100.0, |place| match place {
                0..8 => real_px,
                _ => 100.0,
            });
            page.user_scrolls_to(from_px);
            page.settle();
            page.user_scrolls_to(0.0);
            page.settle();
            page.check();
            let beginning = (page.scroll_top_px, page.on_screen_px(RowId(0)));
            assert_eq!(beginning, (0.0, Some(0.0)), "from {from_px} px");
        }
    }
}

#[test]
fn a_wheel_reaches_both_ends_of_a_list_too_tall_for_the_browser() {
    let mut page = Page::with_rows(100_000, 300.0, |_| 300.0);
    // From 200 000 px below the top of a list of 30 million, where the scrollbar has a quarter of that.
    page.viewport.scroll_to(RowId(666), Align::Start);
    page.settle();
    let mut last_px = page.viewport.list_top_px();
    let mut n_writes = 0;
    while page.scroll_top_px > 0.0 {
        page.user_scrolls_by(-250.0);
        let before_px = page.scroll_top_px;
        page.frame();
        n_writes += usize::from(page.scroll_top_px != before_px);
        page.check();
        let list_px = page.viewport.list_top_px();
        assert!(
            (last_px - list_px - 250.0).abs() <= 1.0 || list_px == 0.0,
            "{last_px} to {list_px}"
        );
        last_px = list_px;
    }
    assert_eq!(page.viewport.list_top_px(), 0.0);
    assert!(
        n_writes <= 12,
        "{n_writes} writes of the scroll position in 800 turns"
    );
}

#[test]
fn a_thumb_dragged_down_a_list_too_tall_for_the_browser_shows_its_share() {
    let mut page = Page::with_rows(100_000, 300.0, |_| 300.0);
    page.user_scrolls_to(0.0);
    page.frame();
    let max_px = page.max_scroll_px();
    for place in 1..=900 {
        let share = f64::from(place) / 900.0;
        // The thumb says where it is, whatever was written meanwhile.
        page.user_scrolls_to(max_px * share);
        page.frame();
        page.check();
        let seen = page.viewport.list_top_px() / (30e6 - 900.0);
        assert!((seen - share).abs() < 0.01, "{seen} seen at {share}");
    }
    assert!(page.viewport.following());
}

#[test]
fn a_pinned_row_keeps_its_top_while_it_opens() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    page.user_scrolls_to(2030.0);
    page.settle();
    let card = RowId(45);
    let before_px = page.on_screen_px(card);
    assert!(page.viewport.pin(card));
    page.real_px[card.0 as usize] = 700.0;
    page.settle();
    assert_eq!(page.on_screen_px(card), before_px);
    assert!(!page.viewport.pin(RowId(u32::MAX)));
    // What is looked at stays where the row has grown above it.
    assert!(page.viewport.pin_raised(card, 120.0));
    page.real_px[card.0 as usize] = 820.0;
    page.settle();
    assert_eq!(page.on_screen_px(card), before_px.map(|px| px - 120.0));
}

#[test]
fn a_row_across_the_top_edge_keeps_its_share_above_it_when_the_width_changes() {
    let mut page = Page::with_rows(20, 4000.0, |_| 4000.0);
    page.user_scrolls_to(4000.0 * 7.0 + 1000.0);
    page.settle();
    assert_eq!(page.on_screen_px(RowId(7)), Some(-1000.0));
    page.real_px.fill(8000.0);
    page.viewport.on_resize(400.0, 900.0, 1.0);
    page.settle();
    assert_eq!(page.on_screen_px(RowId(7)), Some(-2000.0));
}

/// Rows above and below the screen that are to be mounted.
fn beyond(page: &Page) -> (usize, usize) {
    let window = page.viewport.window();
    let top = (page.viewport.list_top_px() / 50.0) as usize;
    (top - window.ranks.start, window.ranks.end - top - 900 / 50)
}

#[test]
fn fast_movement_mounts_more_ahead_and_less_behind_and_rest_takes_it_back() {
    let mut page = Page::with_rows(5000, 50.0, |_| 50.0);
    page.user_scrolls_to(100_000.0);
    page.settle();
    page.viewport.on_rest();
    let (above, below) = beyond(&page);
    for _ in 0..10 {
        page.user_scrolls_by(-500.0);
        page.frame();
        page.check();
    }
    let (ahead, behind) = beyond(&page);
    assert!(
        ahead > above && behind < below / 2,
        "{ahead} ahead and {behind} behind in movement, {above} and {below} at rest"
    );
    page.viewport.on_rest();
    assert_eq!(beyond(&page), (above, below));
}

#[test]
fn a_wheel_changes_the_mounted_rows_in_few_of_its_frames() {
    for (step_px, most) in [(25.0, 10), (100.0, 30), (250.0, 55)] {
        let mut page = Page::with_rows(5000, 50.0, |_| 50.0);
        page.user_scrolls_to(10_000.0);
        page.settle();
        page.viewport.on_rest();
        page.settle();
        let mut n_changes = 0;
        for _ in 0..120 {
            let before = page.drawn.ids.clone();
            page.user_scrolls_by(step_px);
            page.check();
            page.frame();
            page.check();
            n_changes += usize::from(before != page.drawn.ids);
        }
        assert!(
            n_changes <= most,
            "{n_changes} changes in 120 frames of {step_px} px"
        );
    }
}

#[test]
fn what_a_jump_passes_is_mounted_for_the_screen_alone_until_it_rests() {
    let mut page = Page::with_rows(5000, 50.0, |_| 50.0);
    for to_px in [200_000.0, 20_000.0, 120_000.0] {
        page.user_scrolls_to(to_px);
        page.frame();
        page.check();
        assert!(page.drawn.ids.len() <= 30, "{} rows", page.drawn.ids.len());
    }
    assert!(page.viewport.is_moving());
    page.viewport.on_rest();
    assert!(!page.viewport.is_moving());
    page.settle();
    assert!(page.drawn.ids.len() >= 900 * 3 / 50);
    let far = page.viewport.heights().first().unwrap();
    assert!(page.viewport.scroll_to(far, Align::Start));
    page.frame();
    assert!(page.drawn.ids.len() <= 30 && page.viewport.is_moving());
}

#[test]
fn positions_and_sizes_that_are_no_numbers_change_nothing() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    page.viewport.on_scroll(f64::NAN, 1.0, true);
    page.viewport.on_scroll(f64::INFINITY, 2.0, true);
    page.viewport.on_resize(f64::NAN, f64::NAN, f64::NAN);
    page.viewport.on_resize(800.0, f64::INFINITY, 0.0);
    page.settle();
    page.check();
    assert_eq!(page.on_screen_px(RowId(99)), Some(850.0));
}

#[test]
fn hidden_rows_between_tall_ones_are_mounted_in_bounds() {
    let mut page = Page::with_rows(50_000, 0.0, |_| 0.0);
    for _ in 0..10 {
        page.insert_at(0, 400.0, 400.0);
    }
    page.append(10, 400.0, |_| 400.0);
    page.settle();
    for top_px in [3900.0, 4000.0, 4100.0, 3000.0] {
        page.user_scrolls_to(top_px);
        page.frame();
        let window = page.viewport.window();
        assert!(
            window.ids.len() < 2000,
            "{} rows at {top_px}",
            window.ids.len()
        );
    }
}

#[test]
fn a_place_that_fell_with_a_shorter_list_does_not_come_back_with_a_longer_one() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    page.user_scrolls_to(3000.0);
    page.settle();
    for id in 62..100 {
        page.viewport.remove(RowId(id));
    }
    page.settle();
    let seen_px = page.on_screen_px(RowId(61));
    assert_eq!(seen_px, Some(850.0));
    page.append(100, 50.0, |_| 50.0);
    page.settle();
    assert_eq!(page.on_screen_px(RowId(61)), seen_px);
}
