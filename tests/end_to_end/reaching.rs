//! Promises of going somewhere that only a browser can keep: what was gone to is shown whatever hides it, and works when
//! what led to it is gone; a link leads to the row it was copied from, and a reload to where the reader was.

use serde_json::{Value, json};

use crate::made_logs::Writer;
use crate::server::Server;
use crate::sessions::{LIVE, with_server};
use crate::stage::{HOLD_LIT, LOAD_LIMIT, Stage, on_stage};
use crate::{FEED, SHORT};

/// With all that folds and groups.
const FOLDING_FEED: &str = "<agent-feed></agent-feed>";

/// What the find bar says, and whether what was gone to is marked where it can be seen.
const FOUND: &str = "(() => {
    const mark = [...(CSS.highlights.get('af-find-current') ?? [])][0];
    const status = __test.one('.find__status')?.textContent ?? '';
    if (!mark) return { status, text: '', seen: false };
    const box = mark.getBoundingClientRect();
    const at = __test.feed().shadowRoot.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return { status, text: mark.toString(), seen: !!at?.contains(mark.startContainer) };
})()";

fn lines(n_lines: usize, at: usize, words: &str) -> String {
    let line = |n: usize| match n == at {
        true => format!("line {n} has {words}\n"),
        false => format!("line {n} of many\n"),
    };
    (1..=n_lines).map(line).collect()
}

/// A settled turn with a word far down in all that is long of it, and a failed call.
fn folded() -> String {
    let mut writer = Writer::new("folded");
    let place = json!({"turnId": "t1"});
    writer.event(
        "user_message",
        &place,
        &json!({"text": format!("Look\n{}", lines(40, 30, "a quokka"))}),
    );
    let mut call = |id: &str, name: &str, args: Value, result: Value| {
        writer
            .event(
                "tool_call",
                &place,
                &json!({"toolCallId": id, "toolName": name, "args": args}),
            )
            .event(
                "tool_result",
                &place,
                &json!({"toolCallId": id, "result": result}),
            );
    };
    call(
        "read",
        "Read",
        json!({"file_path": "/a.txt"}),
        lines(400, 200, "a quokka").into(),
    );
    call(
        "run",
        "Bash",
        json!({"command": "cat b.txt"}),
        lines(50_000, 30_000, "a quokka").into(),
    );
    call(
        "wide",
        "Bash",
        json!({"command": "cat c.txt"}),
        format!("{} a quokka", "wide ".repeat(200)).into(),
    );
    call(
        "json",
        "Look",
        json!({"n": 1}),
        json!({"list": vec!["x"; 9_000], "last": "a quokka"}),
    );
    let new = lines(20_000, 15_000, "a quokka");
    let diff = format!(
        "--- /dev/null\n+++ b/d.rs\n@@ -0,0 +1,20000 @@\n+{}\n",
        new.trim_end().replace('\n', "\n+")
    );
    let edit = json!({"filePath": "d.rs", "changeType": "created", "linesAdded": 20_000, "linesRemoved": 0,
                      "diffPreview": &diff[..200], "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()});
    writer
        .event("file_edit", &place, &edit)
        .event("tool_call", &place, &json!({"toolCallId": "bad", "toolName": "Bash", "args": {"command": "false"}}))
        .event("tool_result", &place, &json!({"toolCallId": "bad", "result": "no", "error": {"message": "exit code 1"}, "exitCode": 1}))
        .event("assistant_done", &place, &json!({"text": "One.\n\n## Two\n\n- three\n\nFour."}))
        .event("turn_end", &place, &json!({"outcome": "completed"}));
    writer.take()
}

async fn enter(stage: &Stage) {
    stage.tab.run("__test.rows()[0].focus()").await;
}

async fn find(stage: &Stage, words: &str) {
    enter(stage).await;
    stage.tab.press("/").await;
    let has_focus = "__test.feed().shadowRoot.activeElement?.className === 'find__field'";
    stage.tab.wait_for("the field", SHORT, has_focus).await;
    stage.tab.type_text(words).await;
}

#[test]
fn a_hit_is_marked_where_it_can_be_seen_wherever_it_is() {
    let files = vec![("/folded.jsonl", folded())];
    on_stage("reach_hits", FOLDING_FEED, files, async |stage| {
        stage.show("/folded.jsonl").await;
        find(&stage, "quokka").await;
        for number in 1..=6 {
            stage.tab.press("Enter").await;
            let shown = format!(
                "(({FOUND}).status === '{number} of 6') && ({FOUND}).text === 'quokka' && ({FOUND}).seen"
            );
            stage
                .tab
                .wait_for(&format!("hit {number}"), SHORT, &shown)
                .await;
        }
        let n_elements: usize = stage.tab.eval("__test.all('*').length").await;
        assert!(
            n_elements < 8_000,
            "{n_elements} elements: not all lines are in the page"
        );
    });
}

#[test]
fn what_find_led_to_still_works_when_its_bar_is_gone() {
    let mut writer = Writer::new("edit");
    let place = json!({"turnId": "t1"});
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+a quokka\n three\n";
    writer
        .event("user_message", &place, &json!({"text": "Change it"}))
        .event("file_edit", &place, &json!({"filePath": "a.rs", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}))
        .event("tool_call", &place, &json!({"toolCallId": "c", "toolName": "Read", "args": {"file_path": "b"}}))
        .event("tool_result", &place, &json!({"toolCallId": "c", "result": "text"}))
        .event("assistant_done", &place, &json!({"text": "Changed."}))
        .event("turn_end", &place, &json!({"outcome": "completed"}));
    let files = vec![("/edit.jsonl", writer.take())];
    on_stage("reach_edit", FOLDING_FEED, files, async |stage| {
        stage.show("/edit.jsonl").await;
        find(&stage, "quokka").await;
        stage.tab.press("Enter").await;
        let shown = format!("({FOUND}).seen");
        stage.tab.wait_for("the hit", SHORT, &shown).await;
        stage.tab.press("Escape").await;
        stage
            .tab
            .wait_for("the bar to go", SHORT, "!__test.one('.find')")
            .await;
        let pairs = "__test.all('.diff__pair').length > 0";
        let had_pairs: bool = stage.tab.eval(pairs).await;
        let other = format!("({pairs}) !== {had_pairs}");
        for (button, is) in [
            ("Side by side", other.as_str()),
            (
                "Wrap",
                "__test.one('.diff__lines').hasAttribute('data-wrap')",
            ),
        ] {
            stage
                .tab
                .run(&format!(
                    "__test.one('button[aria-label^=\"{button}\"]').click()"
                ))
                .await;
            stage.tab.wait_for(button, SHORT, is).await;
        }
    });
}

#[test]
fn keys_go_to_calls_and_errors_that_are_folded_away_and_say_where_there_is_none() {
    let files = vec![("/folded.jsonl", folded())];
    on_stage("reach_keys", FOLDING_FEED, files, async |stage| {
        stage.show("/folded.jsonl").await;
        enter(&stage).await;
        let focus = |label: &str| {
            format!(
                "(__test.feed().shadowRoot.activeElement.getAttribute('aria-label') ?? '').startsWith('{label}')"
            )
        };
        // What is said stays until something else is: it is looked for late where the machine is busy.
        stage
            .tab
            .run("__test.hold(3000); navigator.clipboard.writeText = async () => {};")
            .await;
        let said = |words: &str| format!("__test.text(__test.one('.said')) === '{words}'");
        for (key, lands) in [
            ("t", focus("Read, done")),
            ("t", focus("Bash, done")),
            ("T", focus("Read, done")),
            ("T", said("No tool call before this")),
            ("e", focus("Bash, failed")),
            ("e", said("No error after this")),
            ("T", focus("File d.rs")),
            // What is copied is nowhere to be seen either.
            ("y", said("Copied")),
            ("l", said("Link copied")),
            ("o", said("Path copied")),
        ] {
            stage.tab.press(key).await;
            stage
                .tab
                .wait_for(&format!("{key}: {lands}"), SHORT, &lands)
                .await;
        }
    });
}

#[test]
fn a_link_leads_to_the_row_of_an_answer_that_it_was_copied_from() {
    let files = vec![("/folded.jsonl", folded())];
    on_stage("reach_rows", FOLDING_FEED, files, async |stage| {
        stage.show("/folded.jsonl").await;
        stage
            .tab
            .run("window.told = []; __test.feed().addEventListener('af-link', (event) => { told.push(event.detail); event.preventDefault(); });")
            .await;
        for nth in 0..4 {
            stage
                .tab
                .run(&format!(
                    "told.length = 0; __test.all('.assistant-text')[{nth}].focus()"
                ))
                .await;
            stage.tab.press("l").await;
            stage
                .tab
                .wait_for("the link", SHORT, "told.length === 1")
                .await;
            stage
                .tab
                .run(&format!("await __test.feed().focusFeed(); {HOLD_LIT} __test.feed().goTo(decodeURIComponent(told[0].href.split('#e=')[1]))"))
                .await;
            let lit = format!("__test.all('.assistant-text')[{nth}].hasAttribute('data-lit')");
            stage
                .tab
                .wait_for(&format!("row {nth} to be lit"), SHORT, &lit)
                .await;
            stage.tab.run("__test.letGo()").await;
            stage
                .tab
                .wait_for("it to go out", SHORT, "!__test.one('[data-lit]')")
                .await;
        }
        let ids: Value = stage
            .tab
            .eval("__test.all('.assistant-text').map((row) => row.dataset.eventId)")
            .await;
        let first = ids[0].as_str().unwrap_or_default().to_owned();
        stage
            .tab
            .run(&format!("{HOLD_LIT} __test.feed().goTo({})", json!(first)))
            .await;
        let lit = "__test.all('.assistant-text')[0].hasAttribute('data-lit')";
        stage
            .tab
            .wait_for("the event's first row", SHORT, lit)
            .await;
    });
}

#[test]
fn a_reload_leaves_the_reader_where_it_was() {
    with_server("reload", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let mut events = Vec::new();
        for n in 0..200_u64 {
            let (kind, payload) = match n % 2 {
                0 => ("user_message", json!({"text": format!("Question {n}")})),
                _ => (
                    "assistant_done",
                    json!({"text": format!("Answer {n}.\n\nMore of it.")}),
                ),
            };
            events.push(json!({
                "id": format!("s-{n}"), "timestamp": 1_700_000_000_000_u64 + n * 400, "sessionId": "s",
                "turnId": format!("t{}", n / 2), "type": kind, "payload": payload,
            }));
        }
        server.send("s", &json!(events)).await;
        let tab = visit.tab("reload").await;
        tab.goto(&format!("{}/#token={}&session=s", server.url, server.token))
            .await;
        let shown = format!("__test.feed()?.rowCount > 200 && {LIVE}");
        tab.wait_for("the session", LOAD_LIMIT, &shown).await;
        // Away from the row that has the focus, and so stands in the address.
        tab.run("await __test.feed().focusFeed()").await;
        let first = "(() => { const top = __test.feed().scroller.getBoundingClientRect().top; const row = __test.rows().find((row) => row.getBoundingClientRect().top >= top); return [row.dataset.row, Math.round(row.getBoundingClientRect().top - top)]; })()";
        for up_px in [1_500.0, 3_000.0] {
            tab.wheel((500.0, 400.0), -up_px).await;
            tab.run("await __test.rest()").await;
            let before: Value = tab.eval(first).await;
            tab.run("window.__left = true; setTimeout(() => location.reload(), 0)")
                .await;
            let back = format!(
                "!window.__left && __test.feed()?.rowCount > 200 && ({first})[0] === {0}[0] && Math.abs(({first})[1] - {0}[1]) <= 1",
                before
            );
            tab.wait_for("the same place", LOAD_LIMIT, &back).await;
        }
        // Who has come back to the end is there again, whatever row the address still names.
        tab.run("const row = __test.rows()[2]; row.focus(); row.click(); await __test.rest()")
            .await;
        tab.wait_for("its name", SHORT, "location.hash.includes('e=')")
            .await;
        tab.run("await __test.feed().focusFeed()").await;
        tab.press("G").await;
        let at_end = "__test.feed().matches(':state(following)') && (({ scrollTop, clientHeight, scrollHeight }) => scrollTop + clientHeight >= scrollHeight - 2)(__test.feed().scroller)";
        tab.wait_for("the end", SHORT, at_end).await;
        let named: bool = tab.eval("location.hash.includes('e=')").await;
        assert!(named, "the address names a row still");
        tab.run("window.__left = true; setTimeout(() => location.reload(), 0)")
            .await;
        let back = format!("!window.__left && __test.feed()?.rowCount > 200 && {LIVE}");
        tab.wait_for("the session again", LOAD_LIMIT, &back).await;
        tab.run("await __test.rest()").await;
        let at_end: bool = tab.eval(at_end).await;
        assert!(at_end, "the reader is at the end");
    });
}

#[test]
fn what_keys_go_to_has_room_and_lies_under_nothing() {
    const PLACE: &str = "(() => {
        const row = __test.feed().shadowRoot.activeElement.getBoundingClientRect();
        const box = __test.feed().scroller.getBoundingClientRect();
        const pill = __test.visible('.pill')?.getBoundingClientRect().top ?? box.bottom;
        return { top: row.top - box.top, of: box.height, clear: row.height > box.height - 80 || row.bottom <= pill };
    })()";
    // What stands before the first turn has no turn's header, which comes with the first prompt.
    let mut writer = Writer::new("long");
    writer.event("session_start", &json!({}), &json!({"agent": "Made 1.0"}));
    for number in 1..=80 {
        writer.turn(number);
    }
    let files = vec![("/long.jsonl", writer.take())];
    on_stage("room", FEED, files, async |stage| {
        stage.show("/long.jsonl").await;
        enter(&stage).await;
        stage.tab.press("g").await;
        stage.tab.press("g").await;
        let at_top = "__test.feed().scroller.scrollTop === 0";
        stage.tab.wait_for("the top", SHORT, at_top).await;
        stage.rest().await;
        let go = async |key: &str| -> Value {
            stage.tab.press(key).await;
            stage.tab.run("await __test.frames(3)").await;
            stage.tab.eval(PLACE).await
        };
        for _ in 0..4 {
            let place = go("J").await;
            let top = place["top"].as_f64().expect("a place");
            assert!(top.abs() <= 2.0, "a prompt is at the top: {place}");
        }
        for _ in 0..8 {
            let place = go("t").await;
            let [top, of] = ["top", "of"].map(|it| place[it].as_f64().expect("a place"));
            assert!((-2.0..of * 0.6).contains(&top), "room below it: {place}");
        }
        for _ in 0..30 {
            let place = go("j").await;
            assert_eq!(place["clear"], true, "it can be seen: {place}");
        }
    });
}

#[test]
fn how_the_reader_likes_it_is_kept_for_the_next_time() {
    with_server("liking", 121, async |visit, program| {
        let server = Server::start(&program).await;
        let text = json!({"text": "Change it"});
        let event = json!({
            "id": "s-1", "timestamp": 1_700_000_000_000_u64, "sessionId": "s", "turnId": "t", "type": "user_message", "payload": text,
        });
        server.send("s", &json!([event])).await;
        let tab = visit.tab("liking").await;
        tab.goto(&format!("{}/#token={}&session=s", server.url, server.token))
            .await;
        tab.wait_for("the session", LOAD_LIMIT, LIVE).await;
        let added = "getComputedStyle(__test.feed()).getPropertyValue('--af-diff-added').trim()";
        let usual: String = tab.eval(added).await;
        let menu = "__test.visible('#view-opener')";
        tab.wait_for("the controls", LOAD_LIMIT, menu).await;
        tab.click(menu).await;
        // From the button arrows lead into it.
        tab.press("ArrowDown").await;
        let within = "__test.feed().shadowRoot.activeElement?.matches('#view-menu input:checked')";
        tab.wait_for("the choice", SHORT, within).await;
        for (title, option) in [
            ("Diffs", "Blue and orange"),
            ("Density", "Comfortable"),
            ("Theme", "Dark"),
            ("Turns that are over", "All steps"),
        ] {
            let choice = format!(
                "__test.all('#view-menu fieldset').find((choice) => choice.textContent.startsWith('{title}'))"
            );
            tab.click(&format!(
                "[...{choice}.querySelectorAll('label')].find((label) => label.textContent === '{option}').querySelector('input')"
            ))
            .await;
        }
        let chosen: String = tab.eval(added).await;
        assert_ne!(chosen, usual);
        // What a page sets by itself is not the reader's.
        tab.run("__test.feed().setAttribute('verbosity', 'quiet')")
            .await;
        tab.run("window.__left = true; setTimeout(() => location.reload(), 0)")
            .await;
        let back = format!("!window.__left && __test.feed() && {LIVE}");
        tab.wait_for("the session again", LOAD_LIMIT, &back).await;
        let again: String = tab.eval(added).await;
        assert_eq!(again, chosen);
        let attributes: Value = tab
            .eval(
                "['density', 'fold', 'verbosity'].map((name) => __test.feed().getAttribute(name))",
            )
            .await;
        assert_eq!(attributes, json!(["comfortable", "none", null]));
        // The list beside the feed has the feed's theme.
        let scheme: String = tab
            .eval("getComputedStyle(document.body).colorScheme")
            .await;
        assert_eq!(scheme, "dark");
    });
}
