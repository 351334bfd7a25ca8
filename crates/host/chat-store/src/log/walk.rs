//! Going over the lines of a log one by one: nothing but one line is held in memory.

use std::ops::ControlFlow;

use super::lines::{Lines, checksum_holds, leading_seq};
use super::page::Snapshot;
use crate::error::Error;

impl Snapshot {
    /// Shows `visit` the lines of the events behind `after`, in order, until it breaks. Damaged lines are not shown: their
    /// numbers are missing.
    pub(crate) fn walk(
        self,
        after: u64,
        visit: &mut dyn FnMut(u64, &str) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        if after >= self.head {
            return Ok(());
        }
        let failed = |why| Error::io("read the log", &self.path, why);
        let file = crate::platform::private_file()
            .read(true)
            .open(&self.path)
            .map_err(failed)?;
        let mut lines = Lines::new(&file, self.start, self.end);
        let mut last = after;
        while let Some(line) = lines.next_line().map_err(failed)? {
            let seq = leading_seq(line.bytes).filter(|&seq| seq > last && seq <= self.head);
            let Some(seq) = seq.filter(|_| checksum_holds(line.bytes)) else {
                continue;
            };
            let Ok(text) = std::str::from_utf8(line.bytes) else {
                continue;
            };
            last = seq;
            if visit(seq, text).is_break() {
                break;
            }
        }
        Ok(())
    }
}
