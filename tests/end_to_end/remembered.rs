//! What the reader opened and closed is so again when they come back: from another session, and over a reload. What they
//! look for stands in the address.

use serde_json::{Value, json};

use crate::SHORT;
use crate::made_logs::Writer;
use crate::server::Server;
use crate::sessions::{LIVE, with_server};
use crate::stage::{LOAD_LIMIT, on_stage};

const FEED: &str = "<agent-feed></agent-feed>";

/// A settled turn of three commands, the second with a long output, behind a request.
fn log_of(session: &str) -> String {
    let mut writer = Writer::new(session);
    let place = json!({"turnId": "t1"});
    writer.event("turn_start", &place, &json!({"trigger": "user"}));
    writer.event("user_message", &place, &json!({"text": "please"}));
    for n in 0..3_u32 {
        let id = format!("c{n}");
        let call = json!({"toolCallId": id, "toolName": "Bash", "kind": "execute", "args": {"command": format!("step {n}")}});
        writer.event("tool_call", &place, &call);
        let output: String = (0..if n == 1 { 200 } else { 4 })
            .map(|line| format!("line {line}\n"))
            .collect();
        let result = json!({"toolCallId": id, "result": output});
        writer.event("tool_result", &place, &result);
    }
    writer.event("assistant_done", &place, &json!({"text": "All is done."}));
    writer.event("turn_end", &place, &json!({"outcome": "completed"}));
    writer.take()
}

/// The work of the turn, and one of its commands by its number.
const WORK: &str = "__test.all('.row.work')[0]";
fn command(n: usize) -> String {
    format!("__test.rows().find((row) => row.textContent.includes('step {n}'))")
}
fn has_output(n: usize) -> String {
    format!("!!{}?.querySelector('.body')", command(n))
}

#[test]
fn what_was_opened_is_open_again_when_another_session_was_looked_at() {
    let files = vec![("/a.jsonl", log_of("a")), ("/b.jsonl", log_of("b"))];
    on_stage("opened_again", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/a.jsonl").await;
        let line = |row: &str| format!("{row}.querySelector('button, .line')");
        tab.click(&line(WORK)).await;
        tab.wait_for("the commands", SHORT, &format!("!!{}", command(2)))
            .await;
        tab.click(&line(&command(1))).await;
        tab.wait_for("an output", SHORT, &has_output(1)).await;
        let all = format!(
            "[...{}.querySelectorAll('button')].find((it) => /Show all/.test(it.textContent))",
            command(1)
        );
        tab.run(&format!("{all}.click()")).await;
        let is_whole = format!("{}.textContent.includes('line 100')", command(1));
        tab.wait_for("all of it", SHORT, &is_whole).await;

        stage.show("/b.jsonl").await;
        stage.rest().await;
        let is_folded = format!("!{}", command(1));
        assert!(tab.eval::<bool>(&is_folded).await, "of the other none is");

        stage.show("/a.jsonl").await;
        let again = format!("{} && {is_whole}", has_output(1));
        tab.wait_for("what was open", SHORT, &again).await;
        assert!(!tab.eval::<bool>(&has_output(0)).await, "and nothing else");

        // What is closed since is closed.
        tab.run(&format!("{}.click()", line(&command(1)))).await;
        tab.wait_for("it to close", SHORT, &format!("!({})", has_output(1)))
            .await;
        stage.show("/b.jsonl").await;
        stage.show("/a.jsonl").await;
        tab.wait_for("its turn", SHORT, &format!("!!{}", command(1)))
            .await;
        stage.rest().await;
        assert!(!tab.eval::<bool>(&has_output(1)).await, "it stays closed");
    });
}

#[test]
fn what_was_opened_is_open_again_after_a_reload() {
    with_server("opened_reload", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send_log("s", &log_of("s")).await;
        let tab = visit.tab("opened_reload").await;
        tab.goto(&server.page_of("s")).await;
        let shown = format!("!!{WORK} && {LIVE}");
        tab.wait_for("the session", LOAD_LIMIT, &shown).await;
        tab.run("await __test.rest()").await;
        tab.run(&format!("{WORK}.querySelector('button, .line').click()"))
            .await;
        tab.wait_for("the commands", SHORT, &format!("!!{}", command(2)))
            .await;
        tab.run(&format!(
            "{}.querySelector('button, .line').click()",
            command(2)
        ))
        .await;
        tab.wait_for("an output", SHORT, &has_output(2)).await;
        tab.run("window.__left = true; setTimeout(() => location.reload(), 0)")
            .await;
        let back = format!("!window.__left && {}", has_output(2));
        tab.wait_for("what was open", LOAD_LIMIT, &back).await;
        assert!(!tab.eval::<bool>(&has_output(1)).await, "and nothing else");
    });
}

#[test]
fn what_is_looked_for_stands_in_the_address() {
    with_server("find_address", 120, async |visit, program| {
        let server = Server::start(&program).await;
        for session in ["s", "t"] {
            server.send_log(session, &log_of(session)).await;
        }
        let tab = visit.tab("find_address").await;
        tab.goto(&server.page_of("s")).await;
        tab.wait_for("the session", LOAD_LIMIT, &format!("!!{WORK} && {LIVE}"))
            .await;
        tab.run("await __test.feed().focusFeed()").await;
        tab.press("/").await;
        tab.wait_for("the bar", SHORT, "!!__test.one('.find__field')")
            .await;
        tab.type_text("line 1 is:tool").await;
        let says = |words: &str| {
            format!(
                "new URLSearchParams(location.hash.slice(1)).toString().includes({})",
                json!(words)
            )
        };
        tab.wait_for(
            "the question in the address",
            SHORT,
            &says("find=line+1+is%3Atool"),
        )
        .await;
        let chip =
            "[...__test.all('.find__chip')].find((it) => it.textContent.startsWith('Commands'))";
        tab.click(chip).await;
        tab.wait_for("the chip in the address", SHORT, &says("only=commands"))
            .await;

        // Who is sent the address sees the same.
        let address: String = tab.eval("location.href").await;
        let other = visit.tab("find_address_other").await;
        other
            .goto(&format!("{address}&token={}", server.token))
            .await;
        let same = format!(
            "__test.one('.find__field')?.value === 'line 1 is:tool' && {chip}?.getAttribute('aria-pressed') === 'true' && __test.one('.find__status').textContent.includes('3 found')"
        );
        other.wait_for("the same", LOAD_LIMIT, &same).await;
        let focus: bool = other
            .eval("!__test.feed().shadowRoot.activeElement?.matches('.find__field')")
            .await;
        assert!(focus, "nobody asked for the field");

        // It goes on in another session, and goes with the bar.
        tab.run("document.querySelector('.session[data-session-id=t]').click()")
            .await;
        tab.wait_for("the other session", LOAD_LIMIT, &says("session=t"))
            .await;
        tab.wait_for("the question again", SHORT, &says("find=line+1+is%3Atool"))
            .await;
        tab.run("__test.one('.find__field').focus()").await;
        tab.press("Escape").await;
        let gone = "!/find=|only=/.test(location.hash)";
        tab.wait_for("it to go", SHORT, gone).await;
    });
}

#[test]
fn a_link_to_a_moment_leads_to_it() {
    let files = vec![("/a.jsonl", log_of("a"))];
    on_stage("moment_link", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/a.jsonl").await;
        tab.run("addEventListener('af-link', (event) => { window.href = event.detail.href; event.preventDefault(); }); history.replaceState(null, '', '#e=a2&find=step')")
            .await;
        tab.run("const feed = __test.feed(); feed.viewAsOf(4); await __test.rest(); feed.shadowRoot.querySelector('[aria-label=\"Copy link to this moment\"]').click()")
            .await;
        let shown = "[__test.feed().rowCount, Math.round(__test.feed().currentTime * 100), __test.rows().map((row) => row.textContent).join(' | ')]";
        let before: Value = tab.eval(shown).await;
        let fragment: String = tab.eval("new URL(window.href).hash").await;
        let time = fragment.strip_prefix("#t=").unwrap_or_default();
        assert!(time.contains("%3A") || time.contains(':'), "{fragment}");
        // As the page does with its address.
        tab.run("const feed = __test.feed(); feed.startAt = new URLSearchParams(new URL(window.href).hash.slice(1)).get('t'); feed.removeAttribute('src')")
            .await;
        stage.show("/a.jsonl").await;
        stage.rest().await;
        let after: Value = tab.eval(shown).await;
        assert_eq!(before, after);
    });
}
