//! Times go there and back, and whatever is asked the player stands somewhere.

use super::*;

fn anything() -> impl Strategy<Value = Command> {
    let direction = || prop_oneof![Just(Direction::On), Just(Direction::Back)];
    let stop = prop_oneof![
        Just(Stop::Chunk),
        Just(Stop::Event),
        Just(Stop::Block),
        Just(Stop::Turn),
        Just(Stop::Marker)
    ];
    prop_oneof![
        Just(Command::Play),
        Just(Command::Pause),
        Just(Command::Toggle),
        Just(Command::Live),
        (0u32..70).prop_map(Command::SeekTo),
        (-9.0..9_000.0).prop_map(Command::SeekNear),
        (-9_000.0..9_000.0).prop_map(Command::SeekBy),
        (stop, direction()).prop_map(|(stop, direction)| Command::Step(stop, direction)),
        direction().prop_map(Command::Faster),
        (-1.0..2_000.0).prop_map(Command::Speed),
        any::<bool>().prop_map(Command::SkipIdle),
        any::<bool>().prop_map(Command::Loop),
    ]
}

proptest! {
    #[test]
    fn times_go_there_and_back(
        gaps in proptest::collection::vec(-9_000i64..9_000, 1..60),
        idle_limit_ms in 1u64..9_000,
    ) {
        let mut clock = Clock::with_idle_limit(idle_limit_ms);
        let mut at_ms = 0;
        for gap_ms in gaps {
            at_ms += gap_ms;
            clock.take(Some(at_ms));
        }
        let mut before_ms = 0.0;
        for nth in 0..=clock.length_ms() / 10 {
            let played_ms = nth as f64 * 10.0;
            let elapsed_ms = clock.elapsed_at(played_ms);
            prop_assert!(elapsed_ms >= before_ms);
            prop_assert!((clock.played_of(elapsed_ms) - played_ms).abs() < 1e-3);
            before_ms = elapsed_ms;
        }
        let end_ms = clock.elapsed_at(clock.length_ms() as f64);
        prop_assert!((end_ms - clock.elapsed_ms() as f64).abs() < 1e-3);
    }

    #[test]
    fn places_stand_in_order_and_are_the_same_however_events_come(
        events in crate::support::log(60),
        batches in proptest::collection::vec(1usize..9, 60),
    ) {
        let whole = Stage::new(&events).stops;
        let mut stage = Stage::new(&[]);
        let mut rest = events.as_slice();
        for batch in batches {
            let (now, later) = rest.split_at(batch.min(rest.len()));
            stage.come(now);
            rest = later;
            let markers = stage.stops.markers();
            prop_assert!(markers.is_sorted_by_key(|marker| marker.event));
            let prompts = markers.iter().filter(|marker| marker.kind == MarkerKind::Prompt);
            prop_assert!(prompts.eq(stage.stops.chapters()));
        }
        prop_assert_eq!(stage.stops.markers(), whole.markers());
        prop_assert_eq!(stage.stops.agents(), whole.agents());
        for n_events in 0..=60 {
            for stop in [Stop::Event, Stop::Block, Stop::Turn] {
                let next = whole.next(stop, Direction::On, n_events);
                prop_assert_eq!(stage.stops.next(stop, Direction::On, n_events), next, "{:?}", stop);
            }
            let prompts = whole.chapters().iter();
            let n_seen = prompts.filter(|prompt| prompt.event < n_events).count();
            prop_assert_eq!(whole.chapter_at(n_events), n_seen.checked_sub(1));
        }
    }

    #[test]
    fn whatever_is_asked_it_stands_somewhere_and_follows_only_when_told(
        events in crate::support::log(60),
        asked in proptest::collection::vec((anything(), 0usize..4, any::<bool>()), 1..40),
    ) {
        let mut stage = Stage::new(&[]);
        let mut n_came = 0;
        let mut moment = Moment::now(&stage.live);
        stage.player.set_goes_on(true);
        for (nth, (command, n_more, goes_on)) in asked.into_iter().enumerate() {
            let to = (n_came + n_more).min(events.len());
            stage.player.set_more_comes(goes_on);
            let before = stage.player.state();
            let shown = stage.player.shown();
            stage.come(&events[n_came..to]);
            n_came = to;
            if before != State::LiveFollowing && shown.is_some() {
                prop_assert_eq!(stage.player.shown(), shown, "what comes moves nothing");
            }
            stage.ask(command);
            stage.advance(nth as f64 * 40.0);
            if before != State::LiveFollowing && command != Command::Live {
                prop_assert_ne!(stage.player.state(), State::LiveFollowing);
            }
            let n_events = stage.player.n_events();
            prop_assert!(n_events as usize <= n_came);
            prop_assert!(stage.player.played_ms() >= 0.0);
            prop_assert!(stage.player.played_ms() <= stage.player.clock().length_ms() as f64);
            if let Some(shown) = stage.player.shown() {
                moment.seek(&stage.live, shown, &mut Vec::new());
                prop_assert_eq!(moment.n_events(), n_events);
            }
            if !goes_on && nth % 5 == 0 {
                stage.player.set_goes_on(false);
                stage.player.set_goes_on(true);
                let at_end = stage.player.n_events() as usize == n_came;
                prop_assert!(at_end || stage.player.state() != State::LiveFollowing);
                if stage.player.state() == State::LiveFollowing {
                    continue;
                }
            }
        }
    }
}
