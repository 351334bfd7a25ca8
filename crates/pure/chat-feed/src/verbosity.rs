//! How much is told: the same three words in the feed and in the trace.

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Results, and what failed: prompts and answers in the feed.
    Quiet,
    /// One line a tool call; in the feed like rows are shown in company and settled work on one line.
    #[default]
    Normal,
    /// All of it, each by itself and opened.
    Verbose,
}
