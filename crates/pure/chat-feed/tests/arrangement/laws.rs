//! Whatever comes, in any order and any batches, the rows are those of a new arrangement.

use super::*;

fn mode() -> impl Strategy<Value = Mode> {
    let verbosity = prop_oneof![
        1 => Just(Verbosity::Quiet),
        4 => Just(Verbosity::Normal),
        1 => Just(Verbosity::Verbose),
    ];
    let thinking = prop_oneof![
        2 => Just(Thinking::Collapsed),
        1 => Just(Thinking::Expanded),
        1 => Just(Thinking::Hidden),
    ];
    let all = (verbosity, any::<bool>(), any::<bool>(), thinking);
    all.prop_map(|(verbosity, fold, group, thinking)| Mode {
        verbosity,
        fold,
        group,
        thinking,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn batching_does_not_matter_for_what_is_shown(
        events in crate::support::log(60),
        cuts in proptest::collection::vec(0usize..60, 0..12),
        mode in mode(),
    ) {
        let mut one_by_one = Shown::new(mode);
        for event in &events {
            one_by_one.apply(std::slice::from_ref(event));
        }
        let mut in_batches = Shown::new(mode);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(events.len())).collect();
        cuts.extend([0, events.len()]);
        cuts.sort_unstable();
        for cut in cuts.windows(2) {
            in_batches.apply(&events[cut[0]..cut[1]]);
        }
        let mut at_once = Shown::new(mode);
        at_once.apply(&events);
        let rows = |shown: &Shown| shown.arrangement.shown(shown.feed()).collect::<Vec<_>>();
        prop_assert_eq!(rows(&one_by_one), rows(&at_once));
        prop_assert_eq!(rows(&in_batches), rows(&at_once));
    }

    #[test]
    fn what_the_reader_opens_and_every_mode_keep_the_list_true(
        events in crate::support::log(40),
        opened in proptest::collection::vec((0usize..40, 0usize..20, any::<bool>()), 0..12),
        modes in proptest::collection::vec((0usize..40, mode()), 0..4),
    ) {
        let mut shown = Shown::new(Mode::default());
        for (nth, event) in events.iter().enumerate() {
            shown.apply(std::slice::from_ref(event));
            for (_, row, open) in opened.iter().filter(|(at, ..)| *at == nth) {
                if let Some(&id) = shown.list.get(*row) {
                    let row = shown.arrangement.row(id);
                    shown.set_open(row, *open);
                }
            }
            for (_, mode) in modes.iter().filter(|(at, _)| *at == nth) {
                let mut changes = Vec::new();
                let Shown { renderer, arrangement, .. } = &mut shown;
                arrangement.set_mode(renderer.feed(), *mode, &mut changes);
                shown.take(&changes);
            }
        }
        // Every block can be brought into view, or its nearest shown row is there.
        let ids: Vec<_> = shown.feed().rows().map(|block| block.id).collect();
        for id in ids {
            let mut changes = Vec::new();
            let Shown { renderer, arrangement, .. } = &mut shown;
            arrangement.reveal(renderer.feed(), id, &mut changes);
            shown.take(&changes);
        }
    }

    #[test]
    fn blocks_that_are_asked_for_at_once_have_the_rows_that_each_has(
        events in crate::support::log(60),
        mode in mode(),
        every in 1usize..6,
    ) {
        let mut shown = Shown::new(mode);
        shown.apply(&events);
        let feed = shown.feed();
        let blocks: Vec<_> = feed.rows().map(|block| block.id).step_by(every).collect();
        let one_by_one: Vec<_> = blocks.iter().map(|id| shown.arrangement.nearest(feed, *id)).collect();
        prop_assert_eq!(shown.arrangement.nearest_of_each(feed, &blocks), one_by_one);
    }
}

proptest! {
    // The square of a log's length each.
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn after_every_event_the_rows_are_those_of_the_log_so_far(events in crate::support::log(60)) {
        let rows = |shown: &Shown| shown.arrangement.shown(shown.feed()).collect::<Vec<_>>();
        let mut followed = Shown::new(Mode::default());
        for (nth, event) in events.iter().enumerate() {
            followed.apply(std::slice::from_ref(event));
            let mut opened_now = Shown::new(Mode::default());
            opened_now.apply(&events[..=nth]);
            prop_assert_eq!(rows(&followed), rows(&opened_now), "after event {}", nth);
        }
    }
}
