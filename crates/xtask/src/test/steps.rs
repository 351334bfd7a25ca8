//! Steps: what each took, what came of its tests, and the summary of all.

use std::process::Command;
use std::time::{Duration, Instant};

use super::Run;
use super::counts::Counts;
use crate::error::Error;
use crate::{command, report};

pub(super) struct Done {
    pub(super) name: String,
    elapsed: Duration,
    pub(super) counts: Counts,
    pub(super) succeeded: bool,
}

impl Run<'_> {
    pub(super) fn timed<T>(
        &mut self,
        name: &str,
        step: impl FnOnce(&mut Counts) -> Result<T, Error>,
    ) -> Result<T, Error> {
        report::say(&format!("── {name}"));
        let started = Instant::now();
        let mut counts = Counts::default();
        let outcome = step(&mut counts);
        self.counts.passed += counts.passed;
        self.counts.failed += counts.failed;
        self.counts.ignored += counts.ignored;
        self.done.push(Done {
            name: name.to_owned(),
            elapsed: started.elapsed(),
            counts,
            succeeded: outcome.is_ok(),
        });
        outcome
    }

    /// The last line stands alone, so that other programs find it.
    pub(super) fn print_summary(&self) {
        println!();
        for step in &self.done {
            let mark = if step.succeeded { "ok    " } else { "FAILED" };
            let tests = match step.counts {
                Counts {
                    passed: 0,
                    failed: 0,
                    ignored: 0,
                } => String::new(),
                counts => counts.to_string(),
            };
            println!(
                "{mark} {:<26} {:>8}  {tests}",
                step.name,
                report::duration(step.elapsed)
            );
        }
        if !self.late.is_empty() {
            println!("\nFailed among others and passed alone, to be looked into:");
            self.late.iter().for_each(|name| println!("  {name}"));
        }
        println!(
            "\n{} passed, {} failed",
            self.counts.passed, self.counts.failed
        );
    }
}

pub(super) fn not_passed(name: &str, why: &str, command: &Command) -> Error {
    Error::Failed {
        what: format!("pass the step \"{name}\""),
        why: format!(
            "{why}\nTo repeat it: {}",
            command::line_with_environment(command)
        ),
    }
}
