//! The feed as text: every fact of every row, turn and of the session, one a line.
//!
//! Two feeds that are shown alike have the same text, and the same feed has the same text on every machine: it is what
//! the laws of the log compare, and what a feed can be compared by outside of a browser. It is no format to be read
//! back, and gains a field with each fact that is shown.

use crate::block::{Block, BlockBody};
use crate::feed::Feed;

/// All that is shown of a feed, line by line, without line breaks: rows in their order, turns, the session.
///
/// ```
/// use chat_event::ChatEvent;
/// let line = r#"{"id":"e1","timestamp":1,"sessionId":"s","type":"assistant_chunk","payload":{"text":"Hi"}}"#;
/// let mut renderer = chat_feed::ChatRenderer::new();
/// renderer.render_event(&ChatEvent::from_json(line).unwrap());
/// assert_eq!(chat_feed::feed_lines(renderer.feed()).count(), 3);
/// ```
pub fn feed_lines(feed: &Feed) -> impl Iterator<Item = String> {
    let rows = feed
        .rows()
        .map(|block| format!("{} {:?}", block_line(block), &*feed.text(block.id)));
    let turns = feed.turns().iter().map(|turn| format!("{turn:?}"));
    let session = std::iter::once_with(|| format!("{:?}", feed.session()));
    rows.chain(turns).chain(session)
}

/// One row as far as it is shown, without its text: where a text row ends follows from that.
pub fn block_line(block: &Block) -> String {
    let mut block = block.clone();
    if let BlockBody::Text(text) = &mut block.body {
        text.end = 0;
    }
    // By which events its bodies are fetched is shown nowhere.
    if let BlockBody::ToolCall(call) = &mut block.body {
        call.args_event = None;
        call.result_event = None;
    }
    if let BlockBody::AgentMessage(message) = &mut block.body {
        message.message_event = None;
        message.result_event = None;
    }
    format!("{block:?}")
}
