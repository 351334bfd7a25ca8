//! Taking in what another log has numbered: a copy has the events of its home under the numbers they have there.
//!
//! Lines are written as they came. What is known is left out, as often as it comes; what does not follow is refused, and so
//! is what cannot be of the same log. First all is decided, then it is written in one piece. Whether what is known is the
//! same is for `known`, whose copy the log is for `home`.

mod known;

use std::borrow::Cow;

use chat_event::ChatEvent;
use chat_event::compaction::Folded;
use chat_event::payload::LogGap;

use super::page::{Gap, first_number};
use super::{Appended, Epoch, ItemResult, Log, Stored, lines};
use crate::error::Error;
use crate::store::SyncPolicy;

/// A part of a home's log, for a copy of it.
#[derive(Clone, Debug, Default)]
pub struct Copied {
    /// Whose log it is.
    pub home: String,
    /// The epochs of that log, as [`Session::epochs`](crate::Session::epochs) gives them there. Those before the one that
    /// the copy is at may be left out.
    pub epochs: Vec<Epoch>,
    /// The lines of events as they stand there, in order, without their newlines.
    pub lines: Vec<String>,
    /// Numbers whose events cannot be had there, in order. Where a line has one of them, the line counts.
    pub gaps: Vec<Gap>,
}

/// What is to be written.
#[allow(clippy::large_enum_variant)] // Nearly all are events: a box for each would cost more.
enum Planned {
    Event(Stored),
    Gap(Gap),
}

impl Log {
    /// Stores what is new of a part of the home's log, in one piece.
    pub(crate) fn append_copied(
        &mut self,
        copied: Copied,
        sync: SyncPolicy,
        now_ms: i64,
    ) -> Result<Appended, Error> {
        if let Some(why) = &self.failed {
            return Err(Error::Degraded { why: why.clone() });
        }
        if self.epochs.home() != Some(&copied.home) {
            return Err(Error::NotItsCopy {
                home: copied.home,
                copy_of: self.epochs.home().map(str::to_owned),
            });
        }
        self.check_unchanged(now_ms)?;
        let epoch = self.epoch_to_copy(&copied.epochs)?;
        let came = self.read_lines(copied.lines)?;
        self.check_known(&came)?;
        let mut results = Vec::with_capacity(came.len());
        let planned = self.plan(came, &copied.gaps, &mut results)?;
        // Durable before what follows: no number may ever stand under another epoch than its own.
        self.go_on_as_copy(&copied.home, epoch, now_ms)?;
        let synced = !planned.is_empty() && self.write_planned(&planned, sync, now_ms)?;
        if self.index_is_due() {
            self.write_index();
        }
        if self.is_full() {
            self.seal();
        }
        let stored = planned.into_iter().filter_map(|planned| match planned {
            Planned::Event(stored) => Some(stored),
            Planned::Gap(_) => None,
        });
        Ok(Appended {
            epoch: self.epochs.now().to_owned(),
            results,
            stored: stored.collect(),
            summary: self.summing.row.clone(),
            synced,
            refused: false,
        })
    }

    /// The events of lines that came. Each must be one that a page of the home's can have.
    fn read_lines(&self, lines: Vec<String>) -> Result<Vec<Stored>, Error> {
        let mut last = 0;
        let mut came = Vec::with_capacity(lines.len());
        for (at, line) in lines.into_iter().enumerate() {
            let bad = |why| Error::BadLine { at, why };
            if line.contains('\n') || !lines::checksum_holds(line.as_bytes()) {
                return Err(bad("its checksum is wrong"));
            }
            let event = ChatEvent::from_json(&line).map_err(|_| bad("it is no event"))?;
            let seq = lines::leading_seq(line.as_bytes()).filter(|_| !event.is_control());
            let Some(seq) = seq.filter(|seq| event.seq == Some(*seq)) else {
                return Err(bad("it has no number"));
            };
            if event.session_id != self.id.as_str() {
                return Err(bad("it is of another session"));
            }
            if seq <= last {
                return Err(bad("its number is not above the one before"));
            }
            last = seq;
            came.push(Stored { seq, event, line });
        }
        Ok(came)
    }

    /// What of it is to be written behind what is here, and what becomes of each line.
    fn plan(
        &self,
        came: Vec<Stored>,
        gaps: &[Gap],
        results: &mut Vec<ItemResult>,
    ) -> Result<Vec<Planned>, Error> {
        let mut head = self.head;
        let mut planned = Vec::with_capacity(came.len());
        for stored in came {
            let seq = stored.seq;
            if seq <= head {
                results.push(ItemResult::Duplicate { seq });
                continue;
            }
            let first = first_number(seq, head, &stored.line);
            if first > head + 1 {
                let missed = missed(gaps, head).filter(|missed| missed.to + 1 >= first);
                let Some(missed) = missed else {
                    return Err(lacking(gaps, head, first));
                };
                let to = first - 1;
                planned.push(Planned::Gap(Gap { to, ..missed }));
            }
            results.push(ItemResult::Stored {
                seq,
                id: stored.event.id.clone(),
                idempotent: true,
            });
            planned.extend(behind(stored, head).into_iter().map(Planned::Event));
            head = seq;
        }
        if let Some(missed) = missed(gaps, head) {
            head = missed.to;
            planned.push(Planned::Gap(missed));
        }
        match gaps.iter().find(|gap| gap.from > head) {
            Some(gap) => Err(lacking(gaps, head, gap.from)),
            None => Ok(planned),
        }
    }

    /// Writes it, and says whether it is durable.
    fn write_planned(
        &mut self,
        planned: &[Planned],
        sync: SyncPolicy,
        now_ms: i64,
    ) -> Result<bool, Error> {
        let mut at = self.end;
        let lines = planned.iter().map(|planned| {
            let line = match planned {
                Planned::Event(stored) => Cow::Borrowed(&stored.line),
                Planned::Gap(gap) => {
                    let line = LogGap {
                        from: gap.from,
                        to: gap.to,
                        why: gap.why.to_owned(),
                        ..LogGap::default()
                    };
                    Cow::Owned(self.control_line_at(at, line, now_ms))
                }
            };
            at += line.len() as u64 + 1;
            line
        });
        let lines: Vec<Cow<'_, String>> = lines.collect();
        let lines = lines.iter().map(|line| line.as_str());
        let (offsets, synced) = self.write_in_one_piece(lines, sync)?;
        for (planned, offset) in planned.iter().zip(offsets) {
            match planned {
                Planned::Event(stored) => self.note(&stored.event, offset),
                Planned::Gap(gap) => self.head = gap.to,
            }
        }
        Ok(synced)
    }
}

/// The numbers behind `head` that cannot be had, where that is so of the next one.
fn missed(gaps: &[Gap], head: u64) -> Option<Gap> {
    let mut missed: Option<Gap> = None;
    for gap in gaps {
        let next = missed.as_ref().map_or(head, |missed| missed.to) + 1;
        if gap.from > next || gap.to < next {
            continue;
        }
        match &mut missed {
            Some(missed) => missed.to = gap.to,
            None => {
                missed = Some(Gap {
                    from: next,
                    ..gap.clone()
                });
            }
        }
    }
    missed
}

fn lacking(gaps: &[Gap], head: u64, found: u64) -> Error {
    let reached = missed(gaps, head).map_or(head, |missed| missed.to);
    Error::Lacking {
        expected: reached + 1,
        found,
    }
}

/// What of an event stands behind `head`: of one that others were folded into, some may be here already.
fn behind(stored: Stored, head: u64) -> Vec<Stored> {
    let events: Vec<ChatEvent> = match Folded::of(&stored.event) {
        Some(folded) if folded.span().is_some_and(|(from, _)| from <= head) => {
            folded.events().collect()
        }
        Some(_) | None => return vec![stored],
    };
    let behind = events.into_iter().filter_map(|event| {
        Some(Stored {
            seq: event.seq.filter(|seq| *seq > head)?,
            line: event.to_line_with_checksum(),
            event,
        })
    });
    behind.collect()
}
