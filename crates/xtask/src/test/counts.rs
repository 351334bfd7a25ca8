//! Reads the results of tests from cargo's output. What is run, and in which order, is `test`'s.

/// Sums of cargo's `test result:` lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl Counts {
    /// Reads `test result: ok. 5 passed; 0 failed; 1 ignored; …`, coloured or not.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some((_, sums)) = line.split_once("test result: ") else {
            return;
        };
        let mut words = sums.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let (Ok(count), Some(what)) = (word.parse::<u64>(), words.peek()) else {
                continue;
            };
            match what.trim_end_matches(';') {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.ignored > 0 {
            write!(f, ", {} ignored", self.ignored)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed_over_lines_with_and_without_colour() {
        let mut counts = Counts::default();
        counts.add_line("running 3 tests");
        counts.add_line("test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.1s");
        counts.add_line("test result: \u{1b}[31mFAILED\u{1b}(B\u{1b}[m. 2 passed; 3 failed; 0 ignored; 0 measured");
        assert_eq!(
            counts,
            Counts {
                passed: 7,
                failed: 3,
                ignored: 1
            }
        );
    }
}
