//! Full files: a file that is large enough is renamed and never written again, and the manifest says what is in it.
//!
//! A stop between any two steps leaves a log that opens: without a newest file it goes on in a new one, and what the manifest
//! lacks is added when the log is opened. Copying segments elsewhere is for others; nothing here ever deletes one.

use std::fs::File;
use std::io::{self, Write};

use memchr::memchr;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::files::{Files, MOST_SEGMENTS, Segment};
use super::{Log, lines};
use crate::blobs::hex;
use crate::error::Error;
use crate::platform;

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 1024 * 1024;

/// What is known of a session's segments.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    session: String,
    segments: Vec<Entry>,
}

/// One segment, so that a copy of it can be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    file: String,
    bytes: u64,
    sha256: String,
    events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seq: Option<u64>,
}

impl Log {
    /// Whether the newest file is to be sealed.
    pub(super) fn is_full(&self) -> bool {
        self.end - self.files.base() >= self.segment_bytes
            && self.files.sealed.len() < MOST_SEGMENTS
            && self.failed.is_none()
    }

    /// Seals the newest file. A refusal costs nothing but a longer file.
    pub(super) fn seal(&mut self) {
        if let Err(why) = self.try_seal() {
            tracing::error!(session = self.id.as_str(), "could not seal: {why}");
        }
    }

    fn try_seal(&mut self) -> Result<(), Error> {
        self.sync()?;
        let number = self.files.sealed.last().map_or(0, |last| last.number) + 1;
        let bytes = self.end - self.files.base();
        let newest = self.files.newest();
        let sealed = self.files.segment(number);
        let failed = |why| Error::io("seal the log", &newest, why);
        if sealed.exists() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        std::fs::rename(&newest, &sealed).map_err(failed)?;
        let mut segments = self.files.sealed.to_vec();
        segments.push(Segment { number, bytes });
        self.files.sealed = segments.into();
        self.file = None;
        self.newest = None;
        self.end = self.files.base();
        platform::sync_dir(&self.files.dir).map_err(failed)?;
        // Written at once, so that there is always a file of the name that people look for.
        self.write_lines::<&str>([])?;
        self.sync()?;
        self.complete_manifest();
        Ok(())
    }

    /// Adds to the manifest the segments that it lacks.
    pub(super) fn complete_manifest(&self) {
        if self.files.sealed.is_empty() {
            return;
        }
        if let Err(why) = self.try_complete_manifest() {
            tracing::warn!(
                session = self.id.as_str(),
                "could not write the manifest: {why}"
            );
        }
    }

    fn try_complete_manifest(&self) -> io::Result<()> {
        let path = self.files.manifest();
        let text = std::fs::read(&path).unwrap_or_default();
        let before: Manifest = serde_json::from_slice(&text).unwrap_or_default();
        let mut segments = Vec::new();
        let mut is_new = false;
        for segment in self.files.sealed.iter() {
            let path = self.files.segment(segment.number);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let known = before.segments.iter().find(|entry| entry.file == name);
            match known {
                Some(known) => {
                    if known.bytes != segment.bytes {
                        tracing::error!(
                            session = self.id.as_str(),
                            "a sealed segment was changed by somebody else: {}",
                            path.display()
                        );
                    }
                    segments.push(known.clone());
                }
                None => {
                    is_new = true;
                    segments.push(entry_of(
                        &name,
                        &platform::private_file().read(true).open(&path)?,
                    )?);
                }
            }
        }
        if !is_new {
            return Ok(());
        }
        // Segments that went elsewhere stay in the manifest.
        let gone = before.segments.into_iter();
        segments.extend(
            gone.filter(|entry| !segments.iter().any(|it| it.file == entry.file))
                .collect::<Vec<_>>(),
        );
        segments.sort_by(|one, other| one.file.cmp(&other.file));
        let manifest = Manifest {
            session: self.id.as_str().to_owned(),
            segments,
        };
        manifest.write(&self.files)
    }
}

impl Manifest {
    fn write(&self, files: &Files) -> io::Result<()> {
        let path = files.manifest();
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        let temporary = path.with_extension("json.new");
        let mut file = platform::private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&temporary, &path)?;
        platform::sync_dir(&files.dir)
    }
}

/// Takes out of the manifest what it says of a segment that is about to be another file. It is added again when the log is
/// opened.
pub(crate) fn forget(files: &Files, number: u32) -> io::Result<()> {
    let text = match std::fs::read(files.manifest()) {
        Ok(text) => text,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(why),
    };
    let mut manifest: Manifest = serde_json::from_slice(&text).unwrap_or_default();
    let path = files.segment(number);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    manifest.segments.retain(|entry| entry.file != name);
    manifest.write(files)
}

/// Reads the segment for what the manifest says of it.
fn entry_of(name: &str, file: &File) -> io::Result<Entry> {
    let mut entry = Entry {
        file: name.to_owned(),
        bytes: 0,
        sha256: String::new(),
        events: 0,
        first_seq: None,
        last_seq: None,
    };
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK_BYTES];
    // The beginning of the line that the next block goes on with: its number stands there.
    let mut beginning = Vec::new();
    let mut note = |line: &[u8]| {
        if let Some(seq) = lines::leading_seq(line).filter(|seq| *seq > 0) {
            entry.events += 1;
            entry.first_seq.get_or_insert(seq);
            entry.last_seq = Some(seq);
        }
    };
    let mut at = 0;
    loop {
        let n = platform::read_at(file, &mut block, at)?;
        if n == 0 {
            break;
        }
        at += n as u64;
        hash.update(&block[..n]);
        let mut rest = &block[..n];
        while let Some(newline) = memchr(b'\n', rest) {
            if beginning.is_empty() {
                note(&rest[..newline]);
            } else {
                beginning.extend_from_slice(&rest[..newline.min(lines::SEQ_BYTES)]);
                note(&beginning);
                beginning.clear();
            }
            rest = &rest[newline + 1..];
        }
        let wanted = lines::SEQ_BYTES.saturating_sub(beginning.len());
        beginning.extend_from_slice(&rest[..rest.len().min(wanted)]);
    }
    entry.bytes = at;
    entry.sha256 = hex(&hash.finalize());
    Ok(entry)
}
