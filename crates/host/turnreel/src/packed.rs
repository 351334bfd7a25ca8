//! Sessions whose logs were packed away: they stay in the list, and are fetched when somebody asks for them (`fetched`).
//!
//! A log is packed away where nothing came to it for as many days as the operator says, nobody reads it, and all of it was
//! read back from the object store and was the same, to the byte. Then its files go, and a small one stays that says what
//! the list says (`chat_store::Packed`).

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use chat_store::{Packed, SessionId, Summary, now_ms};
use chat_tiers::{Cold, Health, Manifest};

use crate::list::List;
use crate::live::Live;
use crate::locked::locked;
use crate::state::{State, stopped};

/// Between two looks for what rests.
const LOOK: Duration = Duration::from_secs(60);

/// The store is to say first what it has.
const LOOK_FIRST: Duration = Duration::from_secs(1);

/// What was read back and stayed all the same, since somebody read it or something came, is not read back again for so long.
const STAYED: Duration = Duration::from_secs(60 * 60);

/// Of more that were removed, those that were so longest ago are forgotten: who follows the list, or copies it, has heard of
/// them or hears no more.
const MOST_GONE: usize = 10_000;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What the list says of sessions that were packed away, and of those that were removed.
#[derive(Default)]
pub(crate) struct PackedRows(Mutex<BTreeMap<SessionId, Row>>);

struct Row {
    /// Of its newest change in the list.
    number: u64,
    /// `None` where nothing of it is here any more.
    summary: Option<Arc<Summary>>,
    /// The epoch of its log.
    epoch: String,
}

impl PackedRows {
    /// The rows of what the folder begins with.
    pub(crate) fn new(packed: &[Arc<Packed>], list: &List) -> Self {
        let row = |packed: &Arc<Packed>| {
            let id = SessionId::parse(&packed.session).ok()?;
            let number = list.changed(&id, None);
            let row = Row {
                number,
                summary: Some(Arc::new(packed.summary.clone())),
                epoch: packed.epoch.clone(),
            };
            Some((id, row))
        };
        PackedRows(Mutex::new(packed.iter().filter_map(row).collect()))
    }

    fn get(&self, id: &SessionId) -> Option<Arc<Summary>> {
        locked(&self.0).get(id)?.summary.clone()
    }

    /// As [`State::rows_after`].
    fn after(
        &self,
        after: &str,
        most: usize,
        wanted: &dyn Fn(&Summary) -> bool,
    ) -> Vec<Arc<Summary>> {
        let rows = locked(&self.0);
        let behind = (Bound::Excluded(after), Bound::Unbounded);
        let behind = rows.range::<str, _>(behind);
        let behind = behind.filter_map(|(_, row)| row.summary.as_ref());
        let wanted = behind.filter(|row| wanted(row));
        wanted.take(most).cloned().collect()
    }

    /// There is a log of the session again, which has a row of its own.
    pub(crate) fn forget(&self, id: &SessionId, list: &List) {
        if let Some(row) = locked(&self.0).remove(id) {
            list.forget(row.number);
        }
    }

    /// Somebody took away what was left of it.
    pub(crate) fn remove(&self, id: &SessionId, list: &List) {
        if let Some(row) = locked(&self.0).get_mut(id) {
            row.summary = None;
            row.number = list.changed(id, Some(row.number));
        }
    }

    /// The session was removed a while ago, and others may have yet to hear of that.
    pub(crate) fn take_removed(&self, live: &Live) {
        let row = Row {
            number: live.row().0,
            summary: None,
            epoch: live.position().0,
        };
        locked(&self.0).insert(live.session.id().clone(), row);
    }

    /// Those of which nothing is here, by id; of very many, those that went last.
    pub(crate) fn gone(&self, list: &List) -> Vec<SessionId> {
        let mut rows = locked(&self.0);
        let is_gone = |row: &Row| row.summary.is_none();
        let n_gone = rows.values().filter(|row| is_gone(row)).count();
        if n_gone > MOST_GONE {
            let gone = rows.values().filter(|row| is_gone(row));
            let mut numbers: Vec<u64> = gone.map(|row| row.number).collect();
            numbers.sort_unstable();
            let first = numbers[n_gone - MOST_GONE];
            let old = rows.extract_if(.., |_, row| is_gone(row) && row.number < first);
            old.for_each(|(_, row)| list.forget(row.number));
        }
        let gone = rows.iter().filter(|(_, row)| is_gone(row));
        gone.map(|(id, _)| id.clone()).collect()
    }

    /// The epoch of the log of one of which nothing is left.
    pub(crate) fn epoch_of_gone(&self, id: &SessionId) -> Option<String> {
        let rows = locked(&self.0);
        let row = rows.get(id).filter(|row| row.summary.is_none());
        row.map(|row| row.epoch.clone())
    }

    /// The session's row is this one from now on; `live` is its last.
    fn take(&self, live: &Live, summary: Summary, list: &List) {
        let id = live.session.id();
        let mut rows = locked(&self.0);
        // Who follows is told that there is no log, and comes again; who is woken by that waits for the row.
        live.set_removed(true, list);
        let row = Row {
            number: live.row().0,
            summary: Some(Arc::new(summary)),
            epoch: live.position().0,
        };
        rows.insert(id.clone(), row);
    }
}

impl State {
    /// The session's row in the list, where it has one.
    pub(crate) fn row(&self, id: &SessionId) -> Option<Arc<Summary>> {
        let live = self.live(id).map(|live| live.row().1);
        live.or_else(|| self.packed.get(id))
    }

    /// The rows of all sessions in the list, by id.
    pub(crate) fn all_rows(&self) -> Vec<Arc<Summary>> {
        self.page_of_rows("", usize::MAX, &|_| true)
    }

    /// The first `most` of them whose ids come after that text, among those that are `wanted`.
    pub(crate) fn page_of_rows(
        &self,
        after: &str,
        most: usize,
        wanted: &dyn Fn(&Summary) -> bool,
    ) -> Vec<Arc<Summary>> {
        let mut rows = self.rows_after(after, most, wanted);
        rows.extend(self.packed.after(after, most, wanted));
        rows.sort_by(|one, other| one.id.cmp(&other.id));
        // One that is packed away, or comes back, at this moment.
        rows.dedup_by(|one, other| one.id == other.id);
        rows.truncate(most);
        rows
    }

    /// Removes the log of a session that was read back from the store as `copy`, where it still is the same and nobody
    /// follows it; whether it did. Waits for the disk.
    fn pack_away(&self, live: &Arc<Live>, copy: Manifest) -> Result<bool, chat_store::Error> {
        let _writer = live.writer.blocking_lock();
        if live.is_followed() || live.is_removed() {
            return Ok(false);
        }
        let mut summary = copy.summary;
        summary.packed = true;
        let packed = Packed {
            session: copy.session,
            epoch: copy.epoch,
            head: copy.head,
            bytes: copy.bytes,
            sha256: copy.sha256,
            summary: summary.clone(),
        };
        if !self.store.pack_away(&live.session, packed)? {
            return Ok(false);
        }
        self.packed.take(live, summary, &self.list);
        self.forget_live(live);
        Ok(true)
    }
}

/// Packs away what rests for so many days, as long as the server runs.
pub(crate) async fn pack_away(state: State, cold: Cold, health: Arc<Health>, days: u32) {
    let mut stopping = state.stopping.subscribe();
    let mut packing = Packing {
        rests_ms: i64::from(days) * DAY_MS,
        stayed: HashMap::new(),
        state,
        cold,
    };
    let packing = async {
        loop {
            let pause = match health.is_up() {
                true => {
                    packing.look().await;
                    LOOK
                }
                false => LOOK_FIRST,
            };
            tokio::time::sleep(pause).await;
        }
    };
    tokio::select! {
        () = stopped(&mut stopping) => {}
        () = packing => {}
    }
}

struct Packing {
    state: State,
    cold: Cold,
    rests_ms: i64,
    /// Those that were read back and stayed, and when.
    stayed: HashMap<SessionId, Instant>,
}

impl Packing {
    /// Packs away what rests now.
    async fn look(&mut self) {
        self.stayed.retain(|_, at| at.elapsed() < STAYED);
        for live in self.state.all_live() {
            let id = live.session.id().clone();
            if !self.rests(&live) || !self.is_old(&id).await {
                continue;
            }
            match self.pack_away_one(&live).await {
                Ok(true) => tracing::info!(
                    session = id.as_str(),
                    "a log was packed away: all of it was read back from the object store"
                ),
                Ok(false) => {
                    self.stayed.insert(id, Instant::now());
                }
                Err(why) => {
                    tracing::warn!(session = id.as_str(), "could not pack the log away: {why}");
                    self.stayed.insert(id, Instant::now());
                }
            }
        }
    }

    /// Whether nothing came to it for so long, it was not fetched since, and the store has a copy of it.
    fn rests(&self, live: &Live) -> bool {
        let session = &live.session;
        let (epoch, head, _) = live.position();
        let last_ms = live.row().1.last_activity_ms.unwrap_or(i64::MAX);
        now_ms().saturating_sub(last_ms) >= self.rests_ms
            && live.home().is_none()
            && !live.is_followed()
            && !self.stayed.contains_key(session.id())
            && self.cold.covers(session.id(), &epoch, head)
    }

    /// Whether its newest file was written so long ago: one that was fetched was written then.
    async fn is_old(&self, id: &SessionId) -> bool {
        let path = self.state.store.log_path(id);
        let looking = move || std::fs::metadata(path).and_then(|file| file.modified());
        let written = tokio::task::spawn_blocking(looking).await;
        let ago = written.map(|written| written.map(|at| SystemTime::now().duration_since(at)));
        let Ok(Ok(Ok(ago))) = ago else { return false };
        i64::try_from(ago.as_millis()).is_ok_and(|ago_ms| ago_ms >= self.rests_ms)
    }

    async fn pack_away_one(&self, live: &Arc<Live>) -> Result<bool, String> {
        let verified = self.cold.verified(&live.session).await;
        let Some(copy) = verified.map_err(|why| why.to_string())? else {
            return Ok(false);
        };
        let (state, live) = (self.state.clone(), live.clone());
        let packing = tokio::task::spawn_blocking(move || state.pack_away(&live, copy));
        let packed = packing.await.map_err(|why| why.to_string())?;
        packed.map_err(|why| why.to_string())
    }
}
