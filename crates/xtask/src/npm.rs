//! Packages from npm, in the exact versions of the lock files in `crates/xtask`, kept in the user's cache folder.
//!
//! npm checks what it brings against the hash in the lock file and runs none of it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::{command, report, workspace};

/// The folder of a package, fetched where it is not here yet; where there is none, why. `name` is the folder in
/// `crates/xtask` that asks for it, `what` says what it is.
///
/// # Errors
/// When the user has no cache folder, or the lock file is not in the checkout.
pub(crate) fn ensure(
    root: &Path,
    name: &str,
    package: &str,
    what: &str,
) -> Result<Result<PathBuf, String>, Error> {
    let lock = root.join("crates/xtask").join(name);
    let tools_dir = workspace::cache_dir()?.join("tools");
    let folder = folder(root, name)?;
    let package = folder.join("node_modules").join(package);
    if package.join("package.json").is_file() {
        return Ok(Ok(package));
    }
    let Some(npm) = workspace::on_path("npm").or_else(|| workspace::on_path("npm.cmd")) else {
        return Ok(Err("npm is not installed".to_owned()));
    };
    let new_dir = tools_dir.join(format!(".{name}-{}.new", std::process::id()));
    let made = fs::create_dir_all(&new_dir).and_then(|()| {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(lock.join(file), new_dir.join(file))?;
        }
        Ok(())
    });
    made.map_err(|source| Error::file("make a folder", &new_dir, source))?;
    report::say(&format!("Fetching {what}, with npm"));
    let mut install = command::new(npm);
    install
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&new_dir);
    let log_path = tools_dir.join(format!("{name}.log"));
    let fetched = command::run_quietly(&mut install, &log_path);
    // Whoever was first has the same content.
    let kept = fetched.map(|()| fs::rename(&new_dir, &folder));
    if new_dir.exists() {
        let _ = fs::remove_dir_all(&new_dir);
    }
    match kept {
        Err(why) => Ok(Err(why.to_string())),
        Ok(Err(why)) if !package.is_dir() => Ok(Err(why.to_string())),
        Ok(_) => Ok(Ok(package)),
    }
}

/// Where a package is kept, where it has been fetched.
pub(crate) fn find(root: &Path, name: &str) -> Option<PathBuf> {
    folder(root, name).ok().filter(|folder| folder.is_dir())
}

/// Named after the lock file, so that another version has another folder.
fn folder(root: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = root
        .join("crates/xtask")
        .join(name)
        .join("package-lock.json");
    let lock = fs::read(&path).map_err(|source| Error::file("read a lock file", &path, source))?;
    let mut version = Fingerprint::new();
    version.add(&lock);
    Ok(workspace::cache_dir()?.join(format!("tools/{name}-{}", version.to_hex())))
}
