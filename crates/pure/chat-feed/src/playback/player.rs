//! The player: which moment is shown, and what moves it.
//!
//! | state | shows | play | pause | seek, step | the end is reached | live |
//! |---|---|---|---|---|---|---|
//! | live, following | the newest | –, or replay, playing | live, paused | live, paused | – | – |
//! | live, paused | a moment | replay, playing | – | live, paused | – | live, following |
//! | replay, playing | a moving moment | – | paused | replay, playing | waits for more, or paused, or again from the start | live, following |
//! | replay, paused | a moment | replay, playing | – | replay, paused | – | replay, paused, at the end |
//!
//! Where more is known to come ([`Player::set_more_comes`]), what plays waits for it at the newest. What follows a session
//! moves then by itself: to toggle it is to pause it, and once more to go on from there. Else the newest is the end: what
//! loops shows it for a moment, and what is played there begins at the start, as it does while a log is still read unless
//! it was paused there.
//!
//! *Paused* is live, paused while the session goes on, and replay, paused when it is over: which of the two follows from
//! whether more may come ([`Player::set_goes_on`]). Playing never switches following on; only [`Command::Live`] does.
//! Nothing here touches what is played.
//!
//! What moves it is in `commands`, and how playing goes on from frame to frame in `frames`.

mod commands;
mod frames;

use std::ops::Range;

use super::clock::{Clock, exact};
use super::typing::{Typed, Typing};
use crate::block::EventIdx;
pub use commands::{Command, Direction, MAX_SPEED, SPEEDS, Stop};

/// Where a player stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The newest is shown, and what comes as it comes.
    LiveFollowing,
    /// The session goes on; what is shown stands still.
    LivePaused,
    /// What is shown moves on by itself.
    ReplayPlaying,
    /// What is shown stands still, and the session is over.
    ReplayPaused,
}

/// A player of one session.
#[derive(Clone, Debug)]
pub struct Player {
    clock: Clock,
    typing: Typing,
    /// Whether texts that came whole are typed at a made-up pace.
    types_whole: bool,
    state: State,
    goes_on: bool,
    more_comes: bool,
    /// How far it is: events shown, and milliseconds of playing, which run on between two events.
    n_events: u32,
    played_ms: f64,
    speed: f64,
    skips_idle: bool,
    loops: bool,
    pauses_on_markers: bool,
    /// What the last frame of playing brought.
    passed: Range<EventIdx>,
    /// How much of the session the bar is as long as.
    axis_ms: u64,
    /// Whether the reader has the bar in the hand.
    held: bool,
    last_frame_ms: Option<f64>,
    /// Since when playing stands at the end.
    at_end_since_ms: Option<f64>,
    /// Whether it was paused while it was played and more was to come.
    waited: bool,
}

impl Default for Player {
    fn default() -> Self {
        Player {
            clock: Clock::default(),
            typing: Typing::default(),
            types_whole: true,
            state: State::ReplayPaused,
            goes_on: false,
            more_comes: false,
            n_events: 0,
            played_ms: 0.0,
            speed: 1.0,
            skips_idle: true,
            loops: false,
            pauses_on_markers: false,
            passed: 0..0,
            axis_ms: 0,
            held: false,
            last_frame_ms: None,
            at_end_since_ms: None,
            waited: false,
        }
    }
}

impl Player {
    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether what is shown moves by itself: it is played, or follows what comes.
    pub fn moves(&self) -> bool {
        match self.state {
            State::LiveFollowing => self.more_comes,
            state => state == State::ReplayPlaying,
        }
    }

    /// Whether it stands at the end of what nothing more is known to come of. One that follows has not ended: what it
    /// follows may be out of reach for a while.
    pub fn has_ended(&self) -> bool {
        let is_paused = matches!(self.state, State::LivePaused | State::ReplayPaused);
        let length_ms = exact(self.clock.length_ms());
        is_paused && !self.more_comes && length_ms > 0.0 && self.played_ms >= length_ms
    }

    /// When each event happened.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// How many events are shown; `None` for the newest state, with what was said by the log's being at its end.
    pub fn shown(&self) -> Option<u32> {
        match self.state {
            State::LiveFollowing => None,
            State::ReplayPaused if self.at_newest() => None,
            State::LivePaused | State::ReplayPlaying | State::ReplayPaused => Some(self.n_events),
        }
    }

    /// Whether all is shown that has come.
    pub fn at_newest(&self) -> bool {
        self.n_events() >= self.clock.n_events()
    }

    /// How many events are shown.
    pub fn n_events(&self) -> u32 {
        match self.state {
            State::LiveFollowing => self.clock.n_events(),
            _ => self.n_events,
        }
    }

    /// The beginning of a text that comes whole with the next event, while it is typed at a made-up pace.
    pub fn typed(&self) -> Option<Typed> {
        match self.state {
            State::LiveFollowing => None,
            _ if !self.types_whole => None,
            _ => self.typing.at(&self.clock, self.n_events, self.played_ms),
        }
    }

    /// Whether texts that came whole are typed at a made-up pace, or are there at once.
    pub fn set_types_whole(&mut self, types_whole: bool) {
        self.types_whole = types_whole;
    }

    /// How far into the replay it is, in milliseconds with idle stretches cut.
    pub fn played_ms(&self) -> f64 {
        match self.state {
            State::LiveFollowing => exact(self.clock.length_ms()),
            _ => self.played_ms,
        }
    }

    /// How far behind the newest event it is, in the session's own time.
    pub fn behind_ms(&self) -> u64 {
        let here_ms = whole(self.clock.elapsed_at(self.played_ms()));
        self.clock.elapsed_ms().saturating_sub(here_ms)
    }

    /// How long a bar is, in milliseconds of playing: the whole session, but while it goes on and the reader looks back as
    /// much of it as there was when the reader last did anything. So no place on the bar moves while events come in, and
    /// what came since is on it as soon as anyone goes anywhere, plays, or points at it ([`Player::fit_axis`]).
    pub fn axis_ms(&self) -> u64 {
        match self.state {
            State::LiveFollowing => self.clock.length_ms(),
            _ => self.axis_ms.max(whole(self.played_ms.ceil())),
        }
    }

    /// The bar is to be as long as all of the session; where it is held, once it is let go.
    pub fn fit_axis(&mut self) {
        if !self.held {
            self.axis_ms = self.clock.length_ms();
        }
    }

    /// Whether the reader has the bar in the hand: then no place on it moves.
    pub fn hold_axis(&mut self, held: bool) {
        self.held = held;
        self.fit_axis();
    }

    /// The speed.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Whether idle stretches are cut short.
    pub fn skips_idle(&self) -> bool {
        self.skips_idle
    }

    /// Cuts idle stretches to another length; the same events are shown as before. Takes as long as the session has events.
    pub fn set_idle_limit(&mut self, idle_limit_ms: u64, feed: &crate::Feed) {
        let mut clock = Clock::with_idle_limit(idle_limit_ms);
        if clock.idle_limit_ms() == self.clock.idle_limit_ms() {
            return;
        }
        clock.follow(feed);
        self.clock = clock;
        self.played_ms = exact(self.clock.played_at(self.n_events));
        self.axis_ms = self.clock.length_ms();
    }

    /// Whether it begins again at the end.
    pub fn loops(&self) -> bool {
        self.loops
    }

    /// Events came: where the reader follows they are shown, else the moment stays.
    pub fn follow(&mut self, feed: &crate::Feed) {
        let at_end = self.n_events >= self.clock.n_events();
        let made_up = self.clock.is_reconstructed();
        self.clock.follow(feed);
        self.typing.follow(feed);
        if made_up != self.clock.is_reconstructed() {
            // Time passed at last, or too little of it: where it stands is said by the one pace, and no longer by the other.
            self.played_ms = exact(self.clock.played_at(self.n_events));
            self.axis_ms = self.clock.length_ms();
        }
        // A log that is read is shown as far as it is read, but where playing it was paused.
        if self.state == State::ReplayPaused && at_end && !self.waited {
            self.go_to_end();
        }
        if self.state == State::LiveFollowing || !self.goes_on {
            self.axis_ms = self.clock.length_ms();
        }
    }

    /// Whether more may come.
    pub fn set_goes_on(&mut self, goes_on: bool) {
        self.goes_on = goes_on;
        let at_end = self.n_events >= self.clock.n_events();
        self.state = match (self.state, goes_on) {
            (State::LiveFollowing, false) => {
                self.go_to_end();
                State::ReplayPaused
            }
            (State::LivePaused, false) => State::ReplayPaused,
            (State::ReplayPaused, true) if at_end => State::LiveFollowing,
            (State::ReplayPaused, true) => State::LivePaused,
            (state, _) => state,
        };
    }

    /// Whether more is known to come, of a session that goes on or of a log that is still read.
    pub fn set_more_comes(&mut self, more_comes: bool) {
        self.more_comes = more_comes;
    }

    /// Begins anew, for another session that is played in the same manner.
    pub fn forget_session(&mut self) {
        *self = Player {
            clock: Clock::with_idle_limit(self.clock.idle_limit_ms()),
            types_whole: self.types_whole,
            more_comes: self.more_comes,
            speed: self.speed,
            skips_idle: self.skips_idle,
            loops: self.loops,
            pauses_on_markers: self.pauses_on_markers,
            ..Player::default()
        };
    }
}

/// Whole milliseconds; a time before the start is the start.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(ms: f64) -> u64 {
    ms.max(0.0) as u64
}
