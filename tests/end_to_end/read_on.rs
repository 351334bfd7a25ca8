//! What the reader looks at while the session goes on: opened rows keep their place, the end of a turn takes nothing away, and
//! a call says what it works on as soon as that can be read.

use serde_json::json;

use crate::SHORT;
use crate::made_logs::{Writer, words};
use crate::stage::on_stage;

/// As it is by itself: turns fold.
const FEED: &str = "<agent-feed></agent-feed>";
const FOLLOWS: &str = "__test.feed().matches(':state(following)')";

/// A turn with a text and commands, each with an output; it goes on.
fn long_turn(writer: &mut Writer, turn: &str, n_calls: u64) {
    let place = json!({"turnId": turn});
    writer.event("turn_start", &place, &json!({"trigger": "user"}));
    writer.event("user_message", &place, &json!({"text": "please"}));
    for number in 0..n_calls {
        let text = json!({"text": words(number + 1, 60)});
        let answer = json!({"turnId": turn, "responseId": format!("{turn}r{number}")});
        writer.event("assistant_done", &answer, &text);
        let id = format!("{turn}c{number}");
        let call = json!({"toolCallId": id, "toolName": "Bash", "kind": "execute", "args": {"command": format!("step {number}")}});
        writer.event("tool_call", &place, &call);
        let result = json!({"toolCallId": id, "result": "a line\n".repeat(12)});
        writer.event("tool_result", &place, &result);
    }
}

#[test]
fn what_is_opened_at_the_end_keeps_its_header_in_place() {
    let mut writer = Writer::new("ended");
    long_turn(&mut writer, "t1", 12);
    let place = json!({"turnId": "t1"});
    writer.event("assistant_done", &place, &json!({"text": "All is done."}));
    writer.event("turn_end", &place, &json!({"outcome": "completed"}));
    let files = vec![("/log.jsonl", writer.take())];
    on_stage("opened_at_end", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log.jsonl").await;
        tab.run("__test.feed().follow = true; await __test.frames(3)")
            .await;
        let fold = "__test.all('.row.work')[0]";
        let top = format!("{fold}.getBoundingClientRect().top");
        let before: f64 = tab.eval(&top).await;
        tab.click(&format!("{fold}.querySelector('button, .line')"))
            .await;
        tab.wait_for("its rows", SHORT, "__test.rows().length > 10")
            .await;
        stage.rest().await;
        let after: f64 = tab.eval(&top).await;
        assert!((after - before).abs() <= 1.0, "{before} {after}");
        assert!(!tab.eval::<bool>(FOLLOWS).await, "what is read is not left");
    });
}

#[test]
fn what_is_read_is_not_folded_away_at_the_end_of_its_turn() {
    on_stage("read_turn", FEED, vec![], async |stage| {
        let tab = &stage.tab;
        let mut writer = Writer::new("goes-on");
        long_turn(&mut writer, "t1", 14);
        stage.append(&writer.take()).await;
        stage.rest().await;
        tab.wheel((500.0, 300.0), -400.0).await;
        stage.rest().await;
        tab.wait_for("it to be left", SHORT, &format!("!{FOLLOWS}"))
            .await;
        tab.run(
            "window.__held = __test.rows().find((row) => row.getBoundingClientRect().top >= __test.feed().scroller.getBoundingClientRect().top);
             window.__heldTop = __held.getBoundingClientRect().top;",
        )
        .await;
        let place = json!({"turnId": "t1"});
        writer.event("assistant_done", &place, &json!({"text": "All is done."}));
        writer.event("turn_end", &place, &json!({"outcome": "completed"}));
        stage.append(&writer.take()).await;
        stage.rest().await;
        let moved: f64 = tab
            .eval("__held.isConnected ? Math.abs(__held.getBoundingClientRect().top - __heldTop) : 1e9")
            .await;
        assert!(moved <= 1.0, "the row moved by {moved} px");

        // A turn that ends elsewhere folds.
        long_turn(&mut writer, "t2", 3);
        let place = json!({"turnId": "t2"});
        writer.event("assistant_done", &place, &json!({"text": "Done, too."}));
        writer.event("turn_end", &place, &json!({"outcome": "completed"}));
        stage.append(&writer.take()).await;
        tab.run("__test.feed().follow = true; await __test.frames(3)")
            .await;
        let folded = "__test.all('.row.work').at(-1)?.textContent.includes('3 steps') && !__test.text().includes('step 2')";
        tab.wait_for("the other turn folded", SHORT, folded).await;
    });
}

#[test]
fn a_call_says_what_it_works_on_while_its_arguments_are_written() {
    on_stage("args_so_far", FEED, vec![], async |stage| {
        let tab = &stage.tab;
        let mut writer = Writer::new("writes");
        let place = json!({"turnId": "t1"});
        writer.event("turn_start", &place, &json!({"trigger": "user"}));
        let mut chunk = |id: &str, tool: &str, chunk: &str| {
            let payload = json!({"toolCallId": id, "toolName": tool, "chunk": chunk});
            writer.event("tool_input_chunk", &place, &payload).take()
        };
        let says = |words: &str| format!("__test.text().includes({})", json!(words));
        stage
            .append(&chunk("a", "Write", r#"{"file_path": "src/ma"#))
            .await;
        tab.wait_for("the call", SHORT, &says("Preparing")).await;
        assert!(!tab.eval::<bool>(&says("src/ma")).await);
        stage
            .append(&chunk("a", "Write", r#"in.rs", "content": "fn "#))
            .await;
        tab.wait_for("its path", SHORT, &says("src/main.rs")).await;
        stage
            .append(&chunk("b", "Bash", r#"{"command": "cargo test", "desc"#))
            .await;
        tab.wait_for("its command", SHORT, &says("cargo test"))
            .await;
        assert!(tab.eval::<bool>(&says("Preparing")).await);
    });
}

#[test]
fn a_script_hears_that_what_it_gave_is_here_and_that_the_end_is_left() {
    let mut writer = Writer::new("given");
    long_turn(&mut writer, "t1", 14);
    let files = vec![("/log.jsonl", writer.take())];
    on_stage("hears_given", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run(
            "window.__heard = [];
             const feed = __test.feed();
             feed.addEventListener('af-ready', () => __heard.push('ready'));
             feed.addEventListener('af-follow', ({ detail }) => __heard.push(`follow ${detail.following}`));
             const log = await (await fetch('/log.jsonl')).text();
             feed.events = log.trim().split('\\n').map((line) => JSON.parse(line));",
        )
        .await;
        tab.wait_for(
            "the end of what was given",
            SHORT,
            "__heard.includes('ready')",
        )
        .await;
        stage.rest().await;
        tab.wheel((500.0, 300.0), -200.0).await;
        tab.wait_for(
            "that it was left",
            SHORT,
            "__heard.at(-1) === 'follow false'",
        )
        .await;
        let n_ready: usize = tab
            .eval("__heard.filter((it) => it === 'ready').length")
            .await;
        assert_eq!(n_ready, 1);
    });
}
