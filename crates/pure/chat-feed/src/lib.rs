//! chat-feed
