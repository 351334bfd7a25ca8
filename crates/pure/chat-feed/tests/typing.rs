//! Typing in a replay: texts that came whole are typed before the moment they came, and what a frame of typing costs has
//! nothing to do with how long the text is.

use chat_event::ChatEvent;
use chat_feed::playback::{Command, Moment, Player, Stops, Typed};
use chat_feed::{BlockBody, ChatRenderer, FeedPatch};
use serde_json::{Value, json};

fn event(nth: usize, at_ms: Option<i64>, event_type: &str, payload: &Value) -> ChatEvent {
    let line = json!({"id": format!("e{nth}"), "seq": nth + 1, "timestamp": at_ms, "sessionId": "s",
        "turnId": "t1", "responseId": "r1", "type": event_type, "payload": payload});
    ChatEvent::from_json(&line.to_string()).unwrap()
}

fn stage(events: &[ChatEvent]) -> (ChatRenderer, Player) {
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(events);
    let mut player = Player::default();
    player.follow(renderer.feed());
    (renderer, player)
}

/// A prompt, and so much later an answer of so many bytes.
fn told_whole(after_ms: i64, len: usize) -> Vec<ChatEvent> {
    vec![
        event(0, Some(1_000), "user_message", &json!({"text": "Tell"})),
        event(
            1,
            Some(1_000 + after_ms),
            "assistant_done",
            &json!({"text": "x".repeat(len)}),
        ),
    ]
}

fn share_at(player: &mut Player, played_ms: f64) -> Option<f64> {
    player.perform(Command::SeekNear(played_ms), &Stops::default());
    player.typed().map(|typed| typed.share)
}

#[test]
fn a_text_is_typed_before_it_came_and_no_faster_than_it_must() {
    // 320 bytes a second: 160 take half a second of the one there is.
    let (_, mut player) = stage(&told_whole(1_000, 160));
    assert_eq!(share_at(&mut player, 400.0), None);
    assert_eq!(share_at(&mut player, 750.0), Some(0.5));
    assert_eq!(share_at(&mut player, 1_000.0), None);
    // A long one takes all the time there is, of a wait that is cut short what is played of it.
    let (_, mut player) = stage(&told_whole(1_000, 1_000_000));
    assert_eq!(share_at(&mut player, 250.0), Some(0.25));
    let (_, mut player) = stage(&told_whole(60_000, 1_000_000));
    assert_eq!(share_at(&mut player, 500.0), Some(0.25));
    // Where there is none it is there at once, and so it is for those who want no motion.
    let (_, mut player) = stage(&told_whole(0, 1_000));
    assert_eq!(share_at(&mut player, 0.0), None);
    let (_, mut player) = stage(&told_whole(1_000, 1_000));
    player.set_types_whole(false);
    assert_eq!(share_at(&mut player, 500.0), None);
}

#[test]
fn a_log_without_times_is_typed_at_the_pace_that_is_made_up_for_it() {
    let events: Vec<_> = told_whole(1_000, 4_000)
        .into_iter()
        .map(|event| ChatEvent {
            timestamp: None,
            ..event
        })
        .collect();
    let (_, mut player) = stage(&events);
    assert_eq!(share_at(&mut player, 125.0), Some(0.5));
}

#[test]
fn what_came_in_pieces_is_not_made_up() {
    let mut events = told_whole(2_000, 8);
    let chunk = |nth, at_ms| event(nth, Some(at_ms), "assistant_chunk", &json!({"text": "xx"}));
    events.splice(1..1, [chunk(1, 1_500), chunk(2, 2_000)]);
    for (nth, event) in events.iter_mut().enumerate() {
        (event.seq, event.id) = (Some(nth as u64 + 1), format!("e{nth}"));
    }
    let (renderer, mut player) = stage(&events);
    for played_ms in 0..2_000 {
        assert_eq!(share_at(&mut player, f64::from(played_ms)), None);
    }
    // The exact moments between two events are the plain ones.
    let mut moment = Moment::now(&renderer);
    moment.seek(&renderer, 2, &mut Vec::new());
    let last = moment.feed().last().unwrap();
    assert_eq!(moment.feed().text(last), "xx");
}

#[test]
fn the_rows_of_a_text_are_typed_one_after_the_other_where_the_end_of_its_turn_came_first() {
    let texts = |moment: &Moment| -> Vec<String> {
        let rows = moment.feed().rows();
        rows.map(|row| moment.feed().text(row.id).to_string())
            .collect()
    };
    for n_paragraphs in 2..9 {
        let text = "Some words.\n\n".repeat(n_paragraphs);
        let end = json!({"outcome": "completed"});
        let events = [
            event(0, Some(1_000), "turn_end", &end),
            event(1, Some(9_000), "assistant_done", &json!({"text": text})),
        ];
        let (renderer, _) = stage(&events);
        let mut typed = Moment::now(&renderer);
        typed.seek(&renderer, 1, &mut Vec::new());
        for percent in (1..100).chain((1..100).rev()) {
            let share = f64::from(percent) / 100.0;
            let at = Typed { event: 1, share };
            typed.seek_typed(&renderer, at, &mut Vec::new());
            let mut sought = Moment::now(&renderer);
            sought.seek_typed(&renderer, at, &mut Vec::new());
            assert_eq!(texts(&typed), texts(&sought), "{percent} of a hundred");
        }
        typed.seek_now(&renderer, &mut Vec::new());
        let mut rows = vec!["Some words."; n_paragraphs];
        rows.push("");
        assert_eq!(texts(&typed), rows);
    }
}

/// Plays a text in frames that each add about a thousand bytes; the most that any of them said had changed.
fn most_patches(text: &str, event_type: &str) -> usize {
    let n_frames = u32::try_from(text.len() / 1_000).unwrap();
    let mut events = told_whole(10_000, 0);
    events[1] = event(1, Some(2_900), event_type, &json!({"text": text}));
    let (renderer, mut player) = stage(&events);
    let mut moment = Moment::now(&renderer);
    let mut most = 0;
    let mut last_len = 0;
    for frame in 1..n_frames {
        let played_ms = 1_900.0 * f64::from(frame) / f64::from(n_frames);
        player.perform(Command::SeekNear(played_ms), &Stops::default());
        let mut patches = Vec::new();
        match player.typed() {
            Some(typed) => moment.seek_typed(&renderer, typed, &mut patches),
            None => moment.seek(&renderer, player.n_events(), &mut patches),
        }
        // The first frame takes away what the end had.
        if frame > 1 {
            most = most.max(patches.len());
        }
        let row = moment.feed().last().unwrap();
        let (shown, whole) = (moment.feed().text(row), renderer.feed().text(row));
        if matches!(
            moment.feed().block(row).body,
            BlockBody::Text(_) | BlockBody::Thinking(_)
        ) {
            // The very bytes of the whole text: none was copied.
            assert_eq!(shown.as_ptr(), whole.as_ptr());
            assert!(whole.starts_with(&*shown));
            last_len = shown.len();
        }
        assert!(patches.iter().all(|patch| *patch != FeedPatch::Clear));
    }
    assert!(last_len > 0);
    most
}

#[test]
fn a_frame_of_typing_does_not_grow_with_the_text() {
    let paragraphs = |n| "Some words that make a line.\n\n".repeat(n);
    // About 35 rows come with a frame, whatever stands before them.
    let per_frame = |n: usize| most_patches(&paragraphs(n), "assistant_done");
    let (few, many) = (per_frame(1_700), per_frame(34_000));
    assert!(few <= 50, "{few} patches a frame");
    assert!(
        many <= few + 2,
        "{many} patches a frame, and {few} of a short text"
    );
    // One row of thinking is one patch, and one for the session.
    let long = "thought ".repeat(125_000);
    assert!(most_patches(&long, "thinking_done") <= 4);
}
