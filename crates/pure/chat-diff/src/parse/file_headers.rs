//! The headers of a file: its names, its modes, and what happened to it.

use crate::file_diff::Change;
use crate::names;
use crate::patch::PatchFile;
use crate::print::DEV_NULL;

/// The file whose headers or hunks are being read.
pub(super) struct Open<'a> {
    pub(super) file: PatchFile,
    /// The names of a `diff --git` line, as they stand there.
    pub(super) git_names: Option<(String, String)>,
    /// The names of `---` and `+++`.
    pub(super) mark_names: Option<(SideName, SideName)>,
    moved_from: Option<&'a str>,
    moved_to: Option<&'a str>,
    copied: bool,
    created: bool,
    deleted: bool,
}

impl<'a> Open<'a> {
    /// A file of which nothing is known yet.
    pub(super) fn new(at: usize) -> Self {
        Open {
            file: PatchFile {
                old_path: None,
                new_path: None,
                change: Change::Modified,
                old_mode: None,
                new_mode: None,
                binary: false,
                combined: false,
                range: at..at,
                hunks: Vec::new(),
            },
            git_names: None,
            mark_names: None,
            moved_from: None,
            moved_to: None,
            copied: false,
            created: false,
            deleted: false,
        }
    }

    /// Reads a line between `diff --git` and the first hunk; others than git's are passed over.
    pub(super) fn extended_header(&mut self, content: &'a str) {
        let mode = |digits: &str| {
            u32::from_str_radix(digits, 8)
                .ok()
                .filter(|mode| *mode <= 0o777_777)
        };
        if let Some(digits) = content.strip_prefix("new file mode ") {
            self.created = true;
            self.file.new_mode = mode(digits);
        } else if let Some(digits) = content.strip_prefix("deleted file mode ") {
            self.deleted = true;
            self.file.old_mode = mode(digits);
        } else if let Some(digits) = content.strip_prefix("old mode ") {
            self.file.old_mode = mode(digits);
        } else if let Some(digits) = content.strip_prefix("new mode ") {
            self.file.new_mode = mode(digits);
        } else if let Some(name) = content.strip_prefix("rename from ") {
            self.moved_from = Some(name);
        } else if let Some(name) = content.strip_prefix("rename to ") {
            self.moved_to = Some(name);
        } else if let Some(name) = content.strip_prefix("copy from ") {
            (self.moved_from, self.copied) = (Some(name), true);
        } else if let Some(name) = content.strip_prefix("copy to ") {
            (self.moved_to, self.copied) = (Some(name), true);
        } else if content.starts_with("GIT binary patch") || content == "Binary files differ" {
            // The second is what a merge's diff says.
            self.file.binary = true;
        } else if let Some(names) = content
            .strip_prefix("Binary files ")
            .and_then(|rest| rest.strip_suffix(" differ"))
        {
            self.file.binary = true;
            if self.mark_names.is_none() {
                self.mark_names = self.binary_names(names);
            }
        }
    }

    /// The names of a `Binary files … differ` line, where it says more than `diff --git`.
    fn binary_names(&self, names: &str) -> Option<(SideName, SideName)> {
        if let Some(new) = names.strip_prefix("/dev/null and ") {
            Some((SideName::default(), SideName::read(new)))
        } else if let Some(old) = names.strip_suffix(" and /dev/null") {
            Some((SideName::read(old), SideName::default()))
        } else if self.git_names.is_none() {
            let (old, new) = names.split_once(" and ")?;
            Some((SideName::read(old), SideName::read(new)))
        } else {
            None
        }
    }

    /// The file with its paths and what happened to it.
    pub(super) fn named(self) -> PatchFile {
        let mut file = self.file;
        let git = self
            .git_names
            .as_ref()
            .map(|(old, new)| names::strip_prefixes(old, new));
        let marks = self
            .mark_names
            .as_ref()
            .map(|(old, new)| sides_there(&file, old, new));
        let (old, new, prefixed) = match (marks, git) {
            (Some((Some(old), Some(new))), _) => {
                let (old, new, prefixed) = names::strip_prefixes(old, new);
                (Some(old), Some(new), prefixed)
            }
            (Some((old, new)), git) => {
                // One side is missing, so `diff --git` decides whether the other has a prefix; unless it says no more.
                let git = git.filter(|(old, new, _)| ![*old, *new].contains(&DEV_NULL));
                let strip = |name: &'_ str, usual: &str| match git {
                    // All prefixes are a letter and a slash; some agents leave them out here.
                    Some((_, _, true)) if name.as_bytes().get(1) == Some(&b'/') => usual.len(),
                    Some(_) => 0,
                    None if name.starts_with(usual) => usual.len(),
                    None => 0,
                };
                let old = old.map(|name| &name[strip(name, "a/")..]);
                let new = new.map(|name| &name[strip(name, "b/")..]);
                (old, new, false)
            }
            (None, Some((old, new, prefixed))) => (Some(old), Some(new), prefixed),
            (None, None) => (None, None, false),
        };
        let moved = self.moved_from.is_some() || self.moved_to.is_some();
        let old_path = self
            .moved_from
            .map(|name| names::read(name).0.into_owned())
            .or_else(|| old.map(str::to_owned));
        let new_path = self
            .moved_to
            .map(|name| names::read(name).0.into_owned())
            .or_else(|| new.map(str::to_owned));
        let created = self.created || (old.is_none() && new.is_some());
        let deleted = self.deleted || (old.is_some() && new.is_none());
        file.change = match (created, deleted) {
            _ if self.copied => Change::Created,
            (true, false) => Change::Created,
            (false, true) => Change::Deleted,
            (true, true) => Change::Modified,
            (false, false) if moved || (prefixed && old != new) => Change::Renamed,
            (false, false) => Change::Modified,
        };
        file.old_path = old_path.filter(|_| self.copied || file.change != Change::Created);
        file.new_path = new_path.filter(|_| file.change != Change::Deleted);
        file
    }
}

/// The line that stands for the content of a binary file: of the file above, or, of diff, of a file of its own.
pub(super) fn is_binary_line(content: &str) -> bool {
    let rest = content.strip_prefix("Binary files ");
    rest.is_some_and(|names| names.ends_with(" differ"))
}

/// What stands behind `---` or `+++`.
#[derive(Default)]
pub(super) struct SideName {
    /// `None` for `/dev/null`.
    name: Option<String>,
    /// Its time is about 0, by which bzr and diff say that there is no such file. So are the times of real files where a
    /// build sets them all to the same.
    is_timeless: bool,
}

impl SideName {
    pub(super) fn read(text: &str) -> Self {
        let (name, time) = names::read(text);
        Self {
            name: (name != DEV_NULL).then(|| name.into_owned()),
            is_timeless: time.contains("\t1970-01-01 ") || time.contains("\t1969-12-31 "),
        }
    }

    /// Whether it is said that there is no such file.
    pub(super) fn is_absent(&self) -> bool {
        self.name.is_none() || self.is_timeless
    }
}

/// The names of the sides that are there: one with lines is, whatever its time.
fn sides_there<'n>(
    file: &PatchFile,
    old: &'n SideName,
    new: &'n SideName,
) -> (Option<&'n str>, Option<&'n str>) {
    let both = old.is_timeless && new.is_timeless;
    let there = |side: &'n SideName, has_lines: bool| {
        let name = side.name.as_deref();
        name.filter(|_| !side.is_timeless || has_lines || both)
    };
    let has_old = file.hunks.iter().any(|hunk| hunk.old_lines > 0);
    let has_new = file.hunks.iter().any(|hunk| hunk.new_lines > 0);
    (there(old, has_old), there(new, has_new))
}
