//! The sessions whose requests are kept, and those who wait for answers of them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use chat_store::SessionId;
use tokio::sync::watch;

use super::{OfSession, Requests};
use crate::locked::locked;

/// Sessions whose requests are kept; they can be read again.
const MAX_SESSIONS: usize = 256;

/// Those that are kept. Where they are too many, the one that was read the longest ago and that nobody waits on makes room.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) requests: HashMap<SessionId, OfSession>,
    /// In the order in which they were read.
    order: VecDeque<SessionId>,
    /// Those that somebody waits on. Waking is all the senders are for.
    waited: HashMap<SessionId, watch::Sender<()>>,
}

impl Sessions {
    pub(super) fn keep(&mut self, id: &SessionId, requests: OfSession) {
        self.forget(id);
        self.order.push_back(id.clone());
        self.requests.insert(id.clone(), requests);
        self.make_room();
    }

    pub(super) fn forget(&mut self, id: &SessionId) {
        if self.requests.remove(id).is_some() {
            self.order.retain(|other| other != id);
        }
    }

    /// Wakes those who wait on the session.
    pub(super) fn wake(&self, id: &SessionId) {
        if let Some(waited) = self.waited.get(id) {
            waited.send_replace(());
        }
    }

    fn make_room(&mut self) {
        while self.order.len() > MAX_SESSIONS {
            // The last was read just now, and is about to be looked at.
            let before_last = self.order.iter().take(self.order.len() - 1);
            let mut before_last = before_last.enumerate();
            let Some((nth, _)) = before_last.find(|(_, id)| !self.waited.contains_key(id)) else {
                return;
            };
            if let Some(id) = self.order.remove(nth) {
                self.requests.remove(&id);
            }
        }
    }
}

/// Somebody waits for an answer of a session, as long as this is there.
pub(crate) struct Waiting {
    requests: Arc<Requests>,
    session: SessionId,
    answered: watch::Receiver<()>,
}

impl Waiting {
    pub(super) fn new(requests: &Arc<Requests>, session: &SessionId) -> Self {
        let mut sessions = locked(&requests.sessions);
        let waited = sessions.waited.entry(session.clone()).or_default();
        Waiting {
            answered: waited.subscribe(),
            requests: requests.clone(),
            session: session.clone(),
        }
    }

    /// What was answered up to now wakes no more.
    pub(crate) fn look(&mut self) {
        self.answered.mark_unchanged();
    }

    /// Ready with an answer of the session, to whatever request, that came since the last look.
    pub(crate) async fn answered(&mut self) {
        // It does not fail: the sender goes with the last who waits.
        let _ = self.answered.changed().await;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut sessions = locked(&self.requests.sessions);
        let waited = sessions.waited.get(&self.session);
        // Ours is there yet.
        if waited.is_some_and(|waited| waited.receiver_count() <= 1) {
            sessions.waited.remove(&self.session);
            sessions.make_room();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ids(n: usize) -> Vec<SessionId> {
        let ids = (0..n).filter_map(|nth| SessionId::parse(&format!("s{nth}")).ok());
        ids.collect()
    }

    #[test]
    fn the_session_that_was_read_first_makes_room_and_no_other() {
        let mut sessions = Sessions::default();
        let ids = ids(MAX_SESSIONS + 1);
        ids[..MAX_SESSIONS]
            .iter()
            .for_each(|id| sessions.keep(id, OfSession::new()));
        // Read again, the first is the newest.
        sessions.keep(&ids[0], OfSession::new());
        sessions.keep(&ids[MAX_SESSIONS], OfSession::new());
        let gone: Vec<_> = ids
            .iter()
            .filter(|id| !sessions.requests.contains_key(id))
            .collect();
        assert_eq!(gone, [&ids[1]]);
        assert_eq!(sessions.order.len(), sessions.requests.len());
    }

    #[test]
    fn a_session_that_somebody_waits_on_makes_no_room_until_nobody_does() {
        let requests = Arc::<Requests>::default();
        let ids = ids(MAX_SESSIONS + 20);
        let mut waiting: Vec<_> = ids.iter().map(|id| Waiting::new(&requests, id)).collect();
        let again = Waiting::new(&requests, &ids[0]);
        for id in &ids {
            locked(&requests.sessions).keep(id, OfSession::new());
        }
        let n_kept = || locked(&requests.sessions).requests.len();
        assert_eq!(n_kept(), ids.len(), "all are waited on");
        drop(waiting.remove(0));
        assert_eq!(n_kept(), ids.len(), "the first is waited on by another");
        drop(again);
        assert_eq!(n_kept(), ids.len() - 1);
        assert!(!locked(&requests.sessions).requests.contains_key(&ids[0]));
        drop(waiting);
        assert_eq!(n_kept(), MAX_SESSIONS);
        let sessions = locked(&requests.sessions);
        assert_eq!(sessions.order.len(), MAX_SESSIONS);
        assert!(sessions.waited.is_empty());
    }

    #[tokio::test]
    async fn an_answer_wakes_those_who_wait_on_its_session_and_no_others() {
        let requests = Arc::<Requests>::default();
        let ids = ids(2);
        let [mut of_first, mut of_second] = [0, 1].map(|nth| Waiting::new(&requests, &ids[nth]));
        of_first.look();
        of_second.look();
        locked(&requests.sessions).wake(&ids[0]);
        of_first.answered().await;
        let woken = tokio::time::timeout(Duration::from_millis(50), of_second.answered()).await;
        assert!(woken.is_err());
    }
}
