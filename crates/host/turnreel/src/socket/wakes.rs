//! What wakes a socket: changes of what its subscriptions follow.
//!
//! The socket's own task waits for all of them. A task for each would have to be woken first, only to wake the socket:
//! with ten thousand sockets on one session that is ten thousand tasks more to hold and to run for each batch.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;

/// Gives back what it waited for; `None` where that cannot change any more.
type Wait = Pin<Box<dyn Future<Output = Option<watch::Receiver<u64>>> + Send>>;

/// The waits of one socket, each under the number of its subscription: they are few.
#[derive(Default)]
pub(super) struct Wakes(Vec<(u64, Wait)>);

impl Wakes {
    /// Waits for the next change, from `pause` on; what the subscription waited for before counts no more.
    pub(super) fn wait(&mut self, sub: u64, mut changed: watch::Receiver<u64>, pause: Duration) {
        self.forget(sub);
        let wait = Box::pin(async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            changed.changed().await.ok().map(|()| changed)
        });
        self.0.push((sub, wait));
    }

    pub(super) fn forget(&mut self, sub: u64) {
        self.0.retain(|(of, _)| *of != sub);
    }

    /// The next subscription that has something to send. It waits on for further changes.
    pub(super) async fn next(&mut self) -> u64 {
        let (sub, changed) = poll_fn(|cx| {
            for at in 0..self.0.len() {
                let Poll::Ready(changed) = self.0[at].1.as_mut().poll(cx) else {
                    continue;
                };
                let (sub, _) = self.0.remove(at);
                return Poll::Ready((sub, changed));
            }
            Poll::Pending
        })
        .await;
        if let Some(changed) = changed {
            self.wait(sub, changed, Duration::ZERO);
        }
        sub
    }
}
