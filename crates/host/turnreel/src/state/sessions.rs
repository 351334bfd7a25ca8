//! The sessions of this server: those that have a log here, and how one comes to have it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, MutexGuard, PoisonError};

use chat_store::{Restoring, Session, SessionId, Summary};

use super::State;
use crate::error::ApiError;
use crate::live::Live;
use crate::locked::locked;

/// Sessions that are looked at together.
const PART: usize = 256;

impl State {
    /// The session of that id, where it has a log.
    pub(crate) fn live(&self, id: &SessionId) -> Option<Arc<Live>> {
        let live = self.map().get(id).cloned();
        live.filter(|live| !live.is_removed())
    }

    /// The session of that id, brought here where it is not here but elsewhere. Waits for that, but not for ever.
    ///
    /// # Errors
    ///
    /// 503 where it may be in the object store or on another server, and cannot be had from there now.
    pub(crate) async fn live_from_anywhere(
        &self,
        id: &SessionId,
    ) -> Result<Option<Arc<Live>>, ApiError> {
        if let Some(live) = self.live(id) {
            return Ok(Some(live));
        }
        let from_others = match self.fleet.get() {
            Some(fleet) => fleet.fetch(self, id).await,
            None => Ok(()),
        };
        if self.live(id).is_none()
            && let Some(fetching) = self.fetching.get()
        {
            fetching.session(self, id).await?;
        }
        let live = self.live_or_away(id)?;
        if live.is_none() {
            from_others?;
        }
        Ok(live)
    }

    /// The session of that id, where it has a log here.
    ///
    /// # Errors
    ///
    /// 503 where its log was packed away.
    pub(crate) fn live_or_away(&self, id: &SessionId) -> Result<Option<Arc<Live>>, ApiError> {
        let live = self.live(id);
        if live.is_none() && self.store.is_packed(id) {
            return Err(packed_away(id));
        }
        Ok(live)
    }

    /// The session of that id, also where its log was taken away: what is sent to it goes on behind what it had.
    pub(crate) fn live_to_write(&self, id: &SessionId) -> Option<Arc<Live>> {
        self.map().get(id).cloned()
    }

    /// The session of that id, made where there is none. Waits for the disk.
    pub(crate) fn live_or_new(&self, id: &SessionId) -> Result<Arc<Live>, ApiError> {
        if let Some(live) = self.live_to_write(id) {
            return Ok(live);
        }
        let session = self.store.session_or_new(id)?;
        Ok(self.live_of(session))
    }

    /// The session of that id; where there is none, a copy of `home`'s log is begun, which is at `epoch`. Waits for the disk.
    pub(crate) fn live_or_copy(
        &self,
        id: &SessionId,
        home: &str,
        epoch: &str,
    ) -> Result<Arc<Live>, ApiError> {
        if let Some(live) = self.live_to_write(id) {
            return Ok(live);
        }
        let session = self.store.session_or_copy(id, home, epoch)?;
        Ok(self.live_of(session))
    }

    fn live_of(&self, session: Arc<Session>) -> Arc<Live> {
        self.packed.forget(session.id(), &self.list);
        let mut map = self.map();
        let live = map
            .entry(session.id().clone())
            .or_insert_with(|| Arc::new(Live::new(session, &self.list, &self.rings)));
        live.clone()
    }

    /// Takes in the log that was fetched of that session, as a copy where its numbers are given by the server `copy_of`. Waits
    /// for the disk.
    ///
    /// # Errors
    ///
    /// As [`Store::restore`].
    pub(crate) fn take_in(
        &self,
        id: &SessionId,
        restoring: &Restoring,
        copy_of: Option<&str>,
    ) -> Result<(), chat_store::Error> {
        // Nobody writes to what was there before and was taken away, until its place is taken.
        let before = self.live_to_write(id);
        let _writer = before.as_ref().map(|live| live.writer.blocking_lock());
        let session = self.store.restore(restoring)?;
        if let Some(home) = copy_of
            && let Err(why) = session.copy_from(home, &session.epochs())
        {
            // It is at home here until that home is back, and hears that it is at home there.
            tracing::warn!(session = id.as_str(), "it is not marked as a copy: {why}");
        }
        self.forget_masker(id);
        let Some(before) = &before else {
            // Who sees its file may have begun with it by now, before it was marked.
            self.live_of(session).look_whose();
            return Ok(());
        };
        self.packed.forget(id, &self.list);
        let mut map = self.map();
        self.list.forget(before.row().0);
        let live = Arc::new(Live::new(session, &self.list, &self.rings));
        map.insert(id.clone(), live);
        Ok(())
    }

    /// The session's log was taken away, or brought back: what is remembered beside it is of another one.
    pub(crate) fn forget_remembered(&self, id: &SessionId) {
        self.requests.forget(id);
        self.producers.forget(id);
        self.tasks.forget(id);
        self.requests.said.forget_session(id);
        self.forget_masker(id);
    }

    /// What follows goes on behind another log.
    pub(crate) fn forget_masker(&self, id: &SessionId) {
        if let Some(masking) = self.masking.get() {
            masking.forget(id);
        }
    }

    /// The session's log was packed away.
    pub(crate) fn forget_live(&self, live: &Live) {
        let syncs = live.session.condition().syncs;
        locked(&self.metrics.syncs_of_gone).add(&syncs);
        self.map().remove(live.session.id());
    }

    /// Forgets a session that was removed, but for what others are still to hear of it; not where somebody has to do with it,
    /// or its log is back. One that is at home elsewhere stays: what was removed of it here would be copied anew.
    pub(crate) fn forget_removed(&self, live: &Live) {
        let Ok(_writer) = live.writer.try_lock() else {
            return;
        };
        let is_known = self
            .live_to_write(live.session.id())
            .is_some_and(|known| std::ptr::eq(&*known, live));
        if is_known
            && live.home().is_none()
            && live.is_removed()
            && self.store.forget_gone(&live.session)
        {
            // First of the two: who finds neither would begin it while the other is still to come.
            self.packed.take_removed(live);
            self.forget_live(live);
        }
    }

    /// All sessions that have a log, by id.
    pub(crate) fn all_live(&self) -> Vec<Arc<Live>> {
        let map = self.map();
        let all = map.values().filter(|live| !live.is_removed());
        all.cloned().collect()
    }

    /// The rows of the first `most` of those whose ids come after that text, by id, among those that are `wanted`. No more of
    /// them are looked at than it takes.
    pub(crate) fn rows_after(
        &self,
        after: &str,
        most: usize,
        wanted: &dyn Fn(&Summary) -> bool,
    ) -> Vec<Arc<Summary>> {
        let (mut rows, mut after) = (Vec::new(), after.to_owned());
        loop {
            // A part at a time: the map is not held while they are looked at.
            let part: Vec<Arc<Live>> = {
                let map = self.map();
                let behind = (Bound::Excluded(&*after), Bound::Unbounded);
                let part = map.range::<str, _>(behind).take(most.max(PART));
                part.map(|(_, live)| live.clone()).collect()
            };
            let Some(last) = part.last() else { return rows };
            last.session.id().as_str().clone_into(&mut after);
            let there = part.iter().filter(|live| !live.is_removed());
            let there = there.map(|live| live.row().1).filter(|row| wanted(row));
            rows.extend(there.take(most - rows.len()));
            if rows.len() == most {
                return rows;
            }
        }
    }

    /// All sessions there ever were, by id.
    pub(crate) fn all_to_write(&self) -> Vec<Arc<Live>> {
        self.map().values().cloned().collect()
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of a session that is in the list, and cannot be had.
fn packed_away(id: &SessionId) -> ApiError {
    let session = id.as_str().to_owned();
    chat_store::Error::PackedAway { session }.into()
}

#[cfg(test)]
mod tests {
    use chat_store::{Options, Store};

    use super::*;
    use crate::state::Settings;

    #[test]
    fn a_page_of_rows_is_a_part_of_all_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        for n in 0..PART + 50 {
            let id = SessionId::parse(&format!("s{n:03}")).unwrap();
            store.session_or_new(&id).unwrap();
        }
        let state = State::new(store, "t", 1, &[], Settings::default());
        for n in [0, 7, 255, 256, 257] {
            let id = SessionId::parse(&format!("s{n:03}")).unwrap();
            let live = state.live(&id).unwrap();
            live.set_removed(true, &state.list);
        }
        let all = state.all_rows();
        assert_eq!(all.len(), PART + 45);
        for after in ["", "0", "s", "s000", "s006", "s006x", "s255", "s305", "t"] {
            for most in [1, 2, PART - 1, PART, PART + 1, usize::MAX] {
                for step in [1, 3, 100] {
                    let wanted = |row: &Summary| {
                        let n: usize = row.id[1..].parse().unwrap();
                        n.is_multiple_of(step)
                    };
                    let page = state.page_of_rows(after, most, &wanted);
                    let part = all.iter().filter(|row| &*row.id > after && wanted(row));
                    let part: Vec<_> = part.take(most).cloned().collect();
                    assert_eq!(page, part, "{after} {most} {step}");
                }
            }
        }
    }
}
