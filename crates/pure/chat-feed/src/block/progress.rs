//! A row that says how far a long step is.

use chat_event::payload;

/// How far a long step is, that no call shows itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressBlock {
    /// What was told of it last.
    pub told: payload::Progress,
    /// Whether it goes on no more: something else came, or its turn is over.
    pub over: bool,
}
chat_event::pack_fields!(ProgressBlock { told, over });
