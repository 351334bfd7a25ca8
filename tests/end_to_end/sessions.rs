//! What tests with a server share: a browser and a program to start servers from, sessions that come by the pipe, and
//! waiting until a page has all of one.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::browser::{Tab, Visit, in_browser};
use crate::server::{self, Pipe, Server};

/// The page waits longer after each failure, 30 s at most; all of it must fit.
pub(crate) const CATCH_UP_LIMIT: Duration = Duration::from_secs(75);
/// The session is followed, or over.
pub(crate) const LIVE: &str = "['live', 'ended'].includes(__test.feed()?.getAttribute('state'))";

/// Plays in a browser, with the program to start servers from.
pub(crate) fn with_server<F>(
    name: &'static str,
    limit_s: u64,
    play: impl FnOnce(Arc<Visit>, PathBuf) -> F,
) where
    F: Future<Output = ()>,
{
    let Some(program) = server::turnreel() else {
        return;
    };
    in_browser(name, Duration::from_secs(limit_s), |visit| {
        play(visit, program)
    });
}

/// Waits for a session in the list and opens it there.
pub(crate) async fn open_from_list(tab: &Tab, session: &str) {
    let row = format!("__test.visible('.session[data-session-id=\"{session}\"]')");
    tab.wait_for(
        "the session to appear in the list by itself",
        CATCH_UP_LIMIT,
        &format!("!!{row}"),
    )
    .await;
    tab.run(&format!("{row}.click()")).await;
}

/// Shows every row by itself.
pub(crate) const UNFOLD: &str = "__test.feed().setAttribute('fold', 'none'); __test.feed().setAttribute('group', 'none'); await __test.rest();";

/// Waits until a page has all events and has come to rest.
pub(crate) async fn settle(tab: &Tab, what: &str, n_events: usize) {
    let all = format!(
        "__test.feed()?.eventCount >= {n_events} && ['live', 'ended', 'ready'].includes(__test.feed().getAttribute('state'))"
    );
    tab.wait_for(
        &format!("{what}: all {n_events} events"),
        CATCH_UP_LIMIT,
        &all,
    )
    .await;
    let calm: bool = tab.eval("__test.rest()").await;
    assert!(calm, "{what}: the page comes to rest");
    let shown: usize = tab.eval("__test.feed().eventCount").await;
    assert_eq!(shown, n_events, "{what}: events shown");
}

/// Waits for something outside the page.
pub(crate) async fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < limit, "waited {limit:?} for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What was dropped on the page stayed there.
pub(crate) fn assert_nothing_uploaded(tab: &Tab) {
    let with_body: Vec<_> = tab
        .requests()
        .into_iter()
        .filter(|sent| sent.has_body || sent.method != "GET")
        .collect();
    assert!(
        with_body.is_empty(),
        "something left the page: {with_body:?}"
    );
}

/// Sends a log to the server by `turnreel pipe`.
pub(crate) async fn pipe_all(server: &Server, log: &str) {
    let mut pipe = Pipe::start(server, &[]);
    pipe.feed(log.as_bytes()).await;
    let end = pipe.finish().await;
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    assert!(end.stdout == log.as_bytes(), "what went in came out");
}
