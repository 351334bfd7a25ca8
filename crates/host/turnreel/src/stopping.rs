//! How a server stops: at the first signal in good order, at the second at once. What a disk that hangs keeps is waited for no
//! longer than it may take.

use std::time::Duration;

use tokio::sync::oneshot;

#[cfg(unix)]
use crate::signals;
use crate::state::State;

/// A second signal so soon is the first once more: a terminal has one for all that it runs, and some who start others pass theirs
/// on.
const AT_ONCE: Duration = Duration::from_millis(500);

/// What takes longer is said.
const SAID_AFTER: Duration = Duration::from_secs(2);

/// All logs that have something new are made durable and marked. One that is left out is whole all the same: what was
/// acknowledged stands in its file.
const MOST_CLOSING: Duration = Duration::from_secs(10);

/// Ready when the process is asked to stop. It listens from now on, not from when it is first waited for; who asks once more
/// ends the process, whatever it waits for.
///
/// # Errors
///
/// Where the system lets nobody listen.
pub(crate) fn asked() -> Result<impl Future<Output = ()> + Send, String> {
    let mut signals = Signals::new()?;
    let (ask, asked) = oneshot::channel();
    tokio::spawn(async move {
        signals.next().await;
        let _ = ask.send(());
        tokio::time::sleep(AT_ONCE).await;
        signals.forget();
        let code = signals.next().await;
        tracing::warn!("stopped at once: the logs are whole, and not marked as closed");
        std::process::exit(code);
    });
    Ok(async {
        // Who would ask has ended with the runtime.
        let _ = asked.await;
    })
}

/// Waits for a part of a stop, and for no longer than `most`; `None` where it took longer. `what` it waits for is said where that
/// takes long.
pub(crate) async fn wait_for<T>(
    part: impl Future<Output = T>,
    most: Duration,
    what: &(dyn Fn() -> String + Sync),
) -> Option<T> {
    tokio::pin!(part);
    if let Ok(done) = tokio::time::timeout(SAID_AFTER.min(most), &mut part).await {
        return Some(done);
    }
    tracing::warn!("stopping waits for {}", what());
    match tokio::time::timeout(most.saturating_sub(SAID_AFTER), part).await {
        Ok(done) => Some(done),
        Err(_) => {
            tracing::error!("stopped without {}", what());
            None
        }
    }
}

/// Does what waits for the disk, as a part of a stop.
pub(crate) async fn off_thread<T: Send + 'static>(
    part: impl FnOnce() -> T + Send + 'static,
    most: Duration,
    what: &(dyn Fn() -> String + Sync),
) -> Option<T> {
    let doing = tokio::task::spawn_blocking(part);
    let done = wait_for(doing, most, what).await?;
    done.inspect_err(|why| tracing::error!("{}: {why}", what()))
        .ok()
}

/// Makes the logs durable, and marks them as closed.
pub(crate) async fn close_logs(state: &State) {
    let left = || format!("{} logs that are not closed", state.store.n_to_close());
    let own = state.clone();
    off_thread(move || own.store.close(), MOST_CLOSING, &left).await;
}

/// The signals that end a server, each with the exit of one that it ends at once.
#[cfg(unix)]
struct Signals(Vec<(i32, tokio::signal::unix::Signal)>);

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Self, String> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut kinds = vec![SignalKind::terminate(), SignalKind::interrupt()];
        kinds.extend(signals::heeds_hangup().then(SignalKind::hangup));
        let listen = |kind: SignalKind| {
            let code = signals::exit_of(kind.as_raw_value());
            Ok((i32::from(code), signal(kind)?))
        };
        let listening: std::io::Result<Vec<_>> = kinds.into_iter().map(listen).collect();
        let failed = |why| format!("could not listen for signals: {why}");
        listening.map(Signals).map_err(failed)
    }

    /// The next one, whichever it is: its exit.
    async fn next(&mut self) -> i32 {
        std::future::poll_fn(|context| {
            let mut polled = self.0.iter_mut().map(|(code, signal)| {
                let is_ready = signal.poll_recv(context).is_ready();
                is_ready.then_some(*code)
            });
            match polled.find_map(|code| code) {
                Some(code) => std::task::Poll::Ready(code),
                None => std::task::Poll::Pending,
            }
        })
        .await
    }

    /// Forgets those that came since.
    fn forget(&mut self) {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for (_, signal) in &mut self.0 {
            let _ = signal.poll_recv(&mut context);
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Result<Self, String> {
        Ok(Signals)
    }

    /// The next one: its exit, as elsewhere.
    async fn next(&mut self) -> i32 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        130
    }

    /// They are heard only while they are waited for.
    fn forget(&mut self) {}
}
