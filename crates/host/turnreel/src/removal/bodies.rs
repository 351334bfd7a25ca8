//! Long bodies that no session names any more: they are shared, so they go after the sessions that named them, of many together.
//!
//! Those that removed sessions named are looked for a moment later, here and in the object store, and again until they are old
//! enough; which these are here is noted in the data folder, for the next start. Those that were left before, as where files
//! were removed by hand, are looked for only when an operator asks: it takes reading all logs.

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
    /// Held by who looks for what names them: one reads all logs at a time.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Pending {
    /// By their hashes.
    here: BTreeSet<String>,
    in_store: BTreeSet<String>,
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
        pending.note(self);
        if !pending.is_empty() && !std::mem::replace(&mut pending.is_looked_after, true) {
            tokio::spawn(look_after(self.clone()));
        }
    }
}

/// Goes on with those that were left when the server stopped.
pub(crate) fn go_on(state: &State) {
    let left = state.store.blobs().noted_unnamed();
    if !left.is_empty() {
        state.unnamed_are(left, BTreeSet::new());
    }
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.here.is_empty() && self.looked_at.is_empty() && self.in_store.is_empty()
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

    /// For the next start. What could not be noted is found by who looks at all.
    fn note(&self, state: &State) {
        let left = self.here.union(&self.looked_at).cloned().collect();
        if let Err(why) = state.store.blobs().note_unnamed(&left) {
            tracing::warn!("{why}");
        }
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
        let mut pending = locked(&own.unnamed.pending);
        pending.end_look(left);
        pending.note(&own);
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
    let these = std::mem::take(&mut locked(&state.unnamed.pending).in_store);
    let Some(fetching) = state.fetching.get().filter(|_| !these.is_empty()) else {
        return;
    };
    if let Err(why) = fetching.cold().remove_bodies(&these).await {
        tracing::warn!("long bodies of removed sessions stay in the object store for now: {why}");
        locked(&state.unnamed.pending).in_store.extend(these);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
