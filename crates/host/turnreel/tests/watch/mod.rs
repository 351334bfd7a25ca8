//! Following agents' files and databases as they are written.

mod droid;
mod ends;
mod files;
mod following;
mod hostile;
mod opencode;
mod qwen;
mod removed;
mod sources;
