//! The side panel in a browser: what was changed, when, by which calls, and as JSON; it leads to the rows, keeps what the
//! reader marked, and shows the past while the feed does.

use serde_json::json;

use crate::made_logs::Writer;
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

/// Three turns with an edit each, and a second edit of the first one's file.
fn session() -> Writer {
    let mut writer = Writer::new("panel");
    writer.turn(1).turn(2).turn(3);
    let place = json!({"turnId": "t3", "responseId": "r3"});
    let diff = "--- a/src/part_1.rs\n+++ b/src/part_1.rs\n@@ -1,4 +1,4 @@\n fn a() {}\n fn b(x: u8) {}\n-fn c() {}\n+fn c(y: u8) {}\n fn d() {}\n";
    let args = json!({"toolCallId": "again", "toolName": "Edit", "kind": "edit", "args": {"file_path": "src/part_1.rs"}});
    writer.event("tool_call", &place, &args);
    writer.event("file_edit", &place, &json!({"toolCallId": "again", "filePath": "src/part_1.rs", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiffAvailable": false, "fullDiffSize": diff.len()}));
    writer.event(
        "tool_result",
        &place,
        &json!({"toolCallId": "again", "result": "done"}),
    );
    writer
}

/// Opens the panel at a tab.
async fn open(stage: &Stage, tab: &str) {
    stage
        .tab
        .run("if (!__test.visible('.panel')) __test.one('.panel-toggle').click()")
        .await;
    let name = format!("__test.all('.panel__name').find((it) => it.textContent.includes('{tab}'))");
    stage.tab.wait_for(tab, SHORT, &format!("!!{name}")).await;
    stage.tab.run(&format!("{name}.click()")).await;
}

const FILES: &str = "__test.all('.tree__open').map((file) => file.textContent)";

#[test]
fn files_have_the_sum_of_their_edits_and_lead_to_each() {
    let files = vec![("/log", session().take())];
    on_stage("panel_files", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        open(&stage, "Files").await;
        let here = format!("{FILES}.length === 3");
        tab.wait_for("three files", SHORT, &here).await;
        let listed: Vec<String> = tab.eval(FILES).await;
        assert!(listed[0].starts_with("part_1.rs"), "{listed:?}");
        tab.run("__test.one('.tree__open').click()").await;
        tab.wait_for(
            "the sum of both edits",
            SHORT,
            "__test.all('.file-sum .diff__line--added').some((line) => line.textContent.includes('fn c(y: u8) {}'))",
        )
        .await;
        // The tree is one stop of Tab, and arrows go through it; what the file came to is in sight however long it is.
        let stops = "__test.all('.tree button').filter((it) => it.tabIndex === 0).length";
        assert_eq!(tab.eval::<usize>(stops).await, 1);
        tab.run("__test.all('.tree__open')[0].focus()").await;
        tab.press("ArrowDown").await;
        let second = "__test.all('.tree__open')[1].matches(':focus') && __test.all('.tree__open')[1].tabIndex === 0";
        assert!(tab.eval::<bool>(second).await);
        assert_eq!(tab.eval::<usize>(stops).await, 1);
        tab.press("ArrowLeft").await;
        tab.press("ArrowLeft").await;
        tab.wait_for(
            "the folder to be closed",
            SHORT,
            "__test.one('.tree__row--folder:focus')?.ariaExpanded === 'false'",
        )
        .await;
        tab.press("ArrowRight").await;
        let open = format!("{FILES}.length === 3");
        tab.wait_for("the folder to be open", SHORT, &open).await;
        tab.run("__test.feed().style.height = '460px'; await __test.frames(2)")
            .await;
        let seen = "__test.one('.file-sum').getBoundingClientRect().bottom <= __test.one('.panel').getBoundingClientRect().bottom + 1 && __test.one('.file-sum').clientHeight > 80";
        assert!(tab.eval::<bool>(seen).await, "the diff is in sight");
        tab.run("__test.feed().style.height = ''").await;
        let sum: String = tab.eval("__test.one('.file-sum').textContent").await;
        assert!(
            !sum.contains("fn c() {}"),
            "what was changed twice is seen once: {sum}"
        );
        assert!(sum.contains("fn b(x: u8) {}"), "{sum}");
        // The first edit is far up; its link brings it into view.
        tab.run("__test.all('.file-sum__edit')[0].click()").await;
        tab.wait_for(
            "the first edit's row",
            SHORT,
            "__test.feed().shadowRoot.activeElement?.matches('.row') && __test.feed().shadowRoot.activeElement.textContent.includes('part_1.rs')",
        )
        .await;

        // A mark stays while nothing is changed, and is gone once something is.
        tab.run("__test.one('.tree__viewed').click()").await;
        let seen = "!!__test.one('.tree__row--seen')";
        tab.wait_for("the mark", SHORT, seen).await;
        tab.run("__test.one('.panel-toggle').click(); await __test.frames(3)")
            .await;
        self::open(&stage, "Files").await;
        tab.wait_for("the mark again", SHORT, seen).await;
    });
}

#[test]
fn escape_leads_out_of_the_panel_to_where_it_was_opened_from() {
    let files = vec![("/log", session().take())];
    on_stage("panel_escape", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        let shown = "!!__test.visible('.panel')";
        tab.click("__test.one('.panel-toggle')").await;
        tab.wait_for("the panel", SHORT, shown).await;
        tab.run("const row = __test.rows()[1]; row.focus();").await;
        tab.press("r").await;
        tab.wait_for("it to go", SHORT, "!__test.visible('.panel')")
            .await;
        tab.press("r").await;
        tab.wait_for("it again", SHORT, shown).await;
        tab.run("__test.one('.panel__name').focus()").await;
        tab.press("Escape").await;
        tab.wait_for("it to go again", SHORT, "!__test.visible('.panel')")
            .await;
        let focus: bool = tab
            .eval("__test.feed().shadowRoot.activeElement?.matches('.row, .scroller') ?? false")
            .await;
        assert!(
            focus,
            "keys go on in the rows, and not at a button from before"
        );
    });
}

#[test]
fn the_panel_shows_the_moment_that_the_feed_shows() {
    let files = vec![("/log", session().take())];
    on_stage("panel_past", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        open(&stage, "Files").await;
        for (event, n_files) in [(20, 1), (45, 2), (2, 0)] {
            tab.run(&format!("__test.feed().viewAsOf({event})")).await;
            let here = format!("{FILES}.length === {n_files}");
            tab.wait_for(&format!("{n_files} files at {event}"), SHORT, &here)
                .await;
        }
        tab.run("__test.feed().viewAsOf(null)").await;
        let here = format!("{FILES}.length === 3");
        tab.wait_for("all files", SHORT, &here).await;
    });
}

#[test]
fn the_turn_whose_files_are_listed_is_named_where_it_has_none() {
    let files = vec![("/log", session().take())];
    on_stage("panel_scope", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        open(&stage, "Files").await;
        let choose = |value: &str| {
            format!(
                "const scope = __test.one('.panel__scope'); scope.value = {value}; scope.dispatchEvent(new Event('change'))"
            )
        };
        tab.run(&choose(
            "[...scope.options].find((it) => it.text === 'Turn 2').value",
        ))
        .await;
        let one = format!("{FILES}.length === 1");
        tab.wait_for("the file of the second turn", SHORT, &one)
            .await;
        // Before its edit, and before the turn itself.
        for event in [26, 20] {
            tab.run(&format!("__test.feed().viewAsOf({event})")).await;
            let none = format!(
                "{FILES}.length === 0 && __test.one('.panel__scope').selectedOptions[0]?.text === 'Turn 2'"
            );
            tab.wait_for(&format!("its name at {event}"), SHORT, &none)
                .await;
        }
        tab.run(&choose("''")).await;
        tab.wait_for("the file of the first turn", SHORT, &one)
            .await;
    });
}

#[test]
fn a_sheet_over_the_feed_takes_the_focus_and_gives_it_back() {
    let files = vec![("/log", session().take())];
    on_stage("panel_sheet", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.look(false, (390, 800)).await;
        stage.show("/log").await;
        for leave in ["Escape", "r"] {
            tab.run("window.row = __test.rows()[1]; row.focus()").await;
            tab.press("r").await;
            let in_tab = "!!__test.one('.panel__name[aria-selected=true]:focus')";
            tab.wait_for("the focus in the panel", SHORT, in_tab).await;
            tab.press(leave).await;
            let back = "!__test.visible('.panel') && row.matches(':focus')";
            tab.wait_for(leave, SHORT, back).await;
        }
    });
}

#[test]
fn calls_lead_to_their_rows_and_rows_show_their_json() {
    let mut writer = session();
    let n_calls = 10;
    let files = vec![("/log", writer.take())];
    on_stage("panel_calls", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        open(&stage, "Timeline").await;
        let bars = format!("__test.all('.timeline__bar').length === {n_calls}");
        tab.wait_for("a bar for each call", SHORT, &bars).await;
        // Zoomed in, the chart shows the middle that the list says is in view; out again, all of it.
        let zoom = |name: &str| {
            format!(
                "__test.one('.timeline__zoom[aria-label=\"Zoom {name}\"]').click(); await __test.frames(4)"
            )
        };
        tab.run(&zoom("in")).await;
        let middle = "(({ scrollLeft, scrollWidth, clientWidth }) => scrollWidth > clientWidth * 1.9 && Math.abs(scrollLeft - (scrollWidth - clientWidth) / 2) <= 2)(__test.one('.timeline__chart'))";
        tab.wait_for("the middle", SHORT, middle).await;
        tab.run(&zoom("out")).await;
        tab.wait_for("all bars again", SHORT, &bars).await;
        let wide = "(({ scrollWidth, clientWidth }) => Math.abs(scrollWidth - clientWidth) <= 1)(__test.one('.timeline__chart'))";
        tab.wait_for("as wide as its place", SHORT, wide).await;
        tab.run("__test.all('.timeline__bar')[1].click()").await;
        tab.wait_for(
            "the row of the second call",
            SHORT,
            "__test.feed().shadowRoot.activeElement?.dataset.toolCallId === 'c1-run'",
        )
        .await;
        // The row that has the focus is the one whose JSON is shown.
        open(&stage, "Raw").await;
        tab.wait_for(
            "its JSON",
            SHORT,
            "__test.one('.panel__json')?.textContent.includes('\"toolCallId\":\"c1-run\"') || __test.one('.panel__json')?.textContent.includes('\"toolCallId\": \"c1-run\"')",
        )
        .await;
        open(&stage, "Stats").await;
        tab.wait_for("figures", SHORT, "__test.all('.figures__bar').length > 0")
            .await;
        let said: String = tab.eval("__test.one('.panel').textContent").await;
        assert!(said.contains(&format!("Calls · {n_calls}")), "{said}");
        assert!(said.contains("Commands"), "as the find bar has it: {said}");
    });
}

#[test]
fn an_agent_with_a_long_name_stays_in_the_panel() {
    let mut writer = Writer::new("agents");
    let place = json!({"turnId": "t1"});
    let name = "An agent whose name goes on and on, far beyond the edge of the panel that it is listed in, and further";
    let args = json!({"toolCallId": "a1", "toolName": "Task", "args": {"subagent_type": name, "description": "Look", "prompt": "Look"}});
    writer.event("tool_call", &place, &args);
    let files = vec![("/log", writer.take())];
    on_stage("panel_agents", FEED, files, async |stage| {
        stage.show("/log").await;
        open(&stage, "Agents").await;
        let state = "__test.one('.agents__state')";
        let inside = format!(
            "!!{state} && {state}.getBoundingClientRect().right <= __test.one('.panel').getBoundingClientRect().right && __test.one('.agents__name').scrollWidth > __test.one('.agents__name').clientWidth"
        );
        stage.tab.wait_for("its state", SHORT, &inside).await;
    });
}

#[test]
fn a_path_without_room_is_cut_at_its_start_and_keeps_the_name() {
    let folders: Vec<String> = (1..12).map(|nth| format!("a_folder_{nth}")).collect();
    let path = format!("/{}/the_name.rs", folders.join("/"));
    let mut writer = Writer::new("paths");
    let place = json!({"turnId": "t1"});
    let call = json!({"toolCallId": "c", "toolName": "Read", "kind": "read", "args": {"file_path": path, "offset": 100, "limit": 50}});
    writer.event("tool_call", &place, &call);
    let result = json!({"toolCallId": "c", "result": "x", "durationMs": 900});
    writer.event("tool_result", &place, &result);
    let diff = "@@ -1 +1 @@\n-a\n+b\n";
    writer.event("file_edit", &place, &json!({"toolCallId": "e", "filePath": path, "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiffAvailable": false, "fullDiffSize": diff.len()}));
    on_stage(
        "panel_paths",
        FEED,
        vec![("/log", writer.take())],
        async |stage| {
            let tab = &stage.tab;
            stage.show("/log").await;
            // Of a path: what it says, whether its name is within it, which of its folders are in sight and which are so in part.
            let looks = |path: &str| {
                format!(
                "(() => {{
                    const path = __test.one('{path}'), box = path.getBoundingClientRect();
                    const at = (x, y) => path.getRootNode().elementFromPoint(x, y);
                    const seen = (part) => {{
                        const {{ left, right, top, bottom }} = part.getBoundingClientRect();
                        return left >= box.left - 1 && right <= box.right + 1 && at((left + right) / 2, (top + bottom) / 2)?.closest('.path__folder, .path__name') === part;
                    }};
                    return [path.textContent, seen(path.querySelector('.path__name')), [...path.querySelectorAll('.path__folder')].filter(seen).length];
                }})()"
            )
            };
            for (name, place) in [
                ("Stats", ".calls__row--slow .path"),
                ("Timeline", ".calls__row--timed .path"),
                ("Files", ".file-sum__path"),
            ] {
                open(&stage, name).await;
                if name == "Files" {
                    tab.run("__test.one('.tree__open').click()").await;
                }
                let here = format!("!!__test.visible('{place}')");
                tab.wait_for(place, SHORT, &here).await;
                // On a busy machine a row may stand there before what is around it has its place.
                let has_name = format!("{}[1]", looks(place));
                tab.wait_for("the name in sight", SHORT, &has_name).await;
                let (said, _, n_folders): (String, bool, usize) = tab.eval(&looks(place)).await;
                let said = said.trim_end_matches(" 100–149");
                assert!(said.ends_with("a_folder_11/the_name.rs"), "{said}");
                // What is left out as a whole leaves a hole as wide.
                let boxes =
                    format!("getComputedStyle(__test.one('{place} > .path__folder')).display");
                assert_eq!(tab.eval::<String>(&boxes).await, "inline", "{name}");
                assert!(n_folders < 11, "{name}: {n_folders} of 11 folders");
            }
        },
    );
}

#[test]
fn closed_from_within_it_gives_the_focus_back_to_the_row_it_came_from() {
    let files = vec![("/log", session().take())];
    on_stage("panel_given_back", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        for key in ["Escape", "r"] {
            tab.run("window.__row = __test.rows().at(-1); __row.focus()")
                .await;
            tab.press("r").await;
            let name = "__test.all('.panel__name').find((it) => it.textContent.includes('Plan'))";
            tab.wait_for("the panel", SHORT, &format!("!!{name}")).await;
            // By hand: a click of a script moves no focus.
            tab.click(name).await;
            tab.press(key).await;
            let back =
                "!__test.visible('.panel') && __row === __test.feed().shadowRoot.activeElement";
            tab.wait_for("the row to have the focus", SHORT, back).await;
        }
    });
}
