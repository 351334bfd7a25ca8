//! Which files are read, and in what order: as they were named, and below a folder by their path.
//!
//! What lies in several files is one session: below a folder that is named, all that [`SessionFolder`] finds; with a file
//! that is named, what belongs to it (`beside`). Agents' files beside sessions, as older programs wrote them, may be of any
//! session there, so they are read where the folder is named.
//!
//! Who made a session may be a stranger, and a link in it may lead to any file of the reader's: no link is followed but one
//! that is named itself, and what is left out is told.

mod beside;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use chat_capture::open_own;
use chat_normalize::{SessionFolder, SessionParts};
use chat_store::is_part_of_log;

use crate::draft::FileId;
use beside::{beside, caller_of};

/// Why an input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was named.
    Named,
    /// It lies below a folder that was named.
    Found,
}

/// One session: a file, several, or standard input.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// Where it is; `None` for standard input.
    pub(crate) path: Option<PathBuf>,
    /// Where it is below the folder that was named, else its file name.
    pub(crate) relative: PathBuf,
    pub(crate) origin: Origin,
    /// Its files, where there are several.
    pub(crate) joined: Option<Joined>,
}

/// The files of one session.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// Their paths are below this.
    pub(crate) folder: PathBuf,
    pub(crate) parts: SessionParts,
    /// Whether the session's own file was named.
    main_is_named: bool,
}

impl Joined {
    /// Opens one of the files. No part of its path below the folder may be a link, whatever it was when it was listed.
    ///
    /// # Errors
    ///
    /// Where it is a link or no file, or the disk refuses.
    pub(super) fn open(&self, part: &str) -> io::Result<File> {
        let path = self.folder.join(part);
        if self.main_is_named && self.parts.main.as_deref() == Some(part) {
            return File::open(path);
        }
        let folders = path.ancestors().skip(1);
        let mut folders = folders.take_while(|folder| *folder != self.folder);
        if folders.any(is_link) {
            return Err(io::Error::other("it lies behind a link"));
        }
        open_own(&path)
    }
}

impl Input {
    fn found(folder: &Path, file: PathBuf) -> Self {
        Input {
            relative: file.strip_prefix(folder).unwrap_or(&file).to_owned(),
            path: Some(file),
            origin: Origin::Found,
            joined: None,
        }
    }

    /// The agents' files of this session that may be another's, each as a session by itself.
    pub(crate) fn flat_agents(&self) -> impl Iterator<Item = Input> {
        let joined = self.joined.iter();
        joined.flat_map(|joined| {
            let flat = joined.parts.agents.iter().filter(|agent| agent.flat);
            flat.map(|agent| Input::found(&joined.folder, joined.folder.join(&agent.path)))
        })
    }

    /// The files that it is read from.
    pub(crate) fn files(&self) -> impl Iterator<Item = FileId> {
        let own = FileId::of(self.path.as_deref());
        let joined = self.joined.iter();
        let parts = joined.flat_map(|joined| {
            paths_of(&joined.parts).filter_map(|part| FileId::of(Some(&joined.folder.join(part))))
        });
        own.into_iter().chain(parts)
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        match &self.path {
            Some(path) => super::shown(path),
            None => "standard input".to_owned(),
        }
    }
}

/// All inputs in their order; what cannot be listed is told to `refuse`.
pub(crate) fn list(named: &[PathBuf], refuse: &mut dyn FnMut(String)) -> Vec<Input> {
    let mut inputs = Vec::new();
    for path in named {
        if path.as_os_str() == "-" {
            inputs.push(Input {
                path: None,
                relative: PathBuf::from("stdin"),
                origin: Origin::Named,
                joined: None,
            });
        } else if path.is_dir() {
            inputs.extend(sessions(path, below(path, refuse)));
        } else {
            inputs.push(Input {
                path: Some(path.clone()),
                relative: path.file_name().map_or_else(|| path.clone(), PathBuf::from),
                origin: Origin::Named,
                joined: beside(path, refuse),
            });
        }
    }
    inputs
}

/// The sessions that files below a folder make, in the order of their paths.
fn sessions(folder: &Path, files: Vec<PathBuf>) -> Vec<Input> {
    let mut taken: BTreeSet<PathBuf> = BTreeSet::new();
    let mut inputs = Vec::new();
    let paths = files.iter().filter_map(|file| below_as_text(folder, file));
    let mut group = SessionFolder::group(paths);
    group.join_called(|path| caller_of(&folder.join(path)));
    for parts in group.sessions {
        // A session without its own file shows in its agents' alone; one without those is none.
        let is_one_file = parts.results.is_empty() && parts.note.is_none();
        let is_one_file = is_one_file && parts.events.is_empty();
        if parts.agents.is_empty() && (parts.main.is_none() || is_one_file) {
            continue;
        }
        let path = folder.join(parts.main.as_ref().unwrap_or(&parts.name));
        taken.extend(paths_of(&parts).map(|part| folder.join(part)));
        let joined = Joined {
            folder: folder.to_owned(),
            parts,
            main_is_named: false,
        };
        inputs.push(Input {
            joined: Some(joined),
            ..Input::found(folder, path)
        });
    }
    let alone = files.into_iter().filter(|file| !taken.contains(file));
    inputs.extend(alone.map(|file| Input::found(folder, file)));
    inputs.sort_by(|a, b| a.path.cmp(&b.path));
    inputs
}

/// What is no text is no name of a part.
fn below_as_text<'a>(folder: &Path, file: &'a Path) -> Option<&'a str> {
    file.strip_prefix(folder).ok()?.to_str()
}

fn paths_of(parts: &SessionParts) -> impl Iterator<Item = &str> {
    let agents = parts.agents.iter().flat_map(|agent| {
        let meta = agent.meta.as_deref();
        [Some(agent.path.as_str()), meta].into_iter().flatten()
    });
    let results = parts.results.iter().chain(&parts.events);
    let results = results.map(String::as_str);
    parts
        .main
        .as_deref()
        .into_iter()
        .chain(agents)
        .chain(results)
        .chain(parts.note.as_deref())
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|facts| facts.file_type().is_symlink())
}

fn left_out(link: &Path) -> String {
    format!("left out, for it is a link: {}", super::shown(link))
}

/// The files below a folder, by path. Links are told of and not followed: they may lead anywhere, and in a circle.
fn below(folder: &Path, refuse: &mut dyn FnMut(String)) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(why) => {
                refuse(format!("could not list: {why}: {}", super::shown(&folder)));
                continue;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(why) => {
                    refuse(format!("could not list: {why}: {}", super::shown(&folder)));
                    continue;
                }
            };
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_symlink() => refuse(left_out(&path)),
                // A pipe or a device would be waited for.
                // What is a part of a log is read with it.
                Ok(kind) if kind.is_file() && !is_part_of_log(&path) => files.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    files.sort();
    files
}
