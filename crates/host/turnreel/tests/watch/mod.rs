//! Following agents' files and databases as they are written.

mod cline;
mod crush;
mod droid;
mod ends;
mod files;
mod following;
mod goose;
mod hostile;
mod opencode;
mod qwen;
mod removed;
mod sources;
