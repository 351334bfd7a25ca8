//! Both ends are reached, however tall the list.

use super::*;

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
