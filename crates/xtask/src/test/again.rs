//! A second run, alone, of the few tests that failed among many.
//!
//! Tests that drive a browser or wait for servers share a machine, and some wait for less time than a busy one needs. A test
//! that fails once more has found something, and fails the run. One that passes then is named in the summary: it is to be
//! looked into, and nobody's change waits for it. `--full` runs nothing again.

use super::counts::Counts;

/// Where more than so many fail, it is not for want of time.
const MOST: u64 = 3;

/// The tests that failed, by their names, from the lines of test programs.
#[derive(Default)]
pub(super) struct Failed {
    names: Vec<String>,
}

impl Failed {
    /// Reads `test rows::a_row_is_read ... FAILED`, coloured or not.
    pub(super) fn add_line(&mut self, line: &str) {
        let Some((name, outcome)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        else {
            return;
        };
        if outcome.contains("FAILED") {
            self.names.push(name.to_owned());
        }
    }

    /// Adds those of another program.
    pub(super) fn add(&mut self, other: &Failed) {
        self.names.extend(other.names.iter().cloned());
    }

    /// What a test program is told to run these once more, one by one; `None` where that would say nothing: nothing failed, a
    /// lot did, or something of which no name is known.
    pub(super) fn alone(&self, counts: &Counts) -> Option<Vec<String>> {
        let all_are_named = usize::try_from(counts.failed) == Ok(self.names.len());
        let are_few = (1..=MOST).contains(&counts.failed);
        (all_are_named && are_few).then(|| self.arguments())
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        let alone = ["--exact", "--test-threads", "1"].map(str::to_owned);
        alone.into_iter().chain(self.names.clone()).collect()
    }

    /// They passed: counts them so, and gives their names.
    pub(super) fn passed(&self, counts: &mut Counts) -> Vec<String> {
        let n_failed = self.names.len() as u64;
        counts.passed += n_failed;
        counts.failed -= n_failed;
        self.names.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(lines: &[&str]) -> Failed {
        let mut failed = Failed::default();
        lines.iter().for_each(|line| failed.add_line(line));
        failed
    }

    fn counts(failed: u64) -> Counts {
        Counts {
            passed: 7,
            failed,
            ignored: 0,
        }
    }

    #[test]
    fn failed_tests_are_known_by_their_lines() {
        let failed = failed(&[
            "running 3 tests",
            "test rows::one ... ok",
            "test rows::two ... FAILED",
            "test rows::three ... \u{1b}[31mFAILED\u{1b}(B\u{1b}[m",
            "test rows::four ... ignored",
            "test result: FAILED. 1 passed; 2 failed; 1 ignored",
        ]);
        assert_eq!(failed.names, ["rows::two", "rows::three"]);
    }

    #[test]
    fn a_few_are_run_again_and_many_are_not() {
        let one = failed(&["test a ... FAILED"]);
        let told = one.alone(&counts(1)).expect("one is few");
        assert_eq!(told, ["--exact", "--test-threads", "1", "a"]);
        assert!(one.alone(&counts(2)).is_none(), "one has no name");
        assert!(failed(&[]).alone(&counts(0)).is_none(), "none failed");
        let many = failed(&["test a ... FAILED"; 4]);
        assert!(many.alone(&counts(4)).is_none(), "four are many");
    }

    #[test]
    fn what_passed_at_last_counts_as_passed() {
        let mut counts = counts(1);
        let names = failed(&["test a ... FAILED"]).passed(&mut counts);
        assert_eq!((counts.passed, counts.failed), (8, 0));
        assert_eq!(names, ["a"]);
    }
}
