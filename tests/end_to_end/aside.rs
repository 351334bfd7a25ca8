//! A long log is read by a worker, and looks as if the page had read it; whatever becomes of the worker, it is shown.

use serde_json::{Value, json};

use crate::browser::Tab;
use crate::compare::difference;
use crate::made_logs::Writer;
use crate::sessions::{lone_element, with_server};
use crate::site::Site;
use crate::stage::{LOAD_LIMIT, on_own_site};

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

/// A page that waits for a worker as long as it takes, and reads on by itself only where the worker is dumb, once that has
/// told something.
const PATIENCE: &str = "
    const wait = window.setTimeout;
    window.setTimeout = (act, ms, ...more) => {
        if (ms !== 5000) return wait.call(window, act, ms, ...more);
        if (__readers.mode !== 'dumb') return wait.call(window, act, 60000);
        const once_told = () => __readers.mode !== 'dumb' || __readers.told > 1 ? act() : wait.call(window, once_told, 50);
        return wait.call(window, once_told, 5000);
    };";

/// A browser whose streams do not write into buffers of others.
const NO_BUFFERS: &str = "
    const read = ReadableStream.prototype.getReader;
    window.__refused = 0;
    ReadableStream.prototype.getReader = function (options) {
        if (options) {
            __refused++;
            throw new TypeError('no buffers');
        }
        return read.call(this);
    };";

/// Long enough for a worker: few rows, and much in them.
fn log() -> String {
    let log = log_of(5_000);
    assert!(log.len() > 3_000_000, "{} bytes are too few", log.len());
    log
}

fn log_of(n_lines: usize) -> String {
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
        let result = format!("{number}: «é» \u{1f642} and more of it\n").repeat(n_lines);
        writer.event(
            "tool_result",
            &turn,
            &json!({"toolCallId": id, "result": result}),
        );
        write_opened(&mut writer, number, &turn);
    }
    writer.take()
}

/// What is too short to be kept elsewhere and long enough to lie packed, in rows that open by themselves: a changed file, and
/// a call that printed something and failed.
fn write_opened(writer: &mut Writer, number: u64, turn: &Value) {
    let lines =
        (0..12).map(|line| format!("+«{number}» line {line} {}\n", "of the new file ".repeat(9)));
    let diff = format!("@@ -0,0 +1,12 @@\n{}", lines.collect::<String>());
    let (edit, failed) = (format!("edit-{number}"), format!("failed-{number}"));
    writer.event(
        "file_edit",
        turn,
        &json!({"toolCallId": edit, "filePath": format!("src/{number}.rs"), "changeType": "created",
            "linesAdded": 12, "diffPreview": diff, "fullDiff": diff, "fullDiffSize": diff.len()}),
    );
    writer.event(
        "tool_call",
        turn,
        &json!({"toolCallId": failed, "toolName": "Bash", "kind": "execute", "args": {"command": "make"}}),
    );
    for part in 0..3 {
        let chunk = format!("{number}.{part}: {}\n", "warning: é ".repeat(40));
        writer.event(
            "tool_output_chunk",
            turn,
            &json!({"toolCallId": failed, "chunk": chunk}),
        );
    }
    let result = if number.is_multiple_of(2) {
        json!(null)
    } else {
        json!("it stopped: ".repeat(200))
    };
    writer.event(
        "tool_result",
        turn,
        &json!({"toolCallId": failed, "result": result, "error": {"message": "exit 2"}, "exitCode": 2}),
    );
}

/// Reads the file again, and waits for its end.
async fn read(tab: &Tab, mode: &str) {
    tab.run(&format!(
        "__readers.mode = {}; __readers.begun = __readers.told = 0;
         __test.feed().load([{{ path: 'session.jsonl', file: new File([__log], 'session.jsonl') }}]);",
        json!(mode)
    ))
    .await;
    let is_read = "__test.feed().getAttribute('state') === 'ready' && __test.feed().rowCount > 0";
    tab.wait_for("the file to be read", LOAD_LIMIT, is_read)
        .await;
}

async fn rest(tab: &Tab) {
    let calm: bool = tab.eval("__test.rest()").await;
    assert!(calm, "the feed comes to rest");
}

/// All rows, those of two earlier moments, and where a link leads.
async fn shown(tab: &Tab) -> Vec<String> {
    let mut shown = Vec::new();
    for n_events in [None, Some(200), Some(37)] {
        let moment = json!(n_events);
        tab.run(&format!("__test.feed().viewAsOf({moment})")).await;
        rest(tab).await;
        let rows = "__test.feed().serializeRows({ maskTimes: false })";
        shown.push(tab.eval(rows).await);
    }
    tab.run("__test.feed().viewAsOf(null)").await;
    rest(tab).await;
    let found = "[__test.feed().eventCount, __test.feed().rowCount, __test.feed().goToEvent(321)]";
    let found: Value = tab.eval(found).await;
    shown.push(found.to_string());
    shown
}

#[test]
fn what_a_worker_read_looks_as_if_the_page_had_read_it() {
    with_server("aside", 150, async |visit, program| {
        let (_server, tab) = lone_element(&visit, &program).await;
        let log = json!(log());
        tab.run(&format!("{WORKERS} {PATIENCE} window.__log = {log};"))
            .await;
        read(&tab, "refuse").await;
        let by_page = shown(&tab).await;
        assert_eq!(tab.eval::<u64>("__readers.begun").await, 0);
        // The worker tells all; it says nothing; it dies halfway; it tells what cannot be taken.
        for mode in ["", "dumb", "dies", "lies"] {
            read(&tab, mode).await;
            assert_eq!(tab.eval::<u64>("__readers.begun").await, 1, "{mode}");
            let n_told: u64 = tab.eval("__readers.told").await;
            assert!(n_told > 1, "{mode}: {n_told} messages");
            for (told, read) in shown(&tab).await.iter().zip(&by_page) {
                assert_eq!(difference("by a worker", told, read), None, "{mode}");
            }
        }
    });
}

#[test]
fn a_page_that_cannot_take_what_a_worker_tells_reads_by_itself() {
    with_server("alone", 150, async |visit, program| {
        let (_server, tab) = lone_element(&visit, &program).await;
        tab.run(&format!(
            "{WORKERS} {NO_BUFFERS} window.__log = {};
             const whole = window.fetch; window.__held = 0;
             window.fetch = (address, options) => String(address).includes('aside-')
                 ? (__held++, new Promise(() => {{}})) : whole(address, options);",
            json!(log())
        ))
        .await;
        read(&tab, "").await;
        let n_told: Value = tab.eval("[__held, __readers.told, __refused > 0]").await;
        let taken = json!([1, 0, true]);
        assert_eq!(n_told, taken, "asked for, and nothing taken");
        let n_events: usize = tab.eval("__test.feed().eventCount").await;
        assert_eq!(n_events, log().lines().count());
    });
}

/// Opens the log with a worker that never begins to read it.
async fn open_with_a_dumb_worker(tab: &Tab) {
    let open = "__readers.mode = 'dumb'; __test.feed().setAttribute('src', '/log')";
    tab.run(&format!("{WORKERS} {open}")).await;
}

/// All of it was read.
async fn wait_until_read(tab: &Tab) {
    let is_read = "__test.feed().getAttribute('state') === 'ready'";
    tab.wait_for("the log to be read", LOAD_LIMIT, is_read)
        .await;
}

/// Logs that come without a length, as those do that a server packs on their way.
const UNTOLD: &str = "
    const told = window.fetch;
    window.fetch = async (address, options) => {
        const answer = await told(address, options);
        return String(address).endsWith('-log') ? new Response(answer.body, { headers: { 'content-type': 'application/x-ndjson' } }) : answer;
    };";

#[test]
fn a_log_of_which_nobody_told_the_length_has_a_worker_once_it_proves_long() {
    let jsonl = "application/x-ndjson";
    let (short, long) = (log_of(100), log_of(5_000));
    assert!(short.len() < 512 * 1024, "{} bytes", short.len());
    let n_events = long.lines().count();
    let files = vec![
        ("/short-log", jsonl, short.into_bytes()),
        ("/long-log", jsonl, long.into_bytes()),
    ];
    let feed = "<agent-feed></agent-feed>";
    on_own_site("untold", feed, files, async |_: Site, tab| {
        tab.run(&format!("{WORKERS} {PATIENCE} {UNTOLD}")).await;
        tab.run("__test.feed().setAttribute('src', '/short-log')")
            .await;
        wait_until_read(&tab).await;
        assert_eq!(tab.eval::<u64>("__readers.begun").await, 0, "it is short");
        // The worker tells the rest; it says nothing, and the page goes on behind what it has.
        for (number, mode) in (1..).zip(["", "dumb"]) {
            tab.run(&format!(
                "__test.feed().clear(); __test.feed().removeAttribute('src'); __readers.mode = '{mode}';
                 __test.feed().setAttribute('src', '/long-log')"
            ))
            .await;
            // It still says how the log before stood, until this one is begun.
            let is_whole = format!(
                "__readers.begun === {number} && __test.feed().getAttribute('state') === 'ready'
                     && __test.feed().eventCount === {n_events}"
            );
            let what = format!("all of it, nothing lost and nothing twice: {mode}");
            tab.wait_for(&what, LOAD_LIMIT, &is_whole).await;
        }
    });
}

#[test]
fn the_page_ends_its_own_request_where_a_worker_is_to_read_on() {
    let log = log_of(60_000);
    let n_bytes = log.len();
    assert!(n_bytes > 40_000_000, "what lies in sockets is far less");
    let n_events = log.lines().count();
    let files = vec![("/log", "application/x-ndjson", log.into_bytes())];
    on_own_site(
        "ended",
        "<agent-feed></agent-feed>",
        files,
        async |site: Site, tab| {
            // It never begins, and the page waits for it: long enough for all of the log to come, if anybody wanted it.
            open_with_a_dumb_worker(&tab).await;
            wait_until_read(&tab).await;
            assert_eq!(tab.eval::<u64>("__readers.begun").await, 1);
            let given = site.given("/log");
            assert!(
                given[0] < n_bytes,
                "of {n_bytes} bytes were given: {given:?}"
            );
            assert_eq!(given.last(), Some(&n_bytes), "read anew: {given:?}");
            let n_shown: usize = tab.eval("__test.feed().eventCount").await;
            assert_eq!(n_shown, n_events, "nothing is lost and nothing twice");
        },
    );
}

#[test]
fn a_log_that_is_another_one_by_now_is_not_gone_on_with_in_the_middle() {
    let log = log_of(5_000);
    let other = log.replace("Prompt", "Another prompt");
    let n_events = log.lines().count();
    let files = vec![("/log", "application/x-ndjson", log.into_bytes())];
    on_own_site(
        "changed",
        "<agent-feed></agent-feed>",
        files,
        async |site: Site, tab| {
            // It never begins, and the page reads on by itself: not before the log has changed.
            tab.run("__test.hold(5000)").await;
            open_with_a_dumb_worker(&tab).await;
            let is_begun = "__readers.begun === 1 && __test.feed().eventCount > 0";
            tab.wait_for("the beginning", LOAD_LIMIT, is_begun).await;
            site.put("/log", "application/x-ndjson", other);
            tab.run("__test.letGo()").await;
            wait_until_read(&tab).await;
            let n_shown: usize = tab.eval("__test.feed().eventCount").await;
            assert_eq!(n_shown, n_events);
            let rows: String = tab
                .eval("__test.feed().serializeRows({ maskTimes: true })")
                .await;
            let [n_new, n_all] =
                ["Another prompt", "rompt "].map(|words| rows.matches(words).count());
            assert_eq!(n_new, n_all, "none is of the log before");
        },
    );
}

#[test]
fn an_answer_of_other_bytes_than_were_asked_for_is_not_taken() {
    let log = log_of(1);
    let files = vec![("/log", "application/x-ndjson", log.into_bytes())];
    on_own_site(
        "ranges",
        "<agent-feed></agent-feed>",
        files,
        async |_: Site, tab| {
            tab.run(
                "const whole = window.fetch;
                 window.fetch = async (address, options) => {
                     const answer = await whole(address, options);
                     if (!String(address).endsWith('/log')) return answer;
                     const headers = { 'content-range': 'bytes 100-199/5000' };
                     return new Response((await answer.blob()).slice(100, 200), { status: 206, headers });
                 };
                 __test.feed().setAttribute('src', '/log');",
            )
            .await;
            let told = "__test.feed().getAttribute('state') === 'error'
                && __test.one('.note[role=alert]').textContent.includes('other bytes than were asked for (bytes 100-199/5000)')";
            tab.wait_for("the answer to be refused", LOAD_LIMIT, told)
                .await;
        },
    );
}
