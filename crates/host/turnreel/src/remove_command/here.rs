//! Removing sessions from a folder that no server holds, and from the stores that it was copied to.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use chat_store::{Among, Freed as Files, HeldFolder, Sweep};
use chat_tiers::{Cold, Hot, Tier, Warm};

use super::{Chosen, Outcome};
use crate::data_dir;
use crate::removal::{REST_OF_ALL, Removed, remove_waiting, revoke_links};
use crate::store_urls::StoreUrls;

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
/// Where a store does not answer; then nothing went.
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
    let mut outcome = Outcome::default();
    let (mut here, mut in_store) = (BTreeSet::new(), BTreeSet::new());
    for one in chosen {
        let n_waiting = remove_waiting(dir, &one.id);
        let removal = match folder.remove(&one.id) {
            Ok(removal) => removal,
            Err(why) => {
                outcome.missed(one, &data_dir::why_not_opened(dir, &why));
                continue;
            }
        };
        let mut removed = Removed {
            files: removal.freed.files,
            bytes: removal.freed.bytes,
            ..Removed::default()
        };
        let (bodies, any) = stores.remove(one, &mut removed).await;
        here.extend(removal.bodies);
        here.extend(bodies.iter().cloned());
        in_store.extend(bodies);
        match revoke_links(dir, &one.id) {
            Ok(n_links) => removed.links = n_links as u64,
            Err(why) => removed.left.push(format!("links of {}: {why}", one.id)),
        }
        if removal.freed == Files::default() && n_waiting == 0 && !any {
            outcome.removed.left.append(&mut removed.left);
            outcome.missed(one, "there is no such session");
            continue;
        }
        outcome.took(one, removed);
    }
    // A server may have stopped before those of others were old enough; nobody keeps bodies while the folder is held.
    here.extend(folder.blobs().noted_unnamed());
    if sweep(folder, Among::These(&here), Duration::ZERO, &mut outcome) {
        let _ = folder.blobs().note_unnamed(&BTreeSet::new());
    }
    if all_bodies {
        sweep(folder, Among::All, REST_OF_ALL, &mut outcome);
    }
    if let Some(cold) = stores.cold.filter(|_| !in_store.is_empty()) {
        match cold.remove_bodies(&in_store).await {
            Ok(bodies) => {
                outcome.removed.objects += bodies.objects;
                outcome.removed.object_bytes += bodies.bytes;
            }
            Err(why) => {
                let left = format!("long bodies in the object store: {why}");
                outcome.removed.left.push(left);
            }
        }
    }
    Ok(outcome)
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
