//! Debian's packages, installed where that is this machine's habit: by root, on Debian.

use std::path::Path;

use crate::error::Error;
use crate::{command, report, workspace};

/// Whether apt is ours to call.
pub(crate) fn is_ours() -> bool {
    Path::new("/etc/debian_version").is_file()
        && workspace::on_path("apt-get").is_some()
        && command::output(command::new("id").arg("-u")).is_ok_and(|text| text.trim() == "0")
}

/// Installs packages; `size` says what is fetched.
///
/// # Errors
/// When apt does not.
pub(crate) fn install(packages: &[&str], size: &str) -> Result<(), Error> {
    let names = packages.join(" and ");
    report::say(&format!("Installing {names} with apt-get ({size})"));
    let log_path = std::env::temp_dir().join("turnreel-apt.log");
    let install = || {
        let arguments = ["install", "-y", "--no-install-recommends"];
        apt_get(&arguments, packages, &log_path)
    };
    // A fresh machine has no package lists yet; where they are there, fetching them again is time lost.
    install().or_else(|_| {
        report::say("Fetching apt's package lists and trying again");
        apt_get(&["update"], &[], &log_path)?;
        install()
    })
}

fn apt_get(arguments: &[&str], packages: &[&str], log_path: &Path) -> Result<(), Error> {
    let mut apt = command::new("apt-get");
    apt.args(arguments)
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // Servers are for the tests, which start their own: this keeps Debian from starting them with the machine's settings.
        .env("RUNLEVEL", "1");
    command::run_quietly(&mut apt, log_path)
}
