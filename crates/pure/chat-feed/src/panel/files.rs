//! The files that were changed: a tree of them, what became of each in sum, and the sum of its diffs.

use std::collections::{BTreeMap, HashMap};

use chat_event::payload::FileEdit;

use super::Scope;
use crate::block::{BlockBody, BlockId, FileEditBlock};
use crate::feed::Feed;
use crate::file_place::moved_from;
use crate::units;

/// Deeper folders are one: a path may have thousands of separators, and no tree is read that deep.
const MOST_DEPTH: usize = 32;

/// What became of a file in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileChange {
    /// It is new.
    Created,
    /// It has other content.
    #[default]
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path.
    Renamed,
}

impl FileChange {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            FileChange::Created => "created",
            FileChange::Modified => "modified",
            FileChange::Deleted => "deleted",
            FileChange::Renamed => "renamed",
        }
    }

    /// What two changes, one after the other, are in sum. `is_new` says that nothing was there before the first of all.
    pub(crate) fn then(self, next: FileChange, is_new: bool) -> FileChange {
        match (self, next) {
            (_, FileChange::Deleted) => FileChange::Deleted,
            (FileChange::Deleted, _) if is_new => FileChange::Created,
            // A new file that is edited or moved is still a new one.
            (FileChange::Created, _) => FileChange::Created,
            (FileChange::Deleted, _) => FileChange::Modified,
            (FileChange::Renamed, _) | (_, FileChange::Renamed) => FileChange::Renamed,
            (FileChange::Modified, _) => FileChange::Modified,
        }
    }

    /// What a source's word for it says.
    pub(crate) fn of(change_type: &str) -> FileChange {
        match change_type {
            "created" => FileChange::Created,
            "deleted" => FileChange::Deleted,
            "renamed" => FileChange::Renamed,
            _ => FileChange::Modified,
        }
    }
}

/// A file that was changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangedFile {
    /// Its path as it is now.
    pub path: String,
    /// The same as seen from the session's folder.
    pub shown_path: String,
    /// Its path before, where it has another.
    pub old_path: Option<String>,
    /// What became of it.
    pub change: FileChange,
    /// Lines added by all its edits.
    pub lines_added: u64,
    /// Lines removed by all its edits.
    pub lines_removed: u64,
    /// The rows of its edits, in order.
    pub edits: Vec<BlockId>,
}

/// What a line of the tree stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeRowKind {
    /// A folder, by its path; several where each holds nothing but the next.
    Folder(String),
    /// A file: its index in [`Files::files`].
    File(usize),
}

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// How many folders it lies in.
    pub depth: u16,
    /// Its name; of several folders, their names with `/` between.
    pub name: String,
    /// What it stands for.
    pub kind: TreeRowKind,
}

/// All files that were changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    /// By path.
    pub files: Vec<ChangedFile>,
    /// The lines of the tree from its top, folders before files.
    pub tree: Vec<TreeRow>,
    /// Lines added in all of them.
    pub lines_added: u64,
    /// Lines removed in all of them.
    pub lines_removed: u64,
}

/// The files that a session, or one of its turns, changed.
pub fn files(feed: &Feed, scope: Scope) -> Files {
    let cwd = feed.session().cwd.as_deref();
    let mut found: Vec<ChangedFile> = Vec::new();
    // Which of them were not there before; and which file each is: of one that moved to another's place, both are one.
    let (mut are_new, mut same_as): (Vec<bool>, Vec<usize>) = Default::default();
    let mut rows: Vec<(usize, BlockId)> = Vec::new();
    let mut by_path: HashMap<&str, usize> = HashMap::new();
    for (id, block) in edits_in(feed, scope) {
        let edit = &block.edit;
        let path = edit.file_path.as_str();
        let change = FileChange::of(&edit.change_type);
        let old_path = edit.old_path.as_deref().filter(|old| *old != path);
        let known = by_path.get(path).copied();
        // A file that moves takes its history along.
        let moved = moved_from(edit).and_then(|old| by_path.remove(old));
        let at = known.or(moved).unwrap_or_else(|| {
            found.push(ChangedFile {
                change,
                ..ChangedFile::default()
            });
            are_new.push(change == FileChange::Created);
            same_as.push(same_as.len());
            found.len() - 1
        });
        by_path.insert(path, at);
        if let Some(moved) = moved.filter(|&moved| moved != at) {
            same_as[moved] = at;
            let moved = std::mem::take(&mut found[moved]);
            found[at].lines_added += moved.lines_added;
            found[at].lines_removed += moved.lines_removed;
        }
        let file = &mut found[at];
        if known.or(moved).is_some() {
            file.change = file.change.then(change, are_new[at]);
        }
        if file.old_path.is_none() {
            file.old_path = old_path.map(str::to_owned);
        }
        if file.path != path {
            file.path = path.to_owned();
            file.shown_path = units::below(path, cwd).to_owned();
        }
        file.lines_added += u64::from(edit.lines_added);
        file.lines_removed += u64::from(edit.lines_removed);
        rows.push((at, id));
    }
    for (mut at, id) in rows {
        while same_as[at] != at {
            same_as[at] = same_as[same_as[at]];
            at = same_as[at];
        }
        found[at].edits.push(id);
    }
    found.retain(|file| !file.edits.is_empty());
    for file in &mut found {
        if file.old_path.as_ref() == Some(&file.path) {
            file.old_path = None;
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let mut files = Files {
        lines_added: found.iter().map(|file| file.lines_added).sum(),
        lines_removed: found.iter().map(|file| file.lines_removed).sum(),
        tree: Vec::with_capacity(found.len()),
        files: Vec::new(),
    };
    let paths: Vec<Vec<&str>> = found
        .iter()
        .map(|file| names_of(&file.shown_path))
        .collect();
    let all: Vec<usize> = (0..found.len()).collect();
    grow(&paths, &all, 0, 0, String::new(), &mut files.tree);
    files.files = found;
    files
}

/// The edits of a scope in the order of the rows.
fn edits_in(feed: &Feed, scope: Scope) -> impl Iterator<Item = (BlockId, &FileEditBlock)> {
    feed.rows()
        .filter(move |block| scope.holds(block.turn))
        .filter_map(|block| match &block.body {
            BlockBody::FileEdit(edit) => Some((block.id, &**edit)),
            _ => None,
        })
}

/// The folders of a path and its name. Windows' separator counts where there is no other.
fn names_of(path: &str) -> Vec<&str> {
    let separator = if path.contains('/') { '/' } else { '\\' };
    let mut names = Vec::new();
    let mut rest = path;
    while names.len() + 1 < MOST_DEPTH {
        // A leading separator stays with its name: `/home` is not `home`.
        let from = rest.len() - rest.trim_start_matches(separator).len();
        let from = if from == rest.len() { 0 } else { from };
        let Some(at) = rest[from..].find(separator) else {
            break;
        };
        let (name, tail) = (
            &rest[..from + at],
            &rest[from + at + separator.len_utf8()..],
        );
        if tail.is_empty() {
            break;
        }
        names.push(if names.is_empty() {
            name
        } else {
            &name[from..]
        });
        rest = tail;
    }
    names.push(rest);
    names
}

/// Adds the lines of some files that share their first `level` folders, the last of which is `folder`.
fn grow(
    paths: &[Vec<&str>],
    some: &[usize],
    level: usize,
    depth: u16,
    folder: String,
    tree: &mut Vec<TreeRow>,
) {
    let mut folders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut leaves: Vec<usize> = Vec::new();
    for &at in some {
        match &paths[at][level..] {
            [_] | [] => leaves.push(at),
            [name, ..] => folders.entry(name).or_default().push(at),
        }
    }
    for (name, members) in folders {
        let mut name = name.to_owned();
        let mut level = level + 1;
        // Folders that hold nothing but the next one share its line.
        while let Some(next) = only_folder(paths, &members, level) {
            name.push('/');
            name.push_str(next);
            level += 1;
        }
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        tree.push(TreeRow {
            depth,
            name,
            kind: TreeRowKind::Folder(path.clone()),
        });
        grow(paths, &members, level, depth + 1, path, tree);
    }
    for at in leaves {
        tree.push(TreeRow {
            depth,
            name: paths[at].last().copied().unwrap_or_default().to_owned(),
            kind: TreeRowKind::File(at),
        });
    }
}

/// The one folder that all of these lie in at this level.
fn only_folder<'p>(paths: &[Vec<&'p str>], members: &[usize], level: usize) -> Option<&'p str> {
    let at_level = |at: &usize| match &paths[*at][level..] {
        [name, _, ..] => Some(*name),
        _ => None,
    };
    let first = at_level(members.first()?)?;
    members
        .iter()
        .all(|at| at_level(at) == Some(first))
        .then_some(first)
}

/// The diff of one edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditDiff {
    /// Its row.
    pub block: BlockId,
    /// The diff, as much of it as is here.
    pub text: String,
    /// Whether that is all of it.
    pub whole: bool,
    /// Whether the rest can be asked for.
    pub available: bool,
}

/// What the edits of a file are in sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sum {
    /// One diff, from before the first edit to after the last.
    Whole {
        /// The diff; empty where all was taken back.
        text: String,
        /// Lines that are there now and were not before.
        lines_added: u32,
        /// Lines that were there before.
        lines_removed: u32,
    },
    /// The edits one after another, and why they cannot be summed up.
    Apart {
        /// Why, in a sentence without its full stop.
        why: String,
        /// The diffs.
        edits: Vec<EditDiff>,
    },
}

/// The sum of a file's edits. `loaded` has the whole diff of a row, where it was fetched.
pub fn edits_of<T: AsRef<str>>(
    feed: &Feed,
    file: &ChangedFile,
    loaded: impl Fn(BlockId) -> Option<T>,
) -> Sum {
    let diffs = file
        .edits
        .iter()
        .filter_map(|&id| match &feed.block(id).body {
            BlockBody::FileEdit(edit) => Some(edit_diff(id, &edit.edit, loaded(id))),
            _ => None,
        });
    let edits: Vec<EditDiff> = diffs.collect();
    let n_cut = edits.iter().filter(|edit| !edit.whole).count();
    if n_cut > 0 {
        let of = units::count(edits.len() as u64, "edit", "edits");
        let why = match n_cut {
            1 if edits.len() == 1 => "Only a part of this diff is here".to_owned(),
            _ => format!("Only a part of {n_cut} of {of} is here"),
        };
        return Sum::Apart { why, edits };
    }
    let texts: Vec<&str> = edits.iter().map(|edit| edit.text.as_str()).collect();
    if texts.iter().all(|text| text.is_empty()) {
        let why = "This source does not tell the content of the change".to_owned();
        return Sum::Apart { why, edits };
    }
    // A file that only moved holds what it held.
    let only_moved = |edit: &EditDiff| match &feed.block(edit.block).body {
        BlockBody::FileEdit(told) => {
            let edit = &told.edit;
            FileChange::of(&edit.change_type) == FileChange::Renamed
                && (edit.lines_added, edit.lines_removed) == (0, 0)
        }
        _ => false,
    };
    let is_untold = |edit: &EditDiff| edit.text.is_empty() && !only_moved(edit);
    if let Some(nth) = edits.iter().position(is_untold) {
        let why = format!("This source does not tell what edit {} changed", nth + 1);
        return Sum::Apart { why, edits };
    }
    // One diff is its own sum, with the context lines it came with.
    if let [only] = edits.as_slice() {
        return Sum::Whole {
            text: only.text.clone(),
            lines_added: u32::try_from(file.lines_added).unwrap_or(u32::MAX),
            lines_removed: u32::try_from(file.lines_removed).unwrap_or(u32::MAX),
        };
    }
    match chat_diff::compose(&file.path, &texts) {
        Ok(diff) => Sum::Whole {
            text: diff.text,
            lines_added: diff.lines_added,
            lines_removed: diff.lines_removed,
        },
        Err(refused) => {
            let why = match refused {
                chat_diff::ComposeError::Unreadable { diff } => {
                    format!("Edit {} is not the whole diff of a text", diff + 1)
                }
                chat_diff::ComposeError::Mismatch { diff } => {
                    format!("Something else changed this file before edit {}", diff + 1)
                }
                chat_diff::ComposeError::TooLong => "These edits are too long to sum up".to_owned(),
            };
            Sum::Apart { why, edits }
        }
    }
}

fn edit_diff<T: AsRef<str>>(block: BlockId, edit: &FileEdit, loaded: Option<T>) -> EditDiff {
    let inline = edit.full_diff.as_ref();
    let inline = inline.and_then(|body| body.excerpt().whole());
    let preview = edit.diff_preview.read();
    let (text, whole) = match (&loaded, &inline) {
        (Some(text), _) => (text.as_ref(), true),
        (None, Some(text)) => (text.as_ref(), true),
        (None, None) => (&*preview, edit.full_diff_size <= preview.len() as u64),
    };
    EditDiff {
        block,
        text: text.to_owned(),
        whole,
        available: edit.full_diff_available && !whole,
    }
}
