//! How fast a moment of a long session is found, and what looking back costs in memory.
//!
//! Measures, so it runs in release and on demand:
//! `TURNREEL_LOGS=a.jsonl,b.jsonl cargo test --release -p chat-feed --test all seek_speed -- --ignored --nocapture`

#[path = "../../chat-diff/tests/support/work.rs"]
mod work;

use std::time::Instant;

use chat_event::ChatEvent;
use chat_feed::arrangement::{Arrangement, Mode, RowChange};
use chat_feed::playback::Moment;
use chat_feed::viewport::HeightIndex;
use chat_feed::{ChatRenderer, FeedPatch};

use work::work_of;

/// Random, and the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(below.max(1))) as u32
    }
}

/// What a page does for a moment, without its screen: feed, arrangement, heights.
struct Page {
    moment: Moment,
    arrangement: Arrangement,
    heights: HeightIndex,
}

impl Page {
    fn seek(&mut self, live: &ChatRenderer, n_events: u32) {
        let mut patches = Vec::new();
        self.moment.seek(live, n_events, &mut patches);
        self.take(&patches);
    }

    fn take(&mut self, patches: &[FeedPatch]) {
        let mut changes = Vec::new();
        self.arrangement
            .apply(self.moment.feed(), patches, &mut changes);
        for change in changes {
            match change {
                RowChange::Inserted(id, after) => {
                    self.heights.insert_after(after, id, 40.0);
                }
                RowChange::Removed(id) => {
                    self.heights.remove(id);
                }
                RowChange::Changed(_) => {}
                RowChange::Cleared => self.heights.clear(),
            }
        }
    }
}

fn percentile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share) as usize]
}

fn measure(path: &str) {
    let log = std::fs::read_to_string(path).unwrap();
    let began = Instant::now();
    let mut live = ChatRenderer::with_history();
    let mut patches = Vec::new();
    for line in log.lines() {
        live.apply(&ChatEvent::from_json(line).unwrap(), &mut patches);
        patches.clear();
    }
    let read_s = began.elapsed().as_secs_f64();
    let n = live.event_count();
    let log_mb = log.len() as f64 / 1e6;
    let history_mb = Moment::history_bytes(&live) as f64 / 1e6;

    let began = Instant::now();
    let moment = Moment::now(&live);
    let now_ms = began.elapsed().as_secs_f64() * 1e3;
    let mut page = Page {
        moment,
        arrangement: Arrangement::new(Mode::default()),
        heights: HeightIndex::new(),
    };
    let inserts: Vec<_> = live
        .feed()
        .rows()
        .map(|block| FeedPatch::Insert {
            block: block.id,
            after: live.feed().prev(block.id),
        })
        .collect();
    let began = Instant::now();
    page.take(&inserts);
    let arrange_ms = began.elapsed().as_secs_f64() * 1e3;
    println!(
        "{path}: {n} events, {log_mb:.0} MB, {} rows, {} shown; read {read_s:.1} s; history {history_mb:.1} MB = {:.1} % of the log; first copy {now_ms:.1} ms, first arrangement {arrange_ms:.1} ms",
        live.feed().len(),
        page.heights.len(),
        history_mb / log_mb * 100.0
    );
    let mut dice = Dice(7);
    let time = |page: &mut Page, to: u32| {
        let (took, ()) = work_of(|| page.seek(&live, to));
        took.as_secs_f64() * 1e3
    };
    let report = |what: &str, times: &mut Vec<f64>| {
        println!(
            "  {what:<28} p50 {:>8.3}  p95 {:>8.3}  worst {:>8.3} ms",
            percentile(times, 0.5),
            percentile(times, 0.95),
            percentile(times, 1.0)
        );
        percentile(times, 0.95)
    };
    let mut anywhere: Vec<f64> = (0..200)
        .map(|_| time(&mut page, dice.roll(n + 1)))
        .collect();
    let p95 = report("anywhere", &mut anywhere);
    let mut ends: Vec<f64> = (0..20)
        .map(|nth| time(&mut page, if nth % 2 == 0 { 0 } else { n }))
        .collect();
    report("end to end", &mut ends);
    for (what, back) in [
        ("drag forward, 300 frames", false),
        ("drag back, 300 frames", true),
    ] {
        time(&mut page, if back { n } else { 0 });
        let mut times: Vec<f64> = (1..=300u64)
            .map(|nth| {
                let at = (u64::from(n) * nth / 300) as u32;
                time(&mut page, if back { n - at } else { at })
            })
            .collect();
        report(what, &mut times);
    }
    time(&mut page, n / 2);
    let mut steps: Vec<f64> = (1..=2000)
        .map(|nth| time(&mut page, (n / 2 + nth).min(n)))
        .collect();
    report("event by event", &mut steps);
    assert!(p95 <= 50.0, "a seek takes {p95} ms");
    assert!(
        history_mb <= log_mb * 0.1,
        "looking back takes {history_mb} MB"
    );
}

#[test]
#[ignore = "measures: give it logs and run it in release"]
fn a_seek_costs_little_wherever_it_goes() {
    let logs = std::env::var("TURNREEL_LOGS").unwrap_or_default();
    for path in logs.split(',').filter(|path| !path.is_empty()) {
        measure(path);
    }
}
