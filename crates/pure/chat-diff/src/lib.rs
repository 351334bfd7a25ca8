//! Diffs of one file as git writes them: made from two texts or from an agent's hunks, printed so that `git apply` and
//! `patch` take them, parsed back for display, applied, widened, and tinted by word.
//!
//! Where the texts come from is left to `chat-capture` (files) and `chat-normalize` (providers); what a diff looks like
//! is left to the page. Nothing here reads a file, a clock or the environment, and no input makes it panic: what is
//! not a diff parses to a [`Patch`] without files.
//!
//! ```
//! let diff = chat_diff::diff_texts("src/a.txt", Some("one\ntwo\n"), Some("one\nzwei\n"));
//! assert_eq!((diff.lines_added, diff.lines_removed), (1, 1));
//! assert_eq!(chat_diff::apply(&diff.text, "one\ntwo\n").unwrap(), "one\nzwei\n");
//! let patch = chat_diff::parse(&diff.text);
//! assert_eq!(patch.files[0].path(), "src/a.txt");
//! ```

mod file_diff;
mod hunks;
mod preview;

mod apply;
mod compose;
mod parse;
mod patch;
mod widen;

mod alike;
mod made;
mod rows;
mod signs;
mod words;

mod few;
mod lines;
mod names;
mod print;

pub use apply::{Error, apply};
pub use compose::{ComposeError, compose};
pub use file_diff::{Change, FileDiff, diff_bytes, diff_renamed, diff_texts};
pub use hunks::{Hunk, from_hunks, from_unified};
pub use made::{Made, made};
pub use parse::parse;
pub use patch::{LineKind, Patch, PatchFile, PatchHunk, PatchLine};
pub use preview::{PREVIEW_BYTES, PREVIEW_LINES, preview};
pub use rows::{Space, SplitRow, mostly_paired};
pub use widen::{Around, Widened, widen};
pub use words::words;
