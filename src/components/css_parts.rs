//! The names by which a page styles what is within the element, `agent-feed::part(message)`: those of rows, which are made
//! by the thousand. Other elements bear theirs where they are made; the README lists all.

use chat_feed::BlockBody;

/// The line of a row.
pub(crate) const HEADER: &str = "item-header";
/// What stands below it when the row is open.
pub(crate) const BODY: &str = "item-body";

/// The parts that a block's row is.
pub(crate) fn of_row(body: &BlockBody) -> &'static str {
    match body {
        BlockBody::Prompt(_) | BlockBody::Text(_) => "item message",
        BlockBody::Thinking(_) => "item thinking",
        BlockBody::ToolCall(_) | BlockBody::FileEdit(_) => "item tool",
        BlockBody::Error { .. } => "item error",
        BlockBody::AgentMessage(_)
        | BlockBody::Permission(_)
        | BlockBody::Question(_)
        | BlockBody::Plan(_)
        | BlockBody::Progress(_)
        | BlockBody::AgentSwitch(_)
        | BlockBody::Interrupt { .. }
        | BlockBody::Audio { .. }
        | BlockBody::Compaction(_)
        | BlockBody::Notice { .. }
        | BlockBody::Raw { .. }
        | BlockBody::SessionStart(_)
        | BlockBody::SessionEnd { .. }
        | BlockBody::Gap(_)
        | BlockBody::TurnEnd(_) => ITEM,
    }
}

/// The part that a row is which stands for several.
pub(crate) const ITEM: &str = "item";
