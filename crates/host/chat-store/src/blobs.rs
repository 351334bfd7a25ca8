//! Bodies by their hash: `blobs/<2 hex>/<sha256>`. What is not there may be had from elsewhere, where a server says so.
//!
//! A body is kept before the event that names it is stored, and all sessions share it. So one that no log names may be about
//! to be named: who keeps a body, or asks whether it is here so that it need not be sent, makes it a new one, and a new one is
//! not removed (`unnamed`).

mod kept_as;
mod text;
mod unnamed;
mod upload;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::platform;

pub use kept_as::{KeptAs, RewrittenUpload};
pub use text::BodyText;
pub use unnamed::{Among, Sweep, Unnamed};
pub use upload::Upload;

/// How the name of a body begins that is not whole yet.
const BEGUN: &str = ".new-";

/// A file that tries whether one can be written, and goes as those do.
pub(crate) const PROBE: &str = ".new-probe";

/// Gets a body that is not here, and keeps it here; whether it did. Called off the async threads, and may wait. What it
/// refuses is why it may be there and cannot be had now.
pub type Elsewhere = Box<dyn Fn(&str) -> Result<bool, String> + Send + Sync>;

/// A body that lies beside the logs.
#[derive(Debug)]
pub struct BodyFile {
    /// Opened at its beginning.
    pub file: fs::File,
    /// Its length.
    pub bytes: u64,
    /// Where it lies. What lies there never changes: who takes it slowly need not hold it open.
    pub path: PathBuf,
}

/// The bodies beside the logs. The same body is kept once.
pub struct Blobs {
    dir: PathBuf,
    written: AtomicU64,
    elsewhere: OnceLock<Elsewhere>,
    keeping: Keeping,
}

/// Shared by those who keep bodies, or make them new ones; who removes one has it alone.
type Keeping = Arc<RwLock<()>>;

fn keeping(keeping: &Keeping) -> RwLockReadGuard<'_, ()> {
    keeping.read().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Blobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blobs")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl Blobs {
    pub(crate) fn open(dir: PathBuf) -> Result<Self, Error> {
        platform::create_private_dir(&dir)
            .map_err(|why| Error::io("make the folder", &dir, why))?;
        remove_begun(&dir);
        // Whoever made folders here may have been killed before their names were durable, and a folder that is there is
        // taken to be.
        platform::sync_dir(&dir)
            .and_then(|()| platform::sync_dir(dir.parent().unwrap_or(&dir)))
            .map_err(|why| Error::io("sync the folder", &dir, why))?;
        Ok(Blobs {
            dir,
            written: AtomicU64::new(0),
            elsewhere: OnceLock::new(),
            keeping: Keeping::default(),
        })
    }

    /// The bodies beside the logs of a data folder that somebody else holds. Nothing is made there.
    pub fn beside(data: &Path) -> Self {
        Blobs {
            dir: data.join("blobs"),
            written: AtomicU64::new(0),
            elsewhere: OnceLock::new(),
            keeping: Keeping::default(),
        }
    }

    /// From now on a body that is not here is asked for there. The first one who is named is asked.
    pub fn look_elsewhere(&self, elsewhere: Elsewhere) {
        let _ = self.elsewhere.set(elsewhere);
    }

    /// Keeps `body` and gives its hash.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn put(&self, body: &[u8]) -> Result<String, Error> {
        let sha256 = sha256_hex(body);
        self.put_as(&sha256, body)?;
        Ok(sha256)
    }

    /// Begins to keep a body that comes in pieces, under the hash it is said to have.
    ///
    /// # Errors
    ///
    /// Where the text is no hash, or the disk refuses.
    pub fn begin(&self, sha256: &str) -> Result<Upload, Error> {
        check_hash(sha256)?;
        let path = self.path(sha256);
        let folder = self.make_folder(&path)?.to_owned();
        let temporary = self.temporary();
        let file = platform::private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)
            .map_err(|why| Error::io("keep the body", &path, why))?;
        Ok(Upload {
            file,
            hash: Sha256::new(),
            sha256: sha256.to_owned(),
            folder,
            path,
            temporary,
            keeping: self.keeping.clone(),
        })
    }

    fn put_as(&self, sha256: &str, body: &[u8]) -> Result<(), Error> {
        let path = self.path(sha256);
        let _keeping = keeping(&self.keeping);
        if renew(&path).is_some() {
            return Ok(());
        }
        let folder = self.make_folder(&path)?;
        platform::write_whole(&path, &self.temporary(), body)
            .and_then(|()| platform::sync_dir(folder))
            .map_err(|why| Error::io("keep the body", &path, why))
    }

    /// The length of the body of that hash, for who is about to name it, and does not send it where it is here: it is not removed
    /// for a while. `None` where there is none.
    ///
    /// # Errors
    ///
    /// Where the text is no hash.
    pub fn claim(&self, sha256: &str) -> Result<Option<u64>, Error> {
        check_hash(sha256)?;
        let _keeping = keeping(&self.keeping);
        Ok(renew(&self.path(sha256)))
    }

    /// The folder of a body. Its name is durable, as all that lies in it will be.
    fn make_folder<'a>(&self, path: &'a Path) -> Result<&'a Path, Error> {
        let folder = path.parent().unwrap_or(path);
        let failed = |why| Error::io("make the folder", folder, why);
        if !folder.exists() {
            platform::create_private_dir(folder).map_err(failed)?;
            platform::sync_dir(&self.dir).map_err(failed)?;
        }
        Ok(folder)
    }

    fn temporary(&self) -> PathBuf {
        let nth = self.written.fetch_add(1, Ordering::Relaxed);
        self.dir
            .join(format!("{BEGUN}{}-{nth}", std::process::id()))
    }

    /// The body of that hash, opened, and its length in bytes; `None` where there is none.
    ///
    /// # Errors
    ///
    /// Where the text is no hash, or the disk refuses.
    pub fn open_body(&self, sha256: &str) -> Result<Option<(fs::File, u64)>, Error> {
        check_hash(sha256)?;
        let path = self.path(sha256);
        match platform::private_file().read(true).open(&path) {
            Ok(file) => {
                let bytes = file
                    .metadata()
                    .map_err(|why| Error::io("read the body", &path, why))?
                    .len();
                Ok(Some((file, bytes)))
            }
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(Error::io("read the body", &path, why)),
        }
    }

    /// As [`Blobs::open_body`], also where it is kept as another one, or is to be had from elsewhere, which is waited for.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`] where it may be there and cannot be had now, and as [`Blobs::open_body`] has them.
    pub fn open_anywhere(&self, sha256: &str) -> Result<Option<BodyFile>, Error> {
        let open = || -> Result<Option<BodyFile>, Error> {
            let opened = self.open_body(sha256)?;
            Ok(opened.map(|(file, bytes)| BodyFile {
                file,
                bytes,
                path: self.path(sha256),
            }))
        };
        let found = open()?;
        if found.is_some() {
            return Ok(found);
        }
        // Who spoke of it before it came speaks of what was sent.
        if let Some(kept) = self.kept_as(sha256)?
            && kept.body.sha256 != sha256
        {
            return self.open_anywhere(&kept.body.sha256);
        }
        let Some(elsewhere) = self.elsewhere.get() else {
            return Ok(None);
        };
        match elsewhere(sha256) {
            Ok(true) => open(),
            Ok(false) => Ok(None),
            Err(why) => Err(Error::Elsewhere { why }),
        }
    }

    fn read(&self, sha256: &str, mut file: impl Read) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        file.read_to_end(&mut body)
            .map_err(|why| Error::io("read the body", &self.path(sha256), why))?;
        Ok(body)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, sha256: &str) -> PathBuf {
        let folder: &Path = &self.dir;
        folder.join(&sha256[..2]).join(sha256)
    }
}

/// Makes the body a new one, and gives its length. One that cannot be is as none: it is kept anew.
fn renew(path: &Path) -> Option<u64> {
    let file = platform::private_file().write(true).open(path).ok()?;
    file.set_modified(SystemTime::now()).ok()?;
    Some(file.metadata().ok()?.len())
}

/// Removes what a server that was killed had begun. The folder is ours: nobody else writes to it.
fn remove_begun(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(BEGUN) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The SHA-256 of `bytes` in lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
        hex.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    hex
}

fn check_hash(text: &str) -> Result<(), Error> {
    let fits = text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if fits { Ok(()) } else { Err(Error::BadHash) }
}
