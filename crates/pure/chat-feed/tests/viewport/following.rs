//! Who keeps to the end, and who stops.

use super::*;

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
    assert_eq!(page.viewport.unseen(), 0);
    page.append(30, 50.0, |_| 50.0);
    page.insert_at(0, 50.0, 50.0);
    page.settle();
    assert_eq!(page.viewport.unseen(), 30);
    page.viewport.remove(RowId(99));
    page.viewport.remove(RowId(110));
    page.settle();
    assert_eq!(page.viewport.unseen(), 29);
    page.user_scrolls_by(1100.0);
    page.settle();
    let n_unseen = page.viewport.unseen();
    assert!(n_unseen > 0 && n_unseen < 29, "{n_unseen}");
    page.viewport.follow_end();
    page.settle();
    assert_eq!(page.viewport.unseen(), 0);
    assert_eq!(page.on_screen_px(RowId(129)), Some(850.0));
}
