//! Secrets, and what tells who somebody is, taken out of a session before it is handed to others.
//!
//! It goes in two rounds over the same events. [`Scan`] looks through all of them and gives a [`Plan`]: what was found, of
//! what kind, and where; [`Masker`] then writes each event with labels such as `[masked: github token #1]` in the place
//! of what the plan says. One round would not do: what is said at the end of a session (a whole token) tells what stands
//! cut at its beginning, and a text that came in pieces can be judged only when it is whole.
//!
//! What is masked before it is stored cannot wait for its end: [`LiveMasker`] takes the events of a session as they come, and
//! masks what tells itself by then; no names and addresses, which the session's own people may need.
//!
//! What is looked through are the strings of each event's line, keys and unknown fields too, as they read: with the
//! escapes of JSON undone, as often as there are any, and without a terminal's colours; and numbers whose names say
//! that they are passwords, in the place of which there are strings then. The same value always has the same label.
//! Nothing else of an event changes, neither its other numbers nor the order of its fields; but for the length of a
//! diff that its preview tells whole.
//!
//! Everything works in time that is linear in the text: there are no patterns, but words to begin at and runs of
//! characters. What a rule knows is in `rules`; how a text is taken apart, in `views` and `line`; pieces are put together
//! in `parts`.

mod answers;
mod assigned;
mod command;
mod context;
mod credentials;
mod entropy;
mod find;
mod finder;
mod flow;
mod flows;
mod keywords;
mod known;
mod labels;
mod line;
mod live;
mod masker;
mod named;
mod names;
mod parts;
mod personal;
mod phrase;
mod piped;
mod plan;
mod preview;
mod private_key;
mod quotes;
mod rules;
mod runs;
mod same;
mod spoken;
mod stated;
mod text;
mod value;
mod views;
mod waits;
mod within;
mod write;

pub use labels::kinds;
pub use live::{LiveMasker, Place as LivePlace};
pub use masker::Masker;
pub use plan::{KindFound, Place, Plan, Scan};
pub use same::is_masked_of;
pub use text::TextMasker;
