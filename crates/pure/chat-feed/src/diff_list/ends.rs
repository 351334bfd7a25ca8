//! Whether a diff itself says that its file ends where it ends: then there is nothing below it to be shown.

use chat_diff::{LineKind, PatchFile, PatchHunk, PatchLine};

/// As many lines as programs put around a change where nothing else is asked for.
const USUAL: usize = 3;

/// Whether the file ends with the last hunk, as far as that is sure: its last line has no newline, or fewer lines stand around
/// the change there than at all ends within the file. Those are at least two, or the usual number stands there: who cuts
/// hunks by hand says nothing by it.
pub(super) fn ends_with_its_file(file: &PatchFile) -> bool {
    let Some((last, before)) = file.hunks.split_last() else {
        return false;
    };
    if last.lines.iter().any(|line| line.no_newline) {
        return true;
    }
    // A hunk may begin where the file does.
    let is_within = |hunk: &&PatchHunk| hunk.old_start > 1 && hunk.new_start > 1;
    let heads = file.hunks.iter().filter(is_within);
    let heads = heads.map(|hunk| n_around(hunk.lines.iter()));
    let feet = before.iter().map(|hunk| n_around(hunk.lines.iter().rev()));
    let within: Vec<usize> = heads.chain(feet).collect();
    let Some(&around) = within.first() else {
        return false;
    };
    let is_rule = within.len() > 1 || around >= USUAL;
    let is_even = within.iter().all(|&n_lines| n_lines == around);
    is_rule && is_even && n_around(last.lines.iter().rev()) < around
}

/// How many lines stand around the change at one end of a hunk.
fn n_around<'l>(mut lines: impl Iterator<Item = &'l PatchLine>) -> usize {
    let is_change = |line: &PatchLine| line.kind != LineKind::Context;
    lines.position(is_change).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(hunks: &str) -> bool {
        let patch = chat_diff::parse(&format!("--- a/a\n+++ b/a\n{hunks}"));
        ends_with_its_file(&patch.files[0])
    }

    #[test]
    fn what_is_sure_says_that_the_file_ends() {
        let middle = "@@ -10,7 +10,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n";
        let ended = "@@ -30,5 +30,5 @@\n 1\n 2\n 3\n-4\n+four\n 5\n";
        assert!(!ends(middle));
        assert!(ends(ended));
        assert!(ends(&format!("{middle}{ended}")));
        assert!(ends("@@ -30,3 +30,4 @@\n 1\n 2\n 3\n+4\n"));
        // The last line says it: the old one, the new one, both.
        for last in [
            "-4\n\\ No newline at end of file\n+four\n",
            "-4\n+four\n\\ No newline at end of file\n",
            "-3\n+three\n 4\n\\ No newline at end of file\n",
        ] {
            let n_lines = 1 + u32::from(last.contains(" 4"));
            assert!(
                ends(&format!("@@ -1,{n_lines} +1,{n_lines} @@\n{last}")),
                "{last}"
            );
        }
        // A hunk within the file does not speak for the last one.
        let within = "@@ -1,1 +1,1 @@\n-4\n+four\n\\ No newline at end of file\n";
        assert!(!ends(&format!("{within}{middle}")));
    }

    #[test]
    fn what_is_not_sure_says_nothing() {
        for hunks in [
            // The file begins with it: nothing tells how many lines would stand around a change.
            "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n",
            // Cut by hand, or each in its way.
            "@@ -10,2 +10,2 @@\n 1\n-2\n+two\n",
            "@@ -10,4 +10,4 @@\n 1\n 2\n 3\n-4\n+four\n@@ -30,3 +30,3 @@\n 1\n 2\n-3\n+three\n",
            // Nothing around changes anywhere.
            "@@ -10 +10 @@\n-1\n+one\n@@ -20 +20 @@\n-1\n+one\n",
            // Nothing is changed.
            "@@ -10,2 +10,2 @@\n 1\n 2\n",
        ] {
            assert!(!ends(hunks), "{hunks}");
        }
        // One line around each change is a rule, too, once it is seen.
        let two = "@@ -10,3 +10,3 @@\n 1\n-2\n+two\n 3\n@@ -30,2 +30,2 @@\n 1\n-2\n+two\n";
        assert!(ends(two));
    }
}
