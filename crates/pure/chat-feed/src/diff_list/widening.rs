//! More of the file around the changes: which buttons stand where, what was asked for, and the diff that shows it.
//!
//! Buttons stand in the heads of hunks, for what the file has between them, and below the last one. The diff itself is
//! widened by `chat_diff::widen`; where the file's old text comes from is for the page.

use std::ops::Range;

use chat_diff::{Around, Change, Error, widen};

use super::ends::ends_with_its_file;
use super::{DiffList, Item, Side, digits};
use crate::units;

/// How many lines one button shows.
const STEP_LINES: u32 = 20;

/// What a button shows. Hunks are those that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Widening {
    /// Some lines above a hunk.
    Above(u32),
    /// Some lines below a hunk.
    Below(u32),
    /// All lines between a hunk and the one above it.
    AllAbove(u32),
    /// All lines below a hunk, which is the last.
    AllBelow(u32),
}

impl Widening {
    /// As buttons bear it.
    pub fn name(self) -> String {
        let (kind, hunk) = match self {
            Widening::Above(hunk) => ("above", hunk),
            Widening::Below(hunk) => ("below", hunk),
            Widening::AllAbove(hunk) => ("all-above", hunk),
            Widening::AllBelow(hunk) => ("all-below", hunk),
        };
        format!("{kind}:{hunk}")
    }

    /// See [`name`](Widening::name).
    pub fn of_name(name: &str) -> Option<Widening> {
        let (kind, hunk) = name.split_once(':')?;
        let hunk = hunk.parse().ok()?;
        match kind {
            "above" => Some(Widening::Above(hunk)),
            "below" => Some(Widening::Below(hunk)),
            "all-above" => Some(Widening::AllAbove(hunk)),
            "all-below" => Some(Widening::AllBelow(hunk)),
            _ => None,
        }
    }
}

/// A line, or two side by side, by the numbers in the old and the new file: the same however much of the file is shown.
pub type Numbers = [Option<u32>; 2];

/// What is shown of the file beyond its diff.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The file's old text can be had.
    can: bool,
    /// The diff as it was told, once it was widened.
    told: Option<Box<str>>,
    /// What was asked for, by hunk of the diff that was told.
    around: Vec<Around>,
    /// By hunk that is shown, the first and the last of those that were told which it holds; empty before the first.
    holds: Vec<(usize, usize)>,
    /// Lines of the file below the last hunk, once it is known how many it has.
    left_below: Option<u32>,
}

impl DiffList {
    /// The old text of its file can be had, so more of it can be shown. It stays as it is where the diff does not say where
    /// it stands, or shows the whole file.
    pub fn offer_widening(&mut self) {
        let can = matches!(self.patch.files.as_slice(), [file] if {
            let whole = |change| matches!(change, Change::Created | Change::Deleted);
            let sound = file.hunks.iter().all(|hunk| hunk.placed && hunk.complete);
            sound && !file.hunks.is_empty() && !file.combined && !file.binary && !whole(file.change)
        });
        if can {
            self.widened.can = true;
            if self.patch.files.first().is_some_and(ends_with_its_file) {
                self.widened.left_below = Some(0);
            }
            self.arrange();
        }
    }

    /// What was asked for, by hunk of the diff as it was told.
    pub fn around(&self) -> &[Around] {
        &self.widened.around
    }

    /// Asks for what was asked for before, as [`around`](DiffList::around) told it.
    pub fn ask_again(&mut self, around: Vec<Around>) {
        self.widened.around = around;
    }

    /// The reader asks for more; [`widen`](DiffList::widen) shows it.
    pub fn ask(&mut self, what: Widening) {
        let (Widening::Above(hunk)
        | Widening::Below(hunk)
        | Widening::AllAbove(hunk)
        | Widening::AllBelow(hunk)) = what;
        let at = hunk as usize;
        let (first, last) = self.widened.holds.get(at).copied().unwrap_or((at, at));
        let n_told = match self.widened.holds.last() {
            Some((_, last)) => last + 1,
            None => self.n_hunks(),
        };
        if last >= n_told {
            return;
        }
        // Between hunks that are shown there may be some that are not: all of it is all that is there with them.
        let holds = |hunk: usize| {
            self.widened
                .holds
                .get(hunk)
                .copied()
                .unwrap_or((hunk, hunk))
        };
        let above: Vec<usize> = match what {
            Widening::Above(_) => vec![first],
            Widening::AllAbove(_) => {
                let from = self.shown_before(hunk).map_or(0, |before| before + 1);
                (from..=hunk).map(|hunk| holds(hunk as usize).0).collect()
            }
            Widening::Below(_) | Widening::AllBelow(_) => Vec::new(),
        };
        let below: Vec<usize> = match what {
            Widening::Below(_) => vec![last],
            Widening::AllBelow(_) => (at..self.n_hunks()).map(|hunk| holds(hunk).1).collect(),
            Widening::Above(_) | Widening::AllAbove(_) => Vec::new(),
        };
        let more = |lines: &mut u32| {
            *lines = match what {
                Widening::AllAbove(_) | Widening::AllBelow(_) => u32::MAX,
                Widening::Above(_) | Widening::Below(_) => lines.saturating_add(STEP_LINES),
            };
        };
        let around = &mut self.widened.around;
        around.resize(n_told, Around::default());
        for told in above {
            more(&mut around[told].above);
        }
        for told in below {
            more(&mut around[told].below);
        }
    }

    /// Shows what was asked for, with the file's old text.
    ///
    /// # Errors
    ///
    /// Where the diff is not of this text; it stays as it is, and nothing more is offered.
    pub fn widen(&mut self, old: &str) -> Result<(), Error> {
        let told: Box<str> = self.widened.told.as_deref().unwrap_or(&self.text).into();
        let widened = match widen(&told, old, &self.widened.around) {
            Ok(widened) => widened,
            Err(why) => {
                self.widened.can = false;
                self.arrange();
                return Err(why);
            }
        };
        self.patch = chat_diff::parse(&widened.text);
        self.text = widened.text.into();
        self.digits = digits(&self.patch);
        self.widened.told = Some(told);
        self.widened.holds = widened.holds;
        self.widened.left_below = widened.left_out.last().copied();
        self.arrange();
        Ok(())
    }

    /// The line beside what is asked for, which is looked at and is there afterwards as well: below the button where more
    /// comes above, and else above it.
    pub fn beside(&self, what: Widening) -> Option<Numbers> {
        let of_hunk = |hunk: u32| move |item: &&Item| matches!(item, Item::Line(_, of_hunk, ..) if *of_hunk == hunk);
        let item = match what {
            Widening::Above(hunk) | Widening::AllAbove(hunk) => {
                self.items.iter().find(of_hunk(hunk))
            }
            Widening::Below(hunk) | Widening::AllBelow(hunk) => {
                self.items.iter().rfind(of_hunk(hunk))
            }
        };
        self.numbers(*item?)
    }

    /// Where a line stands now.
    pub fn place_of_line(&self, numbers: Numbers) -> Option<usize> {
        let is_it = |item: &Item| self.numbers(*item) == Some(numbers);
        self.items.iter().position(is_it)
    }

    pub(super) fn numbers(&self, item: Item) -> Option<Numbers> {
        let Item::Line(file, hunk, row, side) = item else {
            return None;
        };
        let [old, new] = self.sides(file, hunk, row);
        let line = |of_side: Option<(bool, u32)>| self.line(file, hunk, of_side?.1);
        let old = line(old.filter(|_| side != Side::New));
        let new = line(new.filter(|_| side != Side::Old));
        Some([
            old.and_then(|line| line.old_no),
            new.and_then(|line| line.new_no),
        ])
    }

    /// Whether the file may go on below the last hunk that is shown.
    pub(super) fn has_end(&self) -> bool {
        self.widened.can && self.gap_below() != Some(0)
    }

    fn n_hunks(&self) -> usize {
        self.patch.files.first().map_or(0, |file| file.hunks.len())
    }

    /// The last hunk before one that is shown.
    fn shown_before(&self, hunk: u32) -> Option<u32> {
        let rows = self.rows.first()?;
        let is_shown = |at: &u32| {
            rows.get(*at as usize)
                .is_some_and(|rows| self.is_shown(rows))
        };
        (0..hunk).rev().find(is_shown)
    }

    fn last_shown(&self) -> Option<u32> {
        self.shown_before(u32::try_from(self.n_hunks()).unwrap_or(u32::MAX))
    }

    /// The buttons in the head of a hunk, or below the last one, and their words.
    pub(super) fn buttons(&self, hunk: Option<u32>) -> Vec<(Widening, String)> {
        if !self.widened.can {
            return Vec::new();
        }
        let step = units::count(STEP_LINES.into(), "line", "lines");
        let Some(hunk) = hunk else {
            let Some(last) = self.last_shown() else {
                return Vec::new();
            };
            let all = match self.gap_below() {
                Some(n_lines) if n_lines <= STEP_LINES => {
                    return vec![(Widening::AllBelow(last), below(n_lines))];
                }
                Some(n_lines) => all(n_lines),
                None => "↓ Show to the end".to_owned(),
            };
            return vec![
                (Widening::Below(last), format!("↓ Show {step}")),
                (Widening::AllBelow(last), all),
            ];
        };
        match self.gap_above(hunk) {
            0 => Vec::new(),
            n_lines if n_lines <= STEP_LINES => vec![(Widening::AllAbove(hunk), above(n_lines))],
            n_lines => {
                let before = self.shown_before(hunk).map(Widening::Below);
                let before = before.map(|before| (before, format!("↓ Show {step}")));
                let here = (Widening::Above(hunk), format!("↑ Show {step}"));
                let whole = (Widening::AllAbove(hunk), all(n_lines));
                before.into_iter().chain([here, whole]).collect()
            }
        }
    }

    /// Lines of the file between a hunk and the one that is shown above it.
    fn gap_above(&self, hunk: u32) -> u32 {
        let start = self.old_lines(hunk).map_or(0, |old_lines| old_lines.start);
        let before = self.shown_before(hunk);
        let before = before.and_then(|before| self.old_lines(before));
        start.saturating_sub(before.map_or(0, |old_lines| old_lines.end))
    }

    /// Lines of the file below the last hunk that is shown, once it is known how many it has.
    fn gap_below(&self) -> Option<u32> {
        let below = self.widened.left_below?;
        let last = u32::try_from(self.n_hunks()).ok()?.checked_sub(1)?;
        let end = |hunk: u32| self.old_lines(hunk).map_or(0, |old_lines| old_lines.end);
        let hidden = end(last).saturating_sub(self.last_shown().map_or(0, end));
        Some(below.saturating_add(hidden))
    }

    /// Which lines of the file before the change a hunk has, counted from 0.
    fn old_lines(&self, hunk: u32) -> Option<Range<u32>> {
        let hunk = self.hunk(0, hunk)?;
        // Without old lines the line before it is named.
        let start = hunk.old_start.saturating_sub(u32::from(hunk.old_lines > 0));
        Some(start..start.saturating_add(hunk.old_lines))
    }
}

fn all(n_lines: u32) -> String {
    format!("Show all {}", units::count(n_lines.into(), "line", "lines"))
}

fn above(n_lines: u32) -> String {
    format!("↑ Show {}", units::count(n_lines.into(), "line", "lines"))
}

fn below(n_lines: u32) -> String {
    format!("↓ Show {}", units::count(n_lines.into(), "line", "lines"))
}
