//! How the sessions stand that the store may not have all of: which of them are to be copied.

use std::collections::BTreeSet;

use chat_store::{SessionId, Summary};

use crate::cold::Cold;
use crate::logs::Logs;

/// What has not ended is copied once it was quiet for so long.
pub(super) const QUIET_MS: i64 = 24 * 60 * 60 * 1000;

/// How a session stands that the store may not have all of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// It is not here, or is not to be copied from here.
    Gone,
    /// The store has all of it.
    Copied,
    /// More may come.
    Going,
    Over,
}

/// Looks at each of them. Who has a log may be waited for.
pub(super) fn look(
    open: BTreeSet<SessionId>,
    logs: &dyn Logs,
    cold: &Cold,
    now_ms: i64,
) -> Vec<(SessionId, Open)> {
    let looked = open.into_iter().map(|id| {
        let Some(session) = logs.session(&id) else {
            return (id, Open::Gone);
        };
        let (epoch, head) = session.position();
        let open = if cold.covers(&id, &epoch, head) {
            Open::Copied
        } else if is_over(&session.summary(), now_ms) {
            Open::Over
        } else {
            Open::Going
        };
        (id, open)
    });
    looked.collect()
}

/// Whether nothing more is expected of it.
pub(super) fn is_over(summary: &Summary, now_ms: i64) -> bool {
    let last_ms = summary.last_activity_ms.unwrap_or_default();
    let is_quiet = now_ms.saturating_sub(last_ms) >= QUIET_MS;
    // Samples came with the program, and each server has its own.
    summary.head > 0 && !summary.sample && (summary.status == "ended" || is_quiet)
}
