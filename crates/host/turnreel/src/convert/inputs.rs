//! Which files are read, and in what order: as they were named, and below a folder by their path.

use std::path::{Path, PathBuf};

/// Why an input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was named.
    Named,
    /// It lies below a folder that was named.
    Found,
}

/// One file, or standard input.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// Where it is; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    /// Where it is below the folder that was named, else its file name.
    pub(super) relative: PathBuf,
    pub(super) origin: Origin,
}

impl Input {
    /// What it is called in messages.
    pub(super) fn name(&self) -> String {
        match &self.path {
            Some(path) => super::shown(path),
            None => "standard input".to_owned(),
        }
    }
}

/// All inputs in their order; what cannot be listed is told to `refuse`.
pub(super) fn list(named: &[PathBuf], refuse: &mut dyn FnMut(String)) -> Vec<Input> {
    let mut inputs = Vec::new();
    for path in named {
        if path.as_os_str() == "-" {
            inputs.push(Input {
                path: None,
                relative: PathBuf::from("stdin"),
                origin: Origin::Named,
            });
        } else if path.is_dir() {
            for file in below(path, refuse) {
                let relative = file.strip_prefix(path).unwrap_or(&file).to_owned();
                inputs.push(Input {
                    path: Some(file),
                    relative,
                    origin: Origin::Found,
                });
            }
        } else {
            inputs.push(Input {
                path: Some(path.clone()),
                relative: path.file_name().map_or_else(|| path.clone(), PathBuf::from),
                origin: Origin::Named,
            });
        }
    }
    inputs
}

/// The files below a folder, by path. Links to folders are not followed: they may lead in a circle.
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
                // A pipe or a device would be waited for.
                Ok(_) if path.is_file() => files.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    files.sort();
    files
}
