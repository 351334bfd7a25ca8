//! The list of sessions where nothing is open: its head, its filter and its rows in windows of any width; and that they
//! hold still below a pointer.

use serde_json::{Value, json};

use crate::SHORT;
use crate::server::Server;
use crate::sessions::{CATCH_UP_LIMIT, with_server};

/// Events of a session, from `first` on, each a second after the one before; the first ones were a minute ago.
pub(crate) fn events(session: &str, first: usize, told: &[(&str, Value)]) -> Value {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let now_ms = now.expect("a clock").as_millis();
    let begun_ms = u64::try_from(now_ms).expect("a time") - 60_000;
    let events = told.iter().enumerate().map(|(n, (kind, payload))| {
        let n = first + n;
        json!({
            "id": format!("{session}-{n}"), "timestamp": begun_ms + 1_000 * n as u64, "sessionId": session,
            "turnId": "t1", "type": kind, "payload": payload,
        })
    });
    events.collect()
}

/// A session with a title and a turn that goes on.
pub(crate) fn begun(title: &str) -> Vec<(&'static str, Value)> {
    vec![
        (
            "session_start",
            json!({"agent": "Claude Code 2.1", "cwd": "/home/m/tidepool", "title": title}),
        ),
        ("turn_start", json!({"trigger": "user"})),
    ]
}

/// Parts of the head and of the filter that lie over each other or stick out, titles that have no room, and whether the
/// tab key goes against the eye.
const ASTRAY: &str = r"(() => {
    const found = [], wide = document.documentElement.clientWidth;
    const parts = [...document.querySelectorAll('.sessions__head > .sessions__title, .sessions__count, .sessions__field, .facet, .sessions__today, #sessions-help')]
        .filter((part) => part.checkVisibility())
        .map((part) => [part.className || part.id, part.getBoundingClientRect()]);
    for (const [at, [name, box]] of parts.entries()) {
        if (box.left < 0 || box.right > wide + 1) found.push(`${name} sticks out`);
        for (const [other, its] of parts.slice(at + 1)) {
            if (box.left < its.right - 1 && its.left < box.right - 1 && box.top < its.bottom - 1 && its.top < box.bottom - 1) {
                found.push(`${name} lies over ${other}`);
            }
        }
    }
    for (const text of document.querySelectorAll('.session__text')) {
        if (text.getBoundingClientRect().width < 280) found.push('a title has no room');
    }
    const stops = [...document.querySelectorAll('nav.sessions :is(button, input, select)')]
        .filter((stop) => stop.checkVisibility({ visibilityProperty: true }))
        .map((stop) => [stop.className || stop.id, stop.getBoundingClientRect()]);
    for (const [at, [name, box]] of stops.entries()) {
        const before = stops[at - 1]?.[1];
        if (before && (box.bottom <= before.top || (box.top < before.bottom && box.left < before.left))) {
            found.push(`${name} is before the one that the tab key comes from`);
        }
    }
    return found;
})()";

/// Nothing comes of an agent that thinks, and no call of it runs: it is at work all the same.
#[test]
fn how_long_a_turn_goes_on_is_counted_by_seconds_whatever_it_does() {
    with_server("overview_counts", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let thinks = begun("Think about it");
        server.send("thinks", &events("thinks", 0, &thinks)).await;
        let tab = visit.tab("counts").await;
        // What is written anew now and then is not: only what counts.
        tab.before_scripts("__test.hold(20000)").await;
        tab.look(false, (1440, 700)).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let lasts = r"[...document.querySelectorAll('.session *')].map((part) => part.textContent).find((text) => /^\d[\dms ]* in$/.test(text))";
        let mut last = tab
            .wait_for("how long it lasts", CATCH_UP_LIMIT, lasts)
            .await;
        for what in ["a second", "another one"] {
            let goes_on = format!("(({lasts}) ?? {last}) !== {last} && ({lasts})");
            last = tab.wait_for(what, SHORT, &goes_on).await;
        }
    });
}

#[test]
fn the_overview_has_room_for_its_head_and_its_titles_in_any_window() {
    with_server("overview", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let mut asks = begun("Bound the replay buffer, and say what is lost");
        let command = json!({"command": "rm -rf target/criterion"});
        asks.push((
            "permission_request",
            json!({"requestId": "r1", "toolName": "Bash", "args": command}),
        ));
        server.send("asks", &events("asks", 0, &asks)).await;
        let mut spends = begun("Port the command line to the next version");
        let usage = json!({"scope": "response", "inputTokens": 1_700_000, "outputTokens": 1, "costUsd": 115.18, "contextUsed": 90_000, "contextSize": 200_000});
        spends.push(("usage", usage));
        server.send("spends", &events("spends", 0, &spends)).await;
        let tab = visit.tab("overview").await;
        tab.look(false, (1440, 700)).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let listed = "document.querySelectorAll('.session').length === 2";
        tab.wait_for("the sessions", CATCH_UP_LIMIT, listed).await;
        // A command is written as such.
        let code = "[...document.querySelectorAll('.session[data-session-id=asks] .session__code')].map((code) => `${code.textContent} in ${/mono/i.test(getComputedStyle(code).fontFamily)}`)";
        let codes: Vec<String> = tab.eval(code).await;
        assert_eq!(codes, ["rm -rf target/criterion in true"]);
        let mut astray = Vec::new();
        for width in [
            390, 719, 720, 768, 859, 860, 1000, 1049, 1050, 1100, 1199, 1200, 1440,
        ] {
            tab.look(false, (width, 700)).await;
            // A list that becomes a table does so by its own width.
            let is_laid_out = format!(
                "(document.querySelector('.session__cell') !== null) === {}",
                width >= 720
            );
            tab.wait_for("rows of this width", SHORT, &is_laid_out)
                .await;
            tab.run("await __test.frames(3)").await;
            let found: Vec<String> = tab.eval(ASTRAY).await;
            astray.extend(found.iter().map(|what| format!("{width} px: {what}")));
        }
        assert!(astray.is_empty(), "{}", astray.join("\n"));
    });
}

/// Where each row stands, and how its session does: id, top and height in px, state.
const PLACES: &str = "[...document.querySelectorAll('.sessions__item:has(.session)')].map((item) => [item.querySelector('.session').dataset.sessionId, item.offsetTop, item.offsetHeight, item.querySelector('.session').dataset.state])";

#[test]
fn rows_hold_still_below_a_pointer_and_move_when_it_leaves() {
    with_server("held", 120, async |visit, program| {
        type Place = (String, i64, i64, String);
        let server = Server::start(&program).await;
        for (id, title) in [("one", "The first"), ("two", "The second")] {
            server.send(id, &events(id, 0, &begun(title))).await;
        }
        let tab = visit.tab("held").await;
        tab.look(false, (390, 844)).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let listed = "document.querySelectorAll('.session[data-state=Running]').length === 2";
        tab.wait_for("the sessions", CATCH_UP_LIMIT, listed).await;
        let before: Vec<Place> = tab.eval(PLACES).await;
        // It stirs all the time, however slow the machine is.
        tab.run("window.stirs = setInterval(() => document.getElementById('sessions-list').dispatchEvent(new PointerEvent('pointermove', {bubbles: true})), 100); await __test.frames(30);")
            .await;
        let call =
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {"command": "cargo test"}});
        let does = [("tool_call", call)];
        server.send("two", &events("two", 2, &does)).await;
        let over = [
            ("turn_end", json!({"outcome": "completed"})),
            ("session_end", json!({})),
        ];
        let first = before.first().expect("a row").0.clone();
        server.send(&first, &events(&first, 3, &over)).await;
        let is_known = format!(
            "document.querySelector('.session[data-session-id={first}]')?.dataset.state === 'Done'"
        );
        tab.wait_for("its end to be known", SHORT, &is_known).await;
        let held: Vec<Place> = tab.eval(PLACES).await;
        let places = |told: &[Place]| -> Vec<(String, i64, i64)> {
            let told = told.iter();
            told.map(|(id, top, height, _)| (id.clone(), *top, *height))
                .collect()
        };
        assert_eq!(places(&held), places(&before));
        tab.run("clearInterval(window.stirs); document.getElementById('sessions-list').dispatchEvent(new PointerEvent('pointerleave'));")
            .await;
        let moved = format!(
            "[...document.querySelectorAll('.session')].at(-1).dataset.sessionId === '{first}' && [...document.querySelectorAll('.sessions__section')].at(-1).textContent === 'Earlier today'"
        );
        tab.wait_for("it to stand with those that are over", SHORT, &moved)
            .await;
    });
}

#[test]
fn who_waits_is_told_and_led_to_however_far_down_a_link_leads() {
    with_server("far down", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let ask = (
            "permission_request",
            json!({"requestId": "r1", "toolName": "Bash", "args": {"command": "rm -rf old"}}),
        );
        let mut asks = begun("It waits");
        asks.push(ask);
        server.send("asks", &events("asks", 0, &asks)).await;
        let mut is_over = begun("It is over");
        is_over.push(("turn_end", json!({"outcome": "completed"})));
        is_over.push(("session_end", json!({})));
        for n in 0..40 {
            let id = format!("s{n:02}");
            server.send(&id, &events(&id, 0, &is_over)).await;
        }
        server
            .send("works", &events("works", 0, &begun("It works")))
            .await;
        let tab = visit.tab("far down").await;
        tab.look(false, (1440, 900)).await;
        // The last but one in the list: the first that was sent is the last.
        tab.goto(&server.page_of("s01")).await;
        // It is seen with what is below it, and the first of all is not.
        let seen = "(() => { const list = document.getElementById('sessions-list'), row = list?.querySelector('.session[data-open]')?.getBoundingClientRect(), box = list?.getBoundingClientRect(); return list?.querySelector('[role=option]')?.getAttribute('aria-setsize') === '42' && list.scrollTop > 400 && !!row && row.top >= box.top && row.bottom <= box.bottom - 40; })()";
        tab.wait_for("its row", CATCH_UP_LIMIT, seen).await;
        let told: Vec<String> = tab
            .eval("[...document.querySelector('.sessions__count').children].map((part) => part.textContent)")
            .await;
        assert_eq!(told, ["42", "1 needs you", "1 running"]);
        let waiting = "__test.visible('.sessions__waiting')";
        let overflow: bool = tab
            .eval("(() => { const head = document.querySelector('.sessions__head'); return head.scrollWidth > head.clientWidth; })()")
            .await;
        assert!(!overflow, "the head has room");
        tab.click(waiting).await;
        let led = "document.activeElement.id === 'sessions-rows' && document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.querySelector('.session').dataset.sessionId === 'asks' && document.getElementById('sessions-list').scrollTop === 0";
        tab.wait_for("the one that waits", SHORT, led).await;
    });
}
