//! The list of sessions with thousands of them: few rows in the page, who needs somebody first, found by words, gone
//! through by keys; and several sessions beside each other, each in its own order.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};

use crate::SHORT;
use crate::browser::{Visit, in_browser};
use crate::server::{self, Server};
use crate::sessions::with_server;

const N_SESSIONS: usize = 3_000;
/// Filling the server is most of the time.
const LIMIT: Duration = Duration::from_secs(400);
const LONG: Duration = Duration::from_secs(60);
/// Far below a hundredth of what is there, and above what a screen and its margins hold.
const MOST_ROWS: u64 = 60;

/// It happened some minutes ago: long enough for a session that is done not to rest, and not so long that it came late.
fn event(session: &str, n: usize, kind: &str, payload: &Value) -> Value {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let now_ms = u64::try_from(now.expect("a clock").as_millis()).expect("a time");
    let begun_ms = now_ms - 8 * 60_000;
    json!({
        "id": format!("{session}-{n}"), "timestamp": begun_ms + n as u64, "sessionId": session,
        "turnId": "t1", "type": kind, "payload": payload,
    })
}

fn session(id: &str, more: &[(&str, Value)]) -> Value {
    let start = json!({"agent": "Made 1.0", "cwd": format!("/home/m/{}", ["tidepool", "docs"][id.len() % 2]), "title": format!("Task {id}")});
    let mut events = vec![
        event(id, 0, "session_start", &start),
        event(id, 1, "turn_start", &json!({"trigger": "user"})),
    ];
    for (n, (kind, payload)) in more.iter().enumerate() {
        events.push(event(id, n + 2, kind, payload));
    }
    Value::from(events)
}

async fn fill(server: &Server) {
    let call = |command: &str| {
        let args = json!({"command": command});
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": args}),
        )
    };
    let ask = (
        "permission_request",
        json!({"requestId": "r1", "toolCallId": "c1", "toolName": "Bash", "args": {"command": "rm -rf old"}}),
    );
    server
        .send("asks", &session("asks", &[call("rm -rf old"), ask]))
        .await;
    // All others are newer.
    futures::stream::iter(0..N_SESSIONS)
        .for_each_concurrent(16, async |n| {
            let id = format!("s{n}");
            let end = ("turn_end", json!({"outcome": "completed"}));
            server.send(&id, &session(&id, &[end])).await;
        })
        .await;
    server
        .send("works", &session("works", &[call("cargo check")]))
        .await;
    let failure = ("error", json!({"message": "the version exists"}));
    server.send("fails", &session("fails", &[failure])).await;
}

#[test]
fn thousands_of_sessions_are_a_screen_of_rows_and_who_needs_you_is_first() {
    let Some(program) = server::turnreel() else {
        return;
    };
    in_browser("list", LIMIT, async |visit: Arc<Visit>| {
        let server = Server::start(&program).await;
        fill(&server).await;
        let tab = visit.tab("list").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for(
            "all sessions",
            LONG,
            "[...document.querySelectorAll('[role=option]')].at(0)?.getAttribute('aria-setsize') === '3003'",
        )
        .await;
        let n_rows = "document.querySelectorAll('.session').length";
        let mut most = 0;
        for share in [0.0, 0.3, 0.77, 1.0] {
            tab.run(&format!("const l = document.getElementById('sessions-list'); l.scrollTop = (l.scrollHeight - l.clientHeight) * {share}; await __test.frames(3);")).await;
            let covered: bool = tab
                .eval("(() => { const l = document.getElementById('sessions-list').getBoundingClientRect(); const rows = [...document.querySelectorAll('.sessions__item')].map((row) => row.getBoundingClientRect()); return Math.min(...rows.map((row) => row.top)) <= l.top + 10 && Math.max(...rows.map((row) => row.bottom)) >= l.bottom - 24; })()")
                .await;
            assert!(covered, "the screen is filled at {share}");
            most = most.max(tab.eval::<u64>(n_rows).await);
        }
        assert!(most <= MOST_ROWS, "{most} rows are mounted");
        tab.run("document.getElementById('sessions-list').scrollTop = 0; await __test.frames(3);")
            .await;
        // A letter with Ctrl is the browser's.
        let taken: bool = tab
            .eval("(() => { const l = document.querySelector('.sessions__all'); l.focus(); const key = (init) => !l.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init })); return key({ key: 'j', ctrlKey: true }) || key({ key: '/', ctrlKey: true }) || !key({ key: 'Home', ctrlKey: true }); })()")
            .await;
        assert!(
            !taken,
            "a key that is the browser's was taken, or one that is the list's was not"
        );
        let first: Vec<String> = tab
            .eval("[...document.querySelectorAll('.session')].slice(0, 3).map((row) => row.dataset.sessionId)")
            .await;
        assert_eq!(first, ["asks", "works", "fails"]);
        let headings: Vec<String> = tab
            .eval("[...document.querySelectorAll('.sessions__section')].slice(0, 3).map((heading) => heading.textContent)")
            .await;
        assert_eq!(headings, ["Needs you", "Running", "Earlier today"]);
        let said = |session: &str, words: &str| {
            format!(
                "document.querySelector('.session[data-session-id={session}]').textContent.includes('{words}')"
            )
        };
        assert!(
            tab.eval::<bool>(&said("asks", "Allow Bash: rm -rf old?"))
                .await
        );
        assert!(tab.eval::<bool>(&said("works", "$ cargo check")).await);
        assert!(tab.eval::<bool>(&said("fails", "the version exists")).await);

        // Found by words, left by keys.
        tab.run("document.getElementById('sessions-rows').focus()")
            .await;
        tab.press("/").await;
        tab.wait_for(
            "the filter to have the focus",
            SHORT,
            "document.activeElement.id === 'sessions-filter'",
        )
        .await;
        tab.type_text("s2999").await;
        let only = "[...document.querySelectorAll('.session')].map((row) => row.dataset.sessionId).join() === 's2999'";
        tab.wait_for("the one that fits", SHORT, only).await;
        // Who needs somebody is told of whatever is shown.
        let count: Vec<String> = tab
            .eval("[...document.querySelector('.sessions__count').children].map((part) => part.textContent)")
            .await;
        assert_eq!(count, ["1 of 3,003", "1 needs you", ""]);
        tab.run("const f = document.getElementById('sessions-filter'); f.value = 'is:failed'; f.dispatchEvent(new Event('input', {bubbles: true}));").await;
        tab.wait_for(
            "the one that failed",
            SHORT,
            &only.replace("s2999", "fails"),
        )
        .await;
        tab.run("const f = document.getElementById('sessions-filter'); f.value = 'is:open'; f.dispatchEvent(new Event('input', {bubbles: true}));").await;
        tab.wait_for(
            "what may be asked for",
            SHORT,
            "document.querySelector('.sessions__none')?.textContent.startsWith('`is:open` is none of waiting, ')",
        )
        .await;
        tab.click("__test.visible('.sessions__none .link')").await;
        let all = "document.getElementById('sessions-filter').value === '' && document.activeElement.id === 'sessions-filter' && !document.querySelector('.sessions__none')";
        tab.wait_for("all of them again", SHORT, all).await;
        tab.run("const f = document.getElementById('sessions-filter'); f.value = 'is:open'; f.dispatchEvent(new Event('input', {bubbles: true}));").await;
        let at = |session: &str| {
            format!(
                "document.getElementById(document.getElementById('sessions-rows').getAttribute('aria-activedescendant'))?.querySelector('.session').dataset.sessionId === '{session}'"
            )
        };
        tab.click("__test.visible('.sessions__waiting')").await;
        let led = format!(
            "document.getElementById('sessions-filter').value === '' && document.activeElement.id === 'sessions-rows' && {}",
            at("asks")
        );
        tab.wait_for("the one that waits, with all others", SHORT, &led)
            .await;
        tab.press("End").await;
        tab.wait_for(
            "the last one to be mounted and named",
            SHORT,
            "document.getElementById(document.getElementById('sessions-rows').getAttribute('aria-activedescendant'))?.getAttribute('aria-posinset') === '3003'",
        )
        .await;
        tab.press("Home").await;
        tab.wait_for("the first one", SHORT, &at("asks")).await;
        tab.press("j").await;
        tab.wait_for("the second one", SHORT, &at("works")).await;
        tab.press("Enter").await;
        tab.wait_for(
            "the session to be open",
            SHORT,
            "location.hash.includes('session=works') && __test.feed().getAttribute('session') === 'works'",
        )
        .await;

        // What a link opens is shown in the list, however late the rest of that comes.
        let by_link = visit.tab("link").await;
        by_link.goto(&server.page_of("s1")).await;
        let shown = "(() => { const list = document.getElementById('sessions-list'), row = list?.querySelector('.session[data-open]')?.getBoundingClientRect(), box = list?.getBoundingClientRect(); return list?.querySelector('[role=option]')?.getAttribute('aria-setsize') === '3003' && !!row && row.top >= box.top && row.bottom <= box.bottom; })()";
        by_link.wait_for("its row", LONG, shown).await;
    });
}

#[test]
fn sessions_beside_each_other_keep_their_own_order_and_one_can_be_closed() {
    let Some(program) = server::turnreel() else {
        return;
    };
    in_browser("together", LIMIT, async |visit: Arc<Visit>| {
        let server = Server::start(&program).await;
        let text = |session: &str, n: usize| {
            let payload =
                json!({"text": format!("{session} says {n}"), "messageId": format!("m{n}")});
            ("assistant_done", payload)
        };
        for id in ["one", "two", "three"] {
            server.send(id, &session(id, &[text(id, 0)])).await;
        }
        let tab = visit.tab("together").await;
        tab.goto(&format!(
            "{}/#token={}&sessions=one,two,three",
            server.url, server.token
        ))
        .await;
        let feeds = "[...document.querySelectorAll('.together agent-feed')]";
        tab.wait_for("three feeds", LONG, &format!("{feeds}.length === 3"))
            .await;
        // All speak in turns.
        for n in 1..20 {
            for id in ["one", "two", "three"] {
                let (kind, payload) = text(id, n);
                let event = event(id, n + 2, kind, &payload);
                server.send(id, &Value::from(vec![event])).await;
            }
        }
        tab.wait_for(
            "each to say what is its own, in its own order",
            LONG,
            &format!("{feeds}.every((feed) => {{ const id = feed.getAttribute('session'), text = __test.text(feed); const said = [...text.matchAll(/(one|two|three) says (\\d+)/g)]; return said.length > 3 && said.every((word) => word[1] === id) && said.every((word, at) => at === 0 || Number(word[2]) > Number(said[at - 1][2])) && said.at(-1)[2] === '19'; }})"),
        )
        .await;
        assert!(
            tab.eval::<bool>("location.hash === '#sessions=one%2Ctwo%2Cthree' && document.querySelector('.together__title').textContent === 'Task one'").await
        );
        let names: Vec<String> = tab
            .eval("[...document.querySelectorAll('.together__column, .together__column button')].map((it) => it.ariaLabel)")
            .await;
        assert_eq!(
            names[..3],
            ["Task one", "Open Task one", "Stop watching Task one"]
        );
        // A link to an event opens the session that it is of.
        tab.run("window.copied = ''; navigator.clipboard.writeText = async (text) => { copied = text; }; const feed = document.querySelector('.together agent-feed[session=three]'); await feed.focusFeed(); await feed.copyLink();")
            .await;
        tab.wait_for("a link", SHORT, "copied !== ''").await;
        let link: Value = tab
            .eval("Object.fromEntries(new URLSearchParams(new URL(copied).hash.slice(1)))")
            .await;
        assert_eq!(link["session"], "three", "{link}");
        assert!(
            link["e"].is_string() && link["sessions"].is_null(),
            "{link}"
        );
        tab.run("window.kept = document.querySelector('.together agent-feed[session=three]'); const stop = document.querySelector('.together__column .icon-button'); stop.focus(); stop.click();").await;
        tab.wait_for(
            "the others to stay as they are",
            SHORT,
            &format!("{feeds}.map((feed) => feed.getAttribute('session')).join() === 'two,three' && document.querySelector('.together agent-feed[session=three]') === window.kept && location.hash === '#sessions=two%2Cthree'"),
        )
        .await;
        tab.wait_for(
            "keys to go on beside it",
            SHORT,
            "document.activeElement?.ariaLabel === 'Stop watching Task two'",
        )
        .await;
    });
}

#[test]
fn the_bar_says_which_moment_is_shown_and_has_the_ways_to_the_list() {
    let Some(program) = server::turnreel() else {
        return;
    };
    in_browser("bar", LIMIT, async |visit: Arc<Visit>| {
        let server = Server::start(&program).await;
        let text = |n: usize| {
            let payload = json!({"text": format!("Said {n}"), "messageId": format!("m{n}")});
            ("assistant_done", payload)
        };
        server
            .send("works", &session("works", &[text(1), text(2)]))
            .await;
        let ask = json!({"requestId": "r1", "toolName": "Bash", "args": {"command": "rm -rf old"}});
        server
            .send("asks", &session("asks", &[("permission_request", ask)]))
            .await;
        let tab = visit.tab("bar").await;
        tab.look(false, (1440, 900)).await;
        tab.goto(&server.page_of("works")).await;
        let chip = "(({ dataset, textContent, title }) => [dataset.state, textContent, title])(__test.one('.connection'))";
        let is_live =
            "__test.one('.connection')?.dataset.state === 'live' && __test.visible('#rewind')";
        tab.wait_for("the session", LONG, is_live).await;

        // The past is a replay, whatever comes meanwhile.
        tab.run("__test.feed().viewAsOf(3)").await;
        let is_back = "__test.one('.connection')?.dataset.state === 'replay' && !__test.one('.controls__follow')";
        tab.wait_for("the past", SHORT, is_back).await;
        let told: [String; 3] = tab.eval(chip).await;
        assert_eq!(
            told,
            ["replay", "Replay, Connection: Live", "Connection: Live"]
        );
        tab.run("__test.feed().returnToLive()").await;
        tab.wait_for("the newest", SHORT, is_live).await;

        // The list is put away, and comes again, by buttons.
        tab.click("__test.visible('#hide-sessions')").await;
        let hidden =
            "!__test.visible('nav.sessions') && document.activeElement.id === 'show-sessions'";
        tab.wait_for("no list", SHORT, hidden).await;
        // That another session waits is said without it, too.
        let badge = "__test.visible('#show-sessions .back__badge')?.textContent === '1' && document.getElementById('show-sessions').ariaLabel === 'Show sessions, 1 needs you' && document.title.startsWith('(1) ')";
        tab.wait_for("how many wait", SHORT, badge).await;
        tab.click("__test.visible('#show-sessions')").await;
        let shown =
            "!!__test.visible('nav.sessions') && document.activeElement.id === 'hide-sessions'";
        tab.wait_for("the list", SHORT, shown).await;
        // The menus of its filter say all of their words, however narrow it is.
        tab.click("__test.visible('.sessions__menu')").await;
        let whole = "document.querySelectorAll('.facet').length === 3 && [...document.querySelectorAll('.facet')].every((facet) => { const free = facet.cloneNode(true); free.style.cssText = 'position: absolute; inline-size: max-content; max-inline-size: none'; facet.parentElement.append(free); const wanted = free.offsetWidth; free.remove(); return facet.offsetWidth >= wanted; })";
        tab.wait_for("their words", SHORT, whole).await;
        // Also of sessions that were there before anybody typed.
        let offered = "document.querySelector('.facet[aria-label=Agent]').options.length > 1";
        tab.wait_for("an agent to choose", SHORT, offered).await;
        tab.click("__test.visible('.sessions__menu')").await;
        // By a key as well; who was in it is in it again.
        tab.run("document.getElementById('sessions-rows').focus()")
            .await;
        tab.press("b").await;
        tab.wait_for("no list", SHORT, hidden).await;
        tab.press("b").await;
        let in_list =
            "!!__test.visible('nav.sessions') && document.activeElement.id === 'sessions-rows'";
        tab.wait_for("the list and the focus in it", SHORT, in_list)
            .await;

        // In a narrow window the way back is in the bar, and most else in a menu.
        tab.look(false, (390, 844)).await;
        let narrow = "__test.visible('.back')?.getAttribute('aria-label') === 'Sessions, 1 needs you' && __test.feed().getBoundingClientRect().top === 0 && !__test.visible('#export-opener')";
        tab.wait_for("the bar to be narrow", SHORT, narrow).await;
        tab.click("__test.visible('#more-opener')").await;
        tab.wait_for("the menu", SHORT, "!!__test.visible('#export-opener')")
            .await;
        tab.click("__test.visible('#rewind')").await;
        let closed = "!__test.visible('#export-opener') && !!__test.visible('.strip')";
        tab.wait_for("the menu to go", SHORT, closed).await;
        // Where there is room for one of both, the key leads back as the button does, and changes nothing beside it.
        tab.run("__test.feed().scroller.focus()").await;
        tab.press("b").await;
        tab.wait_for("the list and the focus in it", SHORT, in_list)
            .await;
        tab.press("b").await;
        tab.look(false, (1440, 844)).await;
        tab.wait_for("the list as it was", SHORT, in_list).await;
    });
}

#[test]
fn a_page_with_nothing_open_says_whose_sessions_come_by_themselves() {
    with_server("follows", 60, async |visit, program| {
        let watch: &[&str] = &["watch", "--no-open", "--no-examples", "--skip", "pi,codex"];
        let serve: &[&str] = &["--no-examples"];
        for (arguments, says) in [
            (
                watch,
                "Followed on this machine: Claude Code, OpenCode, Gemini CLI, Qwen Code, Droid, Grok Build, Kimi Code, Mistral Vibe, Copilot CLI, OpenHands, Crush, Goose, Cline, Roo Code, Kilo Code. What they do comes into the list by itself.",
            ),
            (
                serve,
                "To watch the agents on a machine, run this there:turnreelCopy",
            ),
        ] {
            let server = Server::start_with(&program, arguments).await;
            let tab = visit.tab(arguments[0]).await;
            tab.goto(&format!("{}/#token={}", server.url, server.token))
                .await;
            let said = format!("__test.one('.empty')?.textContent.includes({says:?})");
            tab.wait_for("what is said of agents", SHORT, &said).await;
        }
    });
}
