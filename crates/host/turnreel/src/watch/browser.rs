//! The user's browser.

use std::process::{Command, Stdio};

use super::handover::Handover;

/// Whether there is a screen to show it on.
pub(super) fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens an address, beside what else is done; the thread ends when the browser is there. Not being able to is no failure: the
/// address is on the screen.
pub(super) fn open(address: String) -> std::thread::JoinHandle<()> {
    // The browser is waited for beside the server, and no longer than that lasts.
    std::thread::spawn(move || {
        let program = if cfg!(target_os = "macos") {
            "open"
        } else if cfg!(windows) {
            "explorer"
        } else {
            "xdg-open"
        };
        if let Err(why) = lead(program, &address) {
            tracing::warn!("could not open a browser: {why}: {program}");
        }
    })
}

fn lead(program: &str, address: &str) -> std::io::Result<()> {
    let handover = Handover::new()?;
    let mut opener = Command::new(program)
        .arg(handover.address()?)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // What opens one says where it cannot, but on Windows, where it always says so.
    let mut may_come =
        || cfg!(windows) || !matches!(opener.try_wait(), Ok(Some(status)) if !status.success());
    let led = handover.lead_to(address, &mut may_come);
    // It may run on as the browser itself; what has ended is not left as a zombie.
    let _ = opener.try_wait();
    led
}
