//! What moves a player: the commands, and what each does.

use super::{Player, State, whole};
use crate::playback::clock::exact;
use crate::playback::stops::Stops;
use crate::viewport::within;

/// The speeds there are; the last is as fast as the page draws.
pub const SPEEDS: [f64; 6] = [0.5, 1.0, 2.0, 5.0, 10.0, MAX_SPEED];
/// The speed called max.
pub const MAX_SPEED: f64 = 1000.0;

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

impl Player {
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

    pub(super) fn pause(&mut self) {
        self.waited |= self.state == State::ReplayPlaying && self.more_comes;
        if self.state == State::LiveFollowing {
            self.go_to_end();
        }
        self.state = match self.goes_on {
            true => State::LivePaused,
            false => State::ReplayPaused,
        };
    }

    pub(super) fn go_to(&mut self, n_events: u32) {
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

    pub(super) fn go_to_end(&mut self) {
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
}
