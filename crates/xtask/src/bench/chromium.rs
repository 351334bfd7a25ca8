//! Chromium without the parts of its own window that are pages themselves.
//!
//! The suggestions below its address field are a page in a renderer of their own, started with each window. For a short
//! log that renderer spends more CPU than the page that is measured, and the harness takes the busiest renderer for the
//! page's: the memory of the shortest log was then that of the suggestions, and what was told "above" it wrong.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The features that make these pages.
const WITHOUT: &str = "WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/// A launcher, to be named where Chromium is asked for. Of a switch that is given twice Chromium knows the last one
/// only, so what is there already is added to.
pub(super) fn launcher(chrome: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let launcher = folder.join("chromium.sh");
    let chrome = chrome.display().to_string().replace('\'', r"'\''");
    let script = format!(
        r#"#!/bin/sh
for argument in "$@"; do
    shift
    case "$argument" in
    --disable-features=*) argument="$argument,{WITHOUT}" ;;
    esac
    set -- "$@" "$argument"
done
exec '{chrome}' "$@"
"#
    );
    fs::write(&launcher, script)
        .map_err(|source| Error::file("write a launcher to", &launcher, source))?;
    make_executable(&launcher)?;
    Ok(launcher)
}

#[cfg(unix)]
fn make_executable(file: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
        .map_err(|source| Error::file("make executable", file, source))
}

#[cfg(not(unix))]
fn make_executable(_file: &Path) -> Result<(), Error> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn every_argument_is_passed_on_and_the_features_are_added() {
        let folder = std::env::temp_dir().join(format!("xtask-launcher-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let chrome = folder.join("it's chrome");
        fs::write(&chrome, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
        make_executable(&chrome).unwrap();
        let launcher = launcher(&chrome, &folder).unwrap();
        let said = std::process::Command::new(launcher)
            .args(["--a b", "--disable-features=One,Two", "", "$x"])
            .output()
            .unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            String::from_utf8(said.stdout).unwrap(),
            format!("--a b\n--disable-features=One,Two,{WITHOUT}\n\n$x\n")
        );
    }
}
