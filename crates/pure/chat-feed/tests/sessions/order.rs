//! Which session stands where, and what holds it there.

use super::*;

#[test]
fn rows_that_work_hold_still_and_move_when_they_are_done() {
    let works = |id: &str, ago_ms, since_ms| Row {
        works_since_ms: Some(NOW_MS - since_ms),
        ..row(id, "busy", ago_ms)
    };
    let mut rows = of(vec![works("a", 10, 900), works("b", 20, 800)]);
    let running = |rows: &Rows| ids(rows, "").first().unwrap().1.clone();
    assert_eq!(running(&rows), ["b", "a"]);
    for id in ["a", "b", "a"] {
        let since_ms = if id == "a" { 900 } else { 800 };
        rows.take(vec![works(id, 0, since_ms)], &[]);
        assert_eq!(running(&rows), ["b", "a"], "the newest event is of {id}");
    }
    // Those that are over stand by their last change.
    rows.take(vec![row("c", "ended", 500), row("a", "ended", 400)], &[]);
    let over = ids(&rows, "");
    assert_eq!(over[0].1, ["b"]);
    assert_eq!(over[1].1, ["a", "c"]);
}

#[test]
fn who_needs_you_comes_first_and_who_says_nothing_is_quiet() {
    let waits = Row {
        asks: 1,
        ask: Some(Ask::default()),
        ..row("waits", "busy", 900_000)
    };
    let failed = Row {
        outcome: Some("failed".to_owned()),
        ..row("failed", "idle", 1_000)
    };
    let rows = of(vec![
        failed,
        row("old", "ended", 200_000_000),
        row("yesterday", "idle", 50_000_000),
        row("quiet", "busy", 300_000),
        row("runs", "busy", 299_999),
        row("retries", "retrying", 5),
        waits,
    ]);
    let expected = vec![
        (Section::NeedsYou, vec!["waits".to_owned()]),
        (
            Section::Running,
            vec!["retries".to_owned(), "runs".to_owned()],
        ),
        (Section::Quiet, vec!["quiet".to_owned()]),
        (Section::EarlierToday, vec!["failed".to_owned()]),
        (Section::Yesterday, vec!["yesterday".to_owned()]),
        (Section::Older, vec!["old".to_owned()]),
    ];
    assert_eq!(ids(&rows, ""), expected);
    assert_eq!(ids(&rows, "is:failed"), vec![expected[3].clone()]);
    assert_eq!(ids(&rows, "is:waiting"), vec![expected[0].clone()]);
    assert_eq!(ids(&rows, "is:running"), expected[1..3].to_vec());
    assert_eq!(rows.get("failed").unwrap().state(NOW_MS), State::Failed);
}

#[test]
fn a_session_that_has_not_ended_is_not_done_and_stays_in_its_place_between_its_turns() {
    let turn = |id: &str, status: &str, turns: u64, ago_ms: i64| Row {
        turns,
        outcome: (turns > 0 && status != "busy").then(|| "completed".to_owned()),
        started_ms: Some(
            NOW_MS
                - if id == "older" {
                    20_000_000
                } else {
                    10_000_000
                },
        ),
        last_event_ms: Some(NOW_MS - ago_ms),
        works_since_ms: (status == "busy").then_some(NOW_MS - ago_ms),
        ..row(id, status, ago_ms)
    };
    let state = |row: &Row| row.state(NOW_MS);
    assert_eq!(state(&turn("s", "idle", 0, 5)), State::Idle);
    assert_eq!(state(&turn("s", "idle", 3, 5)), State::Idle);
    assert_eq!(state(&turn("s", "ended", 3, 5)), State::Done);
    // After some minutes a turn that is done is what there is to tell; where there is none, nothing was done.
    assert_eq!(state(&turn("s", "idle", 3, 300_000)), State::Done);
    assert_eq!(state(&turn("s", "idle", 0, 300_000)), State::Idle);
    // What was written long ago and came just now rests no more.
    let mut late = turn("s", "idle", 3, 5);
    late.last_event_ms = Some(NOW_MS - 86_400_000);
    assert_eq!(state(&late), State::Done);
    assert_eq!(Section::of(&late, CLOCK), Section::Yesterday);

    let mut rows = of(vec![
        turn("older", "busy", 1, 90),
        turn("newer", "busy", 1, 70),
    ]);
    for (id, status, turns) in [
        ("older", "idle", 1),
        ("older", "busy", 2),
        ("newer", "idle", 1),
        ("newer", "busy", 2),
    ] {
        rows.take(vec![turn(id, status, turns, 5)], &[]);
        let expected = vec!["newer".to_owned(), "older".to_owned()];
        assert_eq!(
            ids(&rows, ""),
            [(Section::Running, expected)],
            "{id}: {status}"
        );
    }
    assert_eq!(ids(&rows, "is:live")[0].1.len(), 2);
}

#[test]
fn what_is_held_stands_where_it_stood_and_who_needs_an_answer_comes_at_once() {
    let works = |id: &str, begun_ms: i64| Row {
        started_ms: Some(NOW_MS - begun_ms),
        ..row(id, "busy", 5)
    };
    let arrange = |rows: &Rows| rows.arrange(&Filter::default(), CLOCK);
    let told = |arranged: &chat_feed::sessions::Arranged| -> Vec<(Section, String)> {
        let sections = arranged.sections.iter();
        let told = sections.map(|(section, rows)| {
            let ids: Vec<String> = rows
                .iter()
                .map(|row| format!("{} {}", row.id, row.status))
                .collect();
            (*section, ids.join(", "))
        });
        told.collect()
    };
    let mut rows = of(vec![
        works("a", 100),
        works("b", 200),
        works("c", 300),
        row("gone", "ended", 900),
        row("over", "ended", 1_000),
    ]);
    let before = arrange(&rows);
    let asks = Row {
        asks: 1,
        ..works("c", 300)
    };
    let ended = Row {
        status: "ended".to_owned(),
        ..works("b", 200)
    };
    rows.take(
        vec![ended, asks, works("new", 150), row("over", "busy", 0)],
        &["gone".to_owned()],
    );
    let mut held = arrange(&rows);
    held.hold(&before);
    let expected = [
        (Section::NeedsYou, "c busy".to_owned()),
        (Section::Running, "a busy, new busy, b ended".to_owned()),
        (Section::EarlierToday, "over busy".to_owned()),
    ];
    assert_eq!(told(&held), expected);
    assert_eq!(held.n_shown, 5);
    // Held once more, nothing moves; let go, all do.
    let mut again = arrange(&rows);
    again.hold(&held);
    assert_eq!(again, held);
    assert_eq!(
        told(&arrange(&rows))[2],
        (Section::EarlierToday, "b ended".to_owned())
    );
    // A list that is being read is no change.
    rows.take(
        (0..100)
            .map(|n| row(&format!("s{n}"), "ended", n))
            .collect(),
        &[],
    );
    let mut read = arrange(&rows);
    read.hold(&held);
    assert_eq!(read, arrange(&rows));
}

#[test]
fn of_ten_thousand_sessions_those_that_stand_still_are_not_gone_through() {
    let over = (0..10_000).map(|n| row(&format!("over{n}"), "ended", n));
    let live = (0..50).map(|n| row(&format!("live{n}"), "busy", n));
    let mut rows = of(over.chain(live).collect());
    let arrange = |rows: &Rows| rows.arrange(&Filter::default(), CLOCK);
    let of_past = |arranged: &chat_feed::sessions::Arranged| {
        let (section, rows) = arranged.sections.last().unwrap();
        assert_eq!((*section, rows.len()), (Section::EarlierToday, 10_000));
        rows.clone()
    };
    let mut before = arrange(&rows);
    let past = of_past(&before);
    for n in 0..50 {
        rows.take(vec![row(&format!("live{n}"), "busy", 0)], &[]);
        let mut now = arrange(&rows);
        assert!(Rc::ptr_eq(&of_past(&now), &past));
        now.hold(&before);
        assert!(Rc::ptr_eq(&of_past(&now), &past));
        before = now;
    }
    // One that goes on again stands elsewhere, and so do the others then.
    rows.take(vec![row("over7", "busy", 0)], &[]);
    let now = arrange(&rows);
    assert_eq!(now.sections[0].1.len(), 51);
    assert_eq!(now.sections[1].1.len(), 9_999);
}
