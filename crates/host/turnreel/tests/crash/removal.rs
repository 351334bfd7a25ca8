//! Sessions that are being removed when all ends.

use std::path::Path;
use std::process::Command;

use super::{full, meddling, start};
use crate::support::chunks;

/// Adds `n` sessions of an event each; their ids.
pub(super) fn many_sessions(data: &Path, n: usize) -> Vec<String> {
    let mut server = start(data, "127.0.0.1:0", "never");
    let ids: Vec<String> = (0..n).map(|n| format!("m{n}")).collect();
    for id in &ids {
        assert_eq!(server.post(id, &chunks(1, 3)).0, 200);
    }
    server.stop();
    ids
}

pub(super) fn remove_all(
    mut command: Command,
    data: &Path,
    ids: &[String],
) -> std::process::Output {
    command
        .args(["remove", "--yes", "--force", "--data"])
        .arg(data);
    command.args(ids).output().unwrap()
}

#[test]
fn many_that_are_being_removed_when_all_ends_are_each_there_whole_or_not_at_all() {
    const N: usize = 12;
    let first = tempfile::tempdir().unwrap();
    let ids = many_sessions(first.path(), N);
    let n_files = |data: &Path, id: &str| {
        let names = std::fs::read_dir(data).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with(&format!("{id}-")))
            .count()
    };
    let whole: Vec<usize> = ids.iter().map(|id| n_files(first.path(), id)).collect();
    let n_unlinks = whole.iter().sum::<usize>() + N;
    let step = if full() { 1 } else { 9 };
    let mut n_left = Vec::new();
    let fsyncs = (1..=3).map(|when| format!("fsync:signal=KILL:when={when}"));
    let unlinks = (1..=n_unlinks).step_by(step);
    let unlinks = unlinks.map(|when| format!("unlink:signal=KILL:when={when}"));
    for inject in fsyncs.chain(unlinks) {
        let dir = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(first.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
            }
        }
        let Some(command) = meddling(&inject, &[]) else {
            return;
        };
        remove_all(command, dir.path(), &ids);
        drop(chat_store::Store::open(dir.path(), chat_store::Options::default()).unwrap());
        let left = ids.iter().zip(&whole).filter(|(id, whole)| {
            let n_files = n_files(dir.path(), id);
            assert!(n_files == 0 || n_files == **whole, "{id} at {inject}");
            n_files > 0
        });
        n_left.push(left.count());
    }
    // Stopped before anything is marked all are there; behind that none is.
    assert_eq!((n_left[0], n_left.last()), (0, Some(&0)), "{n_left:?}");
}
