//! The tokens that open this server: the start-up token, and those that were made, kept as hashes in
//! `<data>/tokens.json`.
//!
//! The file is the one place: `turnreel token` writes it while a server runs, and with each request the server looks whether
//! it has changed. So a token that is revoked is refused at once. The server's own token is for `own`, what other servers made
//! or took back for `merge`.

mod looks;
mod merge;
mod own;
mod refusal;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use chat_store::{SessionId, new_token, now_ms, random_base64url, sha256_hex};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio::sync::Notify;

use crate::data_dir::{self, try_write_private};
use crate::locked::locked;
use crate::scope::{Grant, Scope};

use looks::Looks;
pub(crate) use merge::merge;
use own::Own;
pub(crate) use refusal::{Refusal, unreadable};

/// So long a file that could not be read is left alone, unless it changes: each request would read it, and say so.
const TRY_AGAIN: Duration = Duration::from_millis(250);

/// Made tokens that were not taken back, at most: each request is held against all of them.
const MAX_TOKENS: usize = 10_000;

/// Those that were taken back and are remembered, at most: no request is held against them, but the file has them all. None is
/// forgotten before its time, or a server that was away would bring it back.
const MAX_REVOKED: usize = 50_000;

/// How long it is remembered that a token was taken back.
const REMEMBERED_DAYS: i64 = 90;

/// One token that was made, without the token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// Names it in lists and to revoke it.
    pub(crate) id: String,
    /// The token's SHA-256 in hex.
    sha256: String,
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
    revoked_ms: Option<i64>,
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
    fn is_sound(&self, id: &str) -> bool {
        let is_hash =
            self.sha256.len() == 64 && self.sha256.bytes().all(|it| it.is_ascii_hexdigit());
        self.id == id && id.starts_with('t') && is_hash
    }

    /// What is over for a day has no use any more, and is not shown for ever; what was taken back is remembered for longer
    /// than any other server is away.
    fn is_forgotten(&self) -> bool {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        let is_before =
            |at_ms: Option<i64>, days| at_ms.is_some_and(|at_ms| at_ms < now_ms() - days * DAY_MS);
        is_before(self.expires_ms, 1) || is_before(self.revoked_ms, REMEMBERED_DAYS)
    }

    fn is_revoked(&self) -> bool {
        self.revoked_ms.is_some()
    }

    /// Whether its end has come.
    pub(crate) fn is_over(&self) -> bool {
        self.expires_ms.is_some_and(|end_ms| end_ms <= now_ms())
    }

    /// What it allows. Words of a newer version allow nothing here.
    fn grant(&self) -> Option<Grant> {
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
    if !file_of(dir).exists() {
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

fn read(dir: &Path) -> Result<Vec<Record>, Refusal> {
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

fn change(
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
    lock.lock().map_err(cannot)?;
    let mut records = read(dir)?;
    change(&mut records)?;
    let text = serde_json::to_string_pretty(&records);
    let text = text.map_err(|why| Refusal::Io(why.to_string()))?;
    let path = file_of(dir);
    let written = try_write_private(&path, text.as_bytes());
    written.map_err(|why| Refusal::io("write", &path, &why))
}

fn file_of(dir: &Path) -> PathBuf {
    dir.join("tokens.json")
}

/// The tokens of a running server.
pub(crate) struct Tokens {
    dir: PathBuf,
    looks: Looks,
    own: Mutex<Own>,
    /// The other servers', where there are any.
    fleet_sha256: Mutex<Option<String>>,
    made: Mutex<Made>,
    /// Those that were made, or taken back, are others.
    changed: Notify,
}

#[derive(Default)]
struct Made {
    grants: Vec<(String, Arc<Grant>)>,
    /// Of the file that they are from.
    stamp: Option<Stamp>,
    /// Of one that could not be read, and when that was tried.
    refused: Option<(Option<Stamp>, Instant)>,
}

/// What tells one version of the file from another: it is replaced as a whole, so its node changes as well, also where both
/// are written within one tick of the clock and are as long.
type Stamp = (SystemTime, u64, u64);

impl Tokens {
    pub(crate) fn new(startup: &str, dir: &Path) -> Self {
        Tokens {
            dir: dir.to_owned(),
            looks: Looks::default(),
            own: Mutex::new(Own::new(startup)),
            fleet_sha256: Mutex::default(),
            made: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Waits until it is seen that tokens were made or taken back, since the last time that it was waited for.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// From now on the other servers come with this word.
    pub(crate) fn know_fleet(&self, word: &str) {
        *locked(&self.fleet_sha256) = Some(sha256_hex(word.as_bytes()));
    }

    /// What `token` allows; `None` for one that is unknown, revoked or over.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<Grant>> {
        // A look costs some microseconds: no request goes by what the files said before.
        self.looks.take(|| {
            self.look_at_own();
            self.look_at_made();
        });
        // Hashes are compared, in constant time, and all of them: how long it takes says nothing about the token.
        let offered = sha256_hex(token.as_bytes());
        let fits = |sha256: &str| bool::from(offered.as_bytes().ct_eq(sha256.as_bytes()));
        let mut found = {
            let own = locked(&self.own);
            fits(&own.sha256).then(|| own.grant.clone())
        };
        let fleet = locked(&self.fleet_sha256).clone();
        if fleet.is_some_and(|sha256| fits(&sha256)) {
            found = Some(Arc::new(Grant::of_fleet()));
        }
        for (sha256, grant) in &locked(&self.made).grants {
            if fits(sha256) {
                found = Some(grant.clone());
            }
        }
        found.filter(|grant| !grant.is_over(now_ms()))
    }

    /// Whether the token behind `grant` still opens what it did: a socket lasts longer than a request.
    pub(crate) fn holds(&self, grant: &Grant) -> bool {
        if let Some(nth) = grant.nth_own() {
            let is_due = locked(&self.own).is_due(Instant::now());
            if is_due {
                self.looks.take(|| self.look_at_own());
            }
            return locked(&self.own).grant.nth_own() == Some(nth);
        }
        if grant.is_startup() {
            return true;
        }
        self.looks.take(|| self.look_at_made());
        let made = locked(&self.made);
        let mut ids = made.grants.iter().map(|(_, made)| &made.id);
        !grant.is_over(now_ms()) && ids.any(|id| *id == grant.id)
    }

    /// Whether the file of those that were made cannot be read: a token that is unknown may be in it.
    pub(crate) fn are_unreadable(&self) -> bool {
        self.looks.take(|| self.look_at_made());
        locked(&self.made).refused.is_some()
    }

    /// Takes the token that the file has now. Nothing is locked while the disk is asked.
    fn look_at_own(&self) {
        let stamp = stamp_of(&data_dir::token_path(&self.dir));
        let is_changed = locked(&self.own).is_changed(stamp);
        let token = is_changed.then(|| data_dir::read_token(&self.dir));
        locked(&self.own).see(stamp, token.flatten());
    }

    /// The same of those that were made.
    fn look_at_made(&self) {
        let stamp = stamp_of(&file_of(&self.dir));
        if !locked(&self.made).knows(stamp) {
            let read = list(&self.dir);
            let is_read = read.is_ok();
            locked(&self.made).see(stamp, read);
            if is_read {
                self.changed.notify_one();
            }
        }
    }
}

impl Made {
    /// Whether there is nothing new in the file, as far as its stamp tells.
    fn knows(&mut self, stamp: Option<Stamp>) -> bool {
        let is_refused =
            |(refused, at): &(_, Instant)| *refused == stamp && at.elapsed() < TRY_AGAIN;
        if self.refused.as_ref().is_some_and(is_refused) {
            return true;
        }
        let is_known = stamp == self.stamp;
        if is_known {
            self.refused = None;
        }
        is_known
    }

    fn see(&mut self, stamp: Option<Stamp>, read: Result<Vec<Record>, Refusal>) {
        match read {
            Ok(records) => {
                self.stamp = stamp;
                self.refused = None;
                self.grants = records
                    .iter()
                    .filter_map(|record| {
                        let grant = Arc::new(record.grant()?);
                        Some((record.sha256.clone(), grant))
                    })
                    .collect();
            }
            // Nobody is let in by a file that cannot be read, and nobody thrown out by it.
            Err(why) => {
                self.refused = Some((stamp, Instant::now()));
                tracing::error!("{why}");
            }
        }
    }
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let node = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let node = 0;
    Some((metadata.modified().ok()?, metadata.len(), node))
}
