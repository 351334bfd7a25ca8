//! Projections of the event log: what others want of a session, made from its events alone.
//!
//! Each is a struct that takes one event at a time and hands on what is finished, so that a log of any length can be
//! projected while it is read; a function of the same name does it for a slice. What is on screen is no projection of
//! this kind: that is [`crate::ChatRenderer`]'s.

pub mod trace;

pub use trace::to_tool_trace;
