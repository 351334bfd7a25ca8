//! What a script can do with a feed beyond showing a log: find, filter, step, open and close, copy links; and what it is
//! told while the reader does the same by hand.

use serde_json::{Value, json};

use crate::SHORT;
use crate::made_logs::{Writer, log_of};
use crate::stage::{Stage, on_stage};

/// With all that folds and groups.
const FOLDING_FEED: &str = "<agent-feed></agent-feed>";

/// Keeps what the feed tells.
async fn listen(stage: &Stage, names: &[&str]) {
    let names = json!(names);
    stage
        .tab
        .run(&format!(
            "window.told = []; for (const name of {names}) __test.feed().addEventListener(name, (event) => {{ window.told.push([name, event.detail ?? null]); if (name === 'af-link') event.preventDefault(); }})"
        ))
        .await;
}

async fn wait_for_told(stage: &Stage, name: &str) {
    let told = format!("window.told.some(([name]) => name === '{name}')");
    stage.tab.wait_for(name, SHORT, &told).await;
}

#[test]
fn a_script_finds_and_filters_in_all_of_the_session() {
    let mut writer = Writer::new("found");
    for number in 1..=60 {
        writer.turn(number);
        if number % 7 == 0 {
            let place = json!({"turnId": format!("q{number}")});
            writer.event(
                "user_message",
                &place,
                &json!({"text": format!("a quokka, number {number}")}),
            );
        }
    }
    let files = vec![("/log", writer.take())];
    on_stage("script_find", FOLDING_FEED, files, async |stage| {
        stage.show("/log").await;
        listen(&stage, &["af-filter"]).await;
        stage.tab.run("document.body.append(Object.assign(document.createElement('input'), { id: 'mine' })); document.querySelector('#mine').focus()").await;
        let n_found: usize = stage.tab.eval("__test.feed().search('quokka')").await;
        assert_eq!(n_found, 8);
        stage
            .tab
            .wait_for(
                "the bar to say so",
                SHORT,
                "__test.text(__test.one('.find__status')).includes('8 found')",
            )
            .await;
        let words: String = stage.tab.eval("__test.one('.find__field').value").await;
        assert_eq!(words, "quokka");
        let focus: String = stage.tab.eval("document.activeElement.id").await;
        assert_eq!(focus, "mine", "the focus stays where the page has it");
        let n_all: usize = stage.tab.eval("__test.feed().rowCount").await;
        let n_left: usize = stage.tab.eval("__test.feed().filter('quokka')").await;
        assert_eq!(n_left, 8);
        stage
            .tab
            .wait_for(
                "other rows to go",
                SHORT,
                &format!("__test.feed().rowCount < {n_all} / 4"),
            )
            .await;
        let told: Value = stage.tab.eval("window.told.at(-1)[1]").await;
        assert_eq!(told["hits"], "8", "{told}");
        let why: String = stage
            .tab
            .eval("__test.feed().search('/(/').catch((why) => why.message)")
            .await;
        assert!(why.starts_with("could not search: "), "{why}");
        let n_none: usize = stage.tab.eval("__test.feed().filter('')").await;
        assert_eq!(n_none, 0);
        stage
            .tab
            .wait_for(
                "all rows again",
                SHORT,
                &format!("__test.feed().rowCount === {n_all} && !__test.visible('.find__field')"),
            )
            .await;
    });
}

#[test]
fn a_script_opens_closes_links_and_gives_the_focus() {
    let files = vec![("/log", log_of("opened", 400))];
    on_stage("script_open", FOLDING_FEED, files, async |stage| {
        stage.show("/log").await;
        listen(&stage, &["af-link", "af-follow", "af-event"]).await;
        let folded: usize = stage.tab.eval("__test.feed().rowCount").await;
        stage.tab.run("await __test.feed().expandAll()").await;
        let unfolded: usize = stage.tab.eval("__test.feed().rowCount").await;
        assert!(unfolded > folded, "{folded} rows, then {unfolded}");
        stage.rest().await;
        let n_closed: usize = stage
            .tab
            .eval("__test.all('.row [aria-expanded=false].line').length")
            .await;
        assert_eq!(n_closed, 0);
        stage.tab.run("await __test.feed().collapseAll()").await;
        stage.rest().await;
        let n_rows: usize = stage.tab.eval("__test.feed().rowCount").await;
        assert_eq!(n_rows, folded);
        let n_open: usize = stage
            .tab
            .eval("__test.all('.row [aria-expanded=true].line').length")
            .await;
        assert_eq!(n_open, 0);
        let link: String = stage.tab.eval("__test.feed().copyLink('e9')").await;
        assert!(link.ends_with("#e=e9"), "{link}");
        let told: Value = stage
            .tab
            .eval("window.told.find(([name]) => name === 'af-link')[1]")
            .await;
        assert_eq!(
            (told["eventId"].as_str(), told["href"].as_str()),
            (Some("e9"), Some(link.as_str()))
        );
        let why: String = stage
            .tab
            .eval("__test.feed().copyLink('nobody').catch((why) => why.message)")
            .await;
        assert_eq!(why, "could not copy a link: no such event is here: nobody");
        stage.tab.run("await __test.feed().focusFeed()").await;
        let focused: bool = stage
            .tab
            .eval("__test.feed().shadowRoot.activeElement?.classList.contains('row')")
            .await;
        assert!(focused, "a row has the focus");
        stage
            .tab
            .run("__test.feed().setAttribute('follow', 'off'); await __test.frames(3); __test.feed().setAttribute('follow', '')")
            .await;
        wait_for_told(&stage, "af-follow").await;
    });
}

#[test]
fn a_script_steps_and_hears_of_playing_as_of_a_media_element() {
    let files = vec![("/log", log_of("played", 60))];
    on_stage("script_play", FOLDING_FEED, files, async |stage| {
        stage.show("/log").await;
        stage.tab.run("await __test.feed().focusFeed()").await;
        listen(
            &stage,
            &[
                "play",
                "pause",
                "seeked",
                "ratechange",
                "timeupdate",
                "ended",
            ],
        )
        .await;
        let end: f64 = stage.tab.eval("__test.feed().currentTime").await;
        stage.tab.run("__test.feed().step(-3)").await;
        let back: f64 = stage.tab.eval("__test.feed().currentTime").await;
        assert!(back < end, "{back} of {end}");
        wait_for_told(&stage, "seeked").await;
        stage.tab.run("__test.feed().step()").await;
        let on: f64 = stage.tab.eval("__test.feed().currentTime").await;
        assert!(back < on && on < end, "{back}, {on}, {end}");
        stage.tab.run("__test.feed().step(1000)").await;
        let last: f64 = stage.tab.eval("__test.feed().currentTime").await;
        assert!((last - end).abs() < 0.001, "{last} of {end}");
        stage
            .tab
            .run("const feed = __test.feed(); feed.seek(0); feed.playbackRate = 2; feed.play()")
            .await;
        for name in ["play", "ratechange", "timeupdate"] {
            wait_for_told(&stage, name).await;
        }
        stage.tab.run("__test.feed().pause()").await;
        wait_for_told(&stage, "pause").await;
        stage.tab.run("const feed = __test.feed(); feed.seek(feed.duration - 0.2); feed.playbackRate = 10; feed.play()").await;
        wait_for_told(&stage, "ended").await;
    });
}
