//! The feed: all rows in order, with their turns, responses and texts. Only [`crate::ChatRenderer`] changes it.
