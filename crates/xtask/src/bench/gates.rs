//! The ratios that are asked for: what each is made of, what is needed (`gate`), and what is tried for (`moonshot`).

use super::results::Results;
use super::{BLANK, BY_HAND, OURS, REACT};

/// A ratio beside its limits; less is better unless [`Gate::at_least`].
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) name: &'static str,
    /// What the figure is, and what it is held against.
    pub(super) means: &'static str,
    /// `None` where something it is made of was not measured.
    pub(super) ratio: Option<f64>,
    pub(super) gate: f64,
    pub(super) moonshot: Option<f64>,
    /// More is better.
    pub(super) at_least: bool,
}

impl Gate {
    /// What was not measured is not met.
    pub(super) fn met(&self) -> bool {
        self.reaches(Some(self.gate))
    }

    pub(super) fn reaches(&self, limit: Option<f64>) -> bool {
        let (Some(ratio), Some(limit)) = (self.ratio, limit) else {
            return false;
        };
        if self.at_least {
            ratio >= limit
        } else {
            ratio <= limit
        }
    }
}

/// Size of the session that is scrolled, dragged and sought in.
pub(super) const SCROLLED: &str = "100000";
/// Size of the session whose cost is that of starting.
const SMALL: &str = "1000";
/// A session as stores keep it: no chunks, many rows.
const STORED: &str = "s30000";
const MILLION: &str = "1000000";

/// Every gate, in the order of the report.
pub(super) fn judged(results: &Results) -> Vec<Gate> {
    let figures = Figures { results };
    let mut gates = Vec::new();
    figures.opening(&mut gates);
    figures.scrolling(&mut gates);
    figures.live(&mut gates);
    figures.memory(&mut gates);
    figures.seeking(&mut gates);
    figures.cold(&mut gates);
    gates
}

struct Figures<'a> {
    results: &'a Results,
}

impl Figures<'_> {
    fn replay(&self, page: &str, size: &str, figure: &str) -> Option<f64> {
        self.results.median(page, "replay", size, figure)
    }

    fn live_at(&self, page: &str, rate: &str, figure: &str) -> Option<f64> {
        self.results.median(page, "live", rate, figure)
    }

    /// A figure of a session, less that of a small one.
    fn above_small(&self, page: &str, size: &str, figure: &str) -> Option<f64> {
        Some(self.replay(page, size, figure)? - self.replay(page, SMALL, figure)?)
    }

    /// Ours by that of the page written by hand.
    fn by_hand(&self, of: impl Fn(&Self, &str) -> Option<f64>) -> Option<f64> {
        ratio(of(self, OURS), of(self, BY_HAND))
    }

    /// The better of these pages.
    fn best(pages: &[&str], of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        pages.iter().filter_map(|page| of(page)).reduce(f64::min)
    }

    fn opening(&self, gates: &mut Vec<Gate>) {
        let cpu = |size: &'static str| {
            self.by_hand(move |it, page| it.above_small(page, size, "main.cpu"))
        };
        gates.push(less(
            "open 100k: main-thread CPU",
            "to ready, less that of 1,000 events; by the page written by hand",
            cpu(SCROLLED),
            0.35,
            Some(0.10),
        ));
        gates.push(less(
            "open s30000: main-thread CPU",
            "to ready, less that of 1,000 events; by the page written by hand",
            cpu(STORED),
            0.35,
            Some(0.10),
        ));
        gates.push(less(
            "open 1M: process CPU",
            "by the page written by hand",
            self.by_hand(|it, page| it.replay(page, MILLION, "cpuS")),
            0.6,
            Some(0.3),
        ));
        let rate = self.replay(OURS, MILLION, "mbPerS");
        gates.push(Gate {
            name: "open 1M: ready",
            means: "MB/s, as a share of what the browser can fetch",
            ratio: ratio(rate, self.results.of_machine("fetchMBs")),
            gate: 0.6,
            moonshot: Some(0.85),
            at_least: true,
        });
        gates.push(less(
            "longest task",
            "ms, at any size; the browser tells of those above 50 only",
            self.results.largest(OURS, "replay", "longestTaskMs"),
            50.0,
            None,
        ));
    }

    fn scrolling(&self, gates: &mut Vec<Gate>) {
        let others = [REACT[0], REACT[1], BY_HAND];
        let mut beside = |name, figure: &str, floor: f64| {
            let of = |page: &str| Some(self.replay(page, SCROLLED, figure)?.max(floor));
            gates.push(less(
                name,
                "by the better of the React pages and the page written by hand",
                ratio(of(OURS), Figures::best(&others, of)),
                1.0,
                Some(0.7),
            ));
        };
        beside("wheel: main-thread CPU", "scroll.main.cpu", 0.0);
        // A frame is a sixtieth of a second to within the clock's steps.
        beside("wheel: p99 of a frame", "scroll.p99", 17.0);
        beside("drag: main-thread CPU", "drag.main.cpu", 0.0);
        beside("drag: p99 of a frame", "drag.p99", 17.0);
        for (name, figure) in [
            ("wheel: frames dropped", "scroll.droppedPct"),
            ("drag: frames dropped", "drag.droppedPct"),
        ] {
            let of = |page: &str| self.replay(page, SCROLLED, figure);
            let more = of(OURS).zip(Figures::best(&others, of));
            gates.push(less(
                name,
                "percentage points more than the better of the React pages and the page written by hand",
                more.map(|(ours, best)| ours - best),
                0.0,
                None,
            ));
        }
        for (name, figure) in [
            ("wheel: blank after own work", "scroll.blankAfterMs"),
            ("drag: blank after own work", "drag.blankAfterMs"),
        ] {
            let blank = self.replay(OURS, SCROLLED, figure);
            gates.push(less(name, "ms without rows", blank, 0.0, Some(0.0)));
        }
    }

    fn live(&self, gates: &mut Vec<Gate>) {
        let floor = self.results.of_machine("floorMsPerFrame");
        for (name, rate) in [
            ("live 200/s: a frame", "200"),
            ("live 1000/s: a frame", "1000"),
        ] {
            let above =
                |it: &Self, page: &str| Some(it.live_at(page, rate, "mainMsPerFrame")? - floor?);
            gates.push(less(
                name,
                "main-thread ms above the cheapest possible frame; by the page written by hand",
                self.by_hand(above),
                0.7,
                Some(0.35),
            ));
        }
        gates.push(less(
            "live 2000/s: growth",
            "a frame in the last third of a long message by one in the first third",
            ratio(
                self.live_at(OURS, "2000", "msPerFrameLast"),
                self.live_at(OURS, "2000", "msPerFrameFirst"),
            ),
            1.2,
            Some(1.05),
        ));
        gates.push(less(
            "live 5000/s: latency p95",
            "by the page written by hand",
            self.by_hand(|it, page| it.live_at(page, "5000", "latencyP95")),
            0.45,
            None,
        ));
        // What is aimed at is a time and no ratio: two frames.
        gates.push(less(
            "live 5000/s: latency p95, in ms",
            "of this page alone",
            self.live_at(OURS, "5000", "latencyP95"),
            33.0,
            Some(33.0),
        ));
        gates.push(less(
            "live 20000/s: an event",
            "main-thread µs; by the page written by hand",
            self.by_hand(|it, page| it.live_at(page, "20000", "mainUsPerEvent")),
            0.4,
            Some(0.12),
        ));
        let lost = self.results.largest(OURS, "live", "lost");
        gates.push(less(
            "live: events lost",
            "at any rate",
            lost,
            0.0,
            Some(0.0),
        ));
    }

    fn memory(&self, gates: &mut Vec<Gate>) {
        for (name, size) in [("memory of s30000", STORED), ("memory of 1M", MILLION)] {
            gates.push(less(
                name,
                "private MB above those of 1,000 events; by the page written by hand",
                self.by_hand(|it, page| it.above_small(page, size, "mem.privateMB")),
                0.8,
                Some(0.35),
            ));
        }
    }

    fn seeking(&self, gates: &mut Vec<Gate>) {
        gates.push(less(
            "seek p95",
            "by the page written by hand",
            self.by_hand(|it, page| it.replay(page, SCROLLED, "seek.p95")),
            1.2,
            Some(1.0),
        ));
        for (name, figure) in [
            ("seeks that failed", "seek.failed"),
            ("moments that failed", "scrub.failed"),
        ] {
            let failed = self.results.largest(OURS, "replay", figure);
            gates.push(less(name, "at any size", failed, 0.0, Some(0.0)));
        }
        let of = |page: &str| self.replay(page, SCROLLED, "scrub.p95");
        let others = [REACT[0], REACT[1], BY_HAND];
        gates.push(less(
            "moment p95",
            "the view after some event; by the better of the React pages and the page written by hand",
            ratio(of(OURS), Figures::best(&others, of)),
            0.8,
            None,
        ));
    }

    fn cold(&self, gates: &mut Vec<Gate>) {
        let cold = |page: &str, figure: &str| self.results.median(page, "cold", "", figure);
        gates.push(less(
            "bytes until ready",
            "KB of all files fetched, brotli 11",
            cold(OURS, "bytes.brotli").map(|bytes| bytes / 1000.0),
            178.0,
            Some(96.0),
        ));
        let above_blank = |page: &str| Some(cold(page, "main.cpu")? - cold(BLANK, "main.cpu")?);
        gates.push(less(
            "cold start: main-thread CPU",
            "at a fourth of the speed, above an empty page; by the React page with the smaller list library",
            ratio(above_blank(OURS), above_blank(REACT[1])),
            0.6,
            None,
        ));
    }
}

fn less(
    name: &'static str,
    means: &'static str,
    ratio: Option<f64>,
    gate: f64,
    moonshot: Option<f64>,
) -> Gate {
    Gate {
        name,
        means,
        ratio,
        gate,
        moonshot,
        at_least: false,
    }
}

/// One by the other; nothing where there is nothing to divide by.
fn ratio(of: Option<f64>, by: Option<f64>) -> Option<f64> {
    let (of, by) = of.zip(by)?;
    (by > 0.0).then(|| of / by)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::results;
    use super::*;

    fn named<'a>(gates: &'a [Gate], name: &str) -> &'a Gate {
        let found = gates.iter().find(|gate| gate.name == name);
        found.unwrap_or_else(|| panic!("there is no gate `{name}`"))
    }

    #[test]
    fn a_gate_is_met_by_the_ratio_of_what_was_measured() {
        let cpu = |cpu: f64| json!({"main": {"cpu": cpu}, "longestTaskMs": 0});
        let results = results::tests::of(&[
            ("replay", "1000", OURS, cpu(0.2)),
            ("replay", "100000", OURS, cpu(0.3)),
            ("replay", "1000", BY_HAND, cpu(0.1)),
            ("replay", "100000", BY_HAND, cpu(0.6)),
        ]);
        let gates = judged(&results);
        let open = named(&gates, "open 100k: main-thread CPU");
        assert!(open.ratio.is_some_and(|it| (it - 0.2).abs() < 1e-9));
        assert!(open.met() && !open.reaches(open.moonshot));
        assert!(named(&gates, "longest task").met());
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let gates = judged(&results::tests::of(&[]));
        assert!(!gates.is_empty());
        assert!(gates.iter().all(|gate| gate.ratio.is_none() && !gate.met()));
    }

    #[test]
    fn of_what_should_be_much_more_is_better() {
        let results = results::tests::of(&[
            ("calibrate", "", "", json!({"fetchMBs": 100})),
            ("replay", MILLION, OURS, json!({"mbPerS": 70})),
        ]);
        let gates = judged(&results);
        assert!(named(&gates, "open 1M: ready").met());
    }
}
