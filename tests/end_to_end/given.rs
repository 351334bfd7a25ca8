//! What a script gives to the element: in which shapes, from where, and what becomes of it where the element goes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::made_logs::{Writer, log_of};
use crate::stage::{HOLD_LIT, on_stage};
use crate::{FEED, SHORT};

/// So many events are in the log of these tests.
const N_EVENTS: u64 = 40;

/// The log, as a text of the page.
const TEXT: &str = "const log = await (await fetch('/log')).text();
    const theirs = () => { const frame = document.createElement('iframe'); document.body.append(frame); return frame.contentWindow; };";

#[test]
fn a_log_can_be_appended_in_whatever_holds_it() {
    let files = vec![("/log", log_of("shapes", N_EVENTS))];
    on_stage("given_shapes", FEED, files, async |stage| {
        let tab = &stage.tab;
        let n_events: usize = tab
            .eval(&format!(
                "(async () => {{ {TEXT} return log.trim().split('\\n').length; }})()"
            ))
            .await;
        for shape in [
            "log",
            "new Blob([log])",
            "new TextEncoder().encode(log).buffer",
            "new DataView(new TextEncoder().encode(log).buffer)",
            "new Blob([log]).stream()",
            "await fetch('/log')",
            "(await fetch('/log')).body",
            "log.trim().split('\\n')",
            "log.trim().split('\\n').map((line) => JSON.parse(line))",
            "(async function* () { yield new TextEncoder().encode(log).buffer; })()",
            // Those of another window are of other classes.
            "new (theirs().Blob)([log])",
            "await new (theirs().Blob)([log]).arrayBuffer()",
        ] {
            tab.run(&format!(
                "{TEXT} const feed = __test.feed(); feed.clear(); feed.append({shape});"
            ))
            .await;
            let all = format!("__test.feed().eventCount === {n_events}");
            tab.wait_for(&format!("all of {shape}"), SHORT, &all).await;
        }
    });
}

#[test]
fn streams_that_are_cut_anywhere_and_come_in_turns_lose_nothing() {
    let files = vec![("/log", log_of("turns", N_EVENTS))];
    on_stage("given_turns", FEED, files, async |stage| {
        // Characters of two halves, cut between them; pieces of the streams, and whole lines, come in turns.
        let given = "const of = (name) => log.replaceAll('\"id\":\"e', `\"id\":\"${name}`).replaceAll('cargo', '\\u{1F600}\\u{1F600}');
            async function* pieces(text, size) { for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size); }
            const feed = __test.feed();
            feed.append(pieces(of('a'), 7));
            feed.append(pieces(of('b').trim(), 11));
            for (const line of of('c').trim().split('\\n')) { feed.append(line); await null; }";
        stage.tab.run(&format!("{TEXT} {given}")).await;
        let all = format!(
            "(async () => {{ {TEXT} return __test.feed().eventCount === 3 * log.trim().split('\\n').length; }})()"
        );
        stage.tab.wait_for("all of them", SHORT, &all).await;
        let rows: String = stage.tab.eval("__test.feed().serializeRows()").await;
        assert!(rows.contains('\u{1F600}'), "{rows}");
        assert!(!rows.contains('\u{FFFD}'), "{rows}");
    });
}

#[test]
fn a_stream_ends_as_soon_as_nobody_wants_it_any_more() {
    on_stage("given_ends", FEED, Vec::new(), async |stage| {
        for leaves in [
            "clear()",
            "remove()",
            "load(new Blob(['x']))",
            "setAttribute('src', '/')",
        ] {
            // It gives nothing, so that no next piece can say that it is over.
            stage
                .tab
                .run(&format!(
                    "window.ended = false; const feed = __test.feed();
                     feed.events = new ReadableStream({{ pull: () => new Promise(() => {{}}), cancel: () => {{ window.ended = true; }} }});
                     await __test.frames(1); feed.{leaves}; setTimeout(() => document.body.append(feed), 100);"
                ))
                .await;
            let ended = "window.ended && !!__test.feed()";
            stage.tab.wait_for(leaves, SHORT, ended).await;
        }
        // One that somebody else reads is told of, and nothing is left unheard.
        stage
            .tab
            .run("const stream = new Blob(['{}']).stream(); stream.getReader(); __test.feed().events = stream;")
            .await;
        let told = "__test.feed().state === 'error' && __test.one('.note')?.textContent.includes('stream broke off')";
        stage.tab.wait_for("a word of it", SHORT, told).await;
    });
}

#[test]
fn what_was_given_is_there_again_where_the_element_comes_back() {
    let files = vec![
        ("/log", log_of("back", N_EVENTS)),
        ("/other", log_of("other", 3 * N_EVENTS)),
        ("/third", log_of("third", 3 * N_EVENTS)),
    ];
    on_stage("given_back", FEED, files, async |stage| {
        let tab = &stage.tab;
        let away = "window.away = __test.feed(); away.remove(); await __test.frames(3); document.body.append(away); await __test.frames(3);";
        let shown = "__test.rest().then(() => [__test.feed().state, __test.feed().eventCount])";
        for (gives, state) in [
            ("feed.append(log)", "live"),
            ("feed.events = new Blob([log])", "live"),
            ("feed.load(new File([log], 'log.jsonl'))", "ready"),
        ] {
            // What the attribute names was left for it.
            tab.run(&format!(
                "{TEXT} const feed = __test.feed(); feed.src = '/other'; await __test.frames(5); {gives}; feed.addEventListener('af-error', (event) => {{ window.told = event.detail.message; }});"
            ))
            .await;
            let here = format!("__test.feed().state === '{state}' && __test.feed().eventCount > 0");
            tab.wait_for(gives, SHORT, &here).await;
            let before: (String, u64) = tab.eval(shown).await;
            for _ in 0..2 {
                tab.run(away).await;
                tab.wait_for("it again", SHORT, &here).await;
                let after: (String, u64) = tab.eval(shown).await;
                assert_eq!(after, before, "{gives}");
            }
            tab.run("__test.feed().removeAttribute('src')").await;
            let kept: (String, u64) = tab.eval(shown).await;
            assert_eq!(
                kept, before,
                "what was given is not what the attribute named"
            );
            tab.run(away).await;
            tab.wait_for("it without the attribute", SHORT, &here).await;
            let after: (String, u64) = tab.eval(shown).await;
            assert_eq!(after, before, "{gives}");
        }
        // What is given while it is in no page counts as in one: what is said last is shown.
        for (says, n_events) in [
            ("away.load(new File([log], 'log.jsonl'))", N_EVENTS),
            ("away.append(log)", N_EVENTS),
            ("away.append(log); away.src = '/third'", 3 * N_EVENTS),
        ] {
            tab.run(&format!(
                "{TEXT} document.querySelector('agent-feed').remove(); const away = document.createElement('agent-feed'); away.src = '/other'; {says}; document.body.append(away); await __test.frames(3);"
            ))
            .await;
            let shown = format!(
                "__test.feed().eventCount >= {n_events} && /^(live|ready)$/.test(__test.feed().state)"
            );
            tab.wait_for(says, SHORT, &shown).await;
            tab.run("await __test.rest()").await;
            let n_shown: u64 = tab.eval("__test.feed().eventCount").await;
            assert!(n_shown < n_events + N_EVENTS, "{says}: {n_shown}");
            tab.run("const away = __test.feed(); away.remove(); await __test.frames(3); document.body.append(away);")
                .await;
            tab.wait_for(&format!("{says}, again"), SHORT, &shown).await;
        }
        // A stream goes on where the attribute goes.
        tab.run(
            "const feed = __test.feed(); feed.src = '/other';
             feed.events = new ReadableStream({ start: (to) => { window.to = to; } });
             feed.removeAttribute('src'); await __test.frames(2);
             to.enqueue(new TextEncoder().encode(await (await fetch('/log')).text()));",
        )
        .await;
        let goes_on =
            format!("__test.feed().eventCount >= {N_EVENTS} && __test.feed().state === 'live'");
        tab.wait_for("the stream", SHORT, &goes_on).await;
        // What was cleared does not come back.
        tab.run("__test.feed().clear()").await;
        tab.run(away).await;
        let after: (String, u64) = tab.eval(shown).await;
        assert_eq!(after.1, 0);
    });
}

#[test]
fn what_is_said_last_is_shown() {
    let files = vec![
        ("/log", log_of("given", N_EVENTS)),
        ("/other", log_of("other", 3 * N_EVENTS)),
    ];
    on_stage("given_last", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        let of_log: u64 = tab.eval("__test.feed().eventCount").await;
        let shown = |n_events: u64| {
            format!(
                "__test.rest().then(() => __test.feed().eventCount === {n_events} && /^(live|ready)$/.test(__test.feed().state))"
            )
        };
        for (gives, n_events) in [
            ("feed.load(new File([log], 'log.jsonl'))", of_log),
            ("feed.append(log)", of_log),
            ("feed.clear()", 0),
        ] {
            // The address in the same task, and before what is given.
            tab.run(&format!(
                "{TEXT} const feed = __test.feed(); feed.src = '/log?again'; feed.src = '/other'; {gives}; await __test.frames(5);"
            ))
            .await;
            tab.wait_for(gives, SHORT, &shown(n_events)).await;
            let n_asked = stage
                .site
                .asked()
                .iter()
                .filter(|path| path.contains("/other"))
                .count();
            tab.run("__test.feed().src = '/other'").await;
            let other = "__test.feed().eventCount > 2 * 40 && __test.feed().state === 'ready'";
            tab.wait_for("what is named again", SHORT, other).await;
            // What is shown is not read once more.
            tab.run("__test.feed().src = '/other'; await __test.frames(5)")
                .await;
            let asked = stage.site.asked();
            let n_since = asked.iter().filter(|path| path.contains("/other")).count() - n_asked;
            assert_eq!(n_since, 1, "{gives}: {asked:?}");
        }
        tab.run("__test.feed().src = '/late'").await;
        let failed = "__test.feed().state === 'error'";
        tab.wait_for("the failure", SHORT, failed).await;
        stage
            .site
            .put("/late", "application/x-ndjson", log_of("given", N_EVENTS));
        tab.run("__test.feed().src = '/late'").await;
        tab.wait_for("it by now", SHORT, &shown(of_log)).await;
    });
}

#[test]
fn what_a_listener_opens_is_shown_and_not_what_it_heard_of() {
    let files = vec![
        ("/log", log_of("asked", N_EVENTS)),
        ("/other", log_of("other", 3 * N_EVENTS)),
    ];
    on_stage("given_listener", FEED, files, async |stage| {
        let tab = &stage.tab;
        for opens in [
            "feed.setAttribute('src', '/log')",
            "feed.setAttribute('session', 'none')",
            "feed.load(new File([log], 'log.jsonl'))",
        ] {
            for (name, when) in [
                ("af-state", "event.detail.state === 'loading'"),
                ("af-session", "true"),
            ] {
                tab.run(&format!(
                    "{TEXT} const other = await (await fetch('/other')).text();
                     const feed = __test.feed(); feed.removeAttribute('src'); feed.removeAttribute('session');
                     feed.load(new File([other], 'first.jsonl')); await __test.rest();
                     const hear = (event) => {{ if (!({when})) return; feed.removeEventListener('{name}', hear);
                         feed.load(new File([other.replaceAll('cargo', 'quokka')], 'theirs.jsonl')); }};
                     feed.addEventListener('{name}', hear); {opens};
                     await __test.frames(3); await __test.rest(); await __test.sleep(300);"
                ))
                .await;
                let shown: (String, usize) = tab
                    .eval("__test.feed().serializeRows().then((rows) => [__test.feed().state, rows.split('quokka').length])")
                    .await;
                assert!(
                    shown.0 == "ready" && shown.1 > 1,
                    "{opens}, {name}: {shown:?}"
                );
            }
        }
    });
}

#[test]
fn events_that_are_none_show_nothing_and_say_nothing() {
    let files = vec![("/log", log_of("none", N_EVENTS))];
    on_stage("given_none", FEED, files, async |stage| {
        let tab = &stage.tab;
        for nothing in ["null", "undefined"] {
            tab.run(&format!(
                "const feed = __test.feed(); feed.events = {nothing}; feed.src = '/log'; feed.events = {nothing}"
            ))
            .await;
            let here = format!(
                "__test.feed().eventCount >= {N_EVENTS} && __test.feed().state === 'ready'"
            );
            tab.wait_for(nothing, SHORT, &here).await;
            tab.run("__test.feed().removeAttribute('src'); await __test.frames(3)")
                .await;
        }
        // A stream that is over is all there is, also where it gave nothing; who waits for it hears that.
        for (empty, is_all) in [("[]", false), ("new Blob([])", true), ("''", false)] {
            tab.run(&format!(
                "{TEXT} const feed = __test.feed(); window.isReady = false; window.told = [];
                 const fresh = document.createElement('agent-feed');
                 fresh.addEventListener('af-state', ({{ detail }}) => told.push(detail.state));
                 fresh.ready.then(() => {{ window.isReady = true; }});
                 feed.replaceWith(fresh); fresh.events = {empty}; await __test.frames(5);"
            ))
            .await;
            if is_all {
                tab.wait_for("a word of its end", SHORT, "window.isReady")
                    .await;
            }
            // What has not begun does not go on.
            let said: Value = tab.eval("[window.isReady, told.includes('live')]").await;
            assert_eq!(said, json!([is_all, false]), "{empty}");
            tab.run(&format!("{TEXT} __test.feed().append(log)")).await;
            let here = "window.isReady && __test.feed().state === 'live'";
            tab.wait_for("what comes later", SHORT, here).await;
            tab.run("__test.feed().events = null").await;
            let gone = "__test.feed().eventCount === 0 && __test.feed().state === 'ready'";
            tab.wait_for("it to be taken away", SHORT, gone).await;
        }
    });
}

#[test]
fn text_that_is_no_event_is_told_of_and_read_on_from() {
    let files = vec![("/log", log_of("told", N_EVENTS))];
    on_stage("given_no_events", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run("__test.feed().append('hello')").await;
        let note = "__test.one('.note')?.textContent.includes('Nothing to show yet')";
        tab.wait_for("a word of it", SHORT, note).await;
        tab.run(&format!("{TEXT} __test.feed().append(log)")).await;
        let here = format!("__test.feed().eventCount >= {N_EVENTS} && !__test.one('.note')");
        tab.wait_for("what follows", SHORT, &here).await;
        // A stream that is over says that it was none.
        tab.run("const feed = __test.feed(); feed.clear(); feed.append(new Blob(['hello']))")
            .await;
        let told = "__test.feed().state === 'error' && __test.one('.note')?.textContent.includes('plain text')";
        tab.wait_for("what it is", SHORT, told).await;
        // One that broke off says so, and goes on saying it.
        tab.run("__test.hold(3000); const feed = __test.feed(); feed.clear(); feed.append((async function* () { yield 'hello\\n'; throw new Error('unplugged'); })())")
            .await;
        let broke = "__test.one('.note')?.textContent.includes('unplugged') === true";
        tab.wait_for(
            "why",
            SHORT,
            &format!("__test.held.length === 1 && {broke}"),
        )
        .await;
        tab.run("__test.letGo(); await __test.frames(3)").await;
        assert!(tab.eval::<bool>(broke).await);
    });
}

#[test]
fn a_link_is_followed_in_what_comes_as_a_stream_and_given_up_at_its_end() {
    let log = log_of("linked", 400);
    let (mut ids, mut n_lines) = (Vec::new(), 0);
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect("an event");
        n_lines += 1;
        if event["type"] == "user_message" {
            ids.push((n_lines, event["id"].as_str().unwrap_or_default().to_owned()));
        }
    }
    let (n_before, id) = ids[ids.len() / 2].clone();
    let files = vec![("/log", log)];
    on_stage("given_linked", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.before_scripts(HOLD_LIT).await;
        tab.goto("about:blank").await;
        tab.goto(&format!("{}/#e={id}", stage.site.url)).await;
        tab.wait_for("the element", SHORT, "!!__test.feed()?.scroller")
            .await;
        tab.run(&format!(
            "{TEXT} window.lines = log.trim().split('\\n').map((line) => new TextEncoder().encode(line + '\\n'));
             __test.feed().events = new ReadableStream({{ start: (to) => {{ window.to = to; }} }});
             for (const line of lines.slice(0, {})) to.enqueue(line);",
            n_before - 1
        ))
        .await;
        let half = format!("__test.feed().eventCount === {}", n_before - 1);
        tab.wait_for("what is before it", SHORT, &half).await;
        tab.run("await __test.frames(3)").await;
        let note = "__test.one('.note')?.textContent ?? ''";
        assert_eq!(tab.eval::<String>(note).await, "");
        tab.run(&format!(
            "for (const line of lines.slice({})) to.enqueue(line)",
            n_before - 1
        ))
        .await;
        let lit = format!("__test.one('[data-lit]')?.dataset.eventId === '{id}'");
        tab.wait_for("its row", SHORT, &lit).await;
        tab.run("__test.letGo()").await;
        // What has not come may yet come; behind the end of the stream nothing does.
        tab.run("__test.feed().goTo('nowhere'); await __test.frames(3)")
            .await;
        assert_eq!(tab.eval::<String>(note).await, "");
        tab.run("to.close()").await;
        let given_up = "__test.one('.note')?.textContent.includes('No row of this session')";
        tab.wait_for("a word of it", SHORT, given_up).await;
        // So it is where the session itself has ended.
        tab.run(&format!(
            "{TEXT} const feed = __test.feed(); feed.events = log; feed.goTo('nowhere'); await __test.frames(3)"
        ))
        .await;
        assert_eq!(tab.eval::<String>(note).await, "");
        tab.run("__test.feed().append({ ...JSON.parse(new TextDecoder().decode(lines.at(-1))), id: 'last', type: 'session_end', turnId: undefined, payload: { reason: 'done' } })")
            .await;
        tab.wait_for("a word of that", SHORT, given_up).await;
    });
}

#[test]
fn where_nothing_is_named_nothing_is_shown_and_nothing_asked_for() {
    let files = vec![("/log", log_of("named", N_EVENTS))];
    on_stage("given_nothing", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run("window.told = []; __test.feed().addEventListener('af-error', (event) => told.push(event.detail.message));")
            .await;
        for leaves in ["removeAttribute('src')", "setAttribute('src', '')"] {
            stage.show("/log").await;
            let n_asked = stage.site.asked().len();
            tab.run(&format!("__test.feed().{leaves}")).await;
            let empty = "__test.feed().eventCount === 0 && __test.feed().state === 'ready' && !__test.one('.connection')";
            tab.wait_for("an empty feed", SHORT, empty).await;
            tab.run("__test.feed().setAttribute('session', ''); await __test.frames(3)")
                .await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(stage.site.asked().len(), n_asked, "{leaves}");
        }
        let told: Value = tab.eval("window.told").await;
        assert_eq!(told, json!([]));
    });
}

#[test]
fn an_element_has_its_looks_in_another_document() {
    let files = vec![("/log", log_of("moved", N_EVENTS))];
    on_stage("given_moved", FEED, files, async |stage| {
        stage.show("/log").await;
        let looks = |of: &str| {
            format!(
                "(() => {{ const root = {of}.querySelector('agent-feed').shadowRoot;
                    return ['.frame', '.scroller', '.row'].map((name) => {{ const style = getComputedStyle(root.querySelector(name)); return [name, style.display, style.fontSize, style.color, style.position]; }}); }})()"
            )
        };
        let here: Value = stage.tab.eval(&looks("document")).await;
        // Of this page's own origin, and of its own window.
        stage
            .tab
            .run("const frame = document.createElement('iframe'); frame.width = 900; frame.height = 700; document.body.append(frame);
                  window.other = frame.contentDocument; other.body.append(__test.feed()); await __test.frames(5);")
            .await;
        let there: Value = stage.tab.eval(&looks("other")).await;
        assert_eq!(there, here);
        stage
            .tab
            .run("document.body.append(other.querySelector('agent-feed')); await __test.frames(5);")
            .await;
        let back: Value = stage.tab.eval(&looks("document")).await;
        assert_eq!(back, here);
        let n_events: u64 = stage.tab.eval("__test.feed().eventCount").await;
        assert!(n_events >= N_EVENTS, "{n_events}");
    });
}

#[test]
fn a_request_has_its_looks_once_in_another_document_and_back() {
    let mut writer = Writer::new("asks");
    let ask = json!({"requestId": "p", "toolName": "Bash", "args": {"command": "make"}});
    writer.event("permission_request", &json!({"turnId": "t"}), &ask);
    on_stage("given_asks", FEED, vec![], async |stage| {
        // The first request that this page draws stands in a document of another window.
        let goes = "const frame = document.createElement('iframe'); frame.width = 900; frame.height = 700; document.body.append(frame);
            window.other = frame.contentDocument; other.body.append(__test.feed()); await __test.frames(5);
            window.mine = other.querySelector('agent-feed');";
        stage.tab.run(goes).await;
        let log = json!(writer.take());
        stage.tab.run(&format!("mine.append({log})")).await;
        let is_dressed = "getComputedStyle(mine.shadowRoot.querySelector('.ask') ?? document.body).display === 'grid'";
        stage.tab.wait_for("the request", SHORT, is_dressed).await;
        // What draws all rows draws it anew.
        let rows: String = stage.tab.eval("mine.serializeRows()").await;
        assert!(rows.contains("Bash"), "{rows}");
        let n_sheets = "mine.shadowRoot.adoptedStyleSheets.length";
        let before: usize = stage.tab.eval(n_sheets).await;
        for _ in 0..3 {
            let _: String = stage.tab.eval("mine.serializeRows()").await;
        }
        assert_eq!(stage.tab.eval::<usize>(n_sheets).await, before);
        let back = "document.body.append(mine); await __test.frames(5);";
        stage.tab.run(back).await;
        stage.tab.wait_for("it, back", SHORT, is_dressed).await;
    });
}
