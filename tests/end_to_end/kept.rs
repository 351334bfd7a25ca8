//! Long bodies of a dropped log are kept by the browser: shown before they are asked for as a live session shows them, and
//! whole when they are; found, copied and exported as if they had never left.

use serde_json::json;

use crate::SHORT;
use crate::browser::Tab;
use crate::compare::difference;
use crate::made_logs::Writer;
use crate::sessions::{BothWays, UNFOLD, n_bodies_fetched, with_server};

/// Longer than what the page reads by itself, so that a worker reads it: results, arguments, a diff and a raw line, each
/// with a word that stands nowhere else, far from both ends.
fn long_log() -> Writer {
    let mut writer = Writer::new("kept");
    for number in 0..14 {
        writer.turn(number);
        let turn = json!({"turnId": format!("t{number}")});
        let lines = |what: &str| -> String {
            let line = |at: u32| match at {
                1500 => format!("Quokka of {what} {number}\n"),
                _ => format!("{at}: «é» {what} {number} \u{1f642}\n"),
            };
            (0..4_000).map(line).collect()
        };
        let call = format!("long-{number}");
        let args = json!({"command": "cat", "script": lines("args"), "short": 1.50});
        writer.event(
            "tool_call",
            &turn,
            &json!({"toolCallId": call, "toolName": "Run", "kind": "other", "args": args}),
        );
        writer.event(
            "tool_result",
            &turn,
            &json!({"toolCallId": call, "result": lines("result")}),
        );
        let call = format!("edit-{number}");
        let body: String = lines("diff")
            .lines()
            .map(|line| format!("+{line}\n"))
            .collect();
        let diff = format!("--- a/f{number}\n+++ b/f{number}\n@@ -1,1 +1,4001 @@\n one\n{body}");
        let preview: String = diff.split_inclusive('\n').take(60).collect();
        writer.event("tool_call", &turn, &json!({"toolCallId": call, "toolName": "Edit", "kind": "edit", "args": {"file_path": format!("f{number}")}}));
        writer.event("file_edit", &turn, &json!({"toolCallId": call, "filePath": format!("f{number}"), "changeType": "modified", "linesAdded": 4000,
            "linesRemoved": 0, "diffPreview": preview, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len(), "oldText": lines("old")}));
        writer.event(
            "tool_result",
            &turn,
            &json!({"toolCallId": call, "result": "done"}),
        );
    }
    let turn = json!({"turnId": "t13"});
    writer.event(
        "raw",
        &turn,
        &json!({"format": "x", "value": {"long": "raw text ".repeat(3_000)}}),
    );
    writer.event("session_end", &json!({}), &json!({"reason": "done"}));
    writer
}

/// Opens the calls of the last turns, and asks for all that is long in them; both states of the rows.
async fn shown(tab: &Tab) -> (String, String) {
    tab.run(UNFOLD).await;
    tab.run("await __test.feed().expandAll(); await __test.rest();")
        .await;
    let rows = "__test.feed().serializeRows({ maskTimes: true })";
    let ends: String = tab.eval(rows).await;
    tab.run(
        "__test.feed().scroller.scrollTop = 1e9; await __test.rest();
         for (let n = 0; n < 40; n++) {
             const more = __test.all('.more').find((it) => it.tagName === 'BUTTON' && /show all|load full|full diff/i.test(it.textContent));
             if (!more) break;
             more.click();
             await __test.rest();
             while (__test.all('.more').some((it) => it.textContent.includes('Loading'))) await __test.rest();
         }",
    )
    .await;
    (ends, tab.eval(rows).await)
}

#[test]
fn a_long_log_is_shown_as_a_live_session_whoever_keeps_its_bodies() {
    with_server("kept", 240, async |visit, program| {
        let both = BothWays::of(&program, "kept", long_log()).await;
        let tab = visit.tab("page").await;
        both.show(&tab, false).await;
        let live = shown(&tab).await;
        assert_ne!(live.0, live.1, "what is asked for comes");
        for without_worker in [false, true] {
            both.show_with(&tab, true, without_worker).await;
            let before = n_bodies_fetched(&tab);
            let dropped = shown(&tab).await;
            for (what, dropped, live) in [
                ("ends", &dropped.0, &live.0),
                ("whole", &dropped.1, &live.1),
            ] {
                let what = format!("{what}, without a worker: {without_worker}");
                assert_eq!(difference(&what, dropped, live), None);
            }
            assert_eq!(n_bodies_fetched(&tab), before, "nothing leaves the page");
        }
    });
}

#[test]
fn what_is_kept_is_found_copied_and_exported() {
    with_server("kept_whole", 240, async |visit, program| {
        let log = long_log().take();
        assert!(log.len() > 4_000_000, "{} bytes", log.len());
        let both = BothWays::of(&program, "kept", long_log()).await;
        let tab = visit.tab("page").await;
        both.show(&tab, true).await;
        tab.run(UNFOLD).await;
        // Texts, capitals and patterns; not in the file before a change.
        for (question, n_hits) in [
            ("\"quokka of result 7\"", 1),
            ("\"Quokka of args 3\"", 1),
            ("/Quokka of (diff|result) 1[0-3]/", 8),
            ("\"quokka of old 3\"", 0),
            ("wombat", 0),
        ] {
            let found: u64 = tab
                .eval(&format!("__test.feed().search({})", json!(question)))
                .await;
            assert_eq!(found, n_hits, "{question}");
        }
        tab.run("await __test.feed().search('')").await;
        let exported: String = tab
            .eval("__test.feed().exportAs('jsonl', { mask: false }).then((file) => file.text())")
            .await;
        let values = |text: &str| -> Vec<serde_json::Value> {
            let lines = text.lines().map(serde_json::from_str::<serde_json::Value>);
            lines
                .map(|line| line.expect("JSON")["payload"].clone())
                .collect()
        };
        assert!(values(&exported) == values(&log), "what goes in comes out");
        // The JSON of a row, as it is copied.
        tab.run(
            "window.copied = ''; navigator.clipboard.writeText = async (text) => { copied = text; };
             __test.feed().scroller.scrollTop = 1e9; await __test.rest();",
        )
        .await;
        let row = "__test.one('[data-tool-call-id=\"long-13\"]')";
        tab.wait_for("the last call", SHORT, &format!("!!{row}"))
            .await;
        tab.run(&format!("{row}.focus()")).await;
        tab.run("if (!__test.visible('.panel')) __test.one('.panel-toggle').click()")
            .await;
        let raw = "__test.all('.panel__name').find((it) => it.textContent.includes('Raw'))";
        tab.wait_for("the panel", SHORT, &format!("!!{raw}")).await;
        tab.run(&format!("{raw}.click()")).await;
        let copy =
            "[...__test.all('.panel__line button')].find((it) => it.textContent.includes('Copy'))";
        tab.wait_for("the JSON", SHORT, &format!("!!({copy})"))
            .await;
        tab.wait_for(
            "all of it",
            SHORT,
            &format!("({copy}).click(), copied.includes('Quokka of result 13') && copied.includes('Quokka of args 13')"),
        )
        .await;
        let is_marked: bool = tab.eval("copied.includes('$body')").await;
        assert!(!is_marked, "no reference is left");
    });
}
