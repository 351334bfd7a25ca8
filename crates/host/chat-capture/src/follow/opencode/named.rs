//! What the databases of OpenCode and of Kilo Code are called: `opencode.db`, and `opencode-CHANNEL.db` where it was released
//! in another channel than `latest`, `beta` and `prod`, or was built by its user (`local`).
//!
//! After `packages/core/src/database/database.ts` of both (OpenCode 1.18, Kilo Code 7.7).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// So many names of a folder are looked at: some ten are in it.
const MOST_NAMES: usize = 2048;

/// So many channels are followed at most, for each name.
const MOST_CHANNELS: usize = 16;

/// The databases in a folder that are called by one of these names, whether the one without a channel is there or not. The
/// first of the names is its own.
pub(in crate::follow) fn databases(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<String> = names
        .first()
        .map(|own| format!("{own}.db"))
        .into_iter()
        .collect();
    let here: BTreeSet<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MOST_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    for name in names {
        let of_channel = |file: &&String| {
            let channel = file.strip_prefix(name)?.strip_prefix('-')?;
            let channel = channel.strip_suffix(".db")?;
            Some(!channel.is_empty())
        };
        let channels = here.iter().filter(|file| of_channel(file) == Some(true));
        found.extend(channels.take(MOST_CHANNELS).cloned());
    }
    found.into_iter().map(|file| folder.join(file)).collect()
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    fn names(folder: &Path, names: &[&str]) -> Vec<String> {
        let paths = databases(folder, names).into_iter();
        let names = paths.map(|path| path.file_name().unwrap().to_owned().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn each_channel_has_a_database_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        assert_eq!(
            names(&folder.join("away"), &["kilo", "opencode"]),
            ["kilo.db"]
        );
        for file in [
            "opencode.db",
            "opencode.db-wal",
            "opencode-local.db",
            "opencode-local.db-shm",
            "opencode-my-branch.1.db",
            "opencode-.db",
            "opencoder-x.db",
            "opencode-local.db.bak",
            "kilo-dev.db",
            "auth.json",
        ] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        let of_opencode = [
            "opencode.db",
            "opencode-local.db",
            "opencode-my-branch.1.db",
        ];
        assert_eq!(names(folder, &["opencode"]), of_opencode);
        assert_eq!(
            names(folder, &["kilo", "opencode"]),
            [
                "kilo.db",
                "kilo-dev.db",
                "opencode-local.db",
                "opencode-my-branch.1.db"
            ]
        );
        for n in 0..100 {
            std::fs::write(folder.join(format!("opencode-{n}.db")), "").unwrap();
        }
        assert_eq!(names(folder, &["opencode"]).len(), 1 + MOST_CHANNELS);
    }
}
