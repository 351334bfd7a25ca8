//! Following agents' files and databases as they are written.

mod ends;
mod files;
mod following;
mod hostile;
mod opencode;
mod removed;
mod sources;
