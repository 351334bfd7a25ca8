//! `cargo xtask start`: from a fresh clone to the page in a browser, with the sessions that agents keep on this machine.
//!
//! The program takes this process over at the end (where the system allows it), so that stopping what was started stops the
//! server, by Ctrl-C and by any other signal. It prints the address and opens the browser by itself.

use std::process::{Command, ExitCode};

use crate::args::StartOptions;
use crate::error::Error;
use crate::{command, dist, report, tools, workspace};

/// # Errors
/// When something is missing, or a build fails, or the server cannot be started.
pub(crate) fn run(options: &StartOptions) -> Result<ExitCode, Error> {
    let root = workspace::root()?;
    let tools = tools::ensure(&root)?;
    dist::build_page(&root, &tools)?;
    let program = dist::build_server(&root)?;
    report::say("Starting the server");
    let mut server = command::new(program);
    server
        .arg("watch")
        .args(["--listen", &format!("127.0.0.1:{}", options.port)]);
    // Else it is where all its commands look for sessions on this system.
    if let Some(folder) = &options.data_dir {
        server.arg("--data").arg(folder);
    }
    if !options.open {
        server.arg("--no-open");
    }
    become_program(server)
}

#[cfg(unix)]
fn become_program(mut server: Command) -> Result<ExitCode, Error> {
    let why = std::os::unix::process::CommandExt::exec(&mut server);
    Err(Error::Failed {
        what: format!("run `{}`", command::line(&server)),
        why: why.to_string(),
    })
}

#[cfg(not(unix))]
fn become_program(mut server: Command) -> Result<ExitCode, Error> {
    command::run(&mut server).map(|()| ExitCode::SUCCESS)
}
