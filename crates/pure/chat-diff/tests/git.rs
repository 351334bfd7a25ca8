//! What is printed is taken by the real `git apply` and `patch`, for every change and for hostile names.
//!
//! Skipped, and said so, where the tool is not installed.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use chat_diff::{Change, FileDiff, diff_bytes, diff_renamed, diff_texts};
use proptest::prelude::*;

/// `git apply` reads the patch as it is; `patch` is asked for the same result, not to guess.
const TOOLS: [(&str, &[&str]); 2] = [
    ("git", &["apply", "--whitespace=nowarn", "-"]),
    (
        "patch",
        &["-p1", "--no-backup-if-mismatch", "--fuzz=0", "--quiet"],
    ),
];

fn installed(tool: &str) -> bool {
    let found = Command::new(tool)
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: {tool} is not installed");
    }
    found
}

fn run(tool: &str, args: &[&str], dir: &Path, input: &str) -> Result<(), String> {
    let mut child = Command::new(tool)
        .args(args)
        .current_dir(dir)
        .env("GIT_CEILING_DIRECTORIES", dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .env_remove("POSIXLY_CORRECT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        Ok(())
    } else {
        let said = [output.stdout, output.stderr].concat();
        Err(format!("{tool}: {}", String::from_utf8_lossy(&said)))
    }
}

fn put(dir: &Path, path: &str, content: &[u8]) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Applies the diff with one tool to the old file and expects the new one, and nothing else, there.
fn check_with(tool: (&str, &[&str]), diff: &FileDiff, old: Option<&str>, new: Option<&str>) {
    let dir = tempfile::tempdir().unwrap();
    let old_path = diff.old_path.as_deref().unwrap_or(&diff.path);
    if let Some(old) = old {
        put(dir.path(), old_path, old.as_bytes());
    }
    if let Err(said) = run(tool.0, tool.1, dir.path(), &diff.text) {
        panic!("{said}\n{}", diff.text);
    }
    let found = fs::read(dir.path().join(&diff.path)).ok();
    assert_eq!(
        found.as_deref().map(String::from_utf8_lossy).as_deref(),
        new,
        "{}\n{}",
        tool.0,
        diff.text
    );
    if diff.change == Change::Renamed {
        assert!(!dir.path().join(old_path).exists(), "{}", diff.text);
    }
}

fn check(path: &str, old: Option<&str>, new: Option<&str>) {
    for tool in TOOLS.into_iter().filter(|(tool, _)| installed(tool)) {
        check_with(tool, &diff_texts(path, old, new), old, new);
    }
}

#[test]
fn every_change_is_taken() {
    check("a.txt", None, Some("one\ntwo\n"));
    check("a.txt", None, Some("one\ntwo"));
    check("a.txt", None, Some("\n"));
    check("a.txt", Some("one\ntwo\n"), None);
    check("a.txt", Some("one\ntwo"), None);
    check("a.txt", Some("one\n"), Some("one\ntwo\n"));
    check("a.txt", Some("one"), Some("one\n"));
    check("a.txt", Some("one\n"), Some("one"));
    check("a.txt", Some("one"), Some("two"));
    check("a.txt", Some("a\nb"), Some("x\na\nb"));
    check(
        "deep/er/a.txt",
        Some("one\r\ntwo\r\n"),
        Some("one\r\n2\r\n"),
    );
    check("a.txt", Some("one\r\n"), Some("one\n"));
    check("a.txt", Some("a\rb\n"), Some("a\rc\n"));
    check(
        "a.txt",
        Some("-- a/x\n++ b/x\n"),
        Some("--- a/x\n+++ b/x\n@@ -1 +1 @@\ndiff --git a/x b/x\n"),
    );
}

#[test]
fn a_file_that_was_empty_or_becomes_empty_stays_a_file() {
    check("a.txt", Some(""), Some("one\n"));
    check("a.txt", Some(""), Some("one"));
    check("a.txt", Some("one\ntwo\n"), Some(""));
    check("a.txt", Some("one"), Some(""));
    assert_eq!(
        diff_texts("a", Some(""), Some("one\n")).change,
        Change::Modified
    );
    assert_eq!(
        diff_texts("a", Some("one\n"), Some("")).change,
        Change::Modified
    );
}

#[test]
fn empty_files_come_and_go() {
    check("a.txt", None, Some(""));
    check("a b.txt", None, Some(""));
    // patch cannot remove an empty file: it takes the diff for one that is applied already.
    for name in ["a.txt", "a b", "a\"b.txt"] {
        if installed("git") {
            check_with(TOOLS[0], &diff_texts(name, Some(""), None), Some(""), None);
        }
    }
}

#[test]
fn far_apart_changes_are_hunks_of_their_own() {
    let old: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let new = old
        .replace("line 0\n", "")
        .replace("line 7\n", "L7\n")
        .replace("line 50\n", "50\n50\n")
        + "end";
    check("a.txt", Some(&old), Some(&new));
    assert_eq!(
        diff_texts("a.txt", Some(&old), Some(&new))
            .text
            .matches("\n@@ ")
            .count(),
        3
    );
}

#[test]
fn hostile_names_are_taken() {
    let names = [
        "with space.txt",
        " lead and trail ",
        "d ir/a b",
        "quo\"te",
        "back\\slash",
        "tab\there",
        "new\nline",
        "cr\rhere",
        "bell\u{7}esc\u{1b}[31m",
        "été ☃.txt",
        "space é \"q\"",
        "a => b",
        "+++ b",
        "--- a",
        "x b/x b",
        "<img src=x onerror=alert(1)>",
        "\u{202e}txt.exe",
        "a/a",
        "b/b",
        "-p0",
    ];
    for name in names {
        check(name, Some("x\n"), Some("y\n"));
        check(name, None, Some("y\n"));
        check(name, Some("x\n"), None);
    }
}

#[test]
fn renames_are_taken() {
    for tool in TOOLS.into_iter().filter(|(tool, _)| installed(tool)) {
        for (from, to) in [
            ("a", "b"),
            ("a b", "c d"),
            ("q\"", "d/é"),
            ("x y", "x z/w"),
            ("a/b", "b"),
        ] {
            for (old, new) in [("1\n2\n", "1\n2\n"), ("1\n2\n3", "1\nzwei\n3"), ("", "")] {
                let diff = diff_renamed(from, to, old.as_bytes(), new.as_bytes());
                assert_eq!(diff.change, Change::Renamed);
                check_with(tool, &diff, Some(old), Some(new));
            }
        }
    }
}

#[test]
fn absolute_paths_apply_below_a_root() {
    let diff = diff_texts("/srv/app/a.txt", Some("x\n"), Some("y\n"));
    assert_eq!(diff.path, "/srv/app/a.txt");
    assert!(
        diff.text
            .contains("--- a/srv/app/a.txt\n+++ b/srv/app/a.txt\n"),
        "{}",
        diff.text
    );
    if installed("git") {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "srv/app/a.txt", b"x\n");
        run("git", TOOLS[0].1, dir.path(), &diff.text).unwrap();
        assert_eq!(fs::read(dir.path().join("srv/app/a.txt")).unwrap(), b"y\n");
    }
}

#[test]
fn binary_files_are_named_as_git_names_them() {
    let check = |old: Option<&[u8]>, new: Option<&[u8]>, want: &str| {
        let diff = diff_bytes("x", old, new);
        assert!(diff.binary);
        assert_eq!(diff.text.lines().last(), Some(want));
        assert_eq!((diff.lines_added, diff.lines_removed), (0, 0));
    };
    check(
        Some(b"\0"),
        Some(b"text"),
        "Binary files a/x and b/x differ",
    );
    check(
        Some(b"text"),
        Some(b"\xff"),
        "Binary files a/x and b/x differ",
    );
    check(None, Some(b"\xff"), "Binary files /dev/null and b/x differ");
    check(Some(b"\xff"), None, "Binary files a/x and /dev/null differ");
    assert_eq!(diff_bytes("x", Some(b"\xff"), Some(b"\xff")).text, "");
}

#[test]
fn the_diff_of_a_small_edit_is_the_one_git_prints() {
    let (old, new) = (
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        "1\n2\n3\n4\nfive\n6\n7\n8\n9",
    );
    let want = "diff --git a/x y b/x y\n--- a/x y\t\n+++ b/x y\t\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n\\ No newline at end of file\n";
    assert_eq!(diff_texts("x y", Some(old), Some(new)).text, want);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_texts_are_taken(
        old in prop::collection::vec("[ab]?[^\u{0}\n]{0,2}", 0..30),
        edits in prop::collection::vec((0..30_usize, "[^\u{0}]{0,4}"), 0..5),
        name in "[^\u{0}/.][^\u{0}/]{0,8}",
    ) {
        let mut lines = old.clone();
        for (at, edit) in edits {
            let at = at.min(lines.len());
            lines.insert(at, edit);
        }
        let (old, new) = (old.join("\n"), lines.join("\n"));
        if installed("git") && old != new {
            check_with(TOOLS[0], &diff_texts(&name, Some(&old), Some(&new)), Some(&old), Some(&new));
        }
    }
}
