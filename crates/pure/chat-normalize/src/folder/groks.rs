//! Which files of a folder are sessions of Grok Build, and which lie beside them and say the same once more.

use std::collections::BTreeSet;

use super::paths::split;

/// The folders in which Grok Build keeps a session each, and those in which these lie.
pub(super) struct Groks<'a> {
    sessions: BTreeSet<&'a str>,
    groups: BTreeSet<&'a str>,
}

impl<'a> Groks<'a> {
    pub(super) fn of(paths: &'a [String]) -> Self {
        let named = |wanted: &'static str| {
            let split = paths.iter().map(|path| split(path));
            let found = split.filter(move |(_, name)| *name == wanted);
            found.map(|(dir, _)| dir)
        };
        let noted: BTreeSet<&str> = named("summary.json").collect();
        let sessions: BTreeSet<&str> = named("updates.jsonl")
            .filter(|it| noted.contains(it))
            .collect();
        Groks {
            groups: sessions.iter().map(|dir| split(dir).0).collect(),
            sessions,
        }
    }

    /// Whether a file is a note of a session, or of all that lie in its folder.
    pub(super) fn is_beside(&self, dir: &str, name: &str) -> bool {
        if self.sessions.contains(dir) {
            return name != "updates.jsonl";
        }
        let folders = std::iter::successors(Some(dir), |dir| dir.rsplit_once('/').map(|it| it.0));
        (name == "prompt_history.jsonl" && self.groups.contains(dir))
            || folders
                .into_iter()
                .any(|folder| self.sessions.contains(folder))
    }

    /// What the session is called whose own file this is: as its folder.
    pub(super) fn called<'p>(&self, dir: &'p str, name: &str) -> Option<&'p str> {
        (name == "updates.jsonl" && self.sessions.contains(dir)).then_some(dir)
    }
}
