//! What is worth going to, and steps from one to the next.

use super::*;

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
    assert_eq!(stage.stops.chapters().len(), 1);
    assert_eq!(stage.stops.markers().len(), before);
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
fn a_strip_counts_every_event_that_shows_anything() {
    let stage = Stage::new(&session());
    let stretches = strip(stage.live.feed(), stage.player.clock(), 4_000, 7);
    let sum: u32 = stretches.iter().flatten().sum();
    // The turn's start shows nothing, and its end no work.
    assert_eq!(sum, 7);
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
