//! The sessions whose requests are kept, and those who wait for answers of them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use chat_store::{SessionId, Stored};
use tokio::sync::watch;

use super::{OfSession, Requests};
use crate::locked::locked;

/// Sessions whose requests are kept; they can be read again.
const MAX_SESSIONS: usize = 256;

/// What all of them may take in memory: some ten thousand requests with their answers.
const MAX_BYTES: usize = 32 * 1024 * 1024;

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
        // Of such a session each who asks reads the log; the others keep their room.
        if requests.bytes() > MAX_BYTES {
            return;
        }
        self.order.push_back(id.clone());
        self.requests.insert(id.clone(), requests);
        self.make_room();
    }

    /// Takes what was stored in the session, and wakes those who wait for an answer of it.
    pub(super) fn note(&mut self, id: &SessionId, stored: &[Stored]) {
        let mut nobodys = OfSession::default();
        // Who waits for an answer of a session whose log is not read yet looks for it there.
        let requests = self.requests.get_mut(id).unwrap_or(&mut nobodys);
        let before = requests.bytes();
        let mut is_answered = false;
        for stored in stored {
            is_answered |= requests.take(&stored.event);
        }
        if requests.bytes() > before {
            self.make_room();
        }
        if is_answered {
            self.wake(id);
        }
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
            let Some((nth, _)) = before_last.find(|(_, id)| !self.waited.contains_key(*id)) else {
                break;
            };
            if let Some(id) = self.order.remove(nth) {
                self.requests.remove(&id);
            }
        }
        let mut bytes: usize = self.requests.values().map(OfSession::bytes).sum();
        while bytes > MAX_BYTES {
            // Who waits on a session reads its log again with each answer; where all are waited on, one must.
            let mut order = self.order.iter();
            let nth = order.position(|id| !self.waited.contains_key(id));
            let Some(id) = self.order.remove(nth.unwrap_or(0)) else {
                return;
            };
            let gone = self.requests.remove(&id);
            bytes -= gone.map_or(0, |requests| requests.bytes());
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

    use chat_event::ChatEvent;
    use chat_event::payload::{PermissionRequest, PermissionResolved};

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
            .for_each(|id| sessions.keep(id, OfSession::default()));
        // Read again, the first is the newest.
        sessions.keep(&ids[0], OfSession::default());
        sessions.keep(&ids[MAX_SESSIONS], OfSession::default());
        let gone: Vec<_> = ids
            .iter()
            .filter(|id| !sessions.requests.contains_key(*id))
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
            locked(&requests.sessions).keep(id, OfSession::default());
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

    /// The requests of a session that take about so many bytes.
    fn of_bytes(n_bytes: usize) -> OfSession {
        let mut requests = OfSession::default();
        let mut n = 0;
        while requests.bytes() < n_bytes {
            let request = PermissionRequest {
                request_id: format!("r{n}"),
                ..PermissionRequest::default()
            };
            let mut event = ChatEvent::new("", 1, "s1", request);
            event.turn_id = Some("t".repeat(64 * 1024));
            requests.take(&event);
            n += 1;
        }
        requests
    }

    #[test]
    fn requests_take_so_many_bytes_and_the_sessions_that_were_read_first_make_room() {
        const N: usize = 8;
        let requests = Arc::<Requests>::default();
        let ids = ids(2 * N);
        let _waiting = Waiting::new(&requests, &ids[0]);
        let kept = || {
            let sessions = locked(&requests.sessions);
            let n_bytes: usize = sessions.requests.values().map(OfSession::bytes).sum();
            assert!(n_bytes <= MAX_BYTES, "{n_bytes}");
            assert_eq!(sessions.order.len(), sessions.requests.len());
            let kept = ids.iter().map(|id| sessions.requests.contains_key(id));
            kept.collect::<Vec<_>>()
        };
        for (nth, id) in ids.iter().enumerate() {
            locked(&requests.sessions).keep(id, of_bytes(MAX_BYTES / N - 128 * 1024));
            let kept = kept();
            // One that somebody waits on stays while another can go.
            assert!(kept[0] && kept[nth]);
            let n_kept = kept.iter().filter(|kept| **kept).count();
            assert_eq!(n_kept, N.min(nth + 1));
        }
        // One that has more than all may have makes no room for itself.
        let before = kept();
        locked(&requests.sessions).keep(&ids[1], of_bytes(MAX_BYTES + 1));
        assert_eq!(kept(), before);
        // What comes to one that is kept counts, too: nobody's requests are forgotten by half.
        let answers = (0..4000).map(|n| {
            let payload = PermissionResolved {
                request_id: format!("new{n}"),
                message: Some("m".repeat(1000)),
                ..PermissionResolved::default()
            };
            ChatEvent::new("", 1, "s1", payload)
        });
        let stored = answers.map(|event| Stored {
            seq: 1,
            line: String::new(),
            event,
        });
        let stored: Vec<_> = stored.collect();
        for stored in stored.chunks(100) {
            locked(&requests.sessions).note(&ids[2 * N - 1], stored);
            kept();
        }
        assert!(!kept()[2 * N - 1], "it is read from its log again");
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
