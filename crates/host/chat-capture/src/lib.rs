//! chat-capture
