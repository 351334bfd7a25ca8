//! How much of a session is mounted: what the window shows and a little more, however long it is, and all of that painted.

use serde_json::{Value, json};

use crate::anchor::scroll_to_share;
use crate::hostile::{hostile_log, hostile_payloads};
use crate::made_logs::{Writer, log_of};
use crate::stage::on_stage;
use crate::{FEED, SHORT};

/// Rows are mounted this far beyond the edges, in heights of the scroller.
const OVERSCAN: f64 = 0.75;
/// What is mounted stays where it reaches no further than this beyond that: rows may turn out taller than they were expected.
const STRIDE: f64 = 1.0;

/// Mounted rows, and how far they reach beyond the scroller's edges, in its heights; measured once at rest.
const MOUNTED: &str = "(() => {
    const scroller = __test.feed().scroller, box = scroller.getBoundingClientRect();
    const rows = __test.rows().map((row) => row.getBoundingClientRect()).filter((row) => row.height > 0);
    const tops = rows.map((row) => row.top), bottoms = rows.map((row) => row.bottom);
    return {
        n: __test.rows().length,
        above: (box.top - Math.min(...tops)) / box.height,
        below: (Math.max(...bottoms) - box.bottom) / box.height,
        tallest: Math.max(...rows.map((row) => row.height)) / box.height,
        covered: Math.min(...tops) <= box.top + 1 && Math.max(...bottoms) >= Math.min(box.bottom, box.top + scroller.scrollHeight) - 60,
    };
})()";

#[test]
fn mounted_rows_fill_window_and_overscan_however_long_the_session_is() {
    let files = vec![
        ("/1k.jsonl", log_of("short", 1_000)),
        ("/50k.jsonl", log_of("long", 50_000)),
    ];
    on_stage("mounted_rows", FEED, files, async |stage| {
        let mut most = Vec::new();
        for address in ["/1k.jsonl", "/50k.jsonl"] {
            stage.show(address).await;
            let mut n_most = 0;
            for share in [1.0, 0.0, 0.2, 0.5, 0.77, 0.95] {
                stage
                    .tab
                    .run(&format!("const s = __test.feed().scroller; s.scrollTop = (s.scrollHeight - s.clientHeight) * {share}; await __test.frames(2);"))
                    .await;
                stage.rest().await;
                let mounted: Value = stage.tab.eval(MOUNTED).await;
                let number = |name: &str| mounted[name].as_f64().expect("a number");
                let reach = OVERSCAN + STRIDE + number("tallest") + 0.05;
                assert!(
                    number("above") <= reach && number("below") <= reach,
                    "{address} at {share}: {mounted}"
                );
                assert_eq!(
                    mounted["covered"],
                    json!(true),
                    "{address} at {share}: the window is filled: {mounted}"
                );
                n_most = n_most.max(mounted["n"].as_u64().expect("a count"));
            }
            most.push(n_most);
        }
        let (short, long) = (most[0], most[1]);
        assert!(
            long <= short + short / 4 + 8,
            "50k events mount {long} rows, 1k events {short}"
        );
        let rows: u64 = stage.tab.eval("__test.feed().rowCount").await;
        assert!(rows > 10_000, "the long session has {rows} rows");
    });
}

#[test]
fn cards_that_open_at_the_end_leave_the_window_filled() {
    let log = log_of("filled", 1_000);
    on_stage("filled", FEED, vec![("/log.jsonl", log)], async |stage| {
        stage.show("/log.jsonl").await;
        for open in [true, false] {
            let n_toggled: usize = stage
                .tab
                .eval(&format!(
                    "(() => {{
                        const cards = __test.all('.row [aria-expanded={}]', __test.feed().shadowRoot);
                        for (const card of cards) card.click();
                        return cards.length;
                    }})()",
                    !open
                ))
                .await;
            assert!(n_toggled > 1, "cards are on the screen");
            stage.rest().await;
            let mounted: Value = stage.tab.eval(MOUNTED).await;
            assert_eq!(mounted["covered"], json!(true), "open: {open}: {mounted}");
        }
    });
}

#[test]
fn what_is_mounted_is_painted() {
    // All of the corpus: what is not painted depends on what is there.
    let log = hostile_log(&hostile_payloads(1));
    on_stage("painted", FEED, vec![("/log.jsonl", log)], async |stage| {
        stage.show("/log.jsonl").await;
        // Somebody else scrolls far away while the end is followed; the list goes back, and cards grow meanwhile.
        stage
            .tab
            .run(
                "__test.feed().scroller.scrollTop = 0;
                await __test.frames(2);
                for (const card of __test.all('.row [aria-expanded=false]', __test.feed().shadowRoot)) card.click();
                await __test.frames(2);",
            )
            .await;
        stage.rest().await;
        stage.tab.run("await __test.sleep(300)").await;
        let painted = stage.tab.pixels().await;
        // A layer of its own is painted from nothing.
        stage
            .tab
            .run(
                "const style = __test.feed().scroller.style;
                style.transform = 'translateZ(0)';
                await __test.frames(3);
                style.transform = '';
                await __test.frames(3);",
            )
            .await;
        let painted_anew = stage.tab.pixels().await;
        assert!(painted == painted_anew, "some rows were not painted");
    });
}

#[test]
fn a_card_that_was_opened_is_open_when_the_reader_comes_back() {
    on_stage(
        "opened_stays",
        FEED,
        vec![("/log.jsonl", log_of("opened", 8_000))],
        async |stage| {
            stage.show("/log.jsonl").await;
            scroll_to_share(&stage, 0.5).await;
            let (name, event): (String, String) = stage
            .tab
            .eval("(() => {
                const row = __test.rows().find((row) => row.matches('.tool-call[data-kind=read]') && row.querySelector('[aria-expanded=false]'));
                row.querySelector('[aria-expanded]').click();
                return [row.dataset.toolCallId, row.dataset.eventId];
            })()")
            .await;
            let row = format!("__test.one('.tool-call[data-tool-call-id={name}]')");
            stage
                .tab
                .wait_for(
                    "the card to open",
                    SHORT,
                    &format!("{row}?.querySelector('[aria-expanded=true]')?.isConnected"),
                )
                .await;
            stage
                .tab
                .run("__test.feed().scroller.scrollTop = 0; await __test.frames(3);")
                .await;
            stage.rest().await;
            let mounted: bool = stage.tab.eval(&format!("!!{row}")).await;
            assert!(!mounted, "far away its row is not mounted");
            let event_idx: u64 = event[1..].parse::<u64>().expect("events are numbered") - 1;
            let rank: i64 = stage
                .tab
                .eval(&format!("__test.feed().goToEvent({event_idx})"))
                .await;
            assert!(rank > 0, "the event is found");
            stage.rest().await;
            let expanded: String = stage.tab.eval(&format!("{row}?.querySelector('[aria-expanded]')?.getAttribute('aria-expanded') ?? 'gone'")).await;
            assert_eq!(expanded, "true");
            let body: String = stage
                .tab
                .eval(&format!("{row}.querySelector('.body')?.textContent ?? ''"))
                .await;
            assert!(!body.trim().is_empty(), "and shows what was read");
            let headline: String = stage
                .tab
                .eval(&format!("{row}.querySelector('.line__what').textContent"))
                .await;
            assert!(headline.contains("part_"), "of which file: {headline:?}");
        },
    );
}

/// How much of the row across the upper edge stands above it, and how high that row is, in heights of the scroller.
const ABOVE_EDGE: &str = "(() => {
    const box = __test.feed().scroller.getBoundingClientRect();
    const row = __test.rows().map((row) => row.getBoundingClientRect()).find((row) => row.top < box.top && row.bottom > box.top);
    return row ? [(box.top - row.top) / row.height, row.height / box.height] : [0, 0];
})()";

#[test]
fn another_width_leaves_the_reader_at_the_same_place_of_a_long_row() {
    let mut writer = Writer::new("widths");
    for n in 1..30 {
        writer.turn(n);
    }
    let place = json!({"turnId": "t30", "responseId": "r30"});
    let index = writer.n_events();
    let words: String = (0..6_000).map(|n| format!("word{n} ")).collect();
    writer.event("assistant_done", &place, &json!({"text": words, "part": 0}));
    for n in 31..60 {
        writer.turn(n);
    }
    let files = vec![("/log", writer.take())];
    on_stage("widths", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        tab.run(&format!("await __test.feed().goToEvent({index});"))
            .await;
        stage.rest().await;
        tab.run("const s = __test.feed().scroller; const row = __test.rows().map((row) => row.getBoundingClientRect()).find((row) => row.height > 2 * innerHeight); s.scrollTop += row.top - s.getBoundingClientRect().top + row.height * 0.6;")
            .await;
        stage.rest().await;
        let (before, screens): (f64, f64) = tab.eval(ABOVE_EDGE).await;
        assert!(
            screens > 2.0 && (before - 0.6).abs() < 0.05,
            "{before} of {screens}"
        );
        for width in [600, 1000, 500, 1100] {
            tab.look(false, (width, 760)).await;
            stage.rest().await;
            let (after, _): (f64, f64) = tab.eval(ABOVE_EDGE).await;
            assert!(
                (after - before).abs() < 0.02,
                "{before} and {after} at {width}"
            );
        }
    });
}

#[test]
fn long_prompts_do_not_change_how_high_lists_are_expected() {
    let mut writer = Writer::new("expected");
    let items: Vec<String> = (0..24).map(|n| format!("- item {n}")).collect();
    for n in 0..100 {
        let place = json!({"turnId": format!("l{n}"), "responseId": format!("r{n}")});
        writer.event("assistant_done", &place, &json!({"text": items.join("\n")}));
    }
    for n in 0..30 {
        let text = json!({"text": "word ".repeat(800)});
        writer.event("user_message", &json!({"turnId": format!("p{n}")}), &text);
    }
    let files = vec![("/log", writer.take())];
    on_stage("expected", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        // Most prompts are measured, from the last on.
        for _ in 0..14 {
            tab.wheel((500.0, 300.0), -500.0).await;
            stage.rest().await;
        }
        let high = "__test.feed().scroller.scrollHeight";
        let expected_px: f64 = tab.eval(high).await;
        tab.run("const s = __test.feed().scroller; for (let at = 0; at < s.scrollHeight; at += 400) { s.scrollTop = at; await __test.frames(2); }")
            .await;
        stage.rest().await;
        let is_px: f64 = tab.eval(high).await;
        let share = expected_px / is_px;
        assert!((0.65..1.5).contains(&share), "{expected_px}, {is_px}");
    });
}
