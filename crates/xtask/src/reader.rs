//! `dist/reader-….js` and `reader-…_bg.wasm`: the program of the worker that reads long logs.
//!
//! It is made of the page's sources without the feature `page`, for speed and not for size, and is fetched for long logs
//! alone. Its name says what it is made of, and is written into the page's own script, whose name says so, too: a page
//! never runs a reader of another build.

use std::path::{Path, PathBuf};

use crate::bundle;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::parts::{self, PROGRAM};
use crate::tools::{self, WASM_TARGET};
use crate::{command, flags, report, workspace};

/// The profile it is built with, and what its files are called by.
const NAME: &str = "reader";
/// All browsers of the last years know these instructions; a worker that does not begin is done without.
const RUSTFLAGS: &str = "-Ctarget-feature=+simd128";
/// Where what starts workers says what the program is called.
const UNNAMED: &str = "const READER = \"\";";

/// Builds it and puts it into the staged page, whose worker begins with it then.
///
/// # Errors
/// When a build or a tool fails, or writes something else than it used to.
pub(crate) fn write(root: &Path, staging_dir: &Path) -> Result<(), Error> {
    report::say("Building the reader of long logs (the first time about 1 minute)");
    let mut build = command::cargo();
    build
        .args(["build", "--quiet", "--offline", "--profile", NAME])
        .args(["--package", PROGRAM, "--bin", PROGRAM])
        .args(["--no-default-features", "--target", WASM_TARGET])
        .envs([flags::of_page(root, RUSTFLAGS)])
        .current_dir(root);
    command::run(&mut build)?;
    let linked = workspace::target_dir(root)
        .join(WASM_TARGET)
        .join(NAME)
        .join(format!("{PROGRAM}.wasm"));
    let out_dir = workspace::scratch_dir(root)?.join(NAME);
    parts::bind(&tools::ensure(root)?, &linked, NAME, &out_dir)?;

    let script = parts::read_text(&out_dir.join(format!("{NAME}.js")))?;
    let wasm = parts::read(&out_dir.join(format!("{NAME}_bg.wasm")))?;
    let (script, wasm) = parts::shipped(&script, &wasm)?;
    let scripts = parts::own_scripts(&script, &out_dir)?;
    let mut fingerprint = Fingerprint::new();
    for text in scripts.values() {
        fingerprint.add(text.as_bytes());
    }
    for bytes in [script.as_bytes(), &wasm] {
        fingerprint.add(bytes);
    }
    let stem = format!("{NAME}-{}", fingerprint.to_hex());
    let script = script.replace(&format!("{NAME}_bg.wasm"), &format!("{stem}_bg.wasm"));
    let script = bundle::inlined(&script, &scripts).map_err(|why| parts::unexpected(&why))?;
    parts::write(&staging_dir.join(format!("{stem}.js")), script.as_bytes())?;
    parts::write(&staging_dir.join(format!("{stem}_bg.wasm")), &wasm)?;

    let starts = what_starts_workers(staging_dir)?;
    let named = parts::read_text(&starts)?;
    if !named.contains(UNNAMED) {
        return Err(parts::unexpected("what starts workers names no reader"));
    }
    let named = named.replace(UNNAMED, &format!("const READER = \"{stem}.js\";"));
    parts::write(&starts, named.as_bytes())
}

/// The staged script that starts workers; it will stand in the page's own.
fn what_starts_workers(staging_dir: &Path) -> Result<PathBuf, Error> {
    let snippets = staging_dir.join("snippets");
    let unreadable = |source| Error::file("read a folder", &snippets, source);
    let mut found = std::fs::read_dir(&snippets)
        .map_err(unreadable)?
        .flatten()
        .map(|entry| entry.path().join("src/platform/worker.js"))
        .filter(|path| path.is_file());
    found
        .next()
        .ok_or_else(|| parts::unexpected("what starts workers is not in it"))
}
