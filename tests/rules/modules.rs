//! Holds the modules of the page to their table: which may use which, and that only `platform` names the browser.
//! Packages are held by `architecture`. It holds their tests to be part of a program, too: cargo does not look for them.

use std::path::Path;

use super::source;

/// Each module of `src/` and the others it may use. `main` and `lib` only bring them together, and may use all.
const TABLE: &[(&str, &[&str])] = &[
    ("platform", &[]),
    ("transport", &["platform"]),
    ("virtual_list", &["platform"]),
    ("feed_store", &[]),
    ("components", &["feed_store", "virtual_list", "platform"]),
    (
        "element",
        &["components", "feed_store", "transport", "platform"],
    ),
    ("app", &["element", "transport", "platform"]),
];

const ROOTS: &[&str] = &["main", "lib"];

/// Outside packages that not every module may name. What Leptos passes on under its own name (`leptos::ev`,
/// `leptos::web_sys`) is Leptos.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("web_sys", &["platform"]),
    ("js_sys", &["platform"]),
    // A component cannot open a socket.
    ("gloo_net", &["platform", "transport"]),
];

#[test]
fn modules_use_only_what_the_table_allows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = source::files_below(&folder, &["rs"]);
    assert!(!files.is_empty(), "the page has sources");
    let mut breaches = Vec::new();
    for file in files {
        let below_src = file
            .strip_prefix(&folder)
            .expect("the file is below src")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&file).expect("a source can be read");
        breaches.extend(breaches_in(&below_src.replace('\\', "/"), &text));
    }
    assert_eq!(breaches, Vec::<String>::new());
}

#[test]
fn a_breach_is_named_however_it_is_written() {
    let one = |file: &str, text: &str| breaches_in(file, text).join("; ");
    let socket = "src/components/tool.rs: components may not use transport";
    assert_eq!(
        one("components/tool.rs", "use crate::transport::live;"),
        socket
    );
    assert_eq!(
        one(
            "components/tool.rs",
            "use crate::{feed_store, transport::{self, live}};"
        ),
        socket
    );
    assert_eq!(
        one("components/tool.rs", "fn f() { crate::transport::open(); }"),
        socket
    );
    assert_eq!(
        one("components/tool.rs", "pub(in crate::transport) fn f() {}"),
        socket
    );
    assert_eq!(
        one("components/tool.rs", "use super::super::transport;"),
        socket
    );
    assert_eq!(
        one("components.rs", "use super::transport;"),
        socket.replace("components/tool", "components")
    );
    assert_eq!(
        one("app.rs", "use ::web_sys::Window;"),
        "src/app.rs: only platform may name web_sys, here `web_sys::Window`"
    );
    assert_eq!(
        one(
            "components/tool.rs",
            "fn f() { gloo_net::http::Request::get(url) }"
        ),
        "src/components/tool.rs: only platform and transport may name gloo_net, here `gloo_net::http::Request::get`"
    );
    assert_eq!(
        one("drawing.rs", ""),
        "src/drawing.rs: module drawing is not in the table"
    );
}

#[test]
fn what_is_allowed_is_no_breach() {
    for (file, text) in [
        ("main.rs", "use agent_feed::app; use crate::transport;"),
        ("platform/clock.rs", "use web_sys::Performance;"),
        (
            "transport/live.rs",
            "use crate::platform::Socket; use super::transport_of;",
        ),
        (
            "components/tool.rs",
            "// crate::transport\nconst WHY: &str = \"crate::transport web_sys::X\"; let c = '\"';",
        ),
        (
            "components/tool.rs",
            "use leptos::{ev, web_sys::Event}; use crate::components::row; use super::transport;",
        ),
        (
            "element.rs",
            "use crate::{components::{Feed, Row}, transport}; self.web_sys.app();",
        ),
    ] {
        assert_eq!(
            breaches_in(file, text),
            Vec::<String>::new(),
            "{file}: {text}"
        );
    }
}

/// Breaches in one file, named by its path below `src`.
fn breaches_in(below_src: &str, text: &str) -> Vec<String> {
    let segments: Vec<&str> = below_src
        .trim_end_matches(".rs")
        .trim_end_matches("/mod")
        .split('/')
        .collect();
    let module = segments[0];
    if segments.len() == 1 && ROOTS.contains(&module) {
        return Vec::new();
    }
    let Some((_, may_use)) = TABLE.iter().find(|(name, _)| *name == module) else {
        return vec![format!(
            "src/{below_src}: module {module} is not in the table"
        )];
    };
    let paths = source::paths(text);
    let used = paths
        .iter()
        .filter_map(|path| module_named_by(path, segments.len()));
    let forbidden = used.filter(|used| *used != module && !may_use.contains(used));
    let mut breaches: Vec<String> = forbidden
        .map(|used| format!("src/{below_src}: {module} may not use {used}"))
        .collect();
    for path in &paths {
        let outside = OUTSIDE.iter().find(|(package, _)| *package == path[0]);
        if let Some((package, may_name)) = outside.filter(|(_, modules)| !modules.contains(&module))
        {
            let named = path.join("::");
            let may_name = may_name.join(" and ");
            breaches.push(format!(
                "src/{below_src}: only {may_name} may name {package}, here `{named}`"
            ));
        }
    }
    breaches.dedup();
    breaches
}

/// The module of the table that a path leads to, from a file so many folders deep.
fn module_named_by(path: &[String], depth: usize) -> Option<&'static str> {
    let n_supers = path
        .iter()
        .take_while(|segment| *segment == "super")
        .count();
    let name = match path[0].as_str() {
        "crate" => path.get(1)?,
        // An inline module, as tests are, stands one deeper; what it reaches so lies in its own module.
        "super" if n_supers >= depth => path.get(n_supers)?,
        _ => return None,
    };
    TABLE
        .iter()
        .map(|(module, _)| *module)
        .find(|module| module == name)
}

/// The tests of a package are modules of one program, and what no `mod` names is neither compiled nor missed.
#[test]
fn each_file_of_a_package_s_tests_is_part_of_a_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files: Vec<_> = ["crates", "tests"]
        .iter()
        .flat_map(|folder| source::files_below(&root.join(folder), &["rs"]))
        .filter(|file| file.components().any(|part| part.as_os_str() == "tests"))
        .collect();
    assert!(files.len() > 100, "{}", files.len());
    let texts: Vec<(&Path, String)> = files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).expect("a test can be read");
            (file.as_path(), source::without_comments(&text))
        })
        .collect();
    let lost: Vec<_> = files
        .iter()
        .filter(|file| !is_compiled(file, &texts))
        .collect();
    assert_eq!(lost, Vec::<&std::path::PathBuf>::new());
}

/// Whether cargo takes this file for a program, or another file names it.
fn is_compiled(file: &Path, texts: &[(&Path, String)]) -> bool {
    let (Some(stem), Some(folder)) = (file.file_stem(), file.parent()) else {
        return false;
    };
    let is_program = stem == "main"
        // Cargo finds each file of the folder, but where there is a program of them all.
        || folder.ends_with("tests") && !folder.join("main.rs").is_file();
    let by_path = format!("/{}.rs\"]", stem.to_string_lossy());
    // `support/mod.rs` is named as `support` is.
    let (stem, folder) = match (stem == "mod", folder.file_name(), folder.parent()) {
        (true, Some(name), Some(above)) => (name, above),
        _ => (stem, folder),
    };
    let parents = [
        folder.join("main.rs"),
        folder.join("mod.rs"),
        folder.with_extension("rs"),
    ];
    let named = format!("mod {};", stem.to_string_lossy());
    is_program
        || texts.iter().any(|(path, text)| {
            let is_parent = parents.iter().any(|parent| parent == path);
            is_parent && source::has_word(text, &named) || text.contains(&by_path)
        })
}

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join(path)).expect("it is there")
}

/// The attributes that the element lists.
fn attributes(element: &str) -> Vec<&str> {
    let (_, list) = element
        .split_once("const ATTRIBUTES: &[&str] = &[")
        .expect("the element lists its attributes");
    let (list, _) = list.split_once("];").expect("the list ends");
    let names: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(names.len() > 20, "{names:?}");
    names
}

/// The words in backticks in the first column of the table that has this head.
fn told_in<'a>(readme: &'a str, head: &str) -> Vec<&'a str> {
    let (_, table) = readme.split_once(head).expect("the table is there");
    let rows = table
        .lines()
        .skip(2)
        .map_while(|row| row.strip_prefix("| "));
    let told: Vec<&str> = rows
        .filter_map(|row| row.split(" | ").next())
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(told.len() > 5, "{told:?}");
    told
}

#[test]
fn the_readme_tells_what_each_attribute_of_the_element_is_for() {
    let (element, readme) = (read("src/element.rs"), read("README.md"));
    let told = told_in(&readme, "| attribute | |");
    let untold: Vec<_> = attributes(&element)
        .into_iter()
        .filter(|name| !told.contains(name))
        .collect();
    assert_eq!(untold, Vec::<&str>::new());
}

#[test]
fn the_types_of_the_element_are_those_of_its_class_and_of_the_readme() {
    let (element, class) = (read("src/element.rs"), read("src/element.js"));
    let (types, readme) = (read("src/element.d.ts"), read("README.md"));
    let block = |head: &str| {
        let (_, block) = types.split_once(head).expect("it is there");
        block.split_once("\n}").expect("it ends").0
    };
    let name_of = |line: &str| {
        let line = line.strip_prefix("  ")?;
        let line = line
            .trim_start_matches("readonly ")
            .trim_start_matches("set ");
        let end = line.find(|char: char| !char.is_ascii_alphanumeric())?;
        (end > 0 && line[end..].starts_with(['(', ':', '?'])).then(|| line[..end].to_owned())
    };
    let typed: Vec<String> = block("interface AgentFeed extends HTMLElement {")
        .lines()
        .filter_map(name_of)
        .collect();
    let mut properties: Vec<String> = Vec::new();
    for attribute in attributes(&element) {
        let mut words = attribute.split('-');
        let mut name = words.next().unwrap_or_default().to_owned();
        for word in words {
            name.push_str(&word[..1].to_ascii_uppercase());
            name.push_str(&word[1..]);
        }
        assert!(typed.contains(&name), "{name} has no type");
        properties.push(name);
    }
    for name in &typed {
        let is_there = properties.contains(name)
            || [" get ", " set ", "    ", " async "]
                .iter()
                .any(|before| class.contains(&format!("{before}{name}(")));
        assert!(
            is_there || name == "addEventListener",
            "{name} is not in the class"
        );
    }
    for told in told_in(&readme, "| member | |") {
        let name = told.split(['(', '.']).next().unwrap_or_default();
        assert!(
            typed.iter().any(|typed| typed == name),
            "{name} has no type"
        );
    }
    let events: Vec<&str> = block("interface AgentFeedEventMap extends HTMLElementEventMap {")
        .split('"')
        .filter(|name| name.starts_with("af-"))
        .collect();
    let told = told_in(&readme, "| event | |");
    for name in told.iter().filter(|name| name.starts_with("af-")) {
        assert!(events.contains(name), "{name} has no type");
    }
    for name in events {
        assert!(told.contains(&name), "{name} is not told");
    }
}
