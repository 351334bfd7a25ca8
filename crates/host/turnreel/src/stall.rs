//! A connection whose other end takes nothing for too long is over.
//!
//! Readers that follow are many and may stop reading; what is written to them waits in the system's buffers and here, and
//! without an end it would wait as long as their computer is there.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::doors::Inside;

/// How often a pause is looked at: what is over is over within a quarter more.
const LOOKS: u32 = 4;

/// How much a connection has taken so far, for whoever must know whether it goes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace(Arc<AtomicU64>);

impl Pace {
    /// What `doing` comes to; `None` once the other end took nothing for `limit` while it waited, or up to a quarter longer.
    /// However long it takes, one that is only slow is waited for.
    pub(crate) async fn while_it_goes_on<F: Future>(
        &self,
        limit: Duration,
        doing: F,
    ) -> Option<F::Output> {
        tokio::pin!(doing);
        let (mut taken, mut looks) = (self.0.load(Ordering::Relaxed), 0);
        loop {
            tokio::select! {
                biased;
                done = &mut doing => return Some(done),
                () = sleep(limit / LOOKS) => {}
            }
            let now = self.0.load(Ordering::Relaxed);
            looks = if now == taken { looks + 1 } else { 0 };
            taken = now;
            if looks >= LOOKS {
                return None;
            }
        }
    }

    fn took(&self, n_bytes: usize) {
        self.0.fetch_add(n_bytes as u64, Ordering::Relaxed);
    }
}

/// A stream whose writes fail once none of them went on for `limit`. It keeps the place of its connection.
pub(crate) struct Guarded<S> {
    stream: S,
    limit: Duration,
    pace: Pace,
    /// Runs while a write waits.
    until: Option<Pin<Box<Sleep>>>,
    _inside: Option<Arc<Inside>>,
}

impl<S> Guarded<S> {
    pub(crate) fn new(stream: S, limit: Duration, inside: Option<Arc<Inside>>) -> Self {
        Guarded {
            stream,
            limit,
            pace: Pace::default(),
            until: None,
            _inside: inside,
        }
    }

    /// How it goes on.
    pub(crate) fn pace(&self) -> Pace {
        self.pace.clone()
    }

    fn hold_bytes(
        &mut self,
        went: Poll<Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<usize>> {
        if let Poll::Ready(Ok(n_bytes)) = went {
            self.pace.took(n_bytes);
        }
        self.hold(went, cx)
    }

    fn hold<T>(&mut self, went: Poll<Result<T>>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        if went.is_ready() {
            self.until = None;
            return went;
        }
        let limit = self.limit;
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(Error::new(
            ErrorKind::TimedOut,
            "the other end takes nothing",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let went = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.hold_bytes(went, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let went = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.hold_bytes(went, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let went = Pin::new(&mut self.stream).poll_flush(cx);
        self.hold(went, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let went = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.hold(went, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Far above the pauses of who is slow: a busy machine adds to those.
    const LIMIT: Duration = Duration::from_secs(2);

    #[tokio::test]
    async fn a_write_that_nobody_takes_ends_and_one_that_is_slow_does_not() {
        let (ours, mut theirs) = tokio::io::duplex(10);
        let mut guarded = Guarded::new(ours, LIMIT, None);
        let slow = tokio::spawn(async move {
            let mut taken = [0; 8];
            for _ in 0..5 {
                sleep(Duration::from_millis(100)).await;
                theirs.read_exact(&mut taken).await.unwrap();
            }
            theirs
        });
        guarded.write_all(&[0; 40]).await.unwrap();
        let _theirs = slow.await.unwrap();
        let refused = guarded.write_all(&[0; 40]).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn who_is_slow_is_waited_for_and_who_takes_nothing_is_not() {
        let (ours, mut theirs) = tokio::io::duplex(10);
        let mut guarded = Guarded::new(ours, Duration::from_secs(60), None);
        let pace = guarded.pace();
        let slow = tokio::spawn(async move {
            let mut taken = [0; 8];
            for _ in 0..5 {
                sleep(Duration::from_millis(100)).await;
                theirs.read_exact(&mut taken).await.unwrap();
            }
            theirs
        });
        let sent = pace.while_it_goes_on(LIMIT, guarded.write_all(&[0; 40]));
        assert!(sent.await.is_some());
        let _theirs = slow.await.unwrap();
        let sent = pace.while_it_goes_on(LIMIT, guarded.write_all(&[0; 40]));
        assert!(sent.await.is_none());
    }
}
