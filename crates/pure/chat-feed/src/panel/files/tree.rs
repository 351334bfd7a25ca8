//! The tree of the files that were changed.

use std::collections::{BTreeMap, HashMap};

use super::{ChangedFile, FileChange};
use crate::block::{BlockBody, BlockId, FileEditBlock};
use crate::feed::Feed;
use crate::file_place::moved_from;
use crate::panel::Scope;
use crate::units;

/// Deeper folders are one: a path may have thousands of separators, and no tree is read that deep.
const MOST_DEPTH: usize = 32;

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
    /// Edits that are left out: they are of turns that are undone, and the agent put the files back.
    pub n_put_back: usize,
}

/// The files that a session, or one of its turns, changed. Of the session what was put back is left out.
pub fn files(feed: &Feed, scope: Scope) -> Files {
    let mut n_put_back = 0;
    let cwd = feed.session().cwd.as_deref();
    let mut found: Vec<ChangedFile> = Vec::new();
    // Which of them were not there before; and which file each is: of one that moved to another's place, both are one.
    let (mut are_new, mut same_as): (Vec<bool>, Vec<usize>) = Default::default();
    let mut rows: Vec<(usize, BlockId)> = Vec::new();
    let mut by_path: HashMap<&str, usize> = HashMap::new();
    for (id, block) in edits_in(feed, scope) {
        if scope == Scope::Session && feed.turn_of(id).is_put_back() {
            n_put_back += 1;
            continue;
        }
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
        let turn = feed.turn_of(id);
        found[at].n_undone += usize::from(turn.is_undone() && !turn.is_put_back());
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
        n_put_back,
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

/// The edits of a scope as they were made: what a call changed stands behind its row, whatever others did meanwhile.
fn edits_in(feed: &Feed, scope: Scope) -> Vec<(BlockId, &FileEditBlock)> {
    let rows = feed.rows().filter(|block| scope.holds(block.turn));
    let edits = rows.filter_map(|block| match &block.body {
        BlockBody::FileEdit(edit) => Some((block.id, &**edit)),
        _ => None,
    });
    let mut edits: Vec<_> = edits.collect();
    // Rows are named in the order they came.
    edits.sort_unstable_by_key(|(id, _)| *id);
    edits
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
