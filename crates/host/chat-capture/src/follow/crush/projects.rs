//! Where Crush keeps its databases: one for each project, in the folder that its list of projects names.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::follow::file::open_own;

/// A longer list is none of Crush's, and of one not more projects are read.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
const MOST_PROJECTS: usize = 1000;

/// `projects.json`.
#[derive(Deserialize)]
struct Projects {
    #[serde(default)]
    projects: Vec<Project>,
}

/// What names no folder is passed over, and the others are read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Project {
    In { data_dir: String },
    Other(IgnoredAny),
}

/// The databases of the projects that are listed in Crush's own folder, the one that was worked on last first. Projects whose
/// folders lie in one another may share one.
pub(in crate::follow) fn databases(folder: &Path) -> Vec<PathBuf> {
    let list = folder.join("projects.json");
    // It is written over in place: one that cannot be read now will be with the next look.
    let listed = read(&list).and_then(|text| serde_json::from_slice::<Projects>(&text).ok());
    let projects = listed.map(|it| it.projects).unwrap_or_default();
    let mut known = HashSet::new();
    let mut paths: Vec<PathBuf> = Vec::new();
    for project in projects.iter().take(MOST_PROJECTS) {
        let Project::In { data_dir } = project else {
            continue;
        };
        let folder = Path::new(data_dir);
        if folder.is_absolute() && known.insert(folder) {
            paths.push(folder.join("crush.db"));
        }
    }
    paths
}

/// The list, where it is a file and not too long.
fn read(list: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let file = open_own(list).ok()?;
    let n_bytes = file.take(MOST_BYTES + 1).read_to_end(&mut text).ok()?;
    (n_bytes as u64 <= MOST_BYTES).then_some(text)
}

/// The folder of the project whose database this is, where its place says it.
pub(super) fn project_of(database: &Path) -> Option<String> {
    let folder = database.parent()?;
    let is_usual = folder.file_name().is_some_and(|name| name == ".crush");
    let project = folder.parent().filter(|_| is_usual)?;
    project.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_databases_of_all_projects_are_named_once() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("projects.json");
        assert!(databases(dir.path()).is_empty());
        std::fs::write(&list, "{\"projects\":[{\"pa").unwrap();
        assert!(databases(dir.path()).is_empty());
        let text = r#"{"projects":[{"path":"/w","data_dir":"/w/.crush","last_accessed":"2026-01-01T00:00:00Z"},
            {"path":"/w/a","data_dir":"/w/.crush"},{"path":"/v","data_dir":"/data/v"},{"path":"/u","data_dir":"u"},
            {"path":"/t"},{"data_dir":null},3,["/s"],{"path":"/w","data_dir":"/w//.crush/"}]}"#;
        std::fs::write(&list, text).unwrap();
        let paths = databases(dir.path());
        assert_eq!(
            paths,
            [
                Path::new("/w/.crush/crush.db"),
                Path::new("/data/v/crush.db")
            ]
        );
        assert_eq!(project_of(&paths[0]).as_deref(), Some("/w"));
        assert_eq!(project_of(&paths[1]), None);
        let long = format!("{text}{}", " ".repeat(4 * 1024 * 1024));
        std::fs::write(&list, long).unwrap();
        assert!(databases(dir.path()).is_empty());
    }
}
