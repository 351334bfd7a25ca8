//! agent-feed
fn main() {}
