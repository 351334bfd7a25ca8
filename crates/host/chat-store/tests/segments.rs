//! Logs of many files: full ones are sealed, and nobody who reads the log sees where one ends and the next begins.

use std::path::{Path, PathBuf};

use crate::support::{all, chunk, id, log_path, numbered, remove_beside};
use chat_event::ChatEvent;
use chat_store::{ItemResult, Options, PageRequest, Store, SyncPolicy, sha256_hex};

/// A few events each.
const SEGMENT_BYTES: u64 = 1500;

fn open(dir: &Path) -> Store {
    let options = Options {
        sync: SyncPolicy::Never,
        segment_bytes: SEGMENT_BYTES,
        ..Options::default()
    };
    Store::open(dir, options).unwrap()
}

fn fill(dir: &Path, n_events: u64) {
    let store = open(dir);
    let session = store.session_or_new(&id("s1")).unwrap();
    for n in 1..=n_events {
        session.append(vec![chunk(n)], false, 1000).unwrap();
    }
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let newest = log_path(dir);
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".events.jsonl") && *path != newest)
        .collect();
    paths.sort();
    paths
}

fn manifest(dir: &Path) -> serde_json::Value {
    let path = dir.join(format!("{}.manifest.json", id("s1").stem()));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_log_of_many_files_reads_as_one() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 60);
    assert!(segments(dir.path()).len() > 4);
    for keep_index in [true, false] {
        if !keep_index {
            remove_beside(dir.path(), &[".idx"]);
        }
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        assert_eq!(all(&session), numbered(60), "index: {keep_index}");
        assert_eq!(session.damaged_lines(), 0);
        for after in 0..60 {
            let request = PageRequest {
                after,
                limit: 3,
                max_bytes: 1 << 20,
            };
            let page = session.page(request).unwrap();
            let first = ChatEvent::from_json(&page.lines[0]).unwrap();
            assert_eq!((first.seq, page.gaps.len()), (Some(after + 1), 0));
        }
        let again = session.append(vec![chunk(2), chunk(59)], false, 7).unwrap();
        let dups = [2, 59].map(|seq| ItemResult::Duplicate { seq });
        assert_eq!(again.results, dups);
        let one = session.event_whole("e7").unwrap().unwrap();
        assert_eq!(one.seq, Some(7));
    }
}

#[test]
fn files_in_the_order_of_their_names_are_the_log_in_its_order() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 60);
    let mut paths = segments(dir.path());
    paths.push(log_path(dir.path()));
    let mut in_order = paths.clone();
    in_order.sort();
    assert_eq!(paths, in_order, "the newest file comes last");
    let mut seqs = Vec::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let first = text.lines().next().unwrap();
        assert!(first.contains(r#""type":"log_start""#), "{first}");
        for line in text.lines() {
            let event = ChatEvent::from_json(line).unwrap();
            seqs.extend(event.seq.filter(|seq| *seq > 0));
        }
    }
    assert_eq!(seqs, (1..=60).collect::<Vec<_>>());
}

#[test]
fn the_manifest_says_what_is_in_each_sealed_file() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 60);
    let path = dir
        .path()
        .join(format!("{}.manifest.json", id("s1").stem()));
    for lost in [false, true] {
        if lost {
            std::fs::remove_file(&path).unwrap();
            remove_beside(dir.path(), &[".idx"]);
            drop(open(dir.path()));
        }
        let manifest = manifest(dir.path());
        let entries = manifest["segments"].as_array().unwrap();
        let files = segments(dir.path());
        assert_eq!(entries.len(), files.len());
        let mut next = 1;
        for (entry, file) in entries.iter().zip(&files) {
            let bytes = std::fs::read(file).unwrap();
            assert_eq!(entry["file"], file.file_name().unwrap().to_str().unwrap());
            assert_eq!(entry["sha256"], sha256_hex(&bytes));
            assert_eq!(entry["bytes"], bytes.len());
            assert_eq!(entry["firstSeq"], next);
            next += entry["events"].as_u64().unwrap();
            assert_eq!(entry["lastSeq"], next - 1);
        }
    }
}

/// The state of the folder after each step of sealing, made by hand: a stop there loses nothing and seals again.
#[test]
fn a_stop_at_any_step_of_sealing_is_recovered_from() {
    let ending = ".events.jsonl";
    for step in 0..6 {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path(), 30);
        let files = segments(dir.path());
        let last = files.last().unwrap().clone();
        let newest = log_path(dir.path());
        let stem = id("s1").stem();
        let manifest_path = dir.path().join(format!("{stem}.manifest.json"));
        let tail = std::fs::read_to_string(&newest).unwrap();
        let n_tail = tail.lines().count() as u64 - 1;
        let mut expected = 30;
        match step {
            // Full, and not renamed yet: its manifest entry is not written either.
            0 => {
                std::fs::rename(&last, &newest).unwrap();
                std::fs::remove_file(&manifest_path).unwrap();
                expected -= n_tail;
            }
            // Renamed, and there is no new file.
            1 => {
                std::fs::remove_file(&newest).unwrap();
                std::fs::remove_file(&manifest_path).unwrap();
                expected -= n_tail;
            }
            // The new file is there and empty, or its first line is half written.
            2 | 3 => {
                let half = if step == 2 { 0 } else { 40 };
                std::fs::write(&newest, &tail[..half]).unwrap();
                expected -= n_tail;
            }
            // The manifest was written beside its place, and half.
            4 => {
                std::fs::write(manifest_path.with_extension("json.new"), "{").unwrap();
                std::fs::write(&manifest_path, "{\"segm").unwrap();
            }
            // The index was written half.
            _ => {
                std::fs::write(dir.path().join(format!("{stem}.idx")), "TURNIDX3").unwrap();
                std::fs::write(dir.path().join(format!("{stem}.idx.new")), "T").unwrap();
            }
        }
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        assert_eq!(all(&session), numbered(expected), "step {step}");
        for n in expected + 1..=expected + 20 {
            session.append(vec![chunk(n)], false, 7).unwrap();
        }
        assert_eq!(all(&session), numbered(expected + 20), "step {step}");
        assert!(newest.exists() && segments(dir.path()).len() > files.len());
        let entries = manifest(dir.path())["segments"].as_array().unwrap().len();
        assert_eq!(entries, segments(dir.path()).len(), "step {step}");
        drop((session, store));
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        assert_eq!(all(&session), numbered(expected + 20), "step {step}");
        let name = last.to_string_lossy().into_owned();
        assert!(name.ends_with(ending));
    }
}

#[test]
fn a_segment_that_is_gone_costs_its_events_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 60);
    let files = segments(dir.path());
    let held = |path: &Path| std::fs::read_to_string(path).unwrap().lines().count() as u64 - 1;
    let (n_first, n_second) = (held(&files[0]), held(&files[1]));
    // While the log is open, and before it is opened.
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    assert_eq!(all(&session).len(), 60);
    std::fs::remove_file(&files[1]).unwrap();
    let expected: Vec<_> = numbered(60)
        .into_iter()
        .filter(|(seq, _)| !(n_first + 1..=n_first + n_second).contains(seq))
        .collect();
    assert_eq!(all(&session), expected);
    drop((session, store));
    std::fs::remove_file(&files[0]).unwrap();
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    let expected = &expected[n_first as usize..];
    assert_eq!(all(&session), expected);
    assert_eq!(session.oldest(), n_first + n_second + 1);
    let appended = session.append(vec![chunk(61)], false, 7).unwrap();
    assert_eq!(appended.stored[0].seq, 61);
}

#[test]
fn a_segment_that_lost_its_last_newline_hides_no_line() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 60);
    let files = segments(dir.path());
    let text = std::fs::read(&files[1]).unwrap();
    std::fs::write(&files[1], &text[..text.len() - 1]).unwrap();
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    assert_eq!(all(&session), numbered(60));
}

#[test]
fn a_reader_is_not_led_astray_by_a_file_that_is_sealed_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    for n in 1..=5 {
        session.append(vec![chunk(n)], false, 7).unwrap();
    }
    let mut seen = Vec::new();
    let mut next = 6;
    session
        .walk(0, &mut |seq, _| {
            seen.push(seq);
            for _ in 0..10 {
                session.append(vec![chunk(next)], false, 7).unwrap();
                next += 1;
            }
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    assert_eq!(all(&session), numbered(55));
}

#[test]
fn a_log_that_could_not_be_opened_at_first_is_the_same_log_later() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 60);
    remove_beside(dir.path(), &[".idx"]);
    let (newest, aside) = (log_path(dir.path()), dir.path().join("aside"));
    std::fs::rename(&newest, &aside).unwrap();
    std::fs::create_dir(&newest).unwrap();
    let store = open(dir.path());
    assert_eq!(store.unopened_logs(), 1);
    std::fs::remove_dir(&newest).unwrap();
    std::fs::rename(&aside, &newest).unwrap();
    let session = store.session_or_new(&id("s1")).unwrap();
    let again = session.append(vec![chunk(2), chunk(61)], false, 7).unwrap();
    assert_eq!(again.results[0], ItemResult::Duplicate { seq: 2 });
    assert_eq!(again.stored[0].seq, 61);
    assert_eq!(all(&session), numbered(61));
}
