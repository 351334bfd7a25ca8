//! Going over the lines of a log one by one: nothing but one line is held in memory.

use std::ops::ControlFlow;

use super::lines::{Lines, leading_seq};
use super::page::{Gap, Snapshot, first_number};
use super::records;
use crate::error::Error;

impl Snapshot {
    /// Shows `visit` the lines of the events behind `after`, in order, until it breaks. Damaged lines are not shown: their
    /// numbers are missing.
    pub(crate) fn walk(
        mut self,
        after: u64,
        visit: &mut dyn FnMut(u64, &str) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        if after >= self.head {
            return Ok(());
        }
        let failed = |why| Error::io("read the log", &self.path, why);
        let mut lines = Lines::new(&mut self.reader, self.start, self.end);
        let mut last = after;
        while let Some(line) = lines.next_line().map_err(failed)? {
            for within in records::places(line.bytes, self.session.as_str()) {
                let record = line.bytes.get(within).unwrap_or_default();
                let seq = leading_seq(record).filter(|&seq| seq > last && seq <= self.head);
                let Some((seq, text)) = seq.zip(std::str::from_utf8(record).ok()) else {
                    continue;
                };
                last = seq;
                if visit(seq, text).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The numbers whose events cannot be had, in order: the first `most` stretches, and whether there are more. It is looked
    /// for them as long as `go_on` says so.
    pub(crate) fn gaps(
        self,
        most: usize,
        go_on: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<(Vec<Gap>, bool), Error> {
        let (oldest, head) = (self.oldest, self.head);
        let mut gaps = Vec::new();
        let mut last = oldest.saturating_sub(1);
        let mut miss_up_to = |last: u64, first: u64| {
            if first > last + 1 {
                gaps.push(Gap {
                    from: last + 1,
                    to: first - 1,
                    why: "disk",
                });
            }
            gaps.len() > most
        };
        self.walk(0, &mut |seq, line| {
            let is_enough = miss_up_to(last, first_number(seq, last, line));
            last = seq;
            match is_enough {
                true => ControlFlow::Break(()),
                false => go_on(),
            }
        })?;
        let there_are_more = miss_up_to(last, head + 1);
        gaps.truncate(most);
        Ok((gaps, there_are_more))
    }
}
