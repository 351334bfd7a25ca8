//! The worker that colours code: highlight.js and its grammars from npm, in one exact version, put into one script
//! together with our own part, `crates/xtask/highlighter/worker.js`.
//!
//! Without npm the page is built as well; its code is plain, and that is said here.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::Error;
use crate::{npm, report};

/// The script's name in `dist/`; the page knows it.
pub(crate) const FILE_NAME: &str = "highlighter.js";

/// The folder of this package's `package.json`.
const FOLDER: &str = "highlighter";
/// As named in it.
const PACKAGE: &str = "@highlightjs/cdn-assets";

/// What agents write, by the grammars' names: another one costs about a kilobyte on the wire.
const LANGUAGES: [&str; 44] = [
    "bash",
    "c",
    "clojure",
    "cmake",
    "cpp",
    "csharp",
    "css",
    "dart",
    "diff",
    "dockerfile",
    "elixir",
    "erlang",
    "go",
    "graphql",
    "haskell",
    "ini",
    "java",
    "javascript",
    "json",
    "julia",
    "kotlin",
    "less",
    "lua",
    "makefile",
    "markdown",
    "nix",
    "objectivec",
    "ocaml",
    "perl",
    "php",
    "powershell",
    "protobuf",
    "python",
    "r",
    "ruby",
    "rust",
    "scala",
    "scss",
    "sql",
    "swift",
    "typescript",
    "vim",
    "xml",
    "yaml",
];

/// 60 KB compressed is what a page may load for colours; brotli makes a quarter of these scripts.
const MOST_BYTES: usize = 215_000;

/// As [`npm::ensure`] has it.
///
/// # Errors
/// See there.
pub(crate) fn ensure(root: &Path) -> Result<Result<PathBuf, String>, Error> {
    npm::ensure(root, FOLDER, PACKAGE, "the grammars that colour code")
}

/// For `cargo xtask tools`: where the grammars are.
pub(crate) fn find(root: &Path) -> Option<PathBuf> {
    npm::find(root, FOLDER)
}

/// The worker's script: with the grammars where they are here, else one that leaves every text plain.
///
/// # Errors
/// When a file cannot be read, or is not what it used to be.
pub(crate) fn script(root: &Path) -> Result<String, Error> {
    let path = root.join("crates/xtask/highlighter/worker.js");
    let own = read(&path)?;
    let package = match ensure(root)? {
        Ok(package) => package,
        Err(why) => {
            report::say(&format!(
                "The page is built without colours in code: {why}. Install npm and build it again to have them"
            ));
            return Ok(own);
        }
    };
    let script = assemble(&own, |name| read(&package.join("es").join(name)))?;
    if script.len() > MOST_BYTES {
        return Err(Error::Failed {
            what: format!("make {FILE_NAME}"),
            why: format!("it has {} bytes, more than {MOST_BYTES}", script.len()),
        });
    }
    Ok(script)
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source: io::Error| Error::file("read a script", path, source))
}

fn assemble(own: &str, read: impl Fn(&str) -> Result<String, Error>) -> Result<String, Error> {
    let core = read("core.min.js")?;
    // Its first comment is the notice that its licence asks for; it stays on top.
    let (notice, core) = core
        .split_once("*/")
        .map_or(("", core.as_str()), |(notice, core)| (notice, core));
    let mut script = format!(
        "{notice}*/\nconst highlighter = {};\n",
        as_value(core, "core.min.js")?
    );
    for language in LANGUAGES {
        let name = format!("languages/{language}.min.js");
        let grammar = read(&name)?;
        let grammar = as_value(&grammar, &name)?;
        script.push_str(&format!(
            "highlighter.registerLanguage(\"{language}\", {grammar});\n"
        ));
    }
    script.push_str(own);
    Ok(script)
}

/// A module that exports one thing, as an expression.
fn as_value(module: &str, name: &str) -> Result<String, Error> {
    let module = module.trim();
    let parts = if let Some((body, exported)) = module.rsplit_once("export default ") {
        Some((body, exported.trim_end_matches(';')))
    } else {
        module.rsplit_once("export{").and_then(|(body, rest)| {
            let rest = rest.trim_end_matches(';').trim_end_matches('}');
            Some((body, rest.strip_suffix(" as default")?))
        })
    };
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
    match parts.filter(|(body, exported)| {
        is_name(exported) && !body.lines().any(|line| line.starts_with("import"))
    }) {
        Some((body, exported)) => Ok(format!("(() => {{ {body}\nreturn {exported};\n}})()")),
        None => Err(Error::Failed {
            what: format!("read {name} of {PACKAGE}"),
            why: "it is no module with one export".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_become_one_script_with_the_notice_on_top() {
        let script = assemble("self.onmessage = 1;\n", |name| {
            Ok(match name {
                "core.min.js" => "/*!\n A notice */\nconst a=1;export{a as default};".to_owned(),
                _ => "var b=(()=>2)();export default b;\n".to_owned(),
            })
        });
        let script = script.expect("these are modules");
        assert!(script.starts_with(
            "/*!\n A notice */\nconst highlighter = (() => { const a=1;\nreturn a;\n})();\n"
        ));
        assert!(
            script.contains(
                "registerLanguage(\"rust\", (() => { var b=(()=>2)();\nreturn b;\n})());"
            )
        );
        assert!(script.ends_with("self.onmessage = 1;\n"));
        assert!(!script.contains("export"));
    }

    #[test]
    fn what_is_no_such_module_is_refused() {
        for text in [
            "",
            "const a=1;",
            "export{a,b};",
            "import x from 'y';export default x;",
        ] {
            assert!(as_value(text, "x").is_err(), "{text}");
        }
    }
}
