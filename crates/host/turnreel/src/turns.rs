//! One at a time for each session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chat_store::SessionId;
use tokio::sync::OwnedMutexGuard;

use crate::locked::locked;

/// The sessions of which somebody has the turn, or waits for it.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>);

/// The turn of a session, until it is let go.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    session: SessionId,
    held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    pub(crate) async fn of(&self, session: &SessionId) -> Turn<'_> {
        let mutex = locked(&self.0).entry(session.clone()).or_default().clone();
        // Made before it is waited for: who gives up waiting leaves nothing behind.
        let mut turn = Turn {
            turns: self,
            session: session.clone(),
            held: None,
        };
        turn.held = Some(mutex.lock_owned().await);
        turn
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut turns = locked(&self.turns.0);
        let is_last = |mutex: &Arc<tokio::sync::Mutex<()>>| Arc::strong_count(mutex) == 1;
        if turns.get(&self.session).is_some_and(is_last) {
            turns.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_has_the_turn_and_nothing_is_left_of_those_who_had_it_or_gave_up() {
        let turns = Turns::default();
        let ids = ["s1", "s2"].map(|id| SessionId::parse(id).unwrap());
        let first = turns.of(&ids[0]).await;
        drop(turns.of(&ids[1]).await);
        let waiting = tokio::time::timeout(Duration::from_millis(20), turns.of(&ids[0]));
        assert!(waiting.await.is_err());
        assert_eq!(locked(&turns.0).len(), 1);
        drop(first);
        assert!(locked(&turns.0).is_empty());
        let (one, other) = tokio::join!(async { drop(turns.of(&ids[0]).await) }, async {
            drop(turns.of(&ids[0]).await)
        });
        assert_eq!((one, other), ((), ()));
        assert!(locked(&turns.0).is_empty());
    }
}
