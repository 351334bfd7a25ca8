//! What pipes that are gone left of a session: events that wait for the server, and would bring it back.

use std::path::Path;

use chat_capture::{Leftover, leftovers, sessions_named};
use chat_store::SessionId;

use crate::serve::spool_dir;

/// Removes files of the spool that have events of this session alone; how many. What a running pipe holds is not left, and
/// one that tells of others, too, is sent.
pub(crate) fn remove_waiting(data: &Path, id: &SessionId) -> usize {
    let is_named = |path: &Path| sessions_named(path).iter().any(|it| it == id.as_str());
    let mut paths = leftovers(&spool_dir(data));
    paths.retain(|path| is_named(path));
    let removed = paths.iter().filter(|path| remove_one(path, id));
    removed.count()
}

fn remove_one(path: &Path, id: &SessionId) -> bool {
    let Ok(Some(mut left)) = Leftover::open(path) else {
        return false;
    };
    loop {
        match left.next_batch() {
            Ok(Some(batch)) if batch.session_id == id.as_str() => {}
            Ok(None) => return left.remove().is_ok(),
            Ok(Some(_)) | Err(_) => return false,
        }
    }
}
