//! Stores that others run (`chat-tiers`), by their addresses: to copy to, and to remove from.

use chat_tiers::{Cold, Hot, Warm};

/// Where they are.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct StoreUrls {
    /// The newest events of each session lie in this Redis for a day: redis://HOST[:PORT][/DB], rediss:// for TLS, or
    /// unix:///PATH.
    #[arg(
        long,
        value_name = "URL",
        env = "TURNREEL_REDIS",
        hide_env_values = true
    )]
    pub(crate) redis: Option<String>,

    /// Tool calls, file changes and errors of all sessions lie in this PostgreSQL for 30 days, for questions over many
    /// sessions: postgresql://USER:PASSWORD@HOST[:PORT]/DB[?sslmode=require].
    #[arg(
        long,
        value_name = "URL",
        env = "TURNREEL_POSTGRES",
        hide_env_values = true
    )]
    pub(crate) postgres: Option<String>,

    /// Whole sessions lie in this object store once they end, and are read from there when they are not here:
    /// s3://BUCKET[/PREFIX][?region=REGION&endpoint=https://HOST]. Credentials are taken from AWS_ACCESS_KEY_ID and
    /// AWS_SECRET_ACCESS_KEY, or as the machine has them.
    #[arg(long, value_name = "URL", env = "TURNREEL_S3", hide_env_values = true)]
    pub(crate) s3: Option<String>,
}

impl StoreUrls {
    /// The Redis, where one is named; `id` is who this is there. Like the others it is not connected to yet.
    ///
    /// # Errors
    ///
    /// Where the address is none, with the option that has it.
    pub(crate) fn hot(&self, id: &str) -> Result<Option<Hot>, String> {
        let hot = self.redis.as_deref().map(|url| Hot::new(url, id));
        hot.transpose().map_err(|why| format!("--redis: {why}"))
    }

    /// The database, where one is named.
    ///
    /// # Errors
    ///
    /// As [`StoreUrls::hot`].
    pub(crate) fn warm(&self) -> Result<Option<Warm>, String> {
        let warm = self.postgres.as_deref().map(Warm::new);
        warm.transpose().map_err(|why| format!("--postgres: {why}"))
    }

    /// The object store, where one is named.
    ///
    /// # Errors
    ///
    /// As [`StoreUrls::hot`].
    pub(crate) fn cold(&self) -> Result<Option<Cold>, String> {
        let cold = self.s3.as_deref().map(Cold::new);
        cold.transpose().map_err(|why| format!("--s3: {why}"))
    }
}
