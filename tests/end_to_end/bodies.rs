//! Bodies that are told by reference: fetched when they are asked for, once, and shown as if they had been there.

use serde_json::json;

use crate::SHORT;
use crate::compare::difference;
use crate::made_logs::Writer;
use crate::server::Server;
use crate::sessions::{BothWays, UNFOLD, n_bodies_fetched, pipe_all, settle, with_server};

#[test]
fn a_full_diff_is_fetched_on_demand_and_once() {
    with_server("full_diff", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let mut writer = Writer::new("diffs");
        writer.turn(1);
        let body: String = (1..=6000)
            .map(|line| format!("-old line {line}\n+new line {line}\n"))
            .collect();
        let diff = format!("--- a/big.rs\n+++ b/big.rs\n@@ -1,6000 +1,6000 @@\n{body}");
        let preview: String = diff.split_inclusive('\n').take(60).collect();
        let place = json!({"turnId": "t1", "responseId": "r1"});
        writer.event("tool_call", &place, &json!({"toolCallId": "big", "toolName": "Edit", "kind": "edit", "args": {"file_path": "big.rs"}}));
        writer.event(
            "file_edit",
            &place,
            &json!({"toolCallId": "big", "filePath": "big.rs", "changeType": "modified", "linesAdded": 6000, "linesRemoved": 6000,
                "diffPreview": preview, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}),
        );
        writer.event(
            "tool_result",
            &place,
            &json!({"toolCallId": "big", "result": "done"}),
        );
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        pipe_all(&server, &writer.take()).await;
        let tab = visit.tab("page").await;
        tab.goto(&server.page_of("diffs")).await;
        settle(&tab, "the session", n_events).await;
        tab.run(UNFOLD).await;
        let n_fetched = || n_bodies_fetched(&tab);
        let edit = "__test.all('.file-edit').find((row) => row.textContent.includes('big.rs'))";
        let toggle = format!("{edit}.querySelector('[aria-expanded]').click()");
        tab.run(&toggle).await;
        tab.wait_for(
            "the beginning of the diff",
            SHORT,
            &format!("{edit}.textContent.includes('new line 20')"),
        )
        .await;
        assert_eq!(n_fetched(), 0, "nothing is fetched before it is asked for");
        // A server that is there and says nothing: it is waited for, but not for ever.
        tab.run("window.__real = { fetch, setTimeout }; window.fetch = (to, how) => /full\\?body=/.test(to) ? new Promise(() => {}) : __real.fetch.call(window, to, how); window.setTimeout = (act, ms, ...more) => __real.setTimeout.call(window, act, ms === 45000 ? 50 : ms, ...more);")
            .await;
        let button = format!(
            "[...{edit}.querySelectorAll('button')].find((button) => /full diff/i.test(button.textContent))"
        );
        tab.run(&format!("{button}.click()")).await;
        let why = format!("{edit}.textContent.includes('the server does not answer')");
        tab.wait_for("a word of it", SHORT, &why).await;
        tab.run("Object.assign(window, window.__real)").await;
        tab.run(&format!("[...{edit}.querySelectorAll('button')].find((button) => button.textContent === 'Try again').click()"))
            .await;
        tab.wait_for(
            "the whole diff",
            SHORT,
            &format!("!({button}) && !/Loading|Could not/.test({edit}.textContent)"),
        )
        .await;
        assert_eq!(n_fetched(), 1);
        for _ in 0..2 {
            tab.run(&toggle).await;
            tab.run("await __test.rest()").await;
        }
        assert_eq!(n_fetched(), 1, "what is here is not fetched again");
    });
}

#[test]
fn a_long_result_is_shown_the_same_live_and_dropped_before_it_is_loaded_and_after() {
    with_server("bodies", 120, async |visit, program| {
        let mut writer = Writer::new("bodies");
        writer.turn(1);
        let printed: String = (1..=3000)
            .map(|line| format!("line {line} of the output\n"))
            .collect();
        assert!(printed.len() > 60_000);
        let place = json!({"turnId": "t1", "responseId": "r1"});
        let args = json!({"command": "seq 3000", "script": printed});
        writer.event(
            "tool_call",
            &place,
            &json!({"toolCallId": "long", "toolName": "Run", "kind": "other", "args": args}),
        );
        writer.event(
            "tool_result",
            &place,
            &json!({"toolCallId": "long", "result": printed}),
        );
        let both = BothWays::of(&program, "bodies", writer).await;
        let tab = visit.tab("page").await;
        let mut shown = Vec::new();
        for dropped in [false, true] {
            both.show(&tab, dropped).await;
            tab.run(UNFOLD).await;
            let n_fetched = || n_bodies_fetched(&tab);
            let before = n_fetched();
            let call = "__test.all('.tool-call').find((row) => row.textContent.includes('Run'))";
            tab.run(&format!("{call}.querySelector('[aria-expanded]').click()"))
                .await;
            let result = format!("{call}.querySelector('.tool-result')");
            tab.wait_for(
                "both ends of the result",
                SHORT,
                &format!("{result}?.textContent.includes('line 12 of') && {result}.textContent.includes('line 2993 of') && !{result}.textContent.includes('line 13 of')"),
            )
            .await;
            let calm: bool = tab.eval("__test.rest()").await;
            assert!(calm, "the page comes to rest with the result opened");
            assert_eq!(
                n_fetched(),
                before,
                "nothing is fetched before it is copied"
            );
            // Copied, it is whole before anybody asked to see it so.
            tab.run(&format!(
                "window.copied = ''; navigator.clipboard.writeText = async (text) => {{ copied = text; }}; {call}.focus()"
            ))
            .await;
            tab.press("y").await;
            tab.wait_for("the row's text", SHORT, "copied !== ''").await;
            let copied: String = tab.eval("copied").await;
            assert!(copied.ends_with(printed.trim_end()), "all that it gave");
            assert!(!copied.contains("Show all"), "and no button");
            let before = n_fetched();
            let rows = "__test.feed().serializeRows({ maskTimes: true })";
            let ends: String = tab.eval(rows).await;
            assert_eq!(
                n_fetched(),
                before,
                "nothing is fetched before it is asked for"
            );
            let button = "querySelector('.more')";
            for part in [
                result.as_str(),
                &format!("{call}.querySelector('.tool-args')"),
            ] {
                let label: String = tab.eval(&format!("{part}.{button}.textContent")).await;
                assert!(label.contains("Show all 3,000 lines"), "{label}");
                tab.run(&format!("{part}.{button}.click()")).await;
                tab.wait_for(
                    "all of it",
                    SHORT,
                    &format!("{part}.textContent.includes('line 1500 of')"),
                )
                .await;
            }
            let calm: bool = tab.eval("__test.rest()").await;
            assert!(calm, "the page comes to rest with all of it");
            let whole: String = tab.eval(rows).await;
            let n_asked = n_fetched() - before;
            assert_eq!(n_asked, if dropped { 0 } else { 2 }, "each is fetched once");
            shown.push((ends, whole));
        }
        let [(ends_live, whole_live), (ends_dropped, whole_dropped)] = &shown[..] else {
            unreachable!("two ways were shown")
        };
        let ends = difference("both ends, live and dropped", ends_live, ends_dropped);
        let mut failures = Vec::from_iter(ends);
        failures.extend(difference(
            "whole, live and dropped",
            whole_live,
            whole_dropped,
        ));
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
        assert_ne!(ends_live, whole_live);
    });
}
