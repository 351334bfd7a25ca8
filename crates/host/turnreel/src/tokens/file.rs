//! The file of tokens: what it says of each, and how it is changed. The tokens themselves it has not.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_capture::may_be_there;
use chat_store::{SessionId, new_token, now_ms, random_base64url, sha256_hex};
use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::data_dir::try_write_private;
use crate::scope::{Grant, Scope};

/// Made tokens that were not taken back, at most: each request is held against all of them.
pub(super) const MAX_TOKENS: usize = 10_000;

/// Those that were taken back and are remembered, at most: no request is held against them, but the file has them all. None is
/// forgotten before its time, or a server that was away would bring it back.
pub(super) const MAX_REVOKED: usize = 50_000;

/// How long it is remembered that a token was taken back.
const REMEMBERED_DAYS: i64 = 90;

/// So long another who changes the file is waited for: that takes milliseconds, unless it was stopped, or the disk hangs.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// One token that was made, without the token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// Names it in lists and to revoke it.
    pub(crate) id: String,
    /// The token's SHA-256 in hex.
    pub(super) sha256: String,
    /// The words of its scopes.
    pub(crate) scopes: Vec<String>,
    /// The one session it is for; all where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// What its owner calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// Unix epoch in milliseconds.
    pub(crate) created_ms: i64,
    /// Its end, Unix epoch in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_ms: Option<i64>,
    /// When it was taken back, Unix epoch in milliseconds: where several servers serve the same sessions, the others must
    /// hear of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revoked_ms: Option<i64>,
    /// Whether it was made as the link of a session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) share: bool,
}

/// What a new token shall be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) session: Option<SessionId>,
    pub(crate) label: Option<String>,
    pub(crate) expires_ms: Option<i64>,
    pub(crate) share: bool,
}

impl Record {
    /// Whether it is one that a server made, and stands where it belongs. Ids without a `t` name what no file may make.
    pub(super) fn is_sound(&self, id: &str) -> bool {
        let is_hash =
            self.sha256.len() == 64 && self.sha256.bytes().all(|it| it.is_ascii_hexdigit());
        self.id == id && id.starts_with('t') && is_hash
    }

    /// What is over for a day has no use any more, and is not shown for ever; what was taken back is remembered for longer
    /// than any other server is away.
    pub(super) fn is_forgotten(&self) -> bool {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        let is_before =
            |at_ms: Option<i64>, days| at_ms.is_some_and(|at_ms| at_ms < now_ms() - days * DAY_MS);
        is_before(self.expires_ms, 1) || is_before(self.revoked_ms, REMEMBERED_DAYS)
    }

    pub(super) fn is_revoked(&self) -> bool {
        self.revoked_ms.is_some()
    }

    /// Whether its end has come.
    pub(crate) fn is_over(&self) -> bool {
        self.expires_ms.is_some_and(|end_ms| end_ms <= now_ms())
    }

    /// What it allows. Words of a newer version allow nothing here.
    pub(super) fn grant(&self) -> Option<Grant> {
        let scopes = self
            .scopes
            .iter()
            .filter_map(|word| Scope::from_word(word))
            .collect();
        // A session that cannot be read must not become all sessions.
        let session = match &self.session {
            None => None,
            Some(text) => Some(SessionId::parse(text).ok()?),
        };
        Some(Grant::new(
            self.id.clone(),
            scopes,
            session,
            self.expires_ms,
        ))
    }
}

/// Makes a token and gives it with its record: it can be read at no other time.
///
/// # Errors
///
/// Where the file refuses, is damaged, or is full.
pub(crate) fn create(dir: &Path, wanted: Wanted) -> Result<(String, Record), Refusal> {
    let random = |why: chat_store::Error| Refusal::Io(why.to_string());
    let token = new_token().map_err(random)?;
    let record = Record {
        // An id is a word of the command line: it may not begin with a dash.
        id: format!("t{}", random_base64url::<6>().map_err(random)?),
        sha256: sha256_hex(token.as_bytes()),
        scopes: wanted
            .scopes
            .iter()
            .map(|scope| scope.word().to_owned())
            .collect(),
        session: wanted.session.map(|id| id.as_str().to_owned()),
        label: wanted.label,
        revoked_ms: None,
        created_ms: now_ms(),
        expires_ms: wanted.expires_ms,
        share: wanted.share,
    };
    change(dir, |records| {
        records.retain(|record| !record.is_forgotten());
        let n_revoked = records.iter().filter(|record| record.is_revoked()).count();
        if records.len() - n_revoked >= MAX_TOKENS {
            let said = format!("there are {MAX_TOKENS} tokens; revoke some");
            return Err(Refusal::Full(said));
        }
        if n_revoked >= MAX_REVOKED {
            return Err(Refusal::Full(format!(
                "{MAX_REVOKED} tokens were revoked, and each is remembered for {REMEMBERED_DAYS} days, or until a day after its end"
            )));
        }
        records.push(record.clone());
        Ok(())
    })?;
    Ok((token, record))
}

/// Takes back the tokens that `which` names, and gives how many they were.
///
/// # Errors
///
/// Where the file refuses or is damaged.
pub(crate) fn revoke(dir: &Path, which: impl Fn(&Record) -> bool) -> Result<usize, Refusal> {
    let mut n_revoked = 0;
    // A folder that has none gets no files: it may be one that nobody meant.
    if !may_be_there(&file_of(dir)) {
        return Ok(0);
    }
    change(dir, |records| {
        let held = records.iter_mut().filter(|record| !record.is_revoked());
        for record in held.filter(|record| which(record)) {
            record.revoked_ms = Some(now_ms());
            n_revoked += 1;
        }
        Ok(())
    })?;
    Ok(n_revoked)
}

/// All records that were not taken back, in the order in which they were made.
///
/// # Errors
///
/// Where the file is there and cannot be read.
pub(crate) fn list(dir: &Path) -> Result<Vec<Record>, Refusal> {
    let mut records = read(dir)?;
    records.retain(|record| !record.is_revoked());
    Ok(records)
}

pub(super) fn read(dir: &Path) -> Result<Vec<Record>, Refusal> {
    let path = file_of(dir);
    let cannot = |why: &dyn std::fmt::Display| {
        Refusal::Unreadable(format!("could not read: {why}: {}", path.display()))
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(cannot(&why)),
    };
    serde_json::from_str(&text).map_err(|why| cannot(&why))
}

pub(super) fn change(
    dir: &Path,
    change: impl FnOnce(&mut Vec<Record>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let lock_path = dir.join("tokens.lock");
    let cannot = |why: std::io::Error| Refusal::io("lock the tokens", &lock_path, &why);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Held until the end: a server and a command may both change the file.
    let lock = options.open(&lock_path).map_err(cannot)?;
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_WAIT / 200);
            }
            Err(TryLockError::WouldBlock) => {
                let said = format!("another program holds them: {}", lock_path.display());
                return Err(Refusal::Io(format!("could not lock the tokens: {said}")));
            }
            Err(TryLockError::Error(why)) => return Err(cannot(why)),
        }
    }
    let mut records = read(dir)?;
    change(&mut records)?;
    let text = serde_json::to_string_pretty(&records);
    let text = text.map_err(|why| Refusal::Io(why.to_string()))?;
    let path = file_of(dir);
    let written = try_write_private(&path, text.as_bytes());
    written.map_err(|why| Refusal::io("write", &path, &why))
}

pub(super) fn file_of(dir: &Path) -> PathBuf {
    dir.join("tokens.json")
}
