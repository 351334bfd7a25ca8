//! Diffs of real tools, and broken ones, read as they should be shown.
//!
//! The corpora lie beside the checkout (`TURNREEL_SHARED`, else `../shared`); without them the tests are skipped and
//! say so.

use std::fs;
use std::path::{Path, PathBuf};

use chat_diff::{LineKind, Patch, apply, parse};

fn corpus(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared")),
        PathBuf::from,
    );
    let dir = shared.join("corpora").join(name);
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no corpus {name}");
    None
}

fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "diff")
        })
        .map(|path| {
            (
                path.file_stem().unwrap().to_string_lossy().into_owned(),
                fs::read(&path).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

/// One line a file: what happened, names, hunks (`?` not placed, `!` not complete), lines.
fn summary(patch: &Patch) -> String {
    let mut lines = Vec::new();
    for file in &patch.files {
        let mut line = format!(
            "{} {:?} {:?}",
            file.change.as_str(),
            file.old_path.as_deref().unwrap_or("-"),
            file.new_path.as_deref().unwrap_or("-")
        );
        for hunk in &file.hunks {
            let mark = if !hunk.placed {
                "?"
            } else if !hunk.complete {
                "!"
            } else {
                ""
            };
            line += &format!(
                " -{},{} +{},{}{mark}",
                hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines
            );
        }
        if file.binary {
            line += " binary";
        }
        if file.combined {
            line += " combined";
        }
        lines.push(line);
    }
    lines.join("\n")
}

fn counts(patch: &Patch) -> Vec<(u32, u32)> {
    patch
        .files
        .iter()
        .map(|file| (file.lines_added(), file.lines_removed()))
        .collect()
}

type Expected = (&'static str, &'static [&'static str]);

/// Every file of the corpus is read, and those in the table as it says.
fn check(corpus_name: &str, expected: &[Expected]) {
    let Some(dir) = corpus(corpus_name) else {
        return;
    };
    let files = files(&dir);
    for (name, want) in expected {
        assert!(
            files.iter().any(|(found, _)| found == name),
            "{corpus_name} has lost {name}"
        );
        let text = files
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, bytes)| String::from_utf8_lossy(bytes))
            .unwrap();
        assert_eq!(summary(&parse(&text)), want.join("\n"), "{name}");
    }
    for (name, bytes) in &files {
        let text = String::from_utf8_lossy(bytes);
        let patch = parse(&text);
        // What is printed has the same lines, and printing it again changes nothing.
        let printed = patch.print(&text);
        let again = parse(&printed);
        assert_eq!(counts(&again), counts(&patch), "{name}\n{printed}");
        assert_eq!(again.print(&printed), printed, "{name}");
        // Cut off anywhere, it is still read.
        for end in (0..text.len().min(4_000)).filter(|end| text.is_char_boundary(*end)) {
            assert!(
                parse(&text[..end]).files.len() <= patch.files.len(),
                "{name} cut at {end}"
            );
        }
    }
}

#[test]
fn diffs_of_git_are_read_whole_and_broken() {
    check("own/git-diffs", GIT_DIFFS);
}

#[test]
fn diffs_of_other_tools_are_read() {
    check("unidiff-samples", OTHER_DIFFS);
}

#[test]
fn two_hundred_hunks_keep_their_numbers() {
    let Some(dir) = corpus("own/git-diffs") else {
        return;
    };
    let text = fs::read_to_string(dir.join("many-hunks.diff")).unwrap();
    let patch = parse(&text);
    let hunks = &patch.files[0].hunks;
    assert_eq!(hunks.len(), 200);
    for (at, hunk) in hunks.iter().enumerate() {
        assert!(hunk.complete);
        let removed = hunk
            .lines
            .iter()
            .find(|line| line.kind == LineKind::Removed)
            .unwrap();
        assert_eq!(removed.old_no, Some(20 * at as u32 + 1));
        assert_eq!(&text[removed.range.clone()], format!("{}", 20 * at));
    }
    let old: String = (0..4_000).map(|n| format!("{n}\n")).collect();
    let new: String = (0..4_000)
        .map(|n| {
            if n % 20 == 0 {
                "X\n".to_owned()
            } else {
                format!("{n}\n")
            }
        })
        .collect();
    assert_eq!(apply(&text, &old), Ok(new));
}

/// Read once by eye against the files.
#[rustfmt::skip]
const GIT_DIFFS: &[Expected] = &[
    ("binary", &[r#"modified "i.bin" "i.bin" binary"#]),
    ("binary-patch", &[r#"modified "i.bin" "i.bin" binary"#]),
    ("body-ansi", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("body-bidi", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("body-html", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("body-invalid-utf8", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("body-like-header", &[r#"modified "a" "a" -1,3 +1,4"#]),
    ("body-nul", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("body-u2028", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("broken-bad-counts", &[r#"modified "a.txt" "a.txt" -5,7 +5,7!"#]),
    ("broken-created-no-hunk", &[r#"created "-" "x" -0,0 +1,2"#]),
    ("broken-crlf-diff", &[r#"modified "a.txt" "a.txt" -5,7 +5,7"#]),
    ("broken-cut-mid-header", &[r#"modified "a.txt" "a.txt""#]),
    ("broken-cut-mid-hunk", &[r#"modified "a.txt" "a.txt" -5,2 +5,2!"#]),
    ("broken-difflib-joined-headers", &[]),
    ("broken-difflib-lineterm-bug", &[r#"modified "x" "x" -1,2 +1,2"#]),
    ("broken-huge-counts", &[r#"modified "a.txt" "a.txt" -5,7 +5,7!"#]),
    ("broken-neg-counts", &[r#"modified "a.txt" "a.txt" -0,7 +0,7?"#]),
    ("broken-no-header", &[r#"modified "-" "-" -1,1 +1,1"#]),
    ("broken-only-prose", &[]),
    ("broken-seed-truncation", &[r#"modified "a.txt" "a.txt" -5,7 +5,7"#]),
    ("combined-cc", &[r#"modified "c" "c" -1,3 +1,3! combined"#]),
    ("cr-inside", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("create", &[r#"created "-" "new.txt" -0,0 +1,2"#]),
    ("crlf-to-lf", &[r#"modified "a" "a" -1,2 +1,2"#]),
    ("delete", &[r#"deleted "old.txt" "-" -1,2 +0,0"#]),
    ("empty-create", &[r#"created "-" "e""#]),
    ("form-feed", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("function-context", &[r#"modified "a.c" "a.c" -20,7 +20,7"#]),
    ("long-line", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("mnemonic-prefix", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("mode-change", &[r#"modified "m.sh" "m.sh""#]),
    ("name-html", &[r#"modified "<img src=x onerror=window.__pwned=1>" "<img src=x onerror=window.__pwned=1>" -1,1 +1,1"#]),
    ("name-like-header", &[r#"modified "+++ b" "+++ b" -1,1 +1,1"#, r#"modified "--- a" "--- a" -1,1 +1,1"#]),
    ("name-with-arrow", &[r#"modified "a => b" "a => b" -1,1 +1,1"#]),
    ("no-newline-added", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("no-newline-both", &[r#"modified "a" "a" -1,2 +1,2"#]),
    ("no-prefix", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("quoted-name", &[r#"modified "a\"b\\c\td\n.txt" "a\"b\\c\td\n.txt" -1,1 +1,1"#]),
    ("rename", &[r#"renamed "a.txt" "b/c.txt""#]),
    ("rename-edit", &[r#"renamed "a.txt" "b.txt" -1,7 +1,7"#]),
    ("simple", &[r#"modified "a.txt" "a.txt" -5,7 +5,7"#]),
    ("symlink", &[r#"modified "ln" "ln" -1,1 +1,1"#]),
    ("tabs-trailing-ws", &[r#"modified "a" "a" -1,1 +1,1"#]),
    ("utf8-name", &[r#"modified "été ☃.txt" "été ☃.txt" -1,1 +1,1"#]),
    ("whole-file", &[r#"modified "a" "a" -1,40 +1,60"#]),
    ("word-diff-porcelain", &[r#"modified "a" "a" -1,3 +1,3!"#]),
    ("zero-context", &[r#"modified "a" "a" -10,1 +9,0"#]),
];

#[rustfmt::skip]
const OTHER_DIFFS: &[Expected] = &[
    ("binary", &[r#"created "-" "1x1.png" binary"#]),
    ("bzr", &[r#"created "-" "added_file" -0,0 +1,4"#, r#"modified "modified_file" "modified_file" -1,5 +1,7"#, r#"deleted "removed_file" "-" -1,3 +0,0"#]),
    ("debdiff", &[r#"created "-" "new/added.txt" -0,0 +1,1"#, r#"modified "Binary files /t/p1/a.png" "/t/p2/a.png" binary"#, r#"modified "Binary files /t/p1/b.png" "/t/p2/b.png" binary"#]),
    ("git", &[r#"created "-" "added_file" -0,0 +1,4"#, r#"modified "modified_file" "modified_file" -1,5 +1,7"#, r#"deleted "removed_file" "-" -1,3 +0,0"#]),
    ("git_cr", &[r#"created "-" "src/test/org/apache/commons/math/util/ExpandableDoubleArrayTest.java" -0,0 +1,3"#]),
    ("git_delete", &[r#"deleted "somefile.c" "-" -1,10 +0,0"#]),
    ("git_filenames_with_spaces", &[r#"created "-" "has spaces/t.sql" -0,0 +1,1"#]),
    ("git_filenames_with_spaces_prefix", &[r#"created "-" "dst://foo bar/baz" -0,0 +1,1"#]),
    ("git_no_prefix", &[r#"deleted "file1" "-" -1,3 +0,0"#, r#"modified "file2" "file2" -4,0 +5,3 -15,0 +19,3"#, r#"created "-" "file3" -0,0 +1,3"#]),
    ("git_quoted_filename", &[r#"created "-" "A â B.py" -0,0 +1,1"#]),
    ("git_quoted_filename_with_spaces", &[r#"modified "docs/develop/Bug 排查.md" "docs/develop/Bug 排查.md" -1,1 +1,1"#]),
    ("git_rename", &[r#"renamed "added" "moved" -9,4 +9,4"#, r#"renamed "oldfile" "newfile" -9,4 +9,4"#, r#"renamed "onefile" "otherfile""#]),
    ("git_submodule", &[r#"created "-" "tests/diffs/submodule" -0,0 +1,1"#]),
    ("git_symlink", &[r#"created "-" "bin/check" -0,0 +1,1"#]),
    ("hg", &[r#"created "-" "added_file" -0,0 +1,4"#, r#"modified "modified_file" "modified_file" -1,5 +1,7"#, r#"deleted "removed_file" "-" -1,3 +0,0"#]),
    ("quilt", &[r#"created "-" "include/fts64.h" -0,0 +1,3"#, r#"created "-" "io/fts64.c" -0,0 +1,2"#, r#"modified "io/Makefile" "io/Makefile" -1,3 +1,4"#]),
    ("sample0", &[r#"modified "/path/to/original" "/path/to/new" -1,3 +1,9 -5,16 +11,10 -22,3 +22,7"#, r#"created "-" "/path/to/another_new" -0,0 +1,9"#, r#"deleted "/path/to/existing" "-" -1,9 +0,0"#]),
    ("sample1", &[r#"modified "/path/to/original" "/path/to/new" -1,3 +1,9 -5,16 +11,10! -22,3 +22,7"#]),
    ("sample2", &[r#"modified "content/base/src/nsContentUtils.cpp" "content/base/src/nsContentUtils.cpp" -6369,17 +6369,17"#, r#"modified "js/src/jsfriendapi.cpp" "js/src/jsfriendapi.cpp" -527,15 +527,23!"#]),
    ("sample3", &[r#"created "-" "added_file" -0,0 +1,4"#, r#"modified "modified_file" "modified_file" -1,5 +1,7"#, r#"deleted "removed_file" "-" -1,3 +0,0"#]),
    ("sample4", &[r#"created "-" "added_file" -0,0 +1,4"#, r#"modified "modified_file" "modified_file" -1,5 +1,7"#, r#"deleted "removed_file" "-" -1,3 +0,0"#]),
    ("sample5", &[r#"modified "modified_file1" "modified_file1" -1,5 +1,7"#, r#"modified "modified_file2" "modified_file2" -1,5 +1,7"#]),
    ("sample6", &[r#"modified "/path/to/original" "/path/to/new" -1,3 +1,9 -5,19 +11,17!"#]),
    ("sample7", &[r#"modified "/path/to/original" "/path/to/new" -1,3 +1,9 -5,14 +11,10!"#]),
    ("sample8", &[r#"created "-" "boo.bin""#, r#"created "-" "foo.bin" binary"#, r#"modified "bar.bin" "bar.bin" binary"#, r#"deleted "baz.bin" "-" binary"#, r#"created "-" "fuz.bin""#]),
    ("svn", &[r#"modified "modified_file" "modified_file" -1,5 +1,7"#, r#"modified "removed_file" "removed_file" -1,3 +0,0"#, r#"modified "added_file" "added_file" -0,0 +1,4"#]),
];
