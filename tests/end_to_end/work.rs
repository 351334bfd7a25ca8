//! What the page does for what is asked of it, counted: nodes made, layout read, text handed over. Counts are the same on
//! every machine, and what is counted here must not grow with the length of the session.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::FEED;
use crate::made_logs::{Writer, log_of};
use crate::stage::{Stage, on_stage};

/// Counts from now on; `__work()` gives the counts and begins again. Only what happens in the rows is counted: the strip
/// of the session is drawn by the clock.
const COUNT: &str = "
    const work = window.__counts ??= (() => {
        const work = { reads: 0 };
        const count = (prototype, name) => {
            const known = Object.getOwnPropertyDescriptor(prototype, name);
            const key = 'get' in known && known.get ? 'get' : 'value', real = known[key];
            Object.defineProperty(prototype, name, { ...known, [key](...values) {
                const inRows = this instanceof Element && this.closest('.scroller');
                if (inRows) work.reads++;
                return real.apply(this, values);
            } });
        };
        ['getBoundingClientRect', 'getClientRects', 'scrollTop', 'scrollHeight', 'clientHeight', 'clientWidth'].forEach((name) => count(Element.prototype, name));
        ['offsetTop', 'offsetHeight', 'offsetWidth'].forEach((name) => count(HTMLElement.prototype, name));
        return work;
    })();
    const rows = __test.one('.chat-log'), kept = [];
    const observer = new MutationObserver((records) => kept.push(...records));
    observer.observe(rows, { subtree: true, childList: true, characterData: true });
    const all = (node) => 1 + [...node.childNodes].reduce((sum, child) => sum + all(child), 0);
    window.__work = () => {
        kept.push(...observer.takeRecords());
        const records = kept.splice(0), made = new Set(records.flatMap((record) => [...record.addedNodes]));
        const inner = (node) => { for (let it = node.parentNode; it; it = it.parentNode) if (made.has(it)) return true; return false; };
        const nodes = [...made].filter((node) => !inner(node)).reduce((sum, node) => sum + all(node), 0);
        const reads = work.reads;
        work.reads = 0;
        return { nodes, reads };
    };
    __work();";

/// Nodes made and layout read, in that order, by what happened since the last time.
async fn work(stage: &Stage) -> [u64; 2] {
    let told: Value = stage.tab.eval("__work()").await;
    ["nodes", "reads"].map(|name| told[name].as_u64().expect("a count"))
}

#[test]
fn a_scrolled_screen_costs_the_same_in_a_short_and_in_a_long_session() {
    let files = vec![
        ("/1k.jsonl", log_of("short", 1_000)),
        ("/50k.jsonl", log_of("long", 50_000)),
    ];
    on_stage("scrolled_work", FEED, files, async |stage| {
        let mut costs = Vec::new();
        for address in ["/1k.jsonl", "/50k.jsonl"] {
            stage.show(address).await;
            // Both begin alike, so the same rows come into view.
            stage
                .tab
                .run("__test.feed().goToEvent(0); await __test.frames(2);")
                .await;
            stage.rest().await;
            stage.tab.run(COUNT).await;
            for _ in 0..8 {
                stage
                    .tab
                    .run("__test.feed().scroller.scrollTop += 300; await __test.frames(2);")
                    .await;
                stage.rest().await;
            }
            costs.push(work(&stage).await);
        }
        println!("nodes made and layout read for 2,400 px: {costs:?}");
        let [short, long] = [costs[0], costs[1]];
        assert!(
            short[0] > 0 && short[1] > 0,
            "something was counted: {short:?}"
        );
        // Some thirty rows: a line is a dozen elements and their words, and nothing that only holds a place.
        assert!(
            short[0].max(long[0]) <= 450,
            "{costs:?}: nodes made for what a wheel shows"
        );
        // Eight steps, each looked at twice or three times: no row asks where it stands.
        assert!(
            short[1].max(long[1]) <= 40,
            "{costs:?}: layout read for what a wheel shows"
        );
        for (of_short, of_long) in short.into_iter().zip(long) {
            // A frame more or less is chance; fifty times the session is not to be seen.
            assert!(
                of_long * 2 <= of_short * 3,
                "{costs:?}: what a screen costs grows with the session"
            );
        }
    });
}

/// Where rows stand within the block that holds them, by their names.
const WHERE_ROWS_STAND: &str = "(() => {
    const block = __test.one('.chat-log').getBoundingClientRect().top;
    return Object.fromEntries(__test.all('.chat-log [data-row]').map((row) =>
        [row.dataset.row, row.getBoundingClientRect().top - block]));
})()";

#[test]
fn rows_that_stay_are_not_moved_within_their_block_when_others_come_and_go() {
    let files = vec![("/log.jsonl", log_of("stays", 5_000))];
    on_stage("rows_stay", FEED, files, async |stage| {
        stage.show("/log.jsonl").await;
        stage
            .tab
            .run("__test.feed().goToEvent(2_000); await __test.frames(2);")
            .await;
        stage.rest().await;
        let mut before: BTreeMap<String, f64> = stage.tab.eval(WHERE_ROWS_STAND).await;
        let (mut n_came, mut n_went, mut n_steps_moved) = (0, 0, 0);
        for by_px in [400; 20].into_iter().chain([-400; 30]) {
            let scroll =
                format!("__test.feed().scroller.scrollTop += {by_px}; await __test.frames(2);");
            stage.tab.run(&scroll).await;
            stage.rest().await;
            let now: BTreeMap<String, f64> = stage.tab.eval(WHERE_ROWS_STAND).await;
            n_came += now.keys().filter(|row| !before.contains_key(*row)).count();
            n_went += before.keys().filter(|row| !now.contains_key(*row)).count();
            let shared = now
                .iter()
                .filter_map(|(row, top)| Some((row, *top, *before.get(row)?)));
            let shared: Vec<_> = shared.collect();
            assert!(shared.len() > 3, "{by_px} px leave most of what is mounted");
            let moved = |(_, now, before): &&(&String, f64, f64)| (now - before).abs() > 0.02;
            let n_moved = shared.iter().filter(moved).count();
            assert!(
                n_moved == 0 || n_moved == shared.len(),
                "after {by_px} px (row, now, before): {shared:?}"
            );
            n_steps_moved += usize::from(n_moved > 0);
            before = now;
        }
        // All at once where the space above them came to its end: of 20,000 px on the way, after some thousand at least.
        assert!(n_steps_moved <= 4, "{n_steps_moved} steps moved rows");
        assert!(n_came > 40 && n_went > 40, "{n_came} came, {n_went} went");
    });
}

#[test]
fn events_that_come_cost_the_same_behind_a_short_and_behind_a_long_session() {
    on_stage("live_work", FEED, vec![], async |stage| {
        let mut costs = Vec::new();
        for n_turns in [3, 300] {
            stage.tab.run("__test.feed().clear();").await;
            let mut writer = Writer::new("grows");
            for number in 1..=n_turns {
                writer.turn(number);
            }
            stage.append(&writer.take()).await;
            stage.rest().await;
            stage.tab.run(COUNT).await;
            let place = json!({"turnId": "last", "responseId": "last"});
            for number in 0..40 {
                let text = format!("Sentence number {number} of an answer that goes on.\n\n");
                writer.event("assistant_chunk", &place, &json!({ "text": text }));
                stage.append(&writer.take()).await;
                stage.tab.run("await __test.frames(2);").await;
            }
            stage.rest().await;
            costs.push(work(&stage).await);
        }
        println!("nodes made and layout read for 40 paragraphs: {costs:?}");
        let [short, long] = [costs[0], costs[1]];
        assert!(
            short[0] >= 40 && short[1] > 0,
            "something was counted: {short:?}"
        );
        for (of_short, of_long) in short.into_iter().zip(long) {
            assert!(
                of_long * 2 <= of_short * 3,
                "{costs:?}: what an event costs grows with the session"
            );
        }
    });
}

#[test]
fn following_the_end_keeps_no_timers_running() {
    on_stage("timers", FEED, vec![], async |stage| {
        let mut writer = Writer::new("timers");
        writer.turn(1);
        stage.append(&writer.take()).await;
        stage.rest().await;
        stage
            .tab
            .run(
                "const real = window.setTimeout;
                 window.timers = 0;
                 window.setTimeout = (...asked) => { window.timers++; return real(...asked); };",
            )
            .await;
        let place = json!({"turnId": "last", "responseId": "last"});
        // Faster than anyone reads: some hundred px in each frame.
        let text = "A sentence of an answer.\n\n".repeat(6);
        let pieces: Vec<String> = (0..180)
            .map(|_| {
                writer.event("assistant_chunk", &place, &json!({ "text": text }));
                writer.take()
            })
            .collect();
        let counts: Vec<u64> = stage
            .tab
            .eval(&format!(
                "(async () => {{
                    const counts = [];
                    for (const [at, piece] of {}.entries()) {{
                        __test.feed().append(piece);
                        await __test.frames(1);
                        if (at % 60 === 59) counts.push(window.timers), window.timers = 0;
                    }}
                    return counts;
                }})()",
                json!(pieces)
            ))
            .await;
        println!("timers for 60 pieces of text each: {counts:?}");
        // Whoever looks after the rest of a list looks ten times a second.
        assert!(counts[2] <= 120, "{counts:?}");
        assert!(counts[2] <= counts[0] * 2 + 10, "{counts:?}");
    });
}
