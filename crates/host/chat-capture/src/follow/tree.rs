//! What lies in one agent's folder: looked at again and again, at little cost.
//!
//! A folder is listed when it changed, which its own time tells; its files are looked at each time. Links are not followed:
//! what they lead to may be anywhere.

mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::agent::{Agent, Place, Role};
use super::document::is_document;
use super::file::{Facts, SETTLED};
use super::owners::Owners;
use crate::says_gone;

/// More files and folders than this are not looked at, and deeper ones neither.
const MOST_FILES: usize = 50_000;
const MOST_DEPTH: usize = 12;

/// A folder is listed again after so long whatever its time says: not every disk tells the truth about it.
const LIST_AGAIN: Duration = Duration::from_secs(60);

/// A file of a session.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) agent: Agent,
    pub(super) path: PathBuf,
    /// The session's own file.
    pub(super) main: PathBuf,
    pub(super) is_main: bool,
    /// `None` where it is there and cannot be looked at now.
    pub(super) facts: Option<Facts>,
}

/// One agent's folder.
#[derive(Debug)]
pub(super) struct Tree {
    place: Place,
    /// The folder itself, where a link led to it.
    root: PathBuf,
    folders: BTreeMap<PathBuf, Folder>,
    owners: Owners,
}

#[derive(Debug)]
struct Folder {
    changed: Option<SystemTime>,
    listed: Instant,
    is_settled: bool,
    files: Vec<(PathBuf, Role)>,
    folders: Vec<PathBuf>,
}

impl Tree {
    pub(super) fn new(place: Place) -> Self {
        Tree {
            root: place.folder.clone(),
            place,
            folders: BTreeMap::new(),
            owners: Owners::default(),
        }
    }

    pub(super) fn agent(&self) -> Agent {
        self.place.agent
    }

    pub(super) fn folder(&self) -> &Path {
        &self.place.folder
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn is_there(&self) -> bool {
        self.folders.contains_key(&self.root)
    }

    #[cfg(test)]
    pub(super) fn n_owners(&self) -> usize {
        self.owners.len()
    }

    /// Adds all files of sessions, and what could not be looked at. `is_told` is whether a file was told as a session's own.
    pub(super) fn look(
        &mut self,
        is_told: &dyn Fn(&Path) -> bool,
        seen: &mut Vec<Seen>,
        faults: &mut Vec<String>,
    ) {
        // The folder may be a link, as for those who keep their settings elsewhere; what lies in it may not.
        match self.place.folder.canonicalize() {
            Ok(root) => self.root = root,
            Err(why) if says_gone(&why) => self.root.clone_from(&self.place.folder),
            // It cannot be looked at now: it leads where it led.
            Err(_) => {}
        }
        let mut here = BTreeSet::new();
        let mut left = vec![(self.root.clone(), 0)];
        let mut n_files = 0;
        while let Some((path, depth)) = left.pop() {
            if !self.list(&path, faults) {
                continue;
            }
            let Some(folder) = self.folders.get(&path) else {
                continue;
            };
            let most_depth = self.place.agent.most_depth();
            if depth < most_depth.unwrap_or(MOST_DEPTH) {
                left.extend(folder.folders.iter().map(|path| (path.clone(), depth + 1)));
            } else if let Some(inner) = folder.folders.first().filter(|_| most_depth.is_none()) {
                faults.push(format!(
                    "not looked into, for it lies too deep: {}",
                    inner.display()
                ));
            }
            n_files += folder.files.len() + 1;
            if n_files > MOST_FILES {
                let root = self.root.display();
                faults.push(format!(
                    "more than {MOST_FILES} files and folders, of which the rest is not read: {root}"
                ));
                break;
            }
            here.insert(path);
        }
        self.folders.retain(|path, _| here.contains(path));
        self.sort_files(is_told, seen);
    }

    /// Lists a folder where it changed; false where it is not there.
    fn list(&mut self, path: &Path, faults: &mut Vec<String>) -> bool {
        let about = match path.symlink_metadata() {
            Ok(about) => about,
            Err(why) => return self.stays(path, &why, faults),
        };
        let changed = about.modified().ok();
        if let Some(folder) = self.folders.get(path)
            && folder.is_settled
            && folder.changed == changed
            && folder.listed.elapsed() < LIST_AGAIN
        {
            return true;
        }
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(why) => return self.stays(path, &why, faults),
        };
        let is_settled = changed
            .and_then(|at| SystemTime::now().duration_since(at).ok())
            .is_some_and(|age| age > SETTLED);
        let mut folder = Folder {
            changed,
            listed: Instant::now(),
            is_settled,
            files: Vec::new(),
            folders: Vec::new(),
        };
        for entry in entries {
            match entry {
                Ok(entry) => self.sort(&entry, &mut folder, faults),
                Err(why) if self.stays(path, &why, faults) => return true,
                // Half of it is better than nothing; the next look lists it again.
                Err(_) => {
                    folder.is_settled = false;
                    break;
                }
            }
            if folder.files.len() + folder.folders.len() > MOST_FILES {
                // What is too much for one look is too much for all.
                break;
            }
        }
        folder.files.sort_by(|(a, _), (b, _)| a.cmp(b));
        // A chat that went on in today's form stands there whole.
        let newer = |path: &Path| {
            let newer = path.with_extension("jsonl");
            let files = &folder.files;
            files.binary_search_by(|(it, _)| it.cmp(&newer)).is_ok()
        };
        let is_old = |path: &Path| is_document(path) && newer(path);
        let old: Vec<bool> = folder.files.iter().map(|(it, _)| is_old(it)).collect();
        let mut old = old.into_iter();
        folder.files.retain(|_| !old.next().unwrap_or_default());
        self.folders.insert(path.to_owned(), folder);
        true
    }

    /// A folder could not be listed: whether it stays what it was. Else all that lies below it would be gone for one failure.
    fn stays(&self, path: &Path, why: &std::io::Error, faults: &mut Vec<String>) -> bool {
        if says_gone(why) {
            return false;
        }
        faults.push(format!("could not list: {why}: {}", path.display()));
        self.folders.contains_key(path)
    }

    /// Puts one entry of a folder where it belongs.
    fn sort(&self, entry: &std::fs::DirEntry, folder: &mut Folder, faults: &mut Vec<String>) {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { return };
        if kind.is_dir() {
            folder.folders.push(path);
            return;
        }
        let Some(below) = path.strip_prefix(&self.root).ok() else {
            return;
        };
        let Some(text) = below.to_str() else {
            let is_log = path.extension().is_some_and(|ending| ending == "jsonl");
            if is_log {
                faults.push(format!(
                    "not read, for its name is no text: {}",
                    path.display()
                ));
            }
            return;
        };
        let Some(role) = self.place.agent.role(&text.replace('\\', "/")) else {
            // A link to a folder may hold sessions; one to a file that is none of ours is nothing to speak of.
            if kind.is_symlink() && path.is_dir() {
                faults.push(format!(
                    "not followed, for it is a link: {}",
                    path.display()
                ));
            }
            return;
        };
        if kind.is_symlink() {
            faults.push(format!("not read, for it is a link: {}", path.display()));
        } else if kind.is_file() {
            folder.files.push((path, role));
        } else {
            faults.push(format!("not read, for it is no file: {}", path.display()));
        }
    }
}
