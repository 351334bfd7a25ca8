//! What the compiler is told for the page, beside what `.cargo/config.toml` says.
//!
//! A panic names its place, and for a package of the registry that is a path in the home folder of whoever built the page.
//! An exported session holds the page whole and is handed on: it names packages, and no folders.

use std::path::{Path, PathBuf};

use crate::tools::WASM_TARGET;
use crate::workspace;

/// The variable that cargo adds to the flags of `.cargo/config.toml`, and its value: `more`, and what leaves folders out.
pub(crate) fn of_page(root: &Path, more: &str) -> (String, String) {
    let target = WASM_TARGET.to_uppercase().replace('-', "_");
    let name = format!("CARGO_TARGET_{target}_RUSTFLAGS");
    let given = std::env::var(&name).unwrap_or_default();
    let mut flags: Vec<String> = given.split_whitespace().map(str::to_owned).collect();
    let folders = folders(root);
    let left_out = folders.iter().filter_map(|(from, to)| left_out(from, to));
    let more = more.split_whitespace().map(str::to_owned);
    for flag in more.chain(left_out) {
        // The reader is built while the page is, and sees what that was given.
        if !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    (name, flags.join(" "))
}

/// Folders whose names are in places of panics, and what stands for each.
fn folders(root: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut folders = vec![(workspace::target_dir(root), "target")];
    if let Some(home) = cargo_home() {
        folders.push((home.join("git/checkouts"), ""));
        // Below a folder for each registry.
        let sources = std::fs::read_dir(home.join("registry/src"));
        let mut sources: Vec<PathBuf> = sources
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        // Other flags make cargo compile everything anew.
        sources.sort();
        folders.extend(sources.into_iter().map(|folder| (folder, "")));
    }
    folders
}

fn cargo_home() -> Option<PathBuf> {
    let given = std::env::var_os("CARGO_HOME").filter(|it| !it.is_empty());
    given
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

/// `None` for a folder that cannot be named in a list of flags, which are parted by spaces.
fn left_out(folder: &Path, stands_for_it: &str) -> Option<String> {
    let folder = folder.to_str()?;
    let fits = !folder.contains(char::is_whitespace) && !folder.contains('=');
    fits.then(|| format!("--remap-path-prefix={folder}={stands_for_it}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_where_flags_can_name_them() {
        assert_eq!(
            left_out(Path::new("/home/ada/.cargo/git/checkouts"), "").as_deref(),
            Some("--remap-path-prefix=/home/ada/.cargo/git/checkouts=")
        );
        assert_eq!(
            left_out(Path::new("/home/ada lovelace/target"), "target"),
            None
        );
        assert_eq!(left_out(Path::new("/a=b"), "target"), None);
    }

    #[test]
    fn flags_that_are_given_stay() {
        let root = workspace::root().expect("tests run inside the workspace");
        let (name, flags) = of_page(&root, "-Ctarget-feature=+simd128");
        assert_eq!(name, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS");
        assert!(flags.contains("-Ctarget-feature=+simd128"), "{flags}");
        assert!(!flags.contains("  "), "{flags}");
    }
}
