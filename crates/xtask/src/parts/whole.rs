//! The same module in one piece, for pages that are one file.

use std::path::{Path, PathBuf};

use super::files::{read, read_text, unexpected, write};
use super::{PROGRAM, sections, small};
use crate::error::Error;

/// The module that marked functions are imported from while nothing is cut.
const PLACEHOLDER: &str = "__wasm_split_placeholder__";

/// A module in one piece.
pub(crate) struct Whole {
    /// The script that wasm-bindgen writes; what it imports stands in the staged folder under the same paths.
    pub(crate) script: PathBuf,
    pub(crate) wasm: PathBuf,
}

impl Whole {
    /// Makes what wasm-bindgen wrote in a folder a module that is at hand as a whole.
    pub(super) fn finish(folder: &Path) -> Result<Whole, Error> {
        let whole = Whole {
            script: folder.join(format!("{PROGRAM}.js")),
            wasm: folder.join(format!("{PROGRAM}_bg.wasm")),
        };
        let script = whole_script(&read_text(&whole.script)?).map_err(unexpected)?;
        write(&whole.script, script.as_bytes())?;
        let wasm = small(&read(&whole.wasm)?)
            .and_then(|wasm| sections::with_table(&wasm, "__indirect_function_table"))
            .ok_or_else(|| unexpected("the whole is no wasm"))?;
        write(&whole.wasm, &wasm)?;
        Ok(whole)
    }
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
    fn the_whole_answers_for_its_parts_itself() {
        let script = "import { a } from './snippets/x/a.js';\nimport * as import1 from \"__wasm_split_placeholder__\"\nimport * as import2 from \"__wasm_split_placeholder__\"\nlet wasm;";
        let whole = whole_script(script).expect("it has the import");
        assert!(whole.contains("const import1 = new Proxy("), "{whole}");
        assert!(whole.contains("const import2 = import1;"), "{whole}");
        assert!(!whole.contains("__wasm_split_placeholder__"), "{whole}");
        assert!(whole_script("let wasm;").is_err());
    }
}
