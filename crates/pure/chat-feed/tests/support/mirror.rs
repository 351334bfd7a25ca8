//! The view that the laws compare, and a copy of a feed that knows nothing but patches.
//!
//! Shared with the workspace's tests over recorded sessions.

use std::collections::BTreeMap;

use chat_feed::{Block, BlockBody, BlockId, Feed, FeedPatch, block_line, feed_lines};

/// All that is shown of a feed.
pub(crate) fn view(feed: &Feed) -> Vec<String> {
    feed_lines(feed).collect()
}

/// Whether a row is shown as being written, or at work.
pub(crate) fn runs(block: &Block) -> bool {
    match &block.body {
        BlockBody::Text(text) => text.streaming,
        BlockBody::Thinking(thinking) => thinking.streaming,
        BlockBody::ToolCall(call) => call.status.runs(),
        _ => false,
    }
}

/// A copy of a feed that knows nothing but patches, and reads only what they name.
#[derive(Default)]
pub(crate) struct Mirror {
    rows: Vec<(BlockId, String, String)>,
    turns: BTreeMap<u32, String>,
    session: String,
}

impl Mirror {
    pub(crate) fn apply(&mut self, feed: &Feed, patches: &[FeedPatch]) {
        if self.session.is_empty() {
            self.session = format!("{:?}", Feed::default().session());
        }
        for patch in patches {
            match *patch {
                FeedPatch::Clear => *self = Mirror::default(),
                FeedPatch::Insert { block, after } => {
                    let at = after.map_or(0, |after| self.position(after) + 1);
                    let text = feed.text(block).to_string();
                    self.rows
                        .insert(at, (block, block_line(feed.block(block)), text));
                }
                FeedPatch::Remove { block } => {
                    let at = self.position(block);
                    self.rows.remove(at);
                }
                FeedPatch::AppendText { block, from } => {
                    let at = self.position(block);
                    let (_, _, text) = &mut self.rows[at];
                    // Patches are read once a frame: the text may be longer by now than the patch knew.
                    if text.len() < feed.text(block).len() {
                        assert!(from <= text.len());
                        text.truncate(from);
                        text.push_str(&feed.text(block)[from..]);
                    }
                }
                FeedPatch::Update { block } => {
                    let at = self.position(block);
                    self.rows[at].1 = block_line(feed.block(block));
                    self.rows[at].2 = feed.text(block).to_string();
                }
                FeedPatch::Turn { turn } => {
                    self.turns.insert(turn.0, format!("{:?}", feed.turn(turn)));
                }
                FeedPatch::Session => self.session = format!("{:?}", feed.session()),
            }
        }
        // Times of the session are facts that every event moves; no patch is worth that.
        self.session = format!("{:?}", feed.session());
    }

    /// A feed that goes back in time has fewer turns.
    #[allow(dead_code, reason = "each test uses its part")]
    pub(crate) fn forget_turns_from(&mut self, n_turns: usize) {
        self.turns.retain(|turn, _| (*turn as usize) < n_turns);
    }

    fn position(&self, id: BlockId) -> usize {
        let at = self.rows.iter().position(|(row, ..)| *row == id);
        at.unwrap_or_else(|| panic!("a patch names {id:?}, which is no row"))
    }

    pub(crate) fn view(&self) -> Vec<String> {
        let rows = self
            .rows
            .iter()
            .map(|(_, frame, text)| format!("{frame} {text:?}"));
        let turns = self.turns.values().cloned();
        let session = std::iter::once(self.session.clone());
        rows.chain(turns).chain(session).collect()
    }
}
