use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use chat_event::ChatEvent;
use chat_store::{Options, Session, Store, Summary, SyncPolicy};
use object_store::memory::InMemory;

use super::super::keys::Keys;
use super::super::objects::Objects;
use super::look::{QUIET_MS, is_over};
use super::*;
use crate::logs::Removed;

/// Logs that somebody has in hand.
struct InHand(Mutex<mpsc::Receiver<()>>);

impl Logs for InHand {
    fn changed_since(&self, seen: u64) -> (u64, Vec<SessionId>) {
        (seen, Vec::new())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        watch::Sender::new(0).subscribe()
    }

    fn session(&self, _: &SessionId) -> Option<Arc<Session>> {
        let let_go = self.0.lock().unwrap();
        let_go.recv_timeout(Duration::from_secs(10)).unwrap();
        None
    }

    fn removed(&self, _: &SessionId) -> Removed {
        Removed::No
    }
}

fn keeping(had: mpsc::Receiver<()>) -> Keeping {
    Keeping {
        cold: Cold::new("s3://bucket?region=us-east-1").unwrap(),
        logs: Arc::new(InHand(Mutex::new(had))),
        health: Arc::default(),
        backoff: Backoff::default(),
        resumes: Instant::now(),
        open: BTreeSet::from([SessionId::parse("s1").unwrap()]),
        looked: None,
        fresh: BTreeSet::new(),
        due: BTreeSet::new(),
        failures: HashMap::new(),
        unread: Unread::default(),
        not_taken: BTreeSet::new(),
        copying: JoinSet::new(),
        under_way: HashMap::new(),
        listed: None,
        asked_at: Instant::now(),
    }
}

#[tokio::test]
async fn a_log_that_somebody_has_in_hand_is_waited_for_by_no_other_task() {
    let (let_go, had) = mpsc::channel();
    let mut keeping = keeping(had);
    let others = async { let_go.send(()).unwrap() };
    let (looked, ()) = tokio::join!(keeping.look(), others);
    assert!(looked.is_ok() && keeping.due.is_empty());
    assert!(keeping.open.is_empty(), "it is not here");
}

#[tokio::test]
async fn a_store_that_only_did_not_answer_is_not_listed_again_for_that() {
    let mut keeping = keeping(mpsc::channel().1);
    let long_ago = Instant::now().checked_sub(2 * ASKED_AGAIN).unwrap();
    keeping.listed = Some(long_ago);
    let why = Error::store("list the object store", "it does not answer");
    keeping.failed(&why, None);
    assert_eq!(keeping.listed, Some(long_ago));
    // It may have less than it had.
    keeping.failed(&why, Some(&SessionId::parse("s1").unwrap()));
    assert_eq!(keeping.listed, None);
}

#[tokio::test]
async fn a_session_that_is_refused_says_nothing_of_the_store_and_a_second_one_does() {
    let mut keeping = keeping(mpsc::channel().1);
    keeping.cold = in_memory();
    keeping.worked();
    let why = Error::store("write to the object store", "forbidden");
    let [one, other] = ["s1", "s2"].map(|id| SessionId::parse(id).unwrap());
    for _ in 0..2 {
        keeping.is_not_taken(one.clone(), &why).await;
        assert!(keeping.health.is_up());
        assert!(keeping.unread.rests(&one) && keeping.resumes <= Instant::now());
    }
    assert_eq!(keeping.health.condition().failures, 2);
    keeping.is_not_taken(other.clone(), &why).await;
    assert!(!keeping.health.is_up() && !keeping.unread.rests(&other));
    assert!(keeping.resumes > Instant::now());
}

/// A store of its own.
fn in_memory() -> Cold {
    Cold {
        objects: Objects::new(Arc::new(InMemory::new())),
        keys: Keys::new(""),
        known: Arc::default(),
        removing: Arc::default(),
    }
}

#[test]
fn a_session_is_over_when_it_ended_or_was_quiet_for_a_day() {
    let summary = |status: &str, head, last_ms| {
        let mut summary = Summary::default();
        status.clone_into(&mut summary.status);
        summary.head = head;
        summary.last_activity_ms = Some(last_ms);
        summary
    };
    let now_ms = 10 * QUIET_MS;
    assert!(is_over(&summary("ended", 1, now_ms), now_ms));
    assert!(is_over(&summary("busy", 1, now_ms - QUIET_MS), now_ms));
    assert!(!is_over(&summary("busy", 1, now_ms - QUIET_MS + 1), now_ms));
    assert!(!is_over(&summary("ended", 0, now_ms), now_ms));
    // Another clock's time may be any.
    assert!(!is_over(&summary("idle", 1, i64::MAX), now_ms));
    assert!(is_over(&summary("idle", 1, i64::MIN), now_ms));
}

/// One log, which changed once.
struct OneLog(Store, SessionId);

impl Logs for OneLog {
    fn changed_since(&self, seen: u64) -> (u64, Vec<SessionId>) {
        let changed = (seen == 0).then(|| self.1.clone());
        (1, changed.into_iter().collect())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        // Nothing changes behind that.
        let changes = Box::leak(Box::new(watch::Sender::new(1)));
        changes.subscribe()
    }

    fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.0.session(id)
    }

    fn removed(&self, _: &SessionId) -> Removed {
        Removed::No
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_read_for_a_while_is_copied_once_it_can_and_the_store_is_not_blamed()
 {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 1,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let id = SessionId::parse("s1").unwrap();
    let session = store.session_or_new(&id).unwrap();
    for line in [
        r#"{"id":"a","timestamp":1,"type":"user_message","payload":{"text":"x"}}"#,
        r#"{"id":"b","timestamp":2,"type":"session_end","payload":{}}"#,
    ] {
        let event = ChatEvent::from_json(line).unwrap();
        session.append(vec![event], true, now_ms()).unwrap();
    }
    // A part of it cannot be read.
    let segment = a_segment(&store, &id);
    let away = dir.path().join("away");
    std::fs::rename(&segment, &away).unwrap();
    std::fs::create_dir(&segment).unwrap();
    let cold = in_memory();
    let health = Arc::<Health>::default();
    let (stop, stopping) = watch::channel(false);
    let logs = Arc::new(OneLog(store, id.clone()));
    let keeping = tokio::spawn(keep(cold.clone(), logs, health.clone(), stopping));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(!cold.has(&id));
    let condition = health.condition();
    assert!(condition.is_up, "{condition:?}");
    assert_eq!((condition.failures, condition.behind), (0, 1));
    std::fs::remove_dir(&segment).unwrap();
    std::fs::rename(&away, &segment).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !cold.has(&id) {
        assert!(Instant::now() < deadline, "not in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(cold.find(&id).await.unwrap().unwrap().epochs.len(), 1);
    stop.send(true).unwrap();
    keeping.await.unwrap();
}

/// A file of the log that is not its newest.
fn a_segment(store: &Store, id: &SessionId) -> PathBuf {
    let newest = store.log_path(id);
    let entries = std::fs::read_dir(newest.parent().unwrap()).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let is_it =
        |path: &PathBuf| *path != newest && path.to_string_lossy().ends_with(".events.jsonl");
    paths.find(is_it).unwrap()
}

/// Logs that all changed once, and how often they were asked for.
struct Counted(Store, Vec<SessionId>, AtomicUsize);

impl Logs for Counted {
    fn changed_since(&self, seen: u64) -> (u64, Vec<SessionId>) {
        let changed = if seen == 0 {
            self.1.clone()
        } else {
            Vec::new()
        };
        (1, changed)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        // Nothing changes behind that.
        let changes = Box::leak(Box::new(watch::Sender::new(1)));
        changes.subscribe()
    }

    fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.2.fetch_add(1, Ordering::Relaxed);
        self.0.session(id)
    }

    fn removed(&self, _: &SessionId) -> Removed {
        Removed::No
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn very_many_sessions_that_are_over_are_not_all_looked_at_after_each_copy() {
    const N: usize = 100;
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        sync: SyncPolicy::Never,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let id = |n| SessionId::parse(&format!("session-{n:03}")).unwrap();
    let ids: Vec<SessionId> = (0..N).map(id).collect();
    for id in &ids {
        let end = r#"{"id":"a","timestamp":1,"type":"session_end","payload":{}}"#;
        let event = ChatEvent::from_json(end).unwrap();
        let session = store.session_or_new(id).unwrap();
        session.append(vec![event], false, now_ms()).unwrap();
    }
    let cold = in_memory();
    let logs = Arc::new(Counted(store, ids.clone(), AtomicUsize::new(0)));
    let (stop, stopping) = watch::channel(false);
    let keeping = tokio::spawn(keep(cold.clone(), logs.clone(), Arc::default(), stopping));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !ids.iter().all(|id| cold.has(id)) {
        assert!(Instant::now() < deadline, "not in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.send(true).unwrap();
    keeping.await.unwrap();
    // With the first look, with each copy and behind it; and once more with each half minute.
    let n_asked = logs.2.load(Ordering::Relaxed);
    assert!(n_asked <= 6 * N, "{n_asked}");
}
