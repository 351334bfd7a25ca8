//! Several servers behind one Redis: who they are, and which of them gives a session its numbers.
//!
//! Each session has one *home*, the server that first had an event of it; the others keep copies of its log. Redis knows the
//! homes, and so does each copy of the one it is of. Should Redis lose them, the servers say again what they have, and nothing
//! new is given a home until all had the time to. While a home is away its sessions are read from the copies, and what is sent
//! to them waits with who sends it; until, after some time, the server that it is sent to takes the session over.
//!
//! Whoever reaches the Redis reads all events in it; so it may as well hold the word by which the servers know each other.

mod homes;
mod keys;
mod members;
mod news;
mod removed;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chat_store::random_base64url;
use redis::Script;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::link::{Link, client_at};

pub use members::Heard;
pub use news::{News, Newsreel, Told};
pub use removed::RemovedSessions;

/// How often a server says that it is there.
pub const BEAT: Duration = Duration::from_secs(2);

/// Without a word for so long it is taken to be gone.
const GONE_S: u64 = 10;

/// A fleet whose homes were lost gives no new ones for so long: two beats, and some.
const SETTLE_S: u64 = 6;

/// A home that is named no more is forgotten after so long: each names its sessions once a minute, and one that comes back
/// later names them anew.
const NAMED_S: u64 = 30 * 24 * 60 * 60;

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

/// The servers behind one Redis. Whoever asks waits for Redis and for nobody else.
#[derive(Debug)]
pub struct Fleet {
    link: Link,
    me: Member,
    /// Whether this server has said that it is there.
    is_told: AtomicBool,
    beat: Script,
    claim: Script,
    take: Script,
    name: Script,
    unname: Script,
    clean: Script,
    remove: Script,
}

impl Fleet {
    /// Those behind the Redis at `redis`, which this server, called `id`, joins as `url`.
    ///
    /// # Errors
    ///
    /// Where that is no such address, and where the system has no random bytes.
    pub fn new(redis: &str, id: &str, url: &str) -> Result<Self, Error> {
        let client = client_at(redis)?;
        Ok(Fleet {
            link: Link::new(client),
            me: Member {
                id: id.to_owned(),
                url: url.to_owned(),
                run: random_base64url::<9>()?,
            },
            is_told: AtomicBool::default(),
            beat: Script::new(include_str!("fleet/beat.lua")),
            claim: Script::new(include_str!("fleet/claim.lua")),
            take: Script::new(include_str!("fleet/take.lua")),
            name: Script::new(include_str!("fleet/name.lua")),
            unname: Script::new(include_str!("fleet/unname.lua")),
            clean: Script::new(include_str!("fleet/clean.lua")),
            remove: Script::new(include_str!("fleet/remove.lua")),
        })
    }

    /// This server.
    pub fn me(&self) -> &Member {
        &self.me
    }
}
