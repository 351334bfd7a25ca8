//! What another browser shows, beside what Chromium does. It runs where a driver is named, as
//! `TURNREEL_WEBDRIVER=geckodriver cargo xtask test other_browsers`; without a screen a browser that wants one has it by
//! `xvfb-run`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::browser::Tab;
use crate::compare::difference;
use crate::stage::{LOAD_LIMIT, on_own_site_within};
use crate::webdriver::OtherBrowser;
use crate::{FEED, SHORT};

/// The driver of the other browser.
const DRIVER: &str = "TURNREEL_WEBDRIVER";

/// Some seconds for each session, in two browsers.
const LIMIT: Duration = Duration::from_secs(900);

/// Whether the session is there.
const READY: &str = "document.querySelector('agent-feed')?.getAttribute('state') === 'ready'";
/// Everything is opened, and has come. How a diff stands follows from the width, and each browser has a window of its own.
const OPEN_ALL: &str = "document.querySelector('agent-feed').setAttribute('diff-view', 'unified');
    document.querySelector('agent-feed').expandAll();
    await new Promise((done) => setTimeout(done, 1500));";
/// All rows, as they stand in the page.
const ROWS: &str = "document.querySelector('agent-feed').serializeRows({ maskTimes: false })";

fn stories() -> Vec<(&'static str, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let entries = std::fs::read_dir(folder).expect("the sessions are there");
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path().join("events.jsonl"))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .enumerate()
        .map(|(number, path)| {
            // Tests share the program's life.
            let address: &str = Box::leak(format!("/story-{number}.jsonl").into_boxed_str());
            (address, std::fs::read(path).expect("a log can be read"))
        })
        .collect()
}

async fn in_chromium(tab: &Tab, page: &str) -> String {
    tab.goto("about:blank").await;
    tab.goto(page).await;
    tab.wait_for("the session", SHORT, READY).await;
    tab.run(OPEN_ALL).await;
    tab.eval(ROWS).await
}

async fn in_other(browser: &OtherBrowser, page: &str) -> String {
    browser.goto("about:blank").await;
    browser.goto(page).await;
    let limit_ms = LOAD_LIMIT.as_millis() / 2;
    let rows = browser
        .eval(&format!(
            "const began = performance.now();
             while (!({READY})) {{
                 if (performance.now() - began > {limit_ms}) throw new Error('the session does not come');
                 await new Promise((done) => setTimeout(done, 20));
             }}
             {OPEN_ALL}
             return await {ROWS};"
        ))
        .await;
    rows.as_str().expect("rows are a text").to_owned()
}

#[test]
fn another_browser_shows_the_same_to_the_byte() {
    let Some(driver) = std::env::var_os(DRIVER) else {
        println!("skipped another_browser_shows_the_same_to_the_byte: {DRIVER} names no driver");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read(root.join("dist/index.html")).unwrap_or_default();
    let mut files = vec![("/app", "text/html; charset=utf-8", page)];
    let stories = stories();
    assert!(!stories.is_empty(), "there are sessions");
    for (address, log) in &stories {
        files.push((address, "application/x-ndjson", log.clone()));
    }
    on_own_site_within(
        LIMIT,
        "other_browser",
        FEED,
        files,
        async move |site, tab| {
            let browser = OtherBrowser::start(Path::new(&driver)).await;
            let mut failures = Vec::new();
            for (address, _) in &stories {
                let page = format!("{}/app?src={address}", site.url);
                let here = in_chromium(&tab, &page).await;
                let there = in_other(&browser, &page).await;
                assert!(here.len() > 200, "{address}: {here}");
                failures.extend(difference(address, &here, &there));
            }
            browser.close().await;
            assert!(failures.is_empty(), "{}", failures.join("\n\n"));
        },
    );
}
