//! The folder of one session, as it lies there.
//!
//! | file | what it is |
//! |---|---|
//! | `meta.json` | title, folder, model; not there for sub-agents |
//! | `journal/NUMBER.jsonl` | records from that number on; a new piece begins with each snapshot, the one before it stays until the next |
//! | `CURRENT` | `{"generation": NUMBER, …}`: the snapshot that counts |
//! | `generations/NUMBER/manifest.json` | up to which record it goes, and the names of its chunks |
//! | `generations/NUMBER/projection-state.json` | how the session and its newest turn stand |
//! | `generations/NUMBER/runtime-state.json` | what runs: commands in the background; and where the session works |
//! | `chunks/HASH.json` | entries, a list; the chunks one behind the other have all of them |
//!
//! All but the journal are written beside it and put in its place, so that they are whole.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::follow::file::{Facts, Followed};
use crate::follow::store;
use crate::says_gone;

/// The longest file that is read at once.
const MOST_BYTES: u64 = chat_event::jsonl::MAX_LINE_BYTES as u64;

/// More pieces of a journal than there ever are.
const MOST_PIECES: usize = 1000;

/// Where its files lie, beside those in the folder itself.
const FOLDERS: [&str; 3] = ["journal", "generations", "chunks"];

/// What a look at it tells: whatever is written to it makes another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::follow) struct Look {
    current: Option<Facts>,
    meta: Option<Facts>,
    /// The newest piece of the journal.
    piece: Option<(u64, Facts)>,
}

impl Look {
    /// `None` for a folder that is no session's.
    ///
    /// # Errors
    /// When it cannot be looked at, or leads elsewhere by a link.
    pub(super) fn at(folder: &Path) -> io::Result<Option<Look>> {
        let is_link = |name: &&&str| {
            let facts = folder.join(name).symlink_metadata();
            facts.is_ok_and(|facts| facts.is_symlink())
        };
        if let Some(name) = FOLDERS.iter().find(is_link) {
            return Err(io::Error::other(format!(
                "{name} is a link, which is not followed"
            )));
        }
        let newest = pieces(folder)?.pop();
        let piece = match newest {
            Some(first) => {
                let facts = Facts::try_of(&piece_path(folder, first))?;
                facts.map(|facts| (first, facts))
            }
            None => None,
        };
        let look = Look {
            current: Facts::try_of(&folder.join("CURRENT"))?,
            meta: Facts::try_of(&folder.join("meta.json"))?,
            piece,
        };
        Ok((look.current.is_some() || look.piece.is_some()).then_some(look))
    }
}

impl store::Look for Look {
    // `meta.json` is written anew when somebody looks at the session, which is nothing to speak of.
    fn changed_ms(&self) -> i64 {
        let piece = self.piece.map(|(_, facts)| facts);
        let all = [self.current, piece].into_iter().flatten();
        all.fold(0, |newest, facts| newest.max(facts.changed_ms))
    }
}

/// The numbers of the first records of a journal's pieces, ascending.
pub(super) fn pieces(folder: &Path) -> io::Result<Vec<u64>> {
    let entries = match std::fs::read_dir(folder.join("journal")) {
        Ok(entries) => entries,
        Err(why) if says_gone(&why) => return Ok(Vec::new()),
        Err(why) => return Err(why),
    };
    let mut pieces = Vec::new();
    for entry in entries.take(MOST_PIECES) {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        pieces.extend(number.and_then(number_of));
    }
    pieces.sort_unstable();
    Ok(pieces)
}

pub(super) fn piece_path(folder: &Path, first: u64) -> PathBuf {
    folder.join("journal").join(format!("{first:016}.jsonl"))
}

/// What `meta.json` says, on one line.
pub(super) fn meta(folder: &Path) -> io::Result<Option<String>> {
    let said = match value_of(&folder.join("meta.json")) {
        Ok(said) => said,
        Err(why) if says_gone(&why) => return Ok(None),
        Err(why) => return Err(why),
    };
    Ok(Some(said.to_string()))
}

/// A snapshot.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// The last record that it has.
    pub(super) upto: u64,
    /// Its chunks, of which those in front were read.
    pub(super) chunks: std::vec::IntoIter<String>,
    /// Where the session works, in the words of `meta.json`: of sub-agents there is none.
    pub(super) about: Option<String>,
    /// Commands in the background and how they stand, as the journal says it.
    pub(super) processes: Vec<String>,
    /// How the session stands in it.
    pub(super) state: String,
}

#[derive(Deserialize)]
struct Current {
    generation: String,
}

#[derive(Deserialize)]
struct Manifest {
    snapshot_sequence: u64,
    projection_state: Chunks,
}

#[derive(Deserialize)]
struct Chunks {
    chunks: Vec<String>,
}

impl Snapshot {
    /// The one that counts now; `None` where there is none.
    pub(super) fn of(folder: &Path) -> io::Result<Option<Snapshot>> {
        let current: Current = match read(&folder.join("CURRENT")) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(why) if says_gone(&why) => return Ok(None),
            Err(why) => return Err(why),
        };
        // Its name is a path's part.
        if number_of(&current.generation).is_none() {
            return Err(io::Error::other("CURRENT names no snapshot"));
        }
        let generation = folder.join("generations").join(&current.generation);
        let manifest = read(&generation.join("manifest.json"))?;
        let manifest: Manifest = serde_json::from_slice(&manifest)?;
        let state = value_of(&generation.join("projection-state.json"))?;
        // It may be very long, and nothing of the talk stands in it.
        let runtime = value_of(&generation.join("runtime-state.json")).unwrap_or_default();
        let processes = runtime.get("processes").and_then(Value::as_array);
        let processes = processes.into_iter().flatten().map(|process| {
            json!({"recovery_journal_record_version": 1, "sequence": manifest.snapshot_sequence,
                "type": "process_state_changed", "payload": {"process": process}})
            .to_string()
        });
        Ok(Some(Snapshot {
            upto: manifest.snapshot_sequence,
            chunks: manifest.projection_state.chunks.into_iter(),
            about: (!runtime.is_null()).then(|| about_in(&runtime).to_string()),
            processes: processes.collect(),
            state: state.to_string(),
        }))
    }
}

/// What a snapshot says of the session, as `meta.json` does.
fn about_in(runtime: &Value) -> Value {
    let text = |at: &str| runtime.pointer(at).cloned().unwrap_or_default();
    json!({"session_id": text("/session_id"), "title_source": "auto",
        "environment": {"working_directory": text("/session_metadata/cwd")},
        "config": {"active_model": text("/session_metadata/active_model")},
        "parent_session_id": text("/identity/parent_session_id")})
}

/// The entries of a chunk, as a list on one line.
pub(super) fn chunk(folder: &Path, name: &str) -> io::Result<String> {
    let is_hash = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(io::Error::other("a snapshot names no chunk"));
    }
    let entries = value_of(&folder.join("chunks").join(format!("{name}.json")))?;
    Ok(entries.to_string())
}

fn value_of(path: &Path) -> io::Result<Value> {
    Ok(serde_json::from_slice(&read(path)?)?)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = Followed::open(path)?;
    if file.len()? > MOST_BYTES {
        return Err(io::Error::other("a file of it is longer than 16 MiB"));
    }
    let mut bytes = Vec::new();
    file.read(0, MOST_BYTES, &mut bytes)?;
    Ok(bytes)
}

/// A number as names have it: 16 digits.
fn number_of(name: &str) -> Option<u64> {
    let is_number = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| name.parse().ok()).flatten()
}
