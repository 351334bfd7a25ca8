//! Where the recordings, fixtures and corpora lie that are kept beside the project, and how a test does without them.

use std::path::PathBuf;

/// The folder of shared inputs: `TURNREEL_SHARED`, else `../shared`; `None`, said on stderr, where there is none.
pub(crate) fn shared(what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let path = folder.join(what);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no {what} in the shared folder (set TURNREEL_SHARED)");
    None
}
