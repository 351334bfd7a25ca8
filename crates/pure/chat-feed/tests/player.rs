//! The clock and the player: idle stretches, speeds, steps, and the states between live and replay.

use chat_event::ChatEvent;
use chat_feed::ChatRenderer;
use chat_feed::playback::{
    Clock, Command, Direction, MarkerKind, Moment, Named, NamedAt, Player, State, Stop, Stops,
    strip,
};
use proptest::prelude::*;
use serde_json::{Value, json};

mod laws;
mod markers;
mod named;
mod pace;
mod playing;

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
        self.stops.place_named(&self.live, self.player.clock());
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
