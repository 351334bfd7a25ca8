//! What stands beside the rows and above them: a row's buttons, the panel, the find bar. None hides what another says or
//! does, and on our own page keys reach the feed from wherever the focus is.

use std::path::Path;

use serde_json::json;

use crate::SHORT;
use crate::made_logs::{Writer, log_of};
use crate::stage::{on_own_site, on_stage};

const WHOLE_FEED: &str = "<agent-feed fold=\"none\" verbosity=\"verbose\"></agent-feed>";

/// What a row's buttons cover of what any row says or does, one line a case.
const COVERED: &str = "Promise.all(__test.rows().map((_, nth) => nth)).then(async (all) => { const covered = []; for (const nth of all) covered.push(...await (async (row) => {
    row.focus();
    await __test.drawn();
    const actions = row.querySelector(':scope > .row-actions')?.getBoundingClientRect();
    if (!actions?.width) return [`no buttons: ${row.className}`];
    const meets = (at) => at.width > 1 && at.left < actions.right - 1 && at.right > actions.left + 1 && at.top + 3 < actions.bottom && at.bottom - 3 > actions.top;
    // What stands around the rows is over them, buttons and all.
    const own = (element) => element.closest('.row') && !element.closest('.row-actions');
    return __test.all('.line__what > *, .line__outcome > *, .line__time, .icon, .prompt__head > *, .ask__head > *, .turn-end, .prose')
        .filter(own).filter((element) => element.checkVisibility({ opacityProperty: true })).filter((element) => {
            const range = document.createRange();
            range.selectNodeContents(element);
            return [...(element.matches('.icon') ? [element] : [range])].some((it) => [...it.getClientRects()].some(meets));
        })
        .map((element) => `${row.className} covers ${element.getAttribute('class')}: ${element.textContent}`);
})(__test.rows()[nth])); return covered; })";

/// A prompt, calls that did and did not fail, an edit, a question and an answer.
fn all_kinds() -> String {
    let mut writer = Writer::new("kinds");
    writer.turn(1).turn(2);
    let place = json!({"turnId": "t2", "responseId": "r2"});
    let call = json!({"toolCallId": "long", "toolName": "Bash", "kind": "execute", "args": {"command": "grep -rn 'a long command that fills its line' src tests crates | sort | uniq -c | head"}});
    writer.event("tool_call", &place, &call);
    writer.event(
        "tool_result",
        &place,
        &json!({"toolCallId": "long", "result": "1", "exitCode": 2, "durationMs": 4200}),
    );
    let asks = json!({"requestId": "p1", "toolName": "Bash", "args": {"command": "rm -rf build"},
        "options": [{"id": "1", "label": "Allow once", "kind": "allow_once"}]});
    writer.event("permission_request", &place, &asks);
    writer.take()
}

#[test]
fn a_call_in_parallel_has_the_ring_of_the_focus_around_it_and_its_bracket_beside_it() {
    let mut writer = Writer::new("parallel");
    let place = json!({"turnId": "t", "responseId": "r"});
    for call in ["a", "b"] {
        let call = json!({"toolCallId": call, "toolName": "Bash", "kind": "execute", "args": {"command": call}});
        writer.event("tool_call", &place, &call);
    }
    for call in ["a", "b"] {
        let result = json!({"toolCallId": call, "result": "x", "exitCode": 0});
        writer.event("tool_result", &place, &result);
    }
    let files = vec![("/parallel.jsonl", writer.take())];
    let feed = "<agent-feed fold=\"none\"></agent-feed>";
    on_stage("parallel_ring", feed, files, async |stage| {
        stage.show("/parallel.jsonl").await;
        let begun = "__test.feed().focusFeed(); __test.one('.row.parallel:not(.company)').focus()";
        stage.tab.run(begun).await;
        stage.tab.press("j").await;
        let sides: [f64; 3] = stage
            .tab
            .eval(
                "((row) => [row.getBoundingClientRect().width, ...['::after', '::before'].map((part) =>
                    parseFloat(getComputedStyle(row, part).inlineSize))])(
                    __test.one('.row.parallel:focus-visible'))",
            )
            .await;
        let [row_px, ring_px, bracket_px] = sides;
        assert!(ring_px > row_px, "{sides:?}");
        assert!(bracket_px < 10.0, "{sides:?}");
    });
}

/// Whether the row that has the focus is on the screen, and how far the rows are scrolled.
const TABBED: &str = "(() => {
    const { scroller, shadowRoot } = __test.feed();
    const row = shadowRoot.activeElement.closest('.row')?.getBoundingClientRect();
    const { top, bottom } = scroller.getBoundingClientRect();
    return [row?.bottom > top + 1 && row?.top < bottom - 1, scroller.scrollTop];
})()";

#[test]
fn tab_leads_to_what_is_read_and_not_to_what_is_mounted_above_it() {
    let files = vec![("/tabs.jsonl", log_of("tabs", 600))];
    on_stage("tabs", WHOLE_FEED, files, async |stage| {
        stage.show("/tabs.jsonl").await;
        let in_row = "!!__test.feed().shadowRoot.activeElement?.closest('.row')";
        let begins = format!("(__test.one('.turn-header').focus(), {TABBED})");
        let up = "const { scroller } = __test.feed(); scroller.dispatchEvent(new WheelEvent('wheel')); scroller.scrollTop -= 900";
        for go in ["", up] {
            stage.tab.run(go).await;
            stage.rest().await;
            let (_, before): (bool, f64) = stage.tab.eval(&begins).await;
            stage.tab.press("Tab").await;
            stage.tab.wait_for("a row", SHORT, in_row).await;
            stage.rest().await;
            let (seen, after): (bool, f64) = stage.tab.eval(TABBED).await;
            assert!(seen, "the row is on the screen; {go}");
            assert!((before - after).abs() < 2.0, "{before} → {after}");
            let n_inert: usize = stage.tab.eval("__test.all('.row[inert]').length").await;
            assert_eq!(n_inert, 0, "rows take the focus again");
        }
    });
}

#[test]
fn a_narrow_page_keeps_no_room_for_buttons_that_are_not_there() {
    let mut writer = Writer::new("narrow");
    let place = json!({"turnId": "t", "responseId": "r"});
    let long = "A hook was slow, so slow that what there is to say of it takes more than one line";
    for text in ["A hook was slow", long] {
        let warning = json!({"level": "warning", "text": text, "source": "hook"});
        writer.event("notice", &place, &warning);
    }
    let asks = json!({"requestId": "p1", "toolName": "Bash", "args": {"command": "rm -rf build"}, "answerable": true,
        "options": [{"id": "1", "label": "Allow once", "kind": "allow_once"}]});
    writer.event("permission_request", &place, &asks);
    let files = vec![("/narrow.jsonl", writer.take())];
    on_stage("narrow_rows", WHOLE_FEED, files, async |stage| {
        stage.tab.look(false, (390, 900)).await;
        stage.show("/narrow.jsonl").await;
        stage.rest().await;
        let below = "__test.all('.notice--warning .line, .ask').map((it) => {
            const range = document.createRange();
            range.selectNodeContents(it.querySelector('.notice__text') ?? it);
            return it.getBoundingClientRect().bottom - range.getBoundingClientRect().bottom;
        })";
        let below_px: Vec<f64> = stage.tab.eval(below).await;
        assert_eq!(below_px.len(), 3);
        assert!(below_px.iter().all(|&px| px <= 16.0), "{below_px:?}");
        let covered: Vec<String> = stage.tab.eval(COVERED).await;
        assert_eq!(covered, Vec::<String>::new());
    });
}

#[test]
fn the_buttons_of_a_row_cover_nothing_of_it() {
    let files = vec![("/kinds.jsonl", all_kinds())];
    on_stage("row_buttons", WHOLE_FEED, files, async |stage| {
        stage.show("/kinds.jsonl").await;
        for width_px in [1440, 1000, 390] {
            stage.tab.look(false, (width_px, 2_000)).await;
            stage.rest().await;
            let covered: Vec<String> = stage.tab.eval(COVERED).await;
            assert_eq!(covered, Vec::<String>::new(), "{width_px} px wide");
        }
        // What is clicked there is what is seen there.
        stage.tab.look(false, (1000, 900)).await;
        stage.rest().await;
        stage
            .tab
            .run("window.line = __test.all('.tool-call > .line').find((it) => { const { top } = it.getBoundingClientRect(); return top > 150 && top < 600; })")
            .await;
        let line = "window.line";
        let is_open = format!("{line}.getAttribute('aria-expanded')");
        let before: String = stage.tab.eval(&is_open).await;
        stage
            .tab
            .click(&format!("{line}.querySelector('.icon--chevron')"))
            .await;
        let toggled = format!("{is_open} !== '{before}'");
        stage.tab.wait_for("the row to turn", SHORT, &toggled).await;
    });
}

#[test]
fn the_panel_hides_no_find_bar_and_goes_by_escape() {
    let files = vec![("/log.jsonl", log_of("aside", 60))];
    on_stage(
        "panel_find",
        "<agent-feed></agent-feed>",
        files,
        async |stage| {
            let tab = &stage.tab;
            tab.look(false, (1024, 768)).await;
            stage.show("/log.jsonl").await;
            let panel = |open: bool| format!("!!__test.visible('.panel') === {open}");
            tab.run("__test.rows()[0].focus()").await;
            tab.press("r").await;
            tab.wait_for("the panel", SHORT, &panel(true)).await;
            tab.press("/").await;
            tab.wait_for("the bar", SHORT, "!!__test.visible('.find')")
                .await;
            tab.type_text("asked").await;
            tab.wait_for(
                "ticks",
                SHORT,
                "!!__test.one('.ticks__path')?.getAttribute('d')",
            )
            .await;
            let hidden = "(() => { const left = __test.one('.panel-place').getBoundingClientRect().left;
            return __test.all('.find button, .turn-header__facts').filter((it) => it.getBoundingClientRect().right > left + 0.5).map((it) => it.className); })()";
            let hidden: Vec<String> = tab.eval(hidden).await;
            assert_eq!(hidden, Vec::<String>::new(), "lies under the panel");
            let beside = "(() => { const [a, b] = ['.ticks', '.scroller'].map((it) => __test.one(it).getBoundingClientRect());
            return [a.top - b.top, a.bottom - b.bottom].map(Math.abs); })()";
            let off_px: Vec<f64> = tab.eval(beside).await;
            assert!(
                off_px.iter().all(|px| *px < 1.0),
                "ticks off the scrollbar: {off_px:?}"
            );
            // From the field the bar goes, from the row the panel.
            tab.press("Escape").await;
            tab.wait_for("the bar to go", SHORT, "!__test.visible('.find')")
                .await;
            let ticks = "__test.one('.ticks__path').getAttribute('d')";
            assert_eq!(tab.eval::<String>(ticks).await, "", "ticks of no search");
            assert!(tab.eval::<bool>(&panel(true)).await, "the panel stays");
            tab.press("Escape").await;
            tab.wait_for("the panel to go", SHORT, &panel(false)).await;
            // Where the panel is all that is seen, finding puts it away.
            tab.look(false, (390, 844)).await;
            tab.run("__test.one('.panel-toggle').focus(); __test.one('.panel-toggle').click()")
                .await;
            tab.wait_for("the sheet", SHORT, &panel(true)).await;
            tab.press("Escape").await;
            tab.wait_for("the sheet to go", SHORT, &panel(false)).await;
            tab.run("__test.one('.panel-toggle').click()").await;
            tab.wait_for("the sheet again", SHORT, &panel(true)).await;
            tab.press("/").await;
            let in_field = "__test.feed().shadowRoot.activeElement?.className === 'find__field'";
            tab.wait_for("the field", SHORT, in_field).await;
            assert!(
                tab.eval::<bool>(&panel(false)).await,
                "the sheet is over the bar"
            );
        },
    );
}

#[test]
fn keys_beside_the_feed_are_for_the_feed_of_our_own_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/index.html");
    let files = vec![
        (
            "/log.jsonl",
            "application/x-ndjson",
            log_of("keys", 60).into_bytes(),
        ),
        (
            "/app",
            "text/html; charset=utf-8",
            std::fs::read(page).unwrap_or_default(),
        ),
    ];
    on_own_site("keys_beside", crate::FEED, files, async |site, tab| {
        // The browser writes of the missing list in the console.
        tab.expect_problems("404");
        let address = format!("{}/app?src=/log.jsonl", site.url);
        // The first key has all of the page come, and is not lost on the way.
        tab.goto(&address).await;
        let ready = "__test.feed()?.getAttribute('state') === 'ready'";
        tab.wait_for("the log", SHORT, ready).await;
        tab.press("?").await;
        tab.wait_for("the keys", SHORT, "!!__test.one('dialog[open]')")
            .await;
        tab.goto(&address).await;
        tab.wait_for("the page", SHORT, "!!__test.one('#sessions-filter')")
            .await;
        tab.wait_for("what is around", SHORT, "!!__test.one('.panel-toggle')")
            .await;
        let leave = "document.activeElement.blur()";
        let body = "document.activeElement === document.body";
        for (key, shown) in [
            ("r", "!!__test.visible('.panel')"),
            ("?", "!!__test.one('dialog[open]')"),
            ("j", "!!__test.one('.row:focus')"),
            ("/", "!!__test.visible('.find__field:focus')"),
        ] {
            tab.run(leave).await;
            assert!(tab.eval::<bool>(body).await, "nothing has the focus");
            tab.press(key).await;
            tab.wait_for(key, SHORT, shown).await;
            tab.run("__test.one('dialog[open]')?.close()").await;
        }
        // In a field a key is a letter.
        tab.press("r").await;
        assert!(tab.eval::<bool>("!!__test.visible('.panel')").await);
        // A key that a focused button is pressed by presses it alone.
        tab.run("const button = document.createElement('button'); document.querySelector('#turnreel').append(button); button.focus(); window.heard = 0; __test.feed().addEventListener('play', () => heard += 1)")
            .await;
        tab.press(" ").await;
        assert_eq!(tab.eval::<u32>("heard").await, 0, "it plays");
        // Without a feed the slash leads to the filter of the list.
        tab.goto(&format!("{}/app", site.url)).await;
        tab.wait_for("the start", SHORT, "!!__test.one('#sessions-filter')")
            .await;
        tab.run("__test.one('.sessions').style.display = 'block'; document.querySelector('.app').removeAttribute('data-alone')").await;
        tab.press("/").await;
        let in_filter = "document.activeElement?.id === 'sessions-filter'";
        tab.wait_for("the filter", SHORT, in_filter).await;
        // And the question mark shows the keys.
        tab.run(leave).await;
        tab.press("?").await;
        let keys = "__test.visible('#page-keys[open] kbd') !== null";
        tab.wait_for("the keys", SHORT, keys).await;
        let named: String = tab.eval("__test.one('#page-keys').textContent").await;
        for what in ["Next hunk", "10 seconds back", "all of its kind"] {
            assert!(named.contains(what), "{what}: {named}");
        }
        tab.press("Escape").await;
    });
}
