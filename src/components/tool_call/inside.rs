//! What an agent's call does not say twice.

use chat_feed::{Block, BlockBody, Feed, ToolCallBlock, ToolKind, ToolStatus, long_text};

/// What of an agent's call stands in the rows within it, which are shown below it: its task first, its answer last.
#[derive(Default)]
pub(super) struct Inside {
    pub(super) has_task: bool,
    pub(super) has_answer: bool,
}

impl Inside {
    pub(super) fn of(feed: &Feed, block: &Block, call: &ToolCallBlock) -> Inside {
        if call.kind != ToolKind::Agent
            || matches!(call.status, ToolStatus::Failed | ToolStatus::Denied)
        {
            return Inside::default();
        }
        let first = feed.next(block.id);
        let first = first.map(|id| feed.block(id));
        let task = first.filter(|first| first.parent == Some(block.id));
        let has_task = task.is_some_and(|task| match &task.body {
            BlockBody::Prompt(prompt) => prompt.text.is_some(),
            _ => false,
        });
        // Of the rows that follow, those within have it among their parents.
        let follow = std::iter::successors(first, |row| feed.next(row.id).map(|id| feed.block(id)));
        let within = follow.take_while(|row| row.depth > block.depth);
        let texts = call.result.as_ref().and_then(long_text::texts);
        let Some(answer) = texts.as_deref().and_then(|texts| texts.first()) else {
            return Inside {
                has_task,
                has_answer: false,
            };
        };
        let answer = answer.excerpt();
        let answer = answer.whole().unwrap_or(answer.tail.into_cow());
        let mut n_said = 0;
        for row in within {
            match &row.body {
                BlockBody::Text(_) => {
                    let text = feed.text(row.id);
                    let text = text.trim();
                    n_said = match answer.contains(text) {
                        true => n_said + text.len(),
                        false => 0,
                    };
                }
                BlockBody::ToolCall(_) => n_said = 0,
                _ => {}
            }
        }
        // Programs write a line of their own below it, and texts in blocks are without what parts them.
        Inside {
            has_task,
            has_answer: n_said * 10 > answer.len() * 7,
        }
    }
}
