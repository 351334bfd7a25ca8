//! Opening from the list: each is a step that Back goes back over, the page's title says what is open, and several
//! sessions are chosen by a range.

use serde_json::{Value, json};

use crate::SHORT;
use crate::browser::Tab;
use crate::server::Server;
use crate::sessions::{LIVE, with_server};
use crate::stage::LOAD_LIMIT;

const N_SESSIONS: usize = 4;

/// Sessions `s0` to `s3`, the newest first in the list; the last has no title.
async fn fill(server: &Server) {
    for n in (0..N_SESSIONS).rev() {
        let id = format!("s{n}");
        let title = (n < N_SESSIONS - 1).then(|| format!("Task {n}"));
        let start = json!({"agent": "Made 1.0", "cwd": "/home/m/tidepool", "title": title});
        let event = |at: u64, kind: &str, payload: Value| {
            json!({
                "id": format!("{id}-{at}"), "timestamp": 1_700_000_000_000_u64 + at * 400, "sessionId": id,
                "turnId": "t1", "type": kind, "payload": payload,
            })
        };
        let events = json!([
            event(0, "session_start", start),
            event(
                1,
                "assistant_done",
                json!({"text": "Looked at it", "messageId": "m1"})
            ),
            event(2, "turn_end", json!({"outcome": "completed"})),
        ]);
        server.send(&id, &events).await;
    }
}

async fn open_list(tab: &Tab, server: &Server) {
    tab.goto(&format!("{}/#token={}", server.url, server.token))
        .await;
    let all = format!("document.querySelectorAll('.session').length === {N_SESSIONS}");
    tab.wait_for("all sessions", LOAD_LIMIT, &all).await;
}

/// The session is open, and nothing else is.
async fn shows(tab: &Tab, what: &str, session: Option<&str>) {
    let open = match session {
        Some(id) => format!(
            "__test.feed().getAttribute('session') === '{id}' && !__test.feed().hidden && location.hash.startsWith('#session={id}') && {LIVE}"
        ),
        None => {
            "__test.feed().hidden && !__test.feed().hasAttribute('session') && location.hash === ''"
                .to_owned()
        }
    };
    tab.wait_for(what, SHORT, &open).await;
}

fn row(session: &str) -> String {
    format!("document.querySelector('.session[data-session-id={session}]')")
}

#[test]
fn back_goes_to_what_was_open_and_on_again() {
    with_server("steps", 120, async |visit, program| {
        let server = Server::start(&program).await;
        fill(&server).await;
        let tab = visit.tab("steps").await;
        open_list(&tab, &server).await;
        // By the times of its events, however long after them they came.
        let lasted =
            "document.querySelector('.session__cell')?.lastElementChild.textContent === '0.8 s'";
        tab.wait_for("how long it lasted", SHORT, lasted).await;
        tab.run(&format!("{}.click()", row("s0"))).await;
        shows(&tab, "the first", Some("s0")).await;
        let title = |title: &str| format!("document.title === '{title}'");
        tab.wait_for("its title", SHORT, &title("Task 0 · Turnreel"))
            .await;
        // What has the focus is no step.
        tab.run("await __test.feed().focusFeed()").await;
        let focus = "location.hash.includes('e=s0-')";
        tab.wait_for("the event in the address", SHORT, focus).await;
        tab.run(&format!("{}.click()", row("s3"))).await;
        shows(&tab, "the last", Some("s3")).await;
        let named = "Session in tidepool";
        tab.wait_for(
            "its name, as the list and the bar have it",
            SHORT,
            &format!(
                "{} && __test.one('.bar__title')?.textContent === '{named}' && {}.textContent.includes('{named}')",
                title(&format!("{named} · Turnreel")),
                row("s3")
            ),
        )
        .await;
        tab.run("history.back()").await;
        shows(&tab, "the first again", Some("s0")).await;
        tab.wait_for("the event's row", SHORT, "location.hash.includes('e=s0-')")
            .await;
        tab.run("history.back()").await;
        shows(&tab, "the list", None).await;
        tab.wait_for("no title", SHORT, &title("Turnreel")).await;
        tab.run("history.forward()").await;
        shows(&tab, "the first once more", Some("s0")).await;
        tab.run("history.forward()").await;
        shows(&tab, "the last once more", Some("s3")).await;
        // A page that is loaded anew is where it was, and so is what is before it.
        tab.run("window.__left = true; setTimeout(() => location.reload(), 0)")
            .await;
        tab.wait_for(
            "the page",
            LOAD_LIMIT,
            "!window.__left && !!__test.feed()?.scroller",
        )
        .await;
        shows(&tab, "the last after loading", Some("s3")).await;
        tab.run("history.back()").await;
        shows(&tab, "the first after loading", Some("s0")).await;
    });
}

#[test]
fn space_plays_the_session_that_was_opened_and_chooses_others() {
    with_server("space", 120, async |visit, program| {
        let server = Server::start(&program).await;
        fill(&server).await;
        let end = json!([{"id": "s1-end", "timestamp": 1_700_000_000_800_u64, "type": "session_end", "payload": {}}]);
        server.send("s1", &end).await;
        let tab = visit.tab("space").await;
        open_list(&tab, &server).await;
        let chosen = "[...document.querySelectorAll('[aria-selected=true] > .session')].map((row) => row.dataset.sessionId).join()";
        tab.run("document.getElementById('sessions-rows').focus()")
            .await;
        tab.run(&format!("{}.click()", row("s1"))).await;
        let is_open = "__test.feed().getAttribute('session') === 's1' && __test.feed().getAttribute('state') === 'ended'";
        tab.wait_for("the session", SHORT, is_open).await;
        tab.run("__test.feed().addEventListener('play', () => window.__plays = true)")
            .await;
        tab.press(" ").await;
        tab.wait_for("it to play", SHORT, "window.__plays === true")
            .await;
        assert_eq!(tab.eval::<String>(chosen).await, "");
        tab.press("ArrowDown").await;
        tab.press(" ").await;
        tab.wait_for(
            "the next to be chosen",
            SHORT,
            &format!("{chosen} === 's2'"),
        )
        .await;
    });
}

#[test]
fn a_range_is_chosen_by_shift() {
    with_server("range", 120, async |visit, program| {
        let server = Server::start(&program).await;
        fill(&server).await;
        let tab = visit.tab("range").await;
        open_list(&tab, &server).await;
        let click = |session: &str, key: &str| {
            format!(
                "{}.dispatchEvent(new MouseEvent('click', {{ bubbles: true, {key}: true }}))",
                row(session)
            )
        };
        let chosen = |ids: &str| {
            format!(
                "[...document.querySelectorAll('[aria-selected=true] > .session')].map((row) => row.dataset.sessionId).join() === '{ids}'"
            )
        };
        let order: Vec<String> = tab
            .eval("[...document.querySelectorAll('.session')].map((row) => row.dataset.sessionId)")
            .await;
        assert_eq!(order, ["s0", "s1", "s2", "s3"]);
        tab.run(&click("s1", "ctrlKey")).await;
        tab.run(&click("s3", "shiftKey")).await;
        tab.wait_for("the range", SHORT, &chosen("s1,s2,s3")).await;
        tab.run(&click("s0", "shiftKey")).await;
        tab.wait_for("the other way", SHORT, &chosen("s0,s1")).await;
        assert_eq!(tab.eval::<String>("location.hash").await, "");
        // The same by keys.
        let list = "document.getElementById('sessions-rows')";
        let key = |key: &str, shift: bool| {
            format!(
                "{list}.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', shiftKey: {shift}, bubbles: true, cancelable: true }}))"
            )
        };
        tab.run(&format!("{list}.focus(); {}", key("Escape", false)))
            .await;
        tab.wait_for("none", SHORT, &chosen("")).await;
        for (name, shift) in [("Home", false), ("ArrowDown", true), ("ArrowDown", true)] {
            tab.run(&key(name, shift)).await;
        }
        tab.wait_for("three", SHORT, &chosen("s0,s1,s2")).await;
        tab.run(&key("ArrowUp", true)).await;
        tab.wait_for("two", SHORT, &chosen("s0,s1")).await;
        tab.run("document.querySelector('.sessions__chosen .button--primary').click()")
            .await;
        let both = "document.querySelectorAll('.together agent-feed').length === 2 && document.title === '2 sessions · Turnreel'";
        tab.wait_for("both beside each other", SHORT, both).await;
        tab.run("history.back()").await;
        shows(&tab, "the list", None).await;
        tab.run("history.forward()").await;
        tab.wait_for("both again", SHORT, both).await;
        // Without keys and a pointer: a press on a row chooses it, once that was asked for.
        tab.run("history.back()").await;
        shows(&tab, "the list", None).await;
        let press = |what: &str| format!("document.querySelector('{what}').click()");
        let says = |words: &str| {
            format!(
                "(document.querySelector('.sessions__chosen')?.innerText ?? '').replace(/\\s+/g, ' ') === '{words}'"
            )
        };
        tab.run(&press(".sessions__choose")).await;
        tab.wait_for(
            "none yet",
            SHORT,
            &says("None chosen Cancel Watch together"),
        )
        .await;
        let box_of = format!(
            "getComputedStyle({}.querySelector('.session__check')).display === 'block'",
            row("s2")
        );
        tab.wait_for("boxes", SHORT, &box_of).await;
        for session in ["s0", "s2"] {
            tab.run(&format!("{}.click()", row(session))).await;
        }
        tab.wait_for("both", SHORT, &chosen("s0,s2")).await;
        tab.run(&press(".sessions__chosen .link")).await;
        tab.wait_for("none", SHORT, &says("")).await;
        tab.run(&format!("{}.click()", row("s2"))).await;
        shows(&tab, "the one that is pressed", Some("s2")).await;
    });
}
