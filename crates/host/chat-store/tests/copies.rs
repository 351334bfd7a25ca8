//! Copies of a session's log: what they take, what they refuse, and who gives the numbers (F10).

mod harmed;

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use chat_event::payload::{Interrupt, SessionEnd, ToolResult};
use chat_event::{ChatEvent, Json};
use chat_store::{
    Copied, Epoch, Error, Gap, INLINE_BYTES, ItemResult, Options, Session, Store, SyncPolicy,
};

use crate::support::copying::{ALL, HOME, copied, copy_all, gaps, same};
use crate::support::server::fail_power;
use crate::support::{all, chunk, id, log_path, memory_dir, numbered, open, remove_beside};

/// A home with so many events, and an empty copy of it.
fn home_and_copy(n_events: u64) -> (tempfile::TempDir, Store, tempfile::TempDir, Store) {
    let (home_dir, copy_dir) = (memory_dir(), memory_dir());
    let (home, copy) = (open(home_dir.path()), open(copy_dir.path()));
    let session = home.session_or_new(&id("s1")).unwrap();
    for n in 1..=n_events {
        session.append(vec![chunk(n)], false, 5).unwrap();
    }
    let epoch = session.position().0;
    copy.session_or_copy(&id("s1"), HOME, &epoch).unwrap();
    (home_dir, home, copy_dir, copy)
}

fn of(store: &Store) -> Arc<Session> {
    store.session(&id("s1")).unwrap()
}

/// A line as another log may have it.
fn line_of(mut event: ChatEvent, seq: u64) -> String {
    event.seq = Some(seq);
    event.to_line_with_checksum()
}

#[test]
fn a_copy_has_the_epoch_the_numbers_and_the_bytes_of_its_home() {
    let (_home_dir, home, copy_dir, copy) = home_and_copy(9);
    let (home, copied_here) = (of(&home), of(&copy));
    assert_eq!(copied_here.position(), (home.position().0, 0));
    let appended = copied_here.append_copied(copied(&home, 0, 100)).unwrap();
    assert_eq!(appended.stored.len(), 9);
    assert_eq!(appended.epoch, home.position().0);
    assert_eq!(appended.summary, *home.summary());
    let page = home.page(ALL).unwrap();
    let lines: Vec<_> = appended.stored.iter().map(|it| it.line.clone()).collect();
    assert_eq!(lines, page.lines);
    let text = std::fs::read_to_string(log_path(copy_dir.path())).unwrap();
    assert!(lines.iter().all(|line| text.contains(line)));
    same(&home, &copied_here);
}

#[test]
fn what_is_known_is_left_out_however_it_is_cut() {
    let (_home_dir, home, _copy_dir, copy) = home_and_copy(20);
    let (home, copy) = (of(&home), of(&copy));
    copy.append_copied(copied(&home, 0, 7)).unwrap();
    let again = copy.append_copied(copied(&home, 3, 9)).unwrap();
    let expected: Vec<_> = (4..=7).map(|seq| ItemResult::Duplicate { seq }).collect();
    assert_eq!(again.results[..4], expected);
    assert_eq!(again.stored.len(), 5);
    let again = copy.append_copied(copied(&home, 0, 12)).unwrap();
    assert_eq!(again.stored.len(), 0);
    copy_all(&home, &copy, 5);
    same(&home, &copy);
    // Some of them, and none.
    let mut part = copied(&home, 0, 20);
    part.lines = vec![part.lines[2].clone(), part.lines[17].clone()];
    assert_eq!(copy.append_copied(part.clone()).unwrap().results.len(), 2);
    part.lines.clear();
    assert!(copy.append_copied(part).unwrap().results.is_empty());
    same(&home, &copy);
}

#[test]
fn a_number_that_does_not_follow_is_refused_unless_those_between_cannot_be_had() {
    let (_home_dir, home, _copy_dir, copy) = home_and_copy(20);
    let (home, copy) = (of(&home), of(&copy));
    copy.append_copied(copied(&home, 0, 3)).unwrap();
    let refused = copy.append_copied(copied(&home, 5, 3));
    let Err(Error::Lacking {
        expected: 4,
        found: 6,
    }) = refused
    else {
        panic!("{refused:?}");
    };
    let gap = |from, to| Gap {
        from,
        to,
        why: "disk",
    };
    let mut part = copied(&home, 5, 3);
    // Not all of them are said to be missing.
    part.gaps = vec![gap(4, 4)];
    let refused = copy.append_copied(part.clone());
    let Err(Error::Lacking {
        expected: 5,
        found: 6,
    }) = refused
    else {
        panic!("{refused:?}");
    };
    // A gap that does not follow.
    part.gaps = vec![gap(4, 5), gap(12, 13)];
    let refused = copy.append_copied(part.clone());
    let Err(Error::Lacking {
        expected: 9,
        found: 12,
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(copy.position().1, 3, "nothing was written");
    part.gaps = vec![gap(2, 4), gap(5, 7), gap(9, 9)];
    copy.append_copied(part).unwrap();
    assert_eq!(copy.position().1, 9);
    assert_eq!(gaps(&copy), (vec![gap(4, 5), gap(9, 9)], false));
    // What nobody waits for ends at once.
    let n_looks = Cell::new(0);
    let stop = || {
        n_looks.set(n_looks.get() + 1);
        ControlFlow::Break(())
    };
    copy.gaps(9, &stop).unwrap();
    assert_eq!(n_looks.get(), 1);
    assert_eq!(copy.page(ALL).unwrap().gaps, [gap(4, 5), gap(9, 9)]);
    copy_all(&home, &copy, 5);
    assert_eq!(copy.position(), home.position());
}

#[test]
fn what_is_no_line_of_the_log_is_refused_whole() {
    let (_home_dir, home, _copy_dir, copy) = home_and_copy(5);
    let (home, copy) = (of(&home), of(&copy));
    copy.append_copied(copied(&home, 0, 2)).unwrap();
    let whole = copied(&home, 2, 3);
    let other = |line: &str| line.replace("word 4", "word 5");
    let theirs = ChatEvent::new("e4", 4, "s2", Interrupt::default());
    let control = std::fs::read_to_string(log_path(_home_dir.path())).unwrap();
    let control = control.lines().next().unwrap().to_owned();
    let bad = [
        other(&whole.lines[1]),
        line_of(theirs, 4),
        chunk(4).to_line_with_checksum(),
        whole.lines[1].replace(",\"c\":", ",\"d\":"),
        format!("{}\n{}", whole.lines[1], whole.lines[2]),
        whole.lines[0].clone(),
        control,
        String::new(),
    ];
    for line in bad {
        let mut part = whole.clone();
        part.lines[1] = line.clone();
        let refused = copy.append_copied(part);
        assert!(
            matches!(refused, Err(Error::BadLine { at: 1, .. })),
            "{line}: {refused:?}"
        );
        assert_eq!(all(&copy), numbered(2));
    }
    copy.append_copied(whole).unwrap();
    same(&home, &copy);
}

#[test]
fn another_event_under_a_known_number_is_named() {
    let (_home_dir, home, _copy_dir, copy) = home_and_copy(5);
    let (home, copy) = (of(&home), of(&copy));
    copy.append_copied(copied(&home, 0, 3)).unwrap();
    let mut part = copied(&home, 0, 5);
    part.lines[1] = line_of(chunk(7), 2);
    let refused = copy.append_copied(part);
    assert!(
        matches!(refused, Err(Error::Differs { seq: 2 })),
        "{refused:?}"
    );
    assert_eq!(all(&copy), numbered(3));
    // What tells of the line alone makes no other event of it.
    let mut part = copied(&home, 0, 5);
    part.lines[1] = line_of(chunk(2), 2);
    assert_eq!(copy.append_copied(part).unwrap().stored.len(), 2);
    same(&home, &copy);
}

#[test]
fn a_copy_gives_no_number_until_it_takes_over_and_then_under_an_epoch_of_its_own() {
    let (_home_dir, home, copy_dir, store) = home_and_copy(5);
    let (home, copy) = (of(&home), of(&store));
    copy_all(&home, &copy, 5);
    let refused = copy.append(vec![chunk(6)], false, 7);
    assert!(matches!(refused, Err(Error::IsCopy { home }) if home == HOME));
    let mut part = copied(&home, 0, 5);
    part.home = "another".to_owned();
    let refused = copy.append_copied(part);
    assert!(matches!(refused, Err(Error::NotItsCopy { copy_of: Some(it), .. }) if it == HOME));
    assert_eq!(home.home(), None);
    let refused = home.append_copied(copied(&home, 0, 5));
    assert!(matches!(
        refused,
        Err(Error::NotItsCopy { copy_of: None, .. })
    ));
    // Put away, after a kill, and after another boot it is still one.
    drop((copy, store));
    fail_power(copy_dir.path());
    let store = open(copy_dir.path());
    let copy = of(&store);
    assert_eq!(copy.home().as_deref(), Some(HOME));
    assert!(copy.append(vec![chunk(6)], false, 7).is_err());
    same(&home, &copy);
    copy.take_over().unwrap();
    let (epoch, head) = copy.position();
    assert_eq!((copy.home(), head), (None, 5));
    assert_ne!(epoch, home.position().0);
    assert_eq!(copy.summary().epoch, epoch);
    copy.take_over().unwrap();
    assert_eq!(copy.position().0, epoch, "it has already");
    let appended = copy.append(vec![chunk(5), chunk(6)], false, 7).unwrap();
    assert_eq!(appended.results[0], ItemResult::Duplicate { seq: 5 });
    assert_eq!((appended.stored[0].seq, &appended.epoch), (6, &epoch));
    // What the old home tells late is not its any more.
    assert!(copy.append_copied(copied(&home, 0, 5)).is_err());
    drop((copy, store));
    let store = open(copy_dir.path());
    assert_eq!(of(&store).home(), None);
    assert_eq!(of(&store).position(), (epoch, 6));
}

#[test]
fn a_copy_that_is_stopped_while_it_takes_over_has_done_so_or_not() {
    let (_home_dir, home, copy_dir, store) = home_and_copy(3);
    let there = of(&home);
    copy_all(&there, &of(&store), 5);
    let path = log_path(copy_dir.path());
    let before = std::fs::metadata(&path).unwrap().len() as usize;
    of(&store).take_over().unwrap();
    let taken = of(&store).position();
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for cut in before..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        remove_beside(copy_dir.path(), &[".idx", ".torn-"]);
        let store = open(copy_dir.path());
        let here = of(&store);
        if cut + 1 < whole.len() {
            assert_eq!(here.home().as_deref(), Some(HOME), "cut at {cut}");
            same(&there, &here);
        } else {
            assert_eq!((here.home(), here.position()), (None, taken.clone()));
        }
    }
}

#[test]
fn what_is_copied_is_as_durable_as_what_is_appended() {
    for (sync, synced) in [(SyncPolicy::Always, true), (SyncPolicy::EverySecond, false)] {
        let (_home_dir, home, copy_dir, copy) = home_and_copy(3);
        drop(copy);
        let options = Options {
            sync,
            ..Options::default()
        };
        let copy = Store::open(copy_dir.path(), options).unwrap();
        let here = of(&copy);
        let appended = here.append_copied(copied(&of(&home), 0, 9)).unwrap();
        assert_eq!(appended.synced, synced);
        // What is synced each second may be by now.
        assert!(here.condition().synced || !synced);
        let begun = std::time::Instant::now();
        while !here.condition().synced {
            assert!(begun.elapsed().as_secs() < 30, "it is never synced");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

#[test]
fn a_copy_goes_on_under_the_epoch_of_its_home_and_none_before() {
    let (home_dir, home, copy_dir, copy) = home_and_copy(5);
    let epoch = of(&home).position().0;
    copy_all(&of(&home), &of(&copy), 5);
    let late = copied(&of(&home), 0, 100);
    drop(home);
    fail_power(home_dir.path());
    let home = open(home_dir.path());
    let there = of(&home);
    assert_ne!(there.position().0, epoch);
    there.append(vec![chunk(6)], false, 7).unwrap();
    // What the copy may have lost is copied again: its own boots make no epoch.
    drop(copy);
    fail_power(copy_dir.path());
    let copy = open(copy_dir.path());
    let here = of(&copy);
    assert_eq!(here.position(), (epoch.clone(), 5));
    // Nothing but the epoch is told.
    here.append_copied(copied(&there, 5, 0)).unwrap();
    assert_eq!(here.position(), (there.position().0, 5));
    let refused = here.append_copied(late);
    assert!(matches!(refused, Err(Error::Parted { .. })), "{refused:?}");
    copy_all(&there, &here, 5);
    same(&there, &here);
    let text = std::fs::read_to_string(log_path(copy_dir.path())).unwrap();
    assert_eq!(text.matches(r#""type":"log_epoch""#).count(), 1);
    // Without its index, too.
    drop((here, copy));
    remove_beside(copy_dir.path(), &[".idx"]);
    same(&there, &of(&open(copy_dir.path())));
}

#[test]
fn a_line_is_kept_whether_or_not_its_body_is_here() {
    let (_home_dir, home, _copy_dir, copy) = home_and_copy(0);
    let (there, here) = (of(&home), of(&copy));
    let body = "long ".repeat(INLINE_BYTES / 4);
    let payload = ToolResult {
        tool_call_id: "t".to_owned(),
        result: Json::string(&body),
        ..ToolResult::default()
    };
    let event = ChatEvent::new("long", 1, "s1", payload);
    there.append(vec![event], false, 7).unwrap();
    copy_all(&there, &here, 3);
    assert_eq!(
        there.page(ALL).unwrap().lines,
        here.page(ALL).unwrap().lines
    );
    let whole = there.event_whole("long").unwrap();
    assert_ne!(here.event_whole("long").unwrap(), whole);
    copy.blobs().put(body.as_bytes()).unwrap();
    same(&there, &here);
}

#[test]
fn a_log_that_was_compacted_at_its_home_is_the_same_to_its_copies() {
    let (home_dir, home, _copy_dir, copy) = home_and_copy(9);
    let there = of(&home);
    let end = ChatEvent::new("end", 10, "s1", SessionEnd::default());
    there.append(vec![end], false, 7).unwrap();
    let here = of(&copy);
    // Some of those that are folded, before.
    here.append_copied(copied(&there, 0, 4)).unwrap();
    drop((there, home));
    let compaction = chat_store::Compaction::prepare(home_dir.path(), &id("s1")).unwrap();
    assert!(compaction.commit().unwrap().is_shorter());
    let home = open(home_dir.path());
    let there = of(&home);
    let n_lines = there.page(ALL).unwrap().lines.len();
    assert!(n_lines < 10, "{n_lines}");
    copy_all(&there, &here, 50);
    assert_eq!(here.position(), there.position());
    assert_eq!(here.summary().events, 10);
    assert_eq!(gaps(&here), (vec![], false));
    for n in 1..=9 {
        let name = format!("e{n}");
        let [one, other] = [&there, &here].map(|session| {
            let mut event = session.event_whole(&name).unwrap().unwrap();
            event.recv = None;
            event
        });
        assert_eq!(one, other);
    }
    // From its beginning it is the same to the byte.
    here.begin_anew(HOME, &there.position().0).unwrap();
    copy_all(&there, &here, 50);
    same(&there, &here);
    let part = Copied {
        epochs: vec![Epoch {
            epoch: there.position().0,
            base: 0,
        }],
        ..copied(&there, 0, 50)
    };
    assert_eq!(here.append_copied(part).unwrap().stored.len(), 0);
}
