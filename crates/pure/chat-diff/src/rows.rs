//! The lines of a hunk side by side: which old line stands beside which new one, and which of them differ.
//!
//! Unified and split views are drawn from the same rows, so that both tell the same changes. How a row looks is the
//! page's, what changed within it is said by `words`.

use crate::alike::alike;
use crate::lines::{Compared, changed};
use crate::patch::{LineKind, PatchHunk};

/// Lines of one run of changes that are compared with white space left out; longer runs are paired as they stand, unless
/// few of them differ.
const COMPARED: Compared = Compared {
    at_once: 2_000,
    most: 20_000,
    few: 500,
};

/// Whether lines that differ in white space alone are changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Space {
    /// Every character counts.
    #[default]
    Counts,
    /// Lines are compared with all white space left out.
    Ignored,
}

/// An old line and the new line beside it, as indices into the lines of the hunk; one side may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitRow {
    /// The old line.
    pub old: Option<u32>,
    /// The new line. For a line of context it is the same as `old`.
    pub new: Option<u32>,
    /// The sides differ. A row that is not changed has both.
    pub changed: bool,
}

impl PatchHunk {
    /// Every line of the hunk once on each side that has it, in order. `source` is the text it was parsed from.
    ///
    /// In a run of changes the lines that are alike stand beside each other, and between them the first removed beside
    /// the first added, and so on; what is left over stands alone.
    pub fn split_rows(&self, source: &str, space: Space) -> Vec<SplitRow> {
        let mut rows = Vec::with_capacity(self.lines.len());
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (at, line) in (0_u32..).zip(&self.lines) {
            match line.kind {
                LineKind::Context => {
                    self.close_run(source, space, &mut removed, &mut added, &mut rows);
                    rows.push(SplitRow {
                        old: Some(at),
                        new: Some(at),
                        changed: false,
                    });
                }
                LineKind::Removed => {
                    if !added.is_empty() {
                        self.close_run(source, space, &mut removed, &mut added, &mut rows);
                    }
                    removed.push(at);
                }
                LineKind::Added => added.push(at),
            }
        }
        self.close_run(source, space, &mut removed, &mut added, &mut rows);
        rows
    }

    /// A run of removed lines and the run of added ones behind it.
    fn close_run(
        &self,
        source: &str,
        space: Space,
        removed: &mut Vec<u32>,
        added: &mut Vec<u32>,
        rows: &mut Vec<SplitRow>,
    ) {
        let (mut old_at, mut new_at) = (0, 0);
        if space == Space::Ignored && !removed.is_empty() && !added.is_empty() {
            let bare = |run: &[u32]| -> Vec<String> {
                run.iter().map(|&at| self.bare(source, at)).collect()
            };
            let (old, new) = (bare(removed), bare(added));
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            for block in changed(&old, &new, COMPARED) {
                same(
                    &removed[old_at..block.old.start],
                    &added[new_at..block.new.start],
                    rows,
                );
                self.beside(
                    source,
                    &removed[block.old.clone()],
                    &added[block.new.clone()],
                    rows,
                );
                (old_at, new_at) = (block.old.end, block.new.end);
            }
            same(&removed[old_at..], &added[new_at..], rows);
        } else {
            self.beside(source, removed, added, rows);
        }
        removed.clear();
        added.clear();
    }

    /// Changed lines, those that are alike beside each other.
    fn beside(&self, source: &str, removed: &[u32], added: &[u32], rows: &mut Vec<SplitRow>) {
        let texts =
            |run: &[u32]| -> Vec<&str> { run.iter().map(|&at| self.text(source, at)).collect() };
        let (mut old_at, mut new_at) = (0, 0);
        for (old, new) in alike(&texts(removed), &texts(added)) {
            beside(&removed[old_at..old], &added[new_at..new], rows);
            beside(&removed[old..=old], &added[new..=new], rows);
            (old_at, new_at) = (old + 1, new + 1);
        }
        beside(&removed[old_at..], &added[new_at..], rows);
    }

    fn text<'s>(&self, source: &'s str, at: u32) -> &'s str {
        let range = self.lines.get(at as usize).map(|line| line.range.clone());
        range.and_then(|range| source.get(range)).unwrap_or("")
    }

    /// A line without its white space.
    fn bare(&self, source: &str, at: u32) -> String {
        let text = self.text(source, at);
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }
}

/// Whether most changed lines have a partner on the other side, so that they read well side by side.
pub fn mostly_paired<'r>(rows: impl IntoIterator<Item = &'r SplitRow>) -> bool {
    let (mut n_paired, mut n_changed) = (0, 0);
    for row in rows.into_iter().filter(|row| row.changed) {
        let n_sides = usize::from(row.old.is_some()) + usize::from(row.new.is_some());
        n_changed += n_sides;
        n_paired += if n_sides == 2 { 2 } else { 0 };
    }
    n_changed > 0 && 2 * n_paired >= n_changed
}

fn same(old: &[u32], new: &[u32], rows: &mut Vec<SplitRow>) {
    rows.extend(old.iter().zip(new).map(|(&old, &new)| SplitRow {
        old: Some(old),
        new: Some(new),
        changed: false,
    }));
}

fn beside(old: &[u32], new: &[u32], rows: &mut Vec<SplitRow>) {
    for at in 0..old.len().max(new.len()) {
        rows.push(SplitRow {
            old: old.get(at).copied(),
            new: new.get(at).copied(),
            changed: true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    /// Rows as text: `old|new`, with `~` between the sides of a row that is not changed.
    fn check(lines: &[&str], space: Space, want: &[&str]) {
        let source = format!("@@ -1 +1 @@\n{}\n", lines.join("\n"));
        let patch = parse(&source);
        let hunk = &patch.files[0].hunks[0];
        let text =
            |at: Option<u32>| at.map_or("", |at| &source[hunk.lines[at as usize].range.clone()]);
        let rows: Vec<String> = hunk
            .split_rows(&source, space)
            .iter()
            .map(|row| {
                let middle = if row.changed { "|" } else { "~" };
                format!("{}{middle}{}", text(row.old), text(row.new))
            })
            .collect();
        assert_eq!(rows, want);
    }

    #[test]
    fn removed_and_added_lines_stand_beside_each_other() {
        let lines = [" a", "-b", "-c", "+d", " e", "+f"];
        check(&lines, Space::Counts, &["a~a", "b|d", "c|", "e~e", "|f"]);
    }

    #[test]
    fn a_line_stands_beside_what_became_of_it() {
        let lines = ["-x = f(1)", "-y", "-z", "+# new", "+x = f(2)", "+w"];
        check(
            &lines,
            Space::Counts,
            &["|# new", "x = f(1)|x = f(2)", "y|w", "z|"],
        );
    }

    #[test]
    fn a_block_that_was_only_indented_is_no_change() {
        let lines = ["-a();", "-b( );", "+if x {", "+  a();", "+  b();", "+}"];
        let want = ["|if x {", "a();~  a();", "b( );~  b();", "|}"];
        check(&lines, Space::Ignored, &want);
        let want = ["|if x {", "a();|  a();", "b( );|  b();", "|}"];
        check(&lines, Space::Counts, &want);
    }

    #[test]
    fn a_rewritten_file_is_paired_and_a_new_one_is_not() {
        let paired = |text: &str| {
            let hunk = &parse(text).files[0].hunks[0];
            mostly_paired(&hunk.split_rows(text, Space::Counts))
        };
        assert!(paired("@@ -1 +1 @@\n-a\n+b\n"));
        assert!(!paired("@@ -0,0 +1,2 @@\n+a\n+b\n"));
        assert!(!paired("@@ -1,1 +1,4 @@\n-a\n+b\n+c\n+d\n+e\n+f\n+g\n+h\n"));
    }
}
