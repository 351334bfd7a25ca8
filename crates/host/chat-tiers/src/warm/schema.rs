//! The tables, made and changed in steps. The version of what is there stands beside them, so that servers of several versions
//! find what they know.

use tokio_postgres::Client;

use super::link::refused;
use crate::error::Error;

/// Each step as it was when it was new; a change is another step.
const STEPS: [&str; 1] = [include_str!("sql/schema_1.sql")];

/// Servers that start at once wait here for each other. The number is ours alone: `turnreel` in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(x'7475726e7265656c'::bigint)";

const BEGINNING: &str = "CREATE SCHEMA IF NOT EXISTS turnreel; \
    CREATE TABLE IF NOT EXISTS turnreel.turnreel_schema (version integer PRIMARY KEY)";

/// Makes what is missing.
///
/// # Errors
///
/// Where the database has a newer schema, or another encoding than UTF-8, and where it refuses.
pub(super) async fn make(client: &mut Client) -> Result<(), Error> {
    let asking = client.query_one("SHOW server_encoding", &[]).await;
    let row = asking.map_err(refused("ask for the encoding"))?;
    let encoding: String = row.try_get(0).map_err(refused("ask for the encoding"))?;
    if encoding != "UTF8" {
        let why = format!("its encoding is {encoding}, and has to be UTF8");
        return Err(Error::store("use the database", why));
    }
    while version(client).await? < STEPS.len() {
        step(client).await?;
    }
    Ok(())
}

/// How many of the steps are done; 0 where there is nothing.
///
/// # Errors
///
/// Where there are more than we know.
pub(super) async fn version(client: &Client) -> Result<usize, Error> {
    let asking = "ask for the schema's version";
    let there = "SELECT to_regclass('turnreel.turnreel_schema') IS NOT NULL";
    let row = client.query_one(there, &[]).await;
    let row = row.map_err(refused(asking))?;
    if !row.try_get::<_, bool>(0).map_err(refused(asking))? {
        return Ok(0);
    }
    let newest = "SELECT coalesce(max(version), 0) FROM turnreel.turnreel_schema";
    let row = client.query_one(newest, &[]).await;
    let row = row.map_err(refused(asking))?;
    let version: i32 = row.try_get(0).map_err(refused(asking))?;
    match usize::try_from(version) {
        Ok(version) if version <= STEPS.len() => Ok(version),
        Ok(_) | Err(_) => {
            let known = STEPS.len();
            let why = format!(
                "its schema turnreel has version {version}, and this program knows version {known}"
            );
            Err(Error::store("use the database", why))
        }
    }
}

/// Takes the next step, unless another server took it meanwhile.
async fn step(client: &mut Client) -> Result<(), Error> {
    let failed = || refused("make the tables");
    let transaction = client.transaction().await.map_err(failed())?;
    transaction.batch_execute(LOCK).await.map_err(failed())?;
    let beginning = transaction.batch_execute(BEGINNING).await;
    beginning.map_err(failed())?;
    let done = version(transaction.client()).await?;
    if let Some(next) = STEPS.get(done) {
        transaction.batch_execute(next).await.map_err(failed())?;
        let noting = format!(
            "INSERT INTO turnreel.turnreel_schema (version) VALUES ({})",
            done + 1
        );
        transaction.batch_execute(&noting).await.map_err(failed())?;
    }
    transaction.commit().await.map_err(failed())
}
