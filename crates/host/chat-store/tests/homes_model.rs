//! Servers that take a session over from each other, with and without the knowledge of the one that had it: a number of an
//! epoch is one event, wherever and whenever it is read, and in the end all have the same log.

use std::collections::HashMap;
use std::sync::Arc;

use crate::support::copying::{ALL, copied_of, same};
use crate::support::server::{Server, cut, fail_power, lose_the_end};
use crate::support::{Dice, chunk, id, is_full};
use chat_event::ChatEvent;
use chat_store::{Error, Session};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What was read under each number of each epoch.
#[derive(Default)]
struct Seen(HashMap<(String, u64), String>);

impl Seen {
    fn read(&mut self, session: &Session) {
        let page = session.page(ALL).unwrap();
        for (line, seq) in page.lines.iter().zip(page.numbers) {
            let event_id = ChatEvent::from_json(line).unwrap().id;
            let first = self
                .0
                .entry((page.epoch.clone(), seq))
                .or_insert(event_id.clone());
            assert_eq!(*first, event_id, "number {seq} of {}", page.epoch);
        }
    }
}

fn lines(session: &Session) -> Vec<String> {
    session.page(ALL).unwrap().lines
}

/// Has the copy take a part of the home's log, whatever it was before; whether it is up to it.
fn follow(copy: &Arc<Session>, name: &str, home: &Session, limit: usize) -> bool {
    let (epoch, _) = home.position();
    if copy.home().as_deref() != Some(name) && copy.copy_from(name, &home.epochs()).is_err() {
        copy.begin_anew(name, &epoch).unwrap();
    }
    let part = copied_of(name, home, copy.position().1, limit);
    match copy.append_copied(part) {
        Ok(_) => {}
        Err(Error::Parted { .. }) => copy.begin_anew(name, &epoch).unwrap(),
        Err(why) => panic!("{why}"),
    }
    copy.position() == home.position()
}

fn play(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut servers = [(); 3].map(|()| Server::new());
    let mut seen = Seen::default();
    let mut n_events = 0;
    servers[0].store().session_or_new(&id("s1")).unwrap();
    let (epoch, _) = servers[0].session().position();
    for server in &servers[1..] {
        let store = server.store();
        store.session_or_copy(&id("s1"), NAMES[0], &epoch).unwrap();
    }
    for _ in 0..60 {
        let at = dice.below(3);
        let session = servers[at].session();
        match (dice.below(12), session.home()) {
            (0, _) => {
                drop(session);
                servers[at].restart(&mut dice, |_, _| {});
            }
            (1, None) => {
                drop(session);
                servers[at].restart(&mut dice, lose_the_end);
            }
            (1, Some(_)) => {
                drop(session);
                servers[at].restart(&mut dice, |dir, dice| {
                    fail_power(dir);
                    cut(dir, dice);
                });
            }
            (2, Some(_)) => session.take_over().unwrap(),
            (3..=5, None) => {
                let n_new = 1 + dice.below(5) as u64;
                let events = (n_events + 1..=n_events + n_new).map(chunk).collect();
                n_events += n_new;
                session.append(events, false, 7).unwrap();
            }
            (_, _) => {
                let home = dice.below(3);
                let there = servers[home].session();
                if home != at && there.home().is_none() {
                    follow(&session, NAMES[home], &there, dice.below(9));
                }
            }
        }
        seen.read(&servers[at].session());
    }
    let at = dice.below(3);
    let home = servers[at].session();
    home.take_over().unwrap();
    for (server, _) in servers
        .iter()
        .zip(NAMES)
        .filter(|(_, name)| *name != NAMES[at])
    {
        let copy = server.session();
        while !follow(&copy, NAMES[at], &home, 9) {}
        seen.read(&copy);
        // What one of them has lost, others may have.
        if lines(&copy) != lines(&home) {
            copy.begin_anew(NAMES[at], &home.position().0).unwrap();
            while !follow(&copy, NAMES[at], &home, 9) {}
        }
        same(&home, &copy);
    }
}

#[test]
fn a_number_of_an_epoch_is_one_event_whoever_is_the_home() {
    for seed in 0..if is_full() { 2000 } else { 30 } {
        let played = std::panic::catch_unwind(|| play(seed));
        assert!(played.is_ok(), "seed {seed}");
    }
}
