//! Promises of diffs and of colours that only a browser can keep: how much of a long diff is in the page, on which
//! side lines stand, what a copy holds, and that colours come from a worker, change no text, and are given up on where
//! the worker hangs. The page's files are served as they were built, with another worker where a test says so.

use std::future::Future;

use serde_json::json;

use crate::SHORT;
use crate::browser::Tab;
use crate::made_logs::Writer;
use crate::site::Site;
use crate::stage::{LOAD_LIMIT, on_own_site};

const RUST: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@ impl A\n fn a() { let x = \"text\"; }\n-fn b() { old(1) }\n+fn b() { fresh(1) } // why\n+<img src=x onerror=alert(1)>\n }\n";

/// What the worker must do to be of use, and does not: it never answers.
const HANGING: &str =
    "self.onmessage = () => { for (;;) {} }; self.postMessage({ id: 0, spans: null });";

#[test]
fn lines_stand_side_by_side_where_there_is_room() {
    on_stage("side by side", &[RUST], None, async |tab| {
        // The window is 1100 px wide, and the diff's column more than 960.
        tab.wait_for("two sides", SHORT, "__test.all('.diff__pair').length === 4")
            .await;
        tab.run("__test.feed().style.width = '800px'").await;
        tab.wait_for(
            "one side",
            SHORT,
            "__test.all('.diff__pair').length === 0 && __test.all('.diff__line').length === 5",
        )
        .await;
        tab.run("__test.feed().setAttribute('diff-view', 'split')")
            .await;
        tab.wait_for("two sides", SHORT, "__test.all('.diff__pair').length === 4")
            .await;
        tab.run("__test.one('.diff__scroller').focus()").await;
        tab.press("s").await;
        tab.wait_for(
            "the choice",
            SHORT,
            "__test.feed().getAttribute('diff-view') === 'unified'",
        )
        .await;
        tab.press("w").await;
        tab.wait_for("wrapped lines", SHORT, "__test.feed().hasAttribute('wrap') && __test.one('.diff__lines').hasAttribute('data-wrap')").await;
        tab.press("w").await;
        tab.wait_for("long lines", SHORT, "!__test.feed().hasAttribute('wrap')")
            .await;
        // On the row they act as well; side by side lines wrap, whatever was chosen.
        tab.run("__test.one('.file-edit').focus()").await;
        tab.press("s").await;
        tab.wait_for("two sides", SHORT, "__test.all('.diff__pair').length === 4")
            .await;
        let wraps = "__test.one('[aria-label^=\"Wrap\"]')";
        let said: [String; 3] = tab
            .eval(&format!(
                "[{wraps}.ariaPressed, {wraps}.ariaDisabled, {wraps}.title]"
            ))
            .await;
        assert_eq!(said, ["true", "true", "Side by side always wraps"]);
        // What is the same on both sides is said once.
        let n_unsaid: usize = tab
            .eval("__test.all('.diff__pair > [aria-hidden=true]').length")
            .await;
        assert_eq!(n_unsaid, 2);
    });
}

#[test]
fn lines_that_would_be_broken_in_two_sides_stand_below_each_other() {
    let long = format!(
        "@@ -1 +1 @@\n-fn b() {{ old(\"{0}\") }}\n+fn b() {{ fresh(\"{0}\") }}\n",
        "x".repeat(60)
    );
    on_stage("long lines", &[&long], None, async |tab| {
        let one_side =
            "__test.all('.diff__pair').length === 0 && __test.all('.diff__line').length === 2";
        tab.wait_for("one side", SHORT, one_side).await;
        tab.look(false, (1700, 800)).await;
        tab.wait_for("two sides", SHORT, "__test.all('.diff__pair').length === 1")
            .await;
        tab.look(false, (1100, 800)).await;
        tab.wait_for("one side", SHORT, one_side).await;
    });
}

#[test]
fn a_long_diff_has_few_nodes_and_can_be_read_to_its_end() {
    let mut diff = "@@ -0,0 +1,200000 @@\n".to_owned();
    for n in 0..200_000 {
        diff += &format!("+line {n}\n");
    }
    on_stage("long", &[&diff], None, async |tab| {
        // A long one is shown whole once the reader asks.
        let button = "__test.all('button').find((button) => button.textContent.startsWith('Show full diff'))";
        tab.run(&format!("{button}.click()")).await;
        tab.wait_for(
            "the whole",
            SHORT,
            "__test.one('.diff__scroller').scrollHeight > 4000000",
        )
        .await;
        let n_lines: usize = tab.eval("__test.all('.diff__line').length").await;
        assert!((30..400).contains(&n_lines), "{n_lines} lines in the page");
        tab.run("const scroller = __test.one('.diff__scroller'); scroller.scrollTop = scroller.scrollHeight").await;
        tab.wait_for(
            "the last line",
            SHORT,
            "__test.all('.diff__line').at(-1).textContent === 'added line 199999'",
        )
        .await;
        let n_lines: usize = tab.eval("__test.all('.diff__line').length").await;
        assert!((30..400).contains(&n_lines), "{n_lines} lines in the page");
    });
}

#[test]
fn a_copy_holds_code_and_no_signs_or_numbers() {
    let with_empty = RUST
        .replace("@@ -1,3 +1,4 @@", "@@ -1,5 +1,6 @@")
        .replace("\n }\n", "\n \n \n }\n");
    on_stage("copy", &[&with_empty], None, async |tab| {
        tab.run("__test.feed().setAttribute('diff-view', 'unified')")
            .await;
        tab.wait_for("one side", SHORT, "__test.all('.diff__line').length === 7")
            .await;
        let copied: String = tab
            .eval("(() => { const range = document.createRange(); range.selectNodeContents(__test.one('.diff__lines')); const selection = getSelection(); selection.removeAllRanges(); selection.addRange(range); return selection.toString(); })()")
            .await;
        let lines: Vec<&str> = copied.lines().collect();
        let first = lines.iter().position(|line| line.starts_with("fn a"));
        let lines = &lines[first.expect("the first line of code")..];
        assert_eq!(
            lines,
            [
                "fn a() { let x = \"text\"; }",
                "fn b() { old(1) }",
                "fn b() { fresh(1) } // why",
                "<img src=x onerror=alert(1)>",
                "",
                "",
                "}"
            ],
            "{copied:?}"
        );
        let n_images: usize = tab.eval("__test.all('img').length").await;
        assert_eq!(n_images, 0, "text of a diff is text");
    });
}

#[test]
fn colours_come_from_the_worker_and_change_no_text() {
    on_stage("colours", &[RUST], None, async |tab| {
        let text: String = tab.eval("__test.one('.diff__lines').textContent").await;
        tab.wait_for("colours", SHORT, "__test.one('.syntax-keyword')?.textContent === 'fn' && __test.one('.syntax-string') && __test.one('.syntax-comment')").await;
        let coloured: String = tab.eval("__test.one('.diff__lines').textContent").await;
        assert_eq!(coloured, text);
        let ground: String = tab
            .eval("getComputedStyle(__test.one('.syntax-keyword')).color")
            .await;
        let plain: String = tab
            .eval("getComputedStyle(__test.one('.diff__line')).color")
            .await;
        assert_ne!(ground, plain);
        let n_bytes: u64 = tab.eval("fetch('/highlighter.js').then((answer) => answer.text()).then((text) => text.length)").await;
        assert!(
            n_bytes > 50_000,
            "the worker has its grammars: {n_bytes} bytes"
        );
    });
}

#[test]
fn code_in_an_answer_has_colours_as_well() {
    let mut log = Writer::new("s");
    log.turn(1);
    log.event(
        "assistant_done",
        &json!({"turnId": "t1", "responseId": "r9"}),
        &json!({"text": "See:\n\n```rust\n// One\nfn main() {}\nfn other() {}\n```\n", "part": 1}),
    );
    on_page("code", log.take(), None, async |tab| {
        let lines =
            "__test.all('.code__line').find((line) => line.textContent.startsWith('fn main'))";
        tab.wait_for(
            "colours",
            SHORT,
            &format!("{lines}?.querySelector('.syntax-keyword')?.textContent === 'fn'"),
        )
        .await;
        let text: String = tab.eval(&format!("{lines}.textContent")).await;
        assert_eq!(text, "fn main() {}\n");
        let last: bool = tab
            .eval("__test.all('.code__line').at(-1).querySelector('.syntax-keyword')?.textContent === 'fn'")
            .await;
        assert!(last, "the last line has colours, too");
    });
}

#[test]
fn a_worker_that_hangs_is_ended_and_leaves_the_code_plain() {
    on_stage("hanging", &[RUST], Some(HANGING), async |tab| {
        tab.wait_for("the end of the worker", SHORT, "window.__ended > 0")
            .await;
        let n_coloured: usize = tab.eval("__test.all('.syntax-keyword').length").await;
        assert_eq!(n_coloured, 0);
        let n_lines: usize = tab.eval("__test.all('.diff__line').length").await;
        assert!(n_lines >= 5, "the text is there");
    });
}

/// Shows a session with these diffs, the rows opened.
fn on_stage<F>(
    name: &'static str,
    diffs: &[&str],
    worker: Option<&'static str>,
    play: impl FnOnce(Tab) -> F,
) where
    F: Future<Output = ()>,
{
    let mut log = Writer::new("s");
    for (number, diff) in diffs.iter().enumerate() {
        log.event(
            "file_edit",
            &json!({"turnId": "t1"}),
            &json!({"filePath": format!("src/a{number}.rs"), "changeType": "modified", "linesAdded": 2, "linesRemoved": 1, "diffPreview": "", "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}),
        );
    }
    on_page(name, log.take(), worker, async |tab: Tab| {
        tab.run("for (const row of __test.all('.file-edit [aria-expanded=false]')) row.click()")
            .await;
        tab.wait_for("the diff", SHORT, "__test.all('.diff__line').length > 0")
            .await;
        play(tab).await;
    });
}

fn on_page<F>(
    name: &'static str,
    log: String,
    worker: Option<&'static str>,
    play: impl FnOnce(Tab) -> F,
) where
    F: Future<Output = ()>,
{
    let mut files = vec![
        // Worker is counted by the page itself: nothing of the element tells when one ends.
        ("/count.js", "text/javascript", COUNT.as_bytes().to_vec()),
        ("/log", "application/x-ndjson", log.into_bytes()),
    ];
    if let Some(worker) = worker {
        files.push(("/highlighter.js", "text/javascript", worker.into()));
    }
    let body = "<agent-feed fold=\"none\" group=\"none\" bar=\"none\"></agent-feed><script src=\"/count.js\"></script>";
    on_own_site(name, body, files, async |site: Site, tab: Tab| {
        tab.run("__test.feed().setAttribute('src', '/log')").await;
        tab.wait_for(
            "the log to be read",
            LOAD_LIMIT,
            "__test.feed().getAttribute('state') === 'ready'",
        )
        .await;
        play(tab).await;
        drop(site);
    });
}

const COUNT: &str = "window.__ended = 0; const end = Worker.prototype.terminate; Worker.prototype.terminate = function () { window.__ended += 1; end.call(this); };";
