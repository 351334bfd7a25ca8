//! Laws of the list of sessions: each stands in exactly one section, filters only take away, the window is what is seen.

use std::collections::BTreeSet;
use std::rc::Rc;

use chat_feed::sessions::{
    Ask, Clock, Doing, Facet, Filter, Pace, Row, Rows, Section, Seen, Stack, Stacks, State,
};
use proptest::prelude::*;

mod filter;
mod laws;
mod order;

const NOW_MS: i64 = 1_000_000_000;

const CLOCK: Clock = Clock {
    now_ms: NOW_MS,
    today_ms: NOW_MS - 40_000_000,
    yesterday_ms: NOW_MS - 126_400_000,
};

fn row(id: &str, status: &str, ago_ms: i64) -> Row {
    Row {
        id: id.to_owned(),
        status: status.to_owned(),
        last_activity_ms: Some(NOW_MS - ago_ms),
        ..Row::default()
    }
}

#[test]
fn a_session_lasted_as_long_as_its_events_say_whenever_they_came() {
    let mut one = Row {
        started_ms: Some(1_000),
        last_event_ms: Some(1_800),
        ..row("s1", "ended", 5_000)
    };
    assert_eq!(one.lasted_ms(NOW_MS), Some(800));
    // One that goes on has lasted from then on, too: from when its events came, or happened where they came late.
    one.status = "busy".to_owned();
    assert_eq!(one.lasted_ms(NOW_MS), Some((NOW_MS - 1_000) as u64));
    let came_ms = NOW_MS - 6_000;
    one.started_ms = Some(came_ms);
    one.last_event_ms = Some(came_ms + 800);
    assert_eq!(one.lasted_ms(NOW_MS), Some(5_800));
    one.started_ms = Some(1_000);
    one.last_event_ms = Some(0);
    one.status = "idle".to_owned();
    assert_eq!(one.lasted_ms(NOW_MS), None);
    one.started_ms = None;
    assert_eq!(one.lasted_ms(NOW_MS), None);
}

#[test]
fn what_came_long_after_it_happened_stands_by_when_that_was() {
    const DAYS_MS: i64 = 9 * 86_400_000;
    let came_now = |id: &str, ago_ms: i64| Row {
        started_ms: Some(NOW_MS - ago_ms - 1_000),
        last_event_ms: Some(NOW_MS - ago_ms),
        ..row(id, "ended", 0)
    };
    let mut late = came_now("late", DAYS_MS);
    assert_eq!(late.at_ms(), NOW_MS - DAYS_MS);
    assert_eq!(Section::of(&late, CLOCK), Section::Older);
    // A clock that is some minutes off moves nothing.
    for off_ms in [300_000, -DAYS_MS] {
        assert_eq!(came_now("off", off_ms).at_ms(), NOW_MS, "{off_ms}");
    }
    let rows = of(vec![
        came_now("late", 300_000_000),
        row("here", "ended", 200_000_000),
    ]);
    assert_eq!(ids(&rows, "")[0].1, ["here", "late"]);
    // It is unread, since it is news here; and whoever waits has waited for as long as it goes on.
    assert!(Seen::from(NOW_MS - 1).is_unread(&late, NOW_MS));
    late.asks = 1;
    assert_eq!(late.lasted_ms(NOW_MS), Some(9 * 86_400_000 + 1_000));
}

#[test]
fn a_session_without_a_title_is_called_by_its_folder_else_by_its_id() {
    let name = |row: &Row| row.name(&|at_ms| format!("<{at_ms}>"));
    let mut one = row("s1", "idle", 0);
    assert_eq!(name(&one), "s1");
    one.cwd = Some("/home/m/tidepool/".to_owned());
    one.title = Some("  ".to_owned());
    assert_eq!(name(&one), "Session in tidepool");
    one.title = Some(" Mend it ".to_owned());
    assert_eq!(name(&one), "Mend it");
}

#[test]
fn no_session_is_called_by_an_id_that_a_program_made() {
    let name = |row: &Row| row.name(&|at_ms| format!("<{at_ms}>"));
    for made in [
        "916e9278-b573-4a9f-a9df-23458e5f3261",
        "00000000-0000-4000-8000-000000000001",
        "rollout-2025-11-12T14-03-22-019a7b1c-0000-7000-8000-00000000abcd",
        "ses_5f3kQz9ABcdEfGhIjKlMnOpQr",
        "s-00ab12cd34ef5678",
    ] {
        let mut one = row(made, "idle", 5);
        one.started_ms = None;
        one.last_activity_ms = None;
        let short: String = made.chars().take(8).collect();
        assert_eq!(name(&one), format!("Session {short}"));
        one.last_activity_ms = Some(9);
        assert_eq!(name(&one), "Session of <9>");
        one.agent = Some("Codex 0.77".to_owned());
        one.started_ms = Some(7);
        assert_eq!(name(&one), "Codex session of <7>");
    }
    for chosen in ["nightly", "s1", "deploy-2025-11-12", "release_v1.2.30"] {
        assert_eq!(name(&row(chosen, "idle", 5)), chosen);
    }
}

/// Ids by section.
fn ids(rows: &Rows, filter: &str) -> Vec<(Section, Vec<String>)> {
    let arranged = rows.arrange(&Filter::parse(filter), CLOCK);
    let sections = arranged.sections.into_iter();
    sections
        .map(|(section, rows)| (section, rows.iter().map(|row| row.id.clone()).collect()))
        .collect()
}

fn of(rows: Vec<Row>) -> Rows {
    let mut all = Rows::default();
    all.take(rows, &[]);
    all
}

#[test]
fn what_changed_since_it_was_looked_at_is_unread() {
    let mut seen = Seen::from(NOW_MS - 1_000);
    let resting = |id: &str, ago_ms| row(id, "idle", ago_ms);
    assert!(!seen.is_unread(&resting("a", 2_000), NOW_MS), "from before");
    assert!(seen.is_unread(&resting("a", 500), NOW_MS));
    assert!(!seen.is_unread(&row("a", "busy", 500), NOW_MS), "it runs");
    assert!(seen.look("a", NOW_MS - 500));
    assert!(!seen.look("a", NOW_MS - 500), "that is known");
    assert!(!seen.is_unread(&resting("a", 500), NOW_MS));
    assert!(seen.is_unread(&resting("a", 400), NOW_MS));
    assert_eq!(Seen::read(&seen.write().unwrap()), Some(seen.clone()));
    // Who is forgotten does not become unread.
    for n in 0..600 {
        seen.look(&format!("s{n}"), NOW_MS - 300);
    }
    assert!(!seen.is_unread(&resting("a", 500), NOW_MS));
    assert!(seen.write().unwrap().len() < 500 * 40);
    assert_eq!(Seen::read("[]{"), None);
}

#[test]
fn bars_go_by_while_nothing_comes() {
    let pace = Pace {
        newest_ms: 60_000,
        counts: vec![4, 0, 7],
    };
    let bars = pace.bars(61_000);
    assert_eq!(bars[17..], [4, 0, 7]);
    assert_eq!(pace.bars(121_000)[15..], [4, 0, 7, 0, 0]);
    assert_eq!(pace.bars(i64::MAX), [0; 20]);
    let too_many = Pace {
        newest_ms: 0,
        counts: vec![1; 500],
    };
    assert_eq!(too_many.bars(0), [1; 20]);
}
