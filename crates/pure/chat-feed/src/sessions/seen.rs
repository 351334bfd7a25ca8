//! Which sessions changed since they were looked at.

use serde::{Deserialize, Serialize};

use super::{Row, State};

/// Sessions that are remembered one by one.
const MOST: usize = 500;

/// When each was looked at. It is kept by the browser, so what is read of it may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// What did not change after this is read: it was there before anything was remembered.
    from_ms: i64,
    /// The others, that looked at last last.
    sessions: Vec<(String, i64)>,
}

impl Seen {
    /// Nothing was looked at; all that is there counts as read.
    pub fn from(now_ms: i64) -> Seen {
        Seen {
            from_ms: now_ms,
            sessions: Vec::new(),
        }
    }

    /// What was kept, where it is that.
    pub fn read(text: &str) -> Option<Seen> {
        let mut seen: Seen = serde_json::from_str(text).ok()?;
        let n_over = seen.sessions.len().saturating_sub(MOST);
        seen.sessions.drain(..n_over);
        Some(seen)
    }

    /// As it is kept.
    pub fn write(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Somebody looks at this session, or did until now; whether that is news.
    pub fn look(&mut self, id: &str, at_ms: i64) -> bool {
        let known = self.sessions.iter().position(|(one, _)| one == id);
        let before = known.map(|at| self.sessions.remove(at).1);
        self.sessions.push((id.to_owned(), at_ms));
        if self.sessions.len() > MOST {
            // Who is forgotten must not become unread by it.
            let (_, at_ms) = self.sessions.remove(0);
            self.from_ms = self.from_ms.max(at_ms);
        }
        before != Some(at_ms)
    }

    /// Takes in what was looked at elsewhere: of each session the later counts.
    ///
    /// ```
    /// use chat_feed::sessions::Seen;
    /// let (mut here, mut there) = (Seen::from(1), Seen::from(1));
    /// here.look("a", 7);
    /// there.look("b", 8);
    /// here.join(there.clone());
    /// there.join(here.clone());
    /// assert!(!here.look("b", 8) && !there.look("a", 7));
    /// ```
    pub fn join(&mut self, other: Seen) {
        self.from_ms = self.from_ms.max(other.from_ms);
        for (id, at_ms) in other.sessions {
            let known = self.sessions.iter_mut().find(|(one, _)| *one == id);
            match known {
                Some((_, known_ms)) => *known_ms = at_ms.max(*known_ms),
                None => self.sessions.push((id, at_ms)),
            }
        }
        // Those that go are the ones that were looked at the longest ago.
        self.sessions.sort_by_key(|(_, at_ms)| *at_ms);
        let n_over = self.sessions.len().saturating_sub(MOST);
        for (_, at_ms) in self.sessions.drain(..n_over) {
            self.from_ms = self.from_ms.max(at_ms);
        }
    }

    /// Whether it rests, or waits, and nobody has seen that yet.
    pub fn is_unread(&self, row: &Row, now_ms: i64) -> bool {
        let at_ms = row.changed_ms();
        match row.state(now_ms) {
            // Each of their events would be news.
            State::Running | State::Quiet => false,
            State::NeedsYou | State::Idle | State::Failed | State::Done | State::Cancelled => {
                !row.sample && at_ms > self.from_ms && {
                    let seen = self.sessions.iter().find(|(id, _)| *id == row.id);
                    seen.is_none_or(|(_, seen_ms)| at_ms > *seen_ms)
                }
            }
        }
    }
}
