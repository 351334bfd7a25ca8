//! Copies that lost something, and homes that did.

use chat_store::{Error, Gap, ItemResult, Options, Store};

use super::{home_and_copy, of};
use crate::support::copying::{HOME, copied, copy_all, gaps, same};
use crate::support::server::fail_power;
use crate::support::{all, chunk, id, is_full, log_path, numbered, open, remove_beside};

#[test]
fn a_home_that_comes_back_becomes_a_copy_where_it_lost_nothing_and_begins_anew_where_it_went_on() {
    for went_on in [false, true] {
        let (home_dir, first, _copy_dir, second) = home_and_copy(5);
        copy_all(&of(&first), &of(&second), 5);
        of(&second).take_over().unwrap();
        let news = of(&second);
        news.append(vec![chunk(6)], false, 7).unwrap();
        if went_on {
            of(&first).append(vec![chunk(7)], false, 7).unwrap();
        }
        drop(first);
        fail_power(home_dir.path());
        let first = open(home_dir.path());
        let old = of(&first);
        assert_eq!(old.epochs().len(), 2, "it was not left on purpose");
        let copying = old.copy_from("second", &news.epochs());
        if went_on {
            let refused = copying.unwrap_err();
            let Error::Parted {
                head: 6,
                shared_up_to: 5,
            } = refused
            else {
                panic!("{refused}");
            };
            assert_eq!(old.home(), None);
            old.append(vec![chunk(8)], false, 7).unwrap();
            old.begin_anew("second", &news.position().0).unwrap();
            let aside = home_dir.path().join(format!("{}.aside-1", id("s1").stem()));
            let aside = std::fs::read_to_string(aside).unwrap();
            assert!(["e1", "e7", "e8"].iter().all(|id| aside.contains(id)));
        } else {
            copying.unwrap();
        }
        assert_eq!(old.home().as_deref(), Some("second"));
        let mut part = copied(&news, old.position().1, 100);
        part.home = "second".to_owned();
        old.append_copied(part).unwrap();
        same(&news, &old);
        drop((old, first));
        same(&news, &of(&open(home_dir.path())));
    }
}

#[test]
fn a_home_that_lost_its_end_is_copied_anew_and_the_old_copy_is_set_aside() {
    let options = Options {
        segment_bytes: 1500,
        ..Options::default()
    };
    let (home_dir, home, copy_dir, copy) = home_and_copy(30);
    drop(copy);
    let copy = Store::open(copy_dir.path(), options).unwrap();
    copy_all(&of(&home), &of(&copy), 7);
    drop(home);
    let text = std::fs::read_to_string(log_path(home_dir.path())).unwrap();
    let kept: Vec<&str> = text.lines().take(26).collect();
    std::fs::write(log_path(home_dir.path()), kept.join("\n") + "\n").unwrap();
    remove_beside(home_dir.path(), &[".idx"]);
    fail_power(home_dir.path());
    let home = open(home_dir.path());
    let there = of(&home);
    there.append(vec![chunk(99)], false, 7).unwrap();
    let here = of(&copy);
    let refused = here.append_copied(copied(&there, 25, 9));
    let Err(Error::Parted {
        head: 30,
        shared_up_to: 25,
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(all(&here), numbered(30), "it is what it was");
    let files: Vec<_> = crate::support::files_of(copy_dir.path());
    assert!(files.len() > 2, "{files:?}");
    let bytes = |names: &[String]| -> Vec<Vec<u8>> {
        let read = names
            .iter()
            .map(|name| std::fs::read(copy_dir.path().join(name)).unwrap());
        read.collect()
    };
    let before = bytes(&files);
    here.begin_anew(HOME, &there.position().0).unwrap();
    assert_eq!(here.position(), (there.position().0, 0));
    let aside: Vec<_> = files
        .iter()
        .map(|name| name.replace(".events.jsonl", ".aside-1"))
        .collect();
    assert_eq!(bytes(&aside), before);
    copy_all(&there, &here, 7);
    same(&there, &here);
    // And once more.
    here.begin_anew(HOME, &there.position().0).unwrap();
    copy_all(&there, &here, 7);
    drop((here, copy));
    let copy = Store::open(copy_dir.path(), options).unwrap();
    same(&there, &of(&copy));
    assert_eq!(copy.sessions().len(), 1);
    let second = copy_dir.path().join(format!("{}.aside-2", id("s1").stem()));
    assert!(second.exists());
}

#[test]
fn a_copy_of_which_only_the_beginning_is_left_is_copied_on_from_there() {
    let options = Options {
        segment_bytes: 1500,
        ..Options::default()
    };
    let (_home_dir, home, copy_dir, copy) = home_and_copy(60);
    drop(copy);
    let there = of(&home);
    for step in 0.. {
        let copy = Store::open(copy_dir.path(), options).unwrap();
        let here = copy
            .session_or_copy(&id("s1"), HOME, &there.position().0)
            .unwrap();
        assert_eq!(here.home().as_deref(), Some(HOME), "step {step}");
        let head = here.position().1;
        assert_eq!(all(&here), numbered(head), "step {step}");
        copy_all(&there, &here, 7);
        same(&there, &here);
        drop((here, copy));
        // The files go by hand, the newest first.
        let mut files = crate::support::files_of(copy_dir.path());
        files.reverse();
        let n_files = files.len();
        remove_beside(copy_dir.path(), &[".idx", ".manifest"]);
        for name in files.into_iter().take(step) {
            std::fs::remove_file(copy_dir.path().join(name)).unwrap();
        }
        if step == n_files {
            break;
        }
    }
}

#[test]
fn a_copy_that_is_cut_anywhere_is_copied_on_from_there() {
    let (_home_dir, home, copy_dir, copy) = home_and_copy(8);
    let there = of(&home);
    copy_all(&there, &of(&copy), 3);
    drop(copy);
    let path = log_path(copy_dir.path());
    let whole = std::fs::read(&path).unwrap();
    for cut in (0..=whole.len()).step_by(if is_full() { 1 } else { 5 }) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        if cut % 2 == 0 {
            fail_power(copy_dir.path());
        }
        if cut % 3 == 0 {
            remove_beside(copy_dir.path(), &[".idx"]);
        }
        let copy = open(copy_dir.path());
        let here = copy
            .session_or_copy(&id("s1"), HOME, &there.position().0)
            .unwrap();
        assert_eq!(here.home().as_deref(), Some(HOME), "cut at {cut}");
        assert_eq!(all(&here), numbered(here.position().1), "cut at {cut}");
        copy_all(&there, &here, 3);
        same(&there, &here);
        drop((here, copy));
        same(&there, &of(&open(copy_dir.path())));
        remove_beside(copy_dir.path(), &[".torn-"]);
    }
}

#[test]
fn a_copy_that_somebody_else_cuts_or_takes_away_is_copied_again() {
    let (_home_dir, home, copy_dir, copy) = home_and_copy(8);
    let (there, here) = (of(&home), of(&copy));
    let path = log_path(copy_dir.path());
    for harm in 0..2 {
        copy_all(&there, &here, 3);
        match harm {
            0 => {
                let text = std::fs::read_to_string(&path).unwrap();
                let kept: Vec<&str> = text.lines().take(4).collect();
                std::fs::write(&path, kept.join("\n") + "\n").unwrap();
            }
            _ => std::fs::remove_file(&path).unwrap(),
        }
        let refused = here.append_copied(copied(&there, 7, 3));
        let expected = if harm == 0 { 4 } else { 1 };
        assert!(
            matches!(refused, Err(Error::Lacking { expected: it, .. }) if it == expected),
            "{refused:?}"
        );
        assert_eq!(here.home().as_deref(), Some(HOME));
        copy_all(&there, &here, 3);
        same(&there, &here);
    }
}

#[test]
fn a_copy_with_a_damaged_end_has_no_epoch_of_its_own() {
    let (_home_dir, home, copy_dir, copy) = home_and_copy(8);
    let there = of(&home);
    copy_all(&there, &of(&copy), 3);
    drop(copy);
    let path = log_path(copy_dir.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() - 40;
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    for has_index in [true, false] {
        if !has_index {
            remove_beside(copy_dir.path(), &[".idx"]);
        }
        let copy = open(copy_dir.path());
        let here = of(&copy);
        assert_eq!(here.position().0, there.position().0);
        copy_all(&there, &here, 3);
        assert_eq!(all(&here), numbered(8));
        assert_eq!(here.position(), there.position());
    }
}

#[test]
fn what_a_copy_lost_within_is_told_as_a_gap_and_is_there_again_when_it_is_begun_anew() {
    let (_home_dir, home, copy_dir, copy) = home_and_copy(8);
    let there = of(&home);
    copy_all(&there, &of(&copy), 3);
    drop(copy);
    let path = log_path(copy_dir.path());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("word 5", "word 6")).unwrap();
    let copy = open(copy_dir.path());
    let here = of(&copy);
    let gap = Gap {
        from: 5,
        to: 5,
        why: "disk",
    };
    assert_eq!(gaps(&here), (vec![gap], false));
    // Nothing is said of what is lost here.
    let again = here.append_copied(copied(&there, 3, 4)).unwrap();
    assert_eq!(again.results[1], ItemResult::Duplicate { seq: 5 });
    here.begin_anew(HOME, &there.position().0).unwrap();
    copy_all(&there, &here, 3);
    same(&there, &here);
}
