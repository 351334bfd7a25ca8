//! The words of a diff: header lines, hunk headers, the mark of a missing newline (git-diff(1), "Generating patch text
//! with -p"). Names are left to `names`.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::file_diff::Change;
use crate::names::spell;

/// Stands behind a line that ends its file without a newline.
pub(crate) const NO_NEWLINE: &str = "\\ No newline at end of file\n";

/// The file git names for a side that is not there.
pub(crate) const DEV_NULL: &str = "/dev/null";

/// The mode of a plain file; nothing here knows the real one, and git asks for one with a new file.
const PLAIN_MODE: u32 = 0o100_644;

/// What stands above the hunks of one file.
pub(crate) struct Header<'a> {
    pub(crate) old_path: Cow<'a, str>,
    pub(crate) new_path: Cow<'a, str>,
    pub(crate) change: Change,
    pub(crate) old_mode: Option<u32>,
    pub(crate) new_mode: Option<u32>,
}

/// What follows a header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Nothing: an empty file came or went, a file moved as it was, a mode changed.
    Nothing,
    Hunks,
    Binary,
}

/// Writes `diff --git` and its extended lines, `---` and `+++` above hunks, and the line that names binary files.
pub(crate) fn write_header(out: &mut String, header: &Header<'_>, body: Body) {
    let (old_name, new_name) = (relative(&header.old_path), relative(&header.new_path));
    // Without `---` and `+++`, patch takes names with spaces only in quotes; git takes them there, too.
    let spell = |prefix, name| spell(prefix, name, body == Body::Nothing);
    let (old, new) = (spell("a/", old_name), spell("b/", new_name));
    let _ = writeln!(out, "diff --git {old} {new}");
    match header.change {
        Change::Created => {
            let _ = writeln!(
                out,
                "new file mode {:06o}",
                header.new_mode.unwrap_or(PLAIN_MODE)
            );
        }
        Change::Deleted => {
            let _ = writeln!(
                out,
                "deleted file mode {:06o}",
                header.old_mode.unwrap_or(PLAIN_MODE)
            );
        }
        Change::Modified | Change::Renamed => {
            if let (Some(old_mode), Some(new_mode)) = (header.old_mode, header.new_mode) {
                let _ = write!(out, "old mode {old_mode:06o}\nnew mode {new_mode:06o}\n");
            }
        }
    }
    if header.change == Change::Renamed {
        if body == Body::Nothing {
            out.push_str("similarity index 100%\n");
        }
        let _ = write!(
            out,
            "rename from {}\nrename to {}\n",
            spell("", old_name),
            spell("", new_name)
        );
    }
    let (old, new) = match header.change {
        Change::Created => (DEV_NULL, new.as_str()),
        Change::Deleted => (old.as_str(), DEV_NULL),
        Change::Modified | Change::Renamed => (old.as_str(), new.as_str()),
    };
    match body {
        Body::Nothing => {}
        Body::Hunks => {
            for (mark, name) in [("---", old), ("+++", new)] {
                // A tab ends a name with spaces, which patch would cut at the first one.
                let end = if name.contains(' ') { "\t" } else { "" };
                let _ = writeln!(out, "{mark} {name}{end}");
            }
        }
        Body::Binary => {
            let _ = writeln!(out, "Binary files {old} and {new} differ");
        }
    }
}

/// Writes `@@ -1,2 +1,3 @@ section`; a count of 1 is left out, as git does.
pub(crate) fn write_hunk_header(
    out: &mut String,
    old_start: u32,
    old_lines: u32,
    new_start: u32,
    new_lines: u32,
    section: &str,
) {
    out.push_str("@@ -");
    write_range(out, old_start, old_lines);
    out.push_str(" +");
    write_range(out, new_start, new_lines);
    out.push_str(" @@");
    if !section.is_empty() {
        out.push(' ');
        out.push_str(section);
    }
    out.push('\n');
}

fn write_range(out: &mut String, start: u32, lines: u32) {
    let _ = if lines == 1 {
        write!(out, "{start}")
    } else {
        write!(out, "{start},{lines}")
    };
}

/// Agents name files by absolute paths; a diff names them below some root, and git refuses `a//x`.
fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}
