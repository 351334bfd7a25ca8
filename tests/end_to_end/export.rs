//! A session in one file: it is opened from the disk, asks for nothing, shows what the session shows, and no content of it
//! becomes markup. What is masked is in no form of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::browser::Tab;
use crate::compare::difference;
use crate::hostile::{hostile_log, hostile_payloads};
use crate::made_logs::{Writer, every_kind, lines, log_of};
use crate::server::Server;
use crate::sessions::{UNFOLD, assert_nothing_uploaded, pipe_all, settle, with_server};
use crate::stage::on_stage;
use crate::{FEED, SHORT};

const ROWS: &str = "__test.feed().serializeRows({ maskTimes: true })";
/// A file has no list of sessions beside it, and so more room.
const ALIKE: &str = "__test.feed().setAttribute('diff-view', 'unified');";
const TOKEN: &str = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5";

/// Runs `turnreel export`; what it said on standard error.
fn export(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).arg("export").args(arguments).output();
    let output = output.expect("turnreel runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    said
}

/// Opens an exported file from the disk.
async fn open(tab: &Tab, file: &Path, n_events: usize) {
    let n_before = tab.requests().len();
    let address = format!("file://{}", file.display());
    tab.goto(&address).await;
    settle(tab, "the exported file", n_events).await;
    tab.run(ALIKE).await;
    tab.run(UNFOLD).await;
    assert_asks_for_nothing(tab, n_before);
}

/// The file itself, what it holds, and nothing else.
fn assert_asks_for_nothing(tab: &Tab, n_before: usize) {
    let asked: Vec<String> = tab
        .requests()
        .into_iter()
        .skip(n_before)
        .map(|sent| sent.url)
        .collect();
    let elsewhere: Vec<&String> = asked
        .iter()
        .filter(|url| {
            !url.starts_with("file://") && !url.starts_with("blob:") && !url.starts_with("data:")
        })
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    let files = asked
        .iter()
        .filter(|url| url.starts_with("file://"))
        .count();
    assert!(files <= 1, "{asked:?}");
    assert_eq!(tab.n_sockets_made(), 0);
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file is written");
    path
}

#[test]
fn an_exported_session_shows_what_the_live_one_shows_and_asks_for_nothing() {
    with_server("export", 150, async |visit, program| {
        let server = Server::start(&program).await;
        let mut writer = every_kind("exported");
        let place = json!({"turnId": "t2", "responseId": "r2"});
        // A body that the server keeps beside the log.
        writer.event(
            "tool_call",
            &place,
            &json!({"toolCallId": "long", "toolName": "Count", "args": {"what": "seq"}}),
        );
        writer.event(
            "tool_result",
            &place,
            &json!({"toolCallId": "long", "result": lines(3, 5000), "summary": "counted"}),
        );
        // What is over asks for nothing any more, live or not.
        writer.event(
            "turn_end",
            &json!({"turnId": "t2"}),
            &json!({"outcome": "completed"}),
        );
        writer.event("session_end", &json!({}), &json!({"reason": "done"}));
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        pipe_all(&server, &writer.take()).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("session.html");
        let said = export(
            &program,
            &[
                "exported",
                "--data",
                &server.data().to_string_lossy(),
                "--no-mask",
                "-o",
                &file.to_string_lossy(),
            ],
        );
        assert!(said.contains("nothing was masked"), "{said}");

        let tab = visit.tab("live").await;
        tab.goto(&server.page_of("exported")).await;
        settle(&tab, "live", n_events).await;
        tab.run(ALIKE).await;
        tab.run(UNFOLD).await;
        let live: String = tab.eval(ROWS).await;
        let tab = visit.tab("file").await;
        // A log says at its top what it is.
        open(&tab, &file, n_events + 1).await;
        let exported: String = tab.eval(ROWS).await;
        let differs = difference("live and exported", &live, &exported);
        assert!(differs.is_none(), "{}", differs.unwrap_or_default());

        // Keys act before anything was clicked.
        tab.press("ArrowLeft").await;
        tab.wait_for(
            "a moment before the last",
            SHORT,
            "__test.one('.strip')?.ariaValueNow !== __test.one('.strip')?.ariaValueMax",
        )
        .await;
        tab.press("ArrowRight").await;
        tab.wait_for(
            "the end again",
            SHORT,
            "__test.one('.strip')?.ariaValueNow === __test.one('.strip')?.ariaValueMax",
        )
        .await;

        // All of the long body is in the file.
        let call = "__test.all('.tool-call').find((row) => row.textContent.includes('seq'))";
        tab.run(&format!("__test.feed().goToEvent({}); await __test.rest(); {call}.querySelector('[aria-expanded]').click()", n_events - 3)).await;
        tab.wait_for(
            "the button for all of it",
            SHORT,
            &format!("{call}?.querySelector('.tool-result .more')"),
        )
        .await;
        tab.run(&format!(
            "{call}.querySelector('.tool-result .more').click()"
        ))
        .await;
        tab.wait_for(
            "all of it",
            SHORT,
            &format!("{call}.querySelector('.tool-result').textContent.includes('2500  ')"),
        )
        .await;
        // Code has its colours, from the worker in the file.
        let coloured: bool = tab.eval("__test.feed().coloured && __test.all('.code__line span, [class*=code] span').length >= 0").await;
        assert!(coloured);
        assert_asks_for_nothing(&tab, 0);
        assert!(
            tab.network_errors().is_empty(),
            "{:?}",
            tab.network_errors()
        );
    });
}

#[test]
fn hostile_content_stays_text_in_an_exported_file() {
    with_server("export_hostile", 150, async |visit, program| {
        let mut payloads = hostile_payloads(6);
        payloads.push("</script><script>window.__pwned=1</script><!--".to_owned());
        payloads
            .push("--></noscript></body></html><img src=x onerror=window.__pwned=1>".to_owned());
        let log = hostile_log(&payloads);
        let n_events = log.lines().count();
        let folder = tempfile::tempdir().expect("a folder");
        let input = write(folder.path(), "hostile.jsonl", &log);
        let file = folder.path().join("hostile.html");
        export(
            &program,
            &[
                &input.to_string_lossy(),
                "--no-mask",
                "-o",
                &file.to_string_lossy(),
            ],
        );
        let tab = visit.tab("file").await;
        open(&tab, &file, n_events).await;
        let rows: String = tab.eval(ROWS).await;
        assert!(rows.contains("window.__pwned"), "it is shown as text");
        let pwned: bool = tab.eval("'__pwned' in window").await;
        assert!(!pwned, "content ran");
        let elements: Vec<String> = tab
            .eval("[...document.querySelectorAll('*')].map((element) => element.localName)")
            .await;
        let known = [
            "html",
            "head",
            "meta",
            "title",
            "link",
            "style",
            "body",
            "agent-feed",
            "noscript",
            "script",
        ];
        let others: Vec<&String> = elements
            .iter()
            .filter(|name| !known.contains(&name.as_str()))
            .collect();
        assert!(others.is_empty(), "content became markup: {others:?}");
        let scripts = elements.iter().filter(|name| *name == "script").count();
        assert_eq!(scripts, 1, "what was unpacked is gone");
    });
}

#[test]
fn a_secret_is_in_no_form_of_an_export() {
    with_server("export_masked", 120, async |visit, program| {
        let mut writer = Writer::new("masked");
        let place = json!({"turnId": "t1", "responseId": "r1"});
        writer.event(
            "user_message",
            &place,
            &json!({"text": format!("My token is {TOKEN}, use it in /home/gwendolyn/work")}),
        );
        for piece in [&TOKEN[..9], &TOKEN[9..20], &TOKEN[20..]] {
            writer.event("assistant_chunk", &place, &json!({"text": piece}));
        }
        writer.event("tool_call", &place, &json!({"toolCallId": "c", "toolName": "Bash", "kind": "execute", "args": {"command": format!("curl -H 'X-Token: {TOKEN}' https://x.test")}}));
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        let folder = tempfile::tempdir().expect("a folder");
        let input = write(folder.path(), "secret.jsonl", &writer.take());
        for form in ["html", "md", "jsonl", "json"] {
            let file = folder.path().join(format!("out.{form}"));
            let said = export(
                &program,
                &[&input.to_string_lossy(), "-o", &file.to_string_lossy()],
            );
            assert!(said.contains("github token: 3 ("), "{form}: {said}");
            assert!(!said.contains(&TOKEN[4..14]), "{said}");
            let text = std::fs::read_to_string(&file).expect("an export");
            assert!(
                !text.contains(&TOKEN[4..14]) && !text.contains("gwendolyn"),
                "{form}"
            );
        }
        let tab = visit.tab("file").await;
        open(&tab, &folder.path().join("out.html"), n_events).await;
        let rows: String = tab.eval(ROWS).await;
        // Names for who listens say them again.
        let texts = rows.lines().filter(|it| it.trim_start().starts_with('"'));
        let masked = texts.map(|text| text.matches("[masked: github token #1]").count());
        assert_eq!(masked.sum::<usize>(), 3, "{rows}");
        assert!(
            !rows.contains("gwendolyn") && rows.contains("/home/[masked: user name #1]/work"),
            "{rows}"
        );
    });
}

#[test]
fn the_page_exports_what_it_shows_after_a_review_and_uploads_nothing() {
    with_server("export_page", 150, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = every_kind("dropped");
        let place = json!({"turnId": "t2", "responseId": "r2"});
        writer.event(
            "assistant_done",
            &place,
            &json!({"text": format!("It is {TOKEN}, mail ann@example.com"), "part": 7}),
        );
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        let input = write(folder.path(), "dropped.jsonl", &writer.take());
        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        tab.drop_files(&[&input]).await;
        settle(&tab, "the dropped file", n_events).await;
        tab.run(ALIKE).await;
        tab.run(UNFOLD).await;

        // What is exported is the whole, whatever moment is shown.
        tab.run("__test.feed().seek(0); await __test.rest()").await;
        // What would be downloaded is kept here instead.
        tab.run("window.__saved = null; HTMLAnchorElement.prototype.click = function () { if (this.download) { __saved = { name: this.download, href: this.href }; } };").await;
        tab.click("__test.visible('#export-opener')").await;
        tab.click("__test.visible('[data-form=html]')").await;
        tab.wait_for("the review", SHORT, "__test.visible('.export__kind')")
            .await;
        // Nothing lies above it, and keys go on in it.
        let alone =
            "!__test.one('#export-menu:popover-open') && !!__test.one('dialog.export :focus')";
        assert!(tab.eval::<bool>(alone).await);
        let review: String = tab.eval("__test.one('dialog.export').textContent").await;
        assert!(
            review.contains("github token") && review.contains("ann@example.com"),
            "{review}"
        );
        assert!(!review.contains(&TOKEN[..14]), "{review}");
        // The address may stay.
        tab.run("__test.all('.export__kind').find((kind) => kind.textContent.includes('e-mail')).querySelector('input').click()").await;
        tab.click("__test.visible('.export .button--primary')")
            .await;
        let saved = tab.wait_for("the file", SHORT, "window.__saved").await;
        assert_eq!(saved["name"], json!("every-kind.html"));
        tab.wait_for(
            "the review to be over",
            SHORT,
            "!__test.one('dialog.export')",
        )
        .await;
        let back = "!!__test.one('#export-opener:focus')";
        tab.wait_for("the focus on the button", SHORT, back).await;
        // The element gives the same to scripts.
        let html: String = tab
            .eval("__test.feed().exportAs('html').then((file) => file.text())")
            .await;
        assert_nothing_uploaded(&tab);
        let masked: String = tab
            .eval("__test.feed().exportAs('jsonl').then((file) => file.text())")
            .await;
        assert!(!masked.contains(TOKEN) && masked.contains("[masked: github token #1]"));
        let whole: String = tab
            .eval("__test.feed().exportAs('jsonl', { mask: false }).then((file) => file.text())")
            .await;
        assert_eq!(whole.lines().count(), n_events);
        assert!(whole.contains(TOKEN));
        let markdown: String = tab
            .eval("__test.feed().exportAs('md').then((file) => file.text())")
            .await;
        assert!(markdown.starts_with("# Every kind"), "{markdown}");

        // The file of the page and that of the program show the same.
        let mut rows = Vec::new();
        let by_page = write(folder.path(), "page.html", &html);
        let by_program = folder.path().join("program.html");
        export(
            &program,
            &[
                &input.to_string_lossy(),
                "-o",
                &by_program.to_string_lossy(),
            ],
        );
        for (name, file) in [("by the page", &by_page), ("by the program", &by_program)] {
            let tab = visit.tab(name).await;
            open(&tab, file, n_events).await;
            let shown: String = tab.eval(ROWS).await;
            assert!(
                !shown.contains(TOKEN) && shown.contains("[masked: github token #1]"),
                "{name}"
            );
            rows.push(shown);
            let offered: bool = tab.eval("!!__test.one('[data-form=html]')").await;
            assert!(!offered, "a page that is one file makes no other");
        }
        assert_eq!(rows[0], rows[1]);
    });
}

#[test]
fn what_a_narrow_menu_opens_stays_without_it_and_gives_the_focus_back() {
    with_server("export_narrow", 60, async |visit, program| {
        let server = Server::start(&program).await;
        pipe_all(&server, &every_kind("every").take()).await;
        let tab = visit.tab("page").await;
        tab.look(false, (1280, 844)).await;
        tab.goto(&server.page_of("every")).await;
        tab.wait_for("the menu", SHORT, "__test.visible('#export-opener')")
            .await;
        let asks = "!!__test.visible('.export .button--primary')";
        let over = "!__test.one('dialog.export') && !!__test.one('#more-opener:focus')";
        tab.click("__test.visible('#export-opener')").await;
        tab.click("__test.visible('[data-form=jsonl]')").await;
        tab.wait_for("the review", SHORT, asks).await;
        tab.look(false, (390, 844)).await;
        let narrow = format!("{asks} && !__test.visible('#export-opener')");
        tab.wait_for("the review in the narrow window", SHORT, &narrow)
            .await;
        tab.press("Escape").await;
        tab.wait_for("the focus on what opens the menu", SHORT, over)
            .await;

        tab.click("__test.visible('#more-opener')").await;
        tab.click("__test.visible('#export-opener')").await;
        tab.click("__test.visible('[data-form=jsonl]')").await;
        let alone = format!("{asks} && !__test.one('#more-menu:popover-open')");
        tab.wait_for("the review, and no menu", SHORT, &alone).await;
        tab.press("Escape").await;
        tab.wait_for("the focus on what opens the menu", SHORT, over)
            .await;

        // So does the sheet of keys.
        tab.click("__test.visible('#more-opener')").await;
        tab.click("__test.visible('[aria-label=Keys]')").await;
        tab.wait_for("the keys", SHORT, "!!__test.one('dialog.help[open]')")
            .await;
        tab.press("Escape").await;
        let over = "!__test.one('dialog[open]') && !!__test.one('#more-opener:focus')";
        tab.wait_for("the focus on what opens the menu", SHORT, over)
            .await;
    });
}

#[test]
fn another_session_is_not_written_by_what_was_found_in_the_first() {
    let files = vec![("/log", log_of("first", 40))];
    on_stage("export_other", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        tab.click("__test.visible('#export-opener')").await;
        tab.click("__test.visible('[data-form=jsonl]')").await;
        let asks = "__test.visible('.export .button--primary')";
        tab.wait_for("the review", SHORT, asks).await;
        // While the reader looks at what was found something else comes to lie there.
        let other = log_of("other", 40);
        stage.site.put("/log", "application/x-ndjson", other);
        tab.run("window.__saved = false; HTMLAnchorElement.prototype.click = function () { window.__saved ||= !!this.download; };")
            .await;
        tab.click(asks).await;
        let told = "__test.one('dialog.export')?.textContent.includes('another one since')";
        tab.wait_for("a word of it", SHORT, told).await;
        assert!(!tab.eval::<bool>("window.__saved").await);
        // Looked through anew it is written.
        let ids: String = tab
            .eval("__test.feed().exportAs('jsonl').then((file) => file.text())")
            .await;
        assert!(ids.contains("\"sessionId\":\"other\""), "{ids}");
    });
}
