//! Saying that this server is there, and hearing of the others: who they are, and which tokens were made there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use chat_store::SessionId;
use chat_tiers::{BEAT, Error};

use super::{Fleet, soon};
use crate::locked::locked;
use crate::state::{State, stopped};
use crate::tokens;

/// Between two times that all sessions are named: Redis may lose some of what it had, and say nothing.
const NAME: Duration = Duration::from_secs(60);

/// Naming many sessions may take so long.
const NAMING: Duration = Duration::from_secs(60);

/// What is said once, until it is another.
#[derive(Default)]
struct Said(Option<String>);

impl Said {
    fn say(&mut self, now: Option<String>) {
        if let Some(why) = now.as_ref().filter(|_| self.0 != now) {
            tracing::warn!("{why}");
        }
        self.0 = now;
    }
}

/// What Redis was told of the sessions that are at home here.
#[derive(Default)]
struct Named {
    /// Since when the fleet was then, and when.
    at: Option<(String, Instant)>,
    /// Up to which change of the list it was looked whose logs somebody took away.
    looked: u64,
    /// Those whose logs were.
    taken: BTreeSet<SessionId>,
    /// Those of them that have no home there any more.
    gone: BTreeSet<SessionId>,
    /// From where homes that nobody names are looked for.
    cursor: u64,
}

impl Named {
    /// Names all sessions where that is to be done, and takes back the names of those that went.
    async fn bring_up(&mut self, state: &State, fleet: &Fleet, since: &str) {
        let (newest, changed) = state.list.since(self.looked);
        self.looked = newest;
        self.taken.extend(changed);
        self.taken.retain(|id| is_taken(state, id));
        let is_back = self.gone.iter().any(|id| state.live(id).is_some());
        self.gone.retain(|id| self.taken.contains(id));
        let is_named = self.at.as_ref().is_some_and(|(then, _)| then == since) && !self.is_old();
        if !is_named || is_back {
            let own = own(state);
            let naming = async {
                fleet.asking.name(&own).await?;
                fleet.asking.forget_homes(self.cursor).await
            };
            if let Ok(Ok(cursor)) = tokio::time::timeout(NAMING, naming).await {
                self.cursor = cursor;
                self.at = Some((since.to_owned(), Instant::now()));
            }
        }
        let newly: Vec<SessionId> = self.taken.difference(&self.gone).cloned().collect();
        if !newly.is_empty() && soon(fleet.asking.unname(&newly)).await.is_ok() {
            self.gone.extend(newly);
        }
    }

    /// Whether all sessions are to be gone through again. With each beat only those that changed are.
    fn is_old(&self) -> bool {
        self.at.as_ref().is_none_or(|(_, at)| at.elapsed() >= NAME)
    }
}

/// Runs until the server stops.
pub(super) async fn look_after(state: State, fleet: Arc<Fleet>) {
    let mut stopping = state.stopping.subscribe();
    let mut named = Named::default();
    let (mut of_redis, mut of_tokens) = (Said::default(), Said::default());
    loop {
        let looking = async {
            of_redis.say(beat(&state, &fleet, &mut named).await.err());
            of_tokens.say(share_tokens(&state, &fleet).await.err());
        };
        tokio::select! {
            () = stopped(&mut stopping) => return,
            () = looking => {}
        }
        tokio::select! {
            () = stopped(&mut stopping) => return,
            () = tokio::time::sleep(BEAT) => {}
            // What is taken back at one server is good at none: nobody waits for a beat.
            () = fleet.tokens_told.notified() => {}
            () = state.access.tokens.changed() => {}
        }
    }
}

async fn beat(state: &State, fleet: &Arc<Fleet>, named: &mut Named) -> Result<(), String> {
    let said = |why: Error| {
        format!(
            "{why}: this server goes on with the sessions it has, and hears nothing of the others"
        )
    };
    // Before anybody hears that it is there: what was removed while it was away would come from here to the others.
    fleet.hear_of_removed(state).await.map_err(said)?;
    let heard = soon(fleet.asking.beat()).await.map_err(said)?;
    if heard.is_doubled && !fleet.is_doubled.swap(true, Ordering::Relaxed) {
        tracing::error!(
            "another server has this one's name; nothing is taken in until one of them has another: stop one, and remove \
             the file server-id from its data folder"
        );
    } else if !heard.is_doubled {
        fleet.is_doubled.store(false, Ordering::Relaxed);
    }
    let word = soon(fleet.asking.word()).await.map_err(said)?;
    state.access.tokens.know_fleet(&word);
    *locked(&fleet.word) = Some(word);
    let members = heard.others;
    let before = std::mem::replace(&mut *locked(&fleet.members), members.clone());
    if named.is_old() || !before.keys().eq(members.keys()) {
        fleet.note_members(state);
    }
    named.bring_up(state, fleet, &heard.since).await;
    for (id, member) in &members {
        if before.get(id).is_none_or(|before| before.run != member.run) {
            tracing::info!("a server of the fleet is there: {}", member.url);
            fleet.compare(state, member);
        }
    }
    for gone in before.values() {
        if !members.contains_key(&gone.id) {
            tracing::warn!("a server of the fleet is away: {}", gone.url);
        }
    }
    Ok(())
}

/// The sessions that are at home here: those with a log, and those whose log was packed away.
fn own(state: &State) -> Vec<SessionId> {
    let own = state.all_live().into_iter();
    let own = own.filter(|live| live.home().is_none());
    let own = own.map(|live| live.session.id().clone());
    let packed = state.store.packed();
    let packed = packed
        .iter()
        .filter_map(|it| SessionId::parse(&it.session).ok());
    own.chain(packed).collect()
}

/// Whether the session was at home here, and somebody took its log away.
fn is_taken(state: &State, id: &SessionId) -> bool {
    let live = state.live_to_write(id);
    live.is_some_and(|live| live.is_removed() && live.home().is_none())
}

/// What was made or taken back at one server is so at all.
async fn share_tokens(state: &State, fleet: &Fleet) -> Result<(), String> {
    // That Redis is away is said already.
    let Ok(theirs) = soon(fleet.asking.tokens()).await else {
        return Ok(());
    };
    let dir = state.store.dir().to_owned();
    let merging = tokio::task::spawn_blocking(move || tokens::merge(&dir, &theirs));
    let failed = |why: String| format!("could not take the tokens of other servers: {why}");
    let merged = merging.await.map_err(|why| failed(why.to_string()))?;
    let merged = merged.map_err(|why| failed(why.into()))?;
    if merged.is_changed {
        tracing::debug!("tokens were made or taken back at other servers");
    }
    if !merged.unknown_there.is_empty() {
        let _ = soon(fleet.asking.tell_tokens(&merged.unknown_there)).await;
    }
    if !merged.forgotten.is_empty() {
        let _ = soon(fleet.asking.forget_tokens(&merged.forgotten)).await;
    }
    match merged.left_out {
        0 => Ok(()),
        n => Err(failed(format!(
            "there is no room for {n} of them; revoke some"
        ))),
    }
}
