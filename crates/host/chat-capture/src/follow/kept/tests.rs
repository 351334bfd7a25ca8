#![allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

use std::fs::File;

use super::written::{LEAST_CHANGES_BYTES, changes_of};
use super::*;

fn told(bytes: u64) -> Progress {
    let text = format!(r#"{{"bytes":{bytes},"head":0,"tail":0}}"#);
    serde_json::from_str(&text).unwrap()
}

/// A folder with so many sessions' files, and what was noted of them.
fn folder(n_files: usize) -> (tempfile::TempDir, Vec<PathBuf>, Kept) {
    let dir = tempfile::tempdir().unwrap();
    let mut kept = Kept::read(&dir.path().join("following.json"));
    let paths = (0..n_files).map(|nth| dir.path().join(format!("s{nth}.jsonl")));
    let paths: Vec<PathBuf> = paths.collect();
    for path in &paths {
        std::fs::write(path, "").unwrap();
        kept.put(path, told(1));
    }
    (dir, paths, kept)
}

#[test]
fn what_is_written_is_one_note_old_and_all_of_it_at_the_end() {
    let (dir, paths, mut kept) = folder(3);
    let at = dir.path().join("following.json");
    let read = |path: &PathBuf| Kept::read(&at).get(path).map(|it| it.main.bytes);
    kept.write(&at).unwrap();
    assert_eq!(read(&paths[0]), None);
    kept.put(&paths[0], told(2));
    kept.write(&at).unwrap();
    assert_eq!(read(&paths[0]), Some(1));
    kept.put(&paths[0], told(3));
    kept.write(&at).unwrap();
    assert_eq!(read(&paths[0]), Some(2));
    kept.forget(&paths[1]);
    kept.put_database(&paths[2], "o".to_owned(), Told::default());
    kept.write_all(&at).unwrap();
    assert_eq!((read(&paths[0]), read(&paths[1])), (Some(3), None));
    assert!(Kept::read(&at).database(&paths[2]).contains_key("o"));
}

#[test]
fn a_note_costs_what_changed_and_the_changes_never_grow_without_end() {
    let (dir, paths, mut kept) = folder(2000);
    let at = dir.path().join("following.json");
    let len = |path: &Path| std::fs::metadata(path).map_or(0, |it| it.len());
    kept.write_all(&at).unwrap();
    let snapshot = len(&at);
    let mut most = 0;
    let mut n_snapshots = 0;
    let mut number = Written::default().number;
    for bytes in 0..3000 {
        kept.put(&paths[7], told(bytes));
        kept.write(&at).unwrap();
        most = most.max(len(&changes_of(&at)));
        // It begins with its number.
        let mut head = [0; 30];
        std::io::Read::read_exact(&mut File::open(&at).unwrap(), &mut head).unwrap();
        let head = String::from_utf8_lossy(&head).into_owned();
        let now = head.bytes().filter(u8::is_ascii_digit);
        let now = now.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        n_snapshots += usize::from(now != number);
        number = now;
    }
    assert!(most <= 2 * snapshot + LEAST_CHANGES_BYTES, "{most}");
    assert!((1..6).contains(&n_snapshots), "{n_snapshots}");
    kept.write_all(&at).unwrap();
    let again = Kept::read(&at);
    assert_eq!(again.get(&paths[7]), Some(&told(2999)));
    assert_eq!(again.get(&paths[8]), Some(&told(1)));
}

#[test]
fn what_was_cut_off_or_is_of_another_snapshot_is_not_read_and_the_rest_is() {
    let (dir, paths, mut kept) = folder(2);
    let at = dir.path().join("following.json");
    kept.write_all(&at).unwrap();
    kept.put(&paths[0], told(2));
    kept.write_all(&at).unwrap();
    kept.put(&paths[1], told(3));
    kept.write_all(&at).unwrap();
    let changes = std::fs::read(changes_of(&at)).unwrap();
    for cut in 0..=changes.len() {
        std::fs::write(changes_of(&at), &changes[..cut]).unwrap();
        let again = Kept::read(&at);
        let bytes = |nth: usize| again.get(&paths[nth]).unwrap().main.bytes;
        assert!([1, 2].contains(&bytes(0)) && [1, 3].contains(&bytes(1)));
        assert!(cut < changes.len() || (bytes(0), bytes(1)) == (2, 3));
    }
    // As after a stop between the two files.
    let mut other = Kept::read(&at);
    let snapshot = std::fs::read(&at).unwrap();
    other.put(&paths[0], told(9));
    other.write_all(&at).unwrap();
    std::fs::write(changes_of(&at), &changes).unwrap();
    assert_eq!(Kept::read(&at).get(&paths[0]), Some(&told(9)));
    // Without a snapshot changes say nothing.
    std::fs::remove_file(&at).unwrap();
    assert!(!Kept::read(&at).has(&paths[0]));
    std::fs::write(&at, &snapshot[..snapshot.len() / 2]).unwrap();
    assert!(!Kept::read(&at).has(&paths[0]));
}

#[test]
fn what_could_not_be_written_is_made_good() {
    let (dir, paths, mut kept) = folder(1);
    let away = dir.path().join("away").join("following.json");
    assert!(kept.write_all(&away).is_err());
    kept.put(&paths[0], told(5));
    assert!(kept.write(&away).is_err() || kept.write(&away).is_err());
    std::fs::create_dir(dir.path().join("away")).unwrap();
    kept.write(&away).unwrap();
    kept.write(&away).unwrap();
    assert_eq!(Kept::read(&away).get(&paths[0]), Some(&told(5)));
}
