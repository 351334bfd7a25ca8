//! Languages by what people call them and by names of files, as the grammars call them.

/// Grammar, then the words after a fence and the ends of file names that mean it.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("bash", &["sh", "zsh", "shell", "console", "ksh", "fish"]),
    ("c", &["h"]),
    ("clojure", &["clj", "cljs", "cljc", "edn"]),
    ("cmake", &[]),
    ("cpp", &["c++", "cc", "cxx", "hpp", "hh", "hxx", "cu"]),
    ("csharp", &["cs", "c#"]),
    ("css", &[]),
    ("dart", &[]),
    ("diff", &["patch"]),
    ("dockerfile", &["docker", "containerfile"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("go", &["golang"]),
    ("graphql", &["gql"]),
    ("haskell", &["hs"]),
    (
        "ini",
        &[
            "toml",
            "cfg",
            "conf",
            "properties",
            "editorconfig",
            "service",
        ],
    ),
    ("java", &[]),
    ("javascript", &["js", "jsx", "mjs", "cjs"]),
    (
        "json",
        &["jsonc", "json5", "jsonl", "ndjson", "webmanifest"],
    ),
    ("julia", &["jl"]),
    ("kotlin", &["kt", "kts"]),
    ("less", &[]),
    ("lua", &[]),
    ("makefile", &["make", "mk"]),
    ("markdown", &["md", "mdx", "mkd"]),
    ("nix", &[]),
    ("objectivec", &["objc", "obj-c", "mm", "m"]),
    ("ocaml", &["ml", "mli"]),
    ("perl", &["pl", "pm"]),
    ("php", &[]),
    ("powershell", &["ps1", "psm1", "pwsh"]),
    ("protobuf", &["proto"]),
    ("python", &["py", "pyi", "python3", "bzl", "starlark"]),
    ("r", &[]),
    ("ruby", &["rb", "rake", "gemspec"]),
    ("rust", &["rs"]),
    ("scala", &["sc", "sbt"]),
    ("scss", &["sass"]),
    ("sql", &["psql", "postgresql", "mysql", "sqlite"]),
    ("swift", &[]),
    ("typescript", &["ts", "tsx", "mts", "cts"]),
    ("vim", &["viml"]),
    (
        "xml",
        &[
            "html", "htm", "xhtml", "svg", "vue", "svelte", "astro", "xsd", "plist",
        ],
    ),
    ("yaml", &["yml"]),
];

/// Whole names of files.
const FILES: &[(&str, &str)] = &[
    ("dockerfile", "dockerfile"),
    ("containerfile", "dockerfile"),
    ("makefile", "makefile"),
    ("gnumakefile", "makefile"),
    ("justfile", "makefile"),
    ("cmakelists.txt", "cmake"),
    ("gemfile", "ruby"),
    ("rakefile", "ruby"),
    ("cargo.lock", "ini"),
    ("build.bazel", "python"),
    (".bashrc", "bash"),
    (".zshrc", "bash"),
    (".gitconfig", "ini"),
    (".prettierrc", "json"),
];

/// The grammar of a language by one of its names: what stands behind a fence.
pub fn language_named(name: &str) -> Option<&'static str> {
    // Behind a fence more may follow: `rust,ignore`, `js {1,3}`.
    let end = name.find(|c: char| c == ',' || c == '{' || c.is_whitespace());
    let name = name[..end.unwrap_or(name.len())].to_ascii_lowercase();
    let found = LANGUAGES
        .iter()
        .find(|(grammar, names)| *grammar == name || names.contains(&name.as_str()));
    found.map(|(grammar, _)| *grammar)
}

/// The grammar of a file.
pub(crate) fn language_of_path(path: &str) -> Option<&'static str> {
    let name = path
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or("")
        .to_ascii_lowercase();
    if let Some((_, grammar)) = FILES.iter().find(|(file, _)| *file == name) {
        return Some(grammar);
    }
    let (_, end) = name.rsplit_once('.')?;
    language_named(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_known_by_names_and_files() {
        assert_eq!(language_named("Rust,ignore"), Some("rust"));
        assert_eq!(language_named("tsx"), Some("typescript"));
        assert_eq!(language_named("klingon"), None);
        assert_eq!(language_named(""), None);
        for (path, want) in [
            ("src/main.rs", Some("rust")),
            ("a\\B.TSX", Some("typescript")),
            ("x/Dockerfile", Some("dockerfile")),
            ("README", None),
            ("a.b/c", None),
            ("index.html", Some("xml")),
        ] {
            assert_eq!(language_of_path(path), want, "{path}");
        }
    }

    #[test]
    fn no_name_means_two_languages() {
        let mut names: Vec<&str> = LANGUAGES
            .iter()
            .flat_map(|(grammar, names)| names.iter().chain([grammar]))
            .copied()
            .collect();
        let n_names = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n_names);
    }
}
