//! The whole path in a real browser: recorded sessions through `turnreel pipe`, the server, the socket and the page,
//! with the server killed and the socket cut on the way; the list; the token; files dropped on the page.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::expect_used,
    reason = "a test that cannot read its subject fails"
)]

#[path = "support/browser.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod browser;
#[path = "support/compare.rs"]
mod compare;
#[path = "support/made_logs.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod made_logs;
#[path = "support/proxy.rs"]
mod proxy;
#[path = "support/server.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod server;
#[path = "support/stories.rs"]
mod stories;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use browser::{Tab, Visit, in_browser};
use compare::difference;
use made_logs::Writer;
use proxy::Proxy;
use server::{Pipe, Server, page_of};
use stories::Story;

const STORIES: [&str; 6] = [
    "read-edit",
    "bash",
    "parallel",
    "subagent",
    "multi-turn",
    "sigkill",
];
/// Each story takes this long, whatever it took when it was recorded.
const STORY_LENGTH: Duration = Duration::from_secs(6);
/// How long the server is away after each kill.
const DOWN_TIME: Duration = Duration::from_millis(500);
/// The page waits longer after each failure, 30 s at most; all of it must fit.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(75);
const SHORT: Duration = Duration::from_secs(20);
const LIVE: &str = "['live', 'ended'].includes(__test.feed()?.getAttribute('state'))";

fn with_server<F>(name: &'static str, limit_s: u64, play: impl FnOnce(Arc<Visit>, PathBuf) -> F)
where
    F: Future<Output = ()>,
{
    let Some(program) = server::turnreel() else {
        return;
    };
    in_browser(name, Duration::from_secs(limit_s), |visit| {
        play(visit, program)
    });
}

#[test]
fn a_session_dropped_live_and_reloaded_is_shown_the_same_to_the_byte() {
    with_server("stories", 240, async |visit, program| {
        // Another number cuts at other moments; each is printed.
        let seed = std::env::var("TURNREEL_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or(1_u64);
        let stories = STORIES
            .iter()
            .enumerate()
            .map(|(at, name)| tell(&visit, &program, name, seed + at as u64));
        let failures: Vec<String> = futures::future::join_all(stories)
            .await
            .into_iter()
            .flatten()
            .collect();
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    });
}

/// Tells one story three ways; returned is how they differ.
async fn tell(visit: &Visit, program: &Path, name: &'static str, seed: u64) -> Vec<String> {
    let story = Story::read(name);
    let (n_events, session) = story.events();
    let mut server = Server::start(program).await;
    let proxy = Proxy::start(server.port).await;
    let tab = visit.tab(name).await;
    tab.goto(&format!("{}/#token={}", proxy.url, server.token))
        .await;
    tab.wait_for(
        "the list of sessions",
        SHORT,
        "__test.one('.sessions__list')",
    )
    .await;

    // Live: the page, the agent, a killer of the server and a cutter of connections, all at once.
    println!("{name}: {n_events} events, connections cut by seed {seed}");
    let mut pipe = Pipe::start(&server, &[]);
    let cutting = proxy.cut_at_random(seed, (700, 2500));
    let data = server.data().to_owned();
    let watching = async {
        open_from_list(&tab, &session).await;
        tab.wait_for("the session to be live", CATCH_UP_LIMIT, LIVE)
            .await;
        // Whatever the dice say: once while it is certainly followed.
        proxy.cut_all();
    };
    let killing = async {
        for part in [1, 2] {
            let idx = n_events * part / 3;
            wait_until(&format!("{name}: event {idx} in the log"), SHORT, || {
                server::n_logged(&data, &session) >= idx
            })
            .await;
            server.kill().await;
            tokio::time::sleep(DOWN_TIME).await;
            server.restart().await;
        }
    };
    let began = Instant::now();
    let ((), (), ()) = futures::join!(story.play(&mut pipe, STORY_LENGTH), watching, killing);
    assert!(
        began.elapsed() >= Duration::from_secs(5),
        "{name}: told in {:?}",
        began.elapsed()
    );
    let end = pipe.finish().await;
    cutting.abort();
    let mut failures = Vec::new();
    if end.code != Some(0) {
        failures.push(format!(
            "{name}: the pipe ended with {:?}: {}",
            end.code, end.stderr
        ));
    }
    if end.stdout != story.bytes {
        failures.push(format!(
            "{name}: the pipe gave {} bytes for {}",
            end.stdout.len(),
            story.bytes.len()
        ));
    }
    let n_logged = server::n_logged(server.data(), &session);
    if n_logged != n_events {
        failures.push(format!(
            "{name}: {n_logged} events are in the log, {n_events} were sent: {}",
            end.stderr
        ));
    }
    settle(&tab, &format!("{name}, live"), n_logged).await;
    let live: String = tab
        .eval("__test.feed().serializeRows({ maskTimes: false })")
        .await;
    println!(
        "{name}: {} connections cut, {} sockets made, live after {:?}",
        proxy.n_cut(),
        tab.n_sockets_made(),
        began.elapsed()
    );

    // The same address again, in a page that knows nothing.
    tab.goto("about:blank").await;
    tab.goto(&page_of(&proxy.url, &server.token, &session))
        .await;
    settle(&tab, &format!("{name}, loaded again"), n_logged).await;
    let again: String = tab
        .eval("__test.feed().serializeRows({ maskTimes: false })")
        .await;
    let again_masked: String = tab
        .eval("__test.feed().serializeRows({ maskTimes: true })")
        .await;

    // The file itself, dropped on the page.
    tab.goto("about:blank").await;
    tab.goto(&format!("{}/#token={}", server.url, server.token))
        .await;
    tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
        .await;
    tab.drop_files(&[&story.path]).await;
    settle(&tab, &format!("{name}, dropped"), n_events).await;
    let dropped_masked: String = tab
        .eval("__test.feed().serializeRows({ maskTimes: true })")
        .await;
    assert_nothing_uploaded(&tab);

    if proxy.n_cut() == 0 {
        failures.push(format!("{name}: no connection was cut"));
    }
    if !live.contains("class") || live.lines().count() < 10 {
        failures.push(format!("{name}: hardly anything was shown:\n{live}"));
    }
    println!("{name}: {} lines of rows compared", live.lines().count());
    failures.extend(difference(
        &format!("{name}: live and loaded again"),
        &live,
        &again,
    ));
    failures.extend(difference(
        &format!("{name}: dropped and loaded again, times masked"),
        &dropped_masked,
        &again_masked,
    ));
    failures
}

/// Waits for a session in the list and opens it there.
async fn open_from_list(tab: &Tab, session: &str) {
    let row = format!("__test.visible('.session[data-session-id=\"{session}\"]')");
    tab.wait_for(
        "the session to appear in the list by itself",
        CATCH_UP_LIMIT,
        &format!("!!{row}"),
    )
    .await;
    tab.run(&format!("{row}.click()")).await;
}

/// Waits until a page has all events and has come to rest.
async fn settle(tab: &Tab, what: &str, n_events: usize) {
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

async fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < limit, "waited {limit:?} for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn assert_nothing_uploaded(tab: &Tab) {
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

/// A log of some turns, and how many events it has.
fn small_log(session: &str, n_turns: u64) -> (String, usize) {
    let mut writer = Writer::new(session);
    for number in 1..=n_turns {
        writer.turn(number);
    }
    let n_events = usize::try_from(writer.n_events()).expect("a small number");
    (writer.take(), n_events)
}

#[test]
fn a_session_appears_in_the_list_by_itself_and_is_shown_as_it_happens() {
    with_server("list", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for(
            "the list of sessions",
            SHORT,
            "__test.one('.sessions__list')",
        )
        .await;
        let address: String = tab.eval("location.href").await;
        assert!(
            !address.contains(&server.token),
            "the token does not stay in the address: {address}"
        );

        let story = Story::read("read-edit");
        let (n_events, session) = story.events();
        let mut pipe = Pipe::start(&server, &["--prompt", "Rename the thing, please"]);
        let watching = async {
            open_from_list(&tab, &session).await;
            tab.wait_for(
                "the prompt to be shown",
                SHORT,
                "__test.text(__test.feed()).includes('Rename the thing, please')",
            )
            .await;
            tab.wait_for(
                "text of the answer",
                SHORT,
                "!!__test.feed().shadowRoot.querySelector('.assistant-text')",
            )
            .await;
            Instant::now()
        };
        let playing = async {
            story.play(&mut pipe, Duration::from_secs(8)).await;
            Instant::now()
        };
        let (seen_at, ended_at) = futures::join!(watching, playing);
        assert!(
            seen_at < ended_at,
            "text was seen before the agent was at its end"
        );
        let end = pipe.finish().await;
        assert_eq!(end.code, Some(0), "{}", end.stderr);
        assert!(end.stdout == story.bytes, "what went in came out");
        // The prompt is an event that the file does not have, or stands in place of one that said there was none.
        let n_logged = server::n_logged(server.data(), &session);
        assert!(n_logged >= n_events, "{n_logged} events for {n_events}");
        settle(&tab, "live", n_logged).await;
        assert!(
            tab.network_errors().is_empty(),
            "{:?}",
            tab.network_errors()
        );
    });
}

#[test]
fn a_page_says_that_the_server_is_away_and_comes_back_by_itself() {
    with_server("away", 150, async |visit, program| {
        let mut server = Server::start(&program).await;
        let (log, n_events) = small_log("away", 3);
        pipe_all(&server, &log).await;
        let tab = visit.tab("page").await;
        tab.goto(&server.page_of("away")).await;
        settle(&tab, "before", n_events).await;
        tab.wait_for(
            "the chip to say Live",
            SHORT,
            "__test.one('.connection')?.textContent.includes('Live')",
        )
        .await;

        server.kill().await;
        tab.wait_for(
            "the chip to say that it reconnects",
            SHORT,
            "/Reconnecting in \\d+ s|Offline, data as of/.test(__test.one('.connection')?.textContent ?? '')",
        )
        .await;
        let rows: usize = tab.eval("__test.rows().length").await;
        assert!(rows > 3, "what was shown stays");
        server.restart().await;
        tab.wait_for(
            "the chip to say Live again",
            CATCH_UP_LIMIT,
            "__test.one('.connection')?.textContent.includes('Live')",
        )
        .await;
        let (more, n_all) = small_log("away", 5);
        pipe_all(&server, &more).await;
        settle(&tab, "after", n_all).await;
    });
}

/// Sends a log to the server by `turnreel pipe`.
async fn pipe_all(server: &Server, log: &str) {
    let mut pipe = Pipe::start(server, &[]);
    pipe.feed(log.as_bytes()).await;
    let end = pipe.finish().await;
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    assert!(end.stdout == log.as_bytes(), "what went in came out");
}

#[test]
fn without_the_right_token_the_page_asks_for_it() {
    with_server("token", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let (log, n_events) = small_log("secret", 2);
        pipe_all(&server, &log).await;
        let wrong = "A".repeat(43);
        for (name, address) in [
            ("wrong", page_of(&server.url, &wrong, "secret")),
            ("none", format!("{}/#session=secret", server.url)),
        ] {
            let tab = visit.tab(name).await;
            tab.goto(&address).await;
            tab.wait_for(
                "the page to ask for the token",
                SHORT,
                "!!__test.visible('input[type=password]')",
            )
            .await;
            let text: String = tab.eval("__test.text()").await;
            assert!(text.to_lowercase().contains("token"), "it says why: {text}");
            assert!(
                !text.contains("Prompt 1"),
                "and shows nothing of the session"
            );
            tab.click("__test.visible('input[type=password]')").await;
            tab.type_text(&server.token).await;
            tab.press("Enter").await;
            settle(&tab, name, n_events).await;
            let asks: bool = tab.eval("!!__test.visible('input[type=password]')").await;
            assert!(!asks, "with the right token it asks no more");
            let kept: String = tab.eval("JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, document.cookie])").await;
            assert!(
                !kept.contains(&server.token),
                "the token is kept in memory alone: {kept}"
            );
        }
    });
}

#[test]
fn a_file_that_is_no_session_is_refused_in_words() {
    with_server("no_session", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let png: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01";
        let cases: [(&str, &[u8], &[&str]); 4] = [
            (
                "picture.png",
                png,
                &["not a session log: line 1 is", "formats read are"],
            ),
            (
                "notes.txt",
                b"Dear diary,\ntoday nothing happened.\n",
                &["not a session log: line 1 is", "formats read are"],
            ),
            (
                "other.json",
                b"{\"name\": \"something\", \"version\": 1}\n",
                &["not a session log: line 1 is", "formats read are"],
            ),
            ("empty.jsonl", b"", &["not a session log"]),
        ];
        for (name, content, words) in cases {
            let path = folder.path().join(name);
            std::fs::write(&path, content).expect("a file is written");
            let tab = visit.tab(name).await;
            tab.goto(&format!("{}/#token={}", server.url, server.token))
                .await;
            tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
                .await;
            tab.drop_files(&[&path]).await;
            tab.wait_for(
                &format!("a word about {name}"),
                SHORT,
                "__test.visible('[role=alert]')?.textContent",
            )
            .await;
            let said: String = tab.eval("__test.visible('[role=alert]').textContent").await;
            for word in words {
                assert!(
                    said.contains(word),
                    "{name}: {said:?} does not say {word:?}"
                );
            }
            let state: String = tab.eval("__test.feed().getAttribute('state')").await;
            assert_eq!(state, "error", "{name}");
            // The rest stays usable: a good file shows as if nothing had been.
            let good = folder.path().join("good.jsonl");
            let (log, n_events) = small_log("good", 2);
            std::fs::write(&good, log).expect("a file is written");
            tab.drop_files(&[&good]).await;
            settle(&tab, "a good file after a bad one", n_events).await;
            let still: bool = tab.eval("!!__test.visible('[role=alert]')").await;
            assert!(!still, "{name}: the word is taken back");
            assert_nothing_uploaded(&tab);
        }
    });
}

#[test]
fn the_sessions_of_a_dropped_folder_are_listed_and_each_opens() {
    with_server("folder", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("logs/project");
        std::fs::create_dir_all(&project).expect("folders are made");
        let mut n_events = Vec::new();
        for (name, n_turns) in [("one", 2), ("two", 5)] {
            let (log, events) = small_log(name, n_turns);
            std::fs::write(project.join(format!("{name}.jsonl")), log).expect("a log is written");
            n_events.push((name, events));
        }
        std::fs::write(project.join("notes.md"), "no session").expect("a file is written");
        let tab = visit.tab("folder").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        tab.drop_files(&[&folder.path().join("logs")]).await;
        let listed = "[...document.querySelectorAll('button.session')].filter((row) => row.title.startsWith('logs/project/'))";
        tab.wait_for(
            "both sessions in the list",
            SHORT,
            &format!("{listed}.length === 2"),
        )
        .await;
        for (name, events) in n_events {
            tab.run(&format!(
                "{listed}.find((row) => row.title.endsWith('/{name}')).click()"
            ))
            .await;
            settle(&tab, name, events).await;
        }
        // The titles come from the sessions' beginnings.
        tab.wait_for(
            "titles in the list",
            SHORT,
            &format!("{listed}.every((row) => !/^(one|two)$/.test(row.querySelector('.session__title').textContent))"),
        )
        .await;
        assert_nothing_uploaded(&tab);
    });
}

#[test]
fn a_line_that_cannot_be_read_is_shown_where_it_stands() {
    with_server("bad_line", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let (log, n_events) = small_log("damaged", 3);
        let mut lines: Vec<&str> = log.lines().collect();
        // After the first turn, so that there are rows before and behind it.
        let at = lines
            .iter()
            .position(|line| line.contains("turn_end"))
            .expect("a turn ends")
            + 1;
        lines.insert(at, "{\"id\":\"broken\", this is not JSON");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("damaged.jsonl");
        std::fs::write(&path, lines.join("\n")).expect("a file is written");
        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        tab.drop_files(&[&path]).await;
        settle(&tab, "the damaged file", n_events + 1).await;
        tab.run("__test.feed().goToEvent(0)").await;
        let text: String = tab
            .eval("__test.feed().serializeRows({ maskTimes: true })")
            .await;
        let line_number = (at + 1).to_string();
        let notice = text
            .find("notice--warning")
            .unwrap_or_else(|| panic!("there is a warning in:\n{text}"));
        let around: String = text[notice..].chars().take(1500).collect();
        assert!(
            around.contains(&line_number),
            "it names line {line_number}:\n{around}"
        );
        let (before, behind) = (text.find("Prompt 1:"), text.find("Prompt 2:"));
        assert!(
            before < Some(notice) && Some(notice) < behind,
            "it stands between its neighbours"
        );
        assert!(text.contains("Prompt 3:"), "and the rest goes on");
        assert_nothing_uploaded(&tab);
    });
}

#[test]
fn the_page_is_served_under_its_policy_and_an_address_of_another_origin_is_not_opened() {
    with_server("headers", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let (head, _) = server.get("/").await;
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'",
            "require-trusted-types-for 'script'; trusted-types agent-feed",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(header), "{header} is missing in:\n{head}");
        }
        let (head, _) = server.get("/api/v1/sessions").await;
        assert!(head.contains("cache-control: no-store"), "{head}");

        // A policy that reports nothing could be one that is not there: a violation made on purpose is seen.
        let tab = visit.tab("policy").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let held: Vec<bool> = tab
            .eval("(async () => {
                const violations = [];
                addEventListener('securitypolicyviolation', (event) => { violations.push(event.violatedDirective); event.stopImmediatePropagation(); }, true);
                let evaluated = true, assigned = true;
                try { (0, eval)('1'); } catch { evaluated = false; }
                try { document.createElement('div').innerHTML = '<b>x</b>'; } catch { assigned = false; }
                return [evaluated, assigned];
            })()")
            .await;
        assert_eq!(
            held,
            [false, false],
            "neither text becomes code nor text becomes markup"
        );
        tab.expect_problems(
            "securitypolicyviolation|Content Security Policy|TrustedHTML|TrustedScript|Trusted Type",
        );

        let other = visit.tab("other_origin").await;
        other
            .goto(&format!(
                "{}/?src=http%3A%2F%2F127.0.0.1%3A9%2Flog.jsonl#token={}",
                server.url, server.token
            ))
            .await;
        other
            .wait_for(
                "a word about it",
                SHORT,
                "__test.visible('[role=alert]')?.textContent.includes('own origin')",
            )
            .await;
        let out: Vec<_> = other
            .requests()
            .into_iter()
            .filter(|sent| !sent.url.starts_with(&server.url))
            .collect();
        assert!(out.is_empty(), "{out:?}");
    });
}

#[test]
fn a_full_diff_is_fetched_on_demand_and_once() {
    with_server("full_diff", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let mut writer = Writer::new("diffs");
        writer.turn(1);
        let body: String = (1..=6000)
            .map(|line| format!("-old line {line}\n+new line {line}\n"))
            .collect();
        let diff = format!("--- a/big.rs\n+++ b/big.rs\n@@ -1,6000 +1,6000 @@\n{body}");
        let preview: String = diff.split_inclusive('\n').take(60).collect();
        let place = json!({"turnId": "t1", "responseId": "r1"});
        writer.event("tool_call", &place, &json!({"toolCallId": "big", "toolName": "Edit", "kind": "edit", "args": {"file_path": "big.rs"}}));
        writer.event(
            "file_edit",
            &place,
            &json!({"toolCallId": "big", "filePath": "big.rs", "changeType": "modified", "linesAdded": 6000, "linesRemoved": 6000,
                "diffPreview": preview, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}),
        );
        writer.event(
            "tool_result",
            &place,
            &json!({"toolCallId": "big", "result": "done"}),
        );
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        pipe_all(&server, &writer.take()).await;
        let tab = visit.tab("page").await;
        tab.goto(&server.page_of("diffs")).await;
        settle(&tab, "the session", n_events).await;
        let n_fetched = || {
            tab.requests()
                .iter()
                .filter(|sent| sent.url.contains("/file-diffs/"))
                .count()
        };
        let edit = "__test.all('.file-edit').find((row) => row.textContent.includes('big.rs'))";
        let toggle = format!("{edit}.querySelector('[aria-expanded]').click()");
        tab.run(&toggle).await;
        tab.wait_for(
            "the beginning of the diff",
            SHORT,
            &format!("{edit}.textContent.includes('new line 20')"),
        )
        .await;
        assert_eq!(n_fetched(), 0, "nothing is fetched before it is asked for");
        let button = format!(
            "[...{edit}.querySelectorAll('button')].find((button) => /full diff/i.test(button.textContent))"
        );
        tab.run(&format!("{button}.click()")).await;
        tab.wait_for("the whole diff", SHORT, &format!("{edit}.textContent.includes('new line 100') && !{edit}.textContent.includes('Loading')")).await;
        assert_eq!(n_fetched(), 1);
        for _ in 0..2 {
            tab.run(&toggle).await;
            tab.run("await __test.rest()").await;
        }
        assert_eq!(n_fetched(), 1, "what is here is not fetched again");
    });
}

#[test]
fn a_feed_that_is_removed_closes_its_socket() {
    with_server("sockets", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let (log, n_events) = small_log("sockets", 2);
        pipe_all(&server, &log).await;
        let tab = visit.tab("page").await;
        tab.goto(&server.page_of("sockets")).await;
        settle(&tab, "the session", n_events).await;
        tab.wait_for(
            "the chip to say Live",
            SHORT,
            "__test.one('.connection')?.textContent.includes('Live')",
        )
        .await;
        let before = tab.open_sockets().len();
        let token = json!(server.token);
        tab.run(&format!(
            "for (let at = 0; at < 3; at += 1) {{
                const feed = document.createElement('agent-feed');
                feed.className = 'extra'; feed.token = {token}; feed.setAttribute('session', 'sockets');
                document.body.append(feed);
            }}"
        ))
        .await;
        tab.wait_for(
            "three more feeds to be live",
            SHORT,
            "__test.all('agent-feed.extra').length === 3 && __test.all('agent-feed.extra').every((feed) => feed.getAttribute('state') === 'live')",
        )
        .await;
        wait_until("three more sockets", SHORT, || {
            tab.open_sockets().len() == before + 3
        })
        .await;
        tab.run("for (const feed of __test.all('agent-feed.extra')) feed.remove();")
            .await;
        wait_until("their sockets to be closed", SHORT, || {
            tab.open_sockets().len() == before
        })
        .await;
    });
}

#[test]
fn hostile_titles_and_file_names_are_text_in_the_list_and_on_the_page() {
    with_server("hostile_names", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let bad = "<img src=x onerror=window.__pwned=1>\"'><script>window.__pwned=1</script>";
        let mut writer = Writer::new("hostile");
        let facts = json!({"title": bad, "agent": bad, "model": bad, "cwd": format!("/{bad}"), "gitBranch": bad});
        writer.event("session_start", &json!({}), &facts);
        writer.turn(1);
        let log = writer.take();
        pipe_all(&server, &log).await;
        let folder = tempfile::tempdir().expect("a folder");
        // A slash is the only character of it that a file's name cannot hold.
        let path = folder
            .path()
            .join(format!("{}.jsonl", bad.replace('/', "\u{2215}")));
        std::fs::write(&path, &log).expect("a file is written");

        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let own: usize = tab
            .eval("document.querySelectorAll('img, iframe, object').length")
            .await;
        open_from_list(&tab, "hostile").await;
        tab.wait_for(
            "the title to be shown as it is written",
            SHORT,
            "__test.one('.session__title')?.textContent.includes('<img src=x') && __test.one('.bar__title')?.textContent.includes('<img src=x')",
        )
        .await;
        tab.drop_files(&[&path]).await;
        tab.wait_for(
            "the file to be read",
            SHORT,
            "__test.feed().getAttribute('state') === 'ready'",
        )
        .await;
        let made: usize = tab.eval("__test.all('img, iframe, object').length").await;
        assert_eq!(made, own, "no text became an element");
        let ran: bool = tab.eval("'__pwned' in window").await;
        assert!(!ran, "no text ran");
        assert_nothing_uploaded(&tab);
        let elsewhere: Vec<_> = tab
            .requests()
            .into_iter()
            .filter(|sent| !sent.url.starts_with(&server.url) && !sent.url.starts_with("data:,"))
            .collect();
        assert!(elsewhere.is_empty(), "{elsewhere:?}");
    });
}
