//! What the reader has their hands on stays: a field they write in, the place they read at, what has the focus; and keys go
//! where they belong.

use serde_json::{Value, json};

use crate::made_logs::{Writer, log_of};
use crate::made_session::{beginning, event, open};
use crate::server::Server;
use crate::sessions::with_server;
use crate::stage::on_stage;
use crate::{FEED, SHORT};

/// What has the focus in the feed.
const FOCUSED: &str = "__test.feed().shadowRoot.activeElement";

#[test]
fn a_field_that_is_written_in_stays_while_a_session_goes_on() {
    with_server("writing", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("ask", &beginning()).await;
        let asked = json!({"requestId": "p", "toolName": "Bash", "title": "rm -rf old", "args": {"command": "rm -rf old"},
            "options": [{"id": "allow", "decision": "allow"}, {"id": "deny", "decision": "deny"}], "answerable": true});
        server
            .send("ask", &json!([event("p", "permission_request", &asked)]))
            .await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("ask"), 4).await;
        tab.wait_for(
            "the card",
            SHORT,
            "!!__test.visible('.asked--open details summary')",
        )
        .await;
        tab.run("__test.one('.asked--open details summary').click()")
            .await;
        tab.wait_for(
            "the field",
            SHORT,
            &format!("{FOCUSED}?.matches('.asked--open .field')"),
        )
        .await;
        tab.type_text("not ").await;
        let before: f64 = tab
            .eval(&format!("{FOCUSED}.getBoundingClientRect().top"))
            .await;
        for batch in 0..6 {
            let texts: Vec<Value> = (0..10)
                .map(|n| {
                    let id = format!("m{batch}-{n}");
                    event(
                        &id,
                        "assistant_done",
                        &json!({"text": format!("Step {id}"), "messageId": id}),
                    )
                })
                .collect();
            server.send("ask", &Value::from(texts)).await;
        }
        tab.wait_for("all of them", SHORT, "__test.feed().eventCount >= 64")
            .await;
        tab.run("await __test.frames(6)").await;
        tab.type_text("that one").await;
        let (text, after): (String, f64) = tab
            .eval(&format!(
                "[{FOCUSED}?.value ?? '', {FOCUSED}?.getBoundingClientRect().top ?? 0]"
            ))
            .await;
        assert_eq!(text, "not that one");
        assert!((after - before).abs() < 2.0, "{before} {after}");
        // Who is done with it is at the end again.
        tab.run(&format!("{FOCUSED}.blur()")).await;
        tab.wait_for(
            "the newest row",
            SHORT,
            "__test.rows().some((row) => row.textContent.includes('Step m5-9'))",
        )
        .await;
    });
}

#[test]
fn an_element_that_is_moved_within_its_page_stands_where_it_stood() {
    let files = vec![("/log", log_of("moved", 400))];
    on_stage("moved", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        tab.run(
            "const { scroller } = __test.feed(); scroller.scrollTop = scroller.scrollHeight / 2;",
        )
        .await;
        stage.rest().await;
        let seen = "__test.rows().filter((row) => { const { top, bottom } = row.getBoundingClientRect(); return bottom > 40 && top < innerHeight; }).map((row) => row.textContent)";
        let before: Vec<String> = tab.eval(seen).await;
        assert!(before.len() > 3, "{before:?}");
        tab.run("const place = document.createElement('div'); place.style.height = '100%'; document.body.append(place); place.append(__test.feed());")
            .await;
        stage.rest().await;
        let after: Vec<String> = tab.eval(seen).await;
        assert_eq!(after.first(), before.first());
        assert!(tab.eval::<f64>("__test.feed().scroller.scrollTop").await > 1_000.0);
    });
}

#[test]
fn arrows_scroll_what_is_wide_and_step_everywhere_else() {
    let mut writer = Writer::new("wide");
    writer.turn(1);
    let wide = format!("```text\n{}\n```", "wide ".repeat(400));
    let place = json!({"turnId": "t1", "responseId": "r1", "part": 9});
    writer.event("assistant_done", &place, &json!({"text": wide, "part": 9}));
    let files = vec![("/log", writer.take())];
    on_stage("wide", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        let wide = "__test.all('[tabindex=\"0\"]').find((it) => it.matches('.row *') && it.scrollWidth > it.clientWidth)";
        tab.wait_for("wide code", SHORT, &format!("!!{wide}")).await;
        tab.run(&format!("{wide}.focus()")).await;
        tab.run("window.heard = []; addEventListener('keydown', (event) => heard.push([event.key, event.defaultPrevented]));")
            .await;
        for _ in 0..3 {
            tab.press("ArrowRight").await;
        }
        // It is left to the browser, which scrolls by it.
        let heard: Vec<(String, bool)> = tab.eval("window.heard").await;
        assert_eq!(heard, vec![("ArrowRight".to_owned(), false); 3]);
        let looks_back =
            "__test.feed().eventCount > Number(__test.one('.strip').getAttribute('aria-valuenow'))";
        assert!(!tab.eval::<bool>(looks_back).await);
        tab.run("__test.rows()[0].focus()").await;
        tab.press("ArrowLeft").await;
        tab.wait_for("the past", SHORT, looks_back).await;
    });
}

#[test]
fn a_page_that_shows_its_own_events_where_a_log_failed_says_nothing_of_that() {
    on_stage("fallback", FEED, Vec::new(), async |stage| {
        let tab = &stage.tab;
        tab.expect_problems("404");
        let log = json!(log_of("fallback", 20));
        tab.run(&format!("const feed = __test.feed(); feed.addEventListener('af-error', () => {{ feed.events = {log}; }}, {{ once: true }}); feed.setAttribute('src', '/gone.jsonl');"))
            .await;
        tab.wait_for(
            "its own events",
            SHORT,
            "__test.feed().eventCount > 20 && __test.feed().state === 'live'",
        )
        .await;
        stage.rest().await;
        let text: String = tab.eval("__test.text(__test.feed())").await;
        assert!(!text.contains("Not loaded"), "{text}");
    });
}

#[test]
fn menus_fit_the_window_however_low_it_is_and_whichever_way_is_read() {
    let files = vec![("/log", log_of("menus", 20))];
    on_stage("menus", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        for (width, height, dir) in [(900, 300, "ltr"), (900, 300, "rtl"), (900, 700, "rtl")] {
            tab.look(false, (width, height)).await;
            tab.run(&format!(
                "document.documentElement.dir = '{dir}'; await __test.frames(3); __test.visible('#view-opener').click();"
            ))
            .await;
            let menu = "__test.visible('#view-menu')";
            tab.wait_for("the menu", SHORT, &format!("!!{menu}")).await;
            let fits = format!(
                "(() => {{ const {{ left, right, top, bottom }} = {menu}.getBoundingClientRect(); return left >= 0 && right <= innerWidth && top > 0 && bottom <= innerHeight; }})()"
            );
            assert!(tab.eval::<bool>(&fits).await, "{width} {height} {dir}");
            // All of it can be reached.
            let last = format!("[...{menu}.querySelectorAll('input')].at(-1)");
            tab.run(&format!("{last}.scrollIntoView({{ block: 'nearest' }})"))
                .await;
            let is_seen = format!("{last}.getBoundingClientRect().bottom <= innerHeight");
            assert!(tab.eval::<bool>(&is_seen).await, "{width} {height} {dir}");
            tab.run(&format!("{menu}.hidePopover()")).await;
        }
    });
}

#[test]
fn a_diff_in_the_panel_keeps_its_place_while_the_session_goes_on() {
    let mut writer = Writer::new("sums");
    writer.turn(1);
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let lines: String = (0..300).map(|n| format!("+line {n}\n")).collect();
    let diff = format!("--- /dev/null\n+++ b/src/long.rs\n@@ -0,0 +1,300 @@\n{lines}");
    writer.event("tool_call", &place, &json!({"toolCallId": "long", "toolName": "Write", "kind": "edit", "args": {"file_path": "src/long.rs"}}));
    writer.event("file_edit", &place, &json!({"toolCallId": "long", "filePath": "src/long.rs", "changeType": "created", "linesAdded": 300, "linesRemoved": 0, "diffPreview": diff}));
    let log = writer.take();
    on_stage("sums", FEED, Vec::new(), async |stage| {
        let tab = &stage.tab;
        stage.append(&log).await;
        tab.wait_for(
            "what stands around the rows",
            SHORT,
            "!!__test.one('dialog.help')?.firstElementChild",
        )
        .await;
        tab.wait_for(
            "the panel's button",
            SHORT,
            "!!__test.visible('.panel-toggle')",
        )
        .await;
        tab.run("if (!__test.visible('.panel')) __test.one('.panel-toggle').click()")
            .await;
        let file = "__test.all('.tree__open').find((it) => it.textContent.includes('long.rs'))";
        tab.wait_for("the file", SHORT, &format!("!!{file}")).await;
        tab.run(&format!("{file}.click()")).await;
        let scroller = "__test.one('.file-sum .diff__scroller')";
        tab.wait_for(
            "its diff",
            SHORT,
            &format!("{scroller}?.scrollHeight > 3000"),
        )
        .await;
        tab.run(&format!(
            "{scroller}.scrollTop = 3000; await __test.frames(3);"
        ))
        .await;
        let shown = format!(
            "[...{scroller}.querySelectorAll('.diff__line')].some((line) => {{ const box = line.getBoundingClientRect(), around = {scroller}.getBoundingClientRect(); return box.top < around.bottom && box.bottom > around.top; }})"
        );
        tab.wait_for("its lines", SHORT, &shown).await;
        tab.run(&format!("window.before = {scroller};")).await;
        // What else happens has the panel drawn anew, a second later; another edit of the file has the diff.
        let next = Writer::new("sums").turn(7).take();
        stage.append(&next.replace("\"e", "\"n")).await;
        tab.run("await __test.sleep(1500)").await;
        tab.wait_for("its lines after other rows", SHORT, &shown)
            .await;
        assert!(
            tab.eval::<bool>(&format!("window.before === {scroller}"))
                .await
        );
        assert!(tab.eval::<f64>(&format!("{scroller}.scrollTop")).await > 2_900.0);
        // The focus in it is not lost with it.
        tab.run(&format!("{scroller}.focus()")).await;
        tab.press("r").await;
        tab.wait_for("the panel to be gone", SHORT, "!__test.visible('.panel')")
            .await;
        let is_in_feed = format!("{FOCUSED}?.matches('.scroller, .scroller *') ?? false");
        assert!(tab.eval::<bool>(&is_in_feed).await);
    });
}

#[test]
fn keys_that_are_the_page_s_own_are_left_to_it_in_diffs_as_well() {
    let diff = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n fn a() {}\n-fn b() {}\n+fn b(x: u8) {}\n }\n";
    let mut writer = Writer::new("own");
    writer.turn(1);
    let place = json!({"turnId": "t1", "responseId": "r1"});
    writer.event("tool_call", &place, &json!({"toolCallId": "e", "toolName": "Edit", "kind": "edit", "args": {"file_path": "src/a.rs"}}));
    writer.event("file_edit", &place, &json!({"toolCallId": "e", "filePath": "src/a.rs", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff}));
    let files = vec![("/log", writer.take())];
    on_stage("own keys", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run("__test.feed().setAttribute('shortcuts', 'off')")
            .await;
        stage.show("/log").await;
        tab.run("await __test.feed().expandAll()").await;
        let diff = "__test.all('.diff__scroller').at(-1)";
        tab.wait_for("a diff", SHORT, &format!("!!{diff}")).await;
        tab.run(&format!("{diff}.focus(); window.heard = []; addEventListener('keydown', (event) => heard.push([event.key, event.defaultPrevented]));"))
            .await;
        for key in ["s", "n", "w"] {
            tab.press(key).await;
        }
        let heard: Vec<(String, bool)> = tab.eval("window.heard").await;
        let expected = ["s", "n", "w"].map(|key| (key.to_owned(), false));
        assert_eq!(heard, expected);
        let chosen: bool = tab
            .eval("__test.feed().hasAttribute('wrap') || __test.feed().getAttribute('diff-view') === 'split'")
            .await;
        assert!(!chosen);
    });
}

#[test]
fn keys_go_on_from_the_row_whose_button_was_clicked() {
    let files = vec![("/log", log_of("clicked", 20))];
    on_stage("clicked", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        tab.run("window.seen = __test.rows().filter((row) => { const { top, bottom } = row.getBoundingClientRect(); return top > 60 && bottom < innerHeight - 120; });")
            .await;
        let row = |n: usize| format!("seen[{n}]");
        let has_buttons = |n: usize| format!("!!{}.querySelector('.row-actions')", row(n));
        tab.run("navigator.clipboard.writeText = async () => {};")
            .await;
        tab.point_at(&row(1)).await;
        tab.wait_for("the buttons", SHORT, &has_buttons(1)).await;
        let button = format!(
            "[...{}.querySelectorAll('.row-actions button')].find((it) => it.checkVisibility())",
            row(1)
        );
        tab.click(&button).await;
        tab.point_at(&row(3)).await;
        tab.wait_for("the buttons elsewhere", SHORT, &has_buttons(3))
            .await;
        assert!(tab.eval::<bool>(&format!("{FOCUSED} === {}", row(1))).await);
        tab.press("j").await;
        tab.wait_for("the next row", SHORT, &format!("{FOCUSED} === {}", row(2)))
            .await;
    });
}

#[test]
fn a_menu_shows_what_is_set_and_is_the_first_that_escape_closes() {
    let files = vec![("/log", log_of("set", 20))];
    on_stage("set", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        let menu = "__test.visible('#view-menu')";
        let open_menu = async || {
            tab.run("__test.visible('#view-opener').click()").await;
            tab.wait_for("the menu", SHORT, &format!("!!{menu}")).await;
        };
        let choice = |word: &str| {
            format!(
                "[...{menu}.querySelectorAll('label')].find((it) => it.textContent.startsWith('{word}')).querySelector('input')"
            )
        };
        let set = |word: &str| format!("__test.feed().getAttribute('verbosity') === '{word}'");
        open_menu().await;
        tab.run(&format!("{}.click()", choice("Quiet"))).await;
        tab.wait_for("little to be shown", SHORT, &set("quiet"))
            .await;
        tab.run(&format!("{menu}.hidePopover(); __test.rows()[0].focus();"))
            .await;
        tab.press("d").await;
        tab.wait_for("more to be shown", SHORT, &set("normal"))
            .await;
        open_menu().await;
        let shown = format!(
            "{}.checked && !{}.checked",
            choice("Normal"),
            choice("Quiet")
        );
        tab.wait_for("what is set", SHORT, &shown).await;
        tab.run(&format!("{}.click()", choice("Quiet"))).await;
        tab.wait_for("little again", SHORT, &set("quiet")).await;
        tab.run(&format!("{menu}.hidePopover(); __test.rows()[0].focus();"))
            .await;
        tab.press("/").await;
        let field = "__test.visible('.find__field')";
        tab.wait_for("the field", SHORT, &format!("{FOCUSED} === {field}"))
            .await;
        tab.type_text("prompt").await;
        tab.run("await __test.feed().search('answer')").await;
        assert_eq!(
            tab.eval::<String>(&format!("{field}.value")).await,
            "answer"
        );
        open_menu().await;
        tab.run(&format!("{}.focus()", choice("Quiet"))).await;
        tab.press("Escape").await;
        tab.wait_for("the menu to be gone", SHORT, &format!("!{menu}"))
            .await;
        assert!(tab.eval::<bool>(&format!("!!{field}")).await);
    });
}

#[test]
fn what_is_dragged_is_taken_where_it_is_files() {
    with_server("dragged", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the page", SHORT, "!!document.querySelector('.drop')")
            .await;
        let taken: (bool, bool) = tab
            .eval(
                "(() => {
                    const over = (fill) => {
                        const dataTransfer = new DataTransfer();
                        fill(dataTransfer);
                        const event = new DragEvent('dragover', { bubbles: true, cancelable: true, dataTransfer });
                        document.body.dispatchEvent(event);
                        return event.defaultPrevented;
                    };
                    return [over((it) => it.setData('text/plain', 'words')), over((it) => it.items.add(new File(['{}'], 'a.jsonl')))];
                })()",
            )
            .await;
        assert_eq!(taken, (false, true));
    });
}
