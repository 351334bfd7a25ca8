//! A long log is read by a worker, and looks as if the page had read it; whatever becomes of the worker, it is shown.

use serde_json::{Value, json};

use crate::FEED;
use crate::compare::difference;
use crate::made_logs::Writer;
use crate::stage::{LOAD_LIMIT, Stage, on_stage};

const LOG: &str = "/log.jsonl";

/// Counts the workers that read and what they tell; `__readers` says what becomes of the next.
const WORKERS: &str = "
    const Real = window.Worker;
    window.__readers = { begun: 0, told: 0, mode: '' };
    window.Worker = class extends Real {
        constructor(address, options) {
            const reads = options?.type === 'module';
            if (reads && __readers.mode === 'refuse') throw new Error('no workers here');
            super(address, options);
            if (!reads) return;
            __readers.begun++;
            this.addEventListener('message', (event) => {
                __readers.told++;
                if (__readers.mode === 'dumb') event.stopImmediatePropagation();
                if (__readers.mode === 'dies' && __readers.told > 2) {
                    event.stopImmediatePropagation();
                    this.terminate();
                    this.onerror?.(new Event('error'));
                }
                if (__readers.mode === 'lies' && __readers.told === 2) event.data.bytes.fill(7);
            });
        }
    };";

/// Long enough for a worker: few rows, and much in them.
fn log() -> String {
    let mut writer = Writer::new("aside");
    for number in 0..24 {
        let turn = json!({"turnId": format!("big-{number}")});
        let id = format!("call-{number}");
        writer.turn(number);
        writer.event(
            "tool_call",
            &turn,
            &json!({"toolCallId": id, "toolName": "Bash", "kind": "execute", "args": {"command": "cat"}}),
        );
        let result = format!("{number}: «é» \u{1f642} and more of it\n").repeat(5_000);
        writer.event(
            "tool_result",
            &turn,
            &json!({"toolCallId": id, "result": result}),
        );
    }
    let log = writer.take();
    assert!(log.len() > 3_000_000, "{} bytes are too few", log.len());
    log
}

/// All rows, those of an earlier moment, and where a link leads.
async fn shown(stage: &Stage) -> Vec<String> {
    let mut shown = Vec::new();
    for n_events in [None, Some(200), Some(37)] {
        let moment = json!(n_events);
        stage
            .tab
            .run(&format!("__test.feed().viewAsOf({moment})"))
            .await;
        stage.rest().await;
        let rows = "__test.feed().serializeRows({ maskTimes: false })";
        shown.push(stage.tab.eval(rows).await);
    }
    stage.tab.run("__test.feed().viewAsOf(null)").await;
    stage.rest().await;
    let found = "[__test.feed().eventCount, __test.feed().rowCount, __test.feed().goToEvent(321)]";
    let found: Value = stage.tab.eval(found).await;
    shown.push(found.to_string());
    shown
}

#[test]
fn what_a_worker_read_looks_as_if_the_page_had_read_it() {
    on_stage("aside", FEED, vec![(LOG, log())], async |stage| {
        stage.tab.run(WORKERS).await;
        stage.tab.run("__readers.mode = 'refuse'").await;
        stage.show(LOG).await;
        let read = shown(&stage).await;
        assert_eq!(n_begun(&stage).await, 0);
        // The worker tells all; it says nothing; it dies halfway; it tells what cannot be taken.
        for (nth, mode) in ["", "dumb", "dies", "lies"].into_iter().enumerate() {
            stage
                .tab
                .run(&format!(
                    "__readers.mode = {}; __readers.told = 0; __test.feed().removeAttribute('src'); __test.feed().clear()",
                    json!(mode)
                ))
                .await;
            stage.show(LOG).await;
            assert_eq!(n_begun(&stage).await, nth as u64 + 1, "{mode}");
            for (told, read) in shown(&stage).await.iter().zip(&read) {
                let difference = difference("a worker or the page", told, read);
                assert_eq!(difference, None, "{mode}");
            }
        }
        stage.assert_no_request_out();
    });
}

#[test]
fn a_long_file_is_read_by_a_worker_too() {
    on_stage("aside_file", FEED, vec![(LOG, log())], async |stage| {
        stage.tab.run(WORKERS).await;
        stage
            .tab
            .run(&format!(
                "const file = new File([await (await fetch({})).text()], 'session.jsonl');
                 __test.feed().load([{{ path: 'session.jsonl', file }}]);",
                json!(LOG)
            ))
            .await;
        let ready = "__test.feed().getAttribute('state') === 'ready' && __test.feed().rowCount > 0";
        stage.tab.wait_for("the file", LOAD_LIMIT, ready).await;
        assert_eq!(n_begun(&stage).await, 1);
        let n_events: u64 = stage.tab.eval("__test.feed().eventCount").await;
        assert_eq!(n_events, log().lines().count() as u64);
    });
}

async fn n_begun(stage: &Stage) -> u64 {
    stage.tab.eval("__readers.begun").await
}
