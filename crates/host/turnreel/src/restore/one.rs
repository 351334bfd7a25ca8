//! Bringing back one session: its bodies first, then its log, so that what is listed is whole.
//!
//! A log that is here stays as it is, whatever the store has. The bodies beside it come all the same: a server that fetched
//! the session left them where they were until somebody would ask for them.

use chat_feed::units;
use chat_store::{Error as StoreError, Session, SessionId, Store};
use chat_tiers::{Cold, Error, Manifest};

use super::row;

/// What came of it.
pub(super) enum Brought {
    /// It is back.
    Back(String),
    /// Its log was here; and what came of its bodies, where that is to be told.
    WasHere { line: String, has_news: bool },
}

/// A session, and whether all that its copy has is here now.
pub(super) struct One {
    pub(super) brought: Brought,
    pub(super) whole: bool,
}

/// What became of the bodies beside a log.
#[derive(Default)]
struct Bodies {
    brought: usize,
    /// Those that neither the folder nor the store has.
    nowhere: usize,
    /// Those that the store gives back as another.
    damaged: usize,
    /// Whether those that the copy says to have are here.
    whole: bool,
}

/// Brings one back with its bodies, as far as it is not here.
///
/// # Errors
///
/// Where the store is away or refuses, gives back another log, or has another than the one that is here.
pub(super) async fn bring_back(cold: &Cold, store: &Store, stem: &str) -> Result<One, String> {
    let said = |why: Error| why.to_string();
    let copy = cold.find_of_stem(stem).await.map_err(said)?;
    let copy = copy.ok_or("it is not in the object store any more")?;
    let id = SessionId::parse(&copy.session).map_err(|why| why.to_string())?;
    let here = store.session(&id);
    let path = store.log_path(&id);
    if here.is_none() && path.exists() {
        let path = path.display();
        return Err(format!(
            "its log here cannot be opened, and stays as it is: {path}"
        ));
    }
    if here.as_ref().is_some_and(|here| !has_all(here, &copy)) {
        let (path, events) = (path.display(), units::grouped(copy.events));
        return Err(format!(
            "the object store has another log of it, with {events} events: to bring that back, put away first what is here, or remove it (`turnreel remove {id} --keep-copies`): {path}"
        ));
    }
    let bodies = bring_bodies(cold, store, &copy).await.map_err(said)?;
    if here.is_some() {
        let mut told = bodies.told_missing();
        if bodies.brought > 0 {
            let n_brought = units::grouped(bodies.brought as u64);
            told.insert_str(0, &format!("; {n_brought} of its bodies came"));
        }
        return Ok(One {
            brought: Brought::WasHere {
                has_news: !told.is_empty(),
                line: format!("{id}: it is here{told}"),
            },
            whole: bodies.whole,
        });
    }
    let refused = |why: StoreError| why.to_string();
    let restoring = store.restoring(&id).map_err(refused)?;
    cold.fetch(&copy, restoring.file()).await.map_err(said)?;
    store.restore(&restoring).map_err(refused)?;
    Ok(One {
        brought: Brought::Back(format!("{}{}", row(&copy), bodies.told_missing())),
        whole: bodies.whole,
    })
}

/// Fetches those of the bodies beside the log that are not here. One that is damaged there is no reason to have nothing else.
async fn bring_bodies(cold: &Cold, store: &Store, copy: &Manifest) -> Result<Bodies, Error> {
    let mut bodies = Bodies {
        whole: true,
        ..Bodies::default()
    };
    let named = copy.blobs.iter().map(|sha256| (sha256, true));
    // Another session may have brought them since, to here or to there.
    let missed = copy.missing_blobs.iter().map(|sha256| (sha256, false));
    for (sha256, is_named) in named.chain(missed) {
        let is_here = match store.blobs().open_body(sha256) {
            Ok(found) => found.is_some(),
            Err(StoreError::BadHash) => false,
            Err(why) => return Err(why.into()),
        };
        if is_here {
            continue;
        }
        match cold.fetch_blob(sha256, store.blobs()).await {
            Ok(true) => {
                bodies.brought += 1;
                continue;
            }
            Ok(false) | Err(Error::Log(StoreError::BadHash)) => bodies.nowhere += 1,
            Err(Error::Damaged { .. }) => bodies.damaged += 1,
            Err(why) => return Err(why),
        }
        bodies.whole &= !is_named;
    }
    Ok(bodies)
}

/// Whether the log here has all that the copy has, as far as its epochs tell.
fn has_all(here: &Session, copy: &Manifest) -> bool {
    let epochs = here.epochs();
    let Some(at) = epochs.iter().position(|it| it.epoch == copy.epoch) else {
        return false;
    };
    match epochs.get(at + 1) {
        Some(next) => copy.head <= next.base,
        None => {
            let summary = here.summary();
            // One that has lost an event in its middle has the same last number.
            let has_lost = copy.head == summary.head && copy.events > summary.events;
            copy.head <= summary.head && !has_lost
        }
    }
}

impl Bodies {
    fn told_missing(&self) -> String {
        let mut told = String::new();
        for (n, what) in [
            (self.nowhere, "of its bodies are nowhere"),
            (
                self.damaged,
                "of its bodies are not what was put into the object store",
            ),
        ] {
            if n > 0 {
                told.push_str(&format!("; {} {what}", units::grouped(n as u64)));
            }
        }
        told
    }
}
