//! What tests with a server share: a browser and a program to start servers from, sessions that come by the pipe, and
//! waiting until a page has all of one.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::SHORT;
use crate::browser::{Tab, Visit, in_browser};
use crate::made_logs::Writer;
use crate::server::{self, Pipe, Server};
use crate::stage::LOAD_LIMIT;

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

/// One element in our own page, under its policy: a worker that reads starts only where the script comes from.
pub(crate) async fn lone_element(visit: &Arc<Visit>, program: &Path) -> (Server, Tab) {
    let server = Server::start(program).await;
    let tab = visit.tab("page").await;
    tab.goto(&format!("{}/#token={}", server.url, server.token))
        .await;
    tab.run("document.body.replaceChildren(document.createElement('agent-feed'))")
        .await;
    let element = "!!__test.feed()?.scroller";
    tab.wait_for("<agent-feed>", LOAD_LIMIT, element).await;
    (server, tab)
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

/// One session that can be shown in both ways: by the server that took it in, where long bodies are told by reference, and
/// dropped as a file, where they stand in the lines.
pub(crate) struct BothWays {
    pub(crate) server: Server,
    session: &'static str,
    n_events: usize,
    file: PathBuf,
    _folder: tempfile::TempDir,
}

impl BothWays {
    /// Sends what was written to a server of its own, and keeps it as a file.
    pub(crate) async fn of(
        program: &std::path::Path,
        session: &'static str,
        mut writer: Writer,
    ) -> BothWays {
        let server = Server::start(program).await;
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        let log = writer.take();
        pipe_all(&server, &log).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(format!("{session}.events.jsonl"));
        std::fs::write(&file, &log).expect("the log is written");
        BothWays {
            server,
            session,
            n_events,
            file,
            _folder: folder,
        }
    }

    /// Shows it, and waits until all of it is there.
    pub(crate) async fn show(&self, tab: &Tab, dropped: bool) {
        self.show_with(tab, dropped, false).await;
    }

    /// The same; what is dropped is read without a worker, where that is wanted.
    pub(crate) async fn show_with(&self, tab: &Tab, dropped: bool, without_worker: bool) {
        tab.goto("about:blank").await;
        if dropped {
            let page = format!("{}/#token={}", self.server.url, self.server.token);
            tab.goto(&page).await;
            tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
                .await;
            if without_worker {
                tab.run(
                    "const Real = window.Worker;
                     window.Worker = class extends Real {
                         constructor(address, options) {
                             if (options?.type === 'module') throw new Error('no readers here');
                             super(address, options);
                         }
                     };",
                )
                .await;
            }
            tab.drop_files(&[&self.file]).await;
        } else {
            tab.goto(&self.server.page_of(self.session)).await;
        }
        settle(tab, "the session", self.n_events).await;
    }
}

/// How many bodies a page has asked for by themselves.
pub(crate) fn n_bodies_fetched(tab: &Tab) -> usize {
    let sent = tab.requests();
    let bodies = sent.iter().filter(|sent| sent.url.contains("/full?body="));
    bodies.count()
}
