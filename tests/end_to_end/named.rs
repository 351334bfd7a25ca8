//! Places of a session that the page names: on the strip, among the chapters, and told as markers.

use serde_json::{Value, json};

use crate::FEED;
use crate::attributes::waiting_log;
use crate::script::{listen, wait_for_told};
use crate::stage::{Stage, on_stage};

/// What is shown of them.
const SEEN: &str = "(() => ({
    here: __test.one('#chapters-opener')?.textContent ?? '',
    signs: __test.one('.strip__marker--named')?.textContent ?? '',
}))()";

async fn seen(stage: &Stage) -> Value {
    stage.rest().await;
    stage.tab.eval(SEEN).await
}

#[test]
fn what_the_page_names_is_a_marker_and_a_chapter() {
    let files = vec![("/log", waiting_log())];
    on_stage("named", FEED, files, async |stage| {
        let places = json!([
            {"label": "Done <b>at last</b>", "time": "1:00.5"},
            {"label": "The call", "eventId": "e3"},
            {"label": "Not here", "eventId": "e99"},
            {"label": "Much later", "time": 600},
            {"label": "Nowhere"},
            "none",
        ]);
        stage
            .tab
            .run(&format!("__test.feed().markers = {places}"))
            .await;
        stage.show("/log").await;
        let both = json!({"here": "Chapter 3 of 3: Done <b>at last</b>", "signs": "●●"});
        assert_eq!(seen(&stage).await, both);
        // Back to where one stands, it is said.
        stage
            .tab
            .run("__test.feed().viewAsOf(2); await __test.frames(2)")
            .await;
        let spoken = "__test.one('.strip').getAttribute('aria-valuetext')";
        let spoken: String = stage.tab.eval(spoken).await;
        assert!(spoken.ends_with(", The call"), "{spoken}");
        // Playing passes them.
        listen(&stage, &["af-marker", "ended"]).await;
        stage
            .tab
            .run("const feed = __test.feed(); feed.seek(0); feed.playbackRate = 1000; feed.play()")
            .await;
        wait_for_told(&stage, "ended").await;
        let told: Vec<Value> = stage
            .tab
            .eval("window.told.filter(([name]) => name === 'af-marker').map(([, { kind, label, eventId }]) => [kind, label, eventId])")
            .await;
        let named = [
            json!(["named", "The call", "e3"]),
            json!(["named", "Done <b>at last</b>", "e3"]),
        ];
        assert!(told.ends_with(&named), "{told:?}");
        // They are the element's own, wherever it stands, until others are set.
        stage
            .tab
            .run("const feed = __test.feed(), page = feed.parentNode; feed.remove(); await __test.frames(2); page.append(feed); await feed.ready")
            .await;
        assert_eq!(seen(&stage).await, both);
        let n_markers: usize = stage.tab.eval("__test.feed().markers.length").await;
        assert_eq!(n_markers, 6, "as they were given");
        stage.tab.run("__test.feed().markers = null").await;
        assert_eq!(seen(&stage).await, json!({"here": "", "signs": ""}));
    });
}
