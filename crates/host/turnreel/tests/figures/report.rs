//! What was measured, printed, and written down for who asked.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::PathBuf;

use serde_json::{Value, json};

/// Names the folder that figures are written to.
const FOLDER: &str = "TURNREEL_FIGURES";

/// The figures of one part.
pub(crate) struct Report {
    part: &'static str,
    load_before: f64,
    figures: Vec<Value>,
}

/// How many wait for the machine's processors, on average over a minute.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// What a figure is to be.
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// It is only told.
    None,
}

impl Report {
    pub(crate) fn new(part: &'static str) -> Report {
        Report {
            part,
            load_before: load(),
            figures: Vec::new(),
        }
    }

    /// Takes the median of what was found.
    pub(crate) fn tell(&mut self, what: &str, unit: &str, target: Target, found: &[f64]) {
        let mut sorted = found.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        let (at_most, at_least) = match target {
            Target::AtMost(target) => (Some(target), None),
            Target::AtLeast(target) => (None, Some(target)),
            Target::None => (None, None),
        };
        println!("{}: {what}: {median:.1} {unit} {found:.1?}", self.part);
        self.figures.push(json!({
            "what": what, "unit": unit, "value": median, "found": found,
            "at_most": at_most, "at_least": at_least,
        }));
    }

    /// Writes them down, where somebody asked for that.
    pub(crate) fn write(self) {
        if let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) {
            let path = folder.join(format!("{}.json", self.part));
            let found = json!({
                "part": self.part, "load_before": self.load_before, "load_after": load(), "figures": self.figures,
            });
            std::fs::write(path, found.to_string()).unwrap();
        }
    }
}
