//! A page of somebody else with the element in it: served from another port than the element's script, as in most
//! pages, or from the same. What a test does there is its own.
#![allow(
    clippy::expect_used,
    reason = "a page that cannot be read fails the test"
)]

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::browser::{Tab, Visit, in_browser};
use crate::server::{self, Server};
use crate::site::Site;

/// How long a page may take to show a log.
pub(crate) const LOAD_LIMIT: Duration = Duration::from_secs(60);

/// Has a row that a link led to stay lit until it is let go: it is so for a moment only, which a busy machine may miss.
pub(crate) const HOLD_LIT: &str = "__test.hold(1600);";

/// A page of somebody else with the element in it.
pub(crate) struct Stage {
    pub(crate) site: Site,
    pub(crate) tab: Tab,
    pub(crate) server: Server,
}

impl Stage {
    /// Opens the page, with these files beside it.
    pub(crate) async fn open(
        visit: &Visit,
        program: &std::path::Path,
        body: &str,
        files: &[(&str, String)],
    ) -> Stage {
        let server = Server::start(program).await;
        let site = Site::start(&server.url).await;
        site.put_page("/", &server.url, body);
        for (path, log) in files {
            site.put(path, "application/x-ndjson", log.clone());
        }
        let tab = visit.tab("page").await;
        let stage = Stage { site, tab, server };
        stage.enter().await;
        stage
    }

    /// Loads the page, anew where it is loaded already.
    pub(crate) async fn enter(&self) {
        self.tab.goto(&self.site.url).await;
        self.tab
            .wait_for(
                "<agent-feed> to be defined",
                LOAD_LIMIT,
                "!!__test.feed()?.scroller",
            )
            .await;
    }

    /// Shows a log from an address of the page's own origin.
    pub(crate) async fn show(&self, address: &str) {
        self.tab
            .run(&format!(
                "__test.feed().setAttribute('src', {})",
                json!(address)
            ))
            .await;
        self.tab
            .wait_for(
                "the log to be read",
                LOAD_LIMIT,
                "__test.feed().getAttribute('state') === 'ready'",
            )
            .await;
        // Keys act once what stands around the rows is here, right after the first of them.
        self.tab
            .wait_for(
                "what stands around the rows",
                LOAD_LIMIT,
                "!!__test.one('dialog.help')?.firstElementChild",
            )
            .await;
        self.rest().await;
    }

    /// Gives the element more lines of a log.
    pub(crate) async fn append(&self, log: &str) {
        self.tab
            .run(&format!("__test.feed().append({})", json!(log)))
            .await;
    }

    /// Waits until nothing moves any more.
    pub(crate) async fn rest(&self) {
        let calm: bool = self.tab.eval("__test.rest()").await;
        assert!(calm, "the feed comes to rest");
    }

    /// Nothing was asked for but from the page's own origin and the script's.
    pub(crate) fn assert_no_request_out(&self) {
        let elsewhere: Vec<_> = self
            .tab
            .requests()
            .into_iter()
            .filter(|sent| {
                !sent.url.starts_with(&self.site.url)
                    && !sent.url.starts_with(&self.server.url)
                    && sent.url != "data:,"
            })
            .collect();
        assert!(
            elsewhere.is_empty(),
            "requests left the page: {elsewhere:?}"
        );
    }
}

/// Plays on a stage, where there is a browser.
pub(crate) fn on_stage<F>(
    name: &'static str,
    body: &'static str,
    files: Vec<(&'static str, String)>,
    play: impl FnOnce(Stage) -> F,
) where
    F: Future<Output = ()>,
{
    let Some(program) = server::turnreel() else {
        return;
    };
    in_browser(name, Duration::from_secs(150), async |visit: Arc<Visit>| {
        let stage = Stage::open(&visit, &program, body, &files).await;
        play(stage).await;
    });
}

/// Opens a page whose site gives the element, too, as it was built, and these files: path, content type and content.
pub(crate) fn on_own_site<F>(
    name: &'static str,
    body: &'static str,
    files: Vec<(&'static str, &'static str, Vec<u8>)>,
    play: impl FnOnce(Site, Tab) -> F,
) where
    F: Future<Output = ()>,
{
    on_own_site_within(Duration::from_secs(150), name, body, files, play);
}

/// The same, for what takes longer.
pub(crate) fn on_own_site_within<F>(
    limit: Duration,
    name: &'static str,
    body: &'static str,
    files: Vec<(&'static str, &'static str, Vec<u8>)>,
    play: impl FnOnce(Site, Tab) -> F,
) where
    F: Future<Output = ()>,
{
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist");
    if !dist.join("agent-feed.js").is_file() {
        println!("skipped {name}: the page is not built (cargo xtask dist builds it)");
        return;
    }
    in_browser(name, limit, async |visit: Arc<Visit>| {
        let site = Site::start("'self'").await;
        site.put_folder(&dist, "");
        for (path, content_type, content) in files {
            site.put(path, content_type, content);
        }
        site.put_page("/", "", body);
        let tab = visit.tab("page").await;
        tab.goto(&site.url).await;
        let defined = "!!__test.feed()?.scroller";
        tab.wait_for("<agent-feed> to be defined", LOAD_LIMIT, defined)
            .await;
        play(site, tab).await;
    });
}
