//! Asking the store, with patience: a request waits as long as what it carries may take, and no longer.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::sync::mpsc;

use super::pack::{self, Digest, NotUnpacked, PART_BYTES};
use crate::error::Error;

/// A store that says nothing for so long is taken to be away.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// One that takes or gives fewer bytes a second is, too.
const SLOWEST: u64 = 8 * 1024;

const LIST: &str = "list the object store";

/// What came of unpacking an object.
#[derive(Debug)]
pub(super) enum Got {
    /// It is not there.
    Nothing,
    /// It does not unpack, or to more than it should.
    Broken,
    /// It was unpacked to this.
    Whole(Digest),
}

/// The objects of a bucket.
#[derive(Clone)]
pub(super) struct Objects {
    store: Arc<dyn ObjectStore>,
}

impl Objects {
    pub(super) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Objects { store }
    }

    /// Shows `note` what there is below a folder.
    pub(super) async fn each(
        &self,
        below: &Path,
        note: &mut (dyn FnMut(&ObjectMeta) + Send),
    ) -> Result<(), Error> {
        let mut found = self.store.list(Some(below));
        while let Some(object) = within(LIST, PATIENCE, found.next()).await? {
            note(&object.map_err(|why| not_listed(&why))?);
        }
        Ok(())
    }

    /// Asks for what is first below a folder, if there is anything.
    pub(super) async fn any(&self, below: &Path) -> Result<(), Error> {
        let mut found = self.store.list(Some(below));
        match within(LIST, PATIENCE, found.next()).await? {
            Some(Err(why)) => Err(not_listed(&why)),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    /// Whether there is an object of that key.
    pub(super) async fn is_there(&self, key: &Path) -> Result<bool, Error> {
        Ok(self.length(key).await?.is_some())
    }

    /// The length of an object; `None` where there is none.
    pub(super) async fn length(&self, key: &Path) -> Result<Option<u64>, Error> {
        let what = "ask the object store";
        match within(what, PATIENCE, self.store.head(key)).await? {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(why) => Err(refused(what, &why)),
        }
    }

    /// An object as it is; `None` where there is none, or it is longer.
    pub(super) async fn get_small(
        &self,
        key: &Path,
        most_bytes: usize,
    ) -> Result<Option<Vec<u8>>, Error> {
        let what = "read from the object store";
        let found = match within(what, PATIENCE, self.store.get(key)).await? {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(why) => return Err(refused(what, &why)),
        };
        let mut pieces = found.into_stream();
        let mut bytes = Vec::new();
        while let Some(piece) = within(what, PATIENCE, pieces.next()).await? {
            let piece = piece.map_err(|why| refused(what, &why))?;
            if bytes.len() + piece.len() > most_bytes {
                return Ok(None);
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Some(bytes))
    }

    pub(super) async fn put_small(&self, key: &Path, bytes: Vec<u8>) -> Result<(), Error> {
        self.put_whole(key, bytes.into()).await
    }

    async fn put_whole(&self, key: &Path, bytes: PutPayload) -> Result<(), Error> {
        let what = "write to the object store";
        let patience = patience(bytes.content_length());
        let put = within(what, patience, self.store.put(key, bytes)).await?;
        put.map_err(|why| refused(what, &why))?;
        Ok(())
    }

    /// Packs what is read, and puts it there: in one piece, or part by part. It is not to be seen before it is all there, and
    /// not at all where what was read is not what was expected: `false`.
    pub(super) async fn put_packed(
        &self,
        key: &Path,
        from: impl Read + Send + 'static,
        expected: &Digest,
    ) -> Result<bool, Error> {
        // One is packed while another is on its way.
        let (sender, mut parts) = mpsc::channel(1);
        let packing = tokio::task::spawn_blocking(move || pack::pack(from, sender));
        let packed = async {
            let read = packing.await.map_err(std::io::Error::other).flatten();
            let read = read.map_err(|why| Error::local("read what is to be copied", why))?;
            Ok(read == *expected)
        };
        let Some(first) = parts.recv().await else {
            return packed.await;
        };
        if first.content_length() < PART_BYTES {
            if !packed.await? {
                return Ok(false);
            }
            return self.put_whole(key, first).await.map(|()| true);
        }
        let what = "write to the object store";
        let beginning = within(what, PATIENCE, self.store.put_multipart(key)).await?;
        let mut upload = beginning.map_err(|why| refused(what, &why))?;
        let put = async {
            let mut next = Some(first);
            while let Some(part) = next {
                let patience = patience(part.content_length());
                let put = within(what, patience, upload.put_part(part)).await?;
                put.map_err(|why| refused(what, &why))?;
                next = parts.recv().await;
            }
            if !packed.await? {
                return Ok(false);
            }
            // The store puts the parts together, which takes long where there are many.
            let complete = within(what, 6 * PATIENCE, upload.complete()).await?;
            complete.map_err(|why| refused(what, &why)).map(|_| true)
        };
        let put = put.await;
        if !matches!(put, Ok(true)) {
            give_up(upload).await;
        }
        put
    }

    /// Unpacks an object into `into`, where it is no longer than it should.
    pub(super) async fn get_packed(
        &self,
        key: &Path,
        into: impl Write + Send + 'static,
        most_bytes: u64,
    ) -> Result<Got, Error> {
        let what = "read from the object store";
        let found = match within(what, PATIENCE, self.store.get(key)).await? {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(Got::Nothing),
            Err(why) => return Err(refused(what, &why)),
        };
        let (sender, pieces) = mpsc::channel(4);
        let unpacking = move || pack::unpack(pieces, into, most_bytes);
        let unpacking = tokio::task::spawn_blocking(unpacking);
        let mut coming = found.into_stream();
        while let Some(piece) = within(what, PATIENCE, coming.next()).await? {
            let piece = piece.map_err(|why| refused(what, &why))?;
            // Where nobody takes it, it was refused, and why is said below.
            if sender.send(piece).await.is_err() {
                break;
            }
        }
        drop(sender);
        let unpacked = unpacking.await.map_err(|why| Error::local(what, why))?;
        match unpacked {
            Ok(digest) => Ok(Got::Whole(digest)),
            Err(NotUnpacked::Broken) => Ok(Got::Broken),
            Err(NotUnpacked::Refused(why)) => Err(match why.downcast::<chat_store::Error>() {
                Ok(why) => Error::Log(why),
                Err(why) => Error::local("write what was fetched", why),
            }),
        }
    }

    /// Copies an object within the store: `false` where there is none.
    pub(super) async fn copy(&self, from: &Path, to: &Path) -> Result<bool, Error> {
        let what = "copy within the object store";
        // The store reads and writes all of it.
        match within(what, 6 * PATIENCE, self.store.copy(from, to)).await? {
            Ok(()) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(why) => Err(refused(what, &why)),
        }
    }

    pub(super) async fn delete(&self, key: &Path) -> Result<(), Error> {
        let what = "delete from the object store";
        match within(what, PATIENCE, self.store.delete(key)).await? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(why) => Err(refused(what, &why)),
        }
    }
}

fn not_listed(why: &object_store::Error) -> Error {
    match refused(LIST, why) {
        // An empty bucket has a list, too.
        Error::Store { why, .. } if why.starts_with("it answers 404") => {
            Error::store(LIST, format!("there is no such bucket: {why}"))
        }
        other => other,
    }
}

/// Tells the store that the parts are not needed. Where it does not hear of it they lie there, and nobody sees them.
async fn give_up(mut upload: Box<dyn MultipartUpload>) {
    let _ = tokio::time::timeout(PATIENCE, upload.abort()).await;
}

fn patience(n_bytes: usize) -> Duration {
    PATIENCE + Duration::from_secs(n_bytes as u64 / SLOWEST)
}

async fn within<V>(
    what: &'static str,
    patience: Duration,
    asking: impl Future<Output = V>,
) -> Result<V, Error> {
    tokio::time::timeout(patience, asking).await.map_err(|_| {
        let seconds = patience.as_secs();
        let hint = if asks_machine() {
            format!(" (where no credentials are set up: {ASKS_MACHINE})")
        } else {
            String::new()
        };
        Error::store(what, format!("no answer for {seconds} s{hint}"))
    })
}

/// What is asked for credentials is not the store, and many machines do not answer at all.
const ASKS_MACHINE: &str =
    "AWS_ACCESS_KEY_ID is not set, so that this machine is asked for credentials";

/// Whether the environment names none.
fn asks_machine() -> bool {
    let names = [
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ];
    names.iter().all(|name| std::env::var_os(name).is_none())
}

/// What the store said, in the same words each time, and without what its answers and addresses may hold: the innermost
/// cause, and of an answer its status.
fn refused(what: &'static str, why: &object_store::Error) -> Error {
    // Where a machine gives credentials, which it is asked for before the store is asked anything.
    let is_of_machine = asks_machine() && {
        let told = why.to_string();
        ["/latest/api/token", "/latest/meta-data"]
            .iter()
            .any(|path| told.contains(path))
    };
    let mut cause: &dyn std::error::Error = why;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = cause.to_string();
    let status = text
        .strip_prefix("Server returned non-2xx status code: ")
        .map(|rest| rest.split(':').next().unwrap_or_default());
    let why = match status {
        Some(status) => format!("it answers {}", status.trim()),
        None if text.starts_with("Server returned error response") => {
            "it answers with an error".to_owned()
        }
        None => text.lines().next().unwrap_or_default().to_owned(),
    };
    let why = match is_of_machine {
        true => format!("{ASKS_MACHINE}: {why}"),
        false => why,
    };
    Error::store(what, why)
}
