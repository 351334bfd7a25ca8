//! What a token may do: its scopes, the one session it may be for, and its end.
//!
//! Where tokens are kept is for `tokens`; which route asks for which scope is for `routes`.

use chat_store::SessionId;

/// One thing that a token may be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// To send events and bodies.
    Ingest,
    /// To read sessions, and to follow them.
    Read,
    /// To answer what an agent asks.
    Answer,
    /// To give and take back access, to remove sessions, and to read the server's own figures.
    Admin,
}

impl Scope {
    /// All of them.
    pub(crate) const ALL: [Scope; 4] = [Scope::Ingest, Scope::Read, Scope::Answer, Scope::Admin];

    /// Its word, in files and on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Scope::Ingest => "ingest",
            Scope::Read => "read",
            Scope::Answer => "answer",
            Scope::Admin => "admin",
        }
    }

    /// The scope of that word.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

/// What other servers are called among the ids of tokens, which begin with a `t`.
const FLEET: &str = "fleet";

/// What the token of one request may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Names the token without giving it away; empty for the start-up token.
    pub(crate) id: String,
    scopes: Vec<Scope>,
    session: Option<SessionId>,
    expires_ms: Option<i64>,
    /// Which of this server's own tokens it is, from 1; 0 for all others.
    nth_own: u64,
}

impl Grant {
    /// The start-up token's: everything. Another one may take its place.
    pub(crate) fn everything(nth_own: u64) -> Self {
        let all = Grant::new(String::new(), Scope::ALL.to_vec(), None, None);
        Grant { nth_own, ..all }
    }

    /// Which of this server's own tokens it is, where it is one.
    pub(crate) fn nth_own(&self) -> Option<u64> {
        Some(self.nth_own).filter(|nth| *nth > 0)
    }

    /// Another server's: everything, in its own name.
    pub(crate) fn of_fleet() -> Self {
        Grant::new(FLEET.to_owned(), Scope::ALL.to_vec(), None, None)
    }

    /// Whether it is another server's.
    pub(crate) fn is_fleet(&self) -> bool {
        self.id == FLEET
    }

    pub(crate) fn new(
        id: String,
        scopes: Vec<Scope>,
        session: Option<SessionId>,
        expires_ms: Option<i64>,
    ) -> Self {
        Grant {
            id,
            scopes,
            session,
            expires_ms,
            nth_own: 0,
        }
    }

    /// Whether it is the start-up token's.
    pub(crate) fn is_startup(&self) -> bool {
        self.id.is_empty()
    }

    pub(crate) fn allows(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// What it allows beyond reading, in words that a page can offer something by.
    pub(crate) fn may(&self) -> Vec<String> {
        let offered = [Scope::Answer, Scope::Admin].into_iter();
        let allowed = offered.filter(|scope| self.allows(*scope));
        allowed.map(|scope| scope.word().to_owned()).collect()
    }

    /// Whether the session is there for this token. Of all others it must not learn whether they exist.
    pub(crate) fn sees(&self, session: &str) -> bool {
        self.session
            .as_ref()
            .is_none_or(|only| only.as_str() == session)
    }

    /// The one session that is there for this token, where it is for one.
    pub(crate) fn only_session(&self) -> Option<&str> {
        self.session.as_ref().map(SessionId::as_str)
    }

    pub(crate) fn is_over(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|end_ms| end_ms <= now_ms)
    }
}
