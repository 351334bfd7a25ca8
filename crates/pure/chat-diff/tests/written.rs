//! Diffs as agents, editors and mailers write or spoil them: with wrong counts, lost spaces and without names.

use chat_diff::{Change, LineKind, Patch, compose, parse};

/// By file its change and its path, and its lines with their signs.
fn told(text: &str) -> Vec<(Change, String, Vec<String>)> {
    let patch: Patch = parse(text);
    let files = patch.files.iter().map(|file| {
        let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
        let lines = lines.map(|line| format!("{}{}", line.kind.sign(), &text[line.range.clone()]));
        (file.change, file.path().to_owned(), lines.collect())
    });
    files.collect()
}

fn check(text: &str, want: &[(Change, &str, &[&str])]) {
    let want: Vec<_> = want
        .iter()
        .map(|(change, path, lines)| {
            let lines = lines.iter().map(|line| (*line).to_owned()).collect();
            (*change, (*path).to_owned(), lines)
        })
        .collect();
    assert_eq!(told(text), want, "{text}");
}

#[test]
fn pieces_that_say_nothing_of_their_place_are_hunks() {
    let text = "@@\n-a\n+b\n@@ fn x\n c\n+d\n";
    check(text, &[(Change::Modified, "", &["-a", "+b", " c", "+d"])]);
    let patch = parse(text);
    let hunks = &patch.files[0].hunks;
    assert!(hunks.iter().all(|hunk| !hunk.placed));
    assert_eq!(hunks[1].section, "fn x");
    // The place may be named by several lines.
    check(
        "@@ class A\n@@ def f\n-a\n+b\n",
        &[(Change::Modified, "", &["-a", "+b"])],
    );
    // In other text such a line is none.
    check("He wrote:\n@@\n-a\n+b\n", &[]);
    check("@@ -1\n", &[]);
    check("@@media\nbody\n", &[]);
    check("@@ a\n@@ b\n", &[]);
}

#[test]
fn two_empty_lines_do_not_end_a_hunk_without_counts() {
    let text = "--- a/x.py\n+++ b/x.py\n@@ ... @@\n def f():\n-    pass\n+    return 1\n\n\n def g():\n\nDone.\n";
    let lines = [
        " def f():",
        "-    pass",
        "+    return 1",
        " ",
        " ",
        " def g():",
    ];
    check(text, &[(Change::Modified, "x.py", &lines)]);
}

#[test]
fn a_hunk_with_more_lines_than_it_says_keeps_all() {
    let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c\n\n d\n+e\n";
    check(
        text,
        &[(Change::Modified, "x", &["-a", "+b", " c", " ", " d", "+e"])],
    );
    // One that has what it says ends there: what follows is prose.
    let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\n- a point\n";
    check(text, &[(Change::Modified, "x", &["-a", "+b"])]);
}

#[test]
fn a_hunk_with_fewer_lines_than_it_says_leaves_the_next_file_alone() {
    let second = "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    let text = format!("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n c\n-a\n+b\n{second}");
    check(
        &text,
        &[
            (Change::Modified, "x", &[" c", "-a", "+b"]),
            (Change::Modified, "y", &["-a", "+b"]),
        ],
    );
    // Where the count is right, lines that look like names are content.
    let text = format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n c\n{second}");
    check(
        &text,
        &[(
            Change::Modified,
            "x",
            &[" c", "--- a/y", "+++ b/y", "-a", "+b"],
        )],
    );
}

#[test]
fn a_hunk_header_may_lack_spaces_and_its_end() {
    for header in ["@@ -7,2 +7,2", "@@-7,2 +7,2@@", "@@ -7,2  +7,2 @@"] {
        let text = format!("--- a/x\n+++ b/x\n{header}\n a\n-b\n+c\n");
        let patch = parse(&text);
        let hunk = &patch.files[0].hunks[0];
        assert!(hunk.placed && hunk.complete, "{header}");
        assert_eq!(hunk.lines[1].old_no, Some(8), "{header}");
    }
    let patch = parse("--- a/x\n+++ b/x\n@@ -7,2 +7,2 of 9\n a\n-b\n+c\n");
    assert!(!patch.files[0].hunks[0].placed);
}

#[test]
fn a_mark_of_the_encoding_hides_no_header() {
    check(
        "\u{feff}diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        &[(Change::Renamed, "y", &[])],
    );
    check(
        "\u{feff}--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        &[(Change::Modified, "x", &["-a", "+b"])],
    );
}

#[test]
fn a_signature_is_no_line_whatever_its_end() {
    check(
        "--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n-- \r\n2.39.0\r\n",
        &[(Change::Modified, "x", &["-a\r", "+b\r"])],
    );
}

#[test]
fn files_whose_times_are_all_the_same_keep_their_names() {
    let (old, new) = (
        "--- a/x\t1970-01-01 00:00:01.000000000 +0000",
        "+++ b/x\t1970-01-01 00:00:01.000000000 +0000",
    );
    check(
        &format!("{old}\n{new}\n@@ -1 +1 @@\n-a\n+b\n"),
        &[(Change::Modified, "x", &["-a", "+b"])],
    );
    let now = "+++ b/x\t2025-03-26 12:42:27.672906377 +0000";
    check(
        &format!("{old}\n{now}\n@@ -1 +1 @@\n-a\n+b\n"),
        &[(Change::Modified, "x", &["-a", "+b"])],
    );
    check(
        &format!("{old}\n{now}\n@@ -0,0 +1 @@\n+b\n"),
        &[(Change::Created, "x", &["+b"])],
    );
}

#[test]
fn a_binary_file_of_a_merge_is_binary() {
    let patch = parse("diff --cc b.bin\nindex 1,2..3\nBinary files differ\n");
    let file = &patch.files[0];
    assert!(file.binary && file.combined);
    assert_eq!(file.path(), "b.bin");
    check("Binary files differ\n", &[]);
}

#[test]
fn every_prefix_of_git_is_left_out() {
    for (old, new) in [
        ("1", "2"),
        ("2", "1"),
        ("i", "c"),
        ("w", "c"),
        ("w", "o"),
        ("c", "w"),
    ] {
        let names = format!("diff --git {old}/d/x {new}/d/x\n");
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        check(
            &format!("{names}--- {old}/d/x\n+++ {new}/d/x\n{hunk}"),
            &[(Change::Modified, "d/x", &["-a", "+b"])],
        );
        check(
            &format!(
                "{names}deleted file mode 100644\n--- {old}/d/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
            ),
            &[(Change::Deleted, "d/x", &["-a"])],
        );
    }
}

#[test]
fn a_new_file_has_its_whole_path_however_its_header_is_written() {
    let rest = "new file mode 100644\n--- /dev/null\n";
    for (git, new) in [
        ("a/src/x b/src/x", "b/src/x"),
        ("/dev/null b/src/x", "b/src/x"),
        ("a/src/x b/src/x", "src/x"),
        ("src/x src/x", "src/x"),
    ] {
        check(
            &format!("diff --git {git}\n{rest}+++ {new}\n@@ -0,0 +1 @@\n+b\n"),
            &[(Change::Created, "src/x", &["+b"])],
        );
    }
}

#[test]
fn a_diff_with_a_nul_is_not_summed_up_as_no_change() {
    let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\0\n";
    assert_eq!(parse(text).files[0].hunks[0].lines[1].kind, LineKind::Added);
    assert!(compose("x", &[text]).is_err());
}
