//! `cargo xtask start`: from a fresh clone to the page in a browser.
//!
//! The server takes this process over at the end (where the system allows it), so that stopping what was started
//! stops the server, by Ctrl-C and by any other signal. A second, small process reads the server's first line, prints
//! the address and opens the browser.

mod handover;

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

use crate::args::StartOptions;
use crate::error::Error;
use crate::{command, dist, report, tools, workspace};
use handover::Handover;

/// # Errors
/// When something is missing, or a build fails, or the server cannot be started.
pub(crate) fn run(options: &StartOptions) -> Result<ExitCode, Error> {
    let root = workspace::root()?;
    let tools = tools::ensure(&root)?;
    dist::build_page(&root, &tools)?;
    let program = dist::build_server(&root)?;
    let data_dir = match &options.data_dir {
        Some(folder) => folder.clone(),
        None => workspace::data_dir()?,
    };
    report::say(&format!(
        "Starting the server; sessions are kept in {}",
        data_dir.display()
    ));
    let (_announcer, to_announcer) = spawn_announcer(options.open)?;
    let mut server = command::new(program);
    server
        .arg("serve")
        .args(["--listen", &format!("127.0.0.1:{}", options.port), "--data"])
        .arg(&data_dir)
        .arg("--ready-json")
        .stdout(to_announcer);
    become_program(server)
}

/// Reads the server's output from stdin, shows the address, opens it if asked, and passes everything else on.
///
/// # Errors
/// When stdout is closed.
pub(crate) fn announce(open: bool) -> Result<ExitCode, Error> {
    let mut is_ready = false;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let shown = match address(&line).filter(|_| !is_ready) {
            Some(address) => {
                is_ready = true;
                if open && has_display() {
                    open_in_browser(address.clone());
                }
                format!("\nTurnreel is at  {address}\nCtrl-C stops it")
            }
            None => line,
        };
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{shown}")
            .and_then(|()| stdout.flush())
            .map_err(|source| Error::file("write", Path::new("stdout"), source))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn spawn_announcer(open: bool) -> Result<(Child, ChildStdin), Error> {
    let failed = |why: std::io::Error| Error::Failed {
        what: "start a helper process".to_owned(),
        why: why.to_string(),
    };
    let mut announcer = Command::new(std::env::current_exe().map_err(failed)?);
    announcer.arg("announce").stdin(Stdio::piped());
    if open {
        announcer.arg("--open");
    }
    // In a group of its own Ctrl-C does not reach it: it shows the server's last words and ends with its output.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut announcer, 0);
    let mut child = announcer.spawn().map_err(failed)?;
    match child.stdin.take() {
        Some(stdin) => Ok((child, stdin)),
        None => Err(Error::Failed {
            what: "start a helper process".to_owned(),
            why: "it has no stdin".to_owned(),
        }),
    }
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

/// The page's address in the server's `{"url":…,"token":…}` line: the token goes in the fragment, which browsers send
/// nowhere.
fn address(ready_line: &str) -> Option<String> {
    let url = string_field(ready_line, "url")?;
    let token = string_field(ready_line, "token");
    match token {
        Some(token) if !url.contains('#') => {
            Some(format!("{}/#token={token}", url.trim_end_matches('/')))
        }
        _ => Some(url.to_owned()),
    }
}

/// A string of a one-line JSON object. Neither an address nor a token holds anything that JSON escapes.
fn string_field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json
        .trim()
        .strip_prefix('{')?
        .split_once(&format!("\"{name}\""))?;
    let value = rest
        .trim_start()
        .strip_prefix(':')?
        .trim_start()
        .strip_prefix('"')?;
    value.split('"').next().filter(|text| !text.contains('\\'))
}

fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Not being able to is no failure: the address is on the screen.
fn open_in_browser(address: String) {
    // The browser is waited for beside the server's output, and no longer than that lasts.
    std::thread::spawn(move || {
        let program = if cfg!(target_os = "macos") {
            "open"
        } else if cfg!(windows) {
            "explorer"
        } else {
            "xdg-open"
        };
        let open = || {
            let handover = Handover::new()?;
            let mut opener = command::new(program);
            opener
                .arg(handover.address()?)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            handover.lead_to(&address)
        };
        if let Err(why) = open() {
            eprintln!("could not open a browser: {why}: {program}");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_into_the_fragment_once() {
        let expected = Some("http://127.0.0.1:7473/#token=abc".to_owned());
        assert_eq!(
            address(r#"{"url":"http://127.0.0.1:7473","token":"abc"}"#),
            expected
        );
        assert_eq!(
            address(r#"{ "token" : "abc", "url" : "http://127.0.0.1:7473/" }"#),
            expected
        );
        assert_eq!(
            address(r#"{"url":"http://127.0.0.1:7473/#token=abc","token":"abc"}"#),
            expected
        );
    }

    #[test]
    fn other_lines_are_no_address() {
        for line in [
            "",
            "listening",
            r#"{"level":"info"}"#,
            r#"{"url":1}"#,
            r#""url":"x""#,
        ] {
            assert_eq!(address(line), None, "{line}");
        }
    }
}
