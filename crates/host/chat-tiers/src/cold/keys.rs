//! Under which keys things lie.
//!
//! A key is made of hashes, numbers and the stems of ids, whose letters are those of file names: nothing that an event says
//! becomes one.

use chat_store::{SessionId, sha256_hex};
use object_store::path::Path;

const MANIFEST: &str = ".manifest.json";

/// The keys below one prefix.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: Path,
}

/// Which copy of a session it is, as its manifest's key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    epoch: String,
    pub(super) head: u64,
}

impl Version {
    pub(super) fn new(epoch: &str, head: u64) -> Self {
        Version {
            epoch: epoch_word(epoch),
            head,
        }
    }

    pub(super) fn is_of(&self, epoch: &str) -> bool {
        self.epoch == epoch_word(epoch)
    }
}

/// The epoch as it can stand in a key. Ours are such words; another program may have written another.
fn epoch_word(epoch: &str) -> String {
    let is_ours = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&epoch.len()) && epoch.bytes().all(is_ours) {
        epoch.to_owned()
    } else {
        format!("h-{}", &sha256_hex(epoch.as_bytes())[..32])
    }
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Keys {
            prefix: path(prefix),
        }
    }

    pub(super) fn sessions(&self) -> Path {
        self.prefix.clone().join("sessions")
    }

    pub(super) fn session(&self, stem: &str) -> Path {
        self.sessions().join(stem)
    }

    pub(super) fn log(&self, session: &SessionId, sha256: &str) -> Path {
        let name = format!("{sha256}.events.jsonl.gz");
        self.session(&session.stem()).join(name)
    }

    pub(super) fn manifest(&self, session: &SessionId, version: &Version) -> Path {
        let Version { epoch, head } = version;
        self.session(&session.stem())
            .join(format!("{epoch}.{head}{MANIFEST}"))
    }

    pub(super) fn blob(&self, sha256: &str) -> Path {
        let folder = sha256.get(..2).unwrap_or_default();
        let name = format!("{sha256}.gz");
        self.prefix.clone().join("blobs").join(folder).join(name)
    }

    /// Where bodies lie that are being removed, until it is seen that nobody named them meanwhile.
    pub(super) fn removing(&self) -> Path {
        self.prefix.clone().join("removing")
    }

    pub(super) fn removed_blob(&self, sha256: &str) -> Path {
        self.removing().join(format!("{sha256}.gz"))
    }

    /// Which body it is, where the key is of one that is being removed.
    pub(super) fn sha256_removed<'k>(&self, key: &'k Path) -> Option<&'k str> {
        let sha256 = key.filename()?.strip_suffix(".gz")?;
        (*key == self.removed_blob(sha256) && is_sha256(sha256)).then_some(sha256)
    }

    /// The key as it stands below the prefix.
    pub(super) fn below_prefix(&self, key: &Path) -> String {
        let prefix = self.prefix.as_ref();
        let below = key.as_ref().strip_prefix(prefix).unwrap_or(key.as_ref());
        below.trim_start_matches('/').to_owned()
    }

    /// The stem of the session, and which copy of it, where the key is a manifest's.
    pub(super) fn version<'k>(&self, key: &'k str) -> Option<(&'k str, Version)> {
        let (folder, name) = key.rsplit_once('/')?;
        let (_, stem) = folder.rsplit_once('/')?;
        let (epoch, head) = name.strip_suffix(MANIFEST)?.split_once('.')?;
        let head = head.parse().ok()?;
        let epoch = epoch.to_owned();
        Some((stem, Version { epoch, head }))
    }
}

/// Whether it is a hash as hashes are written here.
pub(super) fn is_sha256(text: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 64 && text.bytes().all(is_hex)
}

/// A key as it stands.
fn path(key: &str) -> Path {
    Path::from(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifests_key_says_which_copy_it_is_of_and_no_epoch_leaves_its_folder() {
        let keys = Keys::new("teams/a");
        let session = SessionId::parse("S1").unwrap();
        for epoch in ["Qm-_9", "", "../../x", "a/b", "a.b", "é", &"x".repeat(65)] {
            let version = Version::new(epoch, 812);
            let key = keys.manifest(&session, &version);
            let folder = format!("teams/a/sessions/{}/", session.stem());
            let name = key.as_ref().strip_prefix(&folder).unwrap();
            assert!(!name.contains('/'), "{name}");
            let (stem, read) = keys.version(key.as_ref()).unwrap();
            assert_eq!((stem, &read), (&*session.stem(), &version));
            assert!(read.is_of(epoch) && !read.is_of("other"));
        }
        for key in ["x", "a/b", "s/t/x.events.jsonl.gz", "s/t/e.x.manifest.json"] {
            assert!(keys.version(key).is_none(), "{key}");
        }
    }
}
