//! chat-store
