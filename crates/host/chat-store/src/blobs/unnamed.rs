//! Removing bodies that no file of the data folder names any more.
//!
//! | what might name a body | why it is not missed |
//! |---|---|
//! | a log, set aside or torn off or not | all files beside the logs are looked through, and those that came meanwhile; what waits in the spool, too |
//! | an event that is stored meanwhile | its body was kept, or asked for, just before, and is a new one: those stay |
//! | an event by what was sent, where something else is kept | what `kept_as` says is followed |
//!
//! What was packed away names nothing here: its bodies were read back from the object store before it went.

mod candidates;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use super::{Blobs, KeptAs, check_hash};
use crate::error::Error;
use crate::platform;
use candidates::Candidates;

const DOING: &str = "remove bodies that no log names";

/// What is to be looked at again is noted there, a hash a line.
const NOTED: &str = ".unnamed";

/// How the name ends of what says what is kept in the place of a body.
const KEPT_AS: &str = ".as";

/// Which bodies are looked at.
#[derive(Clone, Copy, Debug)]
pub enum Among<'a> {
    /// Those that may have been named by what was removed, as it named them.
    These(&'a BTreeSet<String>),
    /// All that the folder has.
    All,
}

/// What is to be removed.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    /// Of which bodies.
    pub among: Among<'a>,
    /// One that was kept, or asked for, within that time stays: its event may be on its way.
    pub rest: Duration,
    /// Sessions whose files count for nothing, by their stems: what would be, were these removed.
    pub without: &'a BTreeSet<String>,
    /// Nothing is removed.
    pub is_dry: bool,
}

/// What went, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unnamed {
    /// How many bodies.
    pub bodies: u64,
    /// Their length together.
    pub bytes: u64,
    /// Those that stay for now: they may be named by nobody, and are too new to be removed.
    pub young: BTreeSet<String>,
}

impl Blobs {
    /// Removes bodies that no file of the data folder names. It takes the time of reading all logs, but where none is among
    /// those that are looked at; one body is held against all of them as well as a thousand.
    ///
    /// The caller holds the folder.
    ///
    /// # Errors
    ///
    /// Where the disk refuses: of what cannot be read nobody knows what it names, and no body goes.
    pub fn sweep(&self, sweep: &Sweep<'_>) -> Result<Unnamed, Error> {
        let cutoff = SystemTime::now()
            .checked_sub(sweep.rest)
            .unwrap_or(SystemTime::UNIX_EPOCH);
        let mut unnamed = Unnamed::default();
        let mut candidates = self.candidates(sweep.among)?;
        candidates.bodies.retain(|body, _| {
            let stays = is_new(&self.path(body), cutoff);
            if stays {
                unnamed.young.insert(body.clone());
            }
            !stays
        });
        candidates.leave_named(self.data(), sweep.without)?;
        for (body, names) in candidates.bodies {
            self.remove_one(&body, &names, cutoff, sweep.is_dry, &mut unnamed)?;
        }
        Ok(unnamed)
    }

    /// Notes bodies that are to be looked at again, in the place of those that were noted before: whoever has the folder next
    /// does.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn note_unnamed(&self, bodies: &BTreeSet<String>) -> Result<(), Error> {
        let path = self.dir.join(NOTED);
        let noted = match bodies.is_empty() {
            true => fs::remove_file(&path).or_else(|why| match why.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(why),
            }),
            false => {
                let lines: String = bodies.iter().map(|body| format!("{body}\n")).collect();
                platform::write_whole(&path, &self.temporary(), lines.as_bytes())
            }
        };
        noted.map_err(|why| Error::io("note which bodies are named no more", &path, why))
    }

    /// The bodies that were noted so. Where that cannot be read there are none: they are found by who looks at all.
    pub fn noted_unnamed(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(self.dir.join(NOTED)).unwrap_or_default();
        let hashes = text.lines().filter(|line| check_hash(line).is_ok());
        hashes.map(str::to_owned).collect()
    }

    /// Whether there is a body of that hash, or another one in its place.
    pub(crate) fn is_known(&self, sha256: &str) -> bool {
        let path = self.path(sha256);
        path.exists() || path.with_extension("as").exists()
    }

    /// The folder of the logs.
    fn data(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }

    fn candidates(&self, among: Among<'_>) -> Result<Candidates, Error> {
        let mut candidates = Candidates::default();
        // What is removed is seldom masked, and there are few of these where it is.
        let mut kept_as: BTreeMap<String, String> = BTreeMap::new();
        let mut here = Vec::new();
        if matches!(among, Among::These(these) if these.is_empty()) {
            return Ok(candidates);
        }
        self.each_name(&mut |name| {
            let sent = name.strip_suffix(KEPT_AS);
            if check_hash(sent.unwrap_or(name)).is_err() {
                return;
            }
            match sent {
                None => here.push(name.to_owned()),
                Some(sent) => {
                    let text = fs::read(self.path(sent).with_extension("as"));
                    let kept = text
                        .ok()
                        .and_then(|text| serde_json::from_slice(&text).ok());
                    if let Some(KeptAs { body, .. }) = kept {
                        kept_as.insert(sent.to_owned(), body.sha256);
                    }
                }
            }
        })?;
        let is_meant = |body: &String| match among {
            Among::All => true,
            Among::These(these) => {
                let is_of_it =
                    |(sent, kept): (&String, &String)| kept == body && these.contains(sent);
                these.contains(body) || kept_as.iter().any(is_of_it)
            }
        };
        for body in here.into_iter().filter(is_meant) {
            candidates.of_name.insert(body.clone(), body.clone());
            candidates.bodies.insert(body, Vec::new());
        }
        for (sent, kept) in kept_as {
            if let Some(names) = candidates.bodies.get_mut(&kept) {
                names.push(sent.clone());
                candidates.of_name.insert(sent, kept);
            }
        }
        Ok(candidates)
    }

    /// Shows the names of all files in the folders of bodies.
    fn each_name(&self, note: &mut dyn FnMut(&str)) -> Result<(), Error> {
        for folder in list(&self.dir)? {
            if !folder.is_dir() {
                continue;
            }
            for file in list(&folder)? {
                if let Some(name) = file.file_name().and_then(|name| name.to_str()) {
                    note(name);
                }
            }
        }
        Ok(())
    }

    fn remove_one(
        &self,
        body: &str,
        names: &[String],
        cutoff: SystemTime,
        is_dry: bool,
        unnamed: &mut Unnamed,
    ) -> Result<(), Error> {
        // Nobody keeps it, or is told that it is here, while it is looked at once more and goes.
        let _alone = self.keeping.write().unwrap_or_else(PoisonError::into_inner);
        let path = self.path(body);
        let failed = |why| Error::io(DOING, &path, why);
        if is_new(&path, cutoff) {
            unnamed.young.insert(body.to_owned());
            return Ok(());
        }
        let bytes = match path.symlink_metadata() {
            Ok(metadata) => metadata.len(),
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
            Err(why) => return Err(failed(why)),
        };
        if !is_dry {
            // What stands for it first: without the body that would say what nobody has.
            let paths = names
                .iter()
                .map(|name| self.path(name).with_extension("as"));
            for path in paths.chain([path.clone()]) {
                match fs::remove_file(&path) {
                    Err(why) if why.kind() != ErrorKind::NotFound => return Err(failed(why)),
                    _ => {}
                }
            }
        }
        unnamed.bodies += 1;
        unnamed.bytes += bytes;
        Ok(())
    }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |why| Error::io("list the folder", folder, why);
    match fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
            .collect(),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(why) => Err(failed(why)),
    }
}

/// Whether it was kept, or asked for, since; what cannot be looked at is.
fn is_new(path: &Path, cutoff: SystemTime) -> bool {
    match path.symlink_metadata() {
        Ok(metadata) => metadata.modified().is_ok_and(|at| at > cutoff),
        Err(why) => why.kind() != ErrorKind::NotFound,
    }
}
