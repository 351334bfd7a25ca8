//! chat-diff
