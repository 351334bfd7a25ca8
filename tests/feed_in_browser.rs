//! Promises of `<agent-feed>` that only a browser can keep: how many rows are mounted, what a token costs, that the
//! reader's place stays where it is, and that no content becomes markup or a request. Its page is served from another
//! port than its script, as in anybody's page, under a Content-Security-Policy with Trusted Types.
//!
//! One file, though long: its tests share one browser, which is what makes them quick.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::expect_used,
    reason = "a test that cannot read its subject fails"
)]

#[path = "support/browser.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod browser;
#[path = "support/made_logs.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod made_logs;
#[path = "support/server.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod server;
#[path = "support/site.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod site;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use browser::{Tab, Visit, in_browser};
use made_logs::{Writer, lines, log_of, words};
use server::Server;
use site::Site;

/// How long a page may take to show a log.
const LOAD_LIMIT: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(20);
/// Rows are mounted this far beyond the edges, in heights of the scroller.
const OVERSCAN: f64 = 0.75;

const FEED: &str = "<agent-feed></agent-feed>";

/// A page of somebody else with the element in it.
struct Stage {
    site: Site,
    tab: Tab,
    server: Server,
}

impl Stage {
    async fn open(
        visit: &Visit,
        program: &std::path::Path,
        body: &str,
        files: &[(&str, String)],
    ) -> Stage {
        let server = Server::start(program).await;
        let site = Site::start(&server.url).await;
        site.put_page("/", &server.url, body);
        for (path, log) in files {
            site.put(path, "application/x-ndjson", log.clone());
        }
        let tab = visit.tab("page").await;
        tab.goto(&site.url).await;
        let stage = Stage { site, tab, server };
        stage
            .tab
            .wait_for(
                "<agent-feed> to be defined",
                LOAD_LIMIT,
                "!!__test.feed()?.scroller",
            )
            .await;
        stage
    }

    /// Shows a log from an address of the page's own origin.
    async fn show(&self, address: &str) {
        self.tab
            .run(&format!(
                "__test.feed().setAttribute('src', {})",
                json!(address)
            ))
            .await;
        self.tab
            .wait_for(
                "the log to be read",
                LOAD_LIMIT,
                "__test.feed().getAttribute('state') === 'ready'",
            )
            .await;
        self.rest().await;
    }

    /// Gives the element more lines of a log.
    async fn append(&self, log: &str) {
        self.tab
            .run(&format!("__test.feed().append({})", json!(log)))
            .await;
    }

    async fn rest(&self) {
        let calm: bool = self.tab.eval("__test.rest()").await;
        assert!(calm, "the feed comes to rest");
    }

    /// Nothing was asked for but from the page's own origin and the script's.
    fn assert_no_request_out(&self) {
        let elsewhere: Vec<_> = self
            .tab
            .requests()
            .into_iter()
            .filter(|sent| {
                !sent.url.starts_with(&self.site.url)
                    && !sent.url.starts_with(&self.server.url)
                    && sent.url != "data:,"
            })
            .collect();
        assert!(
            elsewhere.is_empty(),
            "requests left the page: {elsewhere:?}"
        );
    }
}

fn on_stage<F>(
    name: &'static str,
    body: &'static str,
    files: Vec<(&'static str, String)>,
    play: impl FnOnce(Stage) -> F,
) where
    F: Future<Output = ()>,
{
    let Some(program) = server::turnreel() else {
        return;
    };
    in_browser(name, Duration::from_secs(150), async |visit: Arc<Visit>| {
        let stage = Stage::open(&visit, &program, body, &files).await;
        play(stage).await;
    });
}

/// Mounted rows, and how far they reach beyond the scroller's edges, in its heights; measured once at rest.
const MOUNTED: &str = "(() => {
    const scroller = __test.feed().scroller, box = scroller.getBoundingClientRect();
    const rows = __test.rows().map((row) => row.getBoundingClientRect()).filter((row) => row.height > 0);
    const tops = rows.map((row) => row.top), bottoms = rows.map((row) => row.bottom);
    return {
        n: __test.rows().length,
        above: (box.top - Math.min(...tops)) / box.height,
        below: (Math.max(...bottoms) - box.bottom) / box.height,
        tallest: Math.max(...rows.map((row) => row.height)) / box.height,
        covered: Math.min(...tops) <= box.top + 1 && Math.max(...bottoms) >= Math.min(box.bottom, box.top + scroller.scrollHeight) - 60,
    };
})()";

#[test]
fn mounted_rows_fill_window_and_overscan_however_long_the_session_is() {
    let files = vec![
        ("/1k.jsonl", log_of("short", 1_000)),
        ("/50k.jsonl", log_of("long", 50_000)),
    ];
    on_stage("mounted_rows", FEED, files, async |stage| {
        let mut most = Vec::new();
        for address in ["/1k.jsonl", "/50k.jsonl"] {
            stage.show(address).await;
            let mut n_most = 0;
            for share in [1.0, 0.0, 0.2, 0.5, 0.77, 0.95] {
                stage
                    .tab
                    .run(&format!("const s = __test.feed().scroller; s.scrollTop = (s.scrollHeight - s.clientHeight) * {share}; await __test.frames(2);"))
                    .await;
                stage.rest().await;
                let mounted: Value = stage.tab.eval(MOUNTED).await;
                let number = |name: &str| mounted[name].as_f64().expect("a number");
                let reach = OVERSCAN + number("tallest") + 0.05;
                assert!(
                    number("above") <= reach && number("below") <= reach,
                    "{address} at {share}: {mounted}"
                );
                assert_eq!(
                    mounted["covered"],
                    json!(true),
                    "{address} at {share}: the window is filled: {mounted}"
                );
                n_most = n_most.max(mounted["n"].as_u64().expect("a count"));
            }
            most.push(n_most);
        }
        let (short, long) = (most[0], most[1]);
        assert!(
            long <= short + short / 4 + 8,
            "50k events mount {long} rows, 1k events {short}"
        );
        let rows: u64 = stage.tab.eval("__test.feed().rowCount").await;
        assert!(rows > 10_000, "the long session has {rows} rows");
    });
}

/// Records what becomes of the rows from now on; `__records()` gives and forgets it.
const OBSERVE: &str = "
    const root = __test.feed().shadowRoot, kept = [];
    const inRow = (node) => !!(node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest('.row');
    const observer = new MutationObserver((records) => kept.push(...records));
    observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
    window.__records = () => {
        kept.push(...observer.takeRecords());
        const rows = kept.splice(0).filter((record) => inRow(record.target));
        const count = (type) => rows.filter((record) => record.type === type).length;
        return { text: count('characterData'), lists: count('childList'), attributes: count('attributes'),
            nodes: new Set(rows.filter((record) => record.type === 'characterData').map((record) => record.target)).size };
    };";

#[test]
fn a_token_of_streamed_text_changes_one_text_node() {
    on_stage("one_text_node", FEED, vec![], async |stage| {
        let place = json!({"turnId": "t", "responseId": "r"});
        let mut writer = Writer::new("tokens");
        writer.turn(1);
        writer.event(
            "assistant_chunk",
            &place,
            &json!({"text": "It begins here"}),
        );
        stage.append(&writer.take()).await;
        stage.rest().await;
        stage.tab.run(OBSERVE).await;
        for token in [
            " and",
            " goes",
            " on with <b>words</b>",
            ", and &amp; more",
            " 漢字",
            ".",
        ] {
            writer.event("assistant_chunk", &place, &json!({"text": token}));
            stage.append(&writer.take()).await;
            stage.rest().await;
            let records: Value = stage.tab.eval("__records()").await;
            assert_eq!(
                records,
                json!({"text": 1, "lists": 0, "attributes": 0, "nodes": 1}),
                "for {token:?}"
            );
        }
        // The final text is the one the chunks built: nothing on the page changes but the mark of streaming.
        let shown: String = stage.tab.eval("__test.rows().map((row) => row.textContent).filter((text) => text.includes('It begins here')).join('|')").await;
        assert_eq!(
            shown,
            "It begins here and goes on with <b>words</b>, and &amp; more 漢字."
        );
        // In a block of code, too, a token is one change of one text node.
        writer.event(
            "assistant_chunk",
            &place,
            &json!({"text": "\n\n```rust\nfn main() {"}),
        );
        stage.append(&writer.take()).await;
        stage.rest().await;
        let _: Value = stage.tab.eval("__records()").await;
        writer.event("assistant_chunk", &place, &json!({"text": " println!("}));
        stage.append(&writer.take()).await;
        stage.rest().await;
        let records: Value = stage.tab.eval("__records()").await;
        assert_eq!(
            records,
            json!({"text": 1, "lists": 0, "attributes": 0, "nodes": 1}),
            "in code"
        );
    });
}

#[test]
fn events_reach_the_rows_at_most_once_a_frame() {
    on_stage("once_a_frame", FEED, vec![], async |stage| {
        let place = json!({"turnId": "t", "responseId": "r"});
        let mut writer = Writer::new("burst");
        writer.event("assistant_chunk", &place, &json!({"text": "Begin"}));
        stage.append(&writer.take()).await;
        stage.rest().await;
        stage.tab.run(OBSERVE).await;
        let mut tokens = Vec::new();
        let mut expected = "Begin".to_owned();
        for at in 0..600 {
            expected.push_str(&format!(" {at}"));
            writer.event(
                "assistant_chunk",
                &place,
                &json!({"text": format!(" {at}")}),
            );
            tokens.push(writer.take());
        }
        // Each token in a task of its own, many of them within one frame.
        let burst = format!(
            "(async () => {{
                const tokens = {}, channel = new MessageChannel();
                let frames = 0, running = true;
                const tick = () => {{ frames += 1; if (running) requestAnimationFrame(tick); }};
                await __test.frames(2);
                requestAnimationFrame(tick);
                const next = () => new Promise((done) => {{ channel.port1.onmessage = done; channel.port2.postMessage(0); }});
                for (const token of tokens) {{ __test.feed().append(token); await next(); }}
                running = false;
                await __test.frames(3);
                return {{ frames, ...__records() }};
            }})()",
            json!(tokens)
        );
        let records: Value = stage.tab.eval(&burst).await;
        let (frames, changes) = (
            records["frames"].as_u64().expect("frames"),
            records["text"].as_u64().expect("changes"),
        );
        assert!(
            changes <= frames + 2,
            "{changes} changes of text in {frames} frames: {records}"
        );
        assert!(changes < 600, "tokens were gathered: {records}");
        assert_eq!(records["lists"], json!(0), "{records}");
        let shown: String = stage.tab.eval("__test.rows().map((row) => row.textContent).find((text) => text.startsWith('Begin'))").await;
        assert_eq!(shown, expected);
    });
}

/// Chooses the first row that begins on the screen and remembers where it is.
const HOLD: &str = "
    window.__held = __test.rows().find((row) => row.getBoundingClientRect().top >= __test.feed().scroller.getBoundingClientRect().top);
    window.__heldTop = __held.getBoundingClientRect().top;";

/// The farthest that the row has been from its place, over some frames in which things settle.
const MOVED: &str = "(async () => {
    let farthest = 0;
    for (let at = 0; at < 20; at += 1) {
        await __test.drawn();
        if (!__held.isConnected) return 1e9;
        farthest = Math.max(farthest, Math.abs(__held.getBoundingClientRect().top - __heldTop));
    }
    return farthest;
})()";

const POSITIONS: [f64; 5] = [0.08, 0.3, 0.5, 0.72, 0.93];

async fn scroll_to_share(stage: &Stage, share: f64) {
    // A wheel first: the reader's own scrolling ends following.
    stage.tab.wheel((500.0, 300.0), -400.0).await;
    stage.rest().await;
    stage
        .tab
        .run(&format!("const s = __test.feed().scroller; s.scrollTop = (s.scrollHeight - s.clientHeight) * {share}; await __test.frames(3);"))
        .await;
    stage.rest().await;
}

#[test]
fn what_the_reader_sees_stays_when_events_arrive() {
    on_stage("stays_on_arrival", FEED, vec![], async |stage| {
        let mut writer = Writer::new("arrivals");
        for number in 1..=60 {
            writer.turn(number);
        }
        stage.append(&writer.take()).await;
        stage.rest().await;
        for (at, share) in POSITIONS.into_iter().enumerate() {
            scroll_to_share(&stage, share).await;
            stage.tab.run(HOLD).await;
            for number in 0..3 {
                writer.turn(1000 + at as u64 * 10 + number);
                stage.append(&writer.take()).await;
            }
            let moved: f64 = stage.tab.eval(MOVED).await;
            assert!(moved <= 1.0, "at {share} the row moved by {moved} px");
        }
    });
}

#[test]
fn what_the_reader_sees_stays_when_rows_above_it_grow() {
    on_stage("stays_when_above_grows", FEED, vec![], async |stage| {
        let mut writer = Writer::new("growth");
        let place = json!({"turnId": "t1", "responseId": "r1"});
        for number in 1..=40 {
            // A command that still runs above every few turns: its card is open and grows with its output.
            let call = format!("running-{number}");
            writer.event("tool_call", &place, &json!({"toolCallId": call, "toolName": "Bash", "kind": "execute", "args": {"command": "watch"}}));
            writer.event(
                "tool_output_chunk",
                &place,
                &json!({"toolCallId": call, "chunk": "first line\n"}),
            );
            let text = json!({"text": words(number, 60)});
            writer.event(
                "assistant_done",
                &json!({"turnId": "t1", "responseId": format!("r{number}")}),
                &text,
            );
        }
        stage.append(&writer.take()).await;
        stage.rest().await;
        let mut n_grown = 0;
        for share in POSITIONS {
            scroll_to_share(&stage, share).await;
            stage.tab.run(HOLD).await;
            let before: f64 = stage.tab.eval("__test.feed().scroller.scrollHeight").await;
            // Every running command grows whose card ends above the screen, mounted or not.
            let first_on_screen: u64 = stage
                .tab
                .eval("(() => {
                    const top = __test.feed().scroller.getBoundingClientRect().top;
                    const card = __test.rows().find((row) => row.matches('.tool-call') && row.getBoundingClientRect().bottom > top);
                    return Number(card?.dataset.toolCallId.split('-')[1] ?? 41);
                })()")
                .await;
            for number in 1..first_on_screen {
                writer.event("tool_output_chunk", &place, &json!({"toolCallId": format!("running-{number}"), "chunk": lines(number, 3) + "\n"}));
            }
            stage.append(&writer.take()).await;
            let moved: f64 = stage.tab.eval(MOVED).await;
            assert!(moved <= 1.0, "at {share} the row moved by {moved} px");
            let after: f64 = stage.tab.eval("__test.feed().scroller.scrollHeight").await;
            n_grown += usize::from(after > before + 10.0);
        }
        assert!(n_grown > 0, "something grew");
    });
}

#[test]
fn opening_a_card_keeps_its_header_where_it_is() {
    on_stage(
        "opening_keeps_header",
        FEED,
        vec![("/log.jsonl", log_of("cards", 2_000))],
        async |stage| {
            stage.show("/log.jsonl").await;
            for share in POSITIONS {
                scroll_to_share(&stage, share).await;
                let found: bool = stage
                .tab
                .eval("(async () => {
                    const closed = () => __test.rows().filter((row) => row.matches('.tool-call') && row.querySelector('[aria-expanded=false]'));
                    window.__held = closed()[0];
                    if (!__held) return false;
                    __test.feed().goToEvent(Number(__held.dataset.eventId.slice(1)) - 1);
                    await __test.rest();
                    window.__heldTop = __held.getBoundingClientRect().top;
                    const box = __test.feed().scroller.getBoundingClientRect();
                    return __held.isConnected && __heldTop > box.top && __heldTop < box.bottom - 40;
                })()")
                .await;
                assert!(found, "a closed card is brought into view at {share}");
                for open in [true, false, true] {
                    stage
                        .tab
                        .click("__held.querySelector('[aria-expanded]')")
                        .await;
                    let moved: f64 = stage.tab.eval(MOVED).await;
                    assert!(
                        moved <= 1.0,
                        "at {share} the card's header moved by {moved} px"
                    );
                    let expanded: String = stage
                        .tab
                        .eval(
                            "__held.querySelector('[aria-expanded]').getAttribute('aria-expanded')",
                        )
                        .await;
                    assert_eq!(expanded, open.to_string());
                }
            }
        },
    );
}

#[test]
fn rows_that_are_measured_for_the_first_time_do_not_move_what_is_read() {
    on_stage(
        "late_measurement",
        FEED,
        vec![("/log.jsonl", log_of("late", 6_000))],
        async |stage| {
            stage.show("/log.jsonl").await;
            for share in POSITIONS {
                scroll_to_share(&stage, share).await;
                // Upwards into rows that were never measured, half a screen at a time.
                for _ in 0..8 {
                    let strayed: f64 = stage
                    .tab
                    .eval("(async () => {
                        const scroller = __test.feed().scroller, box = scroller.getBoundingClientRect();
                        const row = __test.rows().find((row) => row.getBoundingClientRect().top > box.top);
                        const before = row.getBoundingClientRect().top;
                        scroller.scrollTop -= 250;
                        let farthest = 0;
                        for (let at = 0; at < 12; at += 1) {
                            await __test.drawn();
                            if (!row.isConnected) return 1e9;
                            farthest = Math.max(farthest, Math.abs(row.getBoundingClientRect().top - before - 250));
                        }
                        return farthest;
                    })()")
                    .await;
                    assert!(
                        strayed <= 1.0,
                        "at {share} a row strayed by {strayed} px from where it was scrolled to"
                    );
                }
            }
        },
    );
}

const FROM_END: &str = "(() => { const s = __test.feed().scroller; return s.scrollHeight - s.clientHeight - s.scrollTop; })()";

#[test]
fn the_feed_follows_its_end_until_the_reader_scrolls_up() {
    on_stage("follow", FEED, vec![], async |stage| {
        let mut writer = Writer::new("follow");
        for number in 1..=20 {
            writer.turn(number);
        }
        stage.append(&writer.take()).await;
        stage.rest().await;
        for number in 21..=23 {
            writer.turn(number);
            stage.append(&writer.take()).await;
            stage.rest().await;
            let from_end: f64 = stage.tab.eval(FROM_END).await;
            assert!(
                from_end.abs() <= 1.0,
                "while following the end is {from_end} px away"
            );
        }
        let pill: bool = stage.tab.eval("!!__test.visible('.pill')").await;
        assert!(!pill, "no pill while following");

        stage.tab.wheel((500.0, 300.0), -900.0).await;
        stage.rest().await;
        let from_end: f64 = stage.tab.eval(FROM_END).await;
        assert!(
            from_end > 500.0,
            "the wheel went up: {from_end} px from the end"
        );
        stage.tab.run(HOLD).await;
        let rows_before: u64 = stage.tab.eval("__test.feed().rowCount").await;
        writer.turn(24);
        writer.turn(25);
        stage.append(&writer.take()).await;
        let moved: f64 = stage.tab.eval(MOVED).await;
        assert!(
            moved <= 1.0,
            "following has stopped, but the row moved by {moved} px"
        );
        let rows_after: u64 = stage.tab.eval("__test.feed().rowCount").await;
        let label: String = stage
            .tab
            .eval("__test.visible('.pill')?.textContent ?? ''")
            .await;
        let counted: String = label.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(
            counted,
            (rows_after - rows_before).to_string(),
            "the pill counts what came: {label:?}"
        );

        stage.tab.click("__test.visible('.pill')").await;
        stage.rest().await;
        let from_end: f64 = stage.tab.eval(FROM_END).await;
        assert!(
            from_end.abs() <= 1.0,
            "the pill leads to the end: {from_end} px away"
        );
        writer.turn(26);
        stage.append(&writer.take()).await;
        stage.rest().await;
        let from_end: f64 = stage.tab.eval(FROM_END).await;
        assert!(
            from_end.abs() <= 1.0,
            "and it is followed again: {from_end} px away"
        );
    });
}

#[test]
fn cards_that_open_at_the_end_leave_the_window_filled() {
    let log = log_of("filled", 1_000);
    on_stage("filled", FEED, vec![("/log.jsonl", log)], async |stage| {
        stage.show("/log.jsonl").await;
        for open in [true, false] {
            let n_toggled: usize = stage
                .tab
                .eval(&format!(
                    "(() => {{
                        const cards = __test.all('.row [aria-expanded={}]', __test.feed().shadowRoot);
                        for (const card of cards) card.click();
                        return cards.length;
                    }})()",
                    !open
                ))
                .await;
            assert!(n_toggled > 1, "cards are on the screen");
            stage.rest().await;
            let mounted: Value = stage.tab.eval(MOUNTED).await;
            assert_eq!(mounted["covered"], json!(true), "open: {open}: {mounted}");
        }
    });
}

#[test]
fn what_is_mounted_is_painted() {
    // All of the corpus: what is not painted depends on what is there.
    let log = hostile_log(&hostile_payloads(1));
    on_stage("painted", FEED, vec![("/log.jsonl", log)], async |stage| {
        stage.show("/log.jsonl").await;
        // Somebody else scrolls far away while the end is followed; the list goes back, and cards grow meanwhile.
        stage
            .tab
            .run(
                "__test.feed().scroller.scrollTop = 0;
                await __test.frames(2);
                for (const card of __test.all('.row [aria-expanded=false]', __test.feed().shadowRoot)) card.click();
                await __test.frames(2);",
            )
            .await;
        stage.rest().await;
        stage.tab.run("await __test.sleep(300)").await;
        let painted = stage.tab.pixels().await;
        // A layer of its own is painted from nothing.
        stage
            .tab
            .run(
                "const style = __test.feed().scroller.style;
                style.transform = 'translateZ(0)';
                await __test.frames(3);
                style.transform = '';
                await __test.frames(3);",
            )
            .await;
        let painted_anew = stage.tab.pixels().await;
        assert!(painted == painted_anew, "some rows were not painted");
    });
}

#[test]
fn a_card_that_was_opened_is_open_when_the_reader_comes_back() {
    on_stage(
        "opened_stays",
        FEED,
        vec![("/log.jsonl", log_of("opened", 8_000))],
        async |stage| {
            stage.show("/log.jsonl").await;
            scroll_to_share(&stage, 0.5).await;
            let (name, event): (String, String) = stage
            .tab
            .eval("(() => {
                const row = __test.rows().find((row) => row.matches('.tool-call[data-kind=read]') && row.querySelector('[aria-expanded=false]'));
                row.querySelector('[aria-expanded]').click();
                return [row.dataset.toolCallId, row.dataset.eventId];
            })()")
            .await;
            let row = format!("__test.one('.tool-call[data-tool-call-id={name}]')");
            stage
                .tab
                .wait_for(
                    "the card to open",
                    SHORT,
                    &format!("{row}?.querySelector('[aria-expanded=true]')?.isConnected"),
                )
                .await;
            stage
                .tab
                .run("__test.feed().scroller.scrollTop = 0; await __test.frames(3);")
                .await;
            stage.rest().await;
            let mounted: bool = stage.tab.eval(&format!("!!{row}")).await;
            assert!(!mounted, "far away its row is not mounted");
            let event_idx: u64 = event[1..].parse::<u64>().expect("events are numbered") - 1;
            let rank: i64 = stage
                .tab
                .eval(&format!("__test.feed().goToEvent({event_idx})"))
                .await;
            assert!(rank > 0, "the event is found");
            stage.rest().await;
            let expanded: String = stage.tab.eval(&format!("{row}?.querySelector('[aria-expanded]')?.getAttribute('aria-expanded') ?? 'gone'")).await;
            assert_eq!(expanded, "true");
            let body: String = stage
                .tab
                .eval(&format!("{row}.querySelector('.body')?.textContent ?? ''"))
                .await;
            assert!(body.contains("part_"), "and shows its body: {body:?}");
        },
    );
}

/// Texts that would run, load or break out wherever they were taken for markup, an address or a terminal's.
const HOSTILE: [&str; 12] = [
    "<script>window.__pwned=1</script>",
    "<img src=x onerror=\"window.__pwned=1\">",
    "<svg onload=window.__pwned=1><a href=\"javascript:window.__pwned=1\">x</a></svg>",
    "\"><iframe srcdoc=\"<script>parent.__pwned=1</script>\"></iframe>",
    "' onmouseover='window.__pwned=1' style='background:url(//x.invalid/__pwned)'",
    "[click](javascript:window.__pwned=1) ![x](https://x.invalid/__pwned.png)",
    "</textarea></style></script><form action=//x.invalid/__pwned><input name=cookie>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.__pwned=1>",
    "\u{1b}]8;;javascript:window.__pwned=1\u{7}link\u{1b}]8;;\u{7}\u{1b}[2J\u{1b}[31mred",
    "<link rel=stylesheet href=//x.invalid/__pwned.css><meta http-equiv=refresh content=0;//x.invalid>",
    "{{constructor.constructor('window.__pwned=1')()}} ${window.__pwned=1}",
    "\u{202e}txt.__pwned\u{202c} <base href=//x.invalid/> <object data=//x.invalid/__pwned>",
];

/// Elements that content must never become.
const FORBIDDEN: &str = "script,iframe,object,embed,base,meta,link,form,style,img,video,audio,source,frame,frameset,applet,math,template,slot,marquee,input,textarea,select,dialog";

#[test]
fn hostile_content_is_text_and_nothing_else() {
    // All of them take a minute.
    let step = if std::env::var_os("TURNREEL_FULL").is_some() {
        1
    } else {
        4
    };
    let log = hostile_log(&hostile_payloads(step));
    on_stage(
        "hostile",
        FEED,
        vec![("/hostile.jsonl", log)],
        async |stage| {
            stage
            .tab
            .run(&format!(
                "window.__found = [];
                for (const name of ['alert', 'confirm', 'prompt', 'open']) window[name] = () => {{ __found.push(name + ' was called'); }};
                const look = (node) => {{
                    if (node.nodeType !== Node.ELEMENT_NODE) return;
                    for (const element of [node, ...node.querySelectorAll('*')]) {{
                        if (element.matches({})) __found.push(element.outerHTML.slice(0, 120));
                        for (const attribute of element.attributes) {{
                            if (attribute.name.startsWith('on')) __found.push(attribute.name + '=' + attribute.value.slice(0, 80));
                            if (['href', 'src', 'xlink:href', 'action', 'formaction', 'style', 'id', 'name'].includes(attribute.name)
                                && /__pwned|x\\.invalid|javascript:/i.test(attribute.value)) __found.push(attribute.name + '=' + attribute.value.slice(0, 80));
                        }}
                    }}
                }};
                new MutationObserver((records) => {{ for (const record of records) for (const node of record.addedNodes) look(node); }})
                    .observe(__test.feed().shadowRoot, {{ subtree: true, childList: true }});
                look(document.documentElement.querySelector('body'));
                window.__found = [];",
                json!(FORBIDDEN)
            ))
            .await;
            stage.show("/hostile.jsonl").await;
            scroll_to_share(&stage, 0.0).await;
            // Through the whole session, every card opened on the way.
            let walked: Value = stage
            .tab
            .eval("(async () => {
                const scroller = __test.feed().scroller;
                let texts = '', steps = 0, opened = 0;
                for (; steps < 4000; steps += 1) {
                    await __test.frames(2);
                    for (const button of __test.all('.row [aria-expanded=false]', __test.feed().shadowRoot)) { button.click(); opened += 1; }
                    await __test.frames(2);
                    texts += __test.rows().map((row) => row.textContent).join('\\n');
                    if (scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 2) break;
                    scroller.scrollTop += scroller.clientHeight * 0.9;
                }
                return { steps, opened, seen: (texts.match(/__pwned/g) ?? []).length, ended: steps < 4000 };
            })()")
            .await;
            assert_eq!(
                walked["ended"],
                json!(true),
                "the walk came to its end: {walked}"
            );
            assert!(
                walked["opened"].as_u64().unwrap_or(0) > 50,
                "cards were opened: {walked}"
            );
            assert!(
                walked["seen"].as_u64().unwrap_or(0) > 100,
                "the content was shown, as text: {walked}"
            );
            let text: String = stage
                .tab
                .eval("__test.feed().serializeRows({ maskTimes: true })")
                .await;
            assert!(
                text.contains("window.__pwned"),
                "and is in the serialized rows"
            );
            let found: Vec<String> = stage.tab.eval("__found").await;
            assert!(found.is_empty(), "content became markup: {found:#?}");
            let pwned: bool = stage.tab.eval("'__pwned' in window").await;
            assert!(!pwned, "content ran");
            let address: String = stage.tab.eval("location.href").await;
            assert_eq!(
                address.trim_end_matches('/'),
                stage.site.url,
                "the page was not led away"
            );
            stage.assert_no_request_out();
            let asked: Vec<String> = stage.site.asked();
            assert!(
                asked
                    .iter()
                    .all(|line| ["GET /", "GET /page.css", "GET /hostile.jsonl"]
                        .contains(&line.as_str())),
                "{asked:?}"
            );
        },
    );
}

/// Every `step`-th text of the corpus where it lies beside the checkout, else a few of each sort.
fn hostile_payloads(step: usize) -> Vec<String> {
    let shared = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let path = shared.join("corpora/own/xss-feed.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!(
            "no corpus at {}: a few texts of our own instead",
            path.display()
        );
        return HOSTILE.map(str::to_owned).to_vec();
    };
    let payloads = text.lines().step_by(step).map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line of the corpus");
        // Length is another test's subject.
        let payload = line["payload"].as_str().expect("a payload");
        payload.chars().take(1500).collect()
    });
    payloads.collect()
}

/// Each payload in a turn of its own, in every place where content is shown.
fn hostile_log(payloads: &[String]) -> String {
    let mut writer = Writer::new("hostile");
    for (at, bad) in payloads.iter().enumerate() {
        let turn = json!({"turnId": format!("t{at}{bad}")});
        let place = json!({"turnId": format!("t{at}{bad}"), "responseId": format!("r{at}{bad}"), "agentId": bad});
        let call = |name: &str| format!("{name}{at}{bad}");
        writer.event("session_start", &json!({}), &json!({"agent": bad, "model": bad, "cwd": bad, "title": bad, "gitBranch": bad, "provider": "x"}));
        writer.event("turn_start", &turn, &json!({"trigger": bad}));
        writer.event(
            "user_message",
            &turn,
            &json!({"text": bad, "attachments": [{"name": bad, "mediaType": bad, "data": bad}]}),
        );
        writer.event("thinking_done", &place, &json!({"text": bad}));
        writer.event(
            "assistant_chunk",
            &place,
            &json!({"text": format!("{bad} ")}),
        );
        writer.event("assistant_done", &place, &json!({"text": format!("{bad}\n\n# {bad}\n\n```{bad}\n{bad}\n```\n\n[{bad}]({bad}) ![{bad}]({bad})"), "part": 1}));
        writer.event("tool_call", &place, &json!({"toolCallId": call("a"), "toolName": bad, "title": bad, "kind": "execute", "args": {"command": bad, bad.as_str(): bad}}));
        writer.event(
            "tool_output_chunk",
            &place,
            &json!({"toolCallId": call("a"), "chunk": bad}),
        );
        writer.event(
            "tool_result",
            &place,
            &json!({"toolCallId": call("a"), "result": bad, "summary": bad}),
        );
        writer.event("tool_call", &place, &json!({"toolCallId": call("b"), "toolName": "Read", "kind": "read", "args": {"file_path": bad}}));
        writer.event("tool_result", &place, &json!({"toolCallId": call("b"), "result": {"content": bad, bad.as_str(): [bad]}, "error": {"code": bad, "message": bad}}));
        let diff = format!("--- a/{bad}\n+++ b/{bad}\n@@ -1 +1 @@ {bad}\n-{bad}\n+{bad}{bad}\n");
        writer.event("file_edit", &place, &json!({"toolCallId": call("c"), "filePath": bad, "oldPath": format!("{bad}.old"), "changeType": "renamed", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}));
        writer.event("agent_message", &place, &json!({"messageId": call("m"), "targetAgentId": bad, "targetSessionId": bad, "message": bad, "wait": true}));
        writer.event("agent_callback", &place, &json!({"messageId": call("m"), "fromAgentId": bad, "fromSessionId": bad, "result": bad}));
        writer.event("permission_request", &place, &json!({"requestId": call("p"), "toolName": bad, "title": bad, "args": {"command": bad}, "reason": bad, "options": [{"id": bad, "label": bad, "kind": bad}]}));
        writer.event("question_request", &place, &json!({"requestId": call("q"), "questions": [{"id": "1", "header": bad, "text": bad, "options": [{"label": bad, "description": bad}]}]}));
        writer.event(
            "plan",
            &place,
            &json!({"entries": [{"content": bad, "status": bad}]}),
        );
        writer.event("progress", &place, &json!({"message": bad}));
        writer.event("error", &place, &json!({"code": bad, "message": bad}));
        writer.event(
            "notice",
            &place,
            &json!({"level": "warning", "text": bad, "source": bad}),
        );
        writer.event(
            "raw",
            &place,
            &json!({"format": bad, "value": {bad.as_str(): bad}}),
        );
        writer.event(bad, &place, &json!({"text": bad}));
        writer.event("interrupt", &turn, &json!({"reason": bad}));
        writer.event("turn_end", &turn, &json!({"outcome": bad}));
    }
    writer.take()
}

#[test]
fn one_script_shows_sessions_in_a_page_of_another_origin() {
    let body = "<p>before</p><agent-feed id=\"one\" src=\"/one.jsonl\"></agent-feed><agent-feed id=\"two\" src=\"/two.jsonl\"></agent-feed>";
    let files = vec![
        ("/one.jsonl", log_of("one", 200)),
        ("/two.jsonl", log_of("two", 400)),
    ];
    on_stage("embed", body, files, async |stage| {
        stage
            .tab
            .wait_for(
                "both logs to be read",
                LOAD_LIMIT,
                "__test.feeds().every((feed) => feed.getAttribute('state') === 'ready')",
            )
            .await;
        let counts: Vec<u64> = stage
            .tab
            .eval("__test.feeds().map((feed) => feed.eventCount)")
            .await;
        assert!(counts[0] >= 200 && counts[1] >= 400, "{counts:?}");
        let shown: Vec<String> = stage
            .tab
            .eval("__test.feeds().map((feed) => __test.text(feed))")
            .await;
        assert!(
            shown.iter().all(|text| text.contains("cargo test part_")),
            "{shown:?}"
        );
        // Nothing of the element reaches the page around it.
        let around: String = stage.tab.eval("document.body.innerText").await;
        assert!(around.contains("before"), "{around}");
        let sheets: usize = stage.tab.eval("document.adoptedStyleSheets.length").await;
        assert_eq!(sheets, 0);
        stage
            .tab
            .run("for (const feed of __test.feeds()) feed.remove(); await __test.frames(2);")
            .await;
        let left: usize = stage.tab.eval("__test.feeds().length").await;
        assert_eq!(left, 0);
        stage.assert_no_request_out();
        assert!(
            stage.tab.network_errors().is_empty(),
            "{:?}",
            stage.tab.network_errors()
        );
    });
}
