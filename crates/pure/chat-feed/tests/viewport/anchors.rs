//! What the reader looks at, asked for or pinned stays in its place.

use super::*;

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
fn a_row_that_opens_while_the_end_is_followed_keeps_its_top_and_the_end_is_left() {
    // A row that grows, a fold of which rows come out, and one that grows once what it lacked is here.
    for how in 0..3 {
        let mut page = Page::with_rows(40, 50.0, |_| 50.0);
        assert!(page.viewport.following());
        let card = RowId(35);
        let before_px = page.on_screen_px(card);
        assert!(page.viewport.pin(card));
        if how == 1 {
            page.insert_at(36, 50.0, 400.0);
        } else if how == 0 {
            page.real_px[card.0 as usize] = 700.0;
        }
        page.settle();
        if how == 2 {
            assert!(page.viewport.following(), "nothing has moved");
            page.real_px[card.0 as usize] = 90.0;
            page.settle();
        }
        assert_eq!(page.on_screen_px(card), before_px);
        assert!(!page.viewport.following());
        assert_eq!(page.viewport.unseen(), 0);
    }
}

#[test]
fn the_end_is_followed_on_where_an_opened_row_takes_nothing_up() {
    // All is on the screen, before and after.
    let mut page = Page::with_rows(5, 50.0, |_| 50.0);
    assert!(page.viewport.pin(RowId(2)));
    page.real_px[2] = 200.0;
    page.settle();
    assert!(page.viewport.following());

    // What closes; and then what comes takes it up, and it changes by itself.
    let mut page = Page::with_rows(40, 50.0, |_| 50.0);
    page.real_px[35] = 300.0;
    page.settle();
    assert!(page.viewport.pin(RowId(35)));
    page.real_px[35] = 50.0;
    page.settle();
    page.append(3, 50.0, |_| 50.0);
    page.settle();
    page.real_px[35] = 90.0;
    page.settle();
    assert!(page.viewport.following());
}

#[test]
fn a_row_that_is_pinned_before_those_above_are_measured_stays_pinned() {
    let mut page = Page::with_rows(100, 50.0, |_| 50.0);
    // So far up that the first rows on the screen were never measured.
    page.user_scrolls_by(-1_300.0);
    let card = RowId(66);
    let before_px = page.viewport.screen_top_px(card);
    assert!(page.viewport.pin(card));
    page.settle();
    assert_eq!(page.on_screen_px(card), before_px);
    page.real_px[card.0 as usize - 1] = 150.0;
    page.settle();
    assert_eq!(page.on_screen_px(card), before_px);
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
    // Styles of that width come in behind it.
    page.real_px.fill(6000.0);
    page.settle();
    assert_eq!(page.on_screen_px(RowId(7)), Some(-1500.0));
    // From then on it grows at its end.
    page.viewport.reflowed();
    page.real_px.fill(9000.0);
    page.settle();
    assert_eq!(page.on_screen_px(RowId(7)), Some(-1500.0));
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
