//! Promises of finding that only a browser can keep: by keyboard alone one finds, goes from hit to hit and comes back;
//! what is folded or far off the screen is found, marked and shown; a link leads to its event.

use serde_json::{Value, json};

use crate::SHORT;
use crate::made_logs::{Writer, log_of};
use crate::sessions::{BothWays, n_bodies_fetched, with_server};
use crate::stage::{HOLD_LIT, Stage, on_stage};

/// With all that folds and groups.
const FOLDING_FEED: &str = "<agent-feed></agent-feed>";

/// What the find bar says, where the focus is, how many places are marked, and whether the current one is on the screen.
const FOUND: &str = "(() => {
    const root = __test.feed().shadowRoot, box = __test.feed().scroller.getBoundingClientRect();
    const current = [...(CSS.highlights.get('af-find-current') ?? [])][0];
    const at = current?.getBoundingClientRect();
    return {
        status: root.querySelector('.find__status')?.textContent ?? '',
        focus: root.activeElement?.className ?? '',
        marks: CSS.highlights.get('af-find')?.size ?? 0,
        text: current?.toString() ?? '',
        seen: !!at && at.top >= box.top && at.bottom <= box.bottom,
    };
})()";

async fn found(stage: &Stage) -> Value {
    stage.tab.eval(FOUND).await
}

async fn wait_for_status(stage: &Stage, status: &str) {
    let says = format!("({FOUND}).status === {}", json!(status));
    stage
        .tab
        .wait_for(&format!("{status:?}"), SHORT, &says)
        .await;
}

/// Gives the first row the focus, as a reader does by Tab.
async fn enter(stage: &Stage) {
    stage.tab.run("__test.rows()[0].focus()").await;
}

/// Two turns that are settled and so folded away, with a word in what a command printed far down.
fn folded() -> String {
    let mut writer = Writer::new("folded");
    for turn in ["t1", "t2"] {
        let place = json!({"turnId": turn});
        let call = format!("c-{turn}");
        let lines: Vec<String> = (0..200)
            .map(|n| format!("line {n} of the output"))
            .collect();
        let printed = lines
            .join("\n")
            .replace("line 100 ", "a quokka in line 100 ");
        writer
            .event("user_message", &place, &json!({"text": format!("Look into {turn}")}))
            .event("tool_call", &place, &json!({"toolCallId": call, "toolName": "Bash", "args": {"command": "cat animals"}}))
            .event("tool_result", &place, &json!({"toolCallId": call, "result": printed}))
            .event("assistant_done", &place, &json!({"text": "Looked."}))
            .event("turn_end", &place, &json!({"outcome": "completed"}));
    }
    writer.take()
}

#[test]
fn by_keyboard_alone_one_finds_opens_goes_on_and_comes_back() {
    let files = vec![("/folded.jsonl", folded())];
    on_stage("find_by_keyboard", FOLDING_FEED, files, async |stage| {
        stage.show("/folded.jsonl").await;
        enter(&stage).await;
        stage.tab.press("/").await;
        stage
            .tab
            .wait_for(
                "the field to have the focus",
                SHORT,
                &format!("({FOUND}).focus === 'find__field'"),
            )
            .await;
        stage.tab.type_text("quokka").await;
        wait_for_status(&stage, "2 found").await;
        for status in ["1 of 2", "2 of 2", "1 of 2"] {
            stage.tab.press("Enter").await;
            wait_for_status(&stage, status).await;
            let marked = format!("({FOUND}).text === 'quokka' && ({FOUND}).seen");
            stage
                .tab
                .wait_for("the hit to be marked on the screen", SHORT, &marked)
                .await;
        }
        // A change of the text asks anew; what cannot be read is said with its place.
        stage.tab.type_text(" /(/").await;
        let told = "(__test.one('.find__problem')?.textContent ?? '').includes('character 8')";
        stage.tab.wait_for("the reason", SHORT, told).await;
        stage.tab.press("Escape").await;
        stage
            .tab
            .wait_for(
                "the bar to go",
                SHORT,
                "!__test.one('.find') && CSS.highlights.get('af-find').size === 0",
            )
            .await;
        let focus: String = stage
            .tab
            .eval("__test.feed().shadowRoot.activeElement.className")
            .await;
        assert!(
            focus.contains("row") || focus == "scroller",
            "the focus is back in the feed: {focus}"
        );
    });
}

/// Six turns, each with the word in its answer.
fn six_answers() -> String {
    let mut writer = Writer::new("near");
    for turn in 1..=6 {
        let place = json!({"turnId": format!("t{turn}")});
        let call = format!("c{turn}");
        let more = "More of it.\n\n".repeat(8);
        writer
            .event(
                "user_message",
                &place,
                &json!({"text": format!("Look into {turn}")}),
            )
            .event(
                "tool_call",
                &place,
                &json!({"toolCallId": call, "toolName": "Bash", "args": {"command": "ls"}}),
            )
            .event(
                "tool_result",
                &place,
                &json!({"toolCallId": call, "result": "done"}),
            )
            .event(
                "assistant_done",
                &place,
                &json!({"text": format!("A quokka, number {turn}.\n\n{more}")}),
            )
            .event("turn_end", &place, &json!({"outcome": "completed"}));
    }
    writer.take()
}

/// Brings the answer of a turn to the top, right below the line that its work is folded into.
fn to_answer(turn: u32) -> String {
    let event_idx = turn * 5 - 2;
    format!(
        "const feed = __test.feed(), s = feed.scroller; s.dispatchEvent(new WheelEvent('wheel')); feed.goToEvent({event_idx}); await __test.rest();
        const row = __test.rows().find((row) => row.textContent.includes('number {turn}'));
        s.scrollTop += row.getBoundingClientRect().top - s.getBoundingClientRect().top + 1; await __test.rest();
        __test.one('.find__field').focus();"
    )
}

#[test]
fn the_next_hit_is_the_nearest_where_a_line_of_folded_work_stands_above() {
    let log = six_answers();
    for (forward, status) in [(true, "4 of 6"), (false, "3 of 6")] {
        let files = vec![("/near.jsonl", log.clone())];
        on_stage("find_near", FOLDING_FEED, files, async |stage| {
            stage.show("/near.jsonl").await;
            enter(&stage).await;
            stage.tab.press("/").await;
            let ready = format!("({FOUND}).focus === 'find__field'");
            stage.tab.wait_for("the field", SHORT, &ready).await;
            stage.tab.run(&to_answer(4)).await;
            stage.tab.type_text("quokka").await;
            wait_for_status(&stage, "6 found").await;
            match forward {
                true => stage.tab.press("Enter").await,
                false => {
                    stage
                        .tab
                        .run("__test.one('.find [aria-label=\"Previous hit\"]').click()")
                        .await;
                }
            }
            wait_for_status(&stage, status).await;
        });
    }
}

#[test]
fn where_the_hit_is_not_there_yet_the_next_is_the_nearest() {
    let files = vec![("/near.jsonl", six_answers())];
    on_stage("find_moment", FOLDING_FEED, files, async |stage| {
        stage.show("/near.jsonl").await;
        enter(&stage).await;
        stage.tab.press("/").await;
        let ready = format!("({FOUND}).focus === 'find__field'");
        stage.tab.wait_for("the field", SHORT, &ready).await;
        stage.tab.type_text("quokka").await;
        wait_for_status(&stage, "6 found").await;
        for _ in 0..6 {
            stage.tab.press("Enter").await;
            stage.rest().await;
            if found(&stage).await["status"] == "6 of 6" {
                break;
            }
        }
        wait_for_status(&stage, "6 of 6").await;
        // Up to the answer of the fourth turn.
        stage
            .tab
            .run("__test.feed().viewAsOf(18); await __test.rest()")
            .await;
        wait_for_status(&stage, "4 found").await;
        stage.tab.run(&to_answer(3)).await;
        stage.tab.press("Enter").await;
        wait_for_status(&stage, "3 of 4").await;
    });
}

#[test]
fn twenty_thousand_events_are_found_off_the_screen() {
    let mut writer = Writer::new("needle");
    let place = json!({"turnId": "last"});
    writer.event(
        "user_message",
        &place,
        &json!({"text": "an axolotl at the end"}),
    );
    let log = writer.take().replace("\"e1\"", "\"needle\"") + &log_of("hay", 20_000);
    let files = vec![("/hay.jsonl", log)];
    on_stage("find_off_screen", FOLDING_FEED, files, async |stage| {
        stage.show("/hay.jsonl").await;
        enter(&stage).await;
        stage.tab.press("/").await;
        stage.tab.type_text("AXOLOTL").await;
        wait_for_status(&stage, "Nothing found").await;
        stage.tab.run("const field = __test.one('.find__field'); field.value = 'axolotl'; field.dispatchEvent(new InputEvent('input', { bubbles: true }))").await;
        wait_for_status(&stage, "1 found").await;
        stage.tab.press("Enter").await;
        wait_for_status(&stage, "1 of 1").await;
        stage
            .tab
            .wait_for("it to be shown", SHORT, &format!("({FOUND}).seen"))
            .await;
        // Only hits: one row is left, and the bar says how many are hidden.
        stage.tab.run("__test.one('.find__chip').click()").await;
        stage
            .tab
            .wait_for("one row", SHORT, "__test.rows().length === 1")
            .await;
        stage
            .tab
            .wait_for(
                "how many are hidden",
                SHORT,
                "!!__test.one('.find__hidden')",
            )
            .await;
        let hidden: String = stage
            .tab
            .eval("__test.one('.find__hidden').textContent")
            .await;
        assert!(hidden.contains("hidden · clear"), "{hidden}");
        stage
            .tab
            .run("__test.one('.find__hidden .link').focus()")
            .await;
        stage.tab.press("Enter").await;
        stage
            .tab
            .wait_for("all rows", SHORT, "__test.rows().length > 5")
            .await;
        let field = "__test.one('.find__field') === __test.feed().shadowRoot.activeElement";
        let what = "the field to have the focus, for the link is gone";
        stage.tab.wait_for(what, SHORT, field).await;
        stage.rest().await;
        let way: String = stage
            .tab
            .eval("__test.one('.pill__what').textContent")
            .await;
        assert_eq!(way, "To the end", "what a filter had hidden is not new");
        let marks = found(&stage).await;
        assert_eq!(marks["status"], json!("1 of 1"), "{marks}");
    });
}

#[test]
fn a_link_leads_to_its_event_and_is_told() {
    let files = vec![("/long.jsonl", log_of("long", 2_000))];
    on_stage("links", FOLDING_FEED, files, async |stage| {
        // Asked for before anything is there, it is gone to when it has come; else the log would open at its end.
        stage
            .tab
            .run(&format!("{HOLD_LIT} __test.feed().goTo('e2')"))
            .await;
        stage.show("/long.jsonl").await;
        let top: f64 = stage.tab.eval("__test.feed().scroller.scrollTop").await;
        assert!(top < 400.0, "the first prompt is at the top: {top}");
        let lit = "!!__test.one('.row[data-lit]')";
        // It has gone out before it is lit again.
        stage.tab.run(&format!("__test.letGo(); const s = __test.feed().scroller; s.scrollTop = s.scrollHeight; await __test.frames(3); {HOLD_LIT} __test.feed().goTo('e2')")).await;
        stage.tab.wait_for("the row to be lit", SHORT, lit).await;
        let seen: bool = stage
            .tab
            .eval("(() => { const row = __test.one('.row[data-lit]').getBoundingClientRect(), box = __test.feed().scroller.getBoundingClientRect(); return row.top < box.bottom && row.bottom > box.top; })()")
            .await;
        assert!(seen, "the row is on the screen");
        // Keys on a row: the page hears which one, and of the link before it is copied.
        stage
            .tab
            .run("window.told = []; for (const name of ['af-select', 'af-link']) __test.feed().addEventListener(name, (event) => { told.push([name, event.detail.eventId, event.detail.href ?? '']); event.preventDefault(); }); __test.one('.row[data-event-id]').focus();")
            .await;
        stage.tab.press("l").await;
        stage
            .tab
            .wait_for("both to be told", SHORT, "told.length === 2")
            .await;
        let same: bool = stage
            .tab
            .eval("told[0][1] === told[1][1] && told[1][2].endsWith('#e=' + told[1][1])")
            .await;
        assert!(same, "the link is of the row that has the focus");
        stage.assert_no_request_out();
    });
}

#[test]
fn the_sheet_of_keys_is_drawn_from_what_binds_them() {
    let files = vec![("/folded.jsonl", folded())];
    on_stage("keys", FOLDING_FEED, files, async |stage| {
        stage.show("/folded.jsonl").await;
        enter(&stage).await;
        stage.tab.press("?").await;
        stage
            .tab
            .wait_for("the sheet", SHORT, "__test.one('dialog').open")
            .await;
        let n_keys: usize = stage.tab.eval("__test.all('.help kbd').length").await;
        assert!(n_keys > 25, "{n_keys} keys");
        stage.tab.run("__test.one('dialog').close()").await;
        enter(&stage).await;
        for verbosity in ["verbose", "quiet", "normal"] {
            stage.tab.press("d").await;
            let now: String = stage
                .tab
                .eval("__test.feed().getAttribute('verbosity')")
                .await;
            assert_eq!(now, verbosity);
        }
    });
}

#[test]
fn the_keys_of_the_feed_pattern_lead_out_of_it() {
    let files = vec![("/folded.jsonl", folded())];
    on_stage("out_of_it", FOLDING_FEED, files, async |stage| {
        stage.show("/folded.jsonl").await;
        stage
            .tab
            .run("for (const where of ['before', 'after']) { const button = document.createElement('button'); button.id = where; __test.feed()[where](button); }")
            .await;
        enter(&stage).await;
        let press = |key: &str| {
            format!(
                "__test.rows()[0].focus(); (__test.feed().shadowRoot.activeElement ?? __test.feed()).dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', ctrlKey: true, bubbles: true, composed: true, cancelable: true }}))"
            )
        };
        // What stands around the rows comes first: their bar, the way to the end.
        stage.tab.run(&press("Home")).await;
        let in_bar = "!!__test.feed().shadowRoot.activeElement?.closest('.top')";
        stage.tab.wait_for("the bar", SHORT, in_bar).await;
        stage
            .tab
            .run("for (const part of ['.top', '.bottom', '.transport-place', '.panel-place']) __test.one(part).style.display = 'none'")
            .await;
        for (key, button) in [("Home", "before"), ("End", "after")] {
            stage.tab.run(&press(key)).await;
            let has_it = format!("document.activeElement.id === '{button}'");
            stage.tab.wait_for(button, SHORT, &has_it).await;
        }
    });
}

#[test]
fn what_is_not_loaded_is_found_as_what_is() {
    with_server("find_elsewhere", 120, async |visit, program| {
        let mut writer = Writer::new("far");
        writer.turn(1);
        let place = json!({"turnId": "t1", "responseId": "r1"});
        for word in ["a quokka", "a wombat", "a Quokka"] {
            let lines = "line of the output\n".repeat(400);
            let printed = format!("{lines}{word}\n{lines}");
            let call =
                json!({"toolCallId": word, "toolName": "Run", "kind": "other", "args": {"n": 1}});
            writer.event("tool_call", &place, &call);
            let result = json!({"toolCallId": word, "result": printed});
            writer.event("tool_result", &place, &result);
        }
        let both = BothWays::of(&program, "far", writer).await;
        let tab = visit.tab("page").await;
        for dropped in [false, true] {
            both.show(&tab, dropped).await;
            for (question, expected) in [
                ("quokka", 2),
                ("tool:run -quokka", 1),
                ("wombat", 1),
                ("wombat quokka", 0),
                // Capitals tell apart, and patterns are looked for, wherever it lies.
                ("Quokka", 1),
                ("-Quokka tool:run", 2),
                ("/a q\\w+a$/", 2),
                ("/a Q\\w+a$/", 1),
                ("tool:run /a [qw]\\w+/", 3),
            ] {
                let found = format!("__test.feed().search({})", json!(question));
                let n_found: usize = tab.eval(&found).await;
                assert_eq!(n_found, expected, "{question}, dropped {dropped}");
                let said = "__test.text(__test.one('.find__status')).length > 0 && !__test.one('.find__partly')";
                tab.wait_for("all to be looked through", SHORT, said).await;
            }
            let n_asked = tab
                .requests()
                .iter()
                .filter(|sent| sent.url.contains("/search?q="))
                .count();
            assert!(n_asked > 0, "the server is asked");
            assert_eq!(n_bodies_fetched(&tab), 0, "and no body is fetched");
        }
    });
}

#[test]
fn what_comes_later_is_not_found_in_the_past_and_the_bar_says_so() {
    let files = vec![("/folded.jsonl", folded())];
    on_stage("find_past", FOLDING_FEED, files, async |stage| {
        stage.show("/folded.jsonl").await;
        enter(&stage).await;
        stage.tab.run("__test.feed().seek(0)").await;
        stage.tab.press("/").await;
        stage.tab.type_text("quokka").await;
        wait_for_status(&stage, "Nothing found up to this moment").await;
        let asks = "__test.one('.find__field').placeholder === 'Find up to this moment'";
        stage.tab.wait_for("the field to say so", SHORT, asks).await;
        stage
            .tab
            .run("__test.feed().seek(__test.feed().duration)")
            .await;
        wait_for_status(&stage, "2 found").await;
    });
}

#[test]
fn the_find_bar_moves_no_row() {
    let files = vec![("/log.jsonl", log_of("still", 400))];
    on_stage("find_still", FOLDING_FEED, files, async |stage| {
        stage.show("/log.jsonl").await;
        stage
            .tab
            .run("const list = __test.feed().scroller; list.dispatchEvent(new WheelEvent('wheel')); await __test.frames(2); list.scrollTop = list.scrollHeight / 2; await __test.rest(); const row = __test.rows().find((row) => row.getBoundingClientRect().top > 300); row.focus(); window.row = row; window.top0 = row.getBoundingClientRect().top")
            .await;
        let moved = "Math.abs(row.getBoundingClientRect().top - top0)";
        for (key, shown) in [("/", true), ("Escape", false)] {
            stage.tab.press(key).await;
            let bar = format!("!!__test.visible('.find') === {shown}");
            stage.tab.wait_for(key, SHORT, &bar).await;
            stage.rest().await;
            let moved_px: f64 = stage.tab.eval(moved).await;
            assert!(moved_px <= 1.0, "{key}: {moved_px} px");
        }
    });
}

#[test]
fn what_is_typed_right_behind_the_key_is_looked_for() {
    let files = vec![("/log.jsonl", log_of("typed", 50))];
    on_stage("find_typed", FOLDING_FEED, files, async |stage| {
        stage.show("/log.jsonl").await;
        enter(&stage).await;
        // No frame comes in between.
        let focus: String = stage
            .tab
            .eval(
                "(async () => {
                    const key = { key: '/', bubbles: true, composed: true, cancelable: true };
                    __test.rows()[0].dispatchEvent(new KeyboardEvent('keydown', key));
                    for (let turn = 0; turn < 100; turn++) await null;
                    return __test.feed().shadowRoot.activeElement?.className ?? '';
                })()",
            )
            .await;
        assert_eq!(focus, "find__field");
    });
}

#[test]
fn code_that_a_find_brought_says_that_it_is_copied_when_the_bar_is_gone() {
    let mut writer = Writer::new("code");
    let place = json!({"turnId": "t0", "responseId": "r0"});
    let text = json!({"text": "```rust\nlet quokka = 1;\n```"});
    writer.event("assistant_done", &place, &text);
    for number in 1..=30 {
        writer.turn(number);
    }
    let files = vec![("/code.jsonl", writer.take())];
    on_stage("find_code", crate::FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/code.jsonl").await;
        let row =
            "__test.all('.assistant-text--code').find((row) => row.textContent.includes('quokka'))";
        let is_here: bool = tab.eval(&format!("!!{row}")).await;
        assert!(!is_here, "its row has yet to come");
        enter(&stage).await;
        tab.press("/").await;
        let field = format!("({FOUND}).focus === 'find__field'");
        tab.wait_for("the field to have the focus", SHORT, &field)
            .await;
        tab.type_text("quokka").await;
        wait_for_status(&stage, "1 found").await;
        tab.press("Enter").await;
        tab.wait_for("the hit", SHORT, &format!("({FOUND}).seen"))
            .await;
        tab.press("Escape").await;
        tab.wait_for("the bar to go", SHORT, "!__test.one('.find')")
            .await;
        tab.run(&format!(
            "navigator.clipboard.writeText = async () => {{}}; {row}.querySelector('[aria-label=\"Copy code\"]').click()"
        ))
        .await;
        let said = format!("{row}.querySelector('.code__told').textContent === 'Copied'");
        tab.wait_for("word of it", SHORT, &said).await;
    });
}
