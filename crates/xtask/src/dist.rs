//! `cargo xtask dist`: the page into `dist/`, then the server that carries it. What did not change is not built again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::tools::{self, Tools, WASM_TARGET};
use crate::{command, flags, highlighter, parts, report, workspace};

/// Top-level entries the page is not made of; everything else counts, so that a new folder is never forgotten.
const NOT_IN_THE_PAGE: [&str; 15] = [
    ".ci",
    ".clippy.toml",
    ".git",
    ".gitignore",
    "LICENSE",
    "README.md",
    "bench",
    "crates/host",
    "crates/xtask",
    "design",
    "dist",
    "docs",
    "node_modules",
    "target",
    "tests",
];
/// Name of the server's package and program.
const SERVER: &str = "turnreel";

/// # Errors
/// When a tool or a build fails.
pub(crate) fn run() -> Result<ExitCode, Error> {
    let root = workspace::root()?;
    let tools = tools::ensure(&root)?;
    build_page(&root, &tools)?;
    let program = build_server(&root)?;
    report::say(&format!("The server is {}", program.display()));
    Ok(ExitCode::SUCCESS)
}

/// Builds the page in release into `dist/`, unless nothing it is made of has changed.
///
/// # Errors
/// When the page has no index.html, or a build fails.
pub(crate) fn build_page(root: &Path, tools: &Tools) -> Result<(), Error> {
    if !root.join("index.html").is_file() {
        return Err(Error::Missing {
            what: "index.html".to_owned(),
            remedy: format!(
                "The page is built from it; it belongs in {}",
                root.display()
            ),
        });
    }
    let stamp_path = stamp_path(root, "page")?;
    let made_of = fingerprint(root)?;
    let stamp = std::fs::read_to_string(&stamp_path).ok();
    if stamp.is_some() && stamp == stamp_text(root, &made_of) {
        report::say("The page is up to date");
        return Ok(());
    }
    report::say("Building the page in release (the first time about 5 minutes)");
    run_trunk(root, tools, None)?;
    let Some(stamp) = stamp_text(root, &made_of) else {
        return Err(Error::Missing {
            what: "dist/index.html, though Trunk built the page".to_owned(),
            remedy: "Let Trunk.toml keep its `dist` folder where it is by default".to_owned(),
        });
    };
    std::fs::write(&stamp_path, stamp)
        .map_err(|source| Error::file("write a stamp", &stamp_path, source))?;
    report::say(&format!(
        "The page is in dist/: {}",
        sizes(&root.join("dist"))
    ));
    Ok(())
}

/// Builds a page into `dist/` that notes what is run of it; it is no page to keep.
///
/// # Errors
/// When the build fails.
pub(crate) fn build_noting_page(root: &Path, tools: &Tools) -> Result<(), Error> {
    report::say("Building a page that notes what is run of it");
    run_trunk(root, tools, Some(parts::noting()))
}

fn run_trunk(root: &Path, tools: &Tools, variable: Option<(&str, &str)>) -> Result<(), Error> {
    // Trunk builds offline, so that it never fetches a tool; what the page depends on must be there before.
    let host = host_target(root)?;
    command::run(
        command::cargo()
            .args(["fetch", "--target", WASM_TARGET, "--target", &host])
            .current_dir(root),
    )?;
    let mut trunk = command::new("trunk");
    trunk
        .args(["build", "--release"])
        .env("PATH", workspace::path_with(&tools.bin_dirs)?)
        .envs([flags::of_page(root, "")])
        .current_dir(root);
    trunk.envs(variable);
    command::run(&mut trunk)
}

/// Builds the server in release, with the page of `dist/` in it, and returns its program.
///
/// # Errors
/// When the build fails.
pub(crate) fn build_server(root: &Path) -> Result<PathBuf, Error> {
    report::say("Building the server in release (the first time about 2 minutes)");
    // Cargo follows the files that were embedded last time. It does not see the first ones arrive in an empty folder.
    let page_stamp = std::fs::read_to_string(stamp_path(root, "page")?).unwrap_or_default();
    let server_stamp_path = stamp_path(root, "server")?;
    if std::fs::read_to_string(&server_stamp_path).ok().as_ref() != Some(&page_stamp) {
        let mut clean = command::cargo();
        clean
            .args(["clean", "--quiet", "--release", "--package", SERVER])
            .current_dir(root);
        command::run(&mut clean)?;
    }
    let mut build = command::cargo();
    build
        .args(["build", "--release", "--package", SERVER])
        .current_dir(root);
    command::run(&mut build)?;
    std::fs::write(&server_stamp_path, page_stamp)
        .map_err(|source| Error::file("write a stamp", &server_stamp_path, source))?;
    program_in(root, "release")
}

/// The server's program as its own tests run it.
///
/// # Errors
/// When they were not compiled.
pub(crate) fn tests_server(root: &Path) -> Result<PathBuf, Error> {
    program_in(root, "debug")
}

fn program_in(root: &Path, profile: &str) -> Result<PathBuf, Error> {
    let name = format!("{SERVER}{}", std::env::consts::EXE_SUFFIX);
    let program = workspace::target_dir(root).join(profile).join(name);
    if program.is_file() {
        return Ok(program);
    }
    Err(Error::Missing {
        what: program.display().to_string(),
        remedy: "Set the target folder by CARGO_TARGET_DIR, not in a config file".to_owned(),
    })
}

fn fingerprint(root: &Path) -> Result<String, Error> {
    let mut fingerprint = Fingerprint::new();
    let leave_out = |path: &Path| {
        let below_root = path.strip_prefix(root).unwrap_or(path);
        let is_test_data = below_root.starts_with("crates") && path.ends_with("tests");
        is_test_data
            || below_root
                .to_str()
                .is_some_and(|name| NOT_IN_THE_PAGE.contains(&name))
    };
    fingerprint.add_tree(root, &leave_out)?;
    // Of the tasks, these have a hand in the page.
    for part in [
        "src/page_hook.rs",
        "src/bundle.rs",
        "src/highlighter.rs",
        "src/parts.rs",
        "src/parts",
        "parts",
        "src/packed.rs",
        "src/player.rs",
        "src/reader.rs",
        "highlighter",
        "player",
    ] {
        fingerprint.add_tree(&root.join("crates/xtask").join(part), &|_| false)?;
    }
    // A page that was built without colours is built again once they can be had.
    fingerprint.add(&[u8::from(highlighter::ensure(root)?.is_ok())]);
    Ok(fingerprint.to_hex())
}

/// One target folder may serve several clones: each has a stamp of its own.
fn stamp_path(root: &Path, of: &str) -> Result<PathBuf, Error> {
    let mut place = Fingerprint::new();
    place.add(root.as_os_str().as_encoded_bytes());
    Ok(workspace::scratch_dir(root)?.join(format!("{of}-{}.stamp", place.to_hex())))
}

/// What the page was made of and when it was written, so that a page built by other means is not taken for this one.
fn stamp_text(root: &Path, made_of: &str) -> Option<String> {
    let written = root
        .join("dist/index.html")
        .metadata()
        .and_then(|it| it.modified())
        .ok()?;
    let written_ns = written
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()?
        .as_nanos();
    Some(format!("{made_of} {written_ns}\n"))
}

fn host_target(root: &Path) -> Result<String, Error> {
    let text = command::output(command::new("rustc").arg("-vV").current_dir(root))?;
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| Error::Failed {
            what: "learn this machine's target from `rustc -vV`".to_owned(),
            why: text,
        })
}

/// `agent-feed-1a2b_bg.wasm 512 KB, …` for what is big.
fn sizes(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sizes: Vec<(u64, String)> = entries
        .filter_map(|entry| {
            Some((
                entry.metadata().ok()?.len(),
                entry.file_name().to_string_lossy().into_owned(),
            ))
        })
        .filter(|(_, name)| name.ends_with(".wasm") || name.ends_with(".js"))
        .collect();
    sizes.sort_by(|a, b| b.cmp(a));
    sizes
        .iter()
        .take(3)
        .map(|(byte_len, name)| format!("{name} {} KB", byte_len / 1000))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_page_there_is_no_stamp() {
        let nowhere = Path::new("/nowhere-at-all");
        assert_eq!(stamp_text(nowhere, "0123"), None);
    }

    #[test]
    fn what_the_page_is_made_of_has_a_fingerprint() {
        let root = workspace::root().expect("tests run inside the workspace");
        assert_eq!(
            fingerprint(&root).expect("the workspace can be read").len(),
            16
        );
    }
}
