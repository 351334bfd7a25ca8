//! How many tokens there may be.

use std::collections::BTreeMap;
use std::path::Path;

use super::file::{MAX_REVOKED, MAX_TOKENS};
use super::*;
use crate::data_dir::try_write_private;
use crate::scope::Scope;

fn record(nth: usize, revoked_ms: Option<i64>) -> Record {
    Record {
        id: format!("t{nth}"),
        sha256: sha256_hex(nth.to_string().as_bytes()),
        scopes: vec![Scope::Read.word().to_owned()],
        session: None,
        label: None,
        created_ms: now_ms(),
        expires_ms: None,
        revoked_ms,
        share: false,
    }
}

fn fill(dir: &Path, n_held: usize, n_revoked: usize) {
    let held = (0..n_held).map(|nth| record(nth, None));
    let revoked = (n_held..n_held + n_revoked).map(|nth| record(nth, Some(now_ms())));
    let records: Vec<Record> = held.chain(revoked).collect();
    std::fs::write(file_of(dir), serde_json::to_string(&records).unwrap()).unwrap();
}

#[test]
fn a_token_that_is_taken_back_makes_room_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fill(dir, MAX_TOKENS, 5);
    let make = || create(dir, Wanted::default()).map(|_| ());
    assert!(make().unwrap_err().to_string().contains("revoke some"));
    assert_eq!(revoke(dir, |record| record.id == "t7").unwrap(), 1);
    make().unwrap();
    assert!(make().unwrap_err().to_string().contains("revoke some"));
    // Another server's has no room, until one is taken back there.
    let told = |records: &[Record]| -> BTreeMap<String, String> {
        let told = |record: &Record| (record.id.clone(), serde_json::to_string(record).unwrap());
        records.iter().map(told).collect()
    };
    let news = record(99_999, None);
    let merged = merge(dir, &told(std::slice::from_ref(&news))).unwrap();
    assert_eq!((merged.left_out, merged.is_changed), (1, false));
    let merged = merge(dir, &told(&[news, record(8, Some(now_ms()))])).unwrap();
    assert_eq!((merged.left_out, merged.is_changed), (0, true));
    let held = list(dir).unwrap();
    assert_eq!(held.len(), MAX_TOKENS);
    assert!(held.iter().any(|record| record.id == "t99999"));
}

#[test]
fn what_is_remembered_of_those_that_were_taken_back_has_an_end_as_well() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 1, MAX_REVOKED);
    let refused = create(dir.path(), Wanted::default())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("were revoked"), "{refused}");
    assert_eq!(list(dir.path()).unwrap().len(), 1);
}

/// Also where the clock has not moved on: a file that is replaced is another file.
#[test]
fn each_request_goes_by_what_the_file_says_now() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::new("startup", dir.path());
    assert!(tokens.find("startup").is_some());
    for _ in 0..50 {
        let (token, record) = create(dir.path(), Wanted::default()).unwrap();
        let grant = tokens.find(&token).unwrap();
        assert!(tokens.holds(&grant));
        assert_eq!(revoke(dir.path(), |it| it.id == record.id).unwrap(), 1);
        assert!(tokens.find(&token).is_none() && !tokens.holds(&grant));
    }
    // Of as many bytes, and of the same time.
    let (token, _) = create(dir.path(), Wanted::default()).unwrap();
    assert!(tokens.find(&token).is_some());
    let path = file_of(dir.path());
    let text = std::fs::read_to_string(&path).unwrap();
    let modified = path.metadata().unwrap().modified().unwrap();
    let other = text.replace(&sha256_hex(token.as_bytes()), &sha256_hex(b"another"));
    try_write_private(&path, other.as_bytes()).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    assert!(tokens.find(&token).is_none() && tokens.find("another").is_some());
}

#[test]
fn a_file_that_cannot_be_read_changes_nothing_and_one_that_can_counts_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::new("startup", dir.path());
    let (token, _) = create(dir.path(), Wanted::default()).unwrap();
    assert!(tokens.find(&token).is_some());
    let whole = std::fs::read(file_of(dir.path())).unwrap();
    try_write_private(&file_of(dir.path()), b"[").unwrap();
    assert!(tokens.find(&token).is_some() && tokens.find("nobody").is_none());
    try_write_private(&file_of(dir.path()), &whole).unwrap();
    let (other, _) = create(dir.path(), Wanted::default()).unwrap();
    assert!(tokens.find(&token).is_some() && tokens.find(&other).is_some());
}

/// A stream asks with each frame, which may be thousands a second.
#[test]
fn a_stream_goes_by_a_look_that_is_not_long_ago() {
    let dir = tempfile::tempdir().unwrap();
    let first = data_dir::rotate_token(dir.path()).unwrap();
    let tokens = Tokens::new(&first, dir.path());
    let grant = tokens.find(&first).unwrap();
    let looked_at = locked(&tokens.own).looked_at.unwrap();
    data_dir::rotate_token(dir.path()).unwrap();
    let is_due = |later| is_due(Some(looked_at), looked_at + later);
    assert!(!is_due(STREAMS_LOOK / 2) && is_due(STREAMS_LOOK));
    locked(&tokens.own).looked_at = None;
    assert!(!tokens.holds(&grant));
    // So with a token that was made, which thousands may have as a link.
    let (token, record) = create(dir.path(), Wanted::default()).unwrap();
    let grant = tokens.find(&token).unwrap();
    // As a look that was taken just now leaves it, however slow this machine is.
    let just_now = Instant::now() + STREAMS_LOOK * 100;
    locked(&tokens.made).looked_at = Some(just_now);
    revoke(dir.path(), |it| it.id == record.id).unwrap();
    assert!(tokens.holds(&grant));
    locked(&tokens.made).looked_at = None;
    assert!(!tokens.holds(&grant));
}

/// What is asked of a disk that hangs: nobody writes to the pipe that stands for the file, until somebody does.
#[test]
#[cfg(unix)]
fn a_disk_that_hangs_holds_up_one_who_asks_and_the_others_go_by_what_was_known() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::new("startup", dir.path());
    let (token, _) = create(dir.path(), Wanted::default()).unwrap();
    let grant = tokens.find(&token).unwrap();
    let path = file_of(dir.path());
    let text = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| tokens.find(&token).is_some());
        // Who comes while it is not known yet that it hangs waits a moment.
        while !tokens.looks.is_taken() && !hanging.is_finished() {
            std::thread::yield_now();
        }
        let answers = (
            tokens.find(&token).is_some() && tokens.find("nobody").is_none(),
            tokens.holds(&grant) && tokens.find("startup").is_some(),
            hanging.is_finished(),
        );
        std::fs::write(&path, &text).unwrap();
        assert_eq!(answers, (true, true, false));
        assert!(hanging.join().unwrap());
    });
    try_write_private(&path, b"[]").unwrap();
    assert!(tokens.find(&token).is_none());
}

#[test]
fn who_holds_the_file_for_ever_keeps_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let (_, record) = create(dir.path(), Wanted::default()).unwrap();
    let lock = std::fs::File::open(dir.path().join("tokens.lock")).unwrap();
    lock.lock().unwrap();
    let revoked = revoke(dir.path(), |it| it.id == record.id);
    assert!(revoked.unwrap_err().to_string().contains("holds them"));
    drop(lock);
    assert_eq!(revoke(dir.path(), |it| it.id == record.id).unwrap(), 1);
}
