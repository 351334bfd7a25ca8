//! A feed that a page hides for a while, as in a tab or a dialog: it shows the same when it is seen again.

use serde_json::{Value, json};

use crate::FEED;
use crate::made_logs::log_of;
use crate::stage::{Stage, on_stage};

/// Which row is at the upper edge, and how many px of it are above.
const PLACE: &str = "(() => {
    const edge = __test.feed().scroller.getBoundingClientRect().top;
    const row = __test.rows().find((it) => it.getBoundingClientRect().bottom > edge + 0.5);
    return [Number(row.getAttribute('aria-posinset')), edge - row.getBoundingClientRect().top];
})()";

/// How a page hides what `box` is, and shows it again.
const WAYS: [(&str, &str); 2] = [
    ("box.style.display = 'none'", "box.style.display = ''"),
    ("box.close()", "box.showModal()"),
];

/// The page's box around the feed.
const BOX: &str = "const box = document.querySelector('dialog');";

/// A row in the middle of the log, by the id of its event.
async fn middle(stage: &Stage, share: f64) -> String {
    stage
        .tab
        .eval(&format!(
            "(async () => {{ const log = (await (await fetch('/log')).text()).trim().split('\\n').map((line) => JSON.parse(line));
                const prompts = log.filter((event) => event.type === 'user_message'); return prompts[Math.floor(prompts.length * {share})].id; }})()"
        ))
        .await
}

fn assert_same(is: (u32, f64), was: (u32, f64), how: &str) {
    assert!(
        is.0 == was.0 && (is.1 - was.1).abs() <= 1.0,
        "{how}: row {} at {} px, and it was row {} at {} px",
        is.0,
        is.1,
        was.0,
        was.1
    );
}

#[test]
fn a_feed_that_is_hidden_and_shown_again_stands_where_it_stood() {
    let body = "<dialog autofocus><agent-feed fold=\"none\" group=\"none\"></agent-feed></dialog>";
    let files = vec![("/log", log_of("hidden", 300))];
    on_stage("hidden", body, files, async |stage| {
        let tab = &stage.tab;
        tab.run(&format!(
            "{BOX} box.style.cssText = 'width: 800px; height: 700px'; box.showModal()"
        ))
        .await;
        stage.show("/log").await;
        let (middle, other) = (middle(&stage, 0.5).await, middle(&stage, 0.25).await);
        let go_to = |id: &str| format!("__test.feed().goTo({})", json!(id));
        for (hide, show) in WAYS {
            tab.run(&go_to(&middle)).await;
            stage.rest().await;
            let was: (u32, f64) = tab.eval(PLACE).await;
            for _ in 0..3 {
                tab.run(&format!(
                    "{BOX} {hide}; await __test.frames(3); {show}; await __test.rest()"
                ))
                .await;
                assert_same(tab.eval(PLACE).await, was, hide);
            }
            // Where it is to be is gone to meanwhile as well.
            tab.run(&go_to(&other)).await;
            stage.rest().await;
            let there: (u32, f64) = tab.eval(PLACE).await;
            assert_ne!(there.0, was.0);
            tab.run(&go_to(&middle)).await;
            stage.rest().await;
            tab.run(&format!(
                "{BOX} {hide}; await __test.frames(3); {}; await __test.frames(3); {show}; await __test.rest()",
                go_to(&other)
            ))
            .await;
            assert_same(tab.eval(PLACE).await, there, &format!("gone to, {hide}"));
        }
        // Who follows is at the end, also of what came meanwhile.
        tab.run("__test.feed().scroller.scrollTop = 1e6; __test.feed().setAttribute('follow', 'on'); await __test.rest()")
            .await;
        let end = "(() => { const { scrollTop, clientHeight, scrollHeight } = __test.feed().scroller; return scrollHeight - clientHeight - scrollTop; })()";
        let (hide, show) = WAYS[0];
        tab.run(&format!(
            "{BOX} {hide}; await __test.frames(3); {show}; await __test.rest()"
        ))
        .await;
        let left_px: f64 = tab.eval(end).await;
        assert!(left_px < 1.0, "{left_px} px from the end");
    });
}

#[test]
fn a_feed_that_is_hidden_keeps_what_its_page_was_told_of_its_size() {
    let files = vec![("/log", log_of("hidden-size", 60))];
    on_stage("hidden_size", FEED, files, async |stage| {
        stage.show("/log").await;
        let told =
            "(({ dataset }) => [dataset.low ?? '', dataset.below ?? ''])(__test.one('.frame'))";
        let before: Value = stage.tab.eval(told).await;
        stage
            .tab
            .run("__test.feed().style.display = 'none'; await __test.frames(3)")
            .await;
        assert_eq!(stage.tab.eval::<Value>(told).await, before);
    });
}
