//! Large and hostile inputs stay within bounds that a slow machine and an unoptimized build keep, too.

use std::time::Duration;

use chat_diff::{Around, Space, apply, diff_texts, parse, preview, widen, words};

use crate::work;
use work::work_of;

const LINES: usize = 100_000;

/// Lines of the inputs that are hard to search; without optimization every line costs ten times as much.
const HARD: usize = if cfg!(debug_assertions) {
    20_000
} else {
    LINES
};

fn lines(count: usize, line: impl Fn(usize) -> usize) -> String {
    (0..count).map(|n| format!("line {}\n", line(n))).collect()
}

/// Far above what is measured (half a second, optimized), far below what a quadratic search needs (minutes).
const BOUND: Duration = Duration::from_secs(20);

fn check(name: &str, old: &str, new: &str) {
    let (made, diff) = work_of(|| diff_texts("x", Some(old), Some(new)));
    assert_eq!(apply(&diff.text, old).as_deref(), Ok(new), "{name}");
    assert!(!preview(&diff.text).is_empty());
    println!(
        "{name}: made in {made:?}, {} hunks",
        diff.text.matches("\n@@ ").count()
    );
    assert!(made < BOUND, "{name} took {made:?}");
}

/// Numbers that repeat in no order.
fn scattered(n: usize, seed: usize, of: usize) -> usize {
    let mixed = (n + 1)
        .wrapping_mul(seed)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize);
    ((mixed >> 7) ^ (mixed >> 19)) % of
}

#[test]
fn one_change_in_a_hundred_thousand_lines_is_one_hunk_and_can_be_widened() {
    let old = lines(LINES, |n| n);
    let new = lines(LINES, |n| if n == LINES / 2 { n + LINES } else { n });
    let (made, diff) = work_of(|| diff_texts("x", Some(&old), Some(&new)));
    println!("made in {made:?}");
    let hunks = |text: &str| -> Vec<u32> {
        let patch = parse(text);
        patch.files[0]
            .hunks
            .iter()
            .map(|hunk| hunk.old_lines)
            .collect()
    };
    assert_eq!(hunks(&diff.text), [7]);
    for (asked, n_lines) in [(20, 47), (u32::MAX, LINES)] {
        let around = Around {
            above: asked,
            below: asked,
        };
        let (took, widened) = work_of(|| widen(&diff.text, &old, &[around]).unwrap());
        println!("widened to {n_lines} lines in {took:?}");
        assert_eq!(hunks(&widened.text), [u32::try_from(n_lines).unwrap()]);
        assert_eq!(apply(&widened.text, &old).as_ref(), Ok(&new));
    }
}

#[test]
fn a_hundred_thousand_lines_are_diffed_in_bounded_time() {
    let old = lines(LINES, |n| n);
    check("total rewrite", &old, &lines(LINES, |n| n + LINES));
    let tenths = lines(LINES, |n| if n % 10 == 0 { n + LINES } else { n });
    check("every tenth line", &old, &tenths);
    let old = lines(HARD, |n| n);
    check("reversed", &old, &lines(HARD, |n| HARD - n));
    check("rotated", &old, &lines(HARD, |n| (n + HARD / 2) % HARD));
    let of = |seed: usize, of: usize| lines(HARD, |n| scattered(n, seed, of));
    check("of 2 lines", &of(3, 2), &of(5, 2));
    check("of 1000 lines", &of(3, 1_000), &of(5, 1_000));
    check(
        "one line again",
        &lines(HARD, |_| 0),
        &lines(HARD, |n| n % 2),
    );
}

#[test]
fn beyond_the_cap_many_changes_are_one_and_right() {
    let old = lines(LINES, |n| n).repeat(2);
    let new = format!("new\n{old}").replace("line 7", "line seven");
    check("beyond the cap", &old, &format!("{new}end"));
}

#[test]
fn few_changes_far_apart_are_found_however_long_the_file_is() {
    for n_lines in [LINES, 10 * LINES] {
        let old = lines(n_lines, |n| n);
        let first = old.replacen("line 1\n", "", 1);
        let new = first.replacen(&format!("line {}\n", n_lines - 9), "new\nlines\n", 1);
        let (made, diff) = work_of(|| diff_texts("x", Some(&old), Some(&new)));
        println!("{n_lines} lines with two changes: made in {made:?}");
        assert_eq!((diff.lines_added, diff.lines_removed), (2, 2));
        assert_eq!(apply(&diff.text, &old).as_deref(), Ok(new.as_str()));
        // What is looked at once takes no longer than it does to be read.
        assert!(made < BOUND / 20, "{made:?}");
    }
}

#[test]
fn one_long_line_is_a_line() {
    let old = "x".repeat(5_000_000);
    check("long line", &format!("a\n{old}\n"), &format!("a\n{old}y"));
    assert_eq!(words(&old, "x"), (Vec::new(), Vec::new()));
}

#[test]
fn lines_are_paired_and_tinted_in_bounded_time() {
    let text = |n: usize| -> String {
        let words = (0..30).map(|word| format!("{} ", scattered(word, n, 60)));
        words.collect()
    };
    // Runs as long as lines are compared with each other, over and over.
    let mut runs = "@@\n".to_owned();
    while runs.len() < 2_000_000 {
        for (sign, seed) in [('-', 3), ('+', 5)] {
            for n in 0..32 {
                runs += &format!("{sign}{}\n", text(seed * n + 1));
            }
        }
        runs += " c\n";
    }
    let patch = parse(&runs);
    for space in [Space::Counts, Space::Ignored] {
        let (paired, n_rows) = work_of(|| {
            let hunks = patch.files[0].hunks.iter();
            hunks
                .map(|hunk| hunk.split_rows(&runs, space).len())
                .sum::<usize>()
        });
        assert!(n_rows > 0 && paired < BOUND / 4, "paired in {paired:?}");
    }
    // A page draws some hundred lines at once.
    let long = |seed: usize, of: usize| -> String {
        (0..1_000)
            .map(|n| format!("{},", scattered(n, seed, of)))
            .collect()
    };
    for of in [2, 4, 60, 1_000] {
        let (old, new) = (long(3, of), long(5, of));
        let (tinted, _) = work_of(|| (0..200).map(|_| words(&old, &new).0.len()).sum::<usize>());
        println!("200 long lines of {of} words tinted in {tinted:?}");
        assert!(tinted < BOUND / 20, "of {of}: {tinted:?}");
    }
}

#[test]
fn hostile_patches_are_read_in_bounded_time() {
    let many = |text: &str| text.repeat(4_000_000 / text.len());
    for text in [
        many("--- a\n"),
        many("--- a\n+++ b\n"),
        many("@@ -1 +1 @@\n"),
        many("--- a\n+++ b\n-- \n"),
        many("@@@@@@@@"),
        many("\n"),
        format!("{}{}", many("\n"), many("@@\n")),
        format!("@@\n+a\n{}+b\n", many("\n")),
        format!(
            "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n+c\n{}",
            many("\n\n+d\n")
        ),
        format!(
            "--- a\n+++ b\n@@ -1,99999999 +1,99999999 @@\n{}",
            many("--- a\n+++ b\n@@\n")
        ),
        many("\\ x\n"),
        many("diff --git a/x b/y b/z\n"),
        format!("diff --git {}", many("a b/")),
        format!("diff --git \"{}", many("\\")),
        format!(
            "--- a\n+++ b\n@@ -1,99999999999 +1,99999999999 @@\n{}",
            many(" x\n\n")
        ),
        format!("--- a\n+++ b\n@@\n{}", many("\n")),
        format!("--- /dev/null\n+++ b\n{}", many("+\n")),
        format!("{} -1 +1 @@", many("@")),
        format!("diff --git a/x b/x\nBinary files {} differ", many(" and ")),
    ] {
        let (read, (patch, printed)) = work_of(|| {
            let patch = parse(&text);
            let printed = patch.print(&text);
            (patch, printed)
        });
        assert!(read < BOUND, "{} took {read:?}", &text[..40]);
        assert!(parse(&printed).files.len() <= patch.files.len());
    }
}
