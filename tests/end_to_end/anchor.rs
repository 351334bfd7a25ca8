//! The reader's place: it stays where it is while events come in above, below and around it, and follows the end until the
//! reader leaves it.

use serde_json::json;

use crate::made_logs::{Writer, lines, log_of, words};
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

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

pub(crate) async fn scroll_to_share(stage: &Stage, share: f64) {
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
        let follows = "__test.one('.controls__follow')?.textContent";
        let is = format!("{follows} === 'Following'");
        stage.tab.wait_for("the bar to say so", SHORT, &is).await;

        stage.tab.wheel((500.0, 300.0), -900.0).await;
        stage.rest().await;
        let from_end: f64 = stage.tab.eval(FROM_END).await;
        assert!(
            from_end > 500.0,
            "the wheel went up: {from_end} px from the end"
        );
        let said: String = stage.tab.eval(follows).await;
        assert_eq!(said, "Follow");
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

/// Changes what stands above the held row at random, `rounds` times eight changes a frame, and tells the farthest it was
/// ever from its place, and how often each change was made.
const CHANGE_AT_RANDOM: &str = r"(async (seed, rounds) => {
    const feed = __test.feed(), scroller = feed.scroller;
    // xorshift: the same changes for the same seed.
    const below = (n) => { seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5; return (seed >>> 0) % n; };
    const place = { turnId: 't1', responseId: 'r1' };
    let next = 0;
    const event = (type, payload, more = place) => ({ id: `m${next += 1}`, timestamp: 1703002000000 + next, sessionId: 'random', type, ...more, payload });
    const made = { grown: 0, told: 0, begun: 0, taken: 0, toggled: 0, appended: 0 };
    const above = Number(__held.dataset.number);
    const added = [];
    const change = () => {
        const call = `running-${1 + below(above)}`;
        switch (below(6)) {
            case 0: made.grown += 1; return event('tool_output_chunk', { toolCallId: call, chunk: 'more of it\n'.repeat(1 + below(5)) });
            case 1: made.told += 1; return event('assistant_chunk', { text: 'and more words of it '.repeat(1 + below(12)), part: 'p' }, { turnId: 't1', responseId: `told-${1 + below(above)}` });
            case 2: {
                made.begun += 1;
                const diff = `@@ -1 +1,2 @@\n-old\n+new ${below(9)}\n+and more\n`;
                const begun = event('file_edit', { toolCallId: call, filePath: `src/${next}.rs`, changeType: 'modified', diff, linesAdded: 2, linesRemoved: 1 });
                added.push(begun.id);
                return begun;
            }
            case 3: {
                if (added.length < 4) return null;
                made.taken += 1;
                return event('retract', { eventIds: [added.splice(below(added.length), 1)[0]] });
            }
            case 4: {
                const top = scroller.getBoundingClientRect().top;
                const cards = __test.rows().filter((row) => row.getBoundingClientRect().bottom < top).flatMap((row) => [...row.querySelectorAll('[aria-expanded]')]);
                if (cards.length > 0) { made.toggled += 1; cards[below(cards.length)].click(); }
                return null;
            }
            default: made.appended += 1; return event('assistant_done', { text: 'A new answer at the end.' }, { turnId: 't1', responseId: `end-${next}` });
        }
    };
    let farthest = 0;
    for (let round = 0; round < rounds; round += 1) {
        const events = Array.from({ length: 8 }, change).filter(Boolean);
        if (events.length > 0) feed.append(events.map((it) => JSON.stringify(it) + '\n').join(''));
        await __test.drawn();
        if (!__held.isConnected) return { farthest: 1e9, round, made };
        farthest = Math.max(farthest, Math.abs(__held.getBoundingClientRect().top - __heldTop));
        if (farthest > 1) return { farthest, round, made };
    }
    return { farthest, round: rounds, made };
})";

#[test]
fn what_the_reader_sees_stays_whatever_changes_above_it_at_random() {
    // Ten thousand changes take most of a minute.
    let rounds = if std::env::var_os("TURNREEL_FULL").is_some() {
        1_250
    } else {
        250
    };
    let seed = std::env::var("TURNREEL_SEED").map_or(7, |seed| seed.parse().expect("a number"));
    on_stage("stays_at_random", FEED, vec![], async |stage| {
        let mut writer = Writer::new("random");
        let place = json!({"turnId": "t1", "responseId": "r1"});
        for number in 1..=30 {
            let call = format!("running-{number}");
            writer.event("tool_call", &place, &json!({"toolCallId": call, "toolName": "Bash", "kind": "execute", "args": {"command": "watch"}}));
            writer.event(
                "assistant_chunk",
                &json!({"turnId": "t1", "responseId": format!("told-{number}")}),
                &json!({"text": words(number, 30), "part": "p"}),
            );
            writer.event(
                "assistant_done",
                &json!({"turnId": "t1", "responseId": format!("done-{number}")}),
                &json!({"text": words(number, 60)}),
            );
        }
        stage.append(&writer.take()).await;
        stage.rest().await;
        for number in [8, 18, 28] {
            scroll_to_share(&stage, 0.5).await;
            // A finished answer, and how many running commands stand above it.
            stage
                .tab
                .run(&format!(
                    "__test.feed().goToEvent({number} * 3 - 1); await __test.rest();
                    window.__held = __test.rows().find((row) => row.dataset.eventId === 'e' + {number} * 3);
                    __held.dataset.number = {number};
                    window.__heldTop = __held.getBoundingClientRect().top;"
                ))
                .await;
            let told: serde_json::Value = stage
                .tab
                .eval(&format!("{CHANGE_AT_RANDOM}({seed}, {rounds} / 3)"))
                .await;
            let moved = told["farthest"].as_f64().expect("a distance");
            assert!(moved <= 1.0, "seed {seed}, at {number}: {told}");
            for change in ["grown", "told", "begun", "taken", "toggled", "appended"] {
                assert!(told["made"][change].as_u64() > Some(3), "{change}: {told}");
            }
        }
    });
}
