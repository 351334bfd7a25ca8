//! Rows as the arrays of their columns, in the order in which the statements of `sql/` name them.

use tokio_postgres::types::ToSql;

use super::calls::{Call, Made, Outcome};
use super::rows::{Change, Closing, Failure};

/// One value a row.
pub(super) type Column<'r> = Box<dyn ToSql + Send + Sync + 'r>;

fn column<'r, R, V>(rows: &'r [R], of: impl Fn(&'r R) -> V) -> Column<'r>
where
    V: ToSql + Send + Sync + 'r,
{
    let values: Vec<V> = rows.iter().map(of).collect();
    Box::new(values)
}

pub(super) fn of_calls<'r>(calls: &'r [&'r Call]) -> Vec<Column<'r>> {
    fn made<'r, V>(call: &'r Call, of: impl Fn(&'r Made) -> V) -> Option<V> {
        call.made.as_ref().map(of)
    }
    fn outcome<'r, V>(call: &'r Call, of: impl Fn(&'r Outcome) -> V) -> Option<V> {
        call.outcome.as_ref().map(of)
    }
    vec![
        column(calls, |call| call.seq),
        column(calls, |call| &*call.tool_call_id),
        column(calls, |call| call.turn.as_deref()),
        column(calls, |call| call.at),
        column(calls, |call| call.stored_at),
        column(calls, |call| made(call, |it| &*it.event_id)),
        column(calls, |call| {
            made(call, |it| it.parent.as_deref()).flatten()
        }),
        column(calls, |call| made(call, |it| &*it.name)),
        column(calls, |call| made(call, |it| it.kind.as_deref()).flatten()),
        column(calls, |call| outcome(call, |it| it.seq)),
        column(calls, |call| outcome(call, |it| &*it.event_id)),
        column(calls, |call| outcome(call, |it| it.status)),
        column(calls, |call| outcome(call, |it| it.at)),
        column(calls, |call| outcome(call, |it| it.duration_ms).flatten()),
        column(calls, |call| outcome(call, |it| &*it.summary)),
        column(calls, |call| outcome(call, |it| it.exit_code).flatten()),
        column(calls, |call| {
            outcome(call, |it| it.error_code.as_deref()).flatten()
        }),
    ]
}

pub(super) fn of_closings<'r>(closings: &'r [&'r Closing]) -> Vec<Column<'r>> {
    vec![
        column(closings, |closing| closing.seq),
        column(closings, |closing| closing.turn.as_deref()),
        column(closings, |closing| closing.status),
    ]
}

pub(super) fn of_changes(changes: &[Change]) -> Vec<Column<'_>> {
    vec![
        column(changes, |change| change.seq),
        column(changes, |change| &*change.event_id),
        column(changes, |change| change.tool_call_id.as_deref()),
        column(changes, |change| &*change.path),
        column(changes, |change| change.old_path.as_deref()),
        column(changes, |change| &*change.change),
        column(changes, |change| change.added),
        column(changes, |change| change.removed),
        column(changes, |change| change.is_binary),
        column(changes, |change| change.diff_bytes),
        column(changes, |change| &*change.diff_preview),
        column(changes, |change| change.at),
        column(changes, |change| change.stored_at),
    ]
}

pub(super) fn of_errors(errors: &[Failure]) -> Vec<Column<'_>> {
    vec![
        column(errors, |error| error.seq),
        column(errors, |error| &*error.event_id),
        column(errors, |error| error.turn.as_deref()),
        column(errors, |error| &*error.code),
        column(errors, |error| &*error.message),
        column(errors, |error| error.retryable),
        column(errors, |error| error.attempt),
        column(errors, |error| error.at),
        column(errors, |error| error.stored_at),
    ]
}
