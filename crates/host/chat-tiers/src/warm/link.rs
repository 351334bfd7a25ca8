//! Where the server is, and a connection to it.
//!
//! An address may hold a password: no message says anything of it, and nothing here is shown by `Debug`.

use std::fmt;
use std::str::FromStr;

use rustls::{ClientConfig, RootCertStore};
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::copier::PATIENCE;
use crate::error::Error;

/// What each connection is set to. Plans are made for the values that are asked for: those that were made while a table was
/// empty would stay when it is not.
const SETTINGS: &str = "SET plan_cache_mode = force_custom_plan; SET lock_timeout = '4s'; SET statement_timeout = '5s';";

/// The server at an address.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    tls: MakeRustlsConnect,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").finish_non_exhaustive()
    }
}

/// A connection, for as long as it is held.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    carrying: JoinHandle<()>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // Where the server is stopped, nothing else ends it.
        self.carrying.abort();
    }
}

impl Address {
    /// `postgresql://[user[:password]@]host[:port]/database[?sslmode=disable|prefer|require]`. With TLS, certificates are
    /// verified against the system's; `verify-ca` and `verify-full` are what `require` is.
    pub(super) fn parse(url: &str) -> Result<Address, Error> {
        let is_url = url.starts_with("postgresql://") || url.starts_with("postgres://");
        let url = url
            .replace("sslmode=verify-full", "sslmode=require")
            .replace("sslmode=verify-ca", "sslmode=require");
        // What could not be read may be a part of a password.
        let has_host =
            |config: &Config| !config.get_hosts().is_empty() || !config.get_hostaddrs().is_empty();
        let config = Config::from_str(&url).ok();
        let Some(mut config) = config.filter(|config| is_url && has_host(config)) else {
            let why = "expected postgresql://[user[:password]@]host[:port]/database, with % for what is no letter, and \
                       sslmode=disable, prefer or require";
            return Err(Error::store("read the address", why));
        };
        if config.get_application_name().is_none() {
            config.application_name("turnreel");
        }
        config.connect_timeout(PATIENCE);
        let tls = tls(config.get_ssl_mode()).map_err(|why| Error::store("set up TLS", why))?;
        Ok(Address { config, tls })
    }

    pub(super) async fn connect(&self) -> Result<Link, Error> {
        let connecting = self.config.connect(self.tls.clone());
        let connected = connecting.await.map_err(refused("connect to PostgreSQL"));
        let (client, connection) = connected.map_err(with_help)?;
        let link = Link {
            client,
            carrying: tokio::spawn(async move {
                // How it ended is told to who waits for an answer.
                let _ = connection.await;
            }),
        };
        let setting = link.client.batch_execute(SETTINGS).await;
        setting.map_err(refused("set up a connection"))?;
        Ok(link)
    }
}

/// The same roots as the system's other programs have; `SSL_CERT_FILE` names others.
fn tls(mode: SslMode) -> Result<MakeRustlsConnect, rustls::Error> {
    let mut roots = RootCertStore::empty();
    if mode != SslMode::Disable {
        // Those that cannot be read verify nothing, and the handshake says so.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = rustls::crypto::ring::default_provider();
    let config = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Most servers have a certificate that nobody vouches for, and are connected to without a look at it by others.
fn with_help(error: Error) -> Error {
    match error {
        Error::Store { what, why } if why.contains("peer certificate") => {
            let help = "SSL_CERT_FILE names other roots, and sslmode=disable does without TLS";
            Error::store(what, format!("{why} ({help})"))
        }
        other => other,
    }
}

/// What the server, or the way to it, said. Details of the server's are left out: they may hold what is in a row.
pub(super) fn refused(what: &'static str) -> impl Fn(tokio_postgres::Error) -> Error {
    move |why| {
        if let Some(said) = why.as_db_error() {
            let state = said.code().code();
            return Error::store(what, format!("{} ({state})", said.message()));
        }
        let mut text = why.to_string();
        let mut cause = std::error::Error::source(&why);
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        Error::store(what, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_shown_nowhere() {
        for good in [
            "postgresql://u:canary@db.example:5432/d?sslmode=require",
            "postgres://db.example/d?sslmode=verify-full",
            "postgres://u:can%40ary@%2Fvar%2Frun%2Fpostgresql/d",
        ] {
            let address = Address::parse(good).unwrap();
            assert_eq!(format!("{address:?}"), "Address { .. }");
        }
        for bad in [
            "http://canary@x/",
            "postgresql://",
            "postgresql:///canary",
            "host=x password=canary",
            "postgresql://u:can@ary@x:y/d",
            "postgresql://u@x/d?canary=1",
            "postgresql://u@x/d?sslmode=canary",
        ] {
            let why = Address::parse(bad).unwrap_err().to_string();
            assert!(!why.contains("canary") && !why.contains("ary@"), "{why}");
            assert!(why.contains("postgresql://"), "{why}");
        }
    }
}
