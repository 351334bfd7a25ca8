//! What a text was: how long before the events that made it longer, and what else stood in it.

use std::sync::Arc;

use crate::block::EventIdx;
use crate::feed::TextBody;

/// What became of a text that did more than grow.
#[derive(Clone, Debug)]
pub(crate) struct Rewrite {
    event: EventIdx,
    change: Change,
}
chat_event::pack_fields!(Rewrite { event, change });

#[derive(Clone, Debug)]
enum Change {
    /// What stood from here on was replaced.
    Replaced { from: usize, old: Box<str> },
    /// So much was put in here.
    Inserted { at: usize, len: usize },
}
chat_event::pack_variants!(Change { 0 => Replaced { from, old }, 1 => Inserted { at, len } });

impl Rewrite {
    /// `old` became another text, whose first `unchanged` bytes are the same.
    pub(crate) fn replaced(event: EventIdx, old: &str, unchanged: usize) -> Rewrite {
        let mut from = unchanged.min(old.len());
        while !old.is_char_boundary(from) {
            from -= 1;
        }
        let old = old.get(from..).unwrap_or_default().into();
        Rewrite {
            event,
            change: Change::Replaced { from, old },
        }
    }

    /// So many bytes were put in at a place.
    pub(crate) fn inserted(event: EventIdx, at: usize, len: usize) -> Rewrite {
        Rewrite {
            event,
            change: Change::Inserted { at, len },
        }
    }

    fn undo(&self, text: &mut String) {
        match &self.change {
            Change::Replaced { from, old } => {
                text.truncate(*from);
                text.push_str(old);
            }
            Change::Inserted { at, len } => {
                text.replace_range(*at..at + len, "");
            }
        }
    }
}

impl TextBody {
    pub(crate) fn history_bytes(&self) -> usize {
        let replaced = self.rewrites.iter().map(|rewrite| match &rewrite.change {
            Change::Replaced { old, .. } => old.len(),
            Change::Inserted { .. } => 0,
        });
        self.growth.bytes()
            + self.rewrites.capacity() * size_of::<Rewrite>()
            + replaced.sum::<usize>()
    }

    /// Whether the text after `n_events` is the text of now, or the start of it.
    pub(crate) fn only_grew_since(&self, n_events: EventIdx) -> bool {
        self.rewrites
            .last()
            .is_none_or(|last| last.event < n_events)
    }

    /// How long it was after `n_events`; `None` where only its rows know.
    pub(crate) fn len_after(&self, n_events: EventIdx) -> Option<usize> {
        let before = || self.growth.before(n_events).unwrap_or(0) as usize;
        (!self.growth.is_empty()).then(before)
    }

    /// Where the text ended after `n_events`, where it is the start of that of now; `None` where it is all of it, or another.
    pub(crate) fn end_after(&self, n_events: EventIdx) -> Option<usize> {
        let len = self.len_after(n_events)?;
        (self.only_grew_since(n_events) && len < self.text.len()).then_some(len)
    }

    /// The text as it was after `n_events`; what stands behind it is that of now, where only its rows know its end.
    pub(crate) fn after(self: &Arc<TextBody>, n_events: EventIdx) -> Arc<TextBody> {
        let len = self.len_after(n_events);
        let grew = self.only_grew_since(n_events);
        if grew && len.is_none_or(|len| len >= self.text.len()) {
            return self.clone();
        }
        let mut text = match (grew, len) {
            (true, Some(len)) => self.text.read().part(0..len).into_string(),
            (true, None) | (false, _) => self.text.read().into_string(),
        };
        let first = self.rewrites.partition_point(|it| it.event < n_events);
        for rewrite in self.rewrites[first..].iter().rev() {
            rewrite.undo(&mut text);
        }
        if let Some(len) = len {
            text.truncate(len);
        }
        let is_there = |(at, _): &&(usize, _)| *at < text.len();
        let switches = self.switches.iter().take_while(is_there).copied().collect();
        Arc::new(TextBody {
            text: text.into(),
            switches,
            ..TextBody::default()
        })
    }
}
