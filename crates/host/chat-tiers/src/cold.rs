//! An object store that speaks S3: whole sessions, packed, written when they end and read when somebody asks for them.
//!
//! Below the prefix of the address lie
//!
//! - `sessions/<stem>/<sha256>.events.jsonl.gz`, a log: the bytes of its files one after the other, with the hash of those;
//! - `blobs/<2 hex>/<sha256>.gz`, a body beside logs, once for all sessions that have it;
//! - `sessions/<stem>/<epoch>.<head>.manifest.json`, which is written last and makes a copy visible: [`Manifest`].
//!
//! A copy counts when it was read back and was the same. A newer one takes the place of those that it begins with; one
//! that parts from it, such as another server's, stays beside it. What is copied, and when, is for `keep`; how it is
//! packed for `pack`; how the store is asked for `objects`; how all of a session goes for `remove`. What an upload that
//! was killed leaves in parts is seen by nobody, and is for the bucket's own rules to put away
//! (`AbortIncompleteMultipartUpload`).

mod address;
mod keep;
mod keys;
mod manifest;
mod objects;
mod pack;
mod put;
mod remove;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat_store::{Blobs, Session, SessionId};
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::copier::off_thread;
use crate::error::Error;
use keys::{Keys, Version};
use objects::{Got, Objects};
use pack::Digest;
use put::Put;
use remove::Removing;

pub use keep::keep;
pub use manifest::Manifest;
pub use remove::{Hidden, RemovedCopies};

/// A manifest that is longer is none of ours.
const MANIFEST_BYTES: usize = 16 * 1024 * 1024;

/// Copies of one session that are compared to find the newest.
const MOST_COPIES: usize = 16;

/// A body that unpacks to more is none that a server took.
const BLOB_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// One object store. Cloning it is cheap.
#[derive(Clone)]
pub struct Cold {
    objects: Objects,
    keys: Keys,
    /// What copies it is known to have, by the stems of sessions.
    known: Arc<Mutex<HashMap<String, Vec<Version>>>>,
    removing: Arc<Removing>,
}

/// The address may hold what others must not see.
impl fmt::Debug for Cold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cold").finish_non_exhaustive()
    }
}

impl Cold {
    /// The store at `s3://BUCKET[/PREFIX][?region=…&endpoint=https://…]`. Credentials are had as other programs have them, from
    /// the environment (`AWS_ACCESS_KEY_ID` …), a web identity, the container or the machine. It is not connected to yet.
    ///
    /// # Errors
    ///
    /// Where that is no such address; what is said does not repeat it.
    pub fn new(url: &str) -> Result<Self, Error> {
        let address = address::Address::parse(url)?;
        Ok(Cold {
            objects: Objects::new(address.connect()?),
            keys: Keys::new(address.prefix()),
            known: Arc::default(),
            removing: Arc::default(),
        })
    }

    /// Whether it is known to have a copy of the session. Nothing is asked.
    pub fn has(&self, session: &SessionId) -> bool {
        let stem = session.stem();
        !self.is_hidden(&stem) && self.known().contains_key(&stem)
    }

    /// The newest copy of the session; `None` where there is none.
    ///
    /// # Errors
    ///
    /// Where the store is away or refuses, or what it has is none of ours.
    pub async fn find(&self, session: &SessionId) -> Result<Option<Manifest>, Error> {
        self.find_of_stem(&session.stem()).await
    }

    /// The newest copy of the session whose [stem](SessionId::stem) this is; `None` where there is none.
    ///
    /// # Errors
    ///
    /// As [`Cold::find`].
    pub async fn find_of_stem(&self, stem: &str) -> Result<Option<Manifest>, Error> {
        if self.is_hidden(stem) {
            return Ok(None);
        }
        let (copies, n_unread) = self.copies(stem).await?;
        let newest = manifest::newest(copies);
        if newest.is_none() && n_unread > 0 {
            return Err(self.damaged("read a manifest", &self.keys.session(stem)));
        }
        if let Some(newest) = &newest {
            self.note(stem, newest.version());
        }
        Ok(newest)
    }

    /// The stems of all sessions it has a copy of, in order. It is asked.
    ///
    /// # Errors
    ///
    /// Where the store is away or refuses.
    pub async fn stems(&self) -> Result<Vec<String>, Error> {
        self.list().await?;
        let mut stems: Vec<String> = self.known().keys().cloned().collect();
        stems.sort_unstable();
        Ok(stems)
    }

    /// Reads the copy of a session back, and compares it with the log as it is now; where it is not the same, the log is
    /// copied anew first. The copy, or `None` where the log changed meanwhile.
    ///
    /// # Errors
    ///
    /// Where the store is away or refuses, what it gives back is another, or the log cannot be read; and where the log has
    /// lost what the copy has: that is not to take its place.
    pub async fn verified(&self, session: &Arc<Session>) -> Result<Option<Manifest>, Error> {
        if off_thread(session, Session::damaged_lines).await? > 0 {
            return Err(put::damaged_here());
        }
        Ok(match self.put(session).await? {
            Put::Done(copy) => Some(*copy),
            Put::Changed => None,
        })
    }

    /// Fetches the log of a copy into an empty file.
    ///
    /// # Errors
    ///
    /// Where the store is away or refuses, what it gives is not what was put there, or the disk refuses.
    pub async fn fetch(&self, copy: &Manifest, into: &File) -> Result<(), Error> {
        let session = SessionId::parse(&copy.session)?;
        let what = "fetch a log from the object store";
        let expected = copy.digest();
        let key = self.keys.log(&session, &copy.sha256);
        let file = into.try_clone().map_err(|why| Error::local(what, why))?;
        let kept = into.try_clone().map_err(|why| Error::local(what, why))?;
        let found = self.objects.get_packed(&key, kept, expected.bytes).await?;
        match found {
            Got::Whole(found) if found == expected => {}
            Got::Whole(_) | Got::Broken => return Err(self.damaged(what, &key)),
            Got::Nothing => {
                let (why, key) = ("it is not there", self.keys.below_prefix(&key));
                return Err(Error::Damaged { what, why, key });
            }
        }
        // It goes into the place of a log: nothing that stands there is lost when the power goes.
        let synced = tokio::task::spawn_blocking(move || file.sync_all()).await;
        synced
            .map_err(std::io::Error::other)
            .flatten()
            .map_err(|why| Error::local(what, why))
    }

    /// Fetches a body among those of this folder; whether there is one.
    ///
    /// # Errors
    ///
    /// As [`Cold::fetch`].
    pub async fn fetch_blob(&self, sha256: &str, blobs: &Arc<Blobs>) -> Result<bool, Error> {
        let what = "fetch a body from the object store";
        let (blobs, name) = (blobs.clone(), sha256.to_owned());
        // A folder that is made is synced.
        let beginning = tokio::task::spawn_blocking(move || blobs.begin(&name)).await;
        let into = pack::Uploading::new(beginning.map_err(|why| Error::local(what, why))??);
        let finish = into.clone();
        let key = self.keys.blob(sha256);
        let found = self.objects.get_packed(&key, into, BLOB_BYTES).await?;
        match found {
            Got::Whole(found) if found.sha256 == sha256 => {}
            Got::Whole(_) | Got::Broken => return Err(self.damaged(what, &key)),
            Got::Nothing => return Ok(false),
        }
        let finishing = tokio::task::spawn_blocking(move || finish.finish()).await;
        finishing.map_err(|why| Error::local(what, why))??;
        Ok(true)
    }

    /// What is there under that key is none of ours.
    fn damaged(&self, what: &'static str, key: &Path) -> Error {
        let why = "it is not what was put there";
        let key = self.keys.below_prefix(key);
        Error::Damaged { what, why, key }
    }

    /// The manifests of the session's copies, and how many cannot be read. Of very many, those that were written last.
    async fn copies(&self, stem: &str) -> Result<(Vec<Manifest>, usize), Error> {
        let mut keys = Vec::new();
        let below = self.keys.session(stem);
        let mut note = |object: &ObjectMeta| {
            if self.keys.version(object.location.as_ref()).is_some() {
                keys.push((object.last_modified, object.location.clone()));
            }
        };
        self.objects.each(&below, &mut note).await?;
        keys.sort_unstable_by(|one, other| other.cmp(one));
        keys.truncate(MOST_COPIES);
        let n_copies = keys.len();
        let mut copies = Vec::with_capacity(n_copies);
        for (_, key) in keys {
            let text = self.objects.get_small(&key, MANIFEST_BYTES).await?;
            let copy = text.and_then(|text| Manifest::read(&text, stem));
            // One that was put away meanwhile, or is none of ours.
            let copy = copy.filter(|(id, copy)| self.keys.manifest(id, &copy.version()) == key);
            copies.extend(copy.map(|(_, copy)| copy));
        }
        let n_unread = n_copies - copies.len();
        Ok((copies, n_unread))
    }

    /// Asks what it has, of all sessions.
    async fn list(&self) -> Result<(), Error> {
        let mut found: HashMap<String, Vec<Version>> = HashMap::new();
        let mut note = |object: &ObjectMeta| {
            if let Some((stem, version)) = self.keys.version(object.location.as_ref()) {
                found.entry(stem.to_owned()).or_default().push(version);
            }
        };
        self.objects.each(&self.keys.sessions(), &mut note).await?;
        *self.known() = found;
        Ok(())
    }

    /// Asks it something that costs little, so that it is known whether it answers.
    async fn probe(&self) -> Result<(), Error> {
        self.objects.any(&self.keys.sessions()).await
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Vec<Version>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has this copy.
    fn note(&self, stem: &str, version: Version) {
        let mut known = self.known();
        let versions = known.entry(stem.to_owned()).or_default();
        if !versions.contains(&version) {
            versions.push(version);
        }
    }

    /// Whether it is known to have all of the session up to `head`. Nothing is asked.
    pub fn covers(&self, session: &SessionId, epoch: &str, head: u64) -> bool {
        let stem = session.stem();
        let known = self.known();
        let versions = known.get(&stem).into_iter().flatten();
        versions
            .into_iter()
            .any(|version| version.is_of(epoch) && version.head >= head)
    }
}

impl Manifest {
    fn digest(&self) -> Digest {
        Digest {
            bytes: self.bytes,
            sha256: self.sha256.clone(),
        }
    }
}
