//! The servers that tests of copies start: Redis, PostgreSQL, and one that speaks S3. Where one of them cannot be had, its tests
//! say that they are skipped.

use std::fs;
use std::path::PathBuf;

use crate::error::Error;
use crate::{apt, command, report, workspace};

/// The version of the server that speaks S3, from PyPI.
const MOTO: &str = "5.2.1";

/// Where they are.
pub(crate) struct Servers {
    /// The folder of `initdb` and its like.
    pub(crate) postgres_bin: Option<PathBuf>,
    pub(crate) moto: Option<PathBuf>,
}

/// Finds them, and installs what is missing where that can be done.
///
/// # Errors
/// When the user has no cache folder.
pub(crate) fn ensure() -> Result<Servers, Error> {
    let mut missing = Vec::new();
    if workspace::on_path("redis-server").is_none() {
        missing.push("redis-server");
    }
    if postgres_bin().is_none() {
        missing.push("postgresql");
    }
    if !missing.is_empty() {
        let installed = match apt::is_ours() {
            true => apt::install(&missing, "about 60 MB").map_err(|why| why.to_string()),
            false => Err(format!("install {}", missing.join(" and "))),
        };
        if let Err(why) = installed {
            report::say(&format!(
                "Copies in Redis or PostgreSQL are not tested: {why}"
            ));
        }
    }
    let moto = match workspace::on_path("moto_server") {
        Some(moto) => Ok(moto),
        None => moto_of_our_own()?,
    };
    if let Err(why) = &moto {
        report::say(&format!("Copies in an object store are not tested: {why}"));
    }
    Ok(Servers {
        postgres_bin: postgres_bin(),
        moto: moto.ok(),
    })
}

/// Debian keeps each version in a folder that is on nobody's path.
fn postgres_bin() -> Option<PathBuf> {
    let on_path = workspace::on_path("initdb").and_then(|initdb| Some(initdb.parent()?.to_owned()));
    on_path.or_else(|| {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
        let mut folders: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
        folders.retain(|folder| folder.join("initdb").is_file());
        folders.sort();
        folders.pop()
    })
}

/// In an environment of its own in the cache folder.
fn moto_of_our_own() -> Result<Result<PathBuf, String>, Error> {
    let tools_dir = workspace::cache_dir()?.join("tools");
    let folder = tools_dir.join(format!("moto-{MOTO}"));
    let program = folder.join("bin/moto_server");
    if program.is_file() {
        return Ok(Ok(program));
    }
    let Some(python) = workspace::on_path("python3") else {
        return Ok(Err("python3 is not installed".to_owned()));
    };
    report::say("Fetching a server that speaks S3, with pip (about 60 MB)");
    let _ = fs::remove_dir_all(&folder);
    let log_path = tools_dir.join("moto.log");
    let mut making = command::new(python);
    making.args(["-m", "venv"]).arg(&folder);
    let fetched = command::run_quietly(&mut making, &log_path).and_then(|()| {
        let mut installing = command::new(folder.join("bin/pip"));
        installing.args(["install", "--quiet", "--disable-pip-version-check"]);
        installing.arg(format!("moto[server]=={MOTO}"));
        command::run_quietly(&mut installing, &log_path)
    });
    Ok(match fetched {
        Ok(()) if program.is_file() => Ok(program),
        Ok(()) => Err("pip did not bring it".to_owned()),
        Err(why) => {
            // Half an environment would be taken for a whole one.
            let _ = fs::remove_dir_all(&folder);
            Err(why.to_string())
        }
    })
}
