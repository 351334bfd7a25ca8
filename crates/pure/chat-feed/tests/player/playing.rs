//! Playing, pausing, and what comes meanwhile.

use super::*;

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
