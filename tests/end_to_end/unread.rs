//! What a script gives to the element and nobody can read: it says so once, and it stays said.

use serde_json::{Value, json};

use crate::made_logs::log_of;
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

/// What the element told of errors, and of being live.
const LISTEN: &str = "window.told = []; window.lived = false;
    window.deaf?.abort(); window.deaf = new AbortController();
    __test.feed().addEventListener('af-error', ({ detail }) => told.push(detail.message), deaf);
    __test.feed().addEventListener('af-state', ({ detail }) => { window.lived ||= detail.state === 'live'; }, deaf);
    const log = await (await fetch('/log')).text();
    const feed = __test.feed(); feed.clear();";

/// Gives something and waits for the one error that says such words.
async fn assert_refused(stage: &Stage, gives: &str, words: &str) {
    let tab = &stage.tab;
    tab.run(&format!("{LISTEN} {gives}")).await;
    let failed = "window.told.length > 0 && __test.feed().state === 'error'";
    tab.wait_for(&format!("a word of {gives}"), SHORT, failed)
        .await;
    tab.run("await __test.sleep(300)").await;
    let is: Value = tab
        .eval("[window.told.length, window.lived, __test.feed().state, __test.feed().eventCount, !!__test.visible('.note[role=alert]')]")
        .await;
    let told: Value = tab.eval("window.told").await;
    assert_eq!(is, json!([1, false, "error", 0, true]), "{gives}: {told}");
    assert!(told.to_string().contains(words), "{gives}: {told}");
}

#[test]
fn what_cannot_be_read_is_said_once_and_stays_said() {
    let files = vec![("/log", log_of("unread", 120))];
    on_stage("unread", FEED, files, async |stage| {
        stage
            .site
            .answer_otherwise("404 Not Found", "text/plain", "nope");
        stage.site.put(
            "/page",
            "text/html",
            format!("<!doctype html>\n{}", "<p>A page\n".repeat(9_000)),
        );
        stage.tab.expect_problems("404");
        for (gives, words) in [
            ("feed.append(await fetch('/page'))", "a web page"),
            (
                "feed.append(await fetch('/none'))",
                "the server answered 404",
            ),
            ("feed.append(fetch('/none'))", "the server answered 404"),
            (
                "feed.append(new Request('/none'))",
                "the server answered 404",
            ),
            (
                "feed.append(new Blob(['a,b\\n1,2\\n']))",
                "line 1 is plain text",
            ),
            (
                "feed.append(new Blob(['hello\\nworld']))",
                "line 1 is plain text",
            ),
        ] {
            assert_refused(&stage, gives, words).await;
            // Something else is shown as if nothing had been.
            stage
                .tab
                .run("__test.feed().append(new Blob([await (await fetch('/log')).text()]))")
                .await;
            let shown = "__test.feed().eventCount >= 120 && __test.feed().state === 'live' && !__test.visible('.note')";
            stage.tab.wait_for("a log behind it", SHORT, shown).await;
        }
    });
}

#[test]
fn what_is_promised_asked_for_or_printed_is_read() {
    let files = vec![("/log", log_of("promised", 60))];
    on_stage("unread_promised", FEED, files, async |stage| {
        for gives in [
            "fetch('/log')",
            "new Request('/log')",
            "fetch('/log').then((answer) => answer.text())",
            "new Blob([JSON.stringify(log.trim().split('\\n').map((line) => JSON.parse(line)), null, 1)])",
        ] {
            stage
                .tab
                .run(&format!("{LISTEN} feed.append({gives})"))
                .await;
            let shown = "__test.feed().eventCount >= 60 && __test.feed().state === 'live'";
            stage.tab.wait_for(gives, SHORT, shown).await;
        }
        // One that is not wanted any more when it is kept shows nothing.
        stage
            .tab
            .run("const feed = __test.feed(); feed.append(new Promise((keep) => { window.keep = keep; })); feed.clear();
                  keep(await fetch('/log')); await __test.sleep(300);")
            .await;
        let n_events: usize = stage.tab.eval("__test.feed().eventCount").await;
        assert_eq!(n_events, 0);
    });
}

#[test]
fn what_is_neither_files_nor_events_is_refused_where_it_is_given() {
    let files = vec![("/log", log_of("neither", 60))];
    on_stage("unread_neither", FEED, files, async |stage| {
        stage.show("/log").await;
        let said: Vec<String> = stage
            .tab
            .eval(
                "(() => {
                    const feed = __test.feed();
                    const gives = ['load', ['/log']], of = (name, given) => { try { feed[name](given); return 'taken'; } catch (why) { return `${why.name}: ${why.message}`; } };
                    return [of(...gives), of('load', [{ path: 'x' }]), of('load', null), of('load', '/x'), of('load', new Response('')), of('append', null), of('append', undefined)];
                })()",
            )
            .await;
        assert!(
            said[..5]
                .iter()
                .all(|it| it.starts_with("TypeError: load() takes files")),
            "{said:?}"
        );
        assert!(
            said[5..]
                .iter()
                .all(|it| it.starts_with("TypeError: append() takes events")),
            "{said:?}"
        );
        let shown: Value = stage
            .tab
            .eval("[__test.feed().state, __test.feed().eventCount >= 60]")
            .await;
        assert_eq!(shown, json!(["ready", true]));
        // One that is in no page answers nothing.
        let promised: Vec<String> = stage
            .tab
            .eval(
                "(async () => {
                    const away = document.createElement('agent-feed');
                    const asks = [() => away.search('x'), () => away.focusFeed(), () => away.expandAll(), () => away.exportAs('md')];
                    return Promise.all(asks.map((ask) => ask().then(() => 'done', (why) => why.message)));
                })()",
            )
            .await;
        assert_eq!(promised, ["the element is in no page"; 4]);
    });
}
