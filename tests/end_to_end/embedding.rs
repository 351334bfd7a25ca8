//! `<agent-feed>` in a page of another origin, from one script.

use crate::made_logs::log_of;
use crate::stage::{LOAD_LIMIT, on_stage};

#[test]
fn one_script_shows_sessions_in_a_page_of_another_origin() {
    let body = "<p>before</p><agent-feed id=\"one\" fold=\"none\" src=\"/one.jsonl\"></agent-feed><agent-feed id=\"two\" fold=\"none\" src=\"/two.jsonl\"></agent-feed>";
    let files = vec![
        ("/one.jsonl", log_of("one", 200)),
        ("/two.jsonl", log_of("two", 400)),
    ];
    on_stage("embed", body, files, async |stage| {
        stage
            .tab
            .wait_for(
                "both logs to be read",
                LOAD_LIMIT,
                "__test.feeds().every((feed) => feed.getAttribute('state') === 'ready')",
            )
            .await;
        let counts: Vec<u64> = stage
            .tab
            .eval("__test.feeds().map((feed) => feed.eventCount)")
            .await;
        assert!(counts[0] >= 200 && counts[1] >= 400, "{counts:?}");
        stage
            .tab
            .wait_for(
                "both to show what their rows hold",
                LOAD_LIMIT,
                "__test.feeds().every((feed) => __test.text(feed).includes('cargo test part_'))",
            )
            .await;
        // Nothing of the element reaches the page around it.
        let around: String = stage.tab.eval("document.body.innerText").await;
        assert!(around.contains("before"), "{around}");
        let sheets: usize = stage.tab.eval("document.adoptedStyleSheets.length").await;
        assert_eq!(sheets, 0);
        stage
            .tab
            .run("for (const feed of __test.feeds()) feed.remove(); await __test.frames(2);")
            .await;
        let left: usize = stage.tab.eval("__test.feeds().length").await;
        assert_eq!(left, 0);
        stage.assert_no_request_out();
        assert!(
            stage.tab.network_errors().is_empty(),
            "{:?}",
            stage.tab.network_errors()
        );
    });
}
