use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use chat_event::ChatEvent;
use chat_event::payload::TurnEnd;
use chat_store::{Options, Rewrite, Store, SyncPolicy};

use super::*;
use crate::ingest;
use crate::state::Settings;

fn event(n: u64) -> ChatEvent {
    ChatEvent::new(format!("e{n}"), 1, "s1", TurnEnd::default())
}

/// A server of sessions of one event each, and a folder beside its own.
async fn state_of(n_sessions: u64) -> (tempfile::TempDir, State, Vec<Arc<Live>>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("away")).unwrap();
    let options = Options {
        sync: SyncPolicy::Never,
        ..Options::default()
    };
    let store = Store::open(&dir.path().join("data"), options).unwrap();
    let state = State::new(store, "t", 1, &[], Settings::default());
    let mut sessions = Vec::new();
    for n in 0..n_sessions {
        let id = SessionId::parse(&format!("s{n}")).unwrap();
        let stored = ingest::append(&state, id.clone(), vec![event(1)], false).await;
        assert_eq!(stored.unwrap().first, Some(1));
        sessions.push(state.live(&id).unwrap());
    }
    (dir, state, sessions)
}

fn carry(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with('s') {
            std::fs::rename(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn look(looker: &mut Looker, state: &State) {
    // On a thread that may wait.
    tokio::task::block_in_place(|| looker.look(state));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_written_to_keeps_no_other_from_being_brought_back() {
    let (dir, state, sessions) = state_of(20).await;
    let (data, away) = (dir.path().join("data"), dir.path().join("away"));
    let mut looker = Looker::default();
    carry(&data, &away);
    look(&mut looker, &state);
    assert!(sessions.iter().all(|live| live.is_removed()));
    carry(&away, &data);
    let writer = sessions[0].writer.lock().await;
    look(&mut looker, &state);
    assert!(sessions[0].is_removed(), "it is looked for again");
    assert!(sessions[1..].iter().all(|live| !live.is_removed()));
    drop(writer);
    look(&mut looker, &state);
    assert!(!sessions[0].is_removed());
    assert_eq!(sessions[0].row().1.events, 1);
}

/// Holds a log until it is let go.
struct Holding {
    had: Sender<()>,
    let_go: Receiver<()>,
}

impl Rewrite for Holding {
    fn is_of(&self, _: &ChatEvent, _: &ChatEvent) -> bool {
        false
    }

    fn id(&self, _: &str) -> Option<String> {
        None
    }

    fn rewrite(&mut self, event: ChatEvent) -> Result<Vec<ChatEvent>, chat_store::Error> {
        self.had.send(()).unwrap();
        self.let_go.recv().unwrap();
        Ok(vec![event])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_log_that_takes_long_keeps_no_other_from_being_brought_back_or_written_to() {
    let (dir, state, sessions) = state_of(3).await;
    let (data, away) = (dir.path().join("data"), dir.path().join("away"));
    carry(&data, &away);
    look(&mut Looker::default(), &state);
    carry(&away, &data);
    let (had, has) = channel();
    let (go, let_go) = channel();
    let session = sessions[0].session.clone();
    let holding = std::thread::spawn(move || {
        let mut holding = Holding { had, let_go };
        session.append_rewritten(vec![event(2)], false, 1, &mut holding)
    });
    has.recv_timeout(Duration::from_secs(10)).unwrap();
    let looking = {
        let state = state.clone();
        tokio::task::spawn_blocking(move || Looker::default().look(&state))
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while sessions[1..]
        .iter()
        .any(|live| live.is_removed() || live.writer.try_lock().is_err())
    {
        assert!(Instant::now() < deadline, "they wait for another's log");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(sessions[0].is_removed());
    go.send(()).unwrap();
    holding.join().unwrap().unwrap();
    looking.await.unwrap();
    assert!(!sessions[0].is_removed());
}

#[tokio::test]
async fn whose_log_went_again_stays_removed() {
    let (dir, state, sessions) = state_of(1).await;
    let (data, away) = (dir.path().join("data"), dir.path().join("away"));
    carry(&data, &away);
    let id = sessions[0].session.id();
    assert!(is_gone(&state, id).await);
    assert!(
        !tokio::task::spawn_blocking({
            let (state, live) = (state.clone(), sessions[0].clone());
            move || bring_all_back(&state, vec![live])
        })
        .await
        .unwrap()
    );
    assert!(sessions[0].is_removed());
    carry(&away, &data);
    assert!(!is_gone(&state, id).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_those_that_went_long_ago_little_is_kept() {
    let (dir, state, sessions) = state_of(3).await;
    let (data, away) = (dir.path().join("data"), dir.path().join("away"));
    let ids: Vec<SessionId> = sessions.iter().map(|it| it.session.id().clone()).collect();
    let epoch = sessions[0].position().0;
    let seen = state.list.since(0).0;
    carry(&data, &away);
    let look_now = || tokio::task::block_in_place(|| look_through(&state, Duration::ZERO).unwrap());
    look_now();
    let following = sessions[2].follow();
    look_now();
    // Who follows hears of it first.
    assert!(state.live_to_write(&ids[2]).is_some());
    drop(following);
    look_now();
    for id in &ids {
        assert!(state.live_to_write(id).is_none() && state.row(id).is_none());
        assert!(state.store.session(id).is_none());
    }
    // Who follows the list, or copies the logs, hears of them all the same.
    assert_eq!(state.list.since(seen).1, ids);
    assert_eq!(state.packed.epoch_of_gone(&ids[0]), Some(epoch));
    // Who held one makes no log that nobody knows of.
    let held = sessions[0].session.clone();
    let written = tokio::task::spawn_blocking(move || held.append(vec![event(2)], false, 1));
    let written = written.await.unwrap();
    assert!(matches!(written, Err(chat_store::Error::PackedAway { .. })));
    // It may be sent to anew, or be brought back.
    let stored = ingest::append(&state, ids[0].clone(), vec![event(2)], false).await;
    assert_eq!(stored.unwrap().first, Some(1));
    std::fs::remove_file(away.join(format!("{}.events.jsonl", ids[0].stem()))).unwrap();
    std::fs::remove_file(away.join(format!("{}.idx", ids[0].stem()))).ok();
    carry(&away, &data);
    look_now();
    for id in &ids {
        assert_eq!(state.live(id).unwrap().row().1.events, 1);
    }
    assert_eq!(state.packed.epoch_of_gone(&ids[0]), None);
    assert_eq!(state.list.since(0).1, ids);
}
