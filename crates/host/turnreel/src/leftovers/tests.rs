use std::io::Read;
use std::sync::Arc;

use chat_event::payload::{TurnEnd, UserMessage};
use chat_store::{Options, Packed, Session, Store, sha256_hex};

use super::*;
use crate::state::Settings;

fn session_with_an_event(store: &Store, id: &str) -> Arc<Session> {
    let session = store.session_or_new(&SessionId::parse(id).unwrap());
    let session = session.unwrap();
    let event = ChatEvent::new("e1".to_owned(), 1, id, TurnEnd::default());
    session.append(vec![event], false, 1).unwrap();
    session.sync().unwrap();
    session
}

fn packed(session: &Session) -> Packed {
    let mut log = Vec::new();
    session.log_bytes().unwrap().read_to_end(&mut log).unwrap();
    let (epoch, head) = session.position();
    Packed {
        session: session.id().as_str().to_owned(),
        epoch,
        head,
        bytes: log.len() as u64,
        sha256: sha256_hex(&log),
        summary: (*session.summary()).clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_packed_away_is_not_read_as_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let session = session_with_an_event(&store, "s1");
    assert!(store.pack_away(&session, packed(&session)).unwrap());
    let state = State::new(store, "t", 1, &[], Settings::default());
    // Nothing would be new beside it, and all beside an empty one.
    let runtime = Handle::current();
    let reading = move || {
        let read = |session: &str| read_log(&state, &runtime, session, "0");
        (read("s1"), read("s2"))
    };
    let (of_packed, of_none) = tokio::task::spawn_blocking(reading).await.unwrap();
    assert!(matches!(of_packed, Err(chat_capture::Error::Later { .. })));
    assert!(of_none.unwrap().0.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_of_a_file_that_is_tried_again_is_kept_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    session_with_an_event(&store, "s1");
    let session = session_with_an_event(&store, "s2");
    assert!(store.pack_away(&session, packed(&session)).unwrap());
    let state = State::new(store, "t", 1, &[], Settings::default());
    let spool = dir.path().join("spool");
    std::fs::create_dir(&spool).unwrap();
    let path = spool.join("a-1.jsonl");
    // The first has the id of another event, and the second is of a log that is away.
    let line = |session: &str| {
        let other = ChatEvent::new("e1".to_owned(), 2, session, UserMessage::default());
        other.to_line() + "\n"
    };
    std::fs::write(&path, line("s1") + &line("s2")).unwrap();
    for _ in 0..2 {
        assert!(take_in_one(&state, &path, None).await.is_err());
    }
    std::fs::write(&path, line("s1")).unwrap();
    assert!(take_in_one(&state, &path, None).await.unwrap().is_none());
    assert!(!path.exists());
    let kept = std::fs::read_to_string(spool.join("refused/s1.jsonl")).unwrap();
    assert_eq!(kept, line("s1"));
}

/// Who holds up the earlier one may let go of it between the two.
#[tokio::test(flavor = "multi_thread")]
async fn a_later_file_of_a_session_waits_for_an_earlier_one_that_waits() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let state = State::new(store, "t", 1, &[], Settings::default());
    let spool = spool_dir(dir.path());
    std::fs::create_dir_all(spool.join("sources")).unwrap();
    let line = |id: &str, session: &str| {
        ChatEvent::new(id.to_owned(), 1, session, TurnEnd::default()).to_line() + "\n"
    };
    // Only of the other session something is told elsewhere.
    let notes = std::fs::File::create(spool.join("sources/s2.json")).unwrap();
    notes.lock().unwrap();
    let earlier = line("e1", "s2") + &line("e1", "s1");
    for (name, text, seconds) in [
        ("s1-9.claude-stream.jsonl", earlier, 1),
        ("s1-7.claude-stream.jsonl", line("e2", "s1"), 2),
        ("s3-8.claude-stream.jsonl", line("e1", "s3"), 3),
    ] {
        std::fs::write(spool.join(name), text).unwrap();
        let file = std::fs::File::options().append(true).open(spool.join(name));
        let written = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        file.unwrap().set_modified(written).unwrap();
    }
    let ids = |session: &str| {
        let session = state
            .store
            .session_or_new(&SessionId::parse(session).unwrap());
        let request = PageRequest {
            after: 0,
            limit: PAGE_EVENTS,
            max_bytes: PAGE_BYTES,
        };
        let page = session.unwrap().page_whole(request).unwrap();
        let events = page
            .lines
            .iter()
            .map(|it| ChatEvent::from_json(it).unwrap());
        // The pipes were killed: what is said of that is not looked at.
        let told = events.filter(|event| !event.id.ends_with(":stopped"));
        told.map(|event| event.id).collect::<Vec<_>>()
    };
    let mut files = Files::default();
    assert_eq!(files.look(&state, &spool).await, SOON);
    assert_eq!((ids("s1"), ids("s3")), (vec![], vec!["e1".to_owned()]));
    notes.unlock().unwrap();
    assert_eq!(files.look(&state, &spool).await, LOOK_EVERY);
    assert_eq!(ids("s1"), ["e1", "e2"]);
    assert!(chat_capture::leftovers(&spool).is_empty());
}

/// A name that ends in two numbers may be of two sessions, and what no provider's lines told of waits for nobody.
#[test]
fn a_file_that_waits_holds_up_the_files_that_wait_for_the_same() {
    let mut behind = Behind::default();
    let held = Path::new("sources/task-1.json");
    behind.stays(Path::new("task-1-9.claude-stream.jsonl"), held);
    for (name, waits) in [
        ("task-1-10.claude-stream.jsonl", true),
        ("task-1-10.jsonl", false),
        ("task-1-10.chat-events.jsonl", false),
        ("task-8.claude-stream.jsonl", false),
    ] {
        assert_eq!(behind.waits(Path::new(name)), waits, "{name}");
    }
}

#[test]
fn what_cannot_be_taken_in_now_is_tried_again_less_and_less_often() {
    let (path, mut now) = (PathBuf::from("s.spool"), Instant::now());
    let mut put_off = PutOff::default();
    assert!(!put_off.waits(&path, now));
    for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
        put_off.put_off(path.clone(), now);
        let pause = Duration::from_secs(60 * minutes);
        assert!(put_off.waits(&path, now + pause - Duration::from_secs(1)));
        now += pause;
        assert!(!put_off.waits(&path, now), "after {minutes} minutes");
    }
}
