//! What changed in the list of sessions: each change has a number, and each session stands at its newest.

use std::collections::BTreeMap;
use std::sync::Mutex;

use chat_store::SessionId;
use tokio::sync::watch;

use crate::locked::locked;

/// The sessions in the order in which they changed last.
#[derive(Debug, Default)]
pub(crate) struct List {
    order: Mutex<Order>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Order {
    /// The number of the newest change; they begin with 1.
    newest: u64,
    sessions: BTreeMap<u64, SessionId>,
}

impl List {
    /// A list that begins with these: each changed once, in their order, from 1 on.
    pub(crate) fn of(ids: impl IntoIterator<Item = SessionId>) -> Self {
        let sessions: BTreeMap<u64, SessionId> = (1..).zip(ids).collect();
        let newest = sessions.len() as u64;
        List {
            order: Mutex::new(Order { newest, sessions }),
            changed: watch::Sender::new(newest),
        }
    }

    /// Counts a change of a session whose change `before` was, and wakes those who follow the list. The caller holds the
    /// session's row, and writes the number to it: who is woken waits for that.
    pub(crate) fn changed(&self, id: &SessionId, before: Option<u64>) -> u64 {
        let mut order = locked(&self.order);
        order.newest += 1;
        let number = order.newest;
        if let Some(before) = before {
            order.sessions.remove(&before);
        }
        order.sessions.insert(number, id.clone());
        drop(order);
        self.changed
            .send_modify(|newest| *newest = number.max(*newest));
        number
    }

    /// Forgets the change of a session that stands in the list anew.
    pub(crate) fn forget(&self, number: u64) {
        locked(&self.order).sessions.remove(&number);
    }

    /// The sessions that changed behind the change `seen`, by their ids, and the number of the newest change. What changes
    /// while their rows are read has a higher number, and is found the next time.
    pub(crate) fn since(&self, seen: u64) -> (u64, Vec<SessionId>) {
        let order = locked(&self.order);
        let newer = order.sessions.range(seen.saturating_add(1)..);
        let mut ids: Vec<SessionId> = newer.map(|(_, id)| id.clone()).collect();
        let newest = order.newest;
        drop(order);
        ids.sort_unstable();
        (newest, ids)
    }

    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn id(n: usize) -> SessionId {
        SessionId::parse(&format!("s{n}")).unwrap()
    }

    #[test]
    fn a_session_stands_at_its_newest_change() {
        let list = List::default();
        assert_eq!(list.since(0), (0, vec![]));
        let first = list.changed(&id(2), None);
        let other = list.changed(&id(1), None);
        assert_eq!(list.since(0), (2, vec![id(1), id(2)]));
        assert_eq!(list.since(first), (2, vec![id(1)]));
        list.changed(&id(2), Some(first));
        assert_eq!(list.since(other), (3, vec![id(2)]));
        assert_eq!(list.since(0), (3, vec![id(1), id(2)]));
        assert_eq!(list.since(3), (3, vec![]));
        // So with one that begins with some.
        let list = List::of([id(1), id(2)]);
        assert_eq!(list.since(1), (2, vec![id(2)]));
        assert_eq!(list.changed(&id(1), Some(1)), 3);
        assert_eq!(list.since(0), (3, vec![id(1), id(2)]));
    }

    #[test]
    fn who_reads_while_rows_change_misses_none() {
        const N_ROWS: usize = 8;
        const N_WRITERS: usize = 4;
        let list = List::default();
        // As rows are kept: their number, and what they say.
        let rows: Vec<Mutex<(u64, usize)>> = (0..N_ROWS)
            .map(|n| Mutex::new((list.changed(&id(n), None), 0)))
            .collect();
        let n_writing = AtomicUsize::new(N_WRITERS);
        let write = |writer: usize| {
            for round in 0..5000 {
                let at = (round * 7 + writer) % N_ROWS;
                let mut row = locked(&rows[at]);
                row.0 = list.changed(&id(at), Some(row.0));
                row.1 += 1;
            }
            n_writing.fetch_sub(1, Ordering::SeqCst);
        };
        let read = || {
            let (mut seen, mut known) = (0, [0; N_ROWS]);
            loop {
                let is_last = n_writing.load(Ordering::SeqCst) == 0;
                let (newest, ids) = list.since(seen);
                for (at, row) in rows.iter().enumerate() {
                    if ids.contains(&id(at)) {
                        known[at] = locked(row).1;
                    }
                }
                seen = newest;
                if is_last {
                    return known;
                }
            }
        };
        let known = std::thread::scope(|scope| {
            for writer in 0..N_WRITERS {
                scope.spawn(move || write(writer));
            }
            read()
        });
        let now: Vec<usize> = rows.iter().map(|row| locked(row).1).collect();
        assert_eq!(known.to_vec(), now);
    }
}
