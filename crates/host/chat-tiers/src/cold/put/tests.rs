use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use chat_event::ChatEvent;
use chat_store::{Options, Session, SessionId, Store, now_ms};
use futures_util::StreamExt;
use object_store::ObjectStore;
use object_store::memory::InMemory;

use super::super::keys::Keys;
use super::super::objects::Objects;
use super::super::pack::Digest;
use super::super::{Cold, Manifest};
use super::{AsFarAsThere, LOST, Put};

/// A folder with a session of three events in three segments, and an object store.
struct Here {
    dir: tempfile::TempDir,
    objects: Arc<InMemory>,
    cold: Cold,
}

impl Here {
    fn new() -> Self {
        let objects = Arc::new(InMemory::new());
        let here = Here {
            dir: tempfile::tempdir().unwrap(),
            cold: Cold {
                objects: Objects::new(objects.clone()),
                keys: Keys::new(""),
                known: Arc::default(),
            },
            objects,
        };
        let (store, session) = here.open();
        for n in 1..=3 {
            let line = format!(
                r#"{{"id":"e{n}","timestamp":{n},"type":"user_message","payload":{{"text":"x"}}}}"#
            );
            let event = ChatEvent::from_json(&line).unwrap();
            session.append(vec![event], true, now_ms()).unwrap();
        }
        store.close();
        here
    }

    fn open(&self) -> (Store, Arc<Session>) {
        let options = Options {
            segment_bytes: 1,
            ..Options::default()
        };
        let store = Store::open(self.dir.path(), options).unwrap();
        let id = SessionId::parse("s1").unwrap();
        let session = store.session_or_new(&id).unwrap();
        (store, session)
    }

    /// The files of the log that are sealed.
    fn segments(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(".events.jsonl"));
        paths.sort();
        paths.pop();
        paths
    }

    async fn put(&self, session: &Arc<Session>) -> Manifest {
        match self.cold.put(session).await.unwrap() {
            Put::Done(manifest) => *manifest,
            Put::Changed => panic!("nobody writes to it"),
        }
    }

    async fn keys(&self) -> Vec<String> {
        let objects = self.objects.list(None);
        let keys = objects.map(|object| object.unwrap().location.to_string());
        let mut keys: Vec<String> = keys.collect().await;
        keys.sort();
        keys
    }
}

#[tokio::test]
async fn a_log_that_has_lost_a_segment_takes_no_other_copys_place() {
    let here = Here::new();
    let (store, session) = here.open();
    let copy = here.put(&session).await;
    assert_eq!(copy.events, 3);
    let keys = here.keys().await;
    let segments = here.segments();
    assert_eq!(segments.len(), 3);
    let away = here.dir.path().join("away");
    // Of the log that is open it is known that it had it.
    for segment in &segments {
        std::fs::rename(segment, &away).unwrap();
        for refused in [
            here.cold.put(&session).await.map(|_| ()),
            here.cold.verified(&session).await.map(|_| ()),
        ] {
            assert!(refused.is_err_and(|why| why.is_local()));
        }
        std::fs::write(segment, "").unwrap();
        assert!(here.cold.put(&session).await.is_err(), "it was cut");
        std::fs::rename(&away, segment).unwrap();
    }
    assert_eq!(here.put(&session).await.sha256, copy.sha256);
    // Of one that is opened without it, the copy says so.
    drop((store, session));
    std::fs::remove_file(&segments[1]).unwrap();
    let (_store, session) = here.open();
    assert_eq!(session.position(), (copy.epoch.clone(), copy.head));
    assert!(here.cold.put(&session).await.is_err());
    let found = here.cold.find(session.id()).await.unwrap().unwrap();
    assert_eq!((found.sha256, found.events), (copy.sha256, 3));
    assert_eq!(here.keys().await, keys);
}

#[tokio::test]
async fn of_a_copy_whose_log_was_made_another_that_says_the_same_nothing_is_left() {
    let here = Here::new();
    let (store, session) = here.open();
    let before = here.put(&session).await;
    drop((store, session));
    // As compaction does.
    let segment = &here.segments()[0];
    let text = std::fs::read_to_string(segment).unwrap();
    let lines = text.lines().map(|line| {
        let mut event = ChatEvent::from_json(line).unwrap();
        event.extra.remove("c");
        event.recv = event.recv.map(|recv| recv - 100_000);
        event.to_line_with_checksum() + "\n"
    });
    std::fs::write(segment, lines.collect::<String>()).unwrap();
    let (_store, session) = here.open();
    let after = here.put(&session).await;
    assert_eq!(after.version(), before.version());
    assert_ne!(after.sha256, before.sha256);
    let keys = here.keys().await;
    let logs: Vec<&String> = keys.iter().filter(|key| key.ends_with(".gz")).collect();
    assert!(
        logs.len() == 1 && logs[0].contains(&after.sha256),
        "{keys:?}"
    );
}

/// A body of which the disk has lost the end, or says nothing at the moment.
struct Failing(&'static [u8], i32);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::from_raw_os_error(self.1)),
            n => Ok(n),
        }
    }
}

#[tokio::test]
async fn a_body_that_the_disk_has_lost_is_another_and_no_reason_to_copy_nothing() {
    let here = Here::new();
    let key = here.cold.keys.blob(&"0".repeat(64));
    let expected = Digest {
        bytes: 9,
        sha256: "0".repeat(64),
    };
    let put = |why| {
        let open = move || Ok(AsFarAsThere(Failing(b"half", why)));
        here.cold.put_one(&key, &expected, open)
    };
    assert!(!put(LOST).await.unwrap());
    let stale = 116;
    assert!(put(stale).await.is_err_and(|why| why.is_local()));
    assert!(here.keys().await.is_empty());
}
