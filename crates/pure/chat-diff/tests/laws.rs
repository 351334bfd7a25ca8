//! Laws of diffs over random texts: what is made can be applied, read back and counted.

use chat_diff::{
    Around, Change, FileDiff, Hunk, LineKind, Patch, PatchHunk, Space, SplitRow, apply, diff_bytes,
    diff_renamed, diff_texts, from_hunks, from_unified, parse, preview, widen, words,
};
use proptest::prelude::*;

/// Lines out of few, so that texts share some; with CR, CRLF, empty lines, and lines that look like a diff.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[abc]{0,2}",
        1 => Just("a\r".to_owned()),
        1 => Just("a\rb".to_owned()),
        1 => Just("-- a/x".to_owned()),
        1 => Just("++ b/x".to_owned()),
        1 => Just("--- a/x".to_owned()),
        1 => Just("@@ -1 +1 @@".to_owned()),
        1 => Just("diff --git a/x b/x".to_owned()),
        1 => Just("\\ No newline at end of file".to_owned()),
        1 => "[^\u{0}\n]{0,6}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..40), any::<bool>()).prop_map(|(lines, newline)| {
        let mut text = lines.join("\n");
        if newline && !lines.is_empty() {
            text.push('\n');
        }
        text
    })
}

/// A text and an edit of it: most lines stay, so that there are hunks with context.
fn edited() -> impl Strategy<Value = (String, String)> {
    (
        text(),
        prop::collection::vec(
            (0..40_usize, 0..3_usize, prop::collection::vec(line(), 0..3)),
            0..4,
        ),
    )
        .prop_map(|(old, edits)| {
            let mut lines: Vec<String> = old.split('\n').map(str::to_owned).collect();
            for (at, removed, added) in edits {
                let at = at.min(lines.len());
                let end = (at + removed).min(lines.len());
                lines.splice(at..end, added);
            }
            (old, lines.join("\n"))
        })
}

fn both() -> impl Strategy<Value = (String, String)> {
    prop_oneof![edited(), (text(), text())]
}

/// Rows have every line once, in order, and say no other changes than the lines.
fn check_rows(source: &str, hunk: &PatchHunk, space: Space) {
    let rows = hunk.split_rows(source, space);
    let of = |without: LineKind| -> Vec<u32> {
        let lines = (0_u32..).zip(&hunk.lines);
        let lines = lines.filter(|(_, line)| line.kind != without);
        lines.map(|(at, _)| at).collect()
    };
    let side = |get: fn(&SplitRow) -> Option<u32>| rows.iter().filter_map(get).collect::<Vec<_>>();
    assert_eq!(side(|row| row.old), of(LineKind::Added));
    assert_eq!(side(|row| row.new), of(LineKind::Removed));
    let text = |at: Option<u32>| {
        let line = at.map(|at| &source[hunk.lines[at as usize].range.clone()]);
        let line = line.unwrap_or("");
        line.chars()
            .filter(|c| !c.is_whitespace())
            .collect::<String>()
    };
    for row in &rows {
        assert!(row.old.is_some() || row.new.is_some());
        if !row.changed {
            assert!(row.old.is_some() && row.new.is_some());
            assert!(row.old == row.new || space == Space::Ignored);
            assert_eq!(text(row.old), text(row.new));
        }
    }
    for (old, new) in rows.iter().filter_map(|row| Some((row.old?, row.new?))) {
        let kinds = [old, new].map(|at| hunk.lines[at as usize].kind);
        assert!(old == new || kinds == [LineKind::Removed, LineKind::Added]);
    }
}

/// Everything that is true of any parsed patch.
fn check(source: &str, patch: &Patch) {
    let mut file_end = 0;
    for file in &patch.files {
        assert!(
            file_end <= file.range.start
                && file.range.start <= file.range.end
                && file.range.end <= source.len()
        );
        file_end = file.range.end;
        let mut line_end = file.range.start;
        for hunk in &file.hunks {
            let old = hunk
                .lines
                .iter()
                .filter(|line| line.kind != LineKind::Added)
                .count();
            let new = hunk
                .lines
                .iter()
                .filter(|line| line.kind != LineKind::Removed)
                .count();
            if !file.combined {
                assert_eq!(
                    (hunk.old_lines as usize, hunk.new_lines as usize),
                    (old, new)
                );
            }
            assert!(!hunk.complete || hunk.placed);
            for line in &hunk.lines {
                assert!(line_end <= line.range.start && line.range.end <= file.range.end);
                line_end = line.range.end;
                assert!(!source[line.range.clone()].contains('\n'));
                if !hunk.placed {
                    assert_eq!((line.old_no, line.new_no), (None, None));
                }
                match line.kind {
                    LineKind::Context => {}
                    LineKind::Added if !file.combined => assert_eq!(line.old_no, None),
                    LineKind::Added => {}
                    LineKind::Removed => assert_eq!(line.new_no, None),
                }
            }
            for space in [Space::Counts, Space::Ignored] {
                check_rows(source, hunk, space);
            }
        }
    }
}

/// Everything that is true of a diff made here.
fn check_diff(diff: &FileDiff) {
    let patch = parse(&diff.text);
    check(&diff.text, &patch);
    if diff.text.is_empty() {
        assert_eq!(
            (diff.lines_added, diff.lines_removed, diff.change),
            (0, 0, Change::Modified)
        );
        return;
    }
    assert_eq!(patch.files.len(), 1);
    let file = &patch.files[0];
    assert_eq!(file.change, diff.change);
    assert_eq!(
        (file.lines_added(), file.lines_removed()),
        (diff.lines_added, diff.lines_removed)
    );
    assert_eq!(file.binary, diff.binary);
    assert!(file.hunks.iter().all(|hunk| hunk.complete));
    assert_eq!(patch.print(&diff.text), diff.text);
    let shown = preview(&diff.text);
    assert!(diff.text.starts_with(shown) && shown.ends_with('\n'));
    check(shown, &parse(shown));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_applied_to_the_old_text_gives_the_new_one((old, new) in both()) {
        let diff = diff_texts("x", Some(&old), Some(&new));
        check_diff(&diff);
        prop_assert_eq!(diff.change, Change::Modified);
        prop_assert_eq!(apply(&diff.text, &old), Ok(new.clone()));
        prop_assert_eq!(&diff, &diff_bytes("x", Some(old.as_bytes()), Some(new.as_bytes())));
        // Lines outside of the diff are the same number on both sides.
        let count = |text: &str| text.split_inclusive('\n').count() as i64;
        let grown = i64::from(diff.lines_added) - i64::from(diff.lines_removed);
        prop_assert_eq!(count(&new) - count(&old), grown);
    }

    /// Whatever is asked for, the same lines change, and every other line shown is the file's, under its number.
    #[test]
    fn a_widened_diff_makes_the_same_change_and_shows_lines_of_the_file(
        (old, new) in both(),
        around in prop::collection::vec((0..12_u32, 0..12_u32), 0..5),
        all in any::<bool>(),
    ) {
        let diff = diff_texts("src/x.rs", Some(&old), Some(&new));
        prop_assume!(!diff.text.is_empty());
        let mut around: Vec<Around> = around
            .into_iter()
            .map(|(above, below)| Around { above, below })
            .collect();
        let before = parse(&diff.text);
        let n_hunks = before.files[0].hunks.len();
        if all {
            let whole = Around { above: u32::MAX, below: u32::MAX };
            around = vec![whole; n_hunks];
        }
        let widened = widen(&diff.text, &old, &around).unwrap();
        prop_assert_eq!(apply(&widened.text, &old).unwrap(), new.clone());
        let patch = parse(&widened.text);
        check(&widened.text, &patch);
        let file = &patch.files[0];
        prop_assert_eq!(file.path(), "src/x.rs");
        let changes = |source: &str, patch: &Patch| -> Vec<(LineKind, Option<u32>, Option<u32>, String)> {
            let lines = patch.files[0].hunks.iter().flat_map(|hunk| &hunk.lines);
            lines
                .filter(|line| line.kind != LineKind::Context)
                .map(|line| (line.kind, line.old_no, line.new_no, source[line.range.clone()].to_owned()))
                .collect()
        };
        prop_assert_eq!(changes(&widened.text, &patch), changes(&diff.text, &before));
        let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
            (old.split('\n').collect(), new.split('\n').collect());
        for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
            let text = &widened.text[line.range.clone()];
            for (number, lines) in [(line.old_no, &old_lines), (line.new_no, &new_lines)] {
                if let Some(number) = number {
                    prop_assert_eq!(text, lines[number as usize - 1]);
                }
            }
        }
        // What it holds and what it leaves out is the whole of both.
        prop_assert_eq!(widened.holds.len(), file.hunks.len());
        let held: Vec<usize> = widened.holds.iter().flat_map(|&(first, last)| first..=last).collect();
        prop_assert_eq!(held, (0..n_hunks).collect::<Vec<_>>());
        let n_shown: u32 = file.hunks.iter().map(|hunk| hunk.old_lines).sum();
        let n_left_out: u32 = widened.left_out.iter().sum();
        prop_assert_eq!((n_shown + n_left_out) as usize, old.split_inclusive('\n').count());
        if all {
            prop_assert_eq!((file.hunks.len(), n_left_out), (1, 0));
        } else if around.is_empty() {
            prop_assert_eq!(&widened.text, &diff.text);
        }
    }

    /// Another text is not shown as the file's, and no headers make it panic.
    #[test]
    fn a_diff_is_widened_only_by_the_text_it_fits((old, new) in both(), other in text()) {
        let diff = diff_texts("x", Some(&old), Some(&new));
        let whole = [Around { above: u32::MAX, below: u32::MAX }];
        if apply(&diff.text, &other).is_err() {
            prop_assert!(widen(&diff.text, &other, &whole).is_err());
        }
        let _ = widen(&other, &old, &whole);
    }

    #[test]
    fn created_and_deleted_files_are_whole(text in text()) {
        let created = diff_texts("x", None, Some(&text));
        check_diff(&created);
        prop_assert_eq!(created.change, Change::Created);
        prop_assert_eq!(apply(&created.text, ""), Ok(text.clone()));
        prop_assert_eq!(created.lines_added as usize, text.split_inclusive('\n').count());
        let deleted = diff_texts("x", Some(&text), None);
        check_diff(&deleted);
        prop_assert_eq!(deleted.change, Change::Deleted);
        prop_assert_eq!(apply(&deleted.text, &text), Ok(String::new()));
    }

    #[test]
    fn any_name_is_read_back((old, new) in both(), path in "[^\u{0}/]{1,8}(/[^\u{0}/]{1,8})?", to in "[^\u{0}/]{1,8}") {
        let named = diff_texts(&path, Some(&old), Some(&new));
        check_diff(&named);
        for file in &parse(&named.text).files {
            prop_assert_eq!((file.old_path.as_deref(), file.new_path.as_deref()), (Some(path.as_str()), Some(path.as_str())));
        }
        let created = parse(&diff_texts(&path, None, Some(&new)).text);
        prop_assert_eq!(created.files[0].new_path.as_deref(), Some(path.as_str()));
        let deleted = parse(&diff_texts(&path, Some(&old), None).text);
        prop_assert_eq!(deleted.files[0].old_path.as_deref(), Some(path.as_str()));
        let renamed = diff_renamed(&path, &to, old.as_bytes(), new.as_bytes());
        check_diff(&renamed);
        prop_assert_eq!(apply(&renamed.text, &old), Ok(new.clone()));
        if renamed.change == Change::Renamed {
            let file = &parse(&renamed.text).files[0];
            prop_assert_eq!((file.old_path.as_deref(), file.new_path.as_deref()), (Some(path.as_str()), Some(to.as_str())));
        }
    }

    #[test]
    fn hunks_as_agents_report_them_give_the_same_diff((old, new) in both()) {
        let diff = diff_texts("x", Some(&old), Some(&new));
        let hunks: Vec<Hunk> = parse(&diff.text).files.iter().flat_map(|file| &file.hunks).map(|hunk| {
            let mut lines = Vec::new();
            for line in &hunk.lines {
                lines.push(format!("{}{}", line.kind.sign(), &diff.text[line.range.clone()]));
                if line.no_newline {
                    lines.push("\\ No newline at end of file".to_owned());
                }
            }
            Hunk {
                // jsdiff names an empty range by the line behind it.
                old_start: hunk.old_start + u32::from(hunk.old_lines == 0),
                new_start: hunk.new_start + u32::from(hunk.new_lines == 0),
                lines,
                ..Hunk::default()
            }
        }).collect();
        prop_assert_eq!(&from_hunks("x", Change::Modified, &hunks), &diff);
        let hunks_only = diff.text.find("@@ ").map_or("", |at| &diff.text[at..]);
        let unified = from_unified("x", None, Change::Modified, hunks_only);
        prop_assert_eq!(unified, (!diff.text.is_empty()).then_some(diff));
    }

    #[test]
    fn any_hunks_make_a_diff_that_can_be_read(
        hunks in prop::collection::vec((any::<u32>(), any::<u32>(), prop::collection::vec("[-+ \\\\]?[^\u{0}]{0,5}", 0..6)), 0..4),
        change in prop::sample::select(vec![Change::Created, Change::Modified, Change::Deleted, Change::Renamed]),
    ) {
        let hunks: Vec<Hunk> = hunks
            .into_iter()
            .map(|(old_start, new_start, lines)| Hunk { old_start, new_start, lines, ..Hunk::default() })
            .collect();
        check_diff(&from_hunks("x", change, &hunks));
    }

    #[test]
    fn several_files_are_told_apart(texts in prop::collection::vec(both(), 1..4)) {
        let diffs: Vec<FileDiff> = texts
            .iter()
            .enumerate()
            .map(|(n, (old, new))| diff_texts(&format!("f{n}"), Some(old), Some(new)))
            .filter(|diff| !diff.text.is_empty())
            .collect();
        let source: String = diffs.iter().map(|diff| diff.text.as_str()).collect();
        let patch = parse(&source);
        let parsed: Vec<FileDiff> = patch.files.iter().map(|file| file.to_file_diff(&source)).collect();
        prop_assert_eq!(parsed, diffs);
    }

    #[test]
    fn a_wrong_old_text_is_refused_or_unchanged_where_it_differs((old, new) in both(), other in text()) {
        // What applies must hold every line the diff removes; nothing else may be lost.
        let diff = diff_texts("x", Some(&old), Some(&new));
        if let Ok(result) = apply(&diff.text, &other) {
            let count = |text: &str| text.split_inclusive('\n').count() as i64;
            let grown = i64::from(diff.lines_added) - i64::from(diff.lines_removed);
            prop_assert_eq!(count(&result) - count(&other), grown);
        }
    }

    #[test]
    fn text_without_tinted_words_is_the_same_on_both_sides(old in "[ab (é)]{0,30}", new in "[ab (é)]{0,30}") {
        let rest = |line: &str, ranges: &[std::ops::Range<usize>]| {
            let (mut rest, mut at) = (String::new(), 0);
            for range in ranges {
                assert!(at <= range.start && range.start < range.end);
                rest.push_str(&line[at..range.start]);
                at = range.end;
            }
            rest + &line[at..]
        };
        let (old_ranges, new_ranges) = words(&old, &new);
        if !(old_ranges.is_empty() && new_ranges.is_empty()) {
            prop_assert_eq!(rest(&old, &old_ranges), rest(&new, &new_ranges));
        }
    }

    #[test]
    fn any_text_parses(text in any::<String>()) {
        check(&text, &parse(&text));
    }

    #[test]
    fn any_soup_of_diff_lines_parses(lines in prop::collection::vec(prop_oneof![
        Just("diff --git a/x b/y".to_owned()),
        Just("diff --git \"a/\\303\" b/y".to_owned()),
        Just("diff --cc x".to_owned()),
        Just("--- a/x".to_owned()),
        Just("+++ b/x".to_owned()),
        Just("--- /dev/null".to_owned()),
        Just("+++ /dev/null\r".to_owned()),
        Just("Index: x".to_owned()),
        Just("rename from x".to_owned()),
        Just("new file mode 100644".to_owned()),
        Just("deleted file mode 7777777777777".to_owned()),
        Just("Binary files a and b differ".to_owned()),
        "@@@? -[0-9]{1,12},?[0-9]{0,2} [+-][0-9],[0-9] (\\+1 )?@@@?é?",
        Just("@@".to_owned()),
        Just("\\ No newline at end of file".to_owned()),
        "[-+ ]{0,2}[aé\r]{0,2}",
    ], 0..30)) {
        let text = lines.join("\n");
        let patch = parse(&text);
        check(&text, &patch);
        // A printed soup is a diff: printing it again changes nothing more.
        let printed = patch.print(&text);
        check(&printed, &parse(&printed));
        for file in &patch.files {
            let _ = file.apply(&text, "a\nb\n");
        }
    }

    #[test]
    fn any_bytes_make_a_diff(old in any::<Option<Vec<u8>>>(), new in any::<Option<Vec<u8>>>(), path in any::<String>()) {
        let diff = diff_bytes(&path, old.as_deref(), new.as_deref());
        check(&diff.text, &parse(&diff.text));
        let text = String::from_utf8_lossy(old.as_deref().unwrap_or(b""));
        check(&text, &parse(&text));
        let _ = words(&text, &path);
        let _ = apply(&path, &text);
    }
}

#[test]
fn a_hunk_of_a_merge_is_told_without_its_header() {
    let source = "@@@ -0 -0,0 +1 @@@\n+-\n";
    let patch = parse(source);
    check(source, &patch);
    assert!(patch.files[0].combined);
}
