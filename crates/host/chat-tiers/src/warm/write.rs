//! One batch, in one transaction with its mark.

use std::time::SystemTime;

use chat_store::Summary;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement, Transaction};

use super::CLEANED_AT_ONCE;
use super::columns::{self, Column};
use super::link::{Link, refused};
use super::rows::{Closing, Rows};
use super::values::{count, some_text, text, time};
use crate::copier::Batch;
use crate::error::Error;

/// Titles, paths, names of models: one line each.
const FACT_CHARS: usize = 1000;

/// Epochs are 22 characters; those of others may be longer, but not without end.
pub(super) const EPOCH_CHARS: usize = 100;

/// The statements of a connection.
#[derive(Debug)]
pub(super) struct Writer {
    link: Link,
    mark: Statement,
    begin: Statement,
    forget: Statement,
    reset: Statement,
    removing: Statement,
    remove: Statement,
    retract: Statement,
    calls: Statement,
    close: Statement,
    close_all: Statement,
    changes: Statement,
    errors: Statement,
    session: Statement,
    look: Statement,
    seen: Statement,
    clean: Statement,
}

impl Writer {
    pub(super) async fn new(link: Link) -> Result<Writer, Error> {
        let client = &link.client;
        // What is lost with a server that crashes is lost with its mark, and copied again.
        let setting = client.batch_execute("SET synchronous_commit = off").await;
        setting.map_err(refused("set up a connection"))?;
        Ok(Writer {
            mark: prepare(client, include_str!("sql/mark.sql")).await?,
            begin: prepare(client, include_str!("sql/begin.sql")).await?,
            forget: prepare(client, include_str!("sql/forget.sql")).await?,
            reset: prepare(client, include_str!("sql/reset.sql")).await?,
            removing: prepare(client, include_str!("sql/removing.sql")).await?,
            remove: prepare(client, include_str!("sql/remove.sql")).await?,
            retract: prepare(client, include_str!("sql/retract.sql")).await?,
            calls: prepare(client, include_str!("sql/calls.sql")).await?,
            close: prepare(client, include_str!("sql/close.sql")).await?,
            close_all: prepare(client, include_str!("sql/close_all.sql")).await?,
            changes: prepare(client, include_str!("sql/changes.sql")).await?,
            errors: prepare(client, include_str!("sql/errors.sql")).await?,
            session: prepare(client, include_str!("sql/session.sql")).await?,
            look: prepare(client, include_str!("sql/look.sql")).await?,
            seen: prepare(client, include_str!("sql/seen.sql")).await?,
            clean: prepare(client, include_str!("sql/clean.sql")).await?,
            link,
        })
    }

    /// How far a session is there under an epoch.
    pub(super) async fn mark(&self, session: &str, epoch: &str) -> Result<u64, Error> {
        let failed = || refused("ask how far a session is there");
        let epoch = text(epoch, EPOCH_CHARS);
        let client = &self.link.client;
        let row = client.query_opt(&self.mark, &[&session, &epoch]).await;
        let Some(row) = row.map_err(failed())? else {
            return Ok(0);
        };
        let seq: i64 = row.try_get(0).map_err(failed())?;
        Ok(u64::try_from(seq).unwrap_or(0))
    }

    /// Takes the batch and its rows, and says how far the session is there now.
    pub(super) async fn take(&mut self, batch: &Batch, rows: &Rows) -> Result<u64, Error> {
        let failed = || refused("write rows");
        let transaction = self.link.client.transaction().await.map_err(failed())?;
        let session = batch.session.as_str();
        let epoch = text(&batch.epoch, EPOCH_CHARS);
        let begun = transaction
            .query_one(&self.begin, &[&session, &epoch])
            .await;
        let row = begun.map_err(failed())?;
        let known: String = row.try_get(0).map_err(failed())?;
        let seq: i64 = row.try_get(1).map_err(failed())?;
        let has = match known == epoch {
            true => u64::try_from(seq).unwrap_or(0),
            false => 0,
        };
        if has != batch.after {
            return Ok(has);
        }
        if batch.after == 0 {
            // It goes on under another epoch, or its mark was lost: it is copied anew.
            if forget(&transaction, &self.forget, session).await? {
                // There may be more, and all at once could take longer than is waited for, each time.
                let resetting = transaction.execute(&self.reset, &[&session, &epoch]).await;
                resetting.map_err(failed())?;
                transaction.commit().await.map_err(failed())?;
                return Ok(0);
            }
        }
        let writing = Writing {
            transaction: &transaction,
            session,
            epoch: &epoch,
        };
        if !rows.retracted.is_empty() {
            let event_ids: Vec<&str> = rows.retracted.iter().map(String::as_str).collect();
            writing.run(&self.retract, &[&event_ids]).await?;
        }
        for calls in rows.waves() {
            writing
                .run_columns(&self.calls, &columns::of_calls(&calls))
                .await?;
        }
        if !rows.closings.is_empty() {
            writing.close(&self.close, &self.close_all, rows).await?;
        }
        if !rows.changes.is_empty() {
            let columns = columns::of_changes(&rows.changes);
            writing.run_columns(&self.changes, &columns).await?;
        }
        if !rows.errors.is_empty() {
            let columns = columns::of_errors(&rows.errors);
            writing.run_columns(&self.errors, &columns).await?;
        }
        writing
            .move_mark(&self.session, batch.upto, &batch.summary)
            .await?;
        transaction.commit().await.map_err(failed())?;
        Ok(batch.upto)
    }

    /// Under which epoch a session is there, where it is.
    pub(super) async fn epoch_of(&self, session: &str) -> Result<Option<String>, Error> {
        let failed = || refused("ask for a session");
        let asking = include_str!("sql/epoch.sql");
        let row = self.link.client.query_opt(asking, &[&session]).await;
        let row = row.map_err(failed())?;
        row.map(|row| row.try_get(0)).transpose().map_err(failed())
    }

    /// Removes some thousand rows of a session, where it is there under that epoch; whether there is nothing of it any more.
    pub(super) async fn remove(&mut self, session: &str, epoch: &str) -> Result<bool, Error> {
        let failed = || refused("remove a session");
        let epoch = text(epoch, EPOCH_CHARS);
        let transaction = self.link.client.transaction().await.map_err(failed())?;
        let removing = transaction
            .execute(&self.removing, &[&session, &epoch])
            .await;
        if removing.map_err(failed())? == 0 {
            return Ok(true);
        }
        let has_more = forget(&transaction, &self.forget, session).await?;
        if !has_more {
            let removing = transaction.execute(&self.remove, &[&session]).await;
            removing.map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())?;
        Ok(!has_more)
    }

    /// Says that the copier is there.
    pub(super) async fn seen(&self, name: &str) -> Result<(), Error> {
        let saying = self.link.client.execute(&self.seen, &[&name]).await;
        saying.map_err(refused("write to the database"))?;
        Ok(())
    }

    /// Whether what the copier said of itself is still there.
    pub(super) async fn is_known(&self, name: &str) -> Result<bool, Error> {
        let failed = || refused("ask the database");
        let row = self.link.client.query_one(&self.look, &[&name]).await;
        row.map_err(failed())?.try_get(0).map_err(failed())
    }

    /// Puts away what was stored before, at most so many rows of each table, and says how many of the one with most.
    pub(super) async fn clean(&self, before: SystemTime, most: i64) -> Result<i64, Error> {
        let failed = || refused("put away old rows");
        let client = &self.link.client;
        let row = client.query_one(&self.clean, &[&before, &most]).await;
        row.map_err(failed())?.try_get(0).map_err(failed())
    }
}

/// Rows of the session go, some thousands at once; whether there may be more.
async fn forget(
    transaction: &Transaction<'_>,
    statement: &Statement,
    session: &str,
) -> Result<bool, Error> {
    let failed = || refused("remove rows");
    let forgotten = transaction
        .query_one(statement, &[&session, &CLEANED_AT_ONCE])
        .await;
    let row = forgotten.map_err(failed())?;
    let n_rows: i64 = row.try_get(0).map_err(failed())?;
    Ok(n_rows >= CLEANED_AT_ONCE)
}

/// The rows of one session and epoch, on their way.
struct Writing<'t> {
    transaction: &'t Transaction<'t>,
    session: &'t str,
    epoch: &'t str,
}

impl Writing<'_> {
    /// A statement whose first parameters are the session and the epoch.
    async fn run(&self, statement: &Statement, more: &[&(dyn ToSql + Sync)]) -> Result<(), Error> {
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&self.session, &self.epoch];
        parameters.extend(more);
        let running = self.transaction.execute(statement, &parameters).await;
        running.map_err(refused("write rows"))?;
        Ok(())
    }

    async fn run_columns(&self, statement: &Statement, more: &[Column<'_>]) -> Result<(), Error> {
        let more: Vec<&(dyn ToSql + Sync)> = more.iter().map(|it| &**it as _).collect();
        self.run(statement, &more).await
    }

    /// Ends the calls that run no more.
    async fn close(
        &self,
        of_turn: &Statement,
        of_any: &Statement,
        rows: &Rows,
    ) -> Result<(), Error> {
        let (of_all, of_turns): (Vec<&Closing>, Vec<&Closing>) =
            rows.closings.iter().partition(|closing| closing.is_of_all);
        if !of_turns.is_empty() {
            // The planner knows nothing of rows that are new, and would compare each closing with each call.
            let setting = "SET LOCAL enable_nestloop = off";
            let setting = self.transaction.batch_execute(setting).await;
            setting.map_err(refused("write rows"))?;
            let columns = columns::of_closings(&of_turns);
            self.run_columns(of_turn, &columns).await?;
        }
        for closing in of_all {
            let more: [&(dyn ToSql + Sync); 2] = [&closing.seq, &closing.status];
            self.run(of_any, &more).await?;
        }
        Ok(())
    }

    async fn move_mark(&self, statement: &Statement, upto: u64, of: &Summary) -> Result<(), Error> {
        let fact = |it: &Option<String>| some_text(it.as_deref(), FACT_CHARS);
        let [turns, calls] = [of.turns, of.steps].map(|n| count(n as u64));
        let facts: [&(dyn ToSql + Sync); 19] = [
            &count(upto),
            &fact(&of.title),
            &fact(&of.agent),
            &fact(&of.provider),
            &fact(&of.model),
            &fact(&of.cwd),
            &fact(&of.git_branch),
            &fact(&of.sandbox_id),
            &text(&of.status, FACT_CHARS),
            &fact(&of.outcome),
            &fact(&of.failure),
            &count(of.events),
            &turns,
            &calls,
            &of.tokens.map(count),
            &of.cost_usd,
            &time(of.started_ms),
            &time(of.last_event_ms),
            &time(of.last_activity_ms),
        ];
        self.run(statement, &facts).await
    }
}

async fn prepare(client: &Client, sql: &str) -> Result<Statement, Error> {
    client.prepare(sql).await.map_err(refused("use the tables"))
}
