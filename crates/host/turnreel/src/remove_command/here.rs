//! Removing sessions from a folder that no server holds, and from the stores that it was copied to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use chat_store::{Among, Freed as Files, HeldFolder, Removal, SessionId, Sweep};
use chat_tiers::{Cold, Hot, Tier, Warm};

use super::{Chosen, Outcome};
use crate::data_dir;
use crate::removal::{REST_OF_ALL, Removed, remove_waiting, revoke_links};
use crate::store_urls::StoreUrls;

/// Sessions that are removed from the folder together: the disk is waited for a few times for all of them.
const TOGETHER: usize = 256;

/// The stores that have copies.
#[derive(Debug, Default)]
pub(super) struct Stores {
    cold: Option<Cold>,
    warm: Option<Warm>,
    hot: Option<Hot>,
}

impl Stores {
    /// Those that are named. None is connected to yet.
    ///
    /// # Errors
    ///
    /// Where an address is none; which, is said.
    pub(super) fn of(urls: &StoreUrls) -> Result<Stores, String> {
        Ok(Stores {
            cold: urls.cold()?,
            warm: urls.warm()?,
            hot: urls.hot("remove")?,
        })
    }

    fn are_any(&self) -> bool {
        self.cold.is_some() || self.warm.is_some() || self.hot.is_some()
    }

    /// Whether all answer: where one does not, nothing goes, and not one half.
    async fn connect(&mut self, first: &Chosen) -> Result<(), String> {
        let said = |why: chat_tiers::Error| {
            format!("{why}; nothing was removed: --keep-copies leaves the copies where they are")
        };
        if let Some(cold) = &self.cold {
            cold.has_any(&first.id).await.map_err(said)?;
        }
        if let Some(warm) = &mut self.warm {
            warm.connect().await.map_err(said)?;
        }
        if let Some(hot) = &mut self.hot {
            hot.connect().await.map_err(said)?;
        }
        Ok(())
    }

    /// Removes what they have of a session; the bodies that its copies named, and whether there was anything.
    async fn remove(&mut self, one: &Chosen, removed: &mut Removed) -> (BTreeSet<String>, bool) {
        let (mut bodies, mut any) = (BTreeSet::new(), false);
        let id = &one.id;
        let mut left = |what: &str, why: chat_tiers::Error| {
            removed
                .left
                .push(format!("{id} in {what}: {why}; remove it again"));
        };
        if let Some(cold) = &self.cold {
            match cold.remove(id).await {
                Ok(copies) => {
                    any |= copies.objects > 0;
                    removed.objects += copies.objects;
                    removed.object_bytes += copies.bytes;
                    bodies = copies.bodies;
                }
                Err(why) => left("the object store", why),
            }
        }
        if let Some(warm) = &mut self.warm {
            match warm.remove(id).await {
                Ok(had) => any |= had,
                Err(why) => left("PostgreSQL", why),
            }
        }
        if let Some(hot) = &mut self.hot {
            match hot.remove(id).await {
                Ok(had) => any |= had,
                Err(why) => left("Redis", why),
            }
        }
        (bodies, any)
    }
}

/// Removes the sessions, and then the bodies that they named and nobody names now.
///
/// # Errors
///
/// Where a store does not answer, or the folder cannot be listed; then nothing went.
pub(super) async fn remove(
    dir: &Path,
    folder: &HeldFolder,
    mut stores: Stores,
    chosen: &[Chosen],
    all_bodies: bool,
) -> Result<Outcome, String> {
    if let Some(first) = chosen.first() {
        stores.connect(first).await?;
    }
    // What is only in a store of others is not found by its age any more: where there is one, each goes with its copies.
    let n_together = if stores.are_any() { 1 } else { TOGETHER };
    let mut going = Going {
        dir,
        folder,
        stores,
        // A server may have stopped before those of others were old enough; nobody keeps bodies while the folder is held.
        here: folder.blobs().noted_unnamed(),
        in_store: BTreeSet::new(),
        outcome: Outcome::default(),
    };
    for some in chosen.chunks(TOGETHER) {
        let n_bodies = going.here.len();
        for some in some.chunks(n_together) {
            going.remove(some).await?;
        }
        // Should we be killed, who has the folder next goes on with them.
        if going.here.len() > n_bodies {
            let _ = folder.blobs().note_unnamed(&going.here);
        }
    }
    going.remove_bodies(all_bodies).await;
    Ok(going.outcome)
}

/// Sessions on their way, and what became of those before them.
struct Going<'d> {
    dir: &'d Path,
    folder: &'d HeldFolder,
    stores: Stores,
    /// Bodies that those named which are gone, and in the object store.
    here: BTreeSet<String>,
    in_store: BTreeSet<String>,
    outcome: Outcome,
}

impl Going<'_> {
    async fn remove(&mut self, some: &[Chosen]) -> Result<(), String> {
        let said = |why| data_dir::why_not_opened(self.dir, &why);
        // What waits of a session that stays is sent with the next start.
        let mut n_waiting = BTreeMap::new();
        let mut begin = |id: &SessionId| {
            *n_waiting.entry(id.clone()).or_default() += remove_waiting(self.dir, id);
        };
        let ids = some.iter().map(|one| &one.id);
        let removals = self.folder.remove(ids, &mut begin);
        let removals = removals
            .map_err(said)?
            .into_iter()
            .map(|it| it.map_err(said));
        let removals: Vec<_> = removals.collect();
        for (one, removal) in some.iter().zip(removals) {
            match removal {
                Ok(removal) => {
                    let n_waiting = n_waiting.remove(&one.id).unwrap_or_default();
                    self.follow(one, n_waiting, removal).await;
                }
                Err(why) => self.outcome.missed(one, &why),
            }
        }
        Ok(())
    }

    /// What else there is of a session whose files are gone.
    async fn follow(&mut self, one: &Chosen, n_waiting: usize, removal: Removal) {
        let mut removed = Removed {
            files: removal.freed.files,
            bytes: removal.freed.bytes,
            ..Removed::default()
        };
        let (bodies, any) = self.stores.remove(one, &mut removed).await;
        self.here.extend(removal.bodies);
        self.here.extend(bodies.iter().cloned());
        self.in_store.extend(bodies);
        match revoke_links(self.dir, &one.id) {
            Ok(n_links) => removed.links = n_links as u64,
            Err(why) => removed.left.push(format!("links of {}: {why}", one.id)),
        }
        if removal.freed == Files::default() && n_waiting == 0 && !any {
            self.outcome.removed.left.append(&mut removed.left);
            self.outcome.missed(one, "there is no such session");
            return;
        }
        self.outcome.took(one, removed);
    }

    /// The bodies that they named and nobody names now; with `all` also others that none names.
    async fn remove_bodies(&mut self, all: bool) {
        if sweep(
            self.folder,
            Among::These(&self.here),
            Duration::ZERO,
            &mut self.outcome,
        ) {
            let _ = self.folder.blobs().note_unnamed(&BTreeSet::new());
        }
        if all {
            sweep(self.folder, Among::All, REST_OF_ALL, &mut self.outcome);
        }
        let Some(cold) = self
            .stores
            .cold
            .as_ref()
            .filter(|_| !self.in_store.is_empty())
        else {
            return;
        };
        let removed = &mut self.outcome.removed;
        match cold.remove_bodies(&self.in_store).await {
            Ok(bodies) => {
                removed.objects += bodies.objects;
                removed.object_bytes += bodies.bytes;
            }
            Err(why) => removed
                .left
                .push(format!("long bodies in the object store: {why}")),
        }
    }
}

/// Whether it could be told what is named.
fn sweep(folder: &HeldFolder, among: Among<'_>, rest: Duration, outcome: &mut Outcome) -> bool {
    let swept = folder.blobs().sweep(&Sweep {
        among,
        rest,
        without: &BTreeSet::new(),
        is_dry: false,
    });
    match swept {
        Ok(unnamed) => {
            outcome.bodies.add(&unnamed);
            true
        }
        Err(why) => {
            let left = format!("long bodies: {why}; `turnreel remove --bodies` removes them");
            outcome.removed.left.push(left);
            false
        }
    }
}
