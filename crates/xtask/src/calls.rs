//! `cargo xtask calls`: notes anew what is run before the page's first rows. The page is cut by it: see `parts`.

use std::path::Path;
use std::process::ExitCode;

use crate::error::Error;
use crate::{browser, command, dist, parts, report, tools, workspace};

/// The test that visits the page, and the variable by which it is told where to write what it saw.
const TEST: &str = "calls::what_is_run_first_is_noted";
const NOTES: &str = "TURNREEL_CALLS";
/// The variable by which it is told of a folder with more logs.
const LOGS: &str = "TURNREEL_CALLS_LOGS";

/// # Errors
/// When a tool, a build or the visit fails.
pub(crate) fn run(logs: Option<&Path>) -> Result<ExitCode, Error> {
    let root = workspace::root()?;
    let tools = tools::ensure(&root)?;
    let browser = browser::ensure()?;
    dist::build_noting_page(&root, &tools)?;
    let program = dist::build_server(&root)?;
    let notes_path = workspace::scratch_dir(&root)?.join("calls.notes");
    let mut visit = command::cargo();
    visit
        .args(["test", "--package", "agent-feed", "--test", "end_to_end"])
        .args(["--", "--exact", "--nocapture", TEST])
        .env(NOTES, &notes_path)
        .env("TURNREEL_CHROME", &browser.chrome)
        .env("TURNREEL_BIN", program)
        .envs(logs.map(|folder| (LOGS, folder)))
        .current_dir(&root);
    command::run(&mut visit)?;
    let notes = std::fs::read(&notes_path)
        .map_err(|source| Error::file("read what was noted", &notes_path, source))?;
    parts::keep_calls(&root, &notes)?;
    report::say("What is run first is known; the page is cut by it");
    dist::build_page(&root, &tools)?;
    Ok(ExitCode::SUCCESS)
}
