#![allow(clippy::disallowed_macros, reason = "a test may say why it skips")]

use std::path::Path;

use super::super::index::{Before, Indexed};
use super::super::open::Opening;
use super::super::{Files, Log};
use crate::SessionId;

fn new_log(dir: &Path) -> Log {
    let id = SessionId::parse("s1").unwrap();
    Log::open(Opening {
        files: Files::of_one(dir, &id.stem()),
        id,
        segment_bytes: 1 << 20,
        why_new_epoch: None,
        least_head: 0,
        copy_of: None,
        use_index: true,
        now_ms: 5,
    })
    .unwrap()
}

#[test]
fn a_file_that_is_another_once_it_is_written_to_is_noted_before_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = new_log(dir.path());
    log.close(5).unwrap();
    log.file = None;
    let mark = log.newest.unwrap();
    let Some(older) = mark.born_before() else {
        eprintln!("skipped: files have no birth here");
        return;
    };
    // As a process found it before that never wrote to it.
    log.newest = Some(older);
    log.indexed = Indexed::default();
    std::fs::remove_file(log.files.index()).unwrap();
    log.appending().unwrap();
    let before = Before::of(&log.files, "s1").unwrap();
    assert!(!before.is_of_other_files(&log.files));
}

/// It is not put away before: how that went would be told to nobody.
#[test]
fn a_log_is_made_durable_until_all_have_ended_who_began() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = new_log(dir.path());
    log.unsynced = true;
    let first = log.begin_sync().unwrap().unwrap();
    // More came meanwhile, and another is at that.
    log.unsynced = true;
    let second = log.begin_sync().unwrap().unwrap();
    log.end_sync(first.run()).unwrap();
    assert!(log.is_syncing() && log.is_unsynced());
    log.end_sync(second.run()).unwrap();
    assert!(!log.is_syncing() && !log.is_unsynced());
}
