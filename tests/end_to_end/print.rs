//! A session on paper: all of its rows, unfolded, with whole diffs, and none of the controls; afterwards everything is as it
//! was.

use serde_json::{Value, json};

use crate::made_logs::{Writer, log_of};
use crate::overview_answers::{ask, command};
use crate::server::Server;
use crate::sessions::{CATCH_UP_LIMIT, with_server};
use crate::site::SLOWLY;
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

/// What is there while the browser prints: how many rows, whether the last line of the diff is, and what can be seen.
const PRINTED: &str = "(() => {
    const seen = (it) => !!it && it.checkVisibility();
    const diff = __test.all('.diff').at(-1);
    return {
        rows: __test.rows().length,
        of: __test.feed().rowCount,
        head: __test.text(__test.one('.print-head')),
        last: diff?.textContent.includes('the last line of it') ?? false,
        cut: !!diff && diff.querySelector('.diff__scroller').scrollHeight > diff.querySelector('.diff__scroller').clientHeight + 1,
        controls: ['.top', '.pill', '.diff__tools', '.transport-place'].filter((name) => seen(__test.one(name))),
        gap: __test.one('.row').getBoundingClientRect().top - __test.one('.print-head').getBoundingClientRect().bottom,
        scheme: getComputedStyle(__test.feed()).colorScheme,
    };
})()";

/// How many pages a PDF has.
fn n_pages(paper: &[u8]) -> usize {
    let is_page = |it: &&[u8]| it.starts_with(b"/Type /Page") && it[11] != b's';
    paper.windows(12).filter(is_page).count()
}

#[test]
fn all_of_a_session_is_printed_and_nothing_around_it() {
    let mut writer = Writer::new("printed");
    for number in 1..=40 {
        writer.turn(number);
    }
    let lines: String = (0..300).map(|n| format!("+line {n} of it\n")).collect();
    let diff =
        format!("--- a/long.rs\n+++ b/long.rs\n@@ -0,0 +1,301 @@\n{lines}+the last line of it\n");
    writer.event("file_edit", &json!({"turnId": "t40"}), &json!({"filePath": "long.rs", "changeType": "created", "linesAdded": 301, "linesRemoved": 0, "diffPreview": chat_diff::preview(&diff), "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}));
    let files = vec![("/log", writer.take())];
    on_stage("print", "<agent-feed></agent-feed>", files, async |stage| {
        stage.show("/log").await;
        stage
            .tab
            .run("__test.feed().scroller.scrollTop = 0; await __test.rest()")
            .await;
        let (before, n_rows): (Value, usize) = (
            stage.tab.eval(PRINTED).await,
            stage.tab.eval("__test.feed().rowCount").await,
        );
        assert_eq!(before["head"], "", "{before}");
        // What the page shows when it is laid out for paper.
        stage.tab.run(&format!("window.addEventListener('beforeprint', () => requestAnimationFrame(() => {{}}), {{ once: true }}); matchMedia('print').addEventListener('change', (media) => {{ if (media.matches) window.printed = {PRINTED}; }})")).await;
        let paper = stage.tab.pdf().await;
        assert!(paper.starts_with(b"%PDF"), "the browser prints");
        let n_pages = n_pages(&paper);
        assert!(n_pages >= 10, "{n_pages} pages");
        let printed: Value = stage.tab.eval("window.printed").await;
        assert_eq!(printed["rows"], printed["of"], "{printed}");
        assert!(
            printed["rows"].as_u64() > u64::try_from(n_rows).ok(),
            "{printed}: of {n_rows} folded"
        );
        assert_eq!(
            (&printed["last"], &printed["cut"]),
            (&json!(true), &json!(false)),
            "{printed}"
        );
        assert_eq!(
            printed["gap"].as_f64(),
            Some(0.0),
            "{printed}: the rows begin below the head"
        );
        assert_eq!(
            (&printed["controls"], &printed["scheme"]),
            (&json!([]), &json!("light")),
            "{printed}"
        );
        assert!(
            printed["head"]
                .as_str()
                .is_some_and(|head| head.contains("printed") && head.contains("Prompt 1")),
            "{printed}"
        );

        stage.rest().await;
        let after: Value = stage.tab.eval(PRINTED).await;
        assert_eq!(after["of"], before["of"], "{after}");
        // As many as a screen needs again; just how many depends on how it came there.
        let n_mounted = |told: &Value| told["rows"].as_u64().expect("a count");
        assert!(
            n_mounted(&after) <= n_mounted(&before) * 2,
            "{after} after {before}"
        );
        assert_eq!(after["controls"], before["controls"]);
    });
}

#[test]
fn who_waits_until_it_is_ready_prints_all_of_it() {
    let files = vec![("/log", log_of("soon", 300))];
    on_stage("print_soon", FEED, files, async |stage| {
        stage
            .tab
            .run("const feed = __test.feed(); feed.style.height = '300px'; feed.src = '/log'; await feed.ready;")
            .await;
        let paper = stage.tab.pdf().await;
        let n_pages = n_pages(&paper);
        assert!(n_pages > 10, "{n_pages} pages");
    });
}

/// Prints: so many rows are on the paper, at least.
async fn print_rows(stage: &Stage, n_rows: usize) {
    let told = |kind: &str| format!("dispatchEvent(new Event('{kind}')); await __test.frames(3);");
    stage.tab.run(&told("beforeprint")).await;
    let n_printed: usize = stage.tab.eval("__test.feed().rowCount").await;
    assert!(n_printed >= n_rows, "{n_printed} of {n_rows}");
    stage.tab.run(&told("afterprint")).await;
}

#[test]
fn a_filter_leaves_nothing_out_on_paper() {
    let files = vec![("/log", log_of("filtered", 120))];
    on_stage("print_filtered", FEED, files, async |stage| {
        stage.show("/log").await;
        let rows = "__test.feed().rowCount";
        let n_rows: usize = stage.tab.eval(rows).await;
        stage
            .tab
            .run("await __test.feed().filter('Prompt'); await __test.rest();")
            .await;
        let n_found: usize = stage.tab.eval(rows).await;
        assert!(n_found > 0 && n_found < n_rows, "{n_found} of {n_rows}");
        print_rows(&stage, n_rows).await;
        let n_left: usize = stage.tab.eval(rows).await;
        assert_eq!(n_left, n_found, "the filter is there again");
    });
}

#[test]
fn whatever_moment_is_shown_all_of_the_session_is_printed() {
    let files = vec![("/log", log_of("moment", 60))];
    on_stage("print_moment", FEED, files, async |stage| {
        stage.show("/log").await;
        let rows = "__test.feed().rowCount";
        let n_rows: usize = stage.tab.eval(rows).await;
        stage
            .tab
            .run("__test.feed().seek(5); await __test.rest()")
            .await;
        let shown = "[__test.feed().rowCount, __test.feed().currentTime]";
        let before: (usize, f64) = stage.tab.eval(shown).await;
        assert!(before.0 < n_rows, "{before:?} of {n_rows}");
        print_rows(&stage, n_rows).await;
        let after: (usize, f64) = stage.tab.eval(shown).await;
        assert_eq!(after, before, "the moment is back");
    });
}

/// The hunks that are in the page, and what of outputs is and what could be pressed.
const PAPER: &str = "(() => {
    const seen = (it) => it.checkVisibility();
    const text = __test.all('.row').map((row) => row.textContent).join('\\n');
    return {
        hunks: text.split('of the hunk').length - 1,
        lines: text.split(/number \\d+ of 3000/).length - 1,
        pressed: __test.all('.more, .link, .icon-button').filter(seen).map((it) => it.localName + ' ' + it.textContent),
    };
})()";

#[test]
fn diffs_are_printed_once_and_of_outputs_the_beginning() {
    let mut writer = Writer::new("paper");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    writer.event(
        "user_message",
        &json!({"turnId": "t1"}),
        &json!({"text": "Edit"}),
    );
    let printed: String = (1..=3000)
        .map(|nth| format!("number {nth} of 3000\n"))
        .collect();
    for (call, tool, args) in [
        ("a", "Bash", json!({"command": "seq"})),
        ("b", "Other", json!({"x": 1})),
    ] {
        writer.event("tool_call", &place, &json!({"toolCallId": call, "toolName": tool, "kind": if tool == "Bash" { "execute" } else { "other" }, "args": args}));
        writer.event(
            "tool_result",
            &place,
            &json!({"toolCallId": call, "result": printed}),
        );
    }
    for nth in 0..3 {
        let diff =
            format!("--- a/f{nth}.rs\n+++ b/f{nth}.rs\n@@ -1 +1 @@\n-old\n+line of the hunk\n");
        writer.event("file_edit", &place, &json!({"filePath": format!("f{nth}.rs"), "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}));
    }
    let files = vec![("/log", writer.take())];
    on_stage(
        "paper",
        "<agent-feed fold=\"none\" verbosity=\"verbose\"></agent-feed>",
        files,
        async |stage| {
            stage.show("/log").await;
            stage.rest().await;
            let before: Value = stage.tab.eval(PAPER).await;
            assert_eq!(before["hunks"], 3, "{before}");
            stage.tab.run(&format!("matchMedia('print').addEventListener('change', (media) => {{ if (media.matches) window.printed = {PAPER}; }})")).await;
            for _ in 0..2 {
                stage.tab.pdf().await;
                let printed: Value = stage.tab.eval("window.printed").await;
                let expected = json!({"hunks": 3, "lines": 80, "pressed": ["div 2,960 more lines", "div 2,960 more lines"]});
                assert_eq!(printed, expected);
                stage.rest().await;
                let after: Value = stage.tab.eval(PAPER).await;
                assert_eq!(after["hunks"], before["hunks"], "{after}");
            }
        },
    );
}

#[test]
fn a_long_line_of_an_output_ends_on_the_paper() {
    let mut writer = Writer::new("wide");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let call = json!({"toolCallId": "c", "toolName": "Bash", "kind": "execute", "args": {"command": "make"}});
    let result = json!({"toolCallId": "c", "result": "wide ".repeat(100), "exitCode": 0});
    writer
        .event("user_message", &place, &json!({"text": "Make"}))
        .event("tool_call", &place, &call)
        .event("tool_result", &place, &result)
        .event("assistant_done", &place, &json!({"text": format!("```sh\n{}\n```\n\n| a | b |\n|---|---|\n| `{}` | c |\n", "wide ".repeat(100), "src/".repeat(80))}));
    let files = vec![("/log", writer.take())];
    let feed = "<agent-feed fold=\"none\" verbosity=\"verbose\"></agent-feed>";
    on_stage("paper_wide", feed, files, async |stage| {
        stage.show("/log").await;
        let lines = "__test.all('.terminal__line').map((line) => line.getBoundingClientRect().right <= line.closest('.row').getBoundingClientRect().right + 1).concat(__test.all('.code__lines, .table-scroller').map((it) => it.scrollWidth <= it.clientWidth + 1))";
        stage.tab.run(&format!("matchMedia('print').addEventListener('change', (media) => {{ if (media.matches) window.printed = {lines}; }})")).await;
        stage.tab.pdf().await;
        let printed: Value = stage.tab.eval("window.printed").await;
        assert_eq!(printed, json!([true, true, true]));
    });
}

#[test]
fn where_a_link_leads_is_printed_once() {
    let mut writer = Writer::new("links");
    let text = "See [the docs](https://docs.example.com/page).";
    writer.event(
        "assistant_done",
        &json!({"turnId": "t1", "responseId": "r1"}),
        &json!({"text": text}),
    );
    let files = vec![("/log", writer.take())];
    on_stage(
        "paper_links",
        "<agent-feed></agent-feed>",
        files,
        async |stage| {
            stage.show("/log").await;
            let link = "(() => {
            const link = __test.one('.prose a');
            return { host: link.querySelector('.aside').checkVisibility(), after: getComputedStyle(link, '::after').content };
        })()";
            let before: Value = stage.tab.eval(link).await;
            assert_eq!(before, json!({"host": true, "after": "none"}));
            stage.tab.run(&format!("matchMedia('print').addEventListener('change', (media) => {{ if (media.matches) window.printed = {link}; }})")).await;
            stage.tab.pdf().await;
            let printed: Value = stage.tab.eval("window.printed").await;
            assert_eq!(printed["host"], false, "{printed}");
            let after = printed["after"].as_str().unwrap_or_default();
            assert!(after.contains("https://docs.example.com/page"), "{printed}");
        },
    );
}

#[test]
fn what_is_played_while_it_is_read_goes_on_from_there_behind_the_paper() {
    let files = vec![("/long.jsonl", log_of("long", 3_000))];
    on_stage("print_played", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run(&format!("__test.feed().src = '/long.jsonl{SLOWLY}'"))
            .await;
        let some = "__test.feed().state === 'loading' && __test.feed().eventCount > 50";
        tab.wait_for("the beginning", SHORT, some).await;
        // It waits at the newest; nothing comes in between.
        let (state, before, after): (String, [f64; 2], [f64; 2]) = tab
            .eval(
                "(() => {
                    const feed = __test.feed(), stands = () => [feed.currentTime, Number(feed.paused)];
                    feed.play(); feed.seek(feed.duration);
                    const before = stands();
                    for (const kind of ['beforeprint', 'afterprint']) dispatchEvent(new Event(kind));
                    return [feed.state, before, stands()];
                })()",
            )
            .await;
        assert_eq!((state.as_str(), before[1]), ("loading", 0.0));
        assert_eq!(after, before);
    });
}

#[test]
fn what_a_request_is_answered_by_is_not_printed() {
    with_server("print_asked", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let allow = command("r1", "rm -rf target");
        ask(&server, "allow", "permission_request", allow).await;
        let question = json!({"text": "Keep TLS 1.0?", "options": [{"label": "Keep"}]});
        let questions = json!({"requestId": "r2", "questions": [question]});
        ask(&server, "choose", "question_request", questions).await;
        let tab = visit.tab("page").await;
        for (session, says) in [("allow", "rm -rf target"), ("choose", "Keep")] {
            tab.goto("about:blank").await;
            tab.goto(&server.page_of(session)).await;
            let asks = "!!__test.visible('.ask .button')";
            tab.wait_for("what answers", CATCH_UP_LIMIT, asks).await;
            // How it looks on paper comes behind the first rows.
            let for_paper = "__test.feed().shadowRoot.adoptedStyleSheets.some((sheet) => [...sheet.cssRules].some((rule) => rule.conditionText === 'print' && rule.cssText.includes('print-head')))";
            tab.wait_for("the styles for paper", CATCH_UP_LIMIT, for_paper)
                .await;
            tab.run("matchMedia('print').addEventListener('change', (media) => { if (media.matches) window.printed = [__test.one('.ask').innerText, __test.all('.ask :is(button, summary, .field)').filter((it) => it.checkVisibility()).length]; })").await;
            let paper = tab.pdf().await;
            assert!(paper.starts_with(b"%PDF"), "the browser prints");
            let (words, n_controls): (String, usize) = tab.eval("window.printed").await;
            assert!(words.contains(says), "{words}");
            assert_eq!(n_controls, 0, "{words}");
        }
    });
}
