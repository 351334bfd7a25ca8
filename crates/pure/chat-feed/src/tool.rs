//! Tool calls: what kinds there are, where a call stands, and the one line that is shown of it.

/// What sort of tool a call uses, alike for all providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Changes a file.
    Edit,
    /// Searches files.
    Search,
    /// Runs a command.
    Execute,
    /// Fetches from the net.
    Fetch,
    /// Thinks.
    Think,
    /// Starts another agent.
    Agent,
    /// Keeps the plan.
    Plan,
    /// Anything else.
    Other,
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// Its arguments are still being written.
    Preparing,
    /// It was called and has no result yet.
    Running,
    /// It gave a result.
    Succeeded,
    /// It gave an error.
    Failed,
    /// The turn was stopped before a result came.
    Interrupted,
    /// The turn ended without a result.
    NoResult,
}
