//! Cuts the page's module into the part that is fetched first and those that are fetched when they are needed.
//!
//! The linker leaves in the module what moves with what (`build.rs` asks for it); `wasm-split-cli` cuts along the
//! functions that `src/platform/part.rs` marks, and wasm-bindgen makes the first part's script. In the staged folder this
//! takes the place of what Trunk put there: `agent-feed-….js` and `agent-feed-…_bg.wasm` are the first part, and the script
//! fetches the others, `….wasm`. All bear one hash: they are of one compile, and fit no others. The script has in it what
//! fetches parts, and the scripts that Rust calls: each would be a request before the module is asked for.
//!
//! Of the first part what is not run before the first rows is cut off once more: `rest` knows how.
//!
//! The same module in one piece is for pages that are one file.

mod files;
mod glue;
mod link;
mod order;
mod rest;
mod sections;
mod shipping;
mod slim;
mod staged;
mod whole;

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Error;
use crate::tools::{self, Tools, WASM_TARGET};
use crate::{bundle, command, workspace};
use files::{program_in, remove_dir, scratch_dir};
pub(crate) use files::{read, read_text, unexpected, write};
use shipping::Parts;
use staged::{Staged, without_preload};
pub(crate) use whole::Whole;

/// The page's program, and the profile that index.html names for it.
pub(crate) const PROGRAM: &str = "agent-feed";
const PROFILE: &str = "web";
/// Folder of what the splitter writes.
const SPLIT: &str = "split";
/// Folder of the module in one piece.
const WHOLE: &str = "whole";
/// How the splitter calls the script that fetches parts, and what each part is called before its own name.
const LINK_SCRIPT: &str = "__wasm_split.js";
/// What of the first part is run before the first rows, as it was seen.
const CALLS: &str = "crates/xtask/parts/calls.txt";
/// Set where the page is to note what is run of it, in place of being cut.
const NOTING: &str = "TURNREEL_CALLS_NOTED";
/// Where the first part lies then, with the names of its functions, and what is noted of it is told by them.
const NAMED: &str = "named.wasm";

/// Replaces the staged module by its parts; `html` is changed to name them.
///
/// # Errors
/// When a tool fails, or writes something else than it used to.
pub(crate) fn cut(root: &Path, staging_dir: &Path, html: &str) -> Result<Cut, Error> {
    let linked = workspace::target_dir(root)
        .join(WASM_TARGET)
        .join(PROFILE)
        .join(format!("{PROGRAM}.wasm"));
    let tools = tools::ensure(root)?;
    let scratch = scratch_dir(root)?;
    remove_dir(&scratch)?;
    let split_dir = scratch.join(SPLIT);
    run(
        &tools,
        "wasm-split-cli",
        &[
            linked.as_os_str(),
            split_dir.as_os_str(),
            "--out-name".as_ref(),
            PROGRAM.as_ref(),
        ],
    )?;
    let (first_dir, whole_dir) = (scratch.join("first"), scratch.join(WHOLE));
    let first = split_dir.join(format!("{PROGRAM}.wasm"));
    bind(&tools, &first, PROGRAM, &first_dir)?;
    bind(&tools, &linked, PROGRAM, &whole_dir)?;

    let staged = Staged::of(html).ok_or_else(|| unexpected("index.html names no module"))?;
    let parts = Parts::read(root, &split_dir, &first_dir, staging_dir)?;
    for name in [&staged.script, &staged.wasm] {
        let path = staging_dir.join(name);
        std::fs::remove_file(&path).map_err(|source| Error::file("remove", &path, source))?;
    }
    for (name, bytes) in parts.files() {
        write(&staging_dir.join(name), bytes)?;
    }
    let whole = Whole::finish(&whole_dir)?;
    let mut html = html
        .replace(&staged.script, &format!("{}.js", parts.stem()))
        .replace(&staged.wasm, &format!("{}_bg.wasm", parts.stem()));
    for path in &parts.inlined {
        html = without_preload(&html, path)
            .ok_or_else(|| unexpected(&format!("index.html does not preload {path}")))?;
    }
    Ok(Cut {
        html,
        whole,
        inlined: parts.inlined,
    })
}

/// What was made of the staged page.
pub(crate) struct Cut {
    /// The page, naming the first part.
    pub(crate) html: String,
    /// The same module in one piece.
    pub(crate) whole: Whole,
    /// Scripts of the staged folder, by path, that the parts have in them.
    pub(crate) inlined: Vec<String>,
}

/// Makes the script of a linked module, and the module that it loads, in a folder.
///
/// # Errors
/// When wasm-bindgen fails.
pub(crate) fn bind(tools: &Tools, linked: &Path, name: &str, out_dir: &Path) -> Result<(), Error> {
    // The names of functions are left out later: the first part is cut by them.
    run(
        tools,
        "wasm-bindgen",
        &[
            linked.as_os_str(),
            "--target=web".as_ref(),
            "--no-typescript".as_ref(),
            // Parts call each other through the table of functions.
            "--keep-lld-exports".as_ref(),
            "--remove-producers-section".as_ref(),
            "--out-name".as_ref(),
            name.as_ref(),
            "--out-dir".as_ref(),
            out_dir.as_os_str(),
        ],
    )
}

fn run(tools: &Tools, program: &str, arguments: &[&std::ffi::OsStr]) -> Result<(), Error> {
    let path = workspace::path_with(&tools.bin_dirs)?;
    let mut tool = command::new(program_in(&tools.bin_dirs, program));
    command::run(tool.env("PATH", path).args(arguments))
}

/// A script and its module as they are shipped where nothing is cut.
///
/// # Errors
/// When they are not what wasm-bindgen writes.
pub(crate) fn shipped(script: &str, wasm: &[u8]) -> Result<(String, Vec<u8>), Error> {
    let (script, wasm) = glue::shortened(script, wasm).map_err(unexpected)?;
    let wasm = small(&wasm).ok_or_else(|| unexpected("the module is no wasm"))?;
    Ok((script, wasm))
}

/// The same module in as few bytes as it takes, packed; `None` where it is no wasm.
fn small(wasm: &[u8]) -> Option<Vec<u8>> {
    let wasm = sections::without_notes(wasm)?;
    order::ordered(&slim::slim(&wasm)?)
}

/// The texts of our own scripts that a script imports, by their paths below a folder: they are to stand in it.
///
/// # Errors
/// When one cannot be read.
pub(crate) fn own_scripts(script: &str, folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    let paths = bundle::imported_paths(script).into_iter();
    let own = paths.filter(|path| path.starts_with("./snippets/"));
    own.map(|path| {
        // It goes on naming others from where it was.
        let at = format!("new URL(\"{path}\", import.meta.url).href");
        let text = read_text(&folder.join(path))?.replace("import.meta.url", &at);
        Ok((path.to_owned(), glue::without_comments(&text)))
    })
    .collect()
}

/// What a page noted that was built with [`NOTING`], as [`CALLS`] keeps it.
///
/// # Errors
/// When the page was not built so last, or the notes are not of it.
pub(crate) fn keep_calls(root: &Path, notes: &[u8]) -> Result<(), Error> {
    let named = scratch_dir(root)?.join(SPLIT).join(NAMED);
    let calls = rest::Calls::noted(&read(&named)?, notes);
    let calls = calls.ok_or_else(|| unexpected("the notes are not of the page that was built"))?;
    let path = root.join(CALLS);
    let earlier = std::fs::read_to_string(&path).unwrap_or_default();
    let calls = calls.with(&rest::Calls::read(&earlier));
    write(&path, calls.to_text().as_bytes())
}

/// The variable by which a page is asked for that notes what is run of it.
pub(crate) fn noting() -> (&'static str, &'static str) {
    (NOTING, "1")
}
