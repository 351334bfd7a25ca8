//! Sections, counts, filters and windows for any rows that come in any batches.

use super::*;

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
