//! Runs other programs: with a clean environment, quietly with progress lines, or with their output read along.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::report;

/// How often a quiet command shows that it is alive.
const PROGRESS_EVERY: Duration = Duration::from_secs(20);
/// How often the end of a quiet command is looked for.
const POLL_EVERY: Duration = Duration::from_millis(100);
/// Lines of a quiet command's output shown when it fails.
const LINES_SHOWN: usize = 40;

/// The cargo that runs this program, so that nested calls use the same toolchain.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    new(program)
}

/// A command that does not see what cargo told this program about its own package.
///
/// Build scripts that watch these variables would be run again on each change between nested and plain calls.
pub(crate) fn new(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let about_this_package = text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_BIN_")
            || [
                "CARGO_MANIFEST_DIR",
                "CARGO_MANIFEST_PATH",
                "CARGO_CRATE_NAME",
                "CARGO_PRIMARY_PACKAGE",
                "OUT_DIR",
            ]
            .contains(&text.as_ref());
        if about_this_package {
            command.env_remove(&name);
        }
    }
    command
}

/// The command as it can be typed again, without its environment.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program
        .file_stem()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned();
    let arguments = command
        .get_args()
        .map(|argument| quoted(&argument.to_string_lossy()));
    std::iter::once(name)
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The command with the variables that were set for it, so that it can be typed again and does the same.
pub(crate) fn line_with_environment(command: &Command) -> String {
    let own_path = std::env::var("PATH").unwrap_or_default();
    let set = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
    let assignments = set
        .filter(|(name, _)| *name != "CARGO_TERM_COLOR")
        .map(
            |(name, value)| match value.strip_suffix(&own_path).filter(|_| name == "PATH") {
                Some(added) => format!("PATH={}$PATH ", quoted(added)),
                None => format!("{name}={} ", quoted(value)),
            },
        );
    assignments.chain([line(command)]).collect()
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// Runs with this program's own output.
///
/// # Errors
/// When the program cannot be started or ends badly.
pub(crate) fn run(command: &mut Command) -> Result<(), Error> {
    let status = command
        .status()
        .map_err(|source| cannot_start(command, &source))?;
    check(command, status)
}

/// Runs and returns what was printed to stdout; stderr is dropped.
///
/// # Errors
/// When the program cannot be started or ends badly.
pub(crate) fn output(command: &mut Command) -> Result<String, Error> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|source| cannot_start(command, &source))?;
    check(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs with its stdout shown and handed to `read`, line by line.
///
/// # Errors
/// When the program cannot be started. How it ended is the caller's to judge.
pub(crate) fn run_reading(
    command: &mut Command,
    mut read: impl FnMut(&str),
) -> Result<ExitStatus, Error> {
    if std::io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| cannot_start(command, &source))?;
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while stdout
            .read_until(b'\n', &mut line)
            .is_ok_and(|n_bytes| n_bytes > 0)
        {
            let mut own_stdout = std::io::stdout().lock();
            // A closed pipe ends nothing here: the tests still run to their end and are counted.
            let _ = own_stdout
                .write_all(&line)
                .and_then(|()| own_stdout.flush());
            read(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
    child
        .wait()
        .map_err(|source| cannot_start(command, &source))
}

/// Runs with its output in a log file, with a line of progress now and then; on failure the end of the log is shown.
///
/// # Errors
/// When the program cannot be started or ends badly.
pub(crate) fn run_quietly(command: &mut Command, log_path: &Path) -> Result<(), Error> {
    let log =
        File::create(log_path).map_err(|source| Error::file("write a log", log_path, source))?;
    let log_too = log
        .try_clone()
        .map_err(|source| Error::file("write a log", log_path, source))?;
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(log_too)
        .spawn()
        .map_err(|source| cannot_start(command, &source))?;
    let status = wait_with_progress(&mut child, log_path, started)
        .map_err(|source| cannot_start(command, &source))?;
    if !status.success() {
        eprintln!("{}", last_lines(log_path, LINES_SHOWN));
        eprintln!("The whole output is in {}", log_path.display());
    }
    check(command, status)
}

fn wait_with_progress(
    child: &mut Child,
    log_path: &Path,
    started: Instant,
) -> std::io::Result<ExitStatus> {
    let mut next_report = started + PROGRESS_EVERY;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= next_report {
            let elapsed = report::duration(started.elapsed());
            report::say(&format!("    {elapsed}: {}", progress_in(log_path)));
            next_report += PROGRESS_EVERY;
        }
        std::thread::sleep(POLL_EVERY);
    }
}

/// How far cargo is, by its own output.
fn progress_in(log_path: &Path) -> String {
    let log = std::fs::read(log_path).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let n_compiled = log
        .lines()
        .filter(|line| line.trim_start().starts_with("Compiling "))
        .count();
    let last = log
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("waiting")
        .trim();
    if n_compiled == 0 {
        last.to_owned()
    } else {
        format!("{n_compiled} packages so far; {last}")
    }
}

fn last_lines(log_path: &Path, n_lines: usize) -> String {
    let log = std::fs::read(log_path).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(n_lines)..].join("\n")
}

fn cannot_start(command: &Command, source: &std::io::Error) -> Error {
    Error::Failed {
        what: format!("run `{}`", line(command)),
        why: source.to_string(),
    }
}

fn check(command: &Command, status: ExitStatus) -> Result<(), Error> {
    if status.success() {
        return Ok(());
    }
    Err(Error::Child {
        command_line: line(command),
        status: status.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_command_can_be_typed_again() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["test", "-p", "agent-feed", "--", "it's here", ""]);
        assert_eq!(
            line(&command),
            r"cargo test -p agent-feed -- 'it'\''s here' ''"
        );
    }

    #[test]
    fn a_printed_command_keeps_the_variables_set_for_it() {
        let mut command = Command::new("cargo");
        let path = format!("/tools/bin:{}", std::env::var("PATH").unwrap_or_default());
        command
            .arg("test")
            .env("PATH", path)
            .env("TURNREEL_FULL", "1")
            .env_remove("OUT_DIR");
        assert_eq!(
            line_with_environment(&command),
            "PATH=/tools/bin:$PATH TURNREEL_FULL=1 cargo test"
        );
    }

    #[test]
    fn a_failed_command_is_an_error_with_its_line() {
        let error = run(cargo().arg("--no-such-flag").stderr(Stdio::null()))
            .expect_err("cargo refuses the flag");
        assert!(
            error.to_string().contains("cargo --no-such-flag"),
            "{error}"
        );
    }

    #[test]
    fn output_is_read_line_by_line() {
        let mut lines = Vec::new();
        let status = run_reading(cargo().arg("--version"), |line| lines.push(line.to_owned()))
            .expect("cargo runs");
        assert!(status.success());
        assert!(
            matches!(&lines[..], [line] if line.starts_with("cargo ")),
            "{lines:?}"
        );
    }
}
