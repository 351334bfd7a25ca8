//! Bodies that may go, held against all that may name them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::list;
use crate::error::Error;
use crate::named::each_hash;
use crate::store::ASIDE;

/// Bodies that may go, by their hashes.
#[derive(Default)]
pub(super) struct Candidates {
    /// By what other names each is spoken of.
    pub(super) bodies: BTreeMap<String, Vec<String>>,
    /// Whose these names are.
    pub(super) of_name: BTreeMap<String, String>,
}

impl Candidates {
    /// Leaves out those that some file names.
    pub(super) fn leave_named(
        &mut self,
        data: &Path,
        without: &BTreeSet<String>,
    ) -> Result<(), Error> {
        let mut seen = HashSet::new();
        while !self.bodies.is_empty() {
            // A file may be given another name while it is looked for, as a full log is: until there is none that is new.
            let mut files = files_of(data, without)?;
            files.retain(|path| seen.insert(path.clone()));
            if files.is_empty() {
                return Ok(());
            }
            for path in files {
                if self.bodies.is_empty() {
                    return Ok(());
                }
                self.leave_named_by(&path)?;
            }
        }
        Ok(())
    }

    fn leave_named_by(&mut self, path: &Path) -> Result<(), Error> {
        let failed = |why| Error::io("look which bodies are named", path, why);
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
            Err(why) => return Err(failed(why)),
        };
        let mut note = |hash: &str| {
            if let Some(body) = self.of_name.get(hash) {
                self.bodies.remove(body);
            }
            match self.bodies.is_empty() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        each_hash(file, &mut note).map_err(failed)
    }
}

/// All files that may name bodies: those beside the logs, whatever they are, those that are taken in, and what waits to be sent.
fn files_of(data: &Path, without: &BTreeSet<String>) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    let mut folders = vec![data.to_owned(), data.join(ASIDE), data.join("spool")];
    while let Some(folder) = folders.pop() {
        for path in list(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let stem = name.split('.').next().unwrap_or_default();
            let metadata = match path.metadata() {
                Ok(metadata) => metadata,
                // What a link leads to may be a log on a disk that is away.
                Err(why) if why.kind() != ErrorKind::NotFound || path.is_symlink() => {
                    return Err(Error::io("look which bodies are named", &path, why));
                }
                // It went meanwhile.
                Err(_) => continue,
            };
            if metadata.is_dir() {
                if folder != data {
                    folders.push(path);
                }
            // What an index says is of a log that is read.
            } else if metadata.is_file() && !name.ends_with(".idx") && !without.contains(stem) {
                files.push(path);
            }
        }
    }
    Ok(files)
}
