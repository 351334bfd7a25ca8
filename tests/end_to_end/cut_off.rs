//! A page that was cut off, hidden or frozen shows in the end what an undisturbed one shows.

use std::time::Duration;

use serde_json::{Value, json};

use crate::SHORT;
use crate::compare::difference;
use crate::made_session::{LONG, beginning, event, open, rows_of};
use crate::proxy::{BELOW, Proxy};
use crate::server::{Server, page_of};
use crate::sessions::{LIVE, with_server};

/// A page whose waits are cut short all the time: what is tested is not how long it waits.
const IMPATIENT: &str = "setInterval(() => dispatchEvent(new Event('online')), 40);";

/// Text, calls and thinking, so that there is something to get wrong.
fn batch(round: u64, n_events: u64) -> Value {
    let events = (0..n_events).map(|n| {
        let at = round * 1000 + n;
        let call = at - at % 5;
        match n % 5 {
            0 => event(&format!("e{at}"), "tool_call", &json!({"toolCallId": format!("c{call}"), "toolName": "Bash", "args": {"command": format!("make {at}")}})),
            1 => event(&format!("e{at}"), "tool_output_chunk", &json!({"toolCallId": format!("c{call}"), "chunk": format!("line {at}\n")})),
            2 => event(&format!("e{at}"), "tool_result", &json!({"toolCallId": format!("c{call}"), "result": "done", "exitCode": 0})),
            _ => event(&format!("e{at}"), "assistant_chunk", &json!({"text": format!("word {at} and **more** ")})),
        }
    });
    events.collect()
}

#[test]
fn a_page_that_is_cut_off_behind_any_byte_shows_what_an_undisturbed_one_shows() {
    let full = std::env::var("TURNREEL_FULL").is_ok_and(|full| full == "1");
    let n_schedules = if full { 200 } else { 40 };
    with_server("cuts", 600, async move |visit, program| {
        let server = Server::start(&program).await;
        let proxy = Proxy::start(server.port).await;
        for schedule in 0..n_schedules {
            server.send(&format!("cut{schedule}"), &beginning()).await;
        }
        let calm = visit.tab("calm").await;
        let cut = visit.tab("cut").await;
        open(&calm, &server.page_of("cut0"), 3).await;
        open(&cut, &page_of(&proxy.url, &server.token, "cut0"), 3).await;
        cut.run(IMPATIENT).await;
        cut.expect_problems("WebSocket|ERR_|Failed to load");
        for schedule in 0..n_schedules {
            let session = format!("cut{schedule}");
            let goes_to = format!("__test.feed().setAttribute('session', '{session}')");
            calm.run(&goes_to).await;
            // The pages of the log are longer than what is let through in the end: each try may end sooner or later.
            proxy.cut_behind_bytes(schedule + 1, 12_000);
            proxy.cut_all();
            cut.run(&goes_to).await;
            for round in 0..4 {
                server.send(&session, &batch(round, 12)).await;
            }
            proxy.cut_behind_bytes(0, 0);
            let n_events = 3 + 4 * 12;
            let all = format!("{LIVE} && __test.feed().eventCount >= {n_events}");
            calm.wait_for("all events", LONG, &all).await;
            cut.wait_for(&format!("schedule {schedule}: all events"), LONG, &all)
                .await;
            let n_shown: usize = cut.eval("__test.feed().eventCount").await;
            assert_eq!(n_shown, n_events, "schedule {schedule}: events shown");
            let n_gaps: usize = cut.eval("__test.all('.gap').length").await;
            assert_eq!(n_gaps, 0, "schedule {schedule}: gaps");
            let differs = difference(&session, &rows_of(&calm).await, &rows_of(&cut).await);
            assert_eq!(differs, None, "schedule {schedule}");
        }
        println!("{n_schedules} schedules, {} connections cut", proxy.n_cut());
        assert!(
            proxy.n_cut() > usize::try_from(n_schedules).unwrap_or(0),
            "each schedule was cut"
        );

        // Fifty resumes in a row without news change nothing.
        let rows_before = rows_of(&cut).await;
        let n_before: usize = cut.eval("__test.feed().eventCount").await;
        for resume in 0..50 {
            let n_sockets = cut.n_sockets_made();
            proxy.cut_all();
            let began = std::time::Instant::now();
            while cut.n_sockets_made() == n_sockets {
                assert!(began.elapsed() < SHORT, "resume {resume}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            cut.wait_for(
                "the session to be live again",
                SHORT,
                "__test.one('.connection')?.textContent.includes('Live')",
            )
            .await;
        }
        let n_after: usize = cut.eval("__test.feed().eventCount").await;
        assert_eq!(n_after, n_before, "events");
        let differs = difference("fifty resumes", &rows_before, &rows_of(&cut).await);
        assert_eq!(differs, None);
    });
}

#[test]
fn a_page_that_was_hidden_or_frozen_has_all_of_it_when_it_is_shown() {
    with_server("hidden", 300, async |visit, program| {
        const AWAY_EVENTS: usize = 5_000;
        let server = Server::start(&program).await;
        server.send("h", &beginning()).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("h"), 3).await;
        tab.wait_for("the title", SHORT, "document.title === 'Asking · Turnreel'")
            .await;
        let see = |state: &str| {
            format!(
                "Object.defineProperty(document, 'visibilityState', {{ configurable: true, get: () => '{state}' }}); document.dispatchEvent(new Event('visibilitychange'));"
            )
        };
        // Hidden, and still awake; the frame that was on its way does not come.
        tab.run("window.__frame = requestAnimationFrame; window.requestAnimationFrame = () => 7; __test.feed().scroller.dispatchEvent(new Event('scroll'));")
            .await;
        tab.run(&see("hidden")).await;
        server.send("h", &batch(0, 12)).await;
        tab.wait_for(
            "the count in the title",
            LONG,
            r"/^\(\d+\) Asking/.test(document.title) && __test.feed().badge > 0",
        )
        .await;
        tab.run("window.requestAnimationFrame = window.__frame")
            .await;
        tab.run(&see("visible")).await;
        tab.wait_for(
            "the title without it",
            SHORT,
            "document.title === 'Asking · Turnreel' && __test.feed().badge === 0",
        )
        .await;
        tab.wait_for(
            "the mark where the reader left",
            SHORT,
            "__test.all('[data-new-since]').length === 1",
        )
        .await;
        // What is placed elsewhere is measured from there.
        let is_in_its_row: bool = tab
            .eval(
                "(() => { const [row] = __test.all('[data-new-since]');
                    const below = parseFloat(getComputedStyle(row, '::after').bottom) + 8 + 16;
                    return Math.abs(below - row.getBoundingClientRect().height) <= 1; })()",
            )
            .await;
        assert!(is_in_its_row, "the words of the mark stand above its row");
        // Frozen, as browsers do it after some minutes.
        tab.run(&see("hidden")).await;
        tab.set_frozen(true).await;
        for round in 0..5 {
            server.send("h", &batch(round + 1, 1_000)).await;
        }
        tab.set_frozen(false).await;
        tab.run(
            "window.__most = 0; window.__frames = 0; const look = () => { window.__frames += 1;
                window.__most = Math.max(window.__most, __test.rows().length); requestAnimationFrame(look); }; look();",
        )
        .await;
        tab.run(&see("visible")).await;
        let n_events = 3 + 12 + AWAY_EVENTS;
        tab.wait_for(
            "all of it",
            LONG,
            &format!("{LIVE} && __test.feed().eventCount >= {n_events}"),
        )
        .await;
        tab.run("await __test.rest()").await;
        let shown: [usize; 3] = tab
            .eval("[__test.feed().eventCount, __test.all('.gap').length, window.__most]")
            .await;
        assert_eq!(shown[..2], [n_events, 0], "events and gaps");
        assert!(shown[2] < 300, "{} rows in the document at once", shown[2]);
        println!(
            "caught up with {AWAY_EVENTS} events; at most {} rows at once",
            shown[2]
        );
        let again = visit.tab("again").await;
        open(&again, &server.page_of("h"), n_events).await;
        let differs = difference(
            "frozen and loaded again",
            &rows_of(&tab).await,
            &rows_of(&again).await,
        );
        assert_eq!(differs, None);
    });
}

#[test]
fn what_is_said_of_a_page_that_is_cut_off_is_of_the_newest_whatever_it_shows() {
    with_server("offline back", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let proxy = Proxy::start(server.port).await;
        let mut events = beginning();
        events[0]["timestamp"] = json!(1_000_000_000_000_u64);
        server.send("away", &events).await;
        let tab = visit.tab("page").await;
        tab.expect_problems("WebSocket|ERR_|Failed to load");
        open(&tab, &page_of(&proxy.url, &server.token, "away"), 3).await;
        tab.run("await __test.rest(); __test.feed().viewAsOf(0); await __test.rest()")
            .await;
        tab.run("dispatchEvent(new Event('offline'))").await;
        // Nothing comes from now on.
        proxy.cut_behind_bytes(1, 2);
        proxy.cut_all();
        let said = "__test.all('.connection, .note').map((it) => __test.text(it)).join(' ')";
        let offline = format!("{said}.includes('data as of') && {said}.includes('Last event')");
        tab.wait_for("it to be offline", SHORT, &offline).await;
        let said: String = tab.eval(said).await;
        assert!(!said.contains("2001"), "{said}");
    });
}

/// Pages of the log come in eight pieces, which all together take far longer than an answer is waited for.
const SLOW: &str = r"window.__real = { fetch, setTimeout };
    window.setTimeout = (act, ms, ...more) => __real.setTimeout.call(window, act, ms === 45000 ? 1000 : ms, ...more);
    window.fetch = async (to, how) => {
        const answer = await __real.fetch.call(window, to, how);
        if (!/events\?after=/.test(to)) return answer;
        const bytes = new Uint8Array(await answer.arrayBuffer());
        const size = Math.ceil(bytes.length / 8);
        let at = 0;
        const pull = async (into) => {
            await new Promise((next) => __real.setTimeout.call(window, next, 300));
            if (at >= bytes.length) return into.close();
            into.enqueue(bytes.slice(at, at += size));
        };
        return new Response(new ReadableStream({ pull }), { status: answer.status, headers: answer.headers });
    };";

#[test]
fn a_page_of_a_log_that_comes_slowly_is_waited_for() {
    with_server("slow", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("first", &beginning()).await;
        server.send("slow", &beginning()).await;
        server.send("slow", &batch(0, 12)).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("first"), 3).await;
        tab.run(SLOW).await;
        tab.run("__test.feed().setAttribute('session', 'slow')")
            .await;
        let all = format!("{LIVE} && __test.feed().eventCount === 15");
        tab.wait_for("all of it", SHORT, &all).await;
    });
}

#[test]
fn a_page_below_a_path_of_a_proxy_asks_for_nothing_beside_it() {
    with_server("below", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let proxy = Proxy::start(server.port).await;
        server.send("below", &beginning()).await;
        let base = format!("{}{}", proxy.url, BELOW.trim_end_matches('/'));
        let tab = visit.tab("page").await;
        open(&tab, &page_of(&base, &server.token, "below"), 3).await;
        server.send("below", &batch(0, 12)).await;
        let all = format!("{LIVE} && __test.feed().eventCount === 15");
        tab.wait_for("all of it", SHORT, &all).await;
        let asked = tab.requests().into_iter().map(|sent| sent.url);
        let asked: Vec<String> = asked.filter(|url| url.starts_with("http")).collect();
        let inside = format!("{base}/");
        let beside = asked.iter().find(|it| !it.starts_with(&inside));
        assert_eq!(beside, None, "{asked:?}");
        assert!(asked.iter().any(|it| it.contains("/api/v1/")), "{asked:?}");
        let sockets = tab.open_sockets();
        let inside = inside.replacen("http", "ws", 1);
        assert!(!sockets.is_empty(), "it follows");
        assert!(
            sockets.iter().all(|it| it.starts_with(&inside)),
            "{sockets:?}"
        );
    });
}
