//! The rehearsal of a session that goes on: it is held once, and the page around the feed notices nothing of it.

use serde_json::json;

use crate::made_logs::log_of;
use crate::stage::on_stage;
use crate::{FEED, SHORT};

/// The log without its end, so that more may come.
fn begun(session: &str) -> String {
    let log = log_of(session, 20);
    let lines = log.lines().filter(|line| !line.contains("\"session_end\""));
    lines.map(|line| format!("{line}\n")).collect()
}

/// How often a rehearsal came to its end.
const N_REHEARSED: &str = "performance.getEntriesByName('agent-feed: rehearsed').length";

#[test]
fn a_rehearsal_is_held_once_and_nobody_notices() {
    on_stage("rehearsal", FEED, Vec::new(), async |stage| {
        let tab = &stage.tab;
        tab.run(
            "window.told = []; window.seen = 0;
            for (const name of ['af-ready', 'af-error', 'af-session', 'af-badge', 'af-event', 'af-follow', 'af-view'])
                addEventListener(name, (event) => told.push([name, event.detail]), true);
            const root = __test.feed().shadowRoot;
            new MutationObserver(() => { if (root.querySelector('.rehearsal')) seen += 1; })
                .observe(root, { childList: true });
            window.states = new Set();
            addEventListener('af-state', (event) => states.add(event.detail.state), true);",
        )
        .await;
        stage.append(&begun("watched")).await;
        tab.wait_for("the rehearsal", SHORT, &format!("{N_REHEARSED} === 1"))
            .await;
        let gone = "!__test.feed().shadowRoot.querySelector('.rehearsal')";
        tab.wait_for("the stage to be gone", SHORT, gone).await;
        let seen: u32 = tab.eval("seen").await;
        assert!(seen > 0, "it was held in the feed's own root");
        let rows: String = tab.eval("__test.feed().serializeRows()").await;
        assert!(
            !rows.contains("mend it"),
            "its rows are not the feed's: {rows}"
        );
        let text: String = tab
            .eval("document.body.innerText + __test.feed().shadowRoot.textContent")
            .await;
        assert!(!text.contains("mend it"), "nothing of it is left: {text}");
        let told: String = tab.eval("JSON.stringify(told)").await;
        assert!(
            !told.contains("Rehearsal"),
            "the page was told of it: {told}"
        );

        // Another feed that goes on, and this one with another session.
        tab.run(&format!(
            "const feed = __test.feed(); feed.clear(); feed.append({0});
            const second = document.createElement('agent-feed'); document.body.append(second); second.append({0});",
            json!(begun("next"))
        ))
        .await;
        let both =
            "[...document.querySelectorAll('agent-feed')].every((it) => it.state === 'live')";
        tab.wait_for("both to go on", SHORT, both).await;
        tab.run("await new Promise((done) => setTimeout(done, 1500))")
            .await;
        let n_rehearsed: u32 = tab.eval(N_REHEARSED).await;
        assert_eq!(n_rehearsed, 1, "once in a page");
    });
}

#[test]
fn a_feed_that_goes_ends_the_rehearsal_beside_it() {
    on_stage("rehearsal_ends", FEED, Vec::new(), async |stage| {
        let tab = &stage.tab;
        tab.run(
            // That sizes changed once more while they were told is said of any page, and is no fault.
            "window.errors = []; addEventListener('error', (event) => {
                if (!event.message.startsWith('ResizeObserver loop')) errors.push(String(event.message));
            });
            const feed = __test.feed();
            const root = feed.shadowRoot;
            window.left = new Promise((done) => new MutationObserver(() => {
                if (!feed.isConnected || !root.querySelector('.rehearsal')) return;
                feed.remove();
                setTimeout(() => done(feed), 1000);
            }).observe(root, { childList: true }));",
        )
        .await;
        stage.append(&begun("leaves")).await;
        tab.wait_for(
            "the rehearsal to begin, and the feed to go",
            SHORT,
            "!document.querySelector('agent-feed')",
        )
        .await;
        let left: (u32, Vec<String>, u32) = tab
            .eval(&format!(
                "left.then((feed) => [feed.shadowRoot.querySelectorAll('.rehearsal').length, errors, {N_REHEARSED}])"
            ))
            .await;
        assert_eq!(
            left,
            (0, Vec::new(), 0),
            "stages left, errors, rehearsals to the end"
        );
    });
}
