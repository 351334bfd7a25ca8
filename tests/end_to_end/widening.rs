//! More of a file around its changes: shown from the text that the event holds or refers to, fetched when it is asked for
//! and once; live and from a file alike.

use chat_diff::diff_texts;
use serde_json::json;

use crate::SHORT;
use crate::browser::Tab;
use crate::compare::difference;
use crate::made_logs::Writer;
use crate::sessions::{BothWays, UNFOLD, n_bodies_fetched, with_server};

const ROW: &str = "__test.all('.file-edit').find((row) => row.textContent.includes('big.rs'))";

/// Presses the button of this name, by a key.
async fn press(tab: &Tab, what: &str) {
    tab.run(&format!(
        "{ROW}.querySelector('[data-widen=\"{what}\"]').focus()"
    ))
    .await;
    tab.press("Enter").await;
}

#[test]
fn a_diff_shows_as_much_of_its_file_as_is_asked_for_the_same_live_and_dropped() {
    with_server("widening", 150, async |visit, program| {
        let old: Vec<String> = (1..=2000)
            .map(|n| format!("fn line_{n}() {{}}\n"))
            .collect();
        let mut new = old.clone();
        new[999] = "fn changed() {}\n".to_owned();
        new[1199] = "fn another() {}\n".to_owned();
        let (old, new) = (old.concat(), new.concat());
        let diff = diff_texts("big.rs", Some(&old), Some(&new));
        let mut writer = Writer::new("widening");
        writer.turn(1);
        let place = json!({"turnId": "t1", "responseId": "r1"});
        writer.event("file_edit", &place, &json!({"filePath": "big.rs", "changeType": "modified", "linesAdded": 2, "linesRemoved": 2, "diffPreview": diff.text, "fullDiff": diff.text, "fullDiffAvailable": true, "fullDiffSize": diff.text.len(), "oldText": old}));
        let both = BothWays::of(&program, "widening", writer).await;
        let tab = visit.tab("page").await;
        let mut shown: Vec<Vec<String>> = Vec::new();
        for dropped in [false, true] {
            both.show(&tab, dropped).await;
            tab.run(UNFOLD).await;
            tab.run(&format!(
                "{ROW}.querySelector('[aria-expanded=false]')?.click(); await __test.rest()"
            ))
            .await;
            // Of the other diff the file is not known.
            let n_offered: usize = tab.eval("__test.all('.file-edit').filter((row) => row.querySelector('.diff__widen')).length").await;
            assert_eq!(n_offered, 1);
            let before = n_bodies_fetched(&tab);
            let rows = "__test.feed().serializeRows({ maskTimes: true })";
            let mut seen: Vec<String> = vec![tab.eval(rows).await];
            for (what, line) in [("above:0", 977), ("below:0", 1023), ("below:1", 1223)] {
                // The line that the button stands beside stays where it is on the screen.
                tab.run(&format!(
                    "{ROW}.querySelector('[data-widen=\"{what}\"]').focus(); await __test.rest()"
                ))
                .await;
                let beside = if what == "below:1" {
                    "another"
                } else {
                    "changed"
                };
                let place = format!(
                    "[...{ROW}.querySelectorAll('.diff__line--added')].find((line) => line.textContent.includes('{beside}()')).getBoundingClientRect().top"
                );
                let before: f64 = tab.eval(&place).await;
                tab.press("Enter").await;
                let here = format!(
                    "{ROW}.textContent.includes('line_{line}()') && !{ROW}.textContent.includes('Loading')"
                );
                tab.wait_for(what, SHORT, &here).await;
                let calm: bool = tab.eval("__test.rest()").await;
                assert!(calm, "the page comes to rest");
                let after: f64 = tab.eval(&place).await;
                assert!(
                    (after - before).abs() <= 1.0,
                    "{what}: from {before} to {after}"
                );
                let kept: bool = tab.eval(&format!("__test.feed().shadowRoot.activeElement === {ROW}.querySelector('.diff__scroller')")).await;
                assert!(kept, "the focus stays in the diff");
                seen.push(tab.eval(rows).await);
            }
            press(&tab, "all-above:1").await;
            // Both changes with 250 lines of the file: too many to be in the page at once.
            let scroller = format!("{ROW}.querySelector('.diff__scroller')");
            let one = format!("{scroller}?.scrollHeight > 4800");
            tab.wait_for("one hunk", SHORT, &one).await;
            let n_asked = n_bodies_fetched(&tab) - before;
            assert_eq!(n_asked, usize::from(!dropped), "it is fetched once");
            // What was shown is shown again when the row is opened again.
            let toggle =
                format!("{ROW}.querySelector('[aria-expanded]').click(); await __test.rest()");
            tab.run(&toggle).await;
            tab.run(&toggle).await;
            tab.wait_for("the same hunk", SHORT, &one).await;
            for (side, top) in [("above", "0"), ("below", "1e6")] {
                tab.run(&format!("{scroller}.scrollTop = {top}")).await;
                let button = format!("{ROW}.querySelector('[data-widen^=all-{side}]')");
                tab.wait_for(side, SHORT, &format!("!!{button}")).await;
                tab.run(&format!("{button}.click(); await __test.rest()"))
                    .await;
            }
            tab.run(&format!("{scroller}.scrollTop = 1e6")).await;
            let last = format!(
                "{ROW}.textContent.includes('line_2000()') && !{ROW}.querySelector('.diff__widen')"
            );
            tab.wait_for("the end of the file", SHORT, &last).await;
            let lines = format!("{ROW}.querySelectorAll('.diff__line').length");
            let n_lines: usize = tab.eval(&lines).await;
            assert!(n_lines < 400, "{n_lines} lines are in the page");
            let n_asked = n_bodies_fetched(&tab) - before;
            assert_eq!(n_asked, usize::from(!dropped), "it is fetched once");
            shown.push(seen);
        }
        let failures: Vec<String> = shown[0]
            .iter()
            .zip(&shown[1])
            .filter_map(|(live, dropped)| difference("live and dropped", live, dropped))
            .collect();
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    });
}
