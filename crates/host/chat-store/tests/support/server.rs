//! Servers of one session, and what becomes of their folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat_store::{Options, Session, Store, SyncPolicy};

use super::{Dice, files_of, id, memory_dir};

/// Another session has the one log that may be open now and then.
const OPTIONS: Options = Options {
    sync: SyncPolicy::Never,
    // Some twenty events.
    segment_bytes: 3000,
    open_logs: 1,
};

/// One of the two servers.
pub(crate) struct Server {
    dir: tempfile::TempDir,
    store: Option<Store>,
}

impl Server {
    pub(crate) fn new() -> Self {
        let dir = memory_dir();
        let store = Some(Store::open(dir.path(), OPTIONS).unwrap());
        Server { dir, store }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    /// Of `s1`, where there is one.
    pub(crate) fn session(&self) -> Arc<Session> {
        self.store().session(&id("s1")).unwrap()
    }

    /// Stops the server in one way or another, does something to its folder, and starts it again.
    pub(crate) fn restart(&mut self, dice: &mut Dice, harm: impl FnOnce(&Path, &mut Dice)) {
        if dice.once_in(2) {
            self.store().close();
        }
        self.store = None;
        harm(self.path(), dice);
        self.store = Some(Store::open(self.path(), OPTIONS).unwrap());
    }
}

/// The next boot of a machine whose last server may not have left its logs on purpose.
pub(crate) fn fail_power(dir: &Path) {
    std::fs::write(dir.join("boot_id"), "another").unwrap();
}

/// Cuts the newest file anywhere.
pub(crate) fn cut(dir: &Path, dice: &mut Dice) {
    let path = newest(dir);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(dice.below(bytes.len() + 1));
    std::fs::write(&path, bytes).unwrap();
}

fn newest(dir: &Path) -> PathBuf {
    dir.join(files_of(dir).pop().unwrap())
}

/// The power goes at the home, and with it some of the end of its log.
pub(crate) fn lose_the_end(dir: &Path, dice: &mut Dice) {
    let path = newest(dir);
    let whole = std::fs::read(&path).unwrap();
    fail_power(dir);
    // What was stored behind an end on purpose was durable before it was told.
    let is_end = |line: &[u8]| String::from_utf8_lossy(line).contains("\"log_end\"");
    let mut durable = 0;
    let mut at = 0;
    let mut is_behind_end = false;
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if is_end(line) || is_behind_end || durable == 0 {
            durable = at;
        }
        is_behind_end = is_end(line);
    }
    let left = durable + dice.below(whole.len() - durable + 1);
    std::fs::write(&path, &whole[..left]).unwrap();
}
