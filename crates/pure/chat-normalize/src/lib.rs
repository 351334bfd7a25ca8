//! chat-normalize
