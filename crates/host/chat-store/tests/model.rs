//! A folder beside a plain list: whatever is sent, left without a word, lost of the caches and opened again, both tell the
//! same.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{Dice, id, is_full, memory_dir};
use chat_event::payload::AssistantChunk;
use chat_event::{ChatEvent, Payload};
use chat_store::{INLINE_BYTES, ItemResult, Options, PageRequest, Session, Store, SyncPolicy};

/// They share one log that is open, so each is put away and taken out again all the time.
const SESSIONS: [&str; 3] = ["s1", "s2", "s3"];

const OPTIONS: Options = Options {
    sync: SyncPolicy::Never,
    // Some twenty events.
    segment_bytes: 3000,
    open_logs: 1,
};

/// What one session was told: its events in order, the first with the number 1.
#[derive(Clone, Debug, Default)]
struct Told {
    events: Vec<(String, String)>,
    epoch: Option<String>,
    /// Nobody can say whether the log is from a backup: what comes next begins an epoch.
    goes_on_anew: bool,
}

impl Told {
    /// What is to become of an event.
    fn take(&mut self, event_id: &str, text: &str) -> ItemResult {
        let before = self.events.iter().position(|(id, _)| id == event_id);
        let Some(at) = before else {
            self.events.push((event_id.to_owned(), text.to_owned()));
            return ItemResult::Stored {
                seq: self.events.len() as u64,
                id: event_id.to_owned(),
                idempotent: true,
            };
        };
        let seq = at as u64 + 1;
        match self.events[at].1 == text {
            true => ItemResult::Duplicate { seq },
            false => ItemResult::Conflict {
                id: event_id.to_owned(),
                seq,
                only_time: false,
            },
        }
    }
}

fn event(session: &str, event_id: &str, text: &str) -> ChatEvent {
    let payload = AssistantChunk {
        text: text.to_owned(),
        ..AssistantChunk::default()
    };
    ChatEvent::new(event_id, 1, session, payload)
}

/// Sends a batch: some of it new, some of it sent before, some under an id that another event has.
fn send(store: &Store, name: &str, told: &mut Told, dice: &mut Dice) {
    let session = store.session_or_new(&id(name)).unwrap();
    let mut after = told.clone();
    let (mut events, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..=dice.below(5) {
        let n_known = after.events.len();
        let (event_id, text) = match (n_known > 0).then(|| dice.below(6)) {
            Some(0) => after.events[dice.below(n_known)].clone(),
            Some(1) => (after.events[dice.below(n_known)].0.clone(), "other".into()),
            _ if dice.once_in(150) => (format!("e{n_known}"), "long ".repeat(INLINE_BYTES / 4)),
            _ => (format!("e{n_known}"), format!("word {n_known}\u{2028}\n")),
        };
        expected.push(after.take(&event_id, &text));
        events.push(event(name, &event_id, &text));
    }
    let atomic = dice.once_in(2);
    let has_conflict = expected
        .iter()
        .any(|result| matches!(result, ItemResult::Conflict { .. }));
    let appended = session.append(events, atomic, 7).unwrap();
    assert_eq!(appended.results, expected);
    assert_eq!(appended.refused, atomic && has_conflict);
    if !appended.refused {
        *told = after;
    }
    if told.goes_on_anew && !appended.stored.is_empty() {
        told.goes_on_anew = false;
        assert_ne!(told.epoch.take().as_ref(), Some(&appended.epoch));
    }
    told.epoch.get_or_insert(appended.epoch);
}

/// Holds a session against what it was told, by pages of any size from any place.
fn check(session: &Session, told: &Told, dice: &mut Dice) {
    let head = told.events.len() as u64;
    assert_eq!(Some(session.position()), told.epoch.clone().zip(Some(head)));
    assert_eq!((session.oldest(), session.damaged_lines()), (1, 0));
    let summary = session.summary();
    assert_eq!((summary.events, summary.head), (head, head));
    let mut after = dice.below(head as usize + 1) as u64;
    while after < head {
        let request = PageRequest {
            after,
            limit: 1 + dice.below(30),
            max_bytes: 1 + dice.below(3000),
        };
        let page = session.page(request).unwrap();
        assert!(!page.lines.is_empty() && page.gaps.is_empty());
        assert_eq!(page.head, head);
        for (line, number) in page.lines.iter().zip(&page.numbers) {
            after += 1;
            let event = ChatEvent::from_json(line).unwrap();
            assert_eq!((event.seq, *number), (Some(after), after));
            assert_eq!(event.id, told.events[after as usize - 1].0);
        }
        assert_eq!(page.next, after);
    }
    let Some((event_id, text)) = told.events.get(dice.below(head.max(1) as usize)) else {
        return;
    };
    let whole = session.event_whole(event_id).unwrap().unwrap();
    let Payload::AssistantChunk(chunk) = &whole.payload else {
        panic!("{event_id} is another event");
    };
    assert_eq!(&chunk.text, text);
    assert!(session.event_whole("never sent").unwrap().is_none());
}

/// Does to an index what disks and people do; the session whose index is gone by it.
fn harm_an_index(dir: &Path, dice: &mut Dice) -> Option<&'static str> {
    let session = SESSIONS[dice.below(3)];
    let index = dir.join(format!("{}.idx", id(session).stem()));
    let mut bytes = std::fs::read(&index).ok()?;
    match dice.below(3) {
        0 => {
            std::fs::remove_file(&index).unwrap();
            return Some(session);
        }
        1 => bytes.truncate(dice.below(bytes.len() + 1)),
        _ if bytes.is_empty() => {}
        _ => {
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
        }
    }
    std::fs::write(&index, bytes).unwrap();
    None
}

fn play(seed: u64) {
    let mut dice = Dice::new(seed);
    let dir = memory_dir();
    let mut store = Store::open(dir.path(), OPTIONS).unwrap();
    let mut told: BTreeMap<&str, Told> = SESSIONS.map(|name| (name, Told::default())).into();
    for _ in 0..80 {
        let name = SESSIONS[dice.below(3)];
        match dice.below(12) {
            0 => {
                if dice.once_in(2) {
                    store.close();
                }
                drop(store);
                if dice.once_in(2)
                    && let Some(session) = harm_an_index(dir.path(), &mut dice)
                {
                    told.get_mut(session).unwrap().goes_on_anew = true;
                }
                store = Store::open(dir.path(), OPTIONS).unwrap();
            }
            1..=3 => {
                if let Some(session) = store.session(&id(name)) {
                    check(&session, &told[name], &mut dice);
                }
            }
            _ => {
                let told = told.get_mut(name).unwrap();
                send(&store, name, told, &mut dice);
            }
        }
    }
    for session in store.sessions() {
        check(&session, &told[session.id().as_str()], &mut dice);
    }
}

#[test]
fn a_folder_tells_what_it_was_told_whatever_becomes_of_its_process_and_its_caches() {
    for seed in 0..if is_full() { 500 } else { 20 } {
        let played = std::panic::catch_unwind(|| play(seed));
        assert!(played.is_ok(), "seed {seed}");
    }
}
