//! Laws of the list of sessions: each stands in exactly one section, filters only take away, the window is what is seen.

use std::collections::BTreeSet;
use std::rc::Rc;

use chat_feed::sessions::{
    Ask, Clock, Doing, Facet, Filter, Pace, Row, Rows, Section, Seen, Stack, Stacks, State,
};
use proptest::prelude::*;

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

fn any_row() -> impl Strategy<Value = Row> {
    let status = prop::sample::select(vec!["busy", "idle", "retrying", "ended", "", "else"]);
    let outcome = prop::sample::select(vec![None, Some("failed"), Some("interrupted"), Some("x")]);
    let at_ms = prop::option::of(prop_oneof![NOW_MS - 200_000_000..NOW_MS + 10, any::<i64>()]);
    let title = prop::option::of("[a-c ]{0,6}");
    (
        0_u32..60,
        status,
        outcome,
        at_ms,
        title,
        0_u32..3,
        any::<bool>(),
        prop::option::of(NOW_MS - 1_000..NOW_MS),
    )
        .prop_map(
            |(id, status, outcome, last_activity_ms, title, asks, sample, works_since_ms)| Row {
                id: format!("s{id}"),
                status: status.to_owned(),
                outcome: outcome.map(str::to_owned),
                title,
                asks,
                sample,
                last_activity_ms,
                works_since_ms,
                ..Row::default()
            },
        )
}

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

proptest! {
    #[test]
    fn each_session_stands_in_exactly_one_section(batches in prop::collection::vec(
        (prop::collection::vec(any_row(), 0..60), prop::collection::vec(0_u32..60, 0..8)), 1..6)) {
        let mut rows = Rows::default();
        let mut expected = std::collections::BTreeMap::new();
        for (changed, gone) in batches {
            let gone: Vec<String> = gone.iter().map(|n| format!("s{n}")).collect();
            for id in &gone {
                expected.remove(id);
            }
            for row in &changed {
                expected.insert(row.id.clone(), row.clone());
            }
            rows.take(changed, &gone);
        }
        let arranged = rows.arrange(&Filter::default(), CLOCK);
        let mut found = BTreeSet::new();
        let mut last = None;
        for (section, rows) in &arranged.sections {
            prop_assert!(last < Some(*section), "sections in their order");
            last = Some(*section);
            prop_assert!(!rows.is_empty());
            prop_assert!(rows.is_sorted_by_key(|row| (std::cmp::Reverse(row.place_ms(*section)), row.id.clone())));
            for row in rows.iter() {
                prop_assert!(found.insert(row.id.clone()), "{} stands twice", row.id);
                prop_assert_eq!(&**row, &expected[&row.id]);
            }
        }
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!((arranged.n_shown, rows.len()), (expected.len(), expected.len()));
    }

    /// What is arranged step by step is what is arranged at once, as time passes, days begin and the filter changes; and what
    /// stood still is not put together anew.
    #[test]
    fn what_is_arranged_as_rows_come_is_what_is_arranged_at_once(batches in prop::collection::vec(
        (prop::collection::vec(any_row(), 0..6), prop::collection::vec(0_u32..60, 0..2), 0_i64..400_000, 0_usize..8), 1..12)) {
        let mut rows = of((0..40).map(|n| row(&format!("s{n}"), ["ended", "busy", "idle"][n % 3], n as i64 * 40_000)).collect());
        let mut clock = CLOCK;
        let mut text = "";
        for (changed, gone, ms, also) in batches {
            clock.now_ms += if also == 7 { -ms } else { ms };
            match also {
                5 => (clock.yesterday_ms, clock.today_ms) = (clock.today_ms, clock.now_ms - 60_000),
                6 => text = if text.is_empty() { "is:idle" } else { "" },
                _ => {}
            }
            let gone: Vec<String> = gone.iter().map(|n| format!("s{n}")).collect();
            rows.take(changed, &gone);
            let filter = Filter::parse(text);
            let arranged = rows.arrange(&filter, clock);
            let anew = of(rows.iter().map(|row| (**row).clone()).collect());
            prop_assert_eq!(&arranged, &anew.arrange(&filter, clock));
            let again = rows.arrange(&filter, clock);
            for ((section, rows), (_, others)) in arranged.sections.iter().zip(&again.sections) {
                let is_still = rows.iter().all(|row| row.status == "ended" && row.asks == 0);
                prop_assert!(!is_still || Rc::ptr_eq(rows, others), "{:?}", section);
            }
        }
    }

    /// Counts are kept as rows change: they say what going through all of them says.
    #[test]
    fn what_is_counted_is_what_all_rows_say(batches in prop::collection::vec(
        (prop::collection::vec(any_row(), 0..60), prop::collection::vec(0_u32..60, 0..8)), 1..6)) {
        let mut rows = Rows::default();
        let mut known = (vec![BTreeSet::new(); 2], 0);
        for (changed, gone) in batches {
            let gone: Vec<String> = gone.iter().map(|n| format!("s{n}")).collect();
            let changed = changed.into_iter().map(|row| Row {
                agent: row.title.as_ref().map(|title| format!("{} 1.0", title.trim())),
                cwd: row.title.as_ref().map(|title| format!("/w/{}", title.len())),
                tokens: row.title.as_ref().map(|title| 1 + title.len() as u64),
                cost_usd: row.title.as_ref().map(|title| title.len() as f64),
                ..row
            });
            rows.take(changed.collect(), &gone);
            let own = || rows.iter().filter(|row| !row.sample);
            let is_live = |row: &Row| row.asks > 0 || matches!(row.status.as_str(), "busy" | "retrying");
            let live: BTreeSet<&str> = rows.live().map(|row| row.id.as_str()).collect();
            let expected: BTreeSet<&str> = own().filter(|row| is_live(row)).map(|row| row.id.as_str()).collect();
            prop_assert_eq!(live, expected);
            let today = || own().filter(|row| row.at_ms() >= CLOCK.today_ms);
            let tokens: u64 = today().filter_map(|row| row.tokens).sum();
            let usd: f64 = today().filter_map(|row| row.cost_usd).sum();
            prop_assert_eq!(rows.spent_since(CLOCK.today_ms), (tokens, usd));
            let counted = |of: fn(&Row) -> Option<&str>| {
                let mut counts = std::collections::BTreeMap::new();
                for value in rows.iter().filter_map(|row| of(row)) {
                    *counts.entry(value.to_owned()).or_insert(0) += 1;
                }
                let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
                counts.sort_by_key(|(value, n)| (std::cmp::Reverse(*n), value.clone()));
                counts
            };
            prop_assert_eq!(rows.agents([], 100), counted(Row::agent_name));
            prop_assert_eq!(rows.projects([], 100), counted(Row::project));
            let names = |of: Vec<(String, usize)>| of.into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
            let now = vec![names(rows.agents([], 100)), names(rows.projects([], 100))];
            let n_changes = rows.n_value_changes();
            prop_assert!(now == known.0 || n_changes > known.1, "who offers them hears of it");
            known = (now, n_changes);
        }
    }

    #[test]
    fn a_filter_only_takes_away(rows in prop::collection::vec(any_row(), 0..40), text in "[a-c:is\" ]{0,12}") {
        let rows = of(rows);
        let all: BTreeSet<(Section, String)> = ids(&rows, "").into_iter()
            .flat_map(|(section, ids)| ids.into_iter().map(move |id| (section, id))).collect();
        for (section, ids) in ids(&rows, &text) {
            for id in ids {
                prop_assert!(all.contains(&(section, id)));
            }
        }
    }

    #[test]
    fn the_window_is_what_is_seen(parts in prop::collection::vec(prop::collection::vec(1_u32..90, 0..20), 0..6), from in 0_u32..3000, screen in 1_u32..900) {
        let heights = parts.concat();
        let stack = Stacks::of(parts.into_iter().map(|heights| Rc::new(Stack::of(heights))));
        let whole = Stack::of(heights.clone());
        prop_assert_eq!((stack.len(), stack.height_px()), (whole.len(), whole.height_px()));
        let window = stack.window(from, from + screen);
        prop_assert_eq!(window.clone(), whole.window(from, from + screen));
        for (at, height) in heights.iter().enumerate() {
            let (top, end) = (stack.top_px(at), stack.top_px(at) + height);
            prop_assert_eq!(window.contains(&at), top < from + screen && end > from, "row {} at {}..{}", at, top, end);
        }
        for (at, height) in heights.iter().enumerate() {
            let scroll = stack.reveal(at, from, screen).unwrap_or(from);
            prop_assert!(stack.top_px(at) < scroll + screen && stack.top_px(at) + height > scroll);
        }
    }
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
fn words_and_names_are_found() {
    let session = Row {
        title: Some("Bound the Replay Buffer".to_owned()),
        agent: Some("Claude Code 2.1".to_owned()),
        cwd: Some("/home/m/tidepool".to_owned()),
        git_branch: Some("fix/replay-ring".to_owned()),
        ..row("one", "idle", 5)
    };
    assert_eq!(session.agent_name(), Some("Claude Code"));
    assert_eq!(session.project(), Some("tidepool"));
    let rows = of(vec![session, row("two", "idle", 6)]);
    let finds = |text: &str| rows.arrange(&Filter::parse(text), CLOCK).n_shown == 1;
    for text in [
        "replay",
        "BUFFER bound",
        "tdpl",
        "project:tide agent:claude",
        "agent:\"claude code\"",
        "branch:ring replay",
        "is:idle replay",
    ] {
        assert!(finds(text), "{text}");
    }
    for text in ["replays", "dpl", "project:home", "is:failed", "agent:codex"] {
        assert_eq!(
            rows.arrange(&Filter::parse(text), CLOCK).n_shown,
            0,
            "{text}"
        );
    }
    // What is not typed to its end hides nothing.
    assert_eq!(rows.arrange(&Filter::parse("agent:"), CLOCK).n_shown, 2);
}

#[test]
fn a_chosen_value_is_the_whole_name() {
    let session = |id: &str, agent: &str, cwd: &str| Row {
        agent: Some(agent.to_owned()),
        cwd: Some(cwd.to_owned()),
        ..row(id, "idle", 5)
    };
    let rows = of(vec![
        session("one", "Claude Code 2.1", "/w/app"),
        session("two", "Claude Code Router 1", "/w/my app"),
        session("three", "Codex", "/w/app-server"),
    ]);
    let n_shown = |text: &str| rows.arrange(&Filter::parse(text), CLOCK).n_shown;
    for (facet, value, others) in [
        (Facet::Project, "app", 3),
        (Facet::Project, "my app", 1),
        (Facet::Agent, "Claude Code", 2),
        (Facet::Agent, "Codex", 1),
    ] {
        let text = Filter::with("", facet, Some(value));
        assert_eq!(n_shown(&text), 1, "{text}");
        let filter = Filter::parse(&text);
        assert_eq!(filter.value(facet), Some(&*value.to_lowercase()));
        // What is typed, or has an open quote, is a part.
        let open = text.strip_suffix('"').unwrap();
        assert_eq!(n_shown(open), others, "{open}");
        assert_eq!(Filter::parse(open).value(facet), None);
        assert_eq!(Filter::with(&text, facet, None), "");
    }
    assert_eq!(n_shown("agent:\"claude code 2.1\""), 1);
}

#[test]
fn a_state_that_there_is_not_is_refused_with_those_there_are() {
    let refusal = |text: &str| Filter::parse(text).refusal();
    for text in ["", "is:", "is:done x", "is:LIVE", "project:odd"] {
        assert_eq!(refusal(text), None, "{text}");
    }
    assert_eq!(
        refusal("is:idle is:open").as_deref(),
        Some(
            "`is:open` is none of waiting, needs-you, running, quiet, idle, live, failed, cancelled, interrupted, done"
        )
    );
}

#[test]
fn what_a_row_says_is_found() {
    let failed = Row {
        outcome: Some("failed".to_owned()),
        failure: Some("Bad request: the model is gone".to_owned()),
        ..row("one", "idle", 5)
    };
    let doing = Doing {
        tool: "Bash".to_owned(),
        object: "cargo bench".to_owned(),
        ..Doing::default()
    };
    let runs = Row {
        doing: Some(doing),
        ..row("two", "busy", 5)
    };
    let asks = Row {
        asks: 1,
        ask: Some(Ask {
            tool: "Bash".to_owned(),
            text: "rm -rf Target".to_owned(),
            ..Ask::default()
        }),
        ..row("six", "busy", 5)
    };
    let rows = of(vec![failed, runs, asks]);
    let finds = |text: &str| -> Vec<String> {
        let sections = ids(&rows, text).into_iter();
        sections.flat_map(|(_, ids)| ids).collect()
    };
    for (text, expected) in [
        ("bad request", vec!["one"]),
        ("failed", vec!["one"]),
        ("Fail gone", vec!["one"]),
        ("running", vec!["two"]),
        ("cargo", vec!["two"]),
        ("needs you", vec!["six"]),
        ("rm target", vec!["six"]),
        ("bash", vec!["six", "two"]),
        ("done", vec![]),
        // Letters of a text are no shorter way to write it.
        ("bdrqst", vec![]),
    ] {
        assert_eq!(finds(text), expected, "{text}");
    }
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

#[test]
fn a_menu_writes_what_could_be_typed() {
    let text = Filter::with(
        "replay agent:codex is:failed",
        Facet::Agent,
        Some("Claude Code"),
    );
    assert_eq!(text, "replay is:failed agent:\"Claude Code\"");
    assert_eq!(
        Filter::parse(&text).value(Facet::Agent),
        Some("claude code")
    );
    assert_eq!(Filter::with(&text, Facet::Agent, None), "replay is:failed");
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
