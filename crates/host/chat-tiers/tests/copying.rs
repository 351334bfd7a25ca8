//! What becomes of the sessions beside one that a store does not take, and of very many of them.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_store::{Options, Session, SessionId, Store, Summary, now_ms};
use chat_tiers::{Batch, Error, Health, Logs, Removed, Tier, copy};
use tokio::sync::watch;

/// Sessions that all changed once, and of which there may be a log.
struct Folder {
    ids: Vec<SessionId>,
    store: Store,
}

impl Folder {
    /// Those of which there is a log have one event.
    fn new(dir: &Path, ids: Vec<SessionId>, with_logs: bool) -> Arc<Folder> {
        let store = Store::open(dir, Options::default()).unwrap();
        for id in ids.iter().filter(|_| with_logs) {
            let session = store.session_or_new(id).unwrap();
            session.append(vec![event(0)], true, now_ms()).unwrap();
        }
        Arc::new(Folder { ids, store })
    }
}

fn event(n: u64) -> ChatEvent {
    let line =
        format!(r#"{{"id":"e{n}","timestamp":1,"type":"user_message","payload":{{"text":"x"}}}}"#);
    ChatEvent::from_json(&line).unwrap()
}

impl Logs for Folder {
    fn changed_since(&self, seen: u64) -> (u64, Vec<SessionId>) {
        let ids = if seen == 0 {
            self.ids.clone()
        } else {
            Vec::new()
        };
        (1, ids)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        // Nothing changes behind that.
        let changes = Box::leak(Box::new(watch::Sender::new(1)));
        changes.subscribe()
    }

    fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.store.session(id)
    }

    fn removed(&self, _: &SessionId) -> Removed {
        Removed::No
    }
}

/// A store that takes all but one session.
#[derive(Clone, Default)]
struct Picky {
    refuses: Option<SessionId>,
    taken: Arc<Mutex<BTreeMap<SessionId, u64>>>,
}

impl Tier for Picky {
    const NAME: &'static str = "picky";
    const PAUSE: Duration = Duration::from_millis(1);

    async fn connect(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn wants(&self, _: &Summary, _: i64) -> bool {
        true
    }

    async fn mark(&mut self, session: &SessionId, _: &str, _: u64) -> Result<u64, Error> {
        let taken = self.taken.lock().unwrap();
        Ok(taken.get(session).copied().unwrap_or(0))
    }

    async fn take(&mut self, batch: &Batch) -> Result<u64, Error> {
        if self.refuses.as_ref() == Some(&batch.session) {
            return Err(Error::Store {
                what: "write rows",
                why: "it takes too long".to_owned(),
            });
        }
        let mut taken = self.taken.lock().unwrap();
        taken.insert(batch.session.clone(), batch.upto);
        Ok(batch.upto)
    }

    async fn forget(&mut self, session: &SessionId, _: &str) -> Result<bool, Error> {
        self.taken.lock().unwrap().remove(session);
        Ok(true)
    }

    async fn look(&mut self, _: i64) -> Result<(), Error> {
        Ok(())
    }
}

fn ids(n: usize) -> Vec<SessionId> {
    let id = |n| SessionId::parse(&format!("session-{n:06}")).unwrap();
    (0..n).map(id).collect()
}

/// Copies until it is so.
async fn until(logs: Arc<Folder>, tier: Picky, mut is_so: impl FnMut(&Health) -> bool) {
    let health = Arc::<Health>::default();
    let (stop, stopping) = watch::channel(false);
    let copying = tokio::spawn(copy(tier, logs, health.clone(), stopping));
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so(&health) {
        assert!(Instant::now() < deadline, "not in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.send(true).unwrap();
    copying.await.unwrap();
}

#[tokio::test]
async fn a_session_that_the_store_refuses_each_time_holds_up_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let all = ids(5);
    let logs = Folder::new(dir.path(), all.clone(), true);
    let tier = Picky {
        refuses: Some(all[0].clone()),
        ..Picky::default()
    };
    let taken = tier.taken.clone();
    until(logs, tier, |_| taken.lock().unwrap().len() == 4).await;
    assert!(!taken.lock().unwrap().contains_key(&all[0]));
}

#[tokio::test]
async fn a_log_that_cannot_be_read_for_a_while_is_copied_once_it_can_and_the_store_is_not_blamed() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 1,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let ids = ids(2);
    for (id, n) in ids.iter().zip([3, 1]) {
        let session = store.session_or_new(id).unwrap();
        for n in 0..n {
            session.append(vec![event(n)], true, now_ms()).unwrap();
        }
    }
    // A part of the first cannot be read.
    let newest = store.log_path(&ids[0]);
    let stem = newest.file_stem().unwrap().to_string_lossy().into_owned();
    let stem = stem.split('.').next().unwrap().to_owned();
    let files = std::fs::read_dir(dir.path()).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let is_part = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        *path != newest && name.starts_with(&stem) && name.ends_with(".events.jsonl")
    };
    let part = files.find(is_part).unwrap();
    let away = dir.path().join("away");
    std::fs::rename(&part, &away).unwrap();
    std::fs::create_dir(&part).unwrap();
    let tier = Picky::default();
    let taken = tier.taken.clone();
    let logs = Arc::new(Folder {
        ids: ids.clone(),
        store,
    });
    let mut is_back = false;
    until(logs, tier, |health| {
        if !is_back && health.is_up() && taken.lock().unwrap().contains_key(&ids[1]) {
            assert!(!taken.lock().unwrap().contains_key(&ids[0]));
            std::fs::remove_dir(&part).unwrap();
            std::fs::rename(&away, &part).unwrap();
            is_back = true;
        }
        assert_eq!(health.condition().failures, 0);
        taken.lock().unwrap().get(&ids[0]) == Some(&3)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn very_many_sessions_are_looked_through_as_fast_as_they_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let logs = Folder::new(dir.path(), ids(100_000), false);
    let began = Instant::now();
    until(logs, Picky::default(), Health::is_up).await;
    // Where each was compared with each, it was a minute.
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}
