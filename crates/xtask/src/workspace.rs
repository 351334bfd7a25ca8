//! Where things lie: the checkout, the target folder, the user's folders, programs on PATH. Nothing is changed here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Folder of the workspace's Cargo.toml.
///
/// Asked at run time, not at compile time: one target folder may serve several clones.
///
/// # Errors
/// When called outside of a clone and not through cargo.
pub(crate) fn root() -> Result<PathBuf, Error> {
    let from_cargo = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let from_shell = std::env::current_dir().ok();
    [from_cargo, from_shell]
        .into_iter()
        .flatten()
        .find_map(|start| {
            start
                .ancestors()
                .find(|folder| is_root(folder))
                .map(Path::to_owned)
        })
        .ok_or_else(|| Error::Missing {
            what: "the workspace".to_owned(),
            remedy: "Call `cargo xtask` from inside a clone of it".to_owned(),
        })
}

fn is_root(folder: &Path) -> bool {
    folder.join("crates/xtask/Cargo.toml").is_file() && folder.join("Cargo.lock").is_file()
}

/// Cargo's target folder: of the environment, else the one this program was built in, else the usual one.
pub(crate) fn target_dir(root: &Path) -> PathBuf {
    if let Some(folder) = std::env::var_os("CARGO_TARGET_DIR").filter(|it| !it.is_empty()) {
        return root.join(folder);
    }
    let of_this_program = std::env::current_exe()
        .ok()
        .and_then(|program| program.ancestors().nth(2).map(Path::to_owned));
    of_this_program
        .filter(|folder| folder.join("CACHEDIR.TAG").is_file())
        .unwrap_or_else(|| root.join("target"))
}

/// Folder for scratch files of these tasks, inside the target folder.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn scratch_dir(root: &Path) -> Result<PathBuf, Error> {
    let folder = target_dir(root).join("xtask");
    std::fs::create_dir_all(&folder)
        .map_err(|source| Error::file("make a folder", &folder, source))?;
    Ok(folder)
}

/// `$XDG_CACHE_HOME/turnreel`, else `~/.cache/turnreel`.
///
/// # Errors
/// When neither XDG_CACHE_HOME nor HOME is set.
pub(crate) fn cache_dir() -> Result<PathBuf, Error> {
    // The XDG base directory specification: relative paths in these variables are to be ignored.
    let from_xdg = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    let folder = from_xdg.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    folder
        .map(|folder| folder.join("turnreel"))
        .ok_or_else(|| Error::Missing {
            what: "your home folder".to_owned(),
            remedy: "Set HOME or XDG_CACHE_HOME".to_owned(),
        })
}

/// Full path of a program, searched as a shell does.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())
}

/// PATH with these folders in front.
///
/// # Errors
/// When a folder's name holds the separator of PATH.
pub(crate) fn path_with(folders: &[PathBuf]) -> Result<OsString, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folders.iter().cloned().chain(std::env::split_paths(&path));
    std::env::join_paths(all).map_err(|why| Error::Failed {
        what: "put the tools on PATH".to_owned(),
        why: why.to_string(),
    })
}

/// Version of a package in Cargo.lock, so that it stands in one place only.
///
/// # Errors
/// When Cargo.lock cannot be read.
pub(crate) fn locked_version(root: &Path, package: &str) -> Result<Option<String>, Error> {
    let path = root.join("Cargo.lock");
    let lock = std::fs::read_to_string(&path)
        .map_err(|source| Error::file("read the lock file", &path, source))?;
    Ok(version_in_lock(&lock, package))
}

fn version_in_lock(lock: &str, package: &str) -> Option<String> {
    let name_line = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name_line);
    lines.next()?;
    let version = lines
        .next()?
        .strip_prefix("version = \"")?
        .strip_suffix('"')?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_lock_by_its_whole_name() {
        let lock = "version = 4\n\n[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"0.2.1\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\nsource = \"x\"\n";
        assert_eq!(
            version_in_lock(lock, "wasm-bindgen"),
            Some("0.2.130".to_owned())
        );
        assert_eq!(version_in_lock(lock, "wasm"), None);
    }

    #[test]
    fn the_workspace_is_found_from_one_of_its_packages() {
        let root = root().expect("tests run inside the workspace");
        assert!(root.join("crates/xtask/src/main.rs").is_file());
    }
}
