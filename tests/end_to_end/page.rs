//! The page around the feed: the list that fills by itself, a server that goes away, the token, files and folders dropped on it,
//! its policy, and what hostile names become.

use std::time::Duration;

use serde_json::json;

use crate::SHORT;
use crate::made_logs::Writer;
use crate::server::{self, Pipe, Server, page_of};
use crate::sessions::{
    CATCH_UP_LIMIT, assert_nothing_uploaded, open_from_list, pipe_all, settle, wait_until,
    with_server,
};
use crate::stories::Story;

mod away;
mod files;

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
        };
        // The agent is not at its end before text of it was seen.
        story
            .play_beside(watching, &mut pipe, Duration::from_secs(8))
            .await;
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
fn a_session_in_which_a_turn_runs_says_how_long_it_has_been_going_on() {
    with_server("session_time", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let now_ms = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |passed| passed.as_millis());
        let now_ms = u64::try_from(now_ms).expect("a small number");
        let event = |n: u64, ago_ms: u64, kind: &str, payload: serde_json::Value| json!({"id": format!("e{n}"), "timestamp": now_ms - ago_ms, "sessionId": "goes-on", "turnId": "t1", "type": kind, "payload": payload});
        let begins = json!([
            event(0, 300_000, "turn_start", json!({"trigger": "user"})),
            event(1, 290_000, "user_message", json!({"text": "Go on"})),
        ]);
        server.send("goes-on", &begins).await;
        let tab = visit.tab("page").await;
        tab.goto(&server.page_of("goes-on")).await;
        let time = "__test.one('.bar__facts [data-clock]')?.textContent ?? ''";
        // Minutes, as long as the page may take to show it.
        tab.wait_for("the time", SHORT, &format!("/^[567]m \\d/.test({time})"))
            .await;
        let first: String = tab.eval(time).await;
        tab.wait_for("a second", SHORT, &format!("({time}) !== '{first}'"))
            .await;
        let ends = json!([event(
            2,
            240_000,
            "turn_end",
            json!({"outcome": "completed"})
        )]);
        server.send("goes-on", &ends).await;
        tab.wait_for(
            "what it took, which stands",
            SHORT,
            "!__test.one('.bar__facts [data-clock]') && __test.one('.bar__facts').textContent.includes('1m 00s')",
        )
        .await;
    });
}

/// What an opened session still fetches is drawn when it is here: by then another session may be open, whose rows bear
/// the same names.
#[test]
fn a_session_that_is_left_while_it_is_drawn_leaves_nothing_behind() {
    with_server("left", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let mut n_events = Vec::new();
        for (name, n_turns) in [("short", 1), ("long", 40)] {
            let (log, events) = small_log(name, n_turns);
            std::fs::write(folder.path().join(format!("{name}.jsonl")), log)
                .expect("a log is written");
            n_events.push((name, events));
        }
        let tab = visit.tab("left").await;
        // So many rows that they are not all drawn again within one frame.
        tab.look(false, (1100, 4000)).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        // The newest is opened by itself. It is left once the first of its rows are drawn again, before the others are.
        tab.run(
            "const lacking = () => __test.feed()?.shadowRoot?.querySelectorAll('[data-unmarked]').length ?? 0;
            const whole = window.fetch;
            window.fetch = async (address, options) => {
                while (String(address).includes('markup-') && lacking() < 10) {
                    await new Promise((next) => setTimeout(next, 5));
                }
                return whole(address, options);
            };
            window.__left = new Promise((left) => {
                const watched = new MutationObserver(() => {
                    const now = lacking();
                    if (now < 10) {
                        watched.disconnect();
                        [...document.querySelectorAll('.session')].find((row) => row.title.endsWith('/short')).click();
                        left(now);
                    }
                });
                const begin = () => {
                    if (lacking() < 10) return setTimeout(begin, 1);
                    watched.observe(__test.feed().shadowRoot, { attributes: true, childList: true, subtree: true });
                };
                begin();
            });",
        )
        .await;
        tab.drop_files(&[folder.path()]).await;
        let n_lacking: usize = tab.eval("window.__left").await;
        assert!(n_lacking > 0, "all was drawn before it was left");
        let (name, events) = n_events[0];
        tab.wait_for(
            &format!("{name}: its {events} events alone"),
            SHORT,
            &format!(
                "__test.feed()?.eventCount === {events} && __test.feed().getAttribute('state') === 'ready'"
            ),
        )
        .await;
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
fn a_page_that_is_made_ready_for_a_visit_begins_with_the_visit() {
    with_server("ahead", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = visit.tab("ahead").await;
        tab.before_scripts(
            "Object.defineProperty(document, 'prerendering', { get: () => !window.__visited });",
        )
        .await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the program", SHORT, "!!customElements.get('agent-feed')")
            .await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(tab.n_sockets_made(), 0);
        let list = "!!__test.one('.sessions__list')";
        assert!(!tab.eval::<bool>(list).await);
        tab.run("__visited = true; document.dispatchEvent(new Event('prerenderingchange'))")
            .await;
        tab.wait_for("the list", SHORT, list).await;
    });
}
