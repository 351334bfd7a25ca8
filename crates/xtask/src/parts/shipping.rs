//! The parts as they are shipped: small, named by one hash, and with all scripts of the first in one.

use std::path::Path;

use super::files::{read, read_text, unexpected, write};
use super::{CALLS, LINK_SCRIPT, NAMED, NOTING, PROGRAM, glue, link, own_scripts, rest, small};
use crate::bundle;
use crate::error::Error;
use crate::fingerprint::Fingerprint;

/// What asks the browser to compile the whole script of the first part beside the page's own thread: some 230 of its
/// functions are called before the first rows, and each would be compiled when it is (a tenth of a cold start's CPU).
const EAGER: &str = "//# allFunctionsCalledOnLoad\n";

/// The parts, by the names they are written under.
pub(super) struct Parts {
    hash: String,
    /// Scripts of the staged folder, by path, that they have in them.
    pub(super) inlined: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
}

impl Parts {
    pub(super) fn read(
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

    /// The name of the first part and of its script, without their endings.
    pub(super) fn stem(&self) -> String {
        format!("{PROGRAM}-{}", self.hash)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_called_by_their_own_names() {
        assert_eq!(own_name("split_readers"), "readers");
        assert_eq!(own_name("chunk_2"), "chunk-2");
    }
}
