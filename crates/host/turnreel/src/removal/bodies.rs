//! Long bodies that no session names any more: they are shared, so they go after the sessions that named them, of many together.
//!
//! Those that removed sessions named are looked for a moment later, here and in the object store, and again until they are old
//! enough; which these are here is noted in the data folder, for the next start, and which the object store has put aside is asked
//! of it then. Those that were left before, as where files were removed by hand, are looked for only when an operator asks: it takes
//! reading all logs.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use chat_store::{Among, Sweep, Unnamed};
use serde::{Deserialize, Serialize};

use crate::error::ApiError;
use crate::locked::locked;
use crate::state::{State, stopped};

/// Sessions that are removed one after the other are looked after together.
const SETTLE: Duration = Duration::from_secs(10);

/// Between two looks, while something is left: one reads no log while all that is left is too new to go.
const AGAIN: Duration = Duration::from_secs(60);

/// A body that came, or was asked for, within that time stays: its event follows when all bodies of its batch are sent, and on
/// a slow way these take long.
const REST: Duration = Duration::from_hours(1);

/// And of those that nobody was seen to name: who sends a body need not send its event at once.
pub(crate) const REST_OF_ALL: Duration = Duration::from_hours(24);

/// Bodies that sessions named which were removed.
#[derive(Default)]
pub(crate) struct UnnamedBodies {
    pending: Mutex<Pending>,
    /// Held by who notes for the next start what is pending, with what was noted last: who waited for that often finds it done.
    /// Nobody waits for the disk with `pending`: that is also looked at by those who must not.
    noting: Mutex<Option<BTreeSet<String>>>,
    /// Held by who looks for what names them: one reads all logs at a time.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Pending {
    /// By their hashes.
    here: BTreeSet<String>,
    in_store: BTreeSet<String>,
    /// The object store may have put some aside when a server stopped: nobody has them until that is looked at.
    may_be_aside: bool,
    /// Those that are held against the logs now: what named them may be removed behind that, and they are added once more.
    looked_at: BTreeSet<String>,
    /// A task looks after them.
    is_looked_after: bool,
}

/// What went of bodies.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Freed {
    pub(crate) bodies: u64,
    pub(crate) bytes: u64,
    /// How many go later, where nobody names them until then.
    pub(crate) later: u64,
}

impl Freed {
    pub(crate) fn add(&mut self, unnamed: &Unnamed) {
        self.bodies += unnamed.bodies;
        self.bytes += unnamed.bytes;
    }
}

impl State {
    /// Takes note of bodies that a removed session named, here and in the object store: those that no other names go soon.
    /// Waits for the disk.
    pub(crate) fn unnamed_are(&self, here: BTreeSet<String>, in_store: BTreeSet<String>) {
        let mut pending = locked(&self.unnamed.pending);
        pending.here.extend(here);
        pending.in_store.extend(in_store);
        self.begin_looking(&mut pending);
        drop(pending);
        self.note_unnamed();
    }

    /// For the next start. What could not be noted is found by who looks at all. Waits for the disk.
    fn note_unnamed(&self) {
        let mut noted = locked(&self.unnamed.noting);
        let left = locked(&self.unnamed.pending).left_here();
        if noted.as_ref() == Some(&left) {
            return;
        }
        *noted = match self.store.blobs().note_unnamed(&left) {
            Ok(()) => Some(left),
            Err(why) => {
                tracing::warn!("{why}");
                None
            }
        };
    }

    fn begin_looking(&self, pending: &mut Pending) {
        if !pending.is_empty() && !std::mem::replace(&mut pending.is_looked_after, true) {
            tokio::spawn(look_after(self.clone()));
        }
    }
}

/// Goes on with those that were left when the server stopped, here and in the object store, where it copies to one.
pub(crate) fn go_on(state: &State) {
    let left = state.store.blobs().noted_unnamed();
    let mut pending = locked(&state.unnamed.pending);
    pending.here.extend(left);
    pending.may_be_aside = state.fetching.get().is_some();
    state.begin_looking(&mut pending);
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.here.is_empty()
            && self.looked_at.is_empty()
            && self.in_store.is_empty()
            && !self.may_be_aside
    }

    fn begin_look(&mut self) -> BTreeSet<String> {
        self.looked_at.append(&mut self.here);
        self.looked_at.clone()
    }

    /// Those that are to be looked at again; all, where it is not known what is named.
    fn end_look(&mut self, left: Option<BTreeSet<String>>) {
        let looked_at = std::mem::take(&mut self.looked_at);
        self.here.extend(left.unwrap_or(looked_at));
    }

    /// Those of the data folder that are not known to be named.
    fn left_here(&self) -> BTreeSet<String> {
        self.here.union(&self.looked_at).cloned().collect()
    }
}

/// Removes what can be removed until nothing is left, or the server stops: what is left then is found by who looks at all.
async fn look_after(state: State) {
    let mut stopping = state.stopping.subscribe();
    let looking = async {
        let mut pause = SETTLE;
        loop {
            tokio::time::sleep(pause).await;
            if let Err(why) = sweep(&state, false).await {
                tracing::warn!(
                    "long bodies of removed sessions stay for now: {}",
                    why.message
                );
            }
            sweep_store(&state).await;
            let mut pending = locked(&state.unnamed.pending);
            if pending.is_empty() {
                pending.is_looked_after = false;
                return;
            }
            pause = AGAIN;
        }
    };
    tokio::select! {
        () = stopped(&mut stopping) => {}
        () = looking => {}
    }
}

/// Removes the bodies of the data folder that removed sessions named, and no file names now; with `all` also others that none
/// names.
///
/// # Errors
///
/// Where the disk refuses: then it is not known what is named, and none goes.
pub(crate) async fn sweep(state: &State, all: bool) -> Result<Freed, ApiError> {
    let _turn = state.unnamed.turn.lock().await;
    let these = locked(&state.unnamed.pending).begin_look();
    let own = state.clone();
    let sweeping = move || -> Result<_, chat_store::Error> {
        let sweep = |among, rest| {
            own.store.blobs().sweep(&Sweep {
                among,
                rest,
                without: &BTreeSet::new(),
                is_dry: false,
            })
        };
        let of_removed = sweep(Among::These(&these), REST)?;
        let others = all.then(|| sweep(Among::All, REST_OF_ALL)).transpose()?;
        Ok((of_removed, others))
    };
    let swept = tokio::task::spawn_blocking(sweeping).await;
    let left = match &swept {
        Ok(Ok((of_removed, _))) => Some(of_removed.young.clone()),
        Ok(Err(_)) | Err(_) => None,
    };
    let own = state.clone();
    let noting = move || {
        locked(&own.unnamed.pending).end_look(left);
        own.note_unnamed();
    };
    tokio::task::spawn_blocking(noting).await?;
    let (of_removed, others) = swept??;
    let mut freed = Freed {
        later: of_removed.young.len() as u64,
        ..Freed::default()
    };
    freed.add(&of_removed);
    others.iter().for_each(|others| freed.add(others));
    if freed.bodies > 0 {
        tracing::info!(
            bodies = freed.bodies,
            bytes = freed.bytes,
            "long bodies that no session names were removed"
        );
    }
    Ok(freed)
}

/// The same in the object store.
async fn sweep_store(state: &State) {
    let Some(fetching) = state.fetching.get() else {
        return;
    };
    let (these, may_be_aside) = {
        let mut pending = locked(&state.unnamed.pending);
        let these = std::mem::take(&mut pending.in_store);
        (these, std::mem::take(&mut pending.may_be_aside))
    };
    if these.is_empty() && !may_be_aside {
        return;
    }
    match fetching.cold().remove_bodies(&these).await {
        Ok(removed) => locked(&state.unnamed.pending).may_be_aside |= removed.later > 0,
        Err(why) => {
            // A store that is away is told of by who copies to it. What cannot be read is no better in a minute.
            let is_away = matches!(why, chat_tiers::Error::Store { .. });
            if !these.is_empty() || !is_away {
                tracing::warn!(
                    "long bodies of removed sessions stay in the object store for now: {why}"
                );
            }
            let mut pending = locked(&state.unnamed.pending);
            pending.in_store.extend(these);
            pending.may_be_aside |= may_be_aside && is_away;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use chat_store::{Options, Store};

    use super::*;
    use crate::state::Settings;

    #[tokio::test]
    async fn who_looks_what_is_left_does_not_wait_for_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let state = State::new(store, "token", 1, &[], Settings::default());
        let these: BTreeSet<String> = ["a".repeat(64)].into();
        let noting = {
            // As long as the disk does nothing.
            let _disk = locked(&state.unnamed.noting);
            let (own, added) = (state.clone(), these.clone());
            let noting =
                tokio::task::spawn_blocking(move || own.unnamed_are(added, BTreeSet::new()));
            let deadline = Instant::now() + Duration::from_secs(30);
            let is_added = || {
                let pending = state.unnamed.pending.try_lock();
                pending.is_ok_and(|pending| pending.here == these)
            };
            while !is_added() {
                assert!(Instant::now() < deadline, "it is not held meanwhile");
                std::thread::sleep(Duration::from_millis(1));
            }
            noting
        };
        noting.await.unwrap();
        assert_eq!(state.store.blobs().noted_unnamed(), these);
    }

    #[test]
    fn what_is_named_no_more_while_it_is_looked_at_is_looked_at_again() {
        let set = |words: &[&str]| {
            words
                .iter()
                .map(|&it| it.to_owned())
                .collect::<BTreeSet<_>>()
        };
        let mut pending = Pending {
            here: set(&["a", "b", "c"]),
            ..Pending::default()
        };
        assert_eq!(pending.begin_look(), set(&["a", "b", "c"]));
        assert!(!pending.is_empty());
        // The session that named it still is removed meanwhile.
        pending.here.insert("a".to_owned());
        pending.end_look(Some(set(&["b"])));
        assert_eq!(pending.here, set(&["a", "b"]));
        pending.begin_look();
        pending.end_look(None);
        assert_eq!(pending.here, set(&["a", "b"]));
        pending.begin_look();
        pending.end_look(Some(set(&[])));
        assert!(pending.is_empty());
    }
}
