//! Holds what the project is made of to its rules: licences and sources of the dependencies, and no door through which
//! content could become markup or code. Which package may use which is held by `architecture`.

use super::metadata::{Metadata, WASM_TARGET, host_target, workspace_root};
use super::source;

/// Licences that ask for no more than their text to be kept; MPL-2.0 asks for its own files' source, which is public.
const ALLOWED_LICENSES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "MIT-0",
    "BSL-1.0",
    "Unlicense",
    "Unicode-3.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "MPL-2.0",
];

const OWN_LICENSE: &str = "MIT OR Apache-2.0";

/// How Cargo.lock writes the registry that everything comes from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Names that turn text into markup or code.
const DOORS: &[&str] = &[
    "inner_html",
    "set_inner_html",
    "insert_adjacent_html",
    "insertAdjacentHTML",
    "outer_html",
    "set_outer_html",
    "innerHTML",
    "outerHTML",
    "srcdoc",
    "document.write",
    "document.writeln",
    "eval(",
    "Function::new",
    "new Function",
    "dangerouslySetInnerHTML",
    "dangerously_set_inner_html",
    "create_contextual_fragment",
    "createContextualFragment",
];

#[test]
fn every_dependency_has_a_licence_we_can_keep() {
    for target in [WASM_TARGET, &host_target()] {
        let metadata = Metadata::of_target(target);
        let mut breaches = Vec::new();
        for package in metadata.packages.values() {
            let license = package.license.as_deref().unwrap_or("none");
            let holds = match package.folder {
                Some(_) => license == OWN_LICENSE,
                None => is_allowed(license) == Ok(true),
            };
            if !holds {
                breaches.push(format!("{} {}: {license}", package.name, package.version));
            }
        }
        assert_eq!(breaches, Vec::<String>::new(), "for {target}");
    }
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let lock =
        std::fs::read_to_string(workspace_root().join("Cargo.lock")).expect("Cargo.lock is kept");
    assert!(lock.contains(REGISTRY), "the lock names sources");
    assert_eq!(other_sources(&lock), Vec::<&str>::new());
}

#[test]
fn no_source_has_a_door_for_markup_or_code() {
    let root = workspace_root();
    let mut files = source::files_below(&root.join("src"), &["rs", "js", "html"]);
    files.extend(source::files_below(
        &root.join("crates"),
        &["rs", "js", "html"],
    ));
    files.extend(
        [root.join("index.html")]
            .into_iter()
            .filter(|file| file.is_file()),
    );
    // Tests of packages hold hostile texts on purpose, and are not shipped.
    files.retain(|file| {
        !file
            .strip_prefix(&root)
            .is_ok_and(|path| path.iter().any(|part| part == "tests"))
    });
    assert!(!files.is_empty(), "there are sources");
    let mut breaches = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source can be read");
        for (line_number, door) in doors_in(&text) {
            breaches.push(format!("{}:{line_number}: {door}", file.display()));
        }
    }
    assert_eq!(breaches, Vec::<String>::new());
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    for good in [
        "MIT",
        "MIT OR GPL-3.0-only",
        "MIT/Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "GPL-2.0-only AND LGPL-3.0-only OR Zlib",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
    ] {
        assert_eq!(is_allowed(good), Ok(true), "{good}");
    }
    for bad in [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR Apache-2.0) AND SSPL-1.0",
        "Apache-2.0 WITH Classpath-exception-2.0",
        "mit",
        "none",
    ] {
        assert_eq!(is_allowed(bad), Ok(false), "{bad}");
    }
    for broken in ["", "MIT OR", "(MIT", "MIT MIT", "MIT WITH"] {
        assert!(is_allowed(broken).is_err(), "{broken}");
    }
}

#[test]
fn other_sources_than_the_registry_are_found() {
    let lock = format!(
        "name = \"a\"\nsource = \"{REGISTRY}\"\n\nname = \"b\"\nsource = \"git+https://x/y#1\"\n"
    );
    assert_eq!(other_sources(&lock), ["git+https://x/y#1"]);
}

#[test]
fn doors_are_found_in_code_and_strings_and_not_in_comments() {
    assert_eq!(
        doors_in("let x = 1;\nnode.set_inner_html(text);"),
        [(2, "set_inner_html")]
    );
    assert_eq!(
        doors_in("Reflect::set(&node, &\"innerHTML\".into(), &text)"),
        [(1, "innerHTML")]
    );
    assert_eq!(
        doors_in("window.eval(code); x.retrieval(1)"),
        [(1, "eval(")]
    );
    assert!(
        doors_in("// innerHTML is never used\n/* nor eval( */ let my_inner_htmls = 1;").is_empty()
    );
}

fn other_sources(lock: &str) -> Vec<&str> {
    let sources = lock
        .lines()
        .filter_map(|line| line.strip_prefix("source = \"")?.strip_suffix('"'));
    sources.filter(|source| *source != REGISTRY).collect()
}

/// Line and name of each door in a source, comments left out.
fn doors_in(text: &str) -> Vec<(usize, &'static str)> {
    let code = source::without_comments(text);
    let mut found = Vec::new();
    for (line_idx, line) in code.lines().enumerate() {
        let doors = DOORS.iter().filter(|door| source::has_word(line, door));
        found.extend(doors.map(|door| (line_idx + 1, *door)));
    }
    found
}

/// Evaluates an SPDX expression; `/` is what older manifests write for `OR`.
fn is_allowed(expression: &str) -> Result<bool, String> {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &tokens[..];
    let allowed = any_of(&mut rest)?;
    if rest.is_empty() {
        Ok(allowed)
    } else {
        Err(format!(
            "could not read `{}` in `{expression}`",
            rest.join(" ")
        ))
    }
}

fn any_of(tokens: &mut &[&str]) -> Result<bool, String> {
    let mut allowed = all_of(tokens)?;
    while take(tokens, "OR") {
        // Both sides are read before they are joined.
        let other = all_of(tokens)?;
        allowed |= other;
    }
    Ok(allowed)
}

fn all_of(tokens: &mut &[&str]) -> Result<bool, String> {
    let mut allowed = one(tokens)?;
    while take(tokens, "AND") {
        let other = one(tokens)?;
        allowed &= other;
    }
    Ok(allowed)
}

fn one(tokens: &mut &[&str]) -> Result<bool, String> {
    if take(tokens, "(") {
        let allowed = any_of(tokens)?;
        return if take(tokens, ")") {
            Ok(allowed)
        } else {
            Err("a bracket is not closed".to_owned())
        };
    }
    let name = next(tokens)?;
    if take(tokens, "WITH") {
        let exception = next(tokens)?;
        return Ok(ALLOWED_LICENSES.contains(&format!("{name} WITH {exception}").as_str()));
    }
    Ok(ALLOWED_LICENSES.contains(&name))
}

fn take(tokens: &mut &[&str], word: &str) -> bool {
    let found = tokens.first() == Some(&word);
    if found {
        *tokens = &tokens[1..];
    }
    found
}

fn next<'a>(tokens: &mut &[&'a str]) -> Result<&'a str, String> {
    let (first, rest) = tokens
        .split_first()
        .ok_or("the expression ends too early")?;
    *tokens = rest;
    Ok(first)
}
