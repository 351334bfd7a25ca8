//! Following agents' files and databases as they are written.

mod cline;
mod copilot;
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
mod kimi;
mod opencode;
mod openhands;
mod qwen;
mod removed;
mod sources;
