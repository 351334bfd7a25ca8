//! The sum of diffs: laid on the first text it gives the last, and it never guesses.

use chat_diff::{Change, ComposeError, apply, compose, diff_texts};
use proptest::prelude::*;

/// Texts that grow out of each other, so that their diffs have context and lie near and far.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let line = "[abc]{1,2}";
    let edit = (0..60_usize, 0..3_usize, prop::collection::vec(line, 0..3));
    let first = prop::collection::vec(line, 0..60);
    (first, prop::collection::vec(edit, 1..8), any::<bool>()).prop_map(|(lines, edits, newline)| {
        let mut lines: Vec<String> = lines;
        let end = if newline { "\n" } else { "" };
        let text = |lines: &[String]| match lines {
            [] => String::new(),
            lines => lines.join("\n") + end,
        };
        let mut texts = vec![text(&lines)];
        for (at, removed, added) in edits {
            let at = at.min(lines.len());
            let to = (at + removed).min(lines.len());
            lines.splice(at..to, added);
            texts.push(text(&lines));
        }
        texts
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn the_sum_of_diffs_gives_the_last_text_from_the_first(texts in texts()) {
        let diffs: Vec<String> = texts
            .windows(2)
            .map(|pair| diff_texts("a.txt", Some(&pair[0]), Some(&pair[1])).text)
            .collect();
        let diffs: Vec<&str> = diffs.iter().map(String::as_str).collect();
        let sum = compose("a.txt", &diffs).unwrap();
        prop_assert_eq!(&apply(&sum.text, &texts[0]).unwrap(), texts.last().unwrap());
        let patch = chat_diff::parse(&sum.text);
        let counted = patch.files.first().map_or((0, 0), |file| (file.lines_added(), file.lines_removed()));
        prop_assert_eq!(counted, (sum.lines_added, sum.lines_removed));
    }

    #[test]
    fn any_texts_are_laid_over_each_other_without_harm(diffs in prop::collection::vec("(@@ -[0-9]{1,9}(,[0-9])? \\+[0-9](,[0-9])? @@\n|--- a/x\n|\\+\\+\\+ b/x\n|/dev/null|[-+ ]a\n|\\\\ No newline at end of file\n){0,12}", 0..5)) {
        let diffs: Vec<&str> = diffs.iter().map(String::as_str).collect();
        let _ = compose("a.txt", &diffs);
    }
}

#[test]
fn a_file_that_was_made_and_edited_is_a_new_file() {
    let made = diff_texts("a", None, Some("one\ntwo\n"));
    let edited = diff_texts("a", Some("one\ntwo\n"), Some("one\nzwei\n"));
    let sum = compose("a", &[&made.text, &edited.text]).unwrap();
    assert_eq!(sum, diff_texts("a", None, Some("one\nzwei\n")));
    assert_eq!(sum.change, Change::Created);
}

#[test]
fn a_change_that_was_taken_back_is_none() {
    let there = diff_texts("a", Some("one\n"), Some("two\n"));
    let back = diff_texts("a", Some("two\n"), Some("one\n"));
    let sum = compose("a", &[&there.text, &back.text]).unwrap();
    assert_eq!(
        (sum.text.as_str(), sum.lines_added, sum.lines_removed),
        ("", 0, 0)
    );
}

#[test]
fn a_file_that_went_and_came_again_begins_anew() {
    let gone = diff_texts("a", Some("one\n"), None);
    let again = diff_texts("a", None, Some("two\n"));
    let sum = compose("a", &[&gone.text, &again.text]).unwrap();
    assert_eq!(sum, diff_texts("a", Some("one\n"), Some("two\n")));
}

#[test]
fn diffs_that_contradict_each_other_have_no_sum() {
    let first = diff_texts("a", Some("one\n"), Some("two\n"));
    let other = diff_texts("a", Some("three\n"), Some("four\n"));
    assert_eq!(
        compose("a", &[&first.text, &other.text]),
        Err(ComposeError::Mismatch { diff: 1 })
    );
    let twice = diff_texts("a", None, Some("two\n"));
    assert_eq!(
        compose("a", &[&first.text, &twice.text]),
        Err(ComposeError::Mismatch { diff: 1 })
    );
}

#[test]
fn what_is_cut_off_or_binary_has_no_sum() {
    let first = diff_texts("a", Some("one\n"), Some("two\n"));
    let cut = "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-two\n";
    assert_eq!(
        compose("a", &[&first.text, cut]),
        Err(ComposeError::Unreadable { diff: 1 })
    );
    let binary = diff_texts("a", Some("\0"), Some("\0\0"));
    assert_eq!(
        compose("a", &[&binary.text]),
        Err(ComposeError::Unreadable { diff: 0 })
    );
}
