//! Saying that this server is there, and hearing of the others: who they are, and which tokens were made there.

use std::sync::Arc;

use chat_store::SessionId;
use chat_tiers::{BEAT, Error};

use super::{Fleet, copying};
use crate::locked::locked;
use crate::state::{State, stopped};
use crate::tokens;

/// Runs until the server stops.
pub(super) async fn look_after(state: State, fleet: Arc<Fleet>, mut asking: chat_tiers::Fleet) {
    let mut stopping = state.stopping.subscribe();
    let mut was_there = true;
    loop {
        let beating = tokio::time::timeout(super::PATIENCE, beat(&state, &fleet, &mut asking));
        let beaten = tokio::select! {
            () = stopped(&mut stopping) => return,
            beaten = beating => beaten,
        };
        let why = match beaten {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(_) => Some("Redis gives no answer".to_owned()),
        };
        if let Some(why) = &why {
            asking.disconnect();
            if was_there {
                tracing::warn!(
                    "{why}: this server goes on with the sessions it has, and hears nothing of the others"
                );
            }
        }
        was_there = why.is_none();
        tokio::select! {
            () = stopped(&mut stopping) => return,
            () = tokio::time::sleep(BEAT) => {}
        }
    }
}

async fn beat(
    state: &State,
    fleet: &Arc<Fleet>,
    asking: &mut chat_tiers::Fleet,
) -> Result<(), String> {
    let said = |why: Error| why.to_string();
    let members = asking.beat(|| own(state, fleet)).await.map_err(said)?;
    let word = asking.word().await.map_err(said)?;
    state.access.tokens.know_fleet(&word);
    *locked(&fleet.word) = Some(word);
    let before = std::mem::replace(&mut *locked(&fleet.members), members.clone());
    fleet.note_members();
    for (id, member) in &members {
        if before.get(id).is_none_or(|before| before.run != member.run) {
            tracing::info!("a server of the fleet is there: {}", member.url);
            tokio::spawn(copying::catch_up(
                state.clone(),
                fleet.clone(),
                member.clone(),
            ));
        }
    }
    for gone in before
        .values()
        .filter(|before| !members.contains_key(&before.id))
    {
        tracing::warn!("a server of the fleet is away: {}", gone.url);
    }
    share_tokens(state, asking).await
}

/// The sessions that are at home here.
fn own(state: &State, fleet: &Fleet) -> Vec<SessionId> {
    let all = state.store.sessions();
    let homes = locked(&fleet.homes);
    let own = all.iter().map(|session| session.id());
    own.filter(|id| !homes.contains_key(*id)).cloned().collect()
}

/// What was made or taken back at one server is so at all.
async fn share_tokens(state: &State, asking: &mut chat_tiers::Fleet) -> Result<(), String> {
    let theirs = asking.tokens().await.map_err(|why| why.to_string())?;
    let dir = state.store.dir().to_owned();
    let merging = tokio::task::spawn_blocking(move || tokens::merge(&dir, &theirs));
    let merged = merging.await.map_err(|why| why.to_string())??;
    if merged.is_changed {
        state.access.tokens.look_again();
    }
    if !merged.unknown_there.is_empty() {
        let telling = asking.tell_tokens(&merged.unknown_there);
        telling.await.map_err(|why| why.to_string())?;
    }
    Ok(())
}
