//! Rows of what the user is asked, each with its answer.

use chat_event::payload;

use super::BlockId;

/// A request for permission.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionBlock {
    /// What is asked; of an answer that came first, only the id.
    pub request: payload::PermissionRequest,
    /// The row of the call that was asked for, once that is answered, or the call done.
    pub call: Option<BlockId>,
    /// The answer.
    pub resolved: Option<payload::PermissionResolved>,
    /// When it was given, Unix epoch in milliseconds.
    pub answered_ms: Option<i64>,
    /// Whether it can no longer be answered.
    pub expired: bool,
}
chat_event::pack_fields!(PermissionBlock {
    request,
    call,
    resolved,
    answered_ms,
    expired
});

/// Questions to the user.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionBlock {
    /// What is asked; of answers that came first, only the id.
    pub request: payload::QuestionRequest,
    /// The answers.
    pub resolved: Option<payload::QuestionResolved>,
    /// When they were given, Unix epoch in milliseconds.
    pub answered_ms: Option<i64>,
    /// Whether they can no longer be answered.
    pub expired: bool,
}
chat_event::pack_fields!(QuestionBlock {
    request,
    resolved,
    answered_ms,
    expired
});
