//! Which rows are mounted.

use super::*;

/// Rows above and below the screen that are to be mounted.
fn beyond(page: &Page) -> (usize, usize) {
    let window = page.viewport.window();
    let top = (page.viewport.list_top_px() / 50.0) as usize;
    (top - window.ranks.start, window.ranks.end - top - 900 / 50)
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
