//! For tests: databases as they are written, change by change. `tests/AGENT` says what is in them.
#![allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chat_event::{ChatEvent, Payload};

use super::{Kind, Standing, Store, Told};
use crate::follow::sqlite::beside;

/// A database that lies there: what was told of it, and how far that is noted.
pub(in crate::follow) struct Lying<K: Kind> {
    open: fn(&Path) -> Standing<K>,
    fixture: PathBuf,
    path: PathBuf,
    pub(in crate::follow) kept: BTreeMap<String, Told>,
    pub(in crate::follow) told: Vec<ChatEvent>,
    _dir: tempfile::TempDir,
}

impl<K: Kind> Lying<K> {
    /// A fixture below `tests`, as it lies at `below`, without its write-ahead log.
    pub(in crate::follow) fn new(
        fixture: &str,
        below: &str,
        open: fn(&Path) -> Standing<K>,
    ) -> Lying<K> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let lying = Lying {
            open,
            fixture: fixtures.join(fixture),
            path,
            kept: BTreeMap::new(),
            told: Vec::new(),
            _dir: dir,
        };
        lying.write(&lying.database());
        lying
    }

    /// One that is read from what is noted.
    pub(in crate::follow) fn store(&self) -> Standing<K> {
        let mut store = (self.open)(&self.path);
        store.look(i64::MIN, &self.kept).unwrap();
        store
    }

    pub(in crate::follow) fn database(&self) -> Vec<u8> {
        std::fs::read(&self.fixture).unwrap()
    }

    /// The write-ahead log as it was after each change: at first there is none.
    pub(in crate::follow) fn logs(&self) -> Vec<Vec<u8>> {
        let log = std::fs::read(beside(&self.fixture, "-wal")).unwrap();
        let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
        let frame = 24 + number(8) as usize;
        let ends = (32..log.len()).step_by(frame);
        let ends = ends.filter(|at| number(at + 4) != 0);
        let logs = ends.map(|at| log[..at + frame].to_vec());
        std::iter::once(Vec::new()).chain(logs).collect()
    }

    /// The database with what its log holds written back to it.
    pub(in crate::follow) fn written_back(&self, log: &[u8]) -> Vec<u8> {
        let mut bytes = self.database();
        let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap()) as usize;
        let page_bytes = number(8);
        for at in (32..log.len()).step_by(24 + page_bytes) {
            let begins = (number(at) - 1) * page_bytes;
            let ends = begins + page_bytes;
            bytes.resize(bytes.len().max(ends), 0);
            bytes[begins..ends].copy_from_slice(&log[at + 24..at + 24 + page_bytes]);
        }
        bytes
    }

    pub(in crate::follow) fn write(&self, database: &[u8]) {
        std::fs::write(&self.path, database).unwrap();
    }

    pub(in crate::follow) fn write_log(&self, log: &[u8]) {
        std::fs::write(beside(&self.path, "-wal"), log).unwrap();
    }

    /// Reads all that is new.
    pub(in crate::follow) fn read(&mut self, store: &mut Standing<K>) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        loop {
            let (more, news) = store.read(&self.kept).unwrap();
            for mut news in news {
                events.append(&mut news.events);
                self.kept.insert(news.session, news.told);
            }
            if !more {
                break;
            }
        }
        self.told.extend(events.iter().cloned());
        events
    }
}

/// No index of the database can be read.
pub(in crate::follow) fn without_indexes(mut bytes: Vec<u8>) -> Vec<u8> {
    let page_bytes = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    for at in (0..bytes.len()).step_by(page_bytes).skip(1) {
        if [2, 10].contains(&bytes[at]) {
            bytes[at] = 0;
        }
    }
    bytes
}

/// What was told, without pieces, and what is told of a session as often as it changes.
pub(in crate::follow) fn whole(events: &[ChatEvent]) -> BTreeSet<String> {
    let is_whole = |event: &&ChatEvent| {
        !matches!(
            event.payload,
            Payload::AssistantChunk(_)
                | Payload::ThinkingChunk(_)
                | Payload::Usage(_)
                | Payload::SessionStart(_)
        )
    };
    let line = |event: &ChatEvent| {
        let mut value: serde_json::Value = serde_json::from_str(&event.to_line()).unwrap();
        value["timestamp"].take();
        value.to_string()
    };
    events.iter().filter(is_whole).map(line).collect()
}

pub(in crate::follow) fn assert_once(events: &[ChatEvent]) {
    let mut ids = BTreeSet::new();
    for event in events {
        assert!(ids.insert(&event.id), "{} was told twice", event.id);
    }
}
