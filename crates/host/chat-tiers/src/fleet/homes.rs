//! Which server gives a session its numbers.

use chat_store::SessionId;
use redis::{RedisResult, Script};

use super::{Fleet, NAMED_S, SETTLE_S, keys};
use crate::error::Error;

/// Sessions that are named in one request.
const AT_ONCE: usize = 1000;

impl Fleet {
    /// Names the sessions that this server is the home of, where no other one is by now.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn name(&self, own: &[SessionId]) -> Result<(), Error> {
        self.of_many(&self.name, own).await
    }

    /// Takes back the names of sessions that are not there any more, where this server is their home.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn unname(&self, gone: &[SessionId]) -> Result<(), Error> {
        self.of_many(&self.unname, gone).await
    }

    async fn of_many(&self, script: &Script, sessions: &[SessionId]) -> Result<(), Error> {
        for ids in sessions.chunks(AT_ONCE) {
            let mut asking = script.prepare_invoke();
            asking.key(keys::HOMES).key(keys::NAMED).arg(&self.me.id);
            for id in ids {
                asking.arg(id.as_str());
            }
            let mut connection = self.link.connection().await?;
            let answer: RedisResult<()> = asking.invoke_async(&mut connection).await;
            self.link.answered(answer)?;
        }
        Ok(())
    }

    /// Forgets the homes of sessions that none named for 30 days, some at a time: begins with `cursor` 0, and says which the
    /// next call is given.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn forget_homes(&self, cursor: u64) -> Result<u64, Error> {
        let mut clean = self.clean.prepare_invoke();
        clean.key(keys::HOMES).key(keys::NAMED);
        clean.arg(NAMED_S).arg(AT_ONCE).arg(cursor);
        let mut connection = self.link.connection().await?;
        self.link
            .answered(clean.invoke_async(&mut connection).await)
    }

    /// The home of a session, which is this server where it had none; `None` where that cannot be told yet.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn claim(&self, session: &SessionId) -> Result<Option<String>, Error> {
        let mut claim = self.claim.prepare_invoke();
        claim.key(keys::FLEET).key(keys::HOMES).key(keys::NAMED);
        claim.arg(session.as_str()).arg(&self.me.id).arg(SETTLE_S);
        let mut connection = self.link.connection().await?;
        self.link
            .answered(claim.invoke_async(&mut connection).await)
    }

    /// Makes this server the home of a session whose home is away, and says which is its home now: another one may have
    /// been quicker, and the home may be there after all. `None` where that cannot be told yet.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn take(&self, session: &SessionId, from: &str) -> Result<Option<String>, Error> {
        let mut take = self.take.prepare_invoke();
        take.key(keys::FLEET).key(keys::HOMES);
        take.key(keys::server(from)).key(keys::NAMED);
        take.arg(session.as_str()).arg(from);
        take.arg(&self.me.id).arg(SETTLE_S);
        let mut connection = self.link.connection().await?;
        self.link.answered(take.invoke_async(&mut connection).await)
    }

    /// The home of a session, where it has one.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn home(&self, session: &SessionId) -> Result<Option<String>, Error> {
        let mut asking = redis::cmd("HGET");
        asking.arg(keys::HOMES).arg(session.as_str());
        let mut connection = self.link.connection().await?;
        self.link
            .answered(asking.query_async(&mut connection).await)
    }
}
