//! `dist/player.html`: the whole page in one file, for a session that is exported. It ends where the session begins:
//! `chat_feed::export` writes that, and the end.
//!
//! What the player is made of is in [`Assets`] alone. All of it stands in the file, the module and the worker compressed,
//! under a policy that allows this one script by its hash and no request at all.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::bundle::{imported_paths, inlined, without_exports};
use crate::error::Error;
use crate::highlighter;
use crate::parts::Whole;

/// The file's name in `dist/`; the program and the page know it.
pub(crate) const FILE_NAME: &str = "player.html";

/// Where the script begins. It runs as soon as it is there: the log stands behind it, and is long.
const SCRIPT: &str = "<script type=\"module\" async>";

/// What the player is made of.
struct Assets {
    /// The module that wasm-bindgen writes, and what it imports by path.
    module: String,
    imports: BTreeMap<String, String>,
    wasm: Vec<u8>,
    highlighter: String,
    start: String,
    css: String,
}

impl Assets {
    /// The only place that says where they are.
    fn read(root: &Path, staging_dir: &Path, whole: &Whole) -> Result<Self, Error> {
        let bytes = |path: &Path| {
            std::fs::read(path)
                .map_err(|source| Error::file("read a part of the player", path, source))
        };
        let text = |path: &Path| {
            std::fs::read_to_string(path)
                .map_err(|source| Error::file("read a part of the player", path, source))
        };
        let own = root.join("crates/xtask/player");
        let module = text(&whole.script)?;
        let mut imports = BTreeMap::new();
        for path in imported_paths(&module) {
            imports.insert(path.to_owned(), text(&staging_dir.join(path))?);
        }
        let styles = [root.join("style/tokens.css"), own.join("player.css")];
        Ok(Assets {
            imports,
            wasm: bytes(&whole.wasm)?,
            highlighter: text(&staging_dir.join(highlighter::FILE_NAME))?,
            start: text(&own.join("start.js"))?,
            css: styles
                .iter()
                .map(|path| text(path))
                .collect::<Result<Vec<_>, _>>()?
                .concat(),
            module,
        })
    }
}

/// Writes the player beside the page that Trunk has staged.
///
/// # Errors
/// When a part of it is missing, or is not what it used to be.
pub(crate) fn write(root: &Path, staging_dir: &Path, whole: &Whole) -> Result<(), Error> {
    let assets = Assets::read(root, staging_dir, whole)?;
    let failed = |why| Error::Failed {
        what: format!("make {FILE_NAME}"),
        why,
    };
    let html = page(&assets).map_err(failed)?;
    let path = staging_dir.join(FILE_NAME);
    std::fs::write(&path, html).map_err(|source| Error::file("write the player", &path, source))
}

fn page(assets: &Assets) -> Result<String, String> {
    let script = format!(
        "{}{}",
        bundle(&assets.module, &assets.imports)?,
        assets.start
    );
    // These would end the element, or begin a comment in it that has no end.
    for end in ["</script", "<!--", "</style"] {
        if script.to_ascii_lowercase().contains(end)
            || assets.css.to_ascii_lowercase().contains(end)
        {
            return Err(format!("its script or style holds `{end}`"));
        }
    }
    let policy = format!(
        "default-src 'none'; script-src '{}' 'wasm-unsafe-eval'; style-src '{}'; img-src data:; media-src data: blob:; \
         worker-src blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types agent-feed",
        hash(&script),
        hash(&assets.css)
    );
    let part = |name: &str, bytes: &[u8]| {
        let packed = packed(bytes).map_err(|why| why.to_string())?;
        Ok::<_, String>(format!(
            "<script type=\"text/plain\" data-part=\"{name}\">{}</script>\n",
            BASE64_STANDARD.encode(packed)
        ))
    };
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1, interactive-widget=resizes-content\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Turnreel</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>{}</style>\n</head>\n<body>\n<agent-feed></agent-feed>\n\
         <noscript>This file shows a session of a coding agent, and needs JavaScript to do so.</noscript>\n\
         {}{}{SCRIPT}{script}</script>\n",
        assets.css,
        part("module", &assets.wasm)?,
        part("highlighter", assets.highlighter.as_bytes())?,
    ))
}

fn packed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(bytes)?;
    gzip.finish()
}

/// As a policy names a script or a style by what it holds.
fn hash(text: &str) -> String {
    format!(
        "sha256-{}",
        BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()))
    )
}

/// The module with all it imports, as one script that declares `init`.
fn bundle(module: &str, imports: &BTreeMap<String, String>) -> Result<String, String> {
    let own = inlined(module, imports)?;
    if let Some(path) = imported_paths(&own).first() {
        return Err(format!("{path} is not here"));
    }
    let (own, exported) = own
        .rsplit_once("export {")
        .map(|(own, exported)| (own.to_owned(), exported.to_owned()))
        .ok_or("the module has no list of exports")?;
    let init = exported
        .split([',', '}'])
        .find_map(|name| name.trim().strip_suffix(" as default"))
        .ok_or("the module has no default export")?
        .to_owned();
    let (own, _) = without_exports(&own)?;
    Ok(format!(
        "const init = (() => {{\n{own}\nreturn {init};\n}})();\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "import { a, b } from './snippets/x.js';\nimport * as import1 from \"./snippets/x.js\"\n\
        export class Handle {}\nfunction load() {}\nexport { initSync, load as default };\n";

    fn assets(snippet: &str) -> Assets {
        Assets {
            module: MODULE.to_owned(),
            imports: [("./snippets/x.js".to_owned(), snippet.to_owned())].into(),
            wasm: vec![0; 1000],
            highlighter: "self.onmessage = 1;".to_owned(),
            start: "init();\n".to_owned(),
            css: "html {}".to_owned(),
        }
    }

    #[test]
    fn modules_become_one_script_that_declares_init() {
        let assets = assets("export function a(x) {}\nexport const b = 1;\n");
        let script = bundle(&assets.module, &assets.imports).expect("these are modules");
        assert_eq!(
            script,
            "const init = (() => {\nconst part1 = (() => {\nfunction a(x) {}\nconst b = 1;\n\nreturn { a, b };\n})();\n\
             const { a, b } = part1;\nconst import1 = part1;\nclass Handle {}\nfunction load() {}\n\nreturn load;\n})();\n"
        );
    }

    #[test]
    fn the_page_names_its_script_by_hash_and_allows_no_request() {
        let page =
            page(&assets("export function a() {}\nexport function b() {}\n")).expect("a player");
        let script = page
            .split(SCRIPT)
            .nth(1)
            .and_then(|rest| rest.split("</script>").next());
        let hash = hash(script.expect("a script"));
        assert!(
            page.contains(&format!("script-src '{hash}' 'wasm-unsafe-eval'")),
            "{page}"
        );
        assert!(page.contains("default-src 'none'") && !page.contains("connect-src"));
        assert!(page.ends_with("</script>\n"));
    }

    #[test]
    fn what_would_end_the_script_or_cannot_be_put_together_is_refused() {
        for snippet in [
            "export const a = \"</script>\";",
            "const a = 1;\nexport { a };",
            "import x from 'y';",
            "export default 1;",
        ] {
            assert!(page(&assets(snippet)).is_err(), "{snippet}");
        }
    }
}
