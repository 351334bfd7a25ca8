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
        // From the second try on the note has the seconds, and a slow machine may see no other.
        tab.wait_for(
            "the chip to say that it reconnects",
            SHORT,
            "/Reconnecting|Offline, data as of/.test(__test.one('.connection')?.textContent ?? '')",
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

#[test]
fn a_list_that_was_live_is_asked_for_again_whatever_answers_in_its_place() {
    with_server("wrong_answer", 150, async |visit, program| {
        let mut server = Server::start(&program).await;
        pipe_all(&server, &small_log("first", 1).0).await;
        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let listed = |n: usize| {
            format!("document.querySelectorAll('.sessions__list .session').length === {n}")
        };
        tab.wait_for("the list", SHORT, &listed(1)).await;

        // What stands before a server that is away answers with a page of its own, or knows no such address.
        tab.run(
            "const fetched = window.fetch; window.__wrong = 0; window.fetch = (asked, ...more) => {
                if (!String(asked.url ?? asked).includes('/sessions?limit=1') || __wrong === 2) return fetched.call(window, asked, ...more);
                __wrong += 1;
                return Promise.resolve(__wrong === 1 ? new Response('<!doctype html>') : new Response('', { status: 404 }));
            };",
        )
        .await;
        server.kill().await;
        tab.wait_for("both answers", CATCH_UP_LIMIT, "__wrong === 2")
            .await;
        let kept: bool = tab.eval(&listed(1)).await;
        assert!(kept, "the list stays as it was");
        server.restart().await;
        pipe_all(&server, &small_log("second", 1).0).await;
        tab.wait_for("the list anew", CATCH_UP_LIMIT, &listed(2))
            .await;
    });
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
            let host = server.url.split_once("//").map_or("", |(_, host)| host);
            assert!(
                text.contains("Refused") && text.contains(host) && text.contains("token"),
                "it says why, and who: {text}"
            );
            assert!(
                !text.contains("Prompt 1"),
                "and shows nothing of the session"
            );
            let typed = format!(
                "__test.visible('input[type=password]')?.value === '{}'",
                server.token
            );
            // A click may miss what moves just then.
            for _ in 0..5 {
                tab.click("__test.visible('input[type=password]')").await;
                tab.type_text(&server.token).await;
                if tab.eval(&typed).await {
                    break;
                }
            }
            // The list and the feed are refused each for itself, one of them later.
            tab.run("__test.feed().dispatchEvent(new CustomEvent('af-error', { detail: { refused: true }, bubbles: true, cancelable: true })); await __test.frames(2)")
                .await;
            let is_kept: bool = tab.eval(&typed).await;
            assert!(is_kept, "what was typed stays when it is refused again");
            tab.press("Enter").await;
            settle(&tab, name, n_events).await;
            let asks: bool = tab.eval("!!__test.visible('input[type=password]')").await;
            assert!(!asks, "with the right token it asks no more");
            let kept: String = tab
                .eval("JSON.stringify([location.href, { ...localStorage }, document.cookie])")
                .await;
            assert!(
                !kept.contains(&server.token),
                "the token is kept for this tab alone, and not in its address: {kept}"
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
                &["not a session log: it is a png picture", "opencode"],
            ),
            (
                "notes.txt",
                b"Dear diary,\ntoday nothing happened.\n",
                &["not a session log: line 1 is", "opencode"],
            ),
            (
                "other.json",
                b"{\"name\": \"something\", \"version\": 1}\n",
                &["not a session log: line 1 is", "opencode"],
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
                "__test.visible('.note[role=alert]')?.textContent",
            )
            .await;
            let said: String = tab
                .eval("__test.visible('.note[role=alert]').textContent.toLowerCase()")
                .await;
            for word in words {
                assert!(
                    said.contains(word),
                    "{name}: {said:?} does not say {word:?}"
                );
            }
            assert!(said.contains(name), "{name}: it says of which file: {said}");
            let state: String = tab.eval("__test.feed().getAttribute('state')").await;
            assert_eq!(state, "error", "{name}");
            // There is nothing to find in, to export or to sum up; other files can be chosen, and the list says which it was.
            let ways: [bool; 3] = tab
                .eval("[!!__test.visible('.controls, .panel-toggle'), !!__test.visible('.drop input'), !!__test.one('.session .glyph--failed')]")
                .await;
            assert_eq!(ways, [false, true, true], "{name}");
            // The rest stays usable: a good file shows as if nothing had been.
            let good = folder.path().join("good.jsonl");
            let (log, n_events) = small_log("good", 2);
            std::fs::write(&good, log).expect("a file is written");
            tab.drop_files(&[&good]).await;
            settle(&tab, "a good file after a bad one", n_events).await;
            let still: bool = tab.eval("!!__test.visible('.note[role=alert]')").await;
            assert!(!still, "{name}: the word is taken back");
            // Dropped again, it takes nothing away.
            tab.drop_files(&[&path]).await;
            let stays = "__test.visible('.refused')?.textContent ?? ''";
            tab.wait_for(
                "a word that what is open stays",
                SHORT,
                &format!("({stays}).includes('What was open stays open')"),
            )
            .await;
            let said: String = tab.eval(stays).await;
            assert!(
                said.starts_with(&format!("“{name}” is not a session log")),
                "{said}"
            );
            settle(&tab, "the good file", n_events).await;
            tab.run("__test.visible('.refused button').click()").await;
            tab.wait_for("no word", SHORT, "!__test.visible('.refused')")
                .await;
            assert_nothing_uploaded(&tab);
        }
    });
}

#[test]
fn files_that_were_opened_stay_in_the_list_and_each_opens_again() {
    with_server("files_again", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let tab = visit.tab("files").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        let mut dropped = Vec::new();
        // The last has the name of the first, and is another.
        for (place, name, n_turns) in [("a", "one", 2), ("a", "two", 5), ("b", "one", 3)] {
            let (log, n_events) = small_log(&format!("{place}-{name}"), n_turns);
            let path = folder.path().join(place).join(format!("{name}.jsonl"));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders are made");
            std::fs::write(&path, log).expect("a log is written");
            tab.drop_files(&[&path]).await;
            settle(&tab, &format!("{place}/{name}"), n_events).await;
            dropped.push((path, n_events));
        }
        let listed = "[...document.querySelectorAll('.session')].map((row) => row.title)";
        let titles: Vec<String> = tab.eval(listed).await;
        assert_eq!(titles, ["one (2)", "two", "one"]);
        for (title, n_events) in titles.iter().rev().zip(dropped.iter().map(|(_, n)| *n)) {
            let row = format!(
                "[...document.querySelectorAll('.session')].find((row) => row.title === '{title}')"
            );
            tab.run(&format!("{row}.click()")).await;
            settle(&tab, title, n_events).await;
        }
        // The same file again is the same session.
        tab.drop_files(&[&dropped[1].0]).await;
        settle(&tab, "two, again", dropped[1].1).await;
        let titles: Vec<String> = tab.eval(listed).await;
        assert_eq!(titles, ["two", "one (2)", "one"]);
        assert_nothing_uploaded(&tab);
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
        let listed = "[...document.querySelectorAll('.session')].filter((row) => row.title.startsWith('logs/project/'))";
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
