//! Time travel: what a session looked like at any moment, and how it comes to be played.
//!
//! - [`Moment`] is the feed as it was after the first *n* events, and what became of its rows on the way there.
//! - [`Clock`] knows when each event happened, with idle stretches cut short.
//! - [`Player`] decides which moment is shown: it plays, pauses, seeks, steps and returns to the newest.
//! - [`Stops`] are the places a reader goes to, chapters and what the page has [`Named`] among them, and [`strip`] what
//!   happened when, for a bar to draw.
//! - [`Typed`] is the beginning of a text that came whole, while it is typed at a made-up pace.
//!
//! Time comes in as a number and nothing here waits. What is played is never written: the log, the renderer and its feed
//! are only looked at.

mod chapters;
mod clock;
mod moment;
mod named;
mod player;
mod stops;
mod typing;

pub use clock::{Clock, Cut, IDLE_LIMIT_MS};
pub use moment::Moment;
pub use named::{MOST_NAMED, Named, NamedAt};
pub use player::{Command, Direction, MAX_SPEED, Player, SPEEDS, State, Stop};
pub use stops::{AgentSpan, Marker, MarkerKind, STRIP_KINDS, Stops, StripKind, strip};
pub use typing::Typed;
