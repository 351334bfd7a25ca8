//! What the tests of logs share: a session `s1` of numbered events.

pub(crate) mod copying;
pub(crate) mod server;

use std::path::{Path, PathBuf};

use chat_event::ChatEvent;
use chat_event::payload::AssistantChunk;
use chat_store::{Options, PageRequest, Session, SessionId, Store};

pub(crate) fn open(dir: &Path) -> Store {
    Store::open(dir, Options::default()).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

pub(crate) fn chunk(n: u64) -> ChatEvent {
    let payload = AssistantChunk {
        text: format!("word {n}\n"),
        ..AssistantChunk::default()
    };
    ChatEvent::new(format!("e{n}"), n as i64, "s1", payload)
}

pub(crate) fn all(session: &Session) -> Vec<(u64, String)> {
    let mut after = 0;
    let mut found = Vec::new();
    loop {
        let page = session
            .page(PageRequest {
                after,
                limit: 50,
                max_bytes: 1 << 20,
            })
            .unwrap();
        for line in &page.lines {
            let event = ChatEvent::from_json(line).unwrap();
            found.push((event.seq.unwrap(), event.id));
        }
        after = page.next;
        if after >= page.head {
            return found;
        }
    }
}

pub(crate) fn numbered(to: u64) -> Vec<(u64, String)> {
    (1..=to).map(|n| (n, format!("e{n}"))).collect()
}

pub(crate) fn log_path(dir: &Path) -> PathBuf {
    dir.join(format!("{}.events.jsonl", id("s1").stem()))
}

/// The names of the files of the log, in the order of its events.
pub(crate) fn files_of(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter(|name| name.ends_with(".events.jsonl"))
        .collect();
    names.sort();
    names
}

/// A folder, in memory where there is such a place: what is in it is opened often.
pub(crate) fn memory_dir() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let dir = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    dir.unwrap()
}

/// A log of `n` events, not closed, in a folder of its own.
pub(crate) fn log_of(n: u64) -> (tempfile::TempDir, Vec<u8>) {
    let dir = memory_dir();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    for n in 1..=n {
        session.append(vec![chunk(n)], false, 1000).unwrap();
    }
    drop((session, store));
    let bytes = std::fs::read(log_path(dir.path())).unwrap();
    (dir, bytes)
}

/// Whether the long forms of the tests are asked for.
pub(crate) fn is_full() -> bool {
    std::env::var_os("TURNREEL_FULL").is_some()
}

/// Removes what repairs leave, so that the next damage meets a folder with a log alone.
pub(crate) fn remove_beside(dir: &Path, parts: &[&str]) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if parts.iter().any(|part| name.contains(part)) {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// Numbers that are the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as usize % most
    }

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
