//! The tests that are run, by their packages and names.

use std::path::Path;
use std::process::Command;

use super::{PAGE, RULES, SEED};
use crate::error::Error;

/// What property tests try.
pub(super) fn choose_inputs(command: &mut Command, is_full: bool) {
    if is_full {
        command.env("TURNREEL_FULL", "1");
    } else if std::env::var_os(SEED).is_none() {
        // What a change breaks is seen in its own run; what chance finds belongs to the long one.
        command.env(SEED, "1");
    }
}

pub(super) fn rule_arguments() -> Vec<String> {
    root_test_arguments(&[RULES.to_owned()])
}

pub(super) fn root_test_arguments(tests: &[String]) -> Vec<String> {
    let fixed = ["test", "--no-fail-fast", "--package", PAGE]
        .into_iter()
        .map(str::to_owned);
    fixed
        .chain(
            tests
                .iter()
                .flat_map(|test| ["--test".to_owned(), test.clone()]),
        )
        .collect()
}

/// Packages of a folder. A package here has the name of its folder.
pub(super) fn packages_in(folder: &Path) -> Result<Vec<String>, Error> {
    names_in(folder, |path| path.join("Cargo.toml").is_file())
}

/// Names of a package's integration tests.
pub(super) fn tests_in(package_dir: &Path) -> Result<Vec<String>, Error> {
    names_in(&package_dir.join("tests"), |path| {
        path.extension().is_some_and(|extension| extension == "rs")
            || path.join("main.rs").is_file()
    })
}

/// Stems of the entries of a folder, in order.
fn names_in(folder: &Path, keep: impl Fn(&Path) -> bool) -> Result<Vec<String>, Error> {
    let entries =
        std::fs::read_dir(folder).map_err(|source| Error::file("read a folder", folder, source))?;
    let paths = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| keep(path));
    let mut names: Vec<String> = paths
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}
