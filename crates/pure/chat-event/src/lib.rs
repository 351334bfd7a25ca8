//! chat-event
