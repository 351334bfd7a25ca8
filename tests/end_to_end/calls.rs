//! What is run of the page before any further part of it is here. `cargo xtask calls` has a page built that notes it, runs
//! this, and cuts the page by what comes of it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use chat_normalize::{Context, SessionReader};

use crate::browser::Tab;
use crate::made_logs::log_of;
use crate::overview::{begun, events};
use crate::server::{self, Server};
use crate::shared::shared;
use crate::site::{SLOWLY, Site};
use crate::stage::on_own_site_within;
use crate::streamed_logs::{stored_log_of, streamed_log_of};
use crate::{FEED, SHORT};

/// The file that is written, a byte for each block of the program: whether it was run.
const NOTES: &str = "TURNREEL_CALLS";
/// A folder with more logs.
const LOGS: &str = "TURNREEL_CALLS_LOGS";
/// Of the sessions beside the project those are shown that take no longer than a glance.
const MOST_BYTES: u64 = 1_500_000;

/// A second or more for each visit, and more than a thousand of them.
const LIMIT: Duration = Duration::from_secs(3_600);

/// Pages that are visited side by side: most of a visit is waiting.
const N_SIDE_BY_SIDE: usize = 3;

/// Logs between two words of how far it is.
const LOGS_TO_TELL_OF: usize = 20;

/// Dark or not, and how large: on a desk, and on a phone at night.
const WINDOWS: [(bool, (i64, i64)); 2] = [(false, (1280, 800)), (true, (390, 844))];

/// As fast as this machine, and as a phone: there rows come in pieces, reading is told of, and what was drawn for it goes
/// again, all before the first rows are whole.
const SLOWER: [f64; 3] = [1.0, 4.0, 1.0];

/// The session that a new server has.
const EXAMPLE: &str = "example-upload-retry";

/// No part comes, however long it is waited for.
const HOLD_PARTS: &str = "const whole = window.fetch;
    window.fetch = (address, options) => /^(?!.*_bg\\.wasm).*\\.wasm/.test(String(address?.url ?? address))
        ? new Promise(() => {})
        : whole(address, options);";

/// What was noted so far, a character for each block.
const TOLD: &str = "(() => {
    const bytes = new Uint8Array(globalThis[Symbol.for('turnreel.notes')].buffer);
    return Array.from(bytes, (byte) => byte ? '1' : '0').join('');
})()";

/// The element as pages have it: as it is, with every row by itself, and with what is set most.
const BODIES: [&str; 3] = [
    "<agent-feed></agent-feed>",
    FEED,
    "<agent-feed theme=\"dark\" density=\"compact\" follow=\"off\" start-at=\"0:01\" controls=\"none\" readonly></agent-feed>",
];

/// What was run in any of the pages.
#[derive(Default)]
struct Noted(Vec<u8>);

impl Noted {
    /// Waits until the page has done what it can, and adds what it ran.
    async fn add(&mut self, tab: &Tab) {
        let state = "__test.feed()?.getAttribute('state')";
        let begun = "!!globalThis[Symbol.for('turnreel.notes')]";
        tab.wait_for("the program to begin", SHORT, begun).await;
        // A log that is long waits for a part; what was run until then counts.
        let settled = format!("['ready', 'error'].includes({state}) || performance.now() > 4000");
        tab.wait_for("the page to be read", SHORT, &settled).await;
        tab.run("await __test.sleep(250); await __test.frames(3)")
            .await;
        let told: String = tab.eval(TOLD).await;
        self.merge(told.bytes().map(|run| u8::from(run == b'1')));
    }

    /// Of pages of one program: as many blocks in each.
    fn merge(&mut self, runs: impl ExactSizeIterator<Item = u8>) {
        self.0.resize(runs.len(), 0);
        for (noted, run) in self.0.iter_mut().zip(runs) {
            *noted |= run;
        }
    }
}

/// What a reader does as soon as there are rows, while more of the program is still on its way.
const SCROLL: &str = "const scroller = __test.feed()?.scroller;
    for (const by of [120, 400, -200]) { scroller?.scrollBy(0, by); await __test.frames(2); }";

/// What few pages begin with: an address that goes to an event, a log over a slow link, one that is damaged, that has
/// nothing in it or is not there, and a file that is dropped.
async fn visit_rarer(site: &Site, tab: &Tab, noted: &mut Noted) {
    for opened in [
        "/app?src=/made.jsonl#e=e9".to_owned(),
        format!("/app?src=/made.jsonl{SLOWLY}"),
        "/app?src=/damaged.jsonl".to_owned(),
        "/app?src=/empty.jsonl".to_owned(),
        "/app?src=/none.jsonl".to_owned(),
    ] {
        tab.goto("about:blank").await;
        tab.goto(&format!("{}{opened}", site.url)).await;
        noted.add(tab).await;
    }
    site.put_page("/rarer", "", FEED);
    for begun in [
        format!("__test.feed().setAttribute('src', '/made.jsonl{SLOWLY}')"),
        "const log = await (await fetch('/made.jsonl')).text();
         __test.feed().load([new File([log], 'made.jsonl')]);"
            .to_owned(),
    ] {
        enter(site, tab, "/rarer").await;
        tab.run(&begun).await;
        noted.add(tab).await;
        tab.run(SCROLL).await;
        noted.add(tab).await;
    }
}

/// Our own page, and pages of others, in each of these looks.
async fn visit(site: &Site, tab: &Tab, logs: &[String], noted: &mut Noted) {
    let tell = |page: &str, number: usize| {
        if number % LOGS_TO_TELL_OF == LOGS_TO_TELL_OF - 1 {
            println!("{page}: {} of {} logs", number + 1, logs.len());
        }
    };
    for (number, log) in logs.iter().enumerate() {
        tell("the page", number);
        let (dark, window_px) = WINDOWS[usize::from(number % 5 == 4)];
        tab.look(dark, window_px).await;
        tab.slow_down(SLOWER[number % 3]).await;
        tab.goto(&format!("{}/app?src={log}", site.url)).await;
        noted.add(tab).await;
    }
    for (number, body) in BODIES.iter().enumerate() {
        let path = format!("/body-{number}");
        site.put_page(&path, "", body);
        // Every row by itself is every kind of row.
        let n_logs = if *body == FEED { logs.len() } else { 4 };
        for (number, log) in logs.iter().rev().take(n_logs).enumerate() {
            tell("the element", number);
            tab.slow_down(SLOWER[number % 3]).await;
            enter(site, tab, &path).await;
            tab.run(&format!("__test.feed().setAttribute('src', '{log}')"))
                .await;
            noted.add(tab).await;
        }
        tab.slow_down(1.0).await;
        enter(site, tab, &path).await;
        // In a page of another origin the element has no worker.
        tab.run(
            "window.Worker = class { constructor() { throw new Error('no workers here'); } };
             __test.feed().setAttribute('src', '/long.jsonl');",
        )
        .await;
        noted.add(tab).await;
        enter(site, tab, &path).await;
        // As events of an agent that still works come: a few at a time.
        tab.run(
            "const lines = (await (await fetch('/made.jsonl')).text()).split('\\n').slice(0, 60);
             for (const line of lines) { __test.feed().append(line + '\\n'); await __test.frame(); }",
        )
        .await;
        noted.add(tab).await;
    }
}

/// The page as a server gives it: with its list, with a session that it has or not, with several, and refused; and the
/// element with a session of a server.
async fn visit_server(tab: &Tab, noted: &mut Noted) {
    let program = server::turnreel().expect("the program is built with the page that notes");
    let server = Server::start_with(&program, &[]).await;
    tab.expect_problems("the server responded with a status");
    let (one, other) = (EXAMPLE, "other");
    server
        .send(other, &events(other, 0, &begun("Another one")))
        .await;
    let opened = [
        format!("token={}", server.token),
        format!("token={}&session={one}", server.token),
        format!("token={}&session={other}", server.token),
        format!("token={}&sessions={one},{other}", server.token),
        format!("token={}&session=none", server.token),
        "token=wrong".to_owned(),
    ];
    for times in [1.0, 4.0] {
        tab.slow_down(times).await;
        for (number, opened) in opened.iter().enumerate() {
            let (dark, window_px) = WINDOWS[number % 2];
            tab.look(dark, window_px).await;
            tab.goto("about:blank").await;
            tab.goto(&format!("{}/#{opened}", server.url)).await;
            noted.add(tab).await;
        }
    }
    tab.slow_down(1.0).await;
    tab.goto("about:blank").await;
    tab.goto(&server.url).await;
    let defined = "!!customElements.get('agent-feed')";
    tab.wait_for("the program to begin", SHORT, defined).await;
    tab.run(&format!(
        "const feed = document.createElement('agent-feed');
         feed.token = '{}';
         feed.setAttribute('endpoint', location.origin);
         feed.setAttribute('session', '{one}');
         document.body.replaceChildren(feed);",
        server.token
    ))
    .await;
    noted.add(tab).await;
}

/// Goes to a page with the element in it.
async fn enter(site: &Site, tab: &Tab, path: &str) {
    tab.look(false, (1280, 800)).await;
    tab.goto(&format!("{}{path}", site.url)).await;
    tab.wait_for("the element", SHORT, "!!__test.feed()?.scroller")
        .await;
}

/// Logs of ChatEvents in a folder, or in the folders in it.
fn logs_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut logs: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| match entry.path() {
            path if path.is_dir() => path.join("events.jsonl"),
            path => path,
        })
        .filter(|path| path.is_file() && path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    logs.sort();
    logs
}

/// The sessions in a folder, as logs of ChatEvents, whatever program wrote them.
fn sessions_below(folder: &Path) -> Vec<Vec<u8>> {
    let mut logs = Vec::new();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            logs.extend(sessions_below(&path));
        } else if path.metadata().is_ok_and(|it| it.len() <= MOST_BYTES) {
            logs.extend(as_events(&path).filter(|log| !log.is_empty()));
        }
    }
    logs
}

/// `None` of what is no session.
fn as_events(path: &Path) -> Option<Vec<u8>> {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader
        .push(&std::fs::read(path).ok()?, 0, &mut events)
        .ok()?;
    reader.finish(0, &mut events).ok()?;
    let lines = events
        .iter()
        .flat_map(|event| [event.to_line(), "\n".to_owned()]);
    Some(lines.collect::<String>().into_bytes())
}

#[test]
fn what_is_run_first_is_noted() {
    let Some(notes_path) = std::env::var_os(NOTES) else {
        println!(
            "skipped what_is_run_first_is_noted: `cargo xtask calls` runs it, with {NOTES} set"
        );
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let jsonl = "application/x-ndjson";
    let long = log_of("long", 15_000);
    assert!(long.len() > 3_000_000, "it is told how far reading is");
    let damaged = log_of("damaged", 40).replacen("\"type\"", "type", 3);
    let mut files = vec![
        ("/made.jsonl", jsonl, log_of("made", 40).into_bytes()),
        ("/long.jsonl", jsonl, long.into_bytes()),
        (
            "/streamed.jsonl",
            jsonl,
            streamed_log_of("streamed", 1).into_bytes(),
        ),
        (
            "/stored.jsonl",
            jsonl,
            stored_log_of("stored", 9).into_bytes(),
        ),
        (
            "/streamed-on.jsonl",
            jsonl,
            streamed_log_of("streamed-on", 9).into_bytes(),
        ),
        ("/damaged.jsonl", jsonl, damaged.into_bytes()),
        ("/empty.jsonl", jsonl, Vec::new()),
        (
            "/app",
            "text/html; charset=utf-8",
            std::fs::read(root.join("dist/index.html")).expect("the page is built"),
        ),
    ];
    let mut stories = logs_below(&root.join("tests/sessions"));
    if let Some(folder) = std::env::var_os(LOGS) {
        stories.extend(logs_below(Path::new(&folder)));
    }
    let stories = stories
        .iter()
        .map(|path| std::fs::read(path).expect("a log can be read"));
    let beside = ["recordings", "fixtures"].into_iter().filter_map(shared);
    let beside = beside.flat_map(|folder| sessions_below(&folder));
    for (number, log) in stories.chain(beside).enumerate() {
        // Tests share the program's life.
        let address: &str = Box::leak(format!("/story-{number}.jsonl").into_boxed_str());
        files.push((address, jsonl, log));
    }
    let mut logs: Vec<String> = files
        .iter()
        .map(|(path, _, _)| (*path).to_owned())
        .collect();
    logs.retain(|path| {
        path.ends_with(".jsonl") && !["/damaged.jsonl", "/empty.jsonl"].contains(&path.as_str())
    });
    // The made ones last: they are what other pages are given, too.
    logs.rotate_left(5);
    let noted = Mutex::new(Noted::default());
    std::thread::scope(|scope| {
        for beside in 0..N_SIDE_BY_SIDE {
            let (files, noted) = (files.clone(), &noted);
            let own = logs.iter().skip(beside).step_by(N_SIDE_BY_SIDE);
            let own: Vec<String> = own.cloned().collect();
            scope.spawn(move || {
                on_own_site_within(LIMIT, "calls", FEED, files, async |site, tab| {
                    tab.before_scripts(HOLD_PARTS).await;
                    let mut seen = Noted::default();
                    if beside == 0 {
                        visit_server(&tab, &mut seen).await;
                        visit_rarer(&site, &tab, &mut seen).await;
                    }
                    visit(&site, &tab, &own, &mut seen).await;
                    let mut noted = noted.lock().expect("no visit failed");
                    noted.merge(seen.0.into_iter());
                });
            });
        }
    });
    let noted = noted.into_inner().expect("no visit failed");
    std::fs::write(notes_path, noted.0).expect("the notes can be written");
}
