//! Of which session each file is that was listed: by its path, or by what it says of itself (`owners`).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::{Folder, Seen, Tree};
use crate::follow::QUIET;
use crate::follow::agent::{Agent, Role};
use crate::follow::file::Facts;
use crate::follow::owners::{Owner, root_of};
use crate::pipe::now_ms;
use crate::says_gone;

impl Tree {
    /// Adds the files that were listed, each with its session. `is_told` is whether a file was told as a session's own
    /// before: it stays that, whatever comes later that it names.
    pub(super) fn sort_files(&mut self, is_told: &dyn Fn(&Path) -> bool, seen: &mut Vec<Seen>) {
        self.owners.begin();
        // Of files that say themselves whose they are, all have to be known before that is.
        let mut say: Vec<(PathBuf, Option<Facts>)> = Vec::new();
        let mut owners: HashMap<PathBuf, Owner> = HashMap::new();
        let mut names: HashMap<String, PathBuf> = HashMap::new();
        let mut parts: Vec<(PathBuf, PathBuf, Option<Facts>)> = Vec::new();
        let mut mains: Vec<(PathBuf, Option<Facts>)> = Vec::new();
        for (path, role) in self.folders.values().flat_map(|folder| &folder.files) {
            let facts = match path.symlink_metadata() {
                Ok(about) if about.is_file() => Some(Facts::from(&about)),
                Err(why) if !says_gone(&why) => None,
                Ok(_) | Err(_) => continue,
            };
            match role {
                Role::Main => mains.push((path.clone(), facts)),
                Role::Part { main, .. } | Role::Note { main } => {
                    parts.push((path.clone(), self.main_at(main), facts));
                }
                Role::Loose { .. } | Role::SaysItself => {
                    let owner = self.owners.of(path, role, facts);
                    match &owner {
                        Some(Owner::File(main)) => {
                            parts.push((path.clone(), main.clone(), facts));
                            continue;
                        }
                        Some(_) => say.push((path.clone(), facts)),
                        // Its first line is being written, as it seems: it is there for those that it started.
                        None if *role == Role::SaysItself && is_fresh(facts) => {}
                        None => continue,
                    }
                    let name = path.file_stem().and_then(|stem| stem.to_str());
                    if let Some(name) = name.filter(|_| owner != Some(Owner::Perhaps)) {
                        names.insert(name.to_owned(), path.clone());
                        let owner = owner.filter(|_| !is_told(path));
                        owners.insert(path.clone(), owner.unwrap_or(Owner::Itself));
                    }
                }
            }
        }
        self.owners.end();
        let mut under: HashSet<PathBuf> = HashSet::new();
        for (path, facts) in say {
            let root = root_of(&path, &owners, &names);
            let main = self.owners.stays_under(&path, root);
            match main == path {
                true => mains.push((path, facts)),
                false => {
                    under.insert(path.clone());
                    parts.push((path, main, facts));
                }
            }
        }
        // What is noted of a sub-agent's session is none of the one it is shown in.
        parts.retain(|(_, main, _)| !under.contains(main));
        let agent = self.place.agent;
        seen.extend(mains.into_iter().map(|(path, facts)| Seen {
            agent,
            is_main: true,
            main: path.clone(),
            path,
            facts,
        }));
        seen.extend(parts.into_iter().map(|(path, main, facts)| Seen {
            agent,
            is_main: false,
            main,
            path,
            facts,
        }));
    }

    /// Where a session's own file is, or would be: one that was put away lies in a folder of its own.
    fn main_at(&self, main: &str) -> PathBuf {
        let main = self.root.join(main);
        let has = |path: &Path| {
            let folder = path.parent().and_then(|folder| self.folders.get(folder));
            let at = |folder: &Folder| folder.files.binary_search_by(|(it, _)| (**it).cmp(path));
            folder.is_some_and(|folder| at(folder).is_ok())
        };
        let put_away = || {
            let name = main.file_name()?;
            let away = main.with_file_name("archive").join(name);
            has(&away).then_some(away)
        };
        let away = (self.place.agent == Agent::Qwen && !has(&main)).then(put_away);
        away.flatten().unwrap_or(main)
    }
}

/// Whether a file was written just now, as far as that is known.
fn is_fresh(facts: Option<Facts>) -> bool {
    facts.is_none_or(|facts| u128::from(now_ms().abs_diff(facts.changed_ms)) <= QUIET.as_millis())
}
