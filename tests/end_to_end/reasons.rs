//! What a row says of how something went: why a call failed comes before what it was given, an error is read whole, an
//! agent's task and its answer are said once, and what ended badly looks so.

use serde_json::{Value, json};

use crate::made_logs::Writer;
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

const PLACE: &str = r#"{"turnId": "t1", "responseId": "r1"}"#;

fn place() -> Value {
    serde_json::from_str(PLACE).expect("a place")
}

/// A call with what it gave.
fn call(log: &mut Writer, id: &str, what: &Value, gave: &Value) {
    let mut call = json!({"toolCallId": id});
    let mut result = json!({"toolCallId": id});
    for (into, from) in [(&mut call, what), (&mut result, gave)] {
        for (name, value) in from.as_object().expect("an object") {
            into[name] = value.clone();
        }
    }
    log.event("tool_call", &place(), &call);
    log.event("tool_result", &place(), &result);
}

/// Shows a log, and opens its first call where it is closed.
async fn show(stage: &Stage, log: &mut Writer) {
    stage.tab.run("__test.feed().clear()").await;
    stage.append(&log.take()).await;
    stage.rest().await;
    stage
        .tab
        .run("__test.one('.tool-call > [aria-expanded=false]')?.click(); await __test.rest()")
        .await;
}

#[test]
fn a_failed_call_says_why_before_what_it_was_given() {
    on_stage("reasons", FEED, vec![], async |stage| {
        let mut log = Writer::new("failed");
        let what = json!({"toolName": "Edit", "kind": "edit",
            "args": {"file_path": "/w/a.rs", "old_string": "old words", "new_string": "new words"}});
        let why = "File has not been read yet.\nRead it first.";
        let tagged = format!("<tool_use_error>{why}</tool_use_error>");
        let gave = json!({"result": tagged, "error": {"code": "tool_use_error", "message": why}});
        call(&mut log, "f", &what, &gave);
        show(&stage, &mut log).await;
        let body: String = stage
            .tab
            .eval("__test.one('.tool-body').innerText.trim()")
            .await;
        assert_eq!(body, format!("{why}\nArguments"), "and no tags");
        let red = "(() => { const colour = (it) => getComputedStyle(__test.one(it)).color; return colour('.tool-body .well') === colour('.icon--failed'); })()";
        assert!(stage.tab.eval::<bool>(red).await, "the reason is red");
        stage
            .tab
            .run("__test.one('.tool-body > .more').click(); await __test.rest()")
            .await;
        let args = "__test.one('.tool-args')?.textContent.includes('old words') === true";
        assert!(stage.tab.eval::<bool>(args).await, "opened, all of it");
        // It stays so when its row is made anew.
        stage
            .tab
            .run("const head = __test.one('.tool-call > .line'); head.click(); await __test.rest(); head.click(); await __test.rest()")
            .await;
        assert!(stage.tab.eval::<bool>(args).await, "it stays open");
    });
}

#[test]
fn a_command_that_ended_badly_looks_so_though_no_one_calls_it_failed() {
    on_stage("reasons_exit", FEED, vec![], async |stage| {
        let mut log = Writer::new("exit");
        let what = json!({"toolName": "Bash", "kind": "execute", "args": {"command": "make"}});
        call(
            &mut log,
            "x",
            &what,
            &json!({"result": "no", "exitCode": 1}),
        );
        show(&stage, &mut log).await;
        let chip: String = stage.tab.eval("__test.one('.chip').textContent").await;
        assert_eq!(chip, "exit 1");
        let rail: String = stage
            .tab
            .eval("__test.one('.tool-call').dataset.status")
            .await;
        assert_eq!(rail, "failed");
        let red = "!!__test.one('.tool-call > .line > .icon--failed')";
        assert!(stage.tab.eval::<bool>(red).await, "its icon is red");
    });
}

#[test]
fn an_error_is_read_whole_however_narrow() {
    on_stage("reasons_error", FEED, vec![], async |stage| {
        stage.tab.look(false, (390, 700)).await;
        let mut log = Writer::new("error");
        let message = format!(
            "API Error: 400 {}",
            "messages must not be empty, ".repeat(6)
        );
        let event = json!({"code": "invalid_request_error", "message": message.trim()});
        log.event("error", &place(), &event);
        show(&stage, &mut log).await;
        stage
            .tab
            .wait_for("the error", SHORT, "!!__test.one('.error .verb')")
            .await;
        let is_whole = "['.line__what', '.line__outcome'].every((part) => { const box = __test.one('.error ' + part); return box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight + 1 && box.clientWidth > 0; })";
        assert!(stage.tab.eval::<bool>(is_whole).await, "nothing is cut off");
    });
}

#[test]
fn an_agents_task_and_answer_are_said_once() {
    on_stage("reasons_agent", FEED, vec![], async |stage| {
        let task = "Find where the ring is, and say it in a line";
        let answer = "The ring is in `a.rs`, and nowhere else in all of this crate.";
        let what = json!({"toolName": "Task", "kind": "agent",
            "args": {"description": "Find it", "subagent_type": "Explore", "prompt": task}});
        let gave = json!({"result": format!("# Summary\n\n{answer}")});
        let mut log = Writer::new("alone");
        call(&mut log, "a", &what, &gave);
        stage.tab.run("__test.feed().clear()").await;
        stage.append(&log.take()).await;
        stage.rest().await;
        let said: String = stage
            .tab
            .eval("__test.one('.tool-call__said').textContent")
            .await;
        assert_eq!(said, answer.replace('`', ""), "and not its heading");
        stage
            .tab
            .run("__test.one('.tool-call > .line').click(); await __test.rest()")
            .await;
        stage
            .tab
            .wait_for(
                "the answer as it is to be read",
                SHORT,
                "__test.one('.tool-result .prose code')?.textContent === 'a.rs'",
            )
            .await;
        // With its work told, what it was asked and what it answered stand there.
        let mut log = Writer::new("told");
        let within =
            json!({"turnId": "t1", "responseId": "r2", "agentId": "x", "parentToolCallId": "a"});
        log.event(
            "tool_call",
            &place(),
            &json!({"toolCallId": "a", "toolName": "Task", "kind": "agent", "args": what["args"]}),
        );
        log.event("user_message", &within, &json!({"text": task}));
        log.event(
            "assistant_done",
            &within,
            &json!({"text": answer, "part": 0}),
        );
        log.event(
            "tool_result",
            &place(),
            &json!({"toolCallId": "a", "result": answer}),
        );
        show(&stage, &mut log).await;
        let all: String = stage.tab.eval("__test.one('.chat-log').innerText").await;
        for words in [task, "nowhere else"] {
            assert_eq!(all.matches(words).count(), 1, "{words} in {all}");
        }
    });
}
