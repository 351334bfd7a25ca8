//! How long what happened is played.

use super::*;

#[test]
fn a_made_up_pace_ends_when_time_passes() {
    let chunk = |nth, at_ms| event(nth, at_ms, "assistant_chunk", &json!({"text": "word "}));
    let mut stage = Stage::new(&[]);
    stage.player.set_goes_on(true);
    stage.come(&[chunk(1, 1_000), chunk(2, 1_000)]);
    stage.ask(Command::SeekTo(2));
    assert!(stage.player.played_ms() > 0.0, "the pace is made up");
    stage.come(&[chunk(3, 1_010)]);
    assert_eq!(stage.player.shown(), Some(2), "what comes moves nothing");
    assert_eq!(stage.player.played_ms(), 0.0);
    assert_eq!(stage.player.axis_ms(), 10);
}

#[test]
fn idle_stretches_are_played_in_two_seconds_and_told_in_full() {
    let stage = Stage::new(&session());
    let clock = stage.player.clock();
    assert_eq!(clock.length_ms(), 4_000);
    assert_eq!(clock.elapsed_ms(), 62_000);
    let cut = clock.cuts()[0];
    assert_eq!(
        (cut.event, cut.played_ms, cut.left_out_ms),
        (6, 1_000, 58_000)
    );
    // Half of the cut is half of the wait.
    assert_eq!(clock.elapsed_at(2_000.0), 31_000.0);
    assert_eq!(clock.played_of(31_000.0), 2_000.0);
    assert_eq!(clock.wall_ms_at(4_000.0), Some(1_062_000));
}

#[test]
fn another_idle_limit_shows_the_same_events() {
    let events = session();
    let mut stage = Stage::new(&events);
    stage.ask(Command::SeekTo(6));
    let feed = stage.live.feed();
    stage.player.set_idle_limit(500, feed);
    assert_eq!(stage.player.shown(), Some(6));
    let clock = stage.player.clock();
    assert_eq!(clock.elapsed_ms(), 62_000);
    assert_eq!(clock.cuts()[0].left_out_ms + 500, 60_000);
    assert_eq!(stage.player.played_ms(), clock.played_at(6) as f64);
    assert_eq!(stage.player.axis_ms(), clock.length_ms());
    // The next session is played so, too.
    stage.player.forget_session();
    assert_eq!(stage.player.clock().idle_limit_ms(), 500);
}

#[test]
fn a_log_without_times_is_played_at_an_even_pace_and_says_so() {
    let events: Vec<_> = session()
        .into_iter()
        .map(|event| ChatEvent {
            timestamp: None,
            ..event
        })
        .collect();
    let mut stage = Stage::new(&events);
    let clock = stage.player.clock();
    assert!(clock.is_reconstructed());
    let shown: Vec<u32> = (0..9).map(|nth| clock.n_events_at(nth * 250)).collect();
    assert_eq!(shown, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(stage.ask(Command::SeekNear(600.0)), 3);
    assert_eq!(stage.ask(Command::SeekTo(5)), 5);
    assert_eq!(stage.player.played_ms(), 1_000.0);
}

#[test]
fn many_events_within_a_moment_count_one_as_much_as_another() {
    let clock_of = |n_events: i64, length_ms: i64| {
        let mut clock = Clock::default();
        (0..n_events).for_each(|nth| clock.take(Some(nth * length_ms / (n_events - 1))));
        clock
    };
    let clock = clock_of(78, 3);
    assert!(clock.is_reconstructed());
    assert_eq!(clock.n_events_at(clock.length_ms() / 2), 39);
    assert!(clock_of(11, 999).is_reconstructed());
    assert!(!clock_of(11, 1_000).is_reconstructed());
    // A few may well come so fast.
    assert!(!clock_of(10, 9).is_reconstructed());
    assert!(clock_of(2, 0).is_reconstructed());
    assert!(!Clock::default().is_reconstructed());
}

#[test]
fn a_time_that_is_wrong_holds_up_nothing_after_it() {
    let mut clock = Clock::default();
    for at_ms in [0, 1_000, 86_400_000, 2_000, 3_000, 2_900, 3_500] {
        clock.take(Some(at_ms));
    }
    let played: Vec<u64> = (1..=7).map(|nth| clock.played_at(nth)).collect();
    assert_eq!(played, [0, 1_000, 3_000, 3_000, 4_000, 4_000, 4_500]);
    for (played_ms, wall_ms) in [(500.0, 500), (3_500.0, 2_500), (4_500.0, 3_500)] {
        assert_eq!(clock.wall_ms_at(played_ms), Some(wall_ms));
    }
}

#[test]
fn chunks_come_at_the_pace_they_came() {
    let mut stage = Stage::new(&session());
    stage.ask(Command::SeekTo(0));
    stage.ask(Command::Play);
    let mut shown = Vec::new();
    for frame in 0..=100 {
        stage.advance(f64::from(frame) * 10.0);
        shown.push(stage.player.n_events());
    }
    assert_eq!(shown[59], 2);
    assert_eq!(shown[60], 3);
    assert_eq!(shown[69], 3);
    assert_eq!(shown[70], 4);
    assert_eq!(shown[80], 5);
    assert_eq!(shown[100], 6);
}

#[test]
fn at_full_length_a_call_runs_for_as_long_as_it_ran() {
    let mut stage = Stage::new(&session());
    stage.ask(Command::SkipIdle(false));
    stage.ask(Command::SeekTo(6));
    stage.ask(Command::Play);
    let mut n_frames = 0;
    while stage.player.n_events() < 7 {
        stage.advance(f64::from(n_frames) * 100.0);
        n_frames += 1;
        assert!(n_frames < 1_000);
    }
    assert!(
        (600..=603).contains(&n_frames),
        "{n_frames} frames of 100 ms"
    );
}
