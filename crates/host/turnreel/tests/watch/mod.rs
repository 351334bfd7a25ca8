//! Following agents' files and databases as they are written.

mod cline;
mod crush;
mod databases;
mod droid;
mod ends;
mod files;
mod following;
mod goose;
mod grok;
mod hostile;
mod kilo;
mod opencode;
mod qwen;
mod removed;
mod sources;
