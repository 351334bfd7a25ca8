//! Rows of known heights one below the other: which of them are on the screen.

use std::ops::Range;
use std::rc::Rc;

/// Where each row begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// One more than there are rows: the last is where all ends.
    tops_px: Vec<u32>,
}

impl Stack {
    /// A stack of these heights.
    pub fn of(heights_px: impl IntoIterator<Item = u32>) -> Stack {
        let mut tops_px = vec![0_u32];
        let mut end_px = 0_u32;
        for height_px in heights_px {
            end_px = end_px.saturating_add(height_px);
            tops_px.push(end_px);
        }
        Stack { tops_px }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.tops_px.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How high all are.
    pub fn height_px(&self) -> u32 {
        self.tops_px.last().copied().unwrap_or(0)
    }

    /// Where a row begins.
    pub fn top_px(&self, at: usize) -> u32 {
        self.tops_px.get(at).copied().unwrap_or(self.height_px())
    }

    /// The rows that are seen between these edges.
    pub fn window(&self, from_px: u32, to_px: u32) -> Range<usize> {
        let first = self.tops_px.partition_point(|top| *top <= from_px);
        let end = self.tops_px.partition_point(|top| *top < to_px);
        let first = first.saturating_sub(1).min(self.len());
        first..end.clamp(first, self.len())
    }
}

/// Stacks one below the other, which are the same in another one: what did not change is not laid out anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// None of them is empty.
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    stack: Rc<Stack>,
    /// Its first row, among all.
    first: usize,
    top_px: u32,
}

impl Stacks {
    /// These below each other.
    pub fn of(stacks: impl IntoIterator<Item = Rc<Stack>>) -> Stacks {
        let mut all = Stacks::default();
        for stack in stacks.into_iter().filter(|stack| !stack.is_empty()) {
            let (first, top_px) = (all.len(), all.height_px());
            all.parts.push(Part {
                stack,
                first,
                top_px,
            });
        }
        all
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        let last = self.parts.last();
        last.map_or(0, |last| last.first + last.stack.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How high all are.
    pub fn height_px(&self) -> u32 {
        let last = self.parts.last();
        last.map_or(0, |last| last.top_px.saturating_add(last.stack.height_px()))
    }

    /// Where a row begins.
    pub fn top_px(&self, at: usize) -> u32 {
        match self.part_of(at) {
            Some((nth, within)) => {
                let part = &self.parts[nth];
                part.top_px.saturating_add(part.stack.top_px(within))
            }
            None => self.height_px(),
        }
    }

    /// In which of the stacks a row is, and which of that it is.
    pub fn part_of(&self, at: usize) -> Option<(usize, usize)> {
        if at >= self.len() {
            return None;
        }
        let nth = self.parts.partition_point(|part| part.first <= at) - 1;
        Some((nth, at - self.parts[nth].first))
    }

    /// The rows that are seen between these edges.
    pub fn window(&self, from_px: u32, to_px: u32) -> Range<usize> {
        let last_above = self.parts.partition_point(|part| part.top_px <= from_px);
        let first = self.parts[..last_above].last().map_or(0, |part| {
            let window = part.stack.window(from_px - part.top_px, u32::MAX);
            part.first + window.start
        });
        let last_seen = self.parts.partition_point(|part| part.top_px < to_px);
        let end = self.parts[..last_seen].last().map_or(0, |part| {
            let window = part.stack.window(0, to_px - part.top_px);
            part.first + window.end
        });
        first..end.max(first)
    }

    /// Where to scroll so that a row is seen whole, where it is not yet.
    pub fn reveal(&self, at: usize, scroll_px: u32, screen_px: u32) -> Option<u32> {
        let (top, end) = (self.top_px(at), self.top_px(at + 1));
        if top < scroll_px {
            Some(top)
        } else if end > scroll_px.saturating_add(screen_px) {
            Some(end.saturating_sub(screen_px))
        } else {
            None
        }
    }
}
