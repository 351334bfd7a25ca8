//! A server that a page names and that does not answer it: what it is told, and what may be wrong.

use crate::stage::on_stage;
use crate::{FEED, SHORT};

#[test]
fn a_page_that_its_server_was_not_told_of_hears_what_is_missing() {
    on_stage("unreached", FEED, Vec::new(), async |stage| {
        // Its policy would keep the page from asking.
        stage.site.drop_policy();
        stage.enter().await;
        stage
            .tab
            .expect_problems("CORS|WebSocket|Failed to load resource");
        stage
            .tab
            .run(&format!(
                "window.told = []; const feed = __test.feed();
                 feed.addEventListener('af-connection', ({{ detail }}) => told.push(`${{detail.state}}: ${{detail.why}}`));
                 feed.token = '{}'; feed.endpoint = '{}'; feed.session = 'some';",
                stage.server.token, stage.server.url
            ))
            .await;
        let host = stage.server.url.trim_start_matches("http://");
        let words = format!(
            "{host} does not answer this page. Is it running, and was it started with --embed-origin {}?",
            stage.site.url
        );
        let noted = format!("__test.visible('.note--away')?.textContent.includes('{words}')");
        stage.tab.wait_for("the advice", SHORT, &noted).await;
        let told = format!("told.includes('unreached: {words}')");
        stage
            .tab
            .wait_for("the page to hear it", SHORT, &told)
            .await;
        let lost: bool = stage
            .tab
            .eval("__test.text().includes('connection is lost')")
            .await;
        assert!(!lost, "nothing was lost");
    });
}

#[test]
fn an_address_that_no_server_can_have_is_refused_at_once() {
    on_stage("unreached_scheme", FEED, Vec::new(), async |stage| {
        for endpoint in ["ftp://x", "data:text/plain,x"] {
            stage
                .tab
                .run(&format!(
                    "const feed = __test.feed(); feed.session = ''; await __test.frames(3); feed.endpoint = '{endpoint}'; feed.session = 'some'"
                ))
                .await;
            let said = format!(
                "__test.feed().state === 'error' && __test.visible('.note')?.textContent.includes('{endpoint}') && __test.visible('.note').textContent.includes('attribute endpoint')"
            );
            stage.tab.wait_for(endpoint, SHORT, &said).await;
        }
    });
}
