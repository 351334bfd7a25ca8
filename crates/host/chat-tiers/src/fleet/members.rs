//! Who is there, and what all of them have to know.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use chat_store::random_base64url;

use super::news::TOKENS_TOLD;
use super::{Fleet, GONE_S, Member, keys};
use crate::error::Error;
use crate::hot;

/// A word is as long as a token: a shorter one is none that a server made.
const WORD_BYTES: usize = 43;

/// What a server hears when it says that it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Since when the fleet is: another time means that Redis has lost what it had.
    pub since: String,
    /// Whether another server has this one's name; both would give the same numbers.
    pub is_doubled: bool,
    /// The others, by their names.
    pub others: BTreeMap<String, Member>,
}

impl Fleet {
    /// Says that this server is there, and hears of the others.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn beat(&self) -> Result<Heard, Error> {
        let told = serde_json::to_string(&self.me).unwrap_or_default();
        let mut beat = self.beat.prepare_invoke();
        beat.key(keys::FLEET).key(keys::SERVERS);
        beat.key(keys::server(&self.me.id));
        beat.arg(&self.me.id).arg(told).arg(GONE_S);
        let mut connection = self.link.connection().await?;
        let answer = beat.invoke_async(&mut connection).await;
        let (since, before): (String, Option<String>) = self.link.answered(answer)?;
        Ok(Heard {
            since,
            is_doubled: self.is_doubled(before.as_deref()),
            others: self.others().await?,
        })
    }

    /// Whether what was told of this name before is of another process that goes on. What was there first is of the start
    /// before.
    fn is_doubled(&self, before: Option<&str>) -> bool {
        let before = before.and_then(|told| serde_json::from_str::<Member>(told).ok());
        let was_told = self.is_told.swap(true, Ordering::Relaxed);
        was_told && before.is_some_and(|member| member.run != self.me.run)
    }

    async fn others(&self) -> Result<BTreeMap<String, Member>, Error> {
        let mut connection = self.link.connection().await?;
        let mut asking = redis::cmd("SMEMBERS");
        asking.arg(keys::SERVERS);
        let answer = asking.query_async(&mut connection).await;
        let mut names: Vec<String> = self.link.answered(answer)?;
        names.retain(|name| *name != self.me.id);
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut asking = redis::cmd("MGET");
        for name in &names {
            asking.arg(keys::server(name));
        }
        let answer = asking.query_async(&mut connection).await;
        let told: Vec<Option<String>> = self.link.answered(answer)?;
        let members = told.into_iter().flatten();
        let members = members.filter_map(|told| serde_json::from_str::<Member>(&told).ok());
        Ok(members.map(|member| (member.id.clone(), member)).collect())
    }

    /// The word by which the servers know each other.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses, and where the system has no random bytes.
    pub async fn word(&self) -> Result<String, Error> {
        let mut asking = redis::pipe();
        let random = random_base64url::<32>()?;
        asking.set_nx(keys::WORD, random).ignore();
        asking.get(keys::WORD);
        let mut connection = self.link.connection().await?;
        let answer = asking.query_async(&mut connection).await;
        let (word,): (String,) = self.link.answered(answer)?;
        if word.len() < WORD_BYTES {
            let why = "it is too short to be one of a server";
            return Err(Error::store("take the word of the fleet", why));
        }
        Ok(word)
    }

    /// What is known of the servers' tokens: records as JSON, by the tokens' ids.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn tokens(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut asking = redis::cmd("HGETALL");
        asking.arg(keys::TOKENS);
        let mut connection = self.link.connection().await?;
        self.link
            .answered(asking.query_async(&mut connection).await)
    }

    /// Tells the others of tokens, as they are given by [`Fleet::tokens`].
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn tell_tokens(&self, records: &[(String, String)]) -> Result<(), Error> {
        let mut telling = redis::cmd("HSET");
        telling.arg(keys::TOKENS).arg(records);
        let mut connection = self.link.connection().await?;
        self.link
            .answered(telling.exec_async(&mut connection).await)?;
        // They look at once, and not with their next beat.
        let mut telling = redis::cmd("XADD");
        telling.arg(hot::NEWS).arg(&["MAXLEN", "~"]);
        telling.arg(hot::KEPT_NEWS);
        telling.arg(&["*", TOKENS_TOLD, "1", "w", &self.me.id]);
        self.link
            .answered(telling.exec_async(&mut connection).await)
    }

    /// Forgets tokens by their ids: those that all servers have forgotten.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn forget_tokens(&self, ids: &[String]) -> Result<(), Error> {
        let mut forgetting = redis::cmd("HDEL");
        forgetting.arg(keys::TOKENS).arg(ids);
        let mut connection = self.link.connection().await?;
        self.link
            .answered(forgetting.exec_async(&mut connection).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_before_is_no_double_and_another_process_is() {
        let fleet = Fleet::new("redis://127.0.0.1/", "me", "http://here").unwrap();
        let run = |run: &str| {
            let member = Member {
                run: run.to_owned(),
                ..fleet.me().clone()
            };
            serde_json::to_string(&member).unwrap()
        };
        let own = run(&fleet.me().run);
        assert!(!fleet.is_doubled(Some(&run("before"))));
        assert!(!fleet.is_doubled(Some(&own)));
        assert!(!fleet.is_doubled(None));
        assert!(fleet.is_doubled(Some(&run("before"))));
        assert!(!fleet.is_doubled(Some(&own)));
    }
}
