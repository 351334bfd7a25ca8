//! Files that are written by programs and not read line by line, told by their names alone.

use std::fmt;

/// Who wrote a file that is no one's prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// A package manager keeps it.
    Lock,
    /// A generator writes it.
    Generated,
    /// A minifier or bundler wrote it.
    Minified,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock => "lock file",
            Self::Generated => "generated file",
            Self::Minified => "minified file",
        })
    }
}

/// Names of package managers' files that do not end in `.lock`.
const LOCKS: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "bun.lockb",
    "go.sum",
    "go.work.sum",
    ".terraform.lock.hcl",
    "gopkg.lock",
    "packages.lock.json",
    "package.resolved",
    "gradle.lockfile",
    "module.bazel.lock",
];

/// Ends of names that generators give.
const GENERATED_ENDS: &[&str] = &[
    ".pb.go",
    "_pb2.py",
    "_pb2_grpc.py",
    ".pb.cc",
    ".pb.h",
    "_pb.js",
    "_pb.d.ts",
    ".g.dart",
    ".freezed.dart",
    ".g.cs",
    ".designer.cs",
    ".generated.ts",
    ".generated.js",
    ".generated.cs",
    ".snap",
    ".map",
];

/// Folders of which nothing is written by hand.
const GENERATED_FOLDERS: &[&str] = &["node_modules", "__generated__", "__snapshots__"];

/// What a file is by its path; `None` for one that people write.
pub fn made(path: &str) -> Option<Made> {
    let path = path.replace('\\', "/").to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or("");
    if name.ends_with(".lock") || LOCKS.contains(&name) {
        return Some(Made::Lock);
    }
    let minified = [".min.js", ".min.mjs", ".min.css", ".bundle.js"];
    if minified.iter().any(|end| name.ends_with(end)) {
        return Some(Made::Minified);
    }
    let in_folder = path
        .split('/')
        .rev()
        .skip(1)
        .any(|folder| GENERATED_FOLDERS.contains(&folder));
    (in_folder || GENERATED_ENDS.iter().any(|end| name.ends_with(end))).then_some(Made::Generated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_are_told_from_made_ones() {
        for path in [
            "src/lock.rs",
            "minify.js",
            "a/blocks.ts",
            "go.mod",
            "",
            "map",
            "generated/x.rs",
        ] {
            assert_eq!(made(path), None, "{path}");
        }
        for (path, want) in [
            ("Cargo.lock", Made::Lock),
            ("web\\package-lock.json", Made::Lock),
            ("/x/go.sum", Made::Lock),
            ("infra/.terraform.lock.hcl", Made::Lock),
            ("dist/app.min.js", Made::Minified),
            ("api/v1/user.pb.go", Made::Generated),
            ("web/node_modules/x/index.js", Made::Generated),
            ("ui/__snapshots__/a.test.ts", Made::Generated),
        ] {
            assert_eq!(made(path), Some(want), "{path}");
        }
    }
}
