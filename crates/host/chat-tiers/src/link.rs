//! One connection to Redis that all who ask share: it is made when it is first needed, and again when it broke. Who asks while
//! Redis is away is told so at once, and waits behind nobody.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ParsingError, RedisError, RedisResult};

use crate::copier::PATIENCE;
use crate::error::Error;

/// A Redis that was just away is left alone for so long.
const AWAY: Duration = Duration::from_secs(1);

/// The Redis at `redis://[user:password@]host[:port][/database]`, `rediss://…` for TLS, or `unix:///path`. It is not connected
/// to yet.
///
/// # Errors
///
/// Where that is no such address.
pub(crate) fn client_at(url: &str) -> Result<Client, Error> {
    // What could not be read may be a part of a password.
    Client::open(url).map_err(|_| {
        let why = "expected redis://[user:password@]host[:port][/database], rediss://… for TLS, or unix:///path";
        Error::store("read the address", why)
    })
}

#[derive(Debug)]
pub(crate) struct Link {
    client: Client,
    known: Mutex<Known>,
    /// Held by the one who connects.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    connection: Option<MultiplexedConnection>,
    failed: Option<Instant>,
}

impl Link {
    pub(crate) fn new(client: Client) -> Self {
        Link {
            client,
            known: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// # Errors
    ///
    /// Where Redis is away, or was a moment ago.
    pub(crate) async fn connection(&self) -> Result<MultiplexedConnection, Error> {
        if let Some(connection) = self.known()? {
            return Ok(connection);
        }
        let _connecting = self.connecting.lock().await;
        if let Some(connection) = self.known()? {
            return Ok(connection);
        }
        match tokio::time::timeout(PATIENCE, connect(&self.client, PATIENCE)).await {
            Ok(Ok(connection)) => {
                self.locked().connection = Some(connection.clone());
                Ok(connection)
            }
            Ok(Err(why)) => {
                self.locked().failed = Some(Instant::now());
                Err(why)
            }
            Err(_) => {
                self.locked().failed = Some(Instant::now());
                Err(away("no answer"))
            }
        }
    }

    /// What was answered. Where that was no whole answer the next connection is another one: this may be in the middle of it, or
    /// lead to a server that cannot answer now. One answer that is whole and bad says nothing of the others.
    pub(crate) fn answered<T>(&self, answer: RedisResult<T>) -> Result<T, Error> {
        answer.map_err(|why| {
            let said = away(&why.to_string());
            if !is_of_one_answer(why) {
                let mut known = self.locked();
                known.connection = None;
                known.failed = Some(Instant::now());
            }
            said
        })
    }

    fn known(&self) -> Result<Option<MultiplexedConnection>, Error> {
        let known = self.locked();
        if known.connection.is_none() && known.failed.is_some_and(|at| at.elapsed() < AWAY) {
            return Err(away("it was away a moment ago"));
        }
        Ok(known.connection.clone())
    }

    fn locked(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it is what one key holds that is at fault: it is of another type, or no value of ours, or a script stumbled over it.
/// An answer that nobody can read ends the connection, so who asks next hears of that.
fn is_of_one_answer(why: RedisError) -> bool {
    let source = std::error::Error::source(&why);
    if source.is_some_and(|source| source.is::<ParsingError>()) {
        return true;
    }
    let refused = why.into_server_errors();
    let of_one = |code: &str| matches!(code, "ERR" | "WRONGTYPE");
    refused.is_some_and(|refused| refused.iter().all(|(_, why)| of_one(why.code())))
}

fn away(why: &str) -> Error {
    Error::store("ask Redis", why)
}

/// Connects; an answer may take so long.
pub(crate) async fn connect(
    client: &Client,
    patience: Duration,
) -> Result<MultiplexedConnection, Error> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(patience));
    let connecting = client.get_multiplexed_async_connection_with_config(&config);
    connecting
        .await
        .map_err(|why| Error::store("connect to Redis", why))
}

#[cfg(test)]
mod tests {
    use redis::{FromRedisValue, Value};

    use super::*;

    #[test]
    fn a_bad_answer_of_one_session_does_not_part_the_others_from_redis() {
        let link = Link::new(client_at("redis://127.0.0.1/").unwrap());
        let is_left_alone = |why: RedisError| {
            assert!(link.answered::<()>(Err(why)).is_err());
            link.known().is_err()
        };
        let no_number = u64::from_redis_value(Value::SimpleString("x".to_owned()));
        assert!(!is_left_alone(no_number.unwrap_err().into()));
        let refused = |code: &str| redis::make_extension_error(code.to_owned(), None);
        assert!(!is_left_alone(refused("WRONGTYPE")));
        // A server that is not ready, and one that does not answer.
        for why in [
            refused("LOADING"),
            std::io::Error::from(std::io::ErrorKind::TimedOut).into(),
        ] {
            *link.locked() = Known::default();
            assert!(is_left_alone(why));
        }
    }
}
