//! Events that wait in the spool because their pipe is gone: one that ended while no server was there, or was killed.
//!
//! A file that a running `pipe` holds is its own to send. Sending twice does no harm: events are known by their ids. A
//! session whose pipe was killed has ended, unless another pipe tells of it. Where another source tells of a session now, the
//! file waits, and so do later ones of its session; the others go on: a pipe that its user stopped (Ctrl-Z) may hold a
//! session's notes for ever.

mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use chat_capture::{Batch, Leftover, Next, Refused};
use chat_event::ChatEvent;
use chat_store::{PageRequest, SessionId};
use tokio::runtime::Handle;

use crate::error::ApiError;
use crate::ingest::{self, Rejected};
use crate::masking;
use crate::serve::spool_dir;
use crate::state::State;
use waiting::{Behind, PutOff};

/// Events of one page of a log, and the bytes of their lines.
const PAGE_EVENTS: usize = 1000;

const PAGE_BYTES: usize = 1024 * 1024;

/// How often it is looked whether a pipe was killed.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A session of which another source tells is looked at again after so long, and after [`LOOK_EVERY`] once that took long:
/// a pipe has its turn for as long as a batch takes, unless it was stopped.
const SOON: Duration = Duration::from_millis(250);

const HELD_LONG: Duration = Duration::from_secs(10);

/// Files that wait half read. Of more, each is read from its beginning when its turn has come.
const MOST_WAITING: usize = 64;

/// What could not be taken in is tried again after so long, and after twice that each time it cannot be, up to [`TRY_LAST`]:
/// the disk may only be full, or too many files open.
const TRY_AGAIN: Duration = Duration::from_secs(60);

const TRY_LAST: Duration = Duration::from_secs(60 * 60);

/// A file that waits until another source has told of a session.
struct Waiting {
    leftover: Leftover,
    /// What is refused of it: kept with its end, for until then all of it may be read again.
    refused: Refused,
    notes: PathBuf,
    since: Instant,
    n_events: usize,
}

/// Takes in what lies in the data folder's spool, and what pipes leave there later.
pub(crate) async fn take_in(state: State, data: PathBuf) {
    let dir = spool_dir(&data);
    let mut files = Files::default();
    loop {
        let pause = files.look(&state, &dir).await;
        tokio::time::sleep(pause).await;
    }
}

/// What is known of the files that stay.
#[derive(Default)]
struct Files {
    put_off: PutOff,
    /// Those of which it was said that they could not be taken in.
    failed: BTreeSet<PathBuf>,
    waiting: BTreeMap<PathBuf, Waiting>,
    /// The notes that were named as held.
    named: BTreeSet<PathBuf>,
}

impl Files {
    /// Takes in what can be taken in now; after how long to look again.
    async fn look(&mut self, state: &State, dir: &Path) -> Duration {
        let looking = dir.to_owned();
        let listing = tokio::task::spawn_blocking(move || chat_capture::leftovers(&looking)).await;
        let listing = listing.unwrap_or_default();
        // One that is not there any more has nothing to wait for.
        let there: BTreeSet<&PathBuf> = listing.iter().collect();
        self.waiting.retain(|path, _| there.contains(path));
        self.put_off.0.retain(|path, _| there.contains(path));
        let mut behind = Behind::default();
        for path in listing {
            if self.put_off.waits(&path, Instant::now()) || behind.waits(&path) {
                continue;
            }
            match take_in_one(state, &path, self.waiting.remove(&path)).await {
                Ok(None) => {}
                Ok(Some(held)) => {
                    behind.stays(&path, &held.notes);
                    let is_long = held.since.elapsed() >= HELD_LONG;
                    if is_long && self.named.insert(held.notes.clone()) {
                        tracing::warn!("{}", held_long(&path, &held.notes));
                    }
                    if self.waiting.len() < MOST_WAITING {
                        self.waiting.insert(path, held);
                    }
                }
                Err(why) => {
                    if self.failed.insert(path.clone()) {
                        tracing::warn!("could not take in {}: {why}", path.display());
                    }
                    // Beside other servers it may only wait for one of them.
                    if state.fleet.get().is_none() {
                        self.put_off.put_off(path, Instant::now());
                    }
                }
            }
        }
        let waiting = &self.waiting;
        self.named
            .retain(|notes| waiting.values().any(|held| held.notes == *notes));
        let is_soon = |held: &Waiting| held.since.elapsed() < HELD_LONG;
        match waiting.values().any(is_soon) {
            true => SOON,
            false => LOOK_EVERY,
        }
    }
}

fn held_long(path: &Path, notes: &Path) -> String {
    format!(
        "not taken in yet: another process holds the session's notes {}, as a `turnreel pipe` does that was stopped; \
         it is taken in as soon as that goes on or ends: {}",
        notes.display(),
        path.display()
    )
}

/// Takes in what can be taken in now; what is left of the file where that is not all.
async fn take_in_one(
    state: &State,
    path: &Path,
    waiting: Option<Waiting>,
) -> Result<Option<Waiting>, String> {
    let (mut leftover, mut refused, mut n_events, mut since) = match waiting {
        Some(waiting) => {
            let held = (waiting.notes, waiting.since);
            let (leftover, refused) = (waiting.leftover, waiting.refused);
            (leftover, refused, waiting.n_events, Some(held))
        }
        None => {
            let opening = path.to_owned();
            let opened = tokio::task::spawn_blocking(move || Leftover::open(&opening)).await;
            let opened = opened.map_err(|why| why.to_string())?;
            let Some(leftover) = opened.map_err(|why| why.to_string())? else {
                return Ok(None);
            };
            let refused = Refused::beside(path.parent().unwrap_or(path));
            (leftover.compared_by(masking::words), refused, 0, None)
        }
    };
    loop {
        let reading_state = state.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let runtime = Handle::current();
            let mut log = |session_id: &str, after: &str| {
                read_log(&reading_state, &runtime, session_id, after)
            };
            let new = leftover.next_new(&mut log);
            (leftover, new)
        });
        let (back, new) = reading.await.map_err(|why| why.to_string())?;
        leftover = back;
        // Our turn is over when it is stored.
        let (batch, _turn) = match new.map_err(|why| why.to_string())? {
            Next::Batch(batch, turn) => (batch, turn),
            Next::Held { notes } => {
                // It waits anew where something of it was taken in, or for another session.
                let before = since.filter(|(before, _)| *before == notes);
                let since = before.map_or_else(Instant::now, |(_, since)| since);
                return Ok(Some(Waiting {
                    leftover,
                    refused,
                    notes,
                    since,
                    n_events,
                }));
            }
            Next::End => break,
        };
        since = None;
        n_events += batch.lines.len();
        store(state, &mut refused, batch).await?;
    }
    tracing::info!(events = n_events, "took in {}", path.display());
    let keeping = tokio::task::spawn_blocking(move || refused.keep()).await;
    let kept = keeping.map_err(|why| why.to_string())?;
    for kept in kept.map_err(|why| why.to_string())? {
        tracing::warn!(
            "{} events of {} are left out, and kept in {}: {}",
            kept.n_lines,
            path.display(),
            kept.path.display(),
            kept.why
        );
    }
    if let Some(kept) = leftover.remove().map_err(|why| why.to_string())? {
        tracing::warn!("{kept}");
    }
    Ok(None)
}

/// What another source told of the same session meanwhile, or before. A log that is elsewhere is fetched first: without it
/// all would be new.
pub(crate) fn read_log(
    state: &State,
    runtime: &Handle,
    session_id: &str,
    after: &str,
) -> Result<(Vec<ChatEvent>, String), chat_capture::Error> {
    let mut after: u64 = after.parse().unwrap_or(0);
    let mut events = Vec::new();
    let Ok(id) = SessionId::parse(session_id) else {
        return Ok((events, after.to_string()));
    };
    let live =
        runtime
            .block_on(state.live_to_go_on(&id))
            .map_err(|why| chat_capture::Error::Later {
                why: why.message,
                after_ms: why.retry_after_ms,
                status: Some(why.status.as_u16()),
            })?;
    let Some(live) = live else {
        return Ok((events, after.to_string()));
    };
    loop {
        let request = PageRequest {
            after,
            limit: PAGE_EVENTS,
            max_bytes: PAGE_BYTES,
        };
        let page = live.session.page_whole(request);
        let page = page.map_err(|why| chat_capture::Error::Later {
            why: why.to_string(),
            after_ms: None,
            status: None,
        })?;
        let lines = page.lines.iter();
        events.extend(lines.filter_map(|line| ChatEvent::from_json(line).ok()));
        after = page.next;
        if page.next >= page.head {
            return Ok((events, after.to_string()));
        }
    }
}

/// Takes a batch in, in parts where it is too much for one.
async fn store(state: &State, refused: &mut Refused, batch: Batch) -> Result<(), String> {
    let mut waiting = vec![batch];
    while let Some(mut batch) = waiting.pop() {
        if batch.lines.is_empty() {
            continue;
        }
        let stored = match read(state, &batch) {
            // Its lines stand for more events than are taken at once.
            Err(why) if why.status == StatusCode::PAYLOAD_TOO_LARGE && batch.lines.len() > 1 => {
                let mut second = batch.clone();
                second.lines = batch.lines.split_off(batch.lines.len() / 2);
                waiting.extend([second, batch]);
                continue;
            }
            Err(why) => Err(why),
            Ok((id, items)) => ingest::ingest(state, id, items, false).await,
        };
        let (which, code) = match stored {
            Ok(answer) => (answer.refused(), "some are refused"),
            // Bad through and through: it would be bad each time. The message may quote what was sent; the code does not.
            Err(why) if why.is_for_good() => (refused_by(&why, batch.lines.len()), why.code),
            Err(why) => return Err(why.message),
        };
        let lines = which.iter().filter_map(|at| batch.lines.get(*at));
        let lines: Vec<&str> = lines.map(String::as_str).collect();
        let lines = masking::masked_lines(state, &lines);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let held = refused.hold(&batch.session_id, code, &lines);
        held.map_err(|why| why.to_string())?;
    }
    Ok(())
}

/// Which lines of a batch are refused where nothing of it was stored: what says the same at another time is there already.
fn refused_by(why: &ApiError, n_lines: usize) -> Vec<usize> {
    let results = why.more.as_ref().and_then(|more| more.get("results"));
    let is_there = |at: &usize| results.is_some_and(|results| results[*at]["onlyTime"] == true);
    (0..n_lines).filter(|at| !is_there(at)).collect()
}

/// The session of a batch, and its items.
fn read(
    state: &State,
    batch: &Batch,
) -> Result<(SessionId, Vec<Result<ChatEvent, Rejected>>), ApiError> {
    let id = SessionId::parse(&batch.session_id)?;
    let items = ingest::read_batch(batch.body().as_bytes(), &id, state)?;
    Ok((id, items))
}

#[cfg(test)]
mod tests;
