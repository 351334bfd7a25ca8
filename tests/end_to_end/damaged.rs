//! What the page says of logs that are damaged, that are newer than it, and of what is no log: where, and what next.

use crate::made_logs::log_of;
use crate::stage::{HOLD_LIT, LOAD_LIMIT, on_stage};
use crate::{FEED, SHORT};

/// A log between whose events lines are broken, which are missing in its count of events then, and two are lost.
const DAMAGED: &str = concat!(
    r#"{"seq":1,"id":"e1","timestamp":1703001234567,"sessionId":"s1","type":"user_message","turnId":"t1","payload":{"text":"Hello"}}"#,
    "\n{\"seq\":2,\"id\":\n{\"seq\":3,\n",
    r#"{"seq":4,"id":"e4","timestamp":1703001234568,"sessionId":"s1","type":"assistant_done","turnId":"t1","responseId":"r1","payload":{"text":"So far","part":0}}"#,
    "\n",
    r#"{"seq":5,"id":"e5","timestamp":1703001234568,"sessionId":"s1","type":"log_gap","turnId":"t1","payload":{"from":5,"to":6,"why":"damaged"}}"#,
    "\n",
    r#"{"seq":7,"id":"e7","timestamp":1703001234568,"sessionId":"s1","type":"assistant_done","turnId":"t1","responseId":"r2","payload":{"text":"And on"}}"#,
    "\nnot JSON at all\n",
    r#"{"seq":8,"id":"e8","timestamp":1703001234569,"sessionId":"s1","type":"assistant_done","turnId":"t1","responseId":"r3","payload":{"text":"All of the rest is here"}}"#,
    "\n",
);

/// A log of a schema to come, with an event of a type that only it has.
const NEWER: &str = concat!(
    r#"{"seq":0,"id":"l0","timestamp":1703001234566,"sessionId":"s1","type":"log_start","payload":{"schema":9,"epoch":"a"}}"#,
    "\n",
    r#"{"seq":1,"id":"e1","timestamp":1703001234567,"sessionId":"s1","type":"user_message","turnId":"t1","payload":{"text":"Hello"}}"#,
    "\n",
    r#"{"seq":2,"id":"e2","timestamp":1703001234568,"sessionId":"s1","type":"telepathy","turnId":"t1","payload":{"thought":"from the future"}}"#,
    "\n",
);

#[test]
fn damaged_places_are_counted_and_gone_to_one_after_the_other() {
    let files = vec![("/log", DAMAGED.to_owned())];
    on_stage("damaged", FEED, files, async |stage| {
        stage.show("/log").await;
        let tab = &stage.tab;
        let chip: String = tab
            .eval("__test.one('.bar__damage').textContent.trim()")
            .await;
        assert_eq!(chip, "3 damaged places");
        assert!(
            tab.eval::<bool>("__test.text().includes('All of the rest is here')")
                .await,
            "the rest is shown"
        );
        tab.run(HOLD_LIT).await;
        let mut gone_to = Vec::new();
        for _ in 0..4 {
            tab.run("__test.all('[data-lit]').forEach((row) => row.removeAttribute('data-lit'))")
                .await;
            tab.run("__test.one('.bar__damage').click()").await;
            tab.wait_for("a row to be lit", SHORT, "!!__test.one('[data-lit]')")
                .await;
            let row: String = tab.eval("__test.one('[data-lit]').textContent").await;
            gone_to.push(row);
        }
        assert!(gone_to[0].starts_with("Line 2 could not"), "{gone_to:?}");
        assert!(gone_to[1].contains("2 events not retained"), "{gone_to:?}");
        assert!(gone_to[2].starts_with("Line 7 could not"), "{gone_to:?}");
        assert_eq!(gone_to[3], gone_to[0], "behind the last the first is next");
    });
}

#[test]
fn a_newer_log_is_said_to_be_one_and_all_of_it_is_shown() {
    let files = vec![("/log", NEWER.to_owned())];
    on_stage("newer", FEED, files, async |stage| {
        stage.show("/log").await;
        let note: String = stage
            .tab
            .eval("__test.one('.note[role=status]').textContent")
            .await;
        assert!(
            note.contains("newer version") && note.contains("schema is 9"),
            "{note}"
        );
        let rows: String = stage.tab.eval("__test.feed().serializeRows()").await;
        assert!(rows.contains("telepathy"), "{rows}");
    });
}

#[test]
fn what_cannot_be_shown_says_why_and_what_can_be_done() {
    let files = vec![(
        "/notes.txt",
        "Dear diary,\ntoday nothing happened.\n".to_owned(),
    )];
    on_stage("failures", FEED, files, async |stage| {
        stage.tab.expect_problems("404");
        for (address, why, next) in [
            ("/nothing-here", "404", "Check the address"),
            ("/notes.txt", "Not a session log", "Choose a session's file"),
        ] {
            stage
                .tab
                .run(&format!("__test.feed().setAttribute('src', '{address}')"))
                .await;
            stage
                .tab
                .wait_for(
                    &format!("the note about {address}"),
                    SHORT,
                    &format!("__test.feed().getAttribute('state') === 'error' && __test.one('.note')?.textContent.includes('{why}')"),
                )
                .await;
            let note: String = stage.tab.eval("__test.one('.note').textContent").await;
            assert!(note.contains(why), "{note}");
            assert!(note.contains(next), "{note}");
        }
    });
}

/// A log whose server says nothing more behind its first lines, until it is let.
const STALLS: &str = r"window.__real = { fetch, setTimeout };
    window.setTimeout = (act, ms, ...more) => __real.setTimeout.call(window, act, ms === 500 ? 50 : ms, ...more);
    window.__asked = 0;
    window.fetch = async (to, how) => {
        const answer = await __real.fetch.call(window, to, how);
        if (!/\/log$/.test(to)) return answer;
        window.__asked += 1;
        const bytes = new Uint8Array(await answer.arrayBuffer());
        const half = bytes.length >> 1;
        const goes_on = new Promise((done) => { window.__goOn = done; });
        const start = async (into) => {
            into.enqueue(bytes.slice(0, half));
            await goes_on;
            into.enqueue(bytes.slice(half));
            into.close();
        };
        return new Response(new ReadableStream({ start }));
    };";

#[test]
fn a_log_whose_server_falls_silent_is_said_to_be_not_all_there() {
    let files = vec![
        ("/log", log_of("stalls", 60)),
        ("/long/log", log_of("long", 30_000)),
    ];
    on_stage("stalls", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run(STALLS).await;
        tab.run("__test.feed().src = '/log'").await;
        let waits =
            "__test.all('.note').some((note) => note.textContent.includes('Waiting for the rest'))";
        tab.wait_for("a word of it", SHORT, waits).await;
        let n_shown: u64 = tab.eval("__test.feed().eventCount").await;
        assert!(n_shown > 0 && n_shown < 60, "{n_shown}");
        // It can be asked for anew …
        tab.run("__test.all('.note button').find((button) => button.textContent === 'Retry now').click()")
            .await;
        tab.wait_for("another request", SHORT, "window.__asked === 2")
            .await;
        tab.wait_for("a word of that", SHORT, waits).await;
        // … and goes on by itself where the server does.
        tab.run("window.__goOn()").await;
        let all = "__test.feed().state === 'ready' && __test.feed().eventCount >= 60";
        tab.wait_for("all of it", SHORT, all).await;
        let gone = format!("!({waits})");
        tab.wait_for("no word of it", SHORT, &gone).await;
        // Who will not wait keeps what there is.
        tab.run("__test.feed().src = '/long/log'").await;
        let stop = "__test.all('.loading button').find((button) => button.textContent === 'Stop')";
        tab.wait_for("a way out", LOAD_LIMIT, &format!("!!{stop} && {waits}"))
            .await;
        tab.run(&format!("{stop}.click()")).await;
        let stopped = "__test.feed().state === 'ready' && __test.all('.note').some((note) => note.textContent.includes('reading was stopped'))";
        tab.wait_for("the end of it", SHORT, stopped).await;
        let n_shown: u64 = tab.eval("__test.feed().eventCount").await;
        assert!(n_shown > 1_000 && n_shown < 30_000, "{n_shown}");
    });
}
