//! What a reader is told beside the bytes: of the session, and of the program's run.

use crate::emit::short_hash;

/// What the reader is told from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The session the events shall belong to; without it, the source's own id, mapped where it does not fit.
    pub session_id: Option<String>,
    /// What the user asked, where the source does not say it (`claude -p`).
    pub prompt: Option<String>,
    /// What tells this run of the program from others of the same session, where it is read while it runs: ids that a
    /// source only counts bear it, for a session that goes on in another run counts anew. What is read from a file has none,
    /// and gives the same ids each time.
    pub run: Option<String>,
    /// Where the program runs, where the source does not say it.
    pub cwd: Option<String>,
    /// Which program it is, by its name for people, where that is known and several write the same format.
    pub agent: Option<String>,
    /// What the session is called, where the source does not say it (`follow`, Copilot CLI and Kimi Code).
    pub title: Option<String>,
    /// The source's own id of its session, where a folder is called so and the source does not say it (`follow`, Kimi Code).
    pub native_id: Option<String>,
    /// What the session used, where that stands beside its own file, as its program writes it there (`follow`, Droid).
    pub used: Option<String>,
}

impl Context {
    /// [`Context::run`], short enough to stand in many ids.
    pub(crate) fn run_mark(&self) -> Option<String> {
        self.run.as_deref().map(short_hash)
    }
}
