//! Copying one session: its log, its bodies, and last the manifest. Each is read back before it counts.

use std::collections::BTreeSet;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

use chat_event::compaction::Folded;
use chat_event::{ChatEvent, bodies};
use chat_store::{Session, SessionId, now_ms};
use object_store::path::Path;

use super::keys::Version;
use super::objects::Got;
use super::pack::{self, Digest};
use super::{BLOB_BYTES, Cold, Manifest};
use crate::copier::off_thread;
use crate::error::Error;

/// What the manifest says of its writer.
const WRITER: &str = concat!("turnreel/", env!("CARGO_PKG_VERSION"));

/// What a disk says of what it cannot read: `EIO`, or `ERROR_CRC` on Windows.
const LOST: i32 = if cfg!(windows) { 23 } else { 5 };

/// What became of a session.
#[derive(Debug)]
pub(super) enum Put {
    /// It is there, as this says.
    Done(Box<Manifest>),
    /// It changed while it was read, and is to be read again.
    Changed,
}

/// A log as it lies in the folder.
struct Whole {
    digest: Digest,
    /// The digests of its beginnings that are as long as older copies.
    beginnings: Vec<Digest>,
    /// How many events can be read in it.
    events: u64,
    /// The hashes of bodies beside it.
    blobs: BTreeSet<String>,
}

impl Cold {
    /// Copies the session as it is now. One that has lost what an older copy of it has does not take its place.
    pub(super) async fn put(&self, session: &Arc<Session>) -> Result<Put, Error> {
        let id = session.id();
        // What it finds of bodies is there until they are named.
        let _copying = self.removing.copying.read().await;
        let n_removals = self.n_removals(id);
        let before = off_thread(session, Session::position).await?;
        let (mut older, _) = self.copies(&id.stem()).await?;
        older.sort_by_key(|copy| copy.bytes);
        let lengths: Vec<u64> = older.iter().map(|copy| copy.bytes).collect();
        let reading = move |session: &Session| {
            let read = read(session, &lengths)?;
            let (summary, position) = (session.summary(), session.position());
            Ok::<_, Error>((read, summary, position, session.epochs()))
        };
        let (read, summary, position, epochs) = off_thread(session, reading).await??;
        // The summary was taken between the two, so it is of the same events; and the epochs are no others.
        if position != before || epochs.last().is_none_or(|last| last.epoch != before.0) {
            return Ok(Put::Changed);
        }
        let (epoch, head) = before;
        let version = Version::new(&epoch, head);
        let has_more = |copy: &Manifest| copy.version() == version && copy.events > read.events;
        if older.iter().any(has_more) {
            return Err(damaged_here());
        }
        let digest = &read.digest;
        let key = self.keys.log(id, &digest.sha256);
        let n_bytes = digest.bytes;
        let of = session.clone();
        let log = move || Ok(of.log_bytes()?.take(n_bytes));
        if !self.put_one(&key, digest, log).await? {
            return Ok(Put::Changed);
        }
        let verified: BTreeSet<&String> = older.iter().flat_map(|copy| &copy.blobs).collect();
        let (mut blobs, mut missing_blobs) = (Vec::new(), Vec::new());
        for sha256 in &read.blobs {
            // What an older copy names was read back when that was made.
            let is_there = verified.contains(sha256) || self.put_blob(session, sha256).await?;
            let all = if is_there {
                &mut blobs
            } else {
                &mut missing_blobs
            };
            all.push(sha256.clone());
        }
        let mut manifest = Manifest {
            writer: WRITER.to_owned(),
            written_ms: now_ms(),
            session: id.as_str().to_owned(),
            epoch,
            head,
            epochs,
            events: read.events,
            bytes: digest.bytes,
            sha256: digest.sha256.clone(),
            object: self.keys.below_prefix(&key),
            blobs,
            missing_blobs,
            summary: Arc::unwrap_or_clone(summary),
        };
        let named = self.put_named(session, &mut manifest, &verified).await;
        if self.n_removals(id) != n_removals {
            // The session was removed while it was copied.
            self.remove_all(&id.stem()).await?;
            return Ok(Put::Changed);
        }
        named?;
        for (copy, beginning) in older.iter().zip(&read.beginnings) {
            if copy.digest() == *beginning {
                self.put_away(id, copy, &manifest).await?;
            }
        }
        // Its manifest is this one by now. What is left of it, as where the log was compacted since, is named by nobody.
        let before = older.iter().find(|copy| copy.version() == version);
        let is_named = |sha256: &String| {
            let mut others = older.iter().filter(|copy| copy.version() != version);
            *sha256 == manifest.sha256 || others.any(|copy| copy.sha256 == *sha256)
        };
        if let Some(before) = before.filter(|copy| !is_named(&copy.sha256)) {
            let key = self.keys.log(id, &before.sha256);
            self.objects.delete(&key).await?;
        }
        Ok(Put::Done(Box::new(manifest)))
    }

    /// Puts what `open` gives there, where it is not there already, and reads it back in either case; `false` where it gives
    /// something else than is expected. What was just put there and is not the same is deleted. What was there before is
    /// only ever put there anew: another copy may need it, and it may be the way here that is broken.
    async fn put_one<R: Read + Send + 'static>(
        &self,
        key: &Path,
        expected: &Digest,
        open: impl FnOnce() -> Result<R, Error> + Send + 'static,
    ) -> Result<bool, Error> {
        let was_there = self.objects.is_there(key).await?;
        if was_there && self.is_same(key, expected).await? {
            return Ok(true);
        }
        // The disk may take long, and the log may be in somebody's hand.
        let opened = tokio::task::spawn_blocking(open).await;
        let opened = opened.map_err(|why| Error::local("read what is to be copied", why))??;
        if !self.objects.put_packed(key, opened, expected).await? {
            return Ok(false);
        }
        if self.is_same(key, expected).await? {
            return Ok(true);
        }
        if !was_there {
            self.objects.delete(key).await?;
        }
        Err(self.damaged("copy it", key))
    }

    /// Reads an object back.
    async fn is_same(&self, key: &Path, expected: &Digest) -> Result<bool, Error> {
        let back = self
            .objects
            .get_packed(key, std::io::sink(), expected.bytes);
        Ok(match back.await? {
            Got::Whole(found) => found == *expected,
            Got::Broken | Got::Nothing => false,
        })
    }

    /// Puts a body there; `false` where it is neither here nor there. One that is damaged here is not here: it is no reason
    /// to copy nothing of its session.
    async fn put_blob(&self, session: &Arc<Session>, sha256: &str) -> Result<bool, Error> {
        let key = self.keys.blob(sha256);
        let name = sha256.to_owned();
        let here = off_thread(session, move |session| session.body_here(&name)).await??;
        let Some((file, bytes)) = here else {
            return self.objects.is_there(&key).await;
        };
        let expected = Digest {
            bytes,
            sha256: sha256.to_owned(),
        };
        let open = move || Ok(AsFarAsThere(file));
        if self.put_one(&key, &expected, open).await? {
            return Ok(true);
        }
        tracing::error!(
            session = session.id().as_str(),
            sha256,
            "a body beside the log is damaged: it has another hash, and is not copied"
        );
        let found = self.objects.get_packed(&key, std::io::sink(), BLOB_BYTES);
        Ok(matches!(found.await?, Got::Whole(found) if found.sha256 == sha256))
    }

    /// Puts the manifest there, and those bodies again that went since they were read back: until it named them, a server that
    /// knows nothing of this one may have removed them.
    async fn put_named(
        &self,
        session: &Arc<Session>,
        manifest: &mut Manifest,
        verified: &BTreeSet<&String>,
    ) -> Result<(), Error> {
        self.put_manifest(session.id(), manifest).await?;
        let mut lost = BTreeSet::new();
        for sha256 in manifest.blobs.iter().filter(|it| !verified.contains(it)) {
            let is_there = self.objects.is_there(&self.keys.blob(sha256)).await?;
            if !is_there && !self.put_blob(session, sha256).await? {
                lost.insert(sha256.clone());
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        manifest.blobs.retain(|sha256| !lost.contains(sha256));
        manifest.missing_blobs.extend(lost);
        self.put_manifest(session.id(), manifest).await
    }

    async fn put_manifest(&self, id: &SessionId, manifest: &Manifest) -> Result<(), Error> {
        let what = "write a manifest";
        let text = serde_json::to_vec_pretty(manifest).map_err(|why| Error::store(what, why))?;
        let version = manifest.version();
        let key = self.keys.manifest(id, &version);
        self.objects.put_small(&key, text.clone()).await?;
        let back = self.objects.get_small(&key, text.len()).await?;
        if back.as_ref() != Some(&text) {
            self.objects.delete(&key).await?;
            return Err(self.damaged(what, &key));
        }
        self.note(&id.stem(), version);
        Ok(())
    }

    /// Removes a copy that another begins with: first what makes it visible. The manifest of one that has the same events,
    /// and less of what the log says of itself, is the other's by now.
    async fn put_away(&self, id: &SessionId, copy: &Manifest, by: &Manifest) -> Result<(), Error> {
        let version = copy.version();
        if version != by.version() {
            self.objects
                .delete(&self.keys.manifest(id, &version))
                .await?;
            if let Some(versions) = self.known().get_mut(&id.stem()) {
                versions.retain(|it| *it != version);
            }
        }
        if copy.sha256 != by.sha256 {
            self.objects
                .delete(&self.keys.log(id, &copy.sha256))
                .await?;
        }
        Ok(())
    }
}

/// Ends where the disk has lost what follows. It is another body then, as one that was cut is.
struct AsFarAsThere<R>(R);

impl<R: Read> Read for AsFarAsThere<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer) {
            Err(why) if why.raw_os_error() == Some(LOST) => Ok(0),
            read => read,
        }
    }
}

/// Reads all of a log. What is appended meanwhile may be among it, which the caller finds.
fn read(session: &Session, lengths: &[u64]) -> Result<Whole, Error> {
    let failed = |why| Error::local("read a log", why);
    let (digest, beginnings) = pack::digest(session.log_bytes()?, lengths).map_err(failed)?;
    let mut blobs = BTreeSet::new();
    let mut events = 0;
    session.walk(0, &mut |_, line| {
        events += n_events(line);
        note_blobs(line, &mut blobs);
        ControlFlow::Continue(())
    })?;
    Ok(Whole {
        digest,
        beginnings,
        events,
        blobs,
    })
}

/// How many events a line stands for.
fn n_events(line: &str) -> u64 {
    // One that others were folded into has this in its line, and most have not.
    if !line.contains("\"timing\"") {
        return 1;
    }
    let event = ChatEvent::from_json(line).ok();
    let folded = event.as_ref().and_then(Folded::of);
    folded.map_or(1, |folded| folded.n_events() as u64)
}

/// Of a log that is not what it was.
pub(super) fn damaged_here() -> Error {
    Error::local("compare with the copy", "the log here is damaged")
}

/// Takes note of the bodies that a line refers to.
fn note_blobs(line: &str, blobs: &mut BTreeSet<String>) {
    // What refers to a body has this in its line, and most lines have not.
    if !line.contains("$body") {
        return;
    }
    let Ok(mut event) = ChatEvent::from_json(line) else {
        return;
    };
    // Nothing is put back, so nothing is refused.
    let Ok(()) = bodies::put_back::<std::convert::Infallible>(&mut event, &mut |reference| {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        // It becomes a key, and may say anything.
        if reference.sha256.len() == 64 && reference.sha256.bytes().all(is_hex) {
            blobs.insert(reference.sha256.clone());
        }
        Ok(None)
    });
}

#[cfg(test)]
mod tests;
