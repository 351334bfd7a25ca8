//! Which files of a folder are sessions of Qwen Code, and where the files of their agents lie.

use std::collections::BTreeMap;

use super::paths::{split, stem};

/// The sessions that lie in a project's folder `chats`, by the folders in which their agents' files are.
pub(super) struct Chats<'a>(BTreeMap<String, &'a str>);

impl<'a> Chats<'a> {
    pub(super) fn of(paths: &'a [String]) -> Self {
        let session = |path: &'a String| {
            let name = stem(path);
            let (dir, id) = split(name);
            let dir = dir.strip_suffix("/archive").unwrap_or(dir);
            let project = match dir.strip_suffix("chats")? {
                "" => "",
                project => project.strip_suffix('/').map(|_| project)?,
            };
            (name != path).then(|| (format!("{project}subagents/{id}"), name))
        };
        Chats(paths.iter().filter_map(session).collect())
    }

    /// The session whose agents' files lie in `dir`.
    pub(super) fn of_agents_in(&self, dir: &str) -> Option<&'a str> {
        self.0.get(dir).copied()
    }
}
