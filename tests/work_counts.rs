//! How much work it is to read and reduce a log, counted and not timed: allocations, bytes, instructions.
//!
//! The log is generated and always the same. A bound that is met with room to spare should be lowered.
#![cfg(not(target_arch = "wasm32"))]
#![allow(unsafe_code, reason = "an allocator that counts is one")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a promise that is not kept fails its test"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write as _;
use std::process::Command;

use chat_feed::ChatRenderer;
use chat_normalize::{Head, LogReader};
use serde_json::json;

/// What one thread asked of the allocator.
#[derive(Clone, Copy, Default)]
struct Asked {
    n_times: usize,
    /// A block that grows counts by how much.
    n_bytes: usize,
    /// Less what was given back.
    n_held: isize,
}

thread_local! {
    static ASKED: Cell<Asked> = const { Cell::new(Asked { n_times: 0, n_bytes: 0, n_held: 0 }) };
}

struct Counting;

fn note(from: usize, to: usize) {
    // A thread that ends has nothing to count with.
    let _ = ASKED.try_with(|asked| {
        let mut now = asked.get();
        now.n_times += usize::from(to > 0);
        now.n_bytes += to.saturating_sub(from);
        now.n_held += to.cast_signed() - from.cast_signed();
        asked.set(now);
    });
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(0, layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(layout.size(), 0);
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(layout.size(), size);
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Numbers that look as if by chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn words(&mut self, n_words: u64) -> String {
        const WORDS: [&str; 8] = [
            "queue ",
            "`offset` ",
            "the ",
            "高さ",
            "rebase ",
            "**now** ",
            "timeout, ",
            "row\n",
        ];
        let mut text = String::new();
        for _ in 0..n_words {
            // There are eight.
            #[allow(clippy::cast_possible_truncation)]
            text.push_str(WORDS[self.below(8) as usize]);
        }
        text
    }
}

/// A log of so many turns: live ones in pieces, stored ones whole.
fn log(n_turns: u32, live: bool) -> (String, usize) {
    let mut chance = Chance(7);
    let (mut log, mut n_events) = (String::new(), 0);
    for turn in 0..n_turns {
        let turn_id = format!("1781ca99-a3ef-4c6b-a4fd-{turn:012}");
        let mut say = |event_type: &str, response: Option<u32>, payload: serde_json::Value| {
            n_events += 1;
            let mut line = json!({
                "id": format!("bed9f3af-9a05-444c-aeb4-{n_events:012}"),
                "timestamp": 1_767_225_647_139_u64 + 31 * n_events as u64,
                "sessionId": "842acd2c-29cd-47fe-a9be-bf90bed1c8b3",
                "type": event_type,
                "turnId": turn_id,
            });
            if let Some(response) = response {
                line["responseId"] = json!(format!("06c9bec8-{turn:04}-403b-a733-{response:012}"));
            }
            line["payload"] = payload;
            let _ = writeln!(log, "{line}");
        };
        say("turn_start", None, json!({"trigger": "user"}));
        say("user_message", None, json!({"text": chance.words(30)}));
        for response in 0..5 {
            let call = format!("toolu_{turn:08}{response:08}");
            for event_type in ["thinking", "assistant"] {
                let text = chance.words(60);
                let pieces: Vec<char> = text.chars().collect();
                for piece in pieces.chunks(7).filter(|_| live) {
                    let text: String = piece.iter().collect();
                    say(
                        &format!("{event_type}_chunk"),
                        Some(response),
                        json!({"text": text}),
                    );
                }
                say(
                    &format!("{event_type}_done"),
                    Some(response),
                    json!({"text": text}),
                );
            }
            let args = json!({"file_path": "src/model/measure.rs", "offset": 197, "limit": 200});
            say(
                "tool_call",
                Some(response),
                json!({"toolCallId": call, "toolName": "Read", "args": args}),
            );
            let n_words = 40 + chance.below(900);
            let result = format!("\u{1b}[32mok\u{1b}[0m \"{}\"", chance.words(n_words));
            say(
                "tool_result",
                Some(response),
                json!({"toolCallId": call, "result": result}),
            );
            let diff = format!("@@ -1 +1 @@\n-{}\n+{}\n", response, chance.words(90));
            say(
                "file_edit",
                Some(response),
                json!({
                    "toolCallId": call, "filePath": "src/model/measure.rs", "changeType": "modified", "linesAdded": 1,
                    "linesRemoved": 1, "diffPreview": diff, "fullDiff": diff, "fullDiffAvailable": true,
                    "fullDiffSize": diff.len(),
                }),
            );
        }
        say(
            "turn_end",
            None,
            json!({"durationMs": 31, "outcome": "completed"}),
        );
    }
    (log, n_events)
}

/// Reads and reduces a log as the page does.
fn reduce(log: &str) -> ChatRenderer {
    let Head::Log(session_id) = Head::of(log.as_bytes()) else {
        panic!("the log is none")
    };
    let mut reader = LogReader::new(&session_id);
    let mut renderer = ChatRenderer::with_history();
    let (mut events, mut patches) = (Vec::new(), Vec::new());
    for piece in log.as_bytes().chunks(32 * 1024) {
        reader.push(piece, 0, &mut events);
        for event in &events {
            renderer.apply(event, &mut patches);
        }
        patches.clear();
        reader.give_back(std::mem::take(&mut events));
    }
    renderer
}

/// Allocations an event, bytes asked for and bytes held at the end, both in percent of the log's.
fn asked(live: bool) -> (f64, usize, usize) {
    let (log, n_events) = log(60, live);
    let before = ASKED.get();
    let renderer = reduce(&log);
    let after = ASKED.get();
    assert_eq!(renderer.event_count() as usize, n_events);
    renderer.check().expect("the feed is sound");
    let n_held = (after.n_held - before.n_held).unsigned_abs();
    #[allow(clippy::cast_precision_loss)]
    let n_times = (after.n_times - before.n_times) as f64 / n_events as f64;
    let of_log = |n_bytes: usize| n_bytes * 100 / log.len();
    let figures = (
        n_times,
        of_log(after.n_bytes - before.n_bytes),
        of_log(n_held),
    );
    println!("{n_events} events, {} bytes: {figures:?}", log.len());
    figures
}

#[test]
fn a_live_log_costs_few_allocations() {
    let (n_times, n_bytes, n_held) = asked(true);
    assert!(n_times < LIVE.0, "{n_times} allocations an event");
    assert!(
        n_bytes < LIVE.1,
        "{n_bytes} % of the log's bytes are allocated"
    );
    assert!(n_held < LIVE.2, "{n_held} % of the log's bytes are held");
}

#[test]
fn a_stored_log_costs_few_allocations() {
    let (n_times, n_bytes, n_held) = asked(false);
    assert!(n_times < STORED.0, "{n_times} allocations an event");
    assert!(
        n_bytes < STORED.1,
        "{n_bytes} % of the log's bytes are allocated"
    );
    assert!(n_held < STORED.2, "{n_held} % of the log's bytes are held");
}

/// Bounds of allocations an event, and of bytes asked for and held in percent of the log's.
const LIVE: (f64, usize, usize) = (1.75, 100, 48);
const STORED: (f64, usize, usize) = (13.7, 245, 150);

/// Bounds of instructions an event, as this test is built: without optimisation.
const LIVE_INSTRUCTIONS: u64 = 47_000;
const STORED_INSTRUCTIONS: u64 = 140_000;

/// What the test below is run with: how many turns the log has, of which kind it is, and what is done with it.
const ORDER: &str = "WORK_COUNTS_ORDER";

#[test]
fn a_log_that_is_ordered_is_made_and_reduced() {
    let Ok(order) = std::env::var(ORDER) else {
        return;
    };
    let order: Vec<&str> = order.split(' ').collect();
    let [n_turns, kind, what] = order[..] else {
        panic!("{order:?} is no order")
    };
    let (log, n_events) = log(n_turns.parse().expect("a number"), kind == "live");
    if what == "reduce" {
        assert_eq!(reduce(&log).event_count() as usize, n_events);
    }
}

/// Instructions that the test above takes; none where nothing can count them.
fn instructions(order: &str) -> Option<u64> {
    let out = tempfile::NamedTempFile::new().expect("a file");
    let run = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", out.path().display()))
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "a_log_that_is_ordered_is_made_and_reduced"])
        .env(ORDER, order)
        .output()
        .ok()?;
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{told}");
    let (_, collected) = told.rsplit_once("Collected :").expect("a sum");
    let sum = collected.split_whitespace().next().expect("a sum");
    Some(sum.parse().expect("a number"))
}

#[test]
fn an_event_costs_few_instructions() {
    const N_TURNS: u32 = 8;
    for (kind, most) in [("live", LIVE_INSTRUCTIONS), ("stored", STORED_INSTRUCTIONS)] {
        let made = instructions(&format!("{N_TURNS} {kind} make"));
        let reduced = instructions(&format!("{N_TURNS} {kind} reduce"));
        let (Some(made), Some(reduced)) = (made, reduced) else {
            println!("left out: valgrind is not installed, which counts instructions");
            return;
        };
        let n_events = log(N_TURNS, kind == "live").1 as u64;
        let spent = (reduced - made) / n_events;
        println!("{spent} instructions an event of a {kind} log");
        assert!(
            spent < most,
            "{spent} instructions an event of a {kind} log"
        );
    }
}
