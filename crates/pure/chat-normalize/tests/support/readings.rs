//! What a reader makes of a source, whole and in pieces; also for the tests of the whole project.

use std::path::{Path, PathBuf};

use chat_event::ChatEvent;
use chat_normalize::{Context, Dialect, NotASession, Report, SessionReader};

/// A file, and what it holds.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// What lies in a folder, by name.
pub(crate) fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// What a reader makes of a source.
pub(crate) struct Read {
    pub(crate) events: Vec<ChatEvent>,
    pub(crate) report: Report,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) verdict: Result<(), NotASession>,
}

/// Reads pieces of a source.
pub(crate) fn read_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    let mut verdict = Ok(());
    for piece in pieces {
        verdict = reader.push(piece, 0, &mut events);
        if verdict.is_err() {
            break;
        }
    }
    let verdict = verdict.and_then(|()| reader.finish(0, &mut events));
    Read {
        events,
        report: reader.report(),
        dialect: reader.dialect(),
        verdict,
    }
}

/// Reads a source as a whole.
pub(crate) fn read(bytes: &[u8]) -> Read {
    read_pieces(std::iter::once(bytes))
}

/// Pieces of up to `longest` bytes and a second reading give what the whole gives.
pub(crate) fn assert_cuts(source: &Source, longest: usize, random: &mut Random) {
    let whole = read(&source.bytes);
    let mut pieces = Vec::new();
    let mut rest = source.bytes.as_slice();
    while !rest.is_empty() {
        let length = random.below(longest).saturating_add(1).min(rest.len());
        let (piece, behind) = rest.split_at(length);
        pieces.push(piece);
        rest = behind;
    }
    let cut = read_pieces(pieces.into_iter());
    assert_eq!(cut.verdict, whole.verdict, "{}", source.name);
    assert!(
        cut.events == whole.events,
        "{}: pieces of up to {longest} bytes give other events",
        source.name
    );
}

/// Numbers that look random and are the same in every run (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let limit = u64::try_from(limit.max(1)).unwrap();
        usize::try_from(self.0 % limit).unwrap()
    }
}
