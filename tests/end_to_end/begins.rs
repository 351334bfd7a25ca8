//! Where a session is shown at first: at the moment that the page or a link asks for, where it is over and nobody reads it.

use serde_json::{Value, json};

use crate::made_logs::log_of;
use crate::server::Server;
use crate::sessions::{LIVE, with_server};
use crate::site::SLOWLY;
use crate::stage::on_stage;
use crate::{FEED, SHORT};

/// So many events of one turn, a second apart.
fn turn(n_events: u64) -> Value {
    let event = |at: u64| {
        json!({
            "id": format!("e{at}"), "timestamp": 1_703_001_234_000_u64 + at * 1_000, "turnId": "t1", "responseId": "r1",
            "type": "assistant_chunk", "payload": {"text": format!("word{at} ")},
        })
    };
    (0..n_events).map(event).collect()
}

fn end() -> Value {
    json!([{"id": "end", "timestamp": 1_703_001_300_000_u64, "type": "session_end", "payload": {"reason": "done"}}])
}

/// Which moment is shown, as the slider tells it.
const MOMENT: &str = "['aria-valuenow', 'aria-valuemax'].map((name) => Number(__test.one('.strip')?.getAttribute(name) ?? -1))";

#[test]
fn a_link_to_a_moment_leads_there_where_the_session_is_over() {
    with_server("begins served", 120, async |visit, program| {
        let server = Server::start(&program).await;
        for session in ["over", "live"] {
            server.send(session, &turn(8)).await;
        }
        server.send("over", &end()).await;
        let tab = visit.tab("over").await;
        tab.goto(&format!("{}&t=0:02", server.page_of("over")))
            .await;
        let there = format!(
            "__test.feed()?.state === 'ended' && Math.abs(__test.feed().currentTime - 2) < 0.01 && ({MOMENT})[0] === 3"
        );
        tab.wait_for("the moment", SHORT, &there).await;

        // One that goes on is shown as it is, and so it stays when it ends.
        let tab = visit.tab("live").await;
        tab.goto(&format!("{}&t=0:02", server.page_of("live")))
            .await;
        tab.wait_for("the session", SHORT, LIVE).await;
        let connected = "__test.one('.connection')?.textContent.includes('Live')";
        tab.wait_for("the connection", SHORT, connected).await;
        server.send("live", &end()).await;
        let ended = format!("__test.feed().state === 'ended' && ({MOMENT})[1] === 9");
        tab.wait_for("its end", SHORT, &ended).await;
        tab.run("await __test.rest()").await;
        let [now, most]: [i32; 2] = tab.eval(MOMENT).await;
        assert_eq!(now, most);
    });
}

#[test]
fn who_is_at_a_moment_while_the_log_is_read_stays_there() {
    let files = vec![("/long.jsonl", log_of("long", 3_000))];
    on_stage("begins_read", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run(&format!(
            "const feed = __test.feed(); feed.startAt = '0:40'; feed.src = '/long.jsonl{SLOWLY}'"
        ))
        .await;
        let some = "__test.feed().state === 'loading' && __test.feed().eventCount > 50";
        tab.wait_for("the beginning", SHORT, some).await;
        let state: String = tab
            .eval("(() => { __test.feed().seek(2); return __test.feed().state; })()")
            .await;
        assert_eq!(state, "loading");
        tab.wait_for("all of it", SHORT, "__test.feed().state === 'ready'")
            .await;
        stage.rest().await;
        let now_s: f64 = tab.eval("__test.feed().currentTime").await;
        assert!((now_s - 2.0).abs() < 0.01, "{now_s}");
    });
}

#[test]
fn who_stops_somewhere_while_the_log_is_read_is_left_there() {
    let files = vec![("/long.jsonl", log_of("long", 4_000))];
    on_stage("begins_stopped", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run(&format!("__test.feed().src = '/long.jsonl{SLOWLY}'"))
            .await;
        let some = "__test.feed().state === 'loading' && __test.rows().length > 5";
        tab.wait_for("the first rows", SHORT, some).await;
        tab.run("__test.feed().scroller.focus()").await;
        let around = "!!__test.one('dialog.help')?.firstElementChild";
        tab.wait_for("what is around the rows", SHORT, around).await;
        // To what is the end by then, and no further.
        for _ in 0..2 {
            tab.press("f").await;
            tab.run("await __test.frames(6)").await;
        }
        let state: String = tab.eval("__test.feed().state").await;
        assert_eq!(state, "loading");
        tab.wait_for("all of it", SHORT, "__test.feed().state === 'ready'")
            .await;
        stage.rest().await;
        let left_px: f64 = tab
            .eval("(({ scrollTop, clientHeight, scrollHeight }) => scrollHeight - clientHeight - scrollTop)(__test.feed().scroller)")
            .await;
        assert!(left_px > 1_000.0, "{left_px} px from the end");
    });
}
