//! `dist/reader-….js` and `reader-…_bg.wasm`: the program of the worker that reads long logs.
//!
//! It is made of the page's sources without the feature `page`, for speed and not for size, and is fetched for long logs
//! alone. The page's script of the worker is told its name, which stands beside the page's own and changes with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::bundle;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::parts::{self, OWN_SNIPPET, PROGRAM};
use crate::tools::{self, WASM_TARGET};
use crate::{command, report, workspace};

/// The profile it is built with, and what its files are called by.
const NAME: &str = "reader";
/// All browsers of the last years know these instructions; a worker that does not begin is done without.
const RUSTFLAGS: &str = "-Ctarget-feature=+simd128";
/// Where [`OWN_SNIPPET`] says what the program is called.
const UNNAMED: &str = "const PROGRAM = \"\";";

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
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", RUSTFLAGS)
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
    let own = own_snippet(staging_dir)?;
    let (script, scripts) = prepared(&script, &out_dir, &own)?;
    let mut fingerprint = Fingerprint::new();
    for bytes in [script.as_bytes(), &wasm] {
        fingerprint.add(bytes);
    }
    let stem = format!("{NAME}-{}", fingerprint.to_hex());
    let script = script.replace(&format!("{NAME}_bg.wasm"), &format!("{stem}_bg.wasm"));
    let script = bundle::inlined(&script, &scripts).map_err(|why| parts::unexpected(&why))?;
    parts::write(&staging_dir.join(format!("{stem}.js")), script.as_bytes())?;
    parts::write(&staging_dir.join(format!("{stem}_bg.wasm")), &wasm)?;

    let named = parts::read_text(&staging_dir.join(&own))?;
    if !named.contains(UNNAMED) {
        return Err(parts::unexpected("the worker's script names no program"));
    }
    let named = named.replace(UNNAMED, &format!("const PROGRAM = \"./{stem}.js\";"));
    parts::write(&staging_dir.join(&own), named.as_bytes())
}

/// The script with the path by which the page's own worker loads [`OWN_SNIPPET`], so that both are one instance, and the
/// texts of the other scripts that it imports.
fn prepared(
    script: &str,
    out_dir: &Path,
    own: &Path,
) -> Result<(String, BTreeMap<String, String>), Error> {
    let mut scripts = BTreeMap::new();
    let mut prepared = script.to_owned();
    for path in bundle::imported_paths(script) {
        if path.ends_with(OWN_SNIPPET) {
            prepared = prepared.replace(path, &format!("./{}", own.display()));
        } else if path.starts_with("./snippets/") {
            scripts.insert(path.to_owned(), parts::inlined_text(out_dir, path)?);
        }
    }
    Ok((prepared, scripts))
}

/// Path of [`OWN_SNIPPET`] within the staged page.
fn own_snippet(staging_dir: &Path) -> Result<PathBuf, Error> {
    let snippets = staging_dir.join("snippets");
    let unreadable = |source| Error::file("read a folder", &snippets, source);
    let mut found = std::fs::read_dir(&snippets)
        .map_err(unreadable)?
        .flatten()
        .map(|entry| entry.path().join("src/platform").join(OWN_SNIPPET))
        .filter(|path| path.is_file());
    found
        .next()
        .and_then(|path| path.strip_prefix(staging_dir).ok().map(Path::to_owned))
        .ok_or_else(|| parts::unexpected("the worker's own script is not in it"))
}
