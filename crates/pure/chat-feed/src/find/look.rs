//! Looking at one block after the other: whether its texts and its facts are what is asked for.

use std::ops::ControlFlow;

use super::places::STEP;
use super::query::{Fact, Wanted};
use super::{Find, Kinds, Looked, query, words};
use crate::arrangement::stands_for;
use crate::block::{BlockBody, BlockId};
use crate::feed::Feed;

/// Looking at a block takes so much beside its text: what it is, and where it stands.
const BYTES_PER_BLOCK: usize = 64;

impl Find {
    /// Looks at one block and says what that took; `None` where nothing is left.
    pub(super) fn look_at_next(
        &mut self,
        feed: &Feed,
        changed: &mut Vec<BlockId>,
    ) -> Option<usize> {
        if let Some(block) = self.due.pop_first() {
            self.grown.remove(&block);
            if !feed.contains(block) || !self.give_place(feed, block) {
                return Some(BYTES_PER_BLOCK);
            }
            return Some(self.look_at(feed, block, None, changed));
        }
        if let Some((block, from)) = self.grown.pop_first() {
            if !feed.contains(block) || !self.knows(block) {
                return Some(BYTES_PER_BLOCK);
            }
            return Some(self.look_at(feed, block, Some(from), changed));
        }
        let block = self.coming(feed)?;
        let label = self
            .last
            .map_or(0, |last| self.blocks[last.0 as usize].label);
        let label = label.checked_add(STEP).unwrap_or_else(|| {
            self.label_anew(feed);
            let last = self
                .last
                .map_or(0, |last| self.blocks[last.0 as usize].label);
            last.saturating_add(STEP)
        });
        self.blocks[block.0 as usize].label = label;
        self.last = Some(block);
        Some(self.look_at(feed, block, None, changed))
    }

    /// The next block that was never looked at.
    pub(super) fn coming(&self, feed: &Feed) -> Option<BlockId> {
        match self.last {
            Some(last) => feed.next(last),
            None => feed.first(),
        }
    }

    /// Looks at a block; where its text only grew behind `from`, at what is new of it.
    fn look_at(
        &mut self,
        feed: &Feed,
        block: BlockId,
        from: Option<usize>,
        changed: &mut Vec<BlockId>,
    ) -> usize {
        let before = self.blocks[block.0 as usize];
        let mut looked = Looked {
            label: before.label,
            kinds: Kinds::of(feed, block),
            known: true,
            standing: stands_for(feed, block) == block,
            partly: before.partly,
            ..Looked::default()
        };
        if looked.kinds.meets(Kinds::UNDONE) {
            self.undone.insert(feed.block(block).turn);
        }
        let mut cost = BYTES_PER_BLOCK;
        // A call is looked through with the changed file behind it.
        let call = match &feed.block(block).body {
            BlockBody::FileEdit(edit) => edit.call.filter(|&call| stands_for(feed, call) == block),
            _ => None,
        };
        if looked.standing {
            cost = cost.saturating_add(self.cost_of_facts(feed, block, call));
        }
        let asked = looked.standing && self.facts_hold(feed, block, call, looked.kinds);
        if asked {
            let grown = from.filter(|&from| !is_within_string(&feed.text(block), from));
            let grown = grown.zip(self.query.longest_text());
            match grown {
                Some((from, longest)) => {
                    looked.texts = before.texts;
                    cost += self.look_at_end(&feed.text(block), from, longest, &mut looked.texts);
                }
                None => {
                    let mut seen = self.look_through(feed, block, &mut looked.texts, &mut cost);
                    if let Some(call) = call {
                        let more = self.look_through(feed, call, &mut looked.texts, &mut cost);
                        seen.partly |= more.partly;
                        seen.beyond |= more.beyond;
                    }
                    let ids = [Some(block), call];
                    let ids = || ids.into_iter().flatten();
                    if seen.partly {
                        let found = ids().map(|id| self.elsewhere.texts_in(id));
                        looked.texts |= found.fold(0, |all, texts| all | texts);
                    }
                    let n_texts = self.query.texts.len();
                    let whole = ids().all(|id| self.elsewhere.is_whole(id, n_texts));
                    let beyond = seen.beyond && !self.elsewhere.has_all();
                    looked.partly = seen.partly && (beyond || !whole);
                }
            }
        } else {
            looked.partly = false;
        }
        looked.fits = asked && self.texts_hold(looked.texts);
        self.put(block, looked, changed);
        cost
    }

    /// Looks for all texts that were not found yet in all texts of a block.
    fn look_through(
        &self,
        feed: &Feed,
        block: BlockId,
        found: &mut u32,
        cost: &mut usize,
    ) -> words::Seen {
        let texts = &self.query.texts;
        if texts.is_empty() {
            return words::Seen::default();
        }
        let all = u32::MAX >> (query::MOST_TEXTS - texts.len());
        words::visit_texts(feed, block, &mut |text| {
            for (nth, wanted) in texts.iter().enumerate() {
                if *found & (1 << nth) == 0 && wanted.what.is_in(text, cost) {
                    *found |= 1 << nth;
                }
            }
            if *found == all {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    /// Looks at what is new of a text, from the line on in which it could begin.
    fn look_at_end(&self, text: &str, from: usize, longest: usize, found: &mut u32) -> usize {
        let start = text.floor_char_boundary(from.saturating_sub(longest).min(text.len()));
        let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
        // Without escapes a line reads the same from anywhere on.
        let has_escapes = memchr::memchr(0x1b, &text.as_bytes()[line..start]).is_some();
        let start = if has_escapes { line } else { start };
        let new = words::cleaned(&text[start..]);
        let mut cost = 0;
        for (nth, wanted) in self.query.texts.iter().enumerate() {
            if *found & (1 << nth) == 0 && wanted.what.is_in(&new, &mut cost) {
                *found |= 1 << nth;
            }
        }
        cost
    }

    fn texts_hold(&self, found: u32) -> bool {
        let mut texts = self.query.texts.iter().enumerate();
        texts.all(|(nth, wanted)| (found & (1 << nth) != 0) != wanted.not)
    }

    /// What is read to see whether the facts hold, in bytes.
    fn cost_of_facts(&self, feed: &Feed, block: BlockId, call: Option<BlockId>) -> usize {
        let costs = self.query.facts.iter().map(|wanted| match wanted.what {
            Fact::Is(_) | Fact::Tool(_) => 0,
            Fact::File(_) => {
                let ids = [Some(block), call].into_iter().flatten();
                ids.map(|id| words::len_of_paths(feed, id)).sum()
            }
            Fact::Agent(_) => words::len_of_agents(feed, block),
        });
        costs.sum()
    }

    fn facts_hold(&self, feed: &Feed, block: BlockId, call: Option<BlockId>, kinds: Kinds) -> bool {
        self.query.facts.iter().all(|wanted| {
            let Wanted { what, not } = wanted;
            let ids = [Some(block), call];
            let mut ids = ids.into_iter().flatten();
            let holds = match what {
                Fact::Is(asked) => asked.meets(kinds),
                Fact::Tool(name) => ids.any(|id| match &feed.block(id).body {
                    BlockBody::ToolCall(call) => name.is_in(&call.tool_name),
                    BlockBody::Permission(ask) => name.is_in(&ask.request.tool_name),
                    _ => false,
                }),
                Fact::File(glob) => ids.any(|id| {
                    any(
                        |visit| words::visit_paths(feed, id, visit),
                        |path| glob.is_of(path),
                    )
                }),
                Fact::Agent(name) => any(
                    |visit| words::visit_agents(feed, block, visit),
                    |agent| name.is_in(agent),
                ),
            };
            holds != *not
        })
    }
}

/// Whether any of what is shown is wanted.
fn any(show: impl FnOnce(words::Visit<'_>), wanted: impl Fn(&str) -> bool) -> bool {
    let mut found = false;
    show(&mut |text| {
        found = wanted(text);
        if found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    found
}

/// Whether a string that is for a terminal alone, as a window's title, began in the line before `at` and goes on there: when it
/// ends, what was taken for text of it is none.
fn is_within_string(text: &str, at: usize) -> bool {
    let before = &text[..text.floor_char_boundary(at.min(text.len()))];
    let line = before.rfind('\n').map_or(before, |end| &before[end..]);
    let begins = |pair: &[u8]| pair[0] == 0x1b && b"]P_^X".contains(&pair[1]);
    let mut escapes = memchr::memrchr_iter(0x1b, line.as_bytes());
    let begun = escapes.find(|&at| line.as_bytes().get(at..at + 2).is_some_and(begins));
    begun.is_some_and(|begun| {
        let said = &line[begun + 2..];
        !said.contains('\u{7}') && !said.contains("\u{1b}\\")
    })
}
