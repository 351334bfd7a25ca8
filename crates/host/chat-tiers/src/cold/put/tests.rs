use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use chat_event::ChatEvent;
use chat_store::{Options, Session, SessionId, Store, now_ms};
use futures_util::StreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};

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
                removing: Arc::default(),
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

#[tokio::test]
async fn a_disk_that_takes_long_to_open_what_is_copied_holds_up_no_other_task() {
    let here = Here::new();
    let key = here.cold.keys.blob(&"0".repeat(64));
    let expected = Digest {
        bytes: 9,
        sha256: "0".repeat(64),
    };
    let (let_go, opened) = std::sync::mpsc::channel();
    let open = move || {
        let waited = opened.recv_timeout(std::time::Duration::from_secs(10));
        assert!(waited.is_ok(), "it is held up");
        Ok(io::Cursor::new(b"another".to_vec()))
    };
    let others = async { let_go.send(()).unwrap() };
    let (put, ()) = tokio::join!(here.cold.put_one(&key, &expected, open), others);
    assert!(!put.unwrap());
}

#[tokio::test]
async fn a_session_that_is_removed_while_it_is_copied_leaves_no_copy() {
    let here = Here::new();
    let (_store, session) = here.open();
    let id = session.id();
    // The copy is begun first, and waits for the disk.
    let (put, removed) = tokio::join!(here.cold.put(&session), here.cold.remove(id));
    assert!(matches!(put.unwrap(), Put::Changed));
    assert_eq!(removed.unwrap().objects, 0);
    assert_eq!(here.keys().await, [""; 0]);
    assert!(!here.cold.has(id));
    // Begun later it is one of a session that is back.
    here.put(&session).await;
    assert!(here.cold.has(id) && here.cold.has_any(id).await.unwrap());
    let n_removals = here.cold.n_removals(id);
    let hidden = here.cold.hide(id);
    // Who has found it before does not bring it back.
    assert_ne!(here.cold.n_removals(id), n_removals);
    assert!(!here.cold.has(id) && here.cold.find(id).await.unwrap().is_none());
    drop(hidden);
    assert!(here.cold.find(id).await.unwrap().is_some());
    assert_eq!(here.cold.remove(id).await.unwrap().objects, 2);
    assert_eq!(here.keys().await, [""; 0]);
}

#[tokio::test]
async fn bodies_go_that_no_manifest_names_and_none_where_one_cannot_be_read() {
    let here = Here::new();
    let [named, other] = ["a", "b"].map(|digit| digit.repeat(64));
    let put = async |key: &str, text: String| {
        let key = object_store::path::Path::from(key);
        here.objects.put(&key, text.into()).await.unwrap();
    };
    for sha256 in [&named, &other] {
        put(
            &format!("blobs/{}/{sha256}.gz", &sha256[..2]),
            "x".to_owned(),
        )
        .await;
    }
    let manifest = "sessions/s2-01234567/e.3.manifest.json";
    put(manifest, format!("{{\"blobs\":[\"{named}\"]}}")).await;
    let both = [named.clone(), other.clone()].into();
    let too_long = "sessions/s3-01234567/e.3.manifest.json";
    put(too_long, " ".repeat(super::super::MANIFEST_BYTES + 1)).await;
    assert!(here.cold.remove_bodies(&both).await.is_err());
    assert_eq!(here.keys().await.len(), 4);
    put(too_long, "{}".to_owned()).await;
    let removed = here.cold.remove_bodies(&both).await.unwrap();
    assert_eq!((removed.objects, removed.bytes), (1, 1));
    let left = here.keys().await;
    assert!(left.iter().any(|key| key.contains(&named)));
    assert!(!left.iter().any(|key| key.contains(&other)));
}

#[tokio::test]
async fn a_body_that_is_named_while_it_goes_is_put_back() {
    let here = Here::new();
    let [meanwhile, nowhere, before, over] = ["a", "b", "c", "d"].map(|digit| digit.repeat(64));
    let put = async |key: &str, text: &str| {
        let key = object_store::path::Path::from(key);
        let text = text.to_owned();
        here.objects.put(&key, text.into()).await.unwrap();
    };
    let at = |sha256: &str| format!("blobs/{}/{sha256}.gz", &sha256[..2]);
    let names = async |session: &str, sha256: &str| {
        let manifest = format!("sessions/{session}-01234567/e.3.manifest.json");
        put(&manifest, &format!("{{\"blobs\":[\"{sha256}\"]}}")).await;
    };
    put(&at(&meanwhile), "x").await;
    put(&at(&nowhere), "xy").await;
    // Step by step, as between the look at what is named and the end another program names one.
    let both: BTreeSet<String> = [meanwhile.clone(), nowhere.clone()].into();
    let (mut seen, mut left) = (Default::default(), both.clone());
    let cold = &here.cold;
    assert!(!cold.leave_named_anew(&mut seen, &mut left).await.unwrap());
    let gone = cold.put_aside(&left).await.unwrap();
    assert_eq!(gone, [(meanwhile.clone(), 1), (nowhere.clone(), 2)]);
    assert!(cold.aside().await.unwrap().keys().eq(&both));
    names("s2", &meanwhile).await;
    // Killed here, the next call does the rest; also with what an earlier one left.
    for sha256 in [&before, &over] {
        put(&format!("removing/{sha256}.gz"), "z").await;
    }
    names("s3", &before).await;
    let removed = cold.remove_bodies(&BTreeSet::new()).await.unwrap();
    assert_eq!(removed.objects, 0);
    let mut keys = here.keys().await;
    keys.retain(|key| key.ends_with(".gz"));
    assert_eq!(keys, [at(&meanwhile), at(&before)]);
    // With all of it there a call takes what nobody names, and leaves nothing aside but what is none of ours.
    put("removing/notes.gz", "n").await;
    put(&at(&nowhere), "xy").await;
    let removed = cold.remove_bodies(&both).await.unwrap();
    assert_eq!((removed.objects, removed.bytes), (1, 2));
    assert!(cold.aside().await.unwrap().is_empty());
    let keys = here.keys().await;
    assert!(keys.iter().any(|key| key == "removing/notes.gz"));
    assert_eq!(keys.len(), 5);
}

/// Servers look what is aside when they start, and another may be removing then.
#[tokio::test]
async fn a_body_that_another_is_putting_aside_is_left_to_them() {
    let here = Here::new();
    let body = "a".repeat(64);
    let [key, aside, manifest] = [
        format!("blobs/aa/{body}.gz"),
        format!("removing/{body}.gz"),
        "sessions/s2-01234567/e.3.manifest.json".to_owned(),
    ]
    .map(object_store::path::Path::from);
    here.objects.put(&key, "x".into()).await.unwrap();
    // It has copied it, and not deleted it yet, when a third names it.
    here.objects.copy(&key, &aside).await.unwrap();
    let text = format!("{{\"blobs\":[\"{body}\"]}}");
    here.objects.put(&manifest, text.into()).await.unwrap();
    let removed = here.cold.remove_bodies(&BTreeSet::new()).await.unwrap();
    assert_eq!((removed.objects, removed.later), (0, 1));
    here.objects.delete(&key).await.unwrap();
    here.cold.put_back([body].iter()).await.unwrap();
    assert_eq!(here.keys().await, [key.as_ref(), manifest.as_ref()]);
}

#[tokio::test]
async fn a_body_that_goes_until_the_manifest_names_it_is_put_there_again_or_said_to_be_missing() {
    let here = Here::new();
    let (store, session) = here.open();
    let mut manifest = here.put(&session).await;
    let kept = store.blobs().put(b"kept").unwrap();
    let nowhere = "a".repeat(64);
    manifest.blobs = vec![kept.clone(), nowhere.clone()];
    // As if another server had removed both since they were read back.
    let verified = BTreeSet::new();
    let named = here.cold.put_named(&session, &mut manifest, &verified);
    named.await.unwrap();
    assert_eq!(
        (&manifest.blobs, &manifest.missing_blobs),
        (&vec![kept.clone()], &vec![nowhere])
    );
    let found = here.cold.find(session.id()).await.unwrap().unwrap();
    assert_eq!(found.blobs, std::slice::from_ref(&kept));
    assert!(here.keys().await.iter().any(|key| key.contains(&kept)));
}
