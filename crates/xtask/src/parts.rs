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
mod slim;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::bundle;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::tools::{self, Tools, WASM_TARGET};
use crate::{command, workspace};
use files::{program_in, remove_dir, scratch_dir};
pub(crate) use files::{read, read_text, unexpected, write};

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
/// What asks the browser to compile the whole script of the first part beside the page's own thread: some 230 of its
/// functions are called before the first rows, and each would be compiled when it is (a tenth of a cold start's CPU).
const EAGER: &str = "//# allFunctionsCalledOnLoad\n";
/// The module that marked functions are imported from while nothing is cut.
const PLACEHOLDER: &str = "__wasm_split_placeholder__";

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
    let whole = Whole {
        script: whole_dir.join(format!("{PROGRAM}.js")),
        wasm: whole_dir.join(format!("{PROGRAM}_bg.wasm")),
    };
    let script = whole_script(&read_text(&whole.script)?).map_err(unexpected)?;
    write(&whole.script, script.as_bytes())?;
    let wasm = small(&read(&whole.wasm)?)
        .and_then(|wasm| sections::with_table(&wasm, "__indirect_function_table"))
        .ok_or_else(|| unexpected("the whole is no wasm"))?;
    write(&whole.wasm, &wasm)?;
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

/// What was made of the staged page.
pub(crate) struct Cut {
    /// The page, naming the first part.
    pub(crate) html: String,
    /// The same module in one piece.
    pub(crate) whole: Whole,
    /// Scripts of the staged folder, by path, that the parts have in them.
    pub(crate) inlined: Vec<String>,
}

/// A module in one piece.
pub(crate) struct Whole {
    /// The script that wasm-bindgen writes; what it imports stands in the staged folder under the same paths.
    pub(crate) script: PathBuf,
    pub(crate) wasm: PathBuf,
}

/// What Trunk called the module.
struct Staged {
    /// `agent-feed-6a0.js`.
    script: String,
    /// `agent-feed-7b1_bg.wasm`.
    wasm: String,
}

impl Staged {
    fn of(html: &str) -> Option<Staged> {
        let ending = |end: &str| {
            let names = html.split(['"', '\'', '`', '/']);
            let mut named = names.filter(|name| name.starts_with(PROGRAM) && name.ends_with(end));
            named.next().map(str::to_owned)
        };
        Some(Staged {
            script: ending(".js")?,
            wasm: ending("_bg.wasm")?,
        })
    }
}

/// The parts, by the names they are written under.
struct Parts {
    hash: String,
    inlined: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
}

impl Parts {
    fn read(
        root: &Path,
        split_dir: &Path,
        first_dir: &Path,
        staging_dir: &Path,
    ) -> Result<Parts, Error> {
        let mut later = later_parts(split_dir)?;
        for (_, bytes) in &mut later {
            *bytes = small(bytes)
                .ok_or_else(|| unexpected("the splitter wrote something that is no wasm"))?;
        }
        let first = read(&first_dir.join(format!("{PROGRAM}_bg.wasm")))?;
        let script = read_text(&first_dir.join(format!("{PROGRAM}.js")))?;
        let (script, first) = glue::shortened(&script, &first).map_err(unexpected)?;
        let (script, first, rest) = if std::env::var_os(NOTING).is_some() {
            write(&split_dir.join(NAMED), &first)?;
            let first =
                rest::counted(&first).ok_or_else(|| unexpected("its blocks cannot be counted"))?;
            (glue::with_notes(&script).map_err(unexpected)?, first, None)
        } else {
            let halves = Halves::of(&first, &rest::Calls::read(&read_text(&root.join(CALLS))?))
                .ok_or_else(|| unexpected("the first part cannot be cut in two"))?;
            (script, halves.first, Some(halves.rest))
        };
        let link = read_text(&split_dir.join(LINK_SCRIPT))?;
        let mut scripts = own_scripts(&script, staging_dir)?;
        let mut fingerprint = Fingerprint::new();
        for text in scripts.values() {
            fingerprint.add(text.as_bytes());
        }
        for bytes in later.iter().map(|(_, bytes)| bytes.as_slice()) {
            fingerprint.add(bytes);
        }
        for bytes in [
            &first[..],
            script.as_bytes(),
            link.as_bytes(),
            EAGER.as_bytes(),
        ] {
            fingerprint.add(bytes);
        }
        fingerprint.add(rest.as_deref().unwrap_or_default());
        let hash = fingerprint.to_hex();
        let rename = |text: &str, renamed: &[(String, String)]| {
            renamed
                .iter()
                .try_fold(text.to_owned(), |text, (from, to)| {
                    let found = text.contains(from.as_str());
                    found
                        .then(|| text.replace(from.as_str(), to))
                        .ok_or_else(|| unexpected(&format!("a script does not name {from}")))
                })
        };
        let stem = format!("{PROGRAM}-{hash}");
        let linked =
            link::shortened(&link, later, rest, &hash, own_name).map_err(|why| unexpected(&why))?;
        let link = rename(
            &linked.script,
            &[
                // It stands in the script that it would import.
                (
                    format!("import {{ initSync }} from \"./{PROGRAM}.js\";\n"),
                    String::new(),
                ),
                // The page says itself what did not come.
                ("            console.error(e);\n".to_owned(), String::new()),
            ],
        )?;
        let inlined = scripts.keys().cloned().collect();
        scripts.insert(format!("./{LINK_SCRIPT}"), glue::without_comments(&link));
        let mut files = linked.files;
        let script = rename(
            &script,
            &[(format!("{PROGRAM}_bg.wasm"), format!("{stem}_bg.wasm"))],
        )?;
        let script = bundle::inlined(&script, &scripts).map_err(|why| unexpected(&why))?;
        files.push((format!("{stem}.js"), [EAGER, &script].concat().into_bytes()));
        files.push((format!("{stem}_bg.wasm"), first));
        Ok(Parts {
            hash,
            inlined,
            files,
        })
    }

    fn stem(&self) -> String {
        format!("{PROGRAM}-{}", self.hash)
    }

    fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }
}

/// What [`rest`] makes of the first part, as it is shipped.
struct Halves {
    first: Vec<u8>,
    rest: Vec<u8>,
}

impl Halves {
    fn of(whole: &[u8], calls: &rest::Calls) -> Option<Halves> {
        let halves = rest::cut(whole, &format!("./{LINK_SCRIPT}"), calls)?;
        Some(Halves {
            first: small(&halves.first)?,
            rest: small(&halves.rest)?,
        })
    }
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

/// The page without the link that asks for a script ahead.
fn without_preload(html: &str, path: &str) -> Option<String> {
    let named = html.find(&format!("href=\"{path}\""))?;
    let begin = html[..named].rfind("<link ")?;
    let end = named + html[named..].find('>')? + 1;
    Some(format!("{}{}", &html[..begin], &html[end..]))
}

/// `split_readers.wasm`, `chunk_2.wasm` …: stem and content, in the order of their names.
fn later_parts(split_dir: &Path) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let unreadable = |source| Error::file("read a folder", split_dir, source);
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(split_dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_wasm = path.extension().is_some_and(|it| it == "wasm");
        if is_wasm && name != PROGRAM {
            parts.push((name.into_owned(), read(&path)?));
        }
    }
    parts.sort();
    Ok(parts)
}

/// `readers` of `split_readers`; what several parts share keeps its number.
fn own_name(name: &str) -> String {
    name.strip_prefix("split_")
        .unwrap_or(name)
        .replace('_', "-")
}

/// The script of the module in one piece: its marked functions are at hand, and fetching a part is done at once.
fn whole_script(script: &str) -> Result<String, &'static str> {
    let is_import = |line: &&str| line.starts_with("import * as ") && line.contains(PLACEHOLDER);
    let mut imports = script.lines().filter(is_import).map(|line| {
        let name = line["import * as ".len()..].split_whitespace().next();
        (line, name.unwrap_or_default())
    });
    let (statement, first) = imports
        .next()
        .ok_or("the whole imports no marked function")?;
    let parts = format!(
        r#"// Nothing is cut out of this module: what asks for a part is told that it is there.
const {first} = new Proxy({{}}, {{
  get: (_, name) => name.includes("00_import_")
    ? (...values) => wasm[name.replace("00_import_", "00_export_")](...values)
    // Whoever asks waits first, and is told then.
    : (told, about) => queueMicrotask(() => wasm.__indirect_function_table.get(told)(about, 1)),
}});"#
    );
    let mut whole = script.replace(statement, &parts);
    for (statement, name) in imports {
        whole = whole.replace(statement, &format!("const {name} = {first};"));
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_staged_module_is_known_by_the_page() {
        let html = r#"<link href="./agent-feed-6a0.js"><script>init('./agent-feed-7b1_bg.wasm')"#;
        let staged = Staged::of(html).expect("it names one");
        assert_eq!(staged.script, "agent-feed-6a0.js");
        assert_eq!(staged.wasm, "agent-feed-7b1_bg.wasm");
        assert!(Staged::of("<html></html>").is_none());
    }

    #[test]
    fn what_is_inlined_is_not_asked_for_ahead() {
        let html = r#"<link rel="a" href="./x.js" crossorigin><link rel="a" href="./y.js">"#;
        assert_eq!(
            without_preload(html, "./x.js").as_deref(),
            Some(r#"<link rel="a" href="./y.js">"#)
        );
        assert_eq!(without_preload(html, "./z.js"), None);
    }

    #[test]
    fn parts_are_called_by_their_own_names() {
        assert_eq!(own_name("split_readers"), "readers");
        assert_eq!(own_name("chunk_2"), "chunk-2");
    }

    #[test]
    fn the_whole_answers_for_its_parts_itself() {
        let script = "import { a } from './snippets/x/a.js';\nimport * as import1 from \"__wasm_split_placeholder__\"\nimport * as import2 from \"__wasm_split_placeholder__\"\nlet wasm;";
        let whole = whole_script(script).expect("it has the import");
        assert!(whole.contains("const import1 = new Proxy("), "{whole}");
        assert!(whole.contains("const import2 = import1;"), "{whole}");
        assert!(!whole.contains("__wasm_split_placeholder__"), "{whole}");
        assert!(whole_script("let wasm;").is_err());
    }
}
