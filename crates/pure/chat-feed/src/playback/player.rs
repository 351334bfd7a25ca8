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

use std::ops::Range;

use super::clock::{Clock, IDLE_LIMIT_MS, exact};
use super::stops::Stops;
use super::typing::{Typed, Typing};
use crate::block::EventIdx;
use crate::viewport::within;

/// The speeds there are; the last is as fast as the page draws.
pub const SPEEDS: [f64; 6] = [0.5, 1.0, 2.0, 5.0, 10.0, MAX_SPEED];
/// The speed called max.
pub const MAX_SPEED: f64 = 1000.0;
/// A page that was hidden or held up goes on where it was, and does not jump.
const LONGEST_FRAME_MS: f64 = 250.0;

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

/// What moves a player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Moves on by itself, from the start where it is at the end.
    Play,
    /// Stands still.
    Pause,
    /// The one or the other: what moves by itself stands still, and all else is played.
    Toggle,
    /// To the moment after exactly so many events.
    SeekTo(u32),
    /// To so many milliseconds into the replay, as near as there is; what a drag asks for.
    SeekNear(f64),
    /// So many milliseconds on, or back.
    SeekBy(f64),
    /// To the next place of a kind, or the one before.
    Step(Stop, Direction),
    /// Back to the newest, and with it.
    Live,
    /// Faster or slower.
    Speed(f64),
    /// The next speed, or the one before.
    Faster(Direction),
    /// Whether idle stretches are cut short.
    SkipIdle(bool),
    /// Whether it begins again at the end.
    Loop(bool),
    /// Whether playing pauses at each marker.
    PauseOnMarkers(bool),
}

impl Command {
    /// Whether it leads to another moment, or lets time go on; the others change how that is done, or end it.
    pub fn moves(self) -> bool {
        !matches!(
            self,
            Command::Pause
                | Command::Speed(_)
                | Command::Faster(_)
                | Command::SkipIdle(_)
                | Command::Loop(_)
                | Command::PauseOnMarkers(_)
        )
    }
}

/// What steps go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// An event, chunks of text included.
    Chunk,
    /// An event that shows more than a longer text.
    Event,
    /// A new row.
    Block,
    /// A turn.
    Turn,
    /// A prompt, an error, a permission, a compaction or an edit.
    Marker,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end.
    On,
    /// Towards the start.
    Back,
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
            types_whole: self.types_whole,
            more_comes: self.more_comes,
            speed: self.speed,
            skips_idle: self.skips_idle,
            loops: self.loops,
            pauses_on_markers: self.pauses_on_markers,
            ..Player::default()
        };
    }

    /// What a command asks for where it stands: of what is the one or the other, which.
    pub fn meant_by(&self, command: Command) -> Command {
        match command {
            Command::Toggle if self.moves() => Command::Pause,
            Command::Toggle => Command::Play,
            command => command,
        }
    }

    /// Does what is asked.
    pub fn perform(&mut self, command: Command, stops: &Stops) {
        match command {
            Command::Toggle => return self.perform(self.meant_by(command), stops),
            Command::Play => self.play(),
            Command::Pause => self.pause(),
            Command::SeekTo(n_events) => self.go_to(n_events),
            Command::SeekNear(played_ms) => self.go_near(played_ms),
            Command::SeekBy(by_ms) => self.go_near(self.played_ms() + by_ms),
            Command::Step(Stop::Chunk, Direction::On) => {
                self.go_to(self.n_events().saturating_add(1))
            }
            Command::Step(Stop::Chunk, Direction::Back) => {
                self.go_to(self.n_events().saturating_sub(1));
            }
            Command::Step(stop, direction) => {
                let to = stops.next(stop, direction, self.n_events());
                self.go_to(to.unwrap_or(match direction {
                    Direction::On => self.clock.n_events(),
                    Direction::Back => 0,
                }));
            }
            Command::Live => {
                self.go_to_end();
                self.waited = false;
                self.state = match self.goes_on {
                    true => State::LiveFollowing,
                    false => State::ReplayPaused,
                };
            }
            Command::Speed(speed) if speed > 0.0 => self.speed = speed.min(MAX_SPEED),
            Command::Speed(_) => {}
            Command::Faster(direction) => {
                let mut speeds = SPEEDS.into_iter();
                let next = match direction {
                    Direction::On => speeds.find(|speed| *speed > self.speed),
                    Direction::Back => speeds.rfind(|speed| *speed < self.speed),
                };
                self.speed = next.unwrap_or(self.speed);
            }
            Command::SkipIdle(skips) => self.skips_idle = skips,
            Command::Loop(loops) => self.loops = loops,
            Command::PauseOnMarkers(pauses) => self.pauses_on_markers = pauses,
        }
        if command.moves() {
            self.fit_axis();
        }
    }

    /// A frame is about to be drawn; whether there will be something else in the next.
    ///
    /// `now_ms` is any clock that does not run back; `stops` are those of the session that is played.
    pub fn advance(&mut self, now_ms: f64, stops: &Stops) -> bool {
        self.passed = 0..0;
        if self.state != State::ReplayPlaying {
            self.forget_frames();
            return false;
        }
        let last_ms = self.last_frame_ms.replace(now_ms);
        self.fit_axis();
        let (n_before, before_ms) = (self.n_events, self.played_ms);
        if n_before < self.clock.n_events() {
            let passed_ms = last_ms.map_or(0.0, |last_ms| {
                within(now_ms - last_ms, 0.0, LONGEST_FRAME_MS)
            });
            // What was waited for at the newest of a session that goes on is not waited for again.
            let waited_since_ms = self.at_end_since_ms.take().filter(|_| self.goes_on);
            let waited_ms = waited_since_ms.map_or(0.0, |since_ms| now_ms - since_ms);
            self.move_on(passed_ms.max(waited_ms) * self.speed);
        }
        let passed = n_before..self.n_events;
        if self.pauses_on_markers
            && let Some(n_events) = self.marker_after(before_ms, passed.clone(), stops)
        {
            self.go_to(n_events);
            self.pause();
            self.passed = n_before..n_events;
            return false;
        }
        self.passed = passed;
        if self.n_events < self.clock.n_events() {
            return true;
        }
        self.go_to_end();
        let since_ms = *self.at_end_since_ms.get_or_insert(now_ms);
        if self.more_comes {
            return false;
        }
        if self.loops && self.clock.length_ms() > 0 {
            // The end is to be seen, too.
            if now_ms - since_ms >= exact(IDLE_LIMIT_MS) {
                (self.n_events, self.played_ms) = (0, 0.0);
                self.at_end_since_ms = None;
            }
            return true;
        }
        self.pause();
        false
    }

    fn move_on(&mut self, by_ms: f64) {
        self.played_ms = if self.skips_idle {
            self.played_ms + by_ms
        } else {
            let elapsed_ms = self.clock.elapsed_at(self.played_ms);
            self.clock.played_of(elapsed_ms + by_ms)
        };
        self.n_events = self.clock.n_events_at(whole(self.played_ms));
    }

    /// The events that the last frame of playing brought; going elsewhere by hand brings none.
    pub fn passed(&self) -> Range<EventIdx> {
        self.passed.clone()
    }

    /// So many events show the first marker among those that lies behind a time: one at the very place where playing
    /// began would stop it before anything is played.
    fn marker_after(&self, played_ms: f64, among: Range<EventIdx>, stops: &Stops) -> Option<u32> {
        let markers = stops.markers_in(among).iter();
        let mut ends = markers.map(|marker| marker.event + 1);
        ends.find(|n_events| exact(self.clock.played_at(*n_events)) > played_ms)
    }

    fn play(&mut self) {
        if self.moves() {
            return;
        }
        let waits = self.more_comes && (self.goes_on || self.waited);
        if !waits && self.at_newest() {
            (self.n_events, self.played_ms) = (0, 0.0);
        }
        self.state = State::ReplayPlaying;
        self.forget_frames();
    }

    fn pause(&mut self) {
        self.waited |= self.state == State::ReplayPlaying && self.more_comes;
        if self.state == State::LiveFollowing {
            self.go_to_end();
        }
        self.state = match self.goes_on {
            true => State::LivePaused,
            false => State::ReplayPaused,
        };
    }

    fn go_to(&mut self, n_events: u32) {
        self.leave_live();
        self.n_events = n_events.min(self.clock.n_events());
        self.played_ms = exact(self.clock.played_at(self.n_events));
    }

    fn go_near(&mut self, played_ms: f64) {
        self.leave_live();
        self.played_ms = within(played_ms, 0.0, exact(self.clock.length_ms()));
        self.n_events = self.clock.n_events_at(whole(self.played_ms));
        // The very start is before everything.
        if played_ms <= 0.0 {
            self.n_events = 0;
        }
    }

    fn go_to_end(&mut self) {
        self.n_events = self.clock.n_events();
        self.played_ms = exact(self.clock.length_ms());
    }

    fn leave_live(&mut self) {
        self.waited = false;
        if self.state == State::LiveFollowing {
            self.pause();
        }
        self.forget_frames();
    }

    /// No time has passed where it goes on from.
    fn forget_frames(&mut self) {
        (self.last_frame_ms, self.at_end_since_ms) = (None, None);
    }
}

/// Whole milliseconds; a time before the start is the start.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(ms: f64) -> u64 {
    ms.max(0.0) as u64
}
