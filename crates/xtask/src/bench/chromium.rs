//! Chromium without the parts of its own window that are pages themselves.
//!
//! The suggestions below its address field are a page in a renderer of their own, started with each window. For a short
//! log that renderer spends more CPU than the page that is measured, and the harness takes the busiest renderer for the
//! page's: the memory of the shortest log was then that of the suggestions, and what was told "above" it wrong.

#[cfg(unix)]
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The features that make these pages.
#[cfg(unix)]
const WITHOUT: &str = "WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/// A launcher, to be named where Chromium is asked for. Of a switch that is given twice Chromium knows the last one
/// only, so what is there already is added to.
#[cfg(unix)]
pub(super) fn launcher(chrome: &Path, folder: &Path) -> Result<PathBuf, Error> {
    use std::os::unix::fs::PermissionsExt;
    let launcher = folder.join("chromium.sh");
    let chrome = chrome.display().to_string().replace('\'', r"'\''");
    let script = format!(
        r#"#!/bin/sh
seen=
for argument in "$@"; do
    shift
    case "$argument" in
    --disable-features=*)
        argument="$argument,{WITHOUT}"
        seen=1
        ;;
    esac
    set -- "$@" "$argument"
done
[ "$seen" ] || set -- "$@" --disable-features={WITHOUT}
exec '{chrome}' "$@"
"#
    );
    fs::write(&launcher, script)
        .map_err(|source| Error::file("write a launcher to", &launcher, source))?;
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))
        .map_err(|source| Error::file("make executable", &launcher, source))?;
    Ok(launcher)
}

/// Chromium itself: there is no such launcher for other systems.
#[cfg(not(unix))]
pub(super) fn launcher(chrome: &Path, _folder: &Path) -> Result<PathBuf, Error> {
    Ok(chrome.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn every_argument_is_passed_on_and_the_features_are_added() {
        let folder = std::env::temp_dir().join(format!("xtask-launcher-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // Not scripts of ours: what was just written cannot always be started in a process with many threads.
        let chrome = folder.join("it's chrome");
        std::os::unix::fs::symlink("/bin/sh", &chrome).unwrap();
        let print = ["-c", "printf '%s\\n' \"$@\"", "print"];
        let launcher = launcher(&chrome, &folder).unwrap();
        let said = |arguments: &[&str]| {
            let said = std::process::Command::new("/bin/sh")
                .arg(&launcher)
                .args(print)
                .args(arguments)
                .output()
                .unwrap();
            String::from_utf8(said.stdout).unwrap()
        };
        let (with, without) = (
            said(&["--a b", "--disable-features=One,Two", "", "$x"]),
            said(&["--a b"]),
        );
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            with,
            format!("--a b\n--disable-features=One,Two,{WITHOUT}\n\n$x\n")
        );
        assert_eq!(without, format!("--a b\n--disable-features={WITHOUT}\n"));
    }
}
