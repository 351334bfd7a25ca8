//! Sides: what is written from right to left has its own there, and what goes from left to right stays so.

use serde_json::json;

use crate::made_logs::{Writer, log_of};
use crate::stage::on_stage;
use crate::{FEED, SHORT};

#[test]
fn time_goes_from_left_to_right_whichever_way_the_page_is_written() {
    let files = vec![("/log", log_of("ways", 60))];
    on_stage("embed_ways", FEED, files, async |stage| {
        stage.tab.run("document.documentElement.dir = 'rtl'").await;
        stage.show("/log").await;
        let strip = "__test.visible('.strip')";
        stage.tab.wait_for("the strip", SHORT, strip).await;
        // To the moment at a fifth of the strip: the thumb is where it was pressed.
        stage
            .tab
            .run("__test.feed().seek(__test.feed().duration / 5); await __test.rest()")
            .await;
        let share: f64 = stage
            .tab
            .eval("(() => { const strip = __test.one('.strip').getBoundingClientRect(), thumb = __test.one('.strip__thumb').getBoundingClientRect(); return (thumb.left - strip.left) / strip.width; })()")
            .await;
        assert!(share < 0.5, "the thumb is at {share}");
        // Figures are read as they are written.
        let facts: String = stage
            .tab
            .eval("getComputedStyle(__test.one('.line__time')).unicodeBidi")
            .await;
        assert_eq!(facts, "plaintext");
    });
}

#[test]
fn what_is_written_from_right_to_left_has_its_sides_there() {
    let mut writer = Writer::new("sides");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let text = "- النقطة\n\n| عمود | قيمة |\n|---|---|\n| أ | 1 |\n\n> اقتباس\n\n> A quote";
    writer.event(
        "user_message",
        &place,
        &json!({"text": "مرحبا، أصلح الاختبار"}),
    );
    writer.event(
        "assistant_done",
        &place,
        &json!({"text": text, "messageId": "m1"}),
    );
    let files = vec![("/log", writer.take())];
    on_stage("embed_sides", FEED, files, async |stage| {
        stage.show("/log").await;
        let written = "__test.all('.assistant-text blockquote').length === 2";
        stage.tab.wait_for("the text", SHORT, written).await;
        let directions: Vec<String> = stage
            .tab
            .eval("['ul', 'table', 'blockquote'].flatMap((tag) => __test.all(`.assistant-text ${tag}`)).map((it) => getComputedStyle(it).direction)")
            .await;
        assert_eq!(directions, ["rtl", "rtl", "rtl", "ltr"]);
        // A wide table opens on its first column.
        let scrolls: String = stage
            .tab
            .eval("getComputedStyle(__test.one('.table-scroller')).direction")
            .await;
        assert_eq!(scrolls, "rtl");
        let bidi: String = stage
            .tab
            .eval("getComputedStyle(__test.one('.bar__title')).unicodeBidi")
            .await;
        assert_eq!(bidi, "plaintext");
        // A number stands below its column's name.
        let below: bool = stage
            .tab
            .eval("(() => { const right = (cell) => { const range = document.createRange(); range.selectNodeContents(cell); return range.getBoundingClientRect().right; }; return Math.abs(right(__test.all('.assistant-text th')[1]) - right(__test.all('.assistant-text td')[1])) < 2; })()")
            .await;
        assert!(below);
    });
}

#[test]
fn words_begin_beside_their_icon_whichever_way_the_page_is_written() {
    let mut writer = Writer::new("ends");
    writer.turn(1);
    writer.event("session_end", &json!({}), &json!({"reason": "done"}));
    let files = vec![("/log", writer.take())];
    on_stage("embed_ends", FEED, files, async |stage| {
        stage.tab.run("document.documentElement.dir = 'rtl'").await;
        stage.show("/log").await;
        let ends = "__test.one('.session-end .muted')";
        stage.tab.wait_for("the end", SHORT, ends).await;
        let between: f64 = stage
            .tab
            .eval(&format!(
                "(() => {{ const words = document.createRange(); words.selectNodeContents({ends});
                    return __test.one('.session-end .icon').getBoundingClientRect().left - words.getBoundingClientRect().right; }})()"
            ))
            .await;
        assert!((0.0..24.0).contains(&between), "{between} px");
    });
}
