//! What stands where: times below times, tabs that stay in their places, wide texts in the room that there is, and rows that
//! say what waits within them.

use serde_json::{Value, json};

use crate::made_logs::Writer;
use crate::made_session::{beginning, event, open};
use crate::server::Server;
use crate::sessions::with_server;
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

/// A sub-agent that asks whether it may run a command.
fn asking() -> Writer {
    let mut writer = Writer::new("asking");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let within = json!({"turnId": "t1", "responseId": "r2", "parentToolCallId": "task"});
    writer.event("turn_start", &place, &json!({"trigger": "user"}));
    writer.event("user_message", &place, &json!({"text": "Measure it"}));
    let task = json!({"description": "Measure it", "subagent_type": "Bench"});
    let call = json!({"toolCallId": "task", "toolName": "Task", "kind": "agent", "args": task});
    writer.event("tool_call", &place, &call);
    let command = json!({"command": "cargo bench"});
    let call = json!({"toolCallId": "run", "toolName": "Bash", "kind": "execute", "args": command});
    writer.event("tool_call", &within, &call);
    let ask = json!({"requestId": "p1", "toolCallId": "run", "toolName": "Bash", "args": command, "options": []});
    writer.event("permission_request", &within, &ask);
    writer
}

#[test]
fn a_sub_agent_says_that_something_of_it_waits_as_long_as_it_does() {
    on_stage("asks_within", FEED, vec![], async |stage| {
        let mut writer = asking();
        stage.append(&writer.take()).await;
        let outcome = "__test.text(__test.one('.tool-call[data-kind=agent] .line__outcome'))";
        let says = |word: &str| format!("{outcome}.includes('{word}')");
        let tab = &stage.tab;
        tab.wait_for("that it waits", SHORT, &says("Needs you"))
            .await;
        tab.run("__test.feed().viewAsOf(3)").await;
        tab.wait_for("what it did before", SHORT, &says("Running"))
            .await;
        tab.run("__test.feed().viewAsOf(4)").await;
        tab.wait_for("that it waits again", SHORT, &says("Needs you"))
            .await;
        tab.run("__test.feed().viewAsOf(null)").await;
        let within = json!({"turnId": "t1", "responseId": "r2", "parentToolCallId": "task"});
        let answer = json!({"requestId": "p1", "decision": "allow", "by": "user"});
        writer.event("permission_resolved", &within, &answer);
        stage.append(&writer.take()).await;
        tab.wait_for("that it goes on", SHORT, &says("Running"))
            .await;
    });
}

#[test]
fn since_when_a_call_runs_stands_where_others_have_how_long_they_took() {
    with_server("times_in_line", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("times", &beginning()).await;
        let call = |id: &str, command: &str| {
            let call = json!({"toolCallId": id, "toolName": "Bash", "kind": "execute", "args": {"command": command}});
            event(&format!("call-{id}"), "tool_call", &call)
        };
        let result = json!({"toolCallId": "a", "result": "", "exitCode": 0, "durationMs": 4200});
        let result = event("result-a", "tool_result", &result);
        let told = json!([call("a", "true"), result, call("b", "sleep 60")]);
        server.send("times", &told).await;
        let tab = visit.tab("page").await;
        tab.look(false, (1200, 800)).await;
        open(&tab, &server.page_of("times"), 6).await;
        let clock = "__test.one('.running > [data-clock]')";
        let shown = format!("/\\d s/.test(__test.text({clock}))");
        tab.wait_for("how long it runs", SHORT, &shown).await;
        let ends = format!(
            "[...__test.all('.line__time').filter((it) => it.textContent), {clock}].map((it) => it.getBoundingClientRect().right)"
        );
        let ends: Vec<f64> = tab.eval(&ends).await;
        assert_eq!(ends.len(), 2, "{ends:?}");
        assert!((ends[0] - ends[1]).abs() < 1.0, "{ends:?}");
    });
}

/// An answer with a table of many columns, and with long lines of code.
fn wide() -> String {
    let mut writer = Writer::new("wide");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let row = |of: &str| format!("|{}|\n", [of; 9].join("|"));
    let table = [row("a"), row("--"), row("1234567890")].concat();
    let code = format!("```\nlet a = \"{}\";\n```", "x".repeat(100));
    let text = format!(
        "Here it is:\n\n{table}\n{code}\n\nThat is {}.",
        "all ".repeat(60)
    );
    writer.event("user_message", &place, &json!({"text": "Show it"}));
    writer.event("assistant_done", &place, &json!({"text": text}));
    writer.take()
}

#[test]
fn a_wide_table_and_long_code_have_the_room_that_there_is() {
    on_stage("wide", FEED, vec![("/log", wide())], async |stage| {
        let tab = &stage.tab;
        tab.run("document.body.style.margin = 0; __test.feed().style.height = '700px'")
            .await;
        stage.show("/log").await;
        // Whether each is scrolled, and how wide the last paragraph is.
        let looks = "[...__test.all('.table-scroller, .code__lines').map((it) => it.scrollWidth > it.clientWidth + 1), __test.all('.prose').at(-1).getBoundingClientRect().width]";
        for (width, scrolled) in [(1280, false), (480, true)] {
            tab.look(false, (width, 700)).await;
            stage.rest().await;
            let (table, code, words_px): (bool, bool, f64) = tab.eval(looks).await;
            assert_eq!((table, code), (scrolled, scrolled), "{width} px");
            assert!(words_px < 800.0, "{words_px} px of words");
        }
    });
}

#[test]
fn the_tabs_of_the_panel_stand_where_they_stood_whichever_is_chosen() {
    let mut writer = asking();
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let entries = json!([{"content": "Read", "status": "completed"}, {"content": "Mend", "status": "pending"}]);
    writer.event("plan", &place, &json!({"entries": entries}));
    let files = vec![("/log", writer.take())];
    on_stage("tabs_stay", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.look(false, (1280, 800)).await;
        stage.show("/log").await;
        tab.run("__test.one('.panel-toggle').click()").await;
        tab.wait_for("the panel", SHORT, "!!__test.visible('.panel')")
            .await;
        let begin =
            "__test.all('.panel__name').map((it) => Math.round(it.getBoundingClientRect().left))";
        let first: Vec<i64> = tab.eval(begin).await;
        assert_eq!(first.len(), 6, "{first:?}");
        for nth in 0..6 {
            tab.run(&format!(
                "__test.all('.panel__name')[{nth}].click(); await __test.rest()"
            ))
            .await;
            let here: Vec<i64> = tab.eval(begin).await;
            let moved = first
                .iter()
                .zip(&here)
                .any(|(was, is)| (was - is).abs() > 3);
            assert!(!moved, "{nth}: {first:?}, {here:?}");
        }
    });
}

/// Tells of a command that failed without a word, in a feed of its own.
async fn silent(stage: &Stage) {
    let mut writer = Writer::new("silent");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let call = json!({"toolCallId": "c", "toolName": "Bash", "kind": "execute", "args": {"command": "false"}});
    writer.event("tool_call", &place, &call);
    let failed = json!({"message": "exit code 1"});
    let result = json!({"toolCallId": "c", "result": "", "exitCode": 1, "error": failed});
    writer.event("tool_result", &place, &result);
    stage.append(&writer.take()).await;
    stage.rest().await;
}

#[test]
fn a_command_that_printed_nothing_says_so_once_it_is_open() {
    on_stage("silent", FEED, vec![], async |stage| {
        silent(&stage).await;
        let open: Value = stage
            .tab
            .eval("[__test.one('.tool-call > [aria-expanded]').ariaExpanded, __test.one('.tool-body').innerText.trim()]")
            .await;
        assert_eq!(open, json!(["true", "No output"]));
    });
}
