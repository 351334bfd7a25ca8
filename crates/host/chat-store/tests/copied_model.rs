//! The law of copies: whatever becomes of a home and of its copy, and however what is copied is cut, once the copy has what
//! the home has nobody can tell the two apart.

use std::path::Path;
use std::sync::Arc;

use crate::support::copying::{ALL, HOME, copied, copy_all, has_more, same};
use crate::support::server::{Server, cut, fail_power, lose_the_end};
use crate::support::{Dice, chunk, files_of, id, is_full, remove_beside};
use chat_store::{Copied, Error, Session};

/// Flips a bit of an event that the copy has not.
fn damage(dir: &Path, head: u64, dice: &mut Dice) {
    let mut places = Vec::new();
    for name in files_of(dir) {
        let bytes = std::fs::read(dir.join(&name)).unwrap();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let seq = text.strip_prefix("{\"seq\":").and_then(|rest| {
                let (seq, _) = rest.split_once(',')?;
                seq.parse::<u64>().ok()
            });
            if seq.is_some_and(|seq| seq > head) {
                places.push((name.clone(), at + 9 + dice.below(line.len() - 10)));
            }
            at += line.len();
        }
    }
    // The index would still count what is damaged.
    remove_beside(dir, &[".idx"]);
    if places.is_empty() {
        return;
    }
    let (name, at) = places.swap_remove(dice.below(places.len()));
    let mut bytes = std::fs::read(dir.join(&name)).unwrap();
    bytes[at] ^= 1 << dice.below(7);
    std::fs::write(dir.join(name), bytes).unwrap();
}

/// The copy, whatever was lost of what says that it is one.
fn copy_of(copier: &Server, home: &Session) -> Arc<Session> {
    let (epoch, _) = home.position();
    let copy = copier
        .store()
        .session_or_copy(&id("s1"), HOME, &epoch)
        .unwrap();
    if copy.home().is_none() && copy.copy_from(HOME, &home.epochs()).is_err() {
        copy.begin_anew(HOME, &epoch).unwrap();
    }
    copy
}

/// Tells the copy a part, from anywhere.
fn tell(copy: &Arc<Session>, home: &Session, part: Copied) {
    match copy.append_copied(part) {
        Ok(appended) => {
            assert_eq!(appended.epoch, copy.position().0);
            assert_eq!(appended.summary, *copy.summary());
        }
        Err(Error::Lacking { expected, found }) => {
            assert!(copy.position().1 < found && expected < found)
        }
        Err(Error::Parted { head, shared_up_to }) => {
            assert_eq!(head, copy.position().1);
            assert!(shared_up_to <= head);
        }
        Err(why) => panic!("{why}; the home is at {:?}", home.position()),
    }
}

/// Brings the copy to where the home is, as a server does.
fn catch_up(copy: &Arc<Session>, home: &Session, dice: &mut Dice) {
    let (epoch, head) = copy.position();
    let told = copy.append_copied(copied(home, head, 1));
    match told {
        Ok(_) => {}
        Err(Error::Parted { .. }) => {
            assert_ne!(epoch, home.position().0);
            copy.begin_anew(HOME, &home.position().0).unwrap();
        }
        Err(why) => panic!("{why}"),
    }
    copy_all(home, copy, 1 + dice.below(9));
    if has_more(home, copy) {
        copy.begin_anew(HOME, &home.position().0).unwrap();
        copy_all(home, copy, 1 + dice.below(9));
    }
    same(home, copy);
}

fn play(seed: u64) {
    let mut dice = Dice::new(seed);
    let (mut home, mut copier) = (Server::new(), Server::new());
    let mut n_events = 0;
    let mut late: Vec<Copied> = Vec::new();
    home.store().session_or_new(&id("s1")).unwrap();
    for _ in 0..60 {
        let there = home.session();
        match dice.below(16) {
            0 => {
                drop(there);
                home.restart(&mut dice, |_, _| {});
            }
            1 => {
                drop(there);
                home.restart(&mut dice, |dir, _| fail_power(dir));
            }
            2 => {
                drop(there);
                home.restart(&mut dice, lose_the_end);
            }
            3 => {
                let head = copy_of(&copier, &there).position().1;
                drop(there);
                home.restart(&mut dice, |dir, dice| damage(dir, head, dice));
            }
            4 => copier.restart(&mut dice, |_, _| {}),
            5 => copier.restart(&mut dice, |dir, dice| {
                fail_power(dir);
                if !files_of(dir).is_empty() && dice.once_in(2) {
                    cut(dir, dice);
                }
                if dice.once_in(2) {
                    remove_beside(dir, &[".idx"]);
                }
            }),
            6 => {
                for server in [&home, &copier] {
                    let other = server.store().session_or_new(&id("s2")).unwrap();
                    other.page(ALL).unwrap();
                }
            }
            7..=10 => {
                let copy = copy_of(&copier, &there);
                let (_, head) = copy.position();
                let after = match dice.below(4) {
                    0 => dice.below(there.position().1 as usize + 1) as u64,
                    1 => head.saturating_sub(dice.below(9) as u64),
                    _ => head,
                };
                let part = copied(&there, after, dice.below(9));
                tell(&copy, &there, part.clone());
                late.push(part);
            }
            11 => {
                let copy = copy_of(&copier, &there);
                if !late.is_empty() {
                    let part = late[dice.below(late.len())].clone();
                    // It may be of an end that the home has lost.
                    if part.epochs.last() == copy.epochs().last() {
                        tell(&copy, &there, part);
                    }
                }
            }
            12 => catch_up(&copy_of(&copier, &there), &there, &mut dice),
            _ => {
                let n_new = 1 + dice.below(9) as u64;
                let events = (n_events + 1..=n_events + n_new).map(chunk).collect();
                n_events += n_new;
                there.append(events, false, n_events as i64).unwrap();
            }
        }
    }
    let (there, copy) = (home.session(), copy_of(&copier, &home.session()));
    catch_up(&copy, &there, &mut dice);
    drop(copy);
    remove_beside(copier.path(), &[".idx"]);
    copier.restart(&mut dice, |_, _| {});
    same(&there, &copier.session());
}

#[test]
fn a_copy_cannot_be_told_from_its_home_whatever_becomes_of_either() {
    for seed in 0..if is_full() { 2000 } else { 20 } {
        let played = std::panic::catch_unwind(|| play(seed));
        assert!(played.is_ok(), "seed {seed}");
    }
}
