//! Modules of the page in one script: each is a function's body there, and what it exports is what the function returns.
//!
//! Enough of the language for what wasm-bindgen and the splitter write, and for scripts of our own: one import or export a
//! line, each at its beginning.

use std::collections::BTreeMap;

/// The paths of the modules that one imports, each once.
pub(crate) fn imported_paths(module: &str) -> Vec<&str> {
    let imports = module.lines().filter_map(import_of);
    let mut paths: Vec<&str> = imports.map(|import| import.path).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// One line that imports: `names from path`.
#[derive(Clone, Copy)]
struct Import<'a> {
    names: &'a str,
    path: &'a str,
}

fn import_of(line: &str) -> Option<Import<'_>> {
    let rest = line.strip_prefix("import ")?;
    let (names, path) = rest.rsplit_once(" from ")?;
    let path = path.trim_end_matches(';').trim_matches(['\'', '"']);
    Some(Import {
        names: names.trim(),
        path,
    })
}

/// A module with those it imports, by path, in it. What else it imports it goes on importing.
///
/// # Errors
/// When one of them imports, or exports in a way that is not known.
pub(crate) fn inlined(module: &str, imports: &BTreeMap<String, String>) -> Result<String, String> {
    let mut script = String::new();
    let names: BTreeMap<&str, String> = imports
        .keys()
        .map(String::as_str)
        .zip((1..).map(|nth| format!("part{nth}")))
        .collect();
    for (path, text) in imports {
        let (text, exported) = without_exports(text).map_err(|why| format!("{path}: {why}"))?;
        script.push_str(&format!(
            "const {} = (() => {{\n{text}\nreturn {{ {} }};\n}})();\n",
            names[path.as_str()],
            exported.join(", ")
        ));
    }
    for line in module.lines() {
        let import = import_of(line);
        let part = import.and_then(|import| Some((import.names, names.get(import.path)?)));
        let Some((imported, part)) = part else {
            script.push_str(line);
            script.push('\n');
            continue;
        };
        // `{ a as b }` of a module is `{ a: b }` of an object.
        let name = imported
            .strip_prefix("* as ")
            .map_or_else(|| imported.replace(" as ", ": "), str::to_owned);
        script.push_str(&format!("const {name} = {part};\n"));
    }
    Ok(script)
}

/// A module's text without the word `export`, and the names that bore it.
pub(crate) fn without_exports(text: &str) -> Result<(String, Vec<String>), String> {
    let mut out = String::with_capacity(text.len());
    let mut exported = Vec::new();
    for line in text.lines() {
        if line.starts_with("import ") {
            return Err(format!("it imports: {line}"));
        }
        let Some(declared) = line.strip_prefix("export ") else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let words = ["async function", "function", "class", "const", "let"];
        let name = words
            .iter()
            .find_map(|word| declared.strip_prefix(word)?.strip_prefix(' '));
        let name = name.map(|rest| {
            rest.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_' || char == '$'))
        });
        let Some(name) = name
            .and_then(|mut parts| parts.next())
            .filter(|name| !name.is_empty())
        else {
            return Err(format!("it exports in another way: {line}"));
        };
        exported.push(name.to_owned());
        out.push_str(declared);
        out.push('\n');
    }
    Ok((out, exported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_here_stands_in_the_script_and_the_rest_is_imported() {
        let module = "import { a as c } from './x.js';\nimport * as import1 from \"./x.js\"\nimport { d } from './y.js';\nexport { c };\n";
        assert_eq!(imported_paths(module), ["./x.js", "./y.js"]);
        let imports = [("./x.js".to_owned(), "export const a = 1;\n".to_owned())];
        let script = inlined(module, &imports.into()).expect("these are modules");
        assert_eq!(
            script,
            "const part1 = (() => {\nconst a = 1;\n\nreturn { a };\n})();\n\
             const { a: c } = part1;\nconst import1 = part1;\nimport { d } from './y.js';\nexport { c };\n"
        );
    }
}
