//! Headless Chromium for tests: one for all tests of a binary, a window for each page, and a record of what went wrong
//! in them. What the pages are, and who serves them, is for others.
//!
//! A test asks by [`in_browser`]. It fails when its body panics or takes too long — then a screenshot of each page lies
//! in the folder for tests' files, its path printed — and when a page reported an error that nobody asked for.
#![allow(
    clippy::expect_used,
    reason = "a browser that cannot be driven fails the test"
)]

#[path = "browser/input.rs"]
mod input;

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use chromiumoxide::cdp::browser_protocol::accessibility::{AxValue, GetFullAxTreeParams};
use chromiumoxide::cdp::browser_protocol::emulation::{
    MediaFeature, SetCpuThrottlingRateParams, SetDeviceMetricsOverrideParams,
    SetEmulatedMediaParams, SetFocusEmulationEnabledParams,
};
use chromiumoxide::cdp::browser_protocol::log::{EventEntryAdded, LogEntryLevel, LogEntrySource};
use chromiumoxide::cdp::browser_protocol::network::{
    EventRequestWillBeSent, EventWebSocketClosed, EventWebSocketCreated,
};
use chromiumoxide::cdp::browser_protocol::page::{
    CaptureScreenshotFormat, NavigateParams, PrintToPdfParams, SetWebLifecycleStateParams,
    SetWebLifecycleStateState,
};
use chromiumoxide::cdp::browser_protocol::target::CreateTargetParams;
use chromiumoxide::cdp::js_protocol::runtime::{
    ConsoleApiCalledType, EvaluateParams, EventConsoleApiCalled, EventExceptionThrown,
};
use chromiumoxide::page::ScreenshotParams;
use chromiumoxide::{Browser, BrowserConfig, Page};
use futures::stream::{BoxStream, select_all};
use futures::{FutureExt, StreamExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Runs before any script of each page.
const PAGE_HELP: &str = include_str!("page_help.js");

/// How long a page may take to load.
const LOAD_LIMIT: Duration = Duration::from_secs(90);

/// Tests say how long they may take on a machine that is theirs; one that is busy takes longer.
const BUSY_TIMES: u32 = 3;

/// Window of each page.
const WINDOW_PX: (u32, u32) = (1100, 760);

static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts")
});

/// The browser, while a test uses it.
static SHARED: tokio::sync::Mutex<Weak<Chrome>> = tokio::sync::Mutex::const_new(Weak::new());

static POINTER: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Runs a test in the browser. Where there is none the test is skipped, and says so; under `cargo xtask test`, which
/// names the browser, that is a failure.
pub(crate) fn in_browser<F>(name: &'static str, limit: Duration, body: impl FnOnce(Arc<Visit>) -> F)
where
    F: Future<Output = ()>,
{
    let Some(program) = program() else {
        println!("skipped {name}: no Chromium found (set TURNREEL_CHROME)");
        return;
    };
    let limit = limit * BUSY_TIMES;
    RUNTIME.block_on(async {
        let chrome = Chrome::shared(&program).await;
        let visit = Arc::new(Visit {
            name,
            chrome: chrome.clone(),
            tabs: Mutex::default(),
        });
        let outcome =
            tokio::time::timeout(limit, AssertUnwindSafe(body(visit.clone())).catch_unwind()).await;
        let went_well = matches!(outcome, Ok(Ok(())));
        // What the page reported last is still on its way.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let problems = visit.leave(went_well).await;
        drop(visit);
        // Only the last user finds itself alone, and takes the browser down.
        if let Some(chrome) = Arc::into_inner(chrome) {
            chrome.close().await;
        }
        match outcome {
            Err(_) => panic!("{name} was not done after {limit:?}\n{problems}"),
            Ok(Err(panicked)) => {
                if !problems.is_empty() {
                    println!("{name}: the pages reported:\n{problems}");
                }
                std::panic::resume_unwind(panicked)
            }
            Ok(Ok(())) => assert!(
                problems.is_empty(),
                "{name}: the pages reported:\n{problems}"
            ),
        }
    });
}

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TURNREEL_CHROME").or_else(|| std::env::var_os("CHROME"))
    {
        let named = PathBuf::from(named);
        assert!(
            named.is_file(),
            "there is no browser at {}",
            named.display()
        );
        return Some(named);
    }
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
        "chrome",
    ];
    let on_path = std::env::var_os("PATH").into_iter().flat_map(|path| {
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        names.iter().flat_map(move |name| {
            folders
                .clone()
                .into_iter()
                .map(move |folder| folder.join(name))
        })
    });
    let usual = [
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/opt/google/chrome/chrome",
    ];
    on_path
        .chain(usual.map(PathBuf::from))
        .find(|path| path.is_file())
}

struct Chrome {
    browser: tokio::sync::Mutex<Browser>,
    handler: tokio::task::JoinHandle<()>,
    /// Removed when the browser is gone.
    _profile: tempfile::TempDir,
}

impl Chrome {
    async fn shared(program: &Path) -> Arc<Chrome> {
        let mut shared = SHARED.lock().await;
        if let Some(running) = shared.upgrade() {
            return running;
        }
        let chrome = Arc::new(Chrome::launch(program).await);
        *shared = Arc::downgrade(&chrome);
        chrome
    }

    async fn launch(program: &Path) -> Chrome {
        let profile = tempfile::Builder::new()
            .prefix("turnreel-chrome-")
            .tempdir()
            .expect("a folder for the browser");
        let config = BrowserConfig::builder()
            .chrome_executable(program)
            .user_data_dir(profile.path())
            .new_headless_mode()
            .no_sandbox()
            .viewport(None)
            .window_size(WINDOW_PX.0, WINDOW_PX.1)
            .launch_timeout(Duration::from_secs(60))
            .request_timeout(Duration::from_secs(120))
            .args([
                "disable-gpu",
                "disable-quic",
                "disable-component-update",
                "no-default-browser-check",
            ])
            .build()
            .expect("settings of the browser");
        let (browser, mut events) = Browser::launch(config).await.expect("the browser starts");
        let handler = tokio::spawn(async move { while events.next().await.is_some() {} });
        Chrome {
            browser: tokio::sync::Mutex::new(browser),
            handler,
            _profile: profile,
        }
    }

    async fn close(self) {
        let mut browser = self.browser.into_inner();
        let closed = async {
            browser.close().await?;
            browser.wait().await?;
            Ok::<(), Box<dyn std::error::Error>>(())
        };
        if !matches!(
            tokio::time::timeout(Duration::from_secs(10), closed).await,
            Ok(Ok(()))
        ) {
            let _ = browser.kill().await;
        }
        self.handler.abort();
    }
}

/// A test's stay in the browser: the pages it opened.
pub(crate) struct Visit {
    name: &'static str,
    chrome: Arc<Chrome>,
    tabs: Mutex<Vec<Tab>>,
}

impl Visit {
    /// A new window, with nothing in it. It has the focus, as far as its page can tell, and is drawn.
    pub(crate) async fn tab(&self, name: &str) -> Tab {
        let params = CreateTargetParams::builder()
            .url("about:blank")
            .new_window(true)
            .build()
            .expect("a target");
        let page = self
            .chrome
            .browser
            .lock()
            .await
            .new_page(params)
            .await
            .expect("a window opens");
        let tab = Tab {
            name: name.to_owned(),
            page,
            seen: Arc::default(),
        };
        tab.record().await;
        tab.page
            .execute(SetFocusEmulationEnabledParams::new(true))
            .await
            .expect("focus is emulated");
        tab.page
            .evaluate_on_new_document(PAGE_HELP)
            .await
            .expect("the helper is installed");
        self.tabs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(tab.clone());
        tab
    }

    /// Closes the windows; returned is what they reported.
    async fn leave(&self, went_well: bool) -> String {
        let tabs = std::mem::take(&mut *self.tabs.lock().unwrap_or_else(PoisonError::into_inner));
        let mut problems = String::new();
        for tab in tabs {
            for problem in tab.problems() {
                problems.push_str(&format!("  {}: {problem}\n", tab.name));
            }
            if !went_well {
                self.keep_picture(&tab).await;
            }
            let _ = tokio::time::timeout(Duration::from_secs(5), tab.page.close()).await;
        }
        problems
    }

    async fn keep_picture(&self, tab: &Tab) {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}.png", self.name, tab.name));
        let params = ScreenshotParams::builder()
            .format(CaptureScreenshotFormat::Png)
            .build();
        let shot = tokio::time::timeout(
            Duration::from_secs(10),
            tab.page.save_screenshot(params, &path),
        )
        .await;
        let url = tab.page.url().await.ok().flatten().unwrap_or_default();
        match shot {
            Ok(Ok(_)) => println!(
                "{}: {} was at {url}; it looked like this: {}",
                self.name,
                tab.name,
                path.display()
            ),
            Ok(Err(why)) => println!(
                "{}: {} was at {url}; no picture: {why}",
                self.name, tab.name
            ),
            Err(_) => println!(
                "{}: {} was at {url}; no picture in 10 s",
                self.name, tab.name
            ),
        }
        for line in tab.seen().network.iter().rev().take(10).rev() {
            println!("  network: {line}");
        }
    }
}

/// A request that left a page.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) has_body: bool,
}

#[derive(Default)]
struct Seen {
    problems: Vec<String>,
    expected: Vec<String>,
    network: Vec<String>,
    requests: Vec<Sent>,
    /// Address by id, of those that are open.
    sockets: BTreeMap<String, String>,
    n_sockets: usize,
}

enum Report {
    Problem(String),
    Network(String),
    Request(Sent),
    SocketOpened(String, String),
    SocketClosed(String),
}

/// One page.
#[derive(Clone)]
pub(crate) struct Tab {
    name: String,
    page: Page,
    seen: Arc<Mutex<Seen>>,
}

impl Tab {
    async fn record(&self) {
        self.page.enable_log().await.expect("the log is on");
        let page = &self.page;
        let logged = page
            .event_listener::<EventEntryAdded>()
            .await
            .expect("a listener");
        let called = page
            .event_listener::<EventConsoleApiCalled>()
            .await
            .expect("a listener");
        let thrown = page
            .event_listener::<EventExceptionThrown>()
            .await
            .expect("a listener");
        let sent = page
            .event_listener::<EventRequestWillBeSent>()
            .await
            .expect("a listener");
        let opened = page
            .event_listener::<EventWebSocketCreated>()
            .await
            .expect("a listener");
        let closed = page
            .event_listener::<EventWebSocketClosed>()
            .await
            .expect("a listener");
        let reports: Vec<BoxStream<'static, Report>> = vec![
            logged
                .filter_map(|event| async move { of_entry(&event) })
                .boxed(),
            called
                .filter_map(|event| async move { of_console(&event) })
                .boxed(),
            thrown
                .map(|event| Report::Problem(of_exception(&event)))
                .boxed(),
            sent.map(|event| {
                Report::Request(Sent {
                    method: event.request.method.clone(),
                    url: event.request.url.clone(),
                    has_body: event.request.has_post_data.unwrap_or(false),
                })
            })
            .boxed(),
            opened
                .map(|event| {
                    Report::SocketOpened(event.request_id.inner().clone(), event.url.clone())
                })
                .boxed(),
            closed
                .map(|event| Report::SocketClosed(event.request_id.inner().clone()))
                .boxed(),
        ];
        let seen = self.seen.clone();
        tokio::spawn(async move {
            let mut reports = select_all(reports);
            while let Some(report) = reports.next().await {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                match report {
                    Report::Problem(text) => seen.problems.push(text),
                    Report::Network(text) => seen.network.push(text),
                    Report::Request(sent) => seen.requests.push(sent),
                    Report::SocketOpened(id, url) => {
                        seen.n_sockets += 1;
                        seen.sockets.insert(id, url);
                    }
                    Report::SocketClosed(id) => {
                        seen.sockets.remove(&id);
                    }
                }
            }
        });
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Problems that hold one of these words, with `|` between, were made on purpose.
    pub(crate) fn expect_problems(&self, words: &str) {
        let words = words.split('|').map(str::to_owned);
        self.seen().expected.extend(words);
    }

    /// Errors of scripts, of the console and of the Content-Security-Policy.
    pub(crate) fn problems(&self) -> Vec<String> {
        let seen = self.seen();
        let unasked = |problem: &&String| !seen.expected.iter().any(|word| problem.contains(word));
        seen.problems.iter().filter(unasked).cloned().collect()
    }

    /// What the network could not do.
    pub(crate) fn network_errors(&self) -> Vec<String> {
        self.seen().network.clone()
    }

    /// Requests so far.
    pub(crate) fn requests(&self) -> Vec<Sent> {
        self.seen().requests.clone()
    }

    /// Addresses of the sockets that are open.
    pub(crate) fn open_sockets(&self) -> Vec<String> {
        self.seen().sockets.values().cloned().collect()
    }

    /// Sockets that were ever made.
    pub(crate) fn n_sockets_made(&self) -> usize {
        self.seen().n_sockets
    }

    /// Runs a script in each page that is loaded from now on, before its own.
    pub(crate) async fn before_scripts(&self, script: &str) {
        let added = self.page.evaluate_on_new_document(script).await;
        added.expect("the script is added");
    }

    /// Goes to an address and waits until the page is loaded. Another fragment alone is no other page.
    pub(crate) async fn goto(&self, url: &str) {
        if url.starts_with("file:") {
            // No page may lead to a file; a person may.
            self.run("window.__left = true;").await;
            let params = NavigateParams::new(url);
            let navigated = self.page.execute(params).await;
            navigated.expect("the file is opened");
        } else {
            // By script, and looked after by ourselves: the library's own waiting misses an event now and then.
            self.run(&format!(
                "window.__left = true; setTimeout(() => location.assign({}), 0);",
                json!(url)
            ))
            .await;
        }
        self.wait_for(
            &format!("{url} to be loaded"),
            LOAD_LIMIT,
            "!window.__left && document.readyState === 'complete'",
        )
        .await;
    }

    /// The value of an expression, which may be a promise.
    pub(crate) async fn eval<T: DeserializeOwned>(&self, expression: &str) -> T {
        let value = self
            .try_eval(expression)
            .await
            .unwrap_or_else(|why| panic!("{}: {why}\nin: {}", self.name, excerpt(expression)));
        serde_json::from_value(value.clone()).unwrap_or_else(|why| {
            panic!(
                "{}: {why}\nof: {}\nin: {}",
                self.name,
                excerpt(&value.to_string()),
                excerpt(expression)
            )
        })
    }

    /// Runs statements.
    pub(crate) async fn run(&self, statements: &str) {
        let _: Value = self
            .eval(&format!("(async () => {{ {statements} }})()"))
            .await;
    }

    async fn try_eval(&self, expression: &str) -> Result<Value, String> {
        let params = EvaluateParams::builder()
            .expression(format!("(async () => ({expression}\n))()"))
            .await_promise(true)
            // The debugger may otherwise do what the page's policy forbids.
            .allow_unsafe_eval_blocked_by_csp(false)
            .return_by_value(true)
            .build()?;
        match tokio::time::timeout(
            Duration::from_secs(100),
            self.page.evaluate_expression(params),
        )
        .await
        {
            Ok(Ok(result)) => Ok(result.value().cloned().unwrap_or(Value::Null)),
            Ok(Err(why)) => Err(why.to_string()),
            Err(_) => Err("no answer in 100 s".to_owned()),
        }
    }

    /// Waits until an expression is true, or something; `what` says what is awaited. Returned is its value.
    pub(crate) async fn wait_for(&self, what: &str, limit: Duration, expression: &str) -> Value {
        let began = Instant::now();
        loop {
            // A page that is being loaded has no answer yet.
            let value = self.try_eval(expression).await;
            if let Ok(value) = &value
                && !matches!(value, Value::Null | Value::Bool(false))
                && value.as_str() != Some("")
                && value.as_f64() != Some(0.0)
            {
                return value.clone();
            }
            if began.elapsed() > limit {
                let state = self.try_eval("__test.state()").await;
                panic!(
                    "{}: waited {limit:?} for: {what}\n  last value: {value:?}\n  in: {}\n  page: {}",
                    self.name,
                    excerpt(expression),
                    state.unwrap_or_else(Value::from)
                );
            }
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }

    /// Stops the page as browsers stop pages that are hidden for long, or lets it go on.
    pub(crate) async fn set_frozen(&self, frozen: bool) {
        let state = if frozen {
            SetWebLifecycleStateState::Frozen
        } else {
            SetWebLifecycleStateState::Active
        };
        self.page
            .execute(SetWebLifecycleStateParams::new(state))
            .await
            .expect("the page is stopped or goes on");
    }

    /// Shows the page to somebody who likes it light or dark, in a window of this size.
    pub(crate) async fn look(&self, dark: bool, (width_px, height_px): (i64, i64)) {
        let scheme = if dark { "dark" } else { "light" };
        let media = SetEmulatedMediaParams::builder()
            .feature(MediaFeature::new("prefers-color-scheme", scheme))
            .build();
        self.page.execute(media).await.expect("a colour scheme");
        let window = SetDeviceMetricsOverrideParams::new(width_px, height_px, 1.0, false);
        self.page.execute(window).await.expect("a size");
    }

    /// Has the page's own thread run at a fraction of the machine's speed, as that of a phone does.
    pub(crate) async fn slow_down(&self, times: f64) {
        let rate = SetCpuThrottlingRateParams::new(times);
        self.page.execute(rate).await.expect("a speed");
    }

    /// What a screen reader is told of the page: role and name of each thing in it, in order.
    pub(crate) async fn told(&self) -> Vec<(String, String)> {
        let tree = self.page.execute(GetFullAxTreeParams::default()).await;
        let tree = tree.expect("the tree of accessibility");
        let text = |value: Option<&AxValue>| {
            let value = value.and_then(|value| value.value.as_ref());
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let told = tree.result.nodes.iter().filter(|node| !node.ignored);
        told.map(|node| (text(node.role.as_ref()), text(node.name.as_ref())))
            .collect()
    }

    /// What is printed, as a PDF.
    pub(crate) async fn pdf(&self) -> Vec<u8> {
        let params = PrintToPdfParams::default();
        self.page.pdf(params).await.expect("the page is printed")
    }

    /// What is painted, as a PNG.
    pub(crate) async fn pixels(&self) -> Vec<u8> {
        let params = ScreenshotParams::builder()
            .format(CaptureScreenshotFormat::Png)
            .build();
        self.page.screenshot(params).await.expect("a picture")
    }
}

/// What the browser itself logs. Connections that are refused or cut are the network's, and no fault of the page.
fn of_entry(event: &EventEntryAdded) -> Option<Report> {
    let entry = &event.entry;
    if entry.level != LogEntryLevel::Error {
        return None;
    }
    let place = entry.url.as_deref().unwrap_or_default();
    let text = format!("{} ({place})", entry.text);
    // A frame that was on its way when the connection was cut is the network's, too.
    let of_sockets = [
        "WebSocket connection to",
        "WebSocket is already in CLOSING or CLOSED state",
    ];
    let network = entry.source == LogEntrySource::Network
        || of_sockets.iter().any(|words| entry.text.starts_with(words));
    Some(if network {
        Report::Network(text)
    } else {
        Report::Problem(text)
    })
}

fn of_console(event: &EventConsoleApiCalled) -> Option<Report> {
    if !matches!(
        event.r#type,
        ConsoleApiCalledType::Error | ConsoleApiCalledType::Assert
    ) {
        return None;
    }
    let words = event
        .args
        .iter()
        .map(|arg| match (&arg.value, &arg.description) {
            (Some(Value::String(text)), _) => text.clone(),
            (Some(value), _) => value.to_string(),
            (None, description) => description.clone().unwrap_or_default(),
        });
    Some(Report::Problem(format!(
        "console: {}",
        words.collect::<Vec<_>>().join(" ")
    )))
}

fn of_exception(event: &EventExceptionThrown) -> String {
    let details = &event.exception_details;
    let what = details
        .exception
        .as_ref()
        .and_then(|object| object.description.clone());
    format!("exception: {} {}", details.text, what.unwrap_or_default())
}

fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(600).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
