//! Several servers behind one Redis: who they are, and which of them gives a session its numbers.
//!
//! Each session has one *home*, the server that first had an event of it; the others keep copies of its log. Redis knows the
//! homes, and so does each copy of the one it is of. Should Redis lose them, the servers say again what they have, and nothing
//! new is given a home until all had the time to. While a home is away its sessions are read from the copies, and what is sent
//! to them waits with who sends it; until, after some time, the server that it is sent to takes the session over.
//!
//! Whoever reaches the Redis reads all events in it; so it may as well hold the word by which the servers know each other.

mod keys;

use std::collections::BTreeMap;
use std::time::Duration;

use chat_store::{SessionId, random_base64url};
use redis::aio::MultiplexedConnection;
use redis::streams::{StreamId, StreamReadReply};
use redis::{AsyncConnectionConfig, Client, FromRedisValue, Script};
use serde::{Deserialize, Serialize};

use crate::copier::{PATIENCE, patiently};
use crate::error::Error;
use crate::hot;

/// How often a server says that it is there.
pub const BEAT: Duration = Duration::from_secs(2);

/// Without a word for so long it is taken to be gone.
const GONE_S: u64 = 10;

/// A fleet whose homes were lost gives no new ones for so long: two beats, and some.
const SETTLE_S: u64 = 6;

/// How long who waits for news is left waiting, at most.
const NEWS_WAIT: Duration = Duration::from_secs(5);

/// News that are taken at once.
const NEWS_AT_ONCE: usize = 1000;

/// Sessions that are named in one request.
const AT_ONCE: usize = 1000;

/// A server, as the others know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, which its data folder keeps.
    pub id: String,
    /// Where the others reach it.
    pub url: String,
    /// Another one with each start.
    pub run: String,
}

/// Something new in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The session.
    pub session: SessionId,
    /// The server that tells it.
    pub writer: String,
    /// The epoch of its log there.
    pub epoch: String,
    /// Its last number there.
    pub head: u64,
}

/// The servers behind one Redis.
#[derive(Debug)]
pub struct Fleet {
    client: Client,
    me: Member,
    connection: Option<MultiplexedConnection>,
    /// Since when the fleet was that all sessions of this server were named to.
    named_to: Option<String>,
    beat: Script,
    claim: Script,
    take: Script,
}

impl Fleet {
    /// Those behind the Redis at `redis`, which this server, called `id`, joins as `url`.
    ///
    /// # Errors
    ///
    /// Where that is no such address, and where the system has no random bytes.
    pub fn new(redis: &str, id: &str, url: &str) -> Result<Self, Error> {
        Ok(Fleet {
            client: Client::open(redis).map_err(|why| Error::store("read the address", why))?,
            me: Member {
                id: id.to_owned(),
                url: url.to_owned(),
                run: random_base64url::<9>()?,
            },
            connection: None,
            named_to: None,
            beat: Script::new(include_str!("fleet/beat.lua")),
            claim: Script::new(include_str!("fleet/claim.lua")),
            take: Script::new(include_str!("fleet/take.lua")),
        })
    }

    /// The same servers, by a connection of its own.
    pub fn another(&self) -> Self {
        Fleet {
            client: self.client.clone(),
            me: self.me.clone(),
            connection: None,
            named_to: None,
            beat: self.beat.clone(),
            claim: self.claim.clone(),
            take: self.take.clone(),
        }
    }

    /// This server.
    pub fn me(&self) -> &Member {
        &self.me
    }

    /// Says that this server is there, and hears of the others by their names. `own` are the sessions that it is the home of;
    /// they are asked for where Redis may not know them.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn beat(
        &mut self,
        own: impl FnOnce() -> Vec<SessionId>,
    ) -> Result<BTreeMap<String, Member>, Error> {
        let told = serde_json::to_string(&self.me).unwrap_or_default();
        let script = self.beat.clone();
        let mut beat = script.prepare_invoke();
        beat.key(keys::FLEET).key(keys::SERVERS);
        beat.key(keys::server(&self.me.id));
        beat.arg(&self.me.id).arg(told).arg(GONE_S);
        let connection = self.connection().await?;
        let since: String = beat.invoke_async(connection).await.map_err(refused)?;
        if self.named_to.as_ref() != Some(&since) {
            self.name(own()).await?;
            self.named_to = Some(since);
        }
        self.others().await
    }

    /// Names the sessions that this server is the home of, where no other one is by now.
    async fn name(&mut self, own: Vec<SessionId>) -> Result<(), Error> {
        let me = self.me.id.clone();
        for ids in own.chunks(AT_ONCE) {
            let mut naming = redis::pipe();
            for id in ids {
                naming.hset_nx(keys::HOMES, id.as_str(), &me).ignore();
            }
            let connection = self.connection().await?;
            naming.exec_async(connection).await.map_err(refused)?;
        }
        Ok(())
    }

    async fn others(&mut self) -> Result<BTreeMap<String, Member>, Error> {
        let me = self.me.id.clone();
        let connection = self.connection().await?;
        let mut asking = redis::cmd("SMEMBERS");
        asking.arg(keys::SERVERS);
        let mut names: Vec<String> = asking.query_async(connection).await.map_err(refused)?;
        names.retain(|name| *name != me);
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut asking = redis::cmd("MGET");
        for name in &names {
            asking.arg(keys::server(name));
        }
        let told: Vec<Option<String>> = asking.query_async(connection).await.map_err(refused)?;
        let members = told.into_iter().flatten();
        let members = members.filter_map(|told| serde_json::from_str::<Member>(&told).ok());
        Ok(members.map(|member| (member.id.clone(), member)).collect())
    }

    /// The word by which the servers know each other.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses, and where the system has no random bytes.
    pub async fn word(&mut self) -> Result<String, Error> {
        let mut asking = redis::pipe();
        let random = random_base64url::<32>()?;
        asking.set_nx(keys::WORD, random).ignore();
        asking.get(keys::WORD);
        let connection = self.connection().await?;
        let (word,): (String,) = asking.query_async(connection).await.map_err(refused)?;
        Ok(word)
    }

    /// The home of a session, which is this server where it had none; `None` where that cannot be told yet.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn claim(&mut self, session: &SessionId) -> Result<Option<String>, Error> {
        let script = self.claim.clone();
        let mut claim = script.prepare_invoke();
        claim.key(keys::FLEET).key(keys::HOMES);
        claim.arg(session.as_str()).arg(&self.me.id).arg(SETTLE_S);
        let connection = self.connection().await?;
        claim.invoke_async(connection).await.map_err(refused)
    }

    /// Makes this server the home of a session whose home is away, and says which is its home now: another one may have
    /// been quicker.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn take(&mut self, session: &SessionId, from: &str) -> Result<String, Error> {
        let script = self.take.clone();
        let mut take = script.prepare_invoke();
        take.key(keys::HOMES);
        take.arg(session.as_str()).arg(from).arg(&self.me.id);
        let connection = self.connection().await?;
        take.invoke_async(connection).await.map_err(refused)
    }

    /// The home of a session, where it has one.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn home(&mut self, session: &SessionId) -> Result<Option<String>, Error> {
        let mut asking = redis::cmd("HGET");
        asking.arg(keys::HOMES).arg(session.as_str());
        let connection = self.connection().await?;
        asking.query_async(connection).await.map_err(refused)
    }

    /// What is known of the servers' tokens: records as JSON, by the tokens' ids.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn tokens(&mut self) -> Result<BTreeMap<String, String>, Error> {
        let mut asking = redis::cmd("HGETALL");
        asking.arg(keys::TOKENS);
        let connection = self.connection().await?;
        asking.query_async(connection).await.map_err(refused)
    }

    /// Tells the others of tokens, as they are given by [`Fleet::tokens`].
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn tell_tokens(&mut self, records: &[(String, String)]) -> Result<(), Error> {
        let mut telling = redis::cmd("HSET");
        telling.arg(keys::TOKENS).arg(records);
        let connection = self.connection().await?;
        telling.exec_async(connection).await.map_err(refused)
    }

    async fn connection(&mut self) -> Result<&mut MultiplexedConnection, Error> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => patiently("connect", hot::connect(&self.client)).await?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Connects anew when it is needed next: what failed may have left the connection in the middle of an answer.
    pub fn disconnect(&mut self) {
        self.connection = None;
    }
}

fn refused(why: redis::RedisError) -> Error {
    Error::store("ask Redis", why)
}

/// Follows what is new in all sessions of the fleet.
#[derive(Debug)]
pub struct Newsreel {
    connection: MultiplexedConnection,
    /// The last that was read.
    upto: String,
}

impl Fleet {
    /// Begins to follow the news, from now on.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn news(&self) -> Result<Newsreel, Error> {
        // It is waited for longer than for an answer.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(NEWS_WAIT + PATIENCE));
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await.map_err(refused)?;
        let mut asking = redis::cmd("XREVRANGE");
        asking.arg(hot::NEWS).arg(&["+", "-", "COUNT", "1"]);
        let last = asking.query_async(&mut connection).await;
        let last: redis::streams::StreamRangeReply = last.map_err(refused)?;
        let upto = last.ids.into_iter().next().map(|last| last.id);
        Ok(Newsreel {
            connection,
            upto: upto.unwrap_or_else(|| "0-0".to_owned()),
        })
    }
}

impl Newsreel {
    /// What is new since it was asked last; waits for it for some seconds, and may give nothing.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn next(&mut self) -> Result<Vec<News>, Error> {
        let mut asking = redis::cmd("XREAD");
        asking.arg("COUNT").arg(NEWS_AT_ONCE);
        asking.arg("BLOCK").arg(NEWS_WAIT.as_millis() as u64);
        asking.arg("STREAMS").arg(hot::NEWS).arg(&self.upto);
        let told = asking.query_async(&mut self.connection).await;
        let told: Option<StreamReadReply> = told.map_err(refused)?;
        let entries = told.into_iter().flat_map(|told| told.keys);
        let entries: Vec<StreamId> = entries.flat_map(|key| key.ids).collect();
        if let Some(last) = entries.last() {
            self.upto.clone_from(&last.id);
        }
        Ok(entries.iter().filter_map(news_of).collect())
    }
}

fn news_of(entry: &StreamId) -> Option<News> {
    fn field<T: FromRedisValue>(entry: &StreamId, name: &str) -> Option<T> {
        entry.get(name)
    }
    Some(News {
        session: SessionId::parse(&field::<String>(entry, "s")?).ok()?,
        writer: field(entry, "w")?,
        epoch: field(entry, "e")?,
        head: field(entry, "h")?,
    })
}
