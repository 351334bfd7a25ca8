//! Which server gives a session its numbers.

use chat_store::SessionId;

use super::{Fleet, SETTLE_S, keys};
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
        for ids in own.chunks(AT_ONCE) {
            let mut naming = redis::pipe();
            for id in ids {
                naming
                    .hset_nx(keys::HOMES, id.as_str(), &self.me.id)
                    .ignore();
            }
            let mut connection = self.link.connection().await?;
            self.link
                .answered(naming.exec_async(&mut connection).await)?;
        }
        Ok(())
    }

    /// The home of a session, which is this server where it had none; `None` where that cannot be told yet.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn claim(&self, session: &SessionId) -> Result<Option<String>, Error> {
        let mut claim = self.claim.prepare_invoke();
        claim.key(keys::FLEET).key(keys::HOMES);
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
        take.key(keys::server(from));
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
