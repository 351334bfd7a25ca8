//! The clock and the player: idle stretches, speeds, steps, and the states between live and replay.

use chat_event::ChatEvent;
use chat_feed::ChatRenderer;
use chat_feed::playback::{
    Clock, Command, Direction, MarkerKind, Moment, Player, State, Stop, Stops, strip,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn event(nth: usize, at_ms: i64, event_type: &str, payload: &Value) -> ChatEvent {
    let line = json!({"id": format!("e{nth}"), "seq": nth + 1, "timestamp": at_ms, "sessionId": "s",
        "turnId": "t1", "type": event_type, "payload": payload});
    ChatEvent::from_json(&line.to_string()).unwrap()
}

/// A prompt, an answer in three chunks, a long wait for a call that fails, and a file.
fn session() -> Vec<ChatEvent> {
    [
        (0, "turn_start", json!({"trigger": "user"})),
        (100, "user_message", json!({"text": "Do it"})),
        (600, "assistant_chunk", json!({"text": "I "})),
        (700, "assistant_chunk", json!({"text": "will "})),
        (800, "assistant_chunk", json!({"text": "do it"})),
        (
            1_000,
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {"command": "make"}}),
        ),
        (
            61_000,
            "tool_result",
            json!({"toolCallId": "c1", "result": "no", "error": {"message": "no"}}),
        ),
        (
            61_500,
            "file_edit",
            json!({"toolCallId": "c2", "filePath": "a", "changeType": "modified", "linesAdded": 1}),
        ),
        (62_000, "turn_end", json!({})),
    ]
    .into_iter()
    .enumerate()
    .map(|(nth, (at_ms, event_type, payload))| event(nth, 1_000_000 + at_ms, event_type, &payload))
    .collect()
}

struct Stage {
    live: ChatRenderer,
    stops: Stops,
    player: Player,
}

impl Stage {
    fn new(events: &[ChatEvent]) -> Stage {
        let mut stage = Stage {
            live: ChatRenderer::with_history(),
            stops: Stops::default(),
            player: Player::default(),
        };
        stage.come(events);
        stage
    }

    fn come(&mut self, events: &[ChatEvent]) {
        for event in events {
            self.live.handle_new_event(event);
        }
        self.stops.follow(self.live.feed());
        self.player.follow(self.live.feed());
    }

    fn advance(&mut self, now_ms: f64) -> bool {
        self.player.advance(now_ms, &self.stops)
    }

    fn ask(&mut self, command: Command) -> u32 {
        self.player.perform(command, &self.stops);
        self.player.n_events()
    }
}

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
fn the_end_of_a_log_is_no_event() {
    let events = session();
    let mut stage = Stage::new(&events);
    stage.live.end_of_log(&mut Vec::new());
    stage.come(&[]);
    assert_eq!(stage.player.clock().n_events() as usize, events.len());
    assert_eq!(stage.player.n_events() as usize, events.len());
}

#[test]
fn a_log_opens_at_its_end_and_paused() {
    let stage = Stage::new(&session());
    assert_eq!(stage.player.state(), State::ReplayPaused);
    assert_eq!(stage.player.shown(), None);
    assert_eq!(stage.player.behind_ms(), 0);
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
fn what_an_agent_asks_of_another_begins_no_chapter() {
    let mut events = session();
    let asked = event(
        9,
        1_063_000,
        "user_message",
        &json!({"text": "Count the files"}),
    );
    let before = Stage::new(&events).stops.markers().len();
    events.push(ChatEvent {
        parent_tool_call_id: Some("c1".into()),
        ..asked
    });
    let stage = Stage::new(&events);
    assert!(stage.live.feed().block_of_event(9).is_some());
    assert_eq!(stage.stops.chapters().count(), 1);
    assert_eq!(stage.stops.markers().len(), before);
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

#[test]
fn playing_stops_at_the_end_or_begins_again() {
    let mut stage = Stage::new(&session());
    stage.ask(Command::Play);
    assert_eq!(stage.player.n_events(), 0);
    stage.ask(Command::Speed(10.0));
    let mut now_ms = 0.0;
    while stage.advance(now_ms) {
        now_ms += 100.0;
        assert!(now_ms < 5_000.0);
    }
    assert_eq!(
        (stage.player.state(), stage.player.shown()),
        (State::ReplayPaused, None)
    );
    stage.ask(Command::Loop(true));
    stage.ask(Command::Play);
    let mut shown = Vec::new();
    for frame in 0..200 {
        assert!(stage.advance(now_ms + f64::from(frame) * 100.0));
        shown.push(stage.player.shown());
    }
    // The end is shown for two seconds each time.
    let at_end = shown.split(|shown| *shown != Some(9));
    let n_frames: Vec<_> = at_end.map(<[_]>::len).filter(|n| *n > 0).collect();
    assert!(
        n_frames.len() > 3 && n_frames[..3] == [20; 3],
        "{n_frames:?}"
    );
    // And asked for less, it stays there.
    stage.ask(Command::SeekTo(9));
    stage.ask(Command::Loop(false));
    assert!(!stage.advance(now_ms + 20_100.0));
    assert_eq!(stage.player.shown(), None);
}

#[test]
fn what_is_played_while_it_is_read_waits_for_what_comes_next() {
    let events = session();
    let mut stage = Stage::new(&events[..4]);
    stage.player.set_more_comes(true);
    stage.ask(Command::Loop(true));
    stage.ask(Command::Speed(10.0));
    // What is read is not at its end: it is played from its start.
    stage.ask(Command::Play);
    assert_eq!(stage.player.n_events(), 0);
    let mut at_ms = 0.0;
    let mut play = |stage: &mut Stage| {
        for _ in 0..50 {
            at_ms += 100.0;
            stage.advance(at_ms);
        }
        (stage.player.state(), stage.player.shown())
    };
    assert_eq!(play(&mut stage), (State::ReplayPlaying, Some(4)));
    stage.come(&events[4..7]);
    assert_eq!(stage.player.shown(), Some(4));
    assert_eq!(play(&mut stage), (State::ReplayPlaying, Some(7)));
    stage.come(&events[7..]);
    stage.ask(Command::Loop(false));
    assert_eq!(play(&mut stage), (State::ReplayPlaying, Some(9)));
    stage.player.set_more_comes(false);
    assert_eq!(play(&mut stage), (State::ReplayPaused, None));
}

#[test]
fn what_loops_is_played_alike_in_each_round_though_it_goes_on() {
    let mut stage = Stage::new(&session());
    stage.player.set_goes_on(true);
    stage.ask(Command::Loop(true));
    stage.ask(Command::Speed(10.0));
    stage.ask(Command::Play);
    let mut shown = Vec::new();
    for frame in 0..100 {
        assert!(stage.advance(f64::from(frame) * 50.0));
        shown.push(stage.player.n_events());
    }
    let rounds: Vec<_> = shown.split(|n_events| *n_events == 9).collect();
    let mut rounds = rounds.into_iter().filter(|round| !round.is_empty());
    let first = rounds.next().unwrap();
    assert!(first.len() > 5, "{first:?}");
    // The frame that begins anew shows nothing yet.
    assert_eq!(rounds.next().unwrap()[1..], first[1..]);
}

#[test]
fn what_waits_while_it_is_read_is_paused_and_played_on_from_there() {
    let events = session();
    let mut stage = Stage::new(&events[..4]);
    stage.player.set_more_comes(true);
    stage.ask(Command::Play);
    stage.ask(Command::SeekTo(4));
    assert!(!stage.advance(0.0));
    assert_eq!(stage.player.state(), State::ReplayPlaying);
    stage.ask(Command::Toggle);
    stage.come(&events[4..6]);
    assert_eq!(stage.player.shown(), Some(4), "it is paused");
    stage.ask(Command::Toggle);
    assert_eq!(stage.player.n_events(), 4);
    stage.ask(Command::SeekTo(6));
    stage.ask(Command::Toggle);
    stage.ask(Command::Toggle);
    assert_eq!(stage.player.n_events(), 6, "it waits again");
    // Where nobody played it, what is read is shown.
    stage.ask(Command::Pause);
    stage.ask(Command::SeekTo(6));
    stage.come(&events[6..]);
    assert_eq!(stage.player.shown(), None);
}

#[test]
fn what_is_paused_has_not_ended() {
    let mut stage = Stage::new(&session());
    assert!(stage.player.has_ended());
    stage.player.set_goes_on(true);
    stage.player.set_more_comes(true);
    assert!(!stage.player.has_ended());
    stage.player.set_more_comes(false);
    assert!(!stage.player.has_ended(), "it follows");
    stage.player.set_more_comes(true);
    stage.ask(Command::Pause);
    assert!(!stage.player.moves() && !stage.player.has_ended());
    stage.player.set_more_comes(false);
    assert!(stage.player.has_ended());
}

#[test]
fn the_newest_is_paused_and_played_on_from_there() {
    let events = session();
    let mut stage = Stage::new(&events[..6]);
    stage.player.set_goes_on(true);
    stage.player.set_more_comes(true);
    assert!(stage.player.moves());
    // It moves by itself already.
    stage.ask(Command::Play);
    assert_eq!(stage.player.state(), State::LiveFollowing);
    let stands = |stage: &Stage| (stage.player.state(), stage.player.shown());
    stage.ask(Command::Toggle);
    assert_eq!(stands(&stage), (State::LivePaused, Some(6)));
    assert!(!stage.player.moves());
    stage.ask(Command::Toggle);
    assert_eq!(stands(&stage), (State::ReplayPlaying, Some(6)));
    stage.ask(Command::SkipIdle(false));
    assert!(!stage.advance(0.0), "nothing has come");
    assert_eq!(stands(&stage), (State::ReplayPlaying, Some(6)));
    // A minute was waited already.
    stage.come(&events[6..]);
    stage.advance(60_200.0);
    assert_eq!(stage.player.shown(), Some(7));
    for frame in 0..20 {
        stage.advance(60_200.0 + f64::from(frame) * 100.0);
    }
    assert_eq!(stands(&stage), (State::ReplayPlaying, Some(9)));
    // What nobody adds to is at its end there.
    stage.player.set_more_comes(false);
    stage.advance(70_000.0);
    assert_eq!(stands(&stage), (State::LivePaused, Some(9)));
    stage.ask(Command::Toggle);
    assert_eq!(stands(&stage), (State::ReplayPlaying, Some(0)));
}

/// Plays on, 100 ms a frame at ten times the speed, until it pauses; the markers that were passed.
fn markers_until_it_pauses(stage: &mut Stage) -> Vec<MarkerKind> {
    stage.ask(Command::Speed(10.0));
    stage.ask(Command::Play);
    let mut passed = Vec::new();
    for frame in 0..1_000 {
        let goes_on = stage.advance(f64::from(frame) * 100.0);
        let markers = stage.stops.markers_in(stage.player.passed());
        passed.extend(markers.iter().map(|marker| marker.kind));
        if !goes_on {
            return passed;
        }
    }
    panic!("it never pauses");
}

#[test]
fn each_marker_is_passed_once_while_it_plays_and_none_by_hand() {
    let mut stage = Stage::new(&session());
    let all = [MarkerKind::Prompt, MarkerKind::Error, MarkerKind::Edit];
    assert_eq!(markers_until_it_pauses(&mut stage), all);
    stage.ask(Command::SeekTo(0));
    stage.ask(Command::Play);
    stage.advance(0.0);
    stage.ask(Command::SeekTo(8));
    assert_eq!(markers_until_it_pauses(&mut stage), []);
}

#[test]
fn where_it_pauses_on_markers_it_stands_at_each_and_goes_on_from_there() {
    let mut stage = Stage::new(&session());
    stage.ask(Command::PauseOnMarkers(true));
    let mut stood = Vec::new();
    for kind in [MarkerKind::Prompt, MarkerKind::Error, MarkerKind::Edit] {
        assert_eq!(markers_until_it_pauses(&mut stage), [kind]);
        assert_eq!(stage.player.state(), State::ReplayPaused);
        stood.push(stage.player.n_events());
    }
    // As steps by markers.
    assert_eq!(stood, [2, 7, 8]);
    assert_eq!(markers_until_it_pauses(&mut stage), []);
    assert_eq!(stage.player.shown(), None);
}

#[test]
fn another_session_is_played_in_the_same_manner() {
    let mut stage = Stage::new(&session());
    let asked = [
        Command::Speed(5.0),
        Command::SkipIdle(false),
        Command::Loop(true),
    ];
    for command in asked {
        stage.ask(command);
    }
    stage.player.forget_session();
    stage.player.follow(stage.live.feed());
    assert_eq!(
        (stage.player.state(), stage.player.shown()),
        (State::ReplayPaused, None)
    );
    let player = &stage.player;
    assert!(!player.skips_idle() && player.loops());
    assert!((player.speed() - 5.0).abs() < f64::EPSILON);
}

#[test]
fn a_hidden_page_goes_on_where_it_was() {
    let mut stage = Stage::new(&session());
    stage.ask(Command::SeekTo(0));
    stage.ask(Command::Play);
    stage.advance(0.0);
    stage.advance(3_600_000.0);
    assert!(stage.player.played_ms() <= 250.0);
}

#[test]
fn steps_go_by_chunks_events_turns_and_markers() {
    let mut stage = Stage::new(&session());
    stage.ask(Command::SeekTo(3));
    assert_eq!(stage.ask(Command::Step(Stop::Chunk, Direction::On)), 4);
    // The rest of the answer is no event of its own; the call is.
    assert_eq!(stage.ask(Command::Step(Stop::Event, Direction::On)), 6);
    assert_eq!(stage.ask(Command::Step(Stop::Event, Direction::On)), 7);
    assert_eq!(stage.ask(Command::Step(Stop::Event, Direction::Back)), 6);
    assert_eq!(stage.ask(Command::Step(Stop::Event, Direction::Back)), 3);
    assert_eq!(stage.ask(Command::Step(Stop::Marker, Direction::Back)), 2);
    assert_eq!(stage.ask(Command::Step(Stop::Marker, Direction::On)), 7);
    assert_eq!(stage.ask(Command::Step(Stop::Marker, Direction::On)), 8);
    // A turn is seen with its prompt, and not before it.
    assert_eq!(stage.ask(Command::Step(Stop::Turn, Direction::Back)), 2);
    let kinds: Vec<_> = stage
        .stops
        .markers()
        .iter()
        .map(|marker| marker.kind)
        .collect();
    assert_eq!(
        kinds,
        [MarkerKind::Prompt, MarkerKind::Error, MarkerKind::Edit]
    );
}

#[test]
fn going_back_during_a_session_stays_there_until_the_reader_returns() {
    let events = session();
    let mut stage = Stage::new(&events[..6]);
    stage.player.set_goes_on(true);
    assert_eq!(stage.player.state(), State::LiveFollowing);
    stage.ask(Command::Step(Stop::Chunk, Direction::Back));
    assert_eq!(
        (stage.player.state(), stage.player.shown()),
        (State::LivePaused, Some(5))
    );
    stage.come(&events[6..]);
    assert_eq!(stage.player.shown(), Some(5));
    assert_eq!(stage.player.behind_ms(), 61_200);
    // No place on the bar moves meanwhile.
    assert_eq!(stage.player.axis_ms(), 1_000);
    // Playing never switches following on, not even at the newest event; what came is on the bar.
    stage.ask(Command::Play);
    assert_eq!(stage.player.state(), State::ReplayPlaying);
    assert_eq!(stage.player.axis_ms(), 4_000);
    for frame in 0..100 {
        stage.advance(f64::from(frame) * 100.0);
    }
    assert_eq!(
        (stage.player.state(), stage.player.shown()),
        (State::LivePaused, Some(9))
    );
    stage.ask(Command::Live);
    assert_eq!(
        (stage.player.state(), stage.player.shown()),
        (State::LiveFollowing, None)
    );
    assert_eq!(stage.player.axis_ms(), 4_000);
}

#[test]
fn what_came_meanwhile_is_on_the_bar_once_the_reader_does_anything() {
    let events = session();
    let back = || {
        let mut stage = Stage::new(&events[..6]);
        stage.player.set_goes_on(true);
        stage.ask(Command::Step(Stop::Chunk, Direction::Back));
        stage.come(&events[6..]);
        assert_eq!(stage.player.axis_ms(), 1_000);
        stage
    };
    let mut stage = back();
    stage.player.fit_axis();
    assert_eq!(stage.player.axis_ms(), 4_000);
    let mut stage = back();
    stage.ask(Command::Step(Stop::Chunk, Direction::Back));
    assert_eq!(stage.player.axis_ms(), 4_000);
    // What is dragged stays under the hand, and has all of it when it is let go.
    let mut stage = Stage::new(&events[..6]);
    stage.player.set_goes_on(true);
    stage.player.hold_axis(true);
    stage.ask(Command::SeekNear(500.0));
    stage.come(&events[6..]);
    stage.ask(Command::SeekNear(600.0));
    stage.ask(Command::Play);
    stage.advance(0.0);
    assert_eq!(stage.player.axis_ms(), 1_000);
    stage.player.hold_axis(false);
    assert_eq!(stage.player.axis_ms(), 4_000);
}

#[test]
fn a_strip_counts_every_event_that_shows_anything() {
    let stage = Stage::new(&session());
    let stretches = strip(stage.live.feed(), stage.player.clock(), 4_000, 7);
    let sum: u32 = stretches.iter().flatten().sum();
    // The turn's start shows nothing, and its end no work.
    assert_eq!(sum, 7);
}

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
    fn times_go_there_and_back(gaps in proptest::collection::vec(-9_000i64..9_000, 1..60)) {
        let mut clock = Clock::default();
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

#[test]
fn a_call_that_fails_after_its_turn_is_marked_where_it_fails_however_it_comes() {
    let call = json!({"toolCallId": "c1", "toolName": "Bash", "args": {}});
    let result = json!({"toolCallId": "c1", "result": "", "error": {"message": "exit 1"}});
    let events = [
        event(0, 0, "turn_start", &json!({"trigger": "user"})),
        event(1, 100, "tool_call", &call),
        event(2, 200, "turn_end", &json!({})),
        event(3, 9_000, "tool_result", &result),
    ];
    let errors = |batch: usize| {
        let mut renderer = ChatRenderer::with_history();
        let mut stops = Stops::default();
        for events in events.chunks(batch) {
            for event in events {
                renderer.render_event(event);
            }
            stops.follow(renderer.feed());
        }
        let errors = stops.markers().iter();
        let errors = errors.filter(|marker| marker.kind == MarkerKind::Error);
        errors.map(|marker| marker.event).collect::<Vec<_>>()
    };
    for batch in 1..=4 {
        assert_eq!(errors(batch), [3], "{batch} at once");
    }
}
