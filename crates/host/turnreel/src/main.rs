//! turnreel
fn main() {}
