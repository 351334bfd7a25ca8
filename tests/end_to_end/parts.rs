//! What is fetched when: little before the first rows, other programs' formats where one is read, and a part that does
//! not come is told of and tried again.

use crate::browser::Tab;
use crate::made_logs::log_of;
use crate::server::{Server, exchange};
use crate::sessions::with_server;
use crate::site::SLOWLY;
use crate::stage::{Stage, on_stage};
use crate::streamed_logs::{stored_log_of, streamed_log_of};
use crate::{FEED, SHORT};

/// So many bytes, packed, are fetched of the program before the first rows of a ChatEvent log, at most.
const MOST_FIRST_BYTES: usize = 308_500;
/// And in all, the worker for colours and what unpacks included.
const MOST_BYTES: usize = 2_009_500;
/// What reads in a worker is fetched for long logs alone, and is made for speed.
const MOST_READER_BYTES: usize = 916_500;

/// Addresses fetched up to the moment in which the first rows are there.
const FETCHED_FIRST: &str = "(() => {
    const first = performance.getEntriesByName('agent-feed: first rows')[0].startTime;
    return performance.getEntriesByType('resource').filter((it) => it.startTime <= first).map((it) => it.name);
})()";

/// How the rest of the first part was asked for: by `fetch`, or by a request that the page waits for.
const ASKED_FOR_REST: &str = "performance.getEntriesByType('resource')
    .filter((it) => it.name.includes('/rest-')).map((it) => it.initiatorType)";

/// How the rest was asked for by requests that the page waits for.
async fn held_for_rest(tab: &Tab) -> Vec<String> {
    let mut asked: Vec<String> = tab.eval(ASKED_FOR_REST).await;
    assert!(!asked.is_empty(), "the rest is fetched");
    asked.retain(|how| how != "fetch");
    asked
}

/// How many bytes the server sends for a file, packed as for browsers.
async fn packed_bytes(stage: &Stage, address: &str) -> usize {
    let path = address.trim_start_matches(&stage.server.url);
    let port = stage.server.port;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\naccept-encoding: br\r\nconnection: close\r\n\r\n"
    );
    let (head, body) = exchange(port, &request).await;
    assert!(head.starts_with("http/1.1 200"), "{path} is there");
    body.len()
}

#[test]
fn little_is_fetched_before_the_first_rows_and_all_of_it_is_bounded() {
    let files = vec![("/log.jsonl", log_of("log", 200))];
    on_stage("first_fetch", FEED, files, async |stage| {
        let other = [
            "rest-", "readers-", "around-", "bodies-", "markup-", "app-", "live-", "export-",
            "unpack-",
        ];
        // What a busy machine makes the page run now and then may be of the rest; what it always runs may not.
        let mut early = None;
        for _ in 0..3 {
            stage.enter().await;
            stage.show("/log.jsonl").await;
            let first: Vec<String> = stage.tab.eval(FETCHED_FIRST).await;
            // Browsers keep such files for ever, and their names do not say what is in them.
            let unnamed = first.iter().find(|it| it.contains("/snippets/"));
            assert_eq!(unnamed, None, "all scripts stand in the page's own");
            let is_other = |it: &&String| other.iter().any(|part| it.contains(part));
            early = first.iter().find(is_other).cloned();
            if early.is_some() {
                continue;
            }
            let mut n_first_bytes = 0;
            let mut told = Vec::new();
            let ours = first.iter().filter(|it| it.starts_with(&stage.server.url));
            for address in ours {
                let n_bytes = packed_bytes(&stage, address).await;
                told.push(format!("{n_bytes} {address}"));
                n_first_bytes += n_bytes;
            }
            println!("before the first rows: {n_first_bytes} bytes: {told:#?}");
            assert!(
                told.iter().any(|it| it.ends_with("_bg.wasm")),
                "the program is fetched: {told:#?}"
            );
            assert!(
                n_first_bytes <= MOST_FIRST_BYTES,
                "`cargo xtask calls` may help: {told:#?}"
            );
            break;
        }
        assert_eq!(
            early, None,
            "no other part is needed for the first rows; where it is the rest, `cargo xtask calls` helps"
        );

        let dist = concat!(env!("CARGO_MANIFEST_DIR"), "/dist");
        let (mut n_bytes, mut n_reader_bytes) = (0, 0);
        for entry in std::fs::read_dir(dist)
            .expect("the page is built")
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".js") || name.ends_with(".wasm") || name.ends_with(".css") {
                let counted = match name.starts_with("reader-") {
                    true => &mut n_reader_bytes,
                    false => &mut n_bytes,
                };
                *counted += packed_bytes(&stage, &format!("/{name}")).await;
                if name.starts_with("agent-feed-") && name.ends_with(".js") {
                    let script = std::fs::read_to_string(entry.path()).expect("a script is text");
                    // What asks to have it compiled whole stands at its head.
                    assert!(
                        script.starts_with("//# allFunctionsCalledOnLoad\n"),
                        "{name}"
                    );
                }
            }
        }
        println!("in all: {n_bytes} bytes, and the reader of long logs {n_reader_bytes}");
        assert!(n_bytes <= MOST_BYTES, "{n_bytes} bytes in all");
        assert!(
            n_reader_bytes > 0 && n_reader_bytes <= MOST_READER_BYTES,
            "{n_reader_bytes} bytes of the reader"
        );
    });
}

/// An exported session holds the page, and is handed on.
#[test]
fn the_page_names_no_folder_of_who_built_it() {
    let dist = concat!(env!("CARGO_MANIFEST_DIR"), "/dist");
    let mut n_modules = 0;
    for entry in std::fs::read_dir(dist)
        .expect("the page is built")
        .flatten()
    {
        let path = entry.path();
        if path.extension().is_none_or(|it| it != "wasm") {
            continue;
        }
        n_modules += 1;
        let module = std::fs::read(&path).expect("a part of the page");
        for folder in [
            "/registry/src/",
            "/git/checkouts/",
            "/.cargo/",
            env!("CARGO_MANIFEST_DIR"),
        ] {
            let mut places = module.windows(folder.len());
            let is_named = places.any(|it| it == folder.as_bytes());
            assert!(!is_named, "{} names {folder}", path.display());
        }
    }
    assert!(n_modules > 5, "the page is of several parts");
}

#[test]
fn what_is_called_before_the_rest_is_here_fetches_it() {
    let files = vec![("/log.jsonl", log_of("log", 20))];
    on_stage("rest_at_once", FEED, files, async |stage| {
        stage
            .tab
            .run(
                "const whole = window.fetch;
                 window.fetch = (address, options) => /\\.wasm/.test(String(address))
                     ? new Promise(() => {}) : whole(address, options);
                 __test.feed().setAttribute('src', '/log.jsonl');",
            )
            .await;
        let ready = "__test.feed().getAttribute('state') === 'ready'";
        stage.tab.wait_for("the log to be read", SHORT, ready).await;
        let fetched = "performance.getEntriesByType('resource').filter((it) => it.name.includes('/rest-')).length";
        // All that a page may do with the element, of which a page that starts does nothing.
        let id: Option<String> = stage
            .tab
            .eval(
                "(() => {
                    const feed = __test.feed();
                    feed.goTo('e9');
                    feed.viewAsOf(12);
                    feed.viewAsOf(null);
                    feed.clear();
                    return feed.rowCount === 0 ? 'cleared' : null;
                })()",
            )
            .await;
        assert_eq!(id.as_deref(), Some("cleared"));
        let n_fetched: usize = stage.tab.eval(fetched).await;
        assert_eq!(n_fetched, 1, "the rest is fetched, once");
        stage.append(&log_of("more", 3)).await;
        stage
            .tab
            .wait_for("rows of what came later", SHORT, "__test.rows().length > 0")
            .await;
    });
}

#[test]
fn no_page_of_a_server_is_held_for_the_rest() {
    with_server("rest_of_app", 150, async |visit, program| {
        let server = Server::start_with(&program, &[]).await;
        let tab = visit.tab("page").await;
        for opened in ["", "&session=example-upload-retry"] {
            let mut held = Vec::new();
            // What a busy machine makes the page run now and then may be of the rest; what it always runs may not.
            for _ in 0..3 {
                tab.goto("about:blank").await;
                tab.goto(&format!("{}/#token={}{opened}", server.url, server.token))
                    .await;
                let whole = "performance.getEntriesByName('agent-feed: whole').length > 0";
                tab.wait_for("the page to be whole", SHORT, whole).await;
                held = held_for_rest(&tab).await;
                if held.is_empty() {
                    break;
                }
            }
            assert!(
                held.is_empty(),
                "{opened}: no request that the page waits for; `cargo xtask calls` helps"
            );
        }
    });
}

#[test]
fn neither_a_slow_device_nor_a_slow_link_is_held_for_the_rest() {
    // What is written in a log decides what is run, too: these are of those by which it was noted. What goes on beside other
    // calls, as in `bash` and `parallel`, is of the rest while such a log is half read.
    let stories = [
        ("/edit.jsonl", "read-edit"),
        ("/agent.jsonl", "subagent"),
        ("/list.jsonl", "todos"),
    ];
    let files = stories.map(|(address, name)| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sessions");
        let story = std::fs::read_to_string(format!("{folder}/{name}/events.jsonl"));
        (address, story.expect("a session of the tests"))
    });
    on_stage("rest_slowly", FEED, files.to_vec(), async |stage| {
        let ways = stories.iter().flat_map(|(address, _)| {
            [
                ((*address).to_owned(), 4.0),
                (format!("{address}{SLOWLY}"), 1.0),
            ]
        });
        for (address, times) in ways {
            let mut held = Vec::new();
            // What is shown of a log that is half read is by chance of the rest; what always runs may not.
            for _ in 0..8 {
                stage.tab.slow_down(times).await;
                stage.enter().await;
                stage.show(&address).await;
                stage.tab.slow_down(1.0).await;
                held = held_for_rest(&stage.tab).await;
                if held.is_empty() {
                    break;
                }
            }
            assert!(
                held.is_empty(),
                "{address}: no request that the page waits for; `cargo xtask calls` helps"
            );
        }
    });
}

/// Logs that were written while an agent worked hold its texts piece by piece, and their rows change while they are read.
#[test]
fn a_log_of_pieces_does_not_hold_the_page_for_the_rest() {
    let files = [
        ("/one.jsonl", streamed_log_of("one", 1)),
        ("/several.jsonl", streamed_log_of("several", 9)),
        ("/stored.jsonl", stored_log_of("stored", 9)),
    ];
    on_stage("rest_of_pieces", FEED, files.to_vec(), async |stage| {
        for (address, _) in &files {
            let mut held = Vec::new();
            // What a busy machine makes the page run now and then may be of the rest; what it always runs may not.
            for _ in 0..5 {
                stage.enter().await;
                stage.show(address).await;
                held = held_for_rest(&stage.tab).await;
                if held.is_empty() {
                    break;
                }
            }
            assert!(
                held.is_empty(),
                "{address}: no request that the page waits for; `cargo xtask calls` helps"
            );
        }
    });
}

#[test]
fn a_long_log_does_not_hold_the_page_for_the_rest() {
    let log = log_of("long", 15_000);
    assert!(log.len() > 3_000_000, "{} bytes are too few", log.len());
    let files = vec![("/log.jsonl", log)];
    on_stage("rest_in_time", FEED, files, async |stage| {
        stage
            .tab
            .run(
                "const whole = window.fetch;
                 window.fetch = async (address, options) => {
                     if (String(address).includes('/rest-')) await __test.sleep(700);
                     return whole(address, options);
                 };
                 __test.feed().setAttribute('src', '/log.jsonl');",
            )
            .await;
        let ready = "__test.feed().getAttribute('state') === 'ready'";
        stage.tab.wait_for("the log to be read", SHORT, ready).await;
        let asked: Vec<String> = stage.tab.eval(ASKED_FOR_REST).await;
        assert_eq!(asked, ["fetch"], "and no request that the page waits for");
    });
}

#[test]
fn a_part_that_does_not_come_is_told_and_tried_again() {
    on_stage("lacking", FEED, Vec::new(), async |stage| {
        stage.tab.expect_problems("cut off by the test");
        stage
            .tab
            .run(
                "const whole = window.fetch; window.isCut = true;
                 window.fetch = (address, options) => window.isCut && String(address).includes('readers-')
                     ? Promise.reject(new TypeError('cut off by the test')) : whole(address, options);",
            )
            .await;
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/sessions/read-edit/input.stream.jsonl"
        );
        let lines = std::fs::read_to_string(path).expect("the story has an input");
        stage.append(&lines).await;
        stage
            .tab
            .wait_for(
                "the page to say what it lacks",
                SHORT,
                "__test.text(__test.feed()).includes('The part of this page that reads the logs of other programs was not loaded')",
            )
            .await;
        stage
            .tab
            .run(
                "window.isCut = false;
                 __test.feed().shadowRoot.querySelector('.note--lacks button').click();",
            )
            .await;
        stage
            .tab
            .wait_for(
                "the rows of what was held",
                SHORT,
                "__test.rows().length > 0",
            )
            .await;
        let lacks: bool = stage
            .tab
            .eval("!!__test.feed().shadowRoot.querySelector('.note--lacks')")
            .await;
        assert!(!lacks, "nothing lacks any more");
    });
}

/// Shows a log; what stands around its rows is held back until `letGo()`.
async fn show_rows_alone(stage: &Stage) {
    stage
        .tab
        .run(
            "const whole = window.fetch;
             window.fetch = (address, options) => String(address).includes('around-')
                 ? new Promise((done) => { window.letGo = () => done(whole(address, options)); })
                 : whole(address, options);
             __test.feed().setAttribute('src', '/log.jsonl');",
        )
        .await;
    let ready = "__test.feed().getAttribute('state') === 'ready'";
    stage.tab.wait_for("the log to be read", SHORT, ready).await;
}

async fn wait_until_asked_for(stage: &Stage) {
    let asked = "typeof window.letGo === 'function'";
    stage
        .tab
        .wait_for("the part to be asked for", SHORT, asked)
        .await;
}

#[test]
fn no_row_moves_when_what_stands_around_them_comes() {
    for (name, width_px) in [("bare", 1280), ("bare_narrow", 600)] {
        let files = vec![("/log.jsonl", log_of("log", 200))];
        on_stage(name, FEED, files, async |stage| {
            stage.tab.look(false, (width_px, 800)).await;
            show_rows_alone(&stage).await;
            // Where the list and its last row end.
            let ends = "(() => {
                const list = __test.feed().scroller.getBoundingClientRect();
                return [list.top, list.bottom, __test.rows().at(-1).getBoundingClientRect().bottom];
            })()";
            let first: [f64; 3] = stage.tab.eval(ends).await;
            assert!(first[1] - first[0] > 300.0, "{first:?}");
            // At once after the last event the row at the end may still be on its way to its place.
            wait_until_asked_for(&stage).await;
            let bare: [f64; 3] = stage.tab.eval(ends).await;
            assert_eq!(first[..2], bare[..2], "where the list is");
            stage.tab.run("window.letGo();").await;
            let player = "!!__test.one('[part=player]')";
            stage.tab.wait_for("the player", SHORT, player).await;
            let around: [f64; 3] = stage.tab.eval(ends).await;
            assert_eq!(bare, around);
        });
    }
}

#[test]
fn keys_that_are_pressed_before_their_part_is_here_act_when_it_comes() {
    let files = vec![("/log.jsonl", log_of("log", 200))];
    on_stage("early_keys", FEED, files, async |stage| {
        show_rows_alone(&stage).await;
        stage.tab.run("__test.feed().scroller.focus();").await;
        stage.tab.press("?").await;
        wait_until_asked_for(&stage).await;
        let opened: bool = stage.tab.eval("!!__test.one('dialog.help').open").await;
        assert!(!opened, "what a key asks for is not here yet");
        stage.tab.run("window.letGo();").await;
        stage
            .tab
            .wait_for("the keys to act", SHORT, "!!__test.one('dialog.help').open")
            .await;
    });
}

#[test]
fn what_is_written_behind_an_early_slash_is_looked_for() {
    let files = vec![("/log.jsonl", log_of("log", 200))];
    on_stage("early_words", FEED, files, async |stage| {
        show_rows_alone(&stage).await;
        stage.tab.run("__test.feed().scroller.focus();").await;
        // Each of these letters is a key of its own, too.
        for key in ["/", "j", "o", "u"] {
            stage.tab.press(key).await;
        }
        wait_until_asked_for(&stage).await;
        stage.tab.run("window.letGo();").await;
        let written = "__test.one('.find__field')?.value === 'jou'";
        stage.tab.wait_for("the words", SHORT, written).await;
        stage.tab.type_text("x").await;
        let written = "__test.one('.find__field').value === 'joux'";
        stage.tab.wait_for("the next letter", SHORT, written).await;
    });
}

#[test]
fn keys_are_the_browsers_where_their_part_does_not_come() {
    let files = vec![("/log.jsonl", log_of("log", 200))];
    on_stage("late_keys", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.expect_problems("cut off by the test");
        tab.run(
            "const whole = window.fetch; window.isCut = true;
             window.fetch = (address, options) => window.isCut && String(address).includes('around-')
                 ? Promise.reject(new TypeError('cut off by the test')) : whole(address, options);
             __test.feed().setAttribute('src', '/log.jsonl');",
        )
        .await;
        let ready = "__test.feed().getAttribute('state') === 'ready'";
        tab.wait_for("the log to be read", SHORT, ready).await;
        tab.run("__test.feed().scroller.focus();").await;
        tab.press("?").await;
        let lacks = "!!__test.visible('.note--lacks')";
        tab.wait_for("word of what lacks", SHORT, lacks).await;
        let is_taken: bool = tab
            .eval("!__test.feed().scroller.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true, composed: true, cancelable: true }))")
            .await;
        assert!(!is_taken, "it scrolls");
        tab.run("window.isCut = false; __test.one('.note--lacks button').click();")
            .await;
        let is_here = "!!__test.one('dialog.help')?.firstElementChild";
        tab.wait_for("the part", SHORT, is_here).await;
        tab.run("await __test.frames(3)").await;
        let opened: bool = tab.eval("__test.one('dialog.help').open").await;
        assert!(!opened, "what was pressed long ago is forgotten");
    });
}
