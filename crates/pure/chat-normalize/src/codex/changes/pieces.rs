//! Hunks without line numbers, as the text of `apply_patch` has them, and the text that they make of a file.
//!
//! Codex takes the first place behind the piece before, and behind the line that the heading names
//! (`codex-rs/apply-patch/src/lib.rs`, `compute_replacements`). What is remembered of a file may be older than the file,
//! and at a wrong place everything behind it would be told wrong, too. So a place is taken where it is the only one: the
//! pieces are put as early and as late as they can be, and must stand at the same lines both times. Lines that are the
//! same but for their spaces, which Codex takes as well, are not looked for.

/// What stands in the place of what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// A line above it, where the patch names one.
    heading: Option<String>,
    /// Lines with their sign.
    pub(super) lines: Vec<String>,
    at_end: bool,
}

/// A piece that has its place.
struct Placed<'a> {
    piece: &'a Piece,
    /// The line's end before the heading.
    heading_at: Option<usize>,
    /// The line's end before what is replaced.
    at: usize,
    /// What is replaced, behind that line's end.
    old: String,
}

/// Takes a line of a file's update.
pub(super) fn take_line(pieces: &mut Vec<Piece>, line: &str) {
    if line.trim_end() == "*** End of File" {
        if let Some(piece) = pieces.last_mut() {
            piece.at_end = true;
        }
        return;
    }
    if let Some(heading) = line.strip_prefix("@@") {
        pieces.push(Piece {
            heading: Some(heading.trim().to_owned()).filter(|heading| !heading.is_empty()),
            ..Piece::default()
        });
        return;
    }
    if pieces.is_empty() {
        pieces.push(Piece::default());
    }
    if let Some(piece) = pieces.last_mut() {
        // An empty line of context may have lost its space.
        let line = if line.is_empty() { " " } else { line };
        if line.starts_with([' ', '+', '-']) {
            piece.lines.push(line.to_owned());
        }
    }
}

/// The text after the pieces; `None` where one has no place, or may have another.
pub(super) fn apply(pieces: &[Piece], before: &str) -> Option<String> {
    // With an end before each line, lines are found as a whole.
    let mut text = format!("\n{before}");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut placed = first_places(pieces, &text)?;
    if !are_the_last(&placed, &text) {
        return None;
    }
    placed.sort_by_key(|placed| placed.at);
    let (mut after, mut done) = ("\n".to_owned(), 1);
    for Placed { piece, at, old, .. } in &placed {
        after.push_str(&text[done..=*at]);
        after.push_str(&piece.side('+'));
        done = at + old.len();
    }
    after.push_str(&text[done..]);
    // An empty line at the end of the file is kept by some versions only.
    let is_sure = ![&text, &after].iter().any(|text| text.ends_with("\n\n"));
    is_sure.then(|| after.split_off(1))
}

impl Piece {
    fn side(&self, sign: char) -> String {
        let mut text = String::new();
        for line in &self.lines {
            if line.starts_with(' ') || line.starts_with(sign) {
                text.push_str(&line[1..]);
                text.push('\n');
            }
        }
        text
    }
}

/// The pieces as early as they can be.
fn first_places<'a>(pieces: &'a [Piece], text: &str) -> Option<Vec<Placed<'a>>> {
    let mut from = 0;
    let mut placed = Vec::new();
    for piece in pieces {
        let mut heading_at = None;
        if let Some(heading) = &piece.heading {
            let (at, end) = first_line(text, from, heading)?;
            (heading_at, from) = (Some(at), end);
        }
        let old = format!("\n{}", piece.side('-'));
        let is_new = old.len() == 1;
        let at = match piece.at_end {
            // A heading below which stands the next.
            _ if piece.lines.is_empty() => from,
            // Codex puts it at the end nevertheless, other tools below the heading.
            false if is_new && heading_at.is_some() => return None,
            _ if is_new => text.len() - 1,
            true if !text.ends_with(&old) => return None,
            true => Some(text.len() - old.len()).filter(|at| *at >= from)?,
            false => from + text[from..].find(&old)?,
        };
        if !is_new {
            from = at + old.len() - 1;
        }
        placed.push(Placed {
            piece,
            heading_at,
            at,
            old,
        });
    }
    Some(placed)
}

/// Whether that is as late as they can be, too.
fn are_the_last(placed: &[Placed<'_>], text: &str) -> bool {
    let mut to = text.len();
    placed.iter().rev().all(|placed| {
        let Placed { piece, at, old, .. } = placed;
        let is_last = match (&piece.heading, placed.heading_at) {
            // What is replaced is the first below it.
            (Some(heading), Some(at)) => last_line(&text[..to], heading) == Some(at),
            _ if piece.at_end || old.len() == 1 => true,
            _ => text[..to].rfind(old.as_str()) == Some(*at),
        };
        if let Some(at) = placed.heading_at.or((old.len() > 1).then_some(*at)) {
            to = at + 1;
        }
        is_last
    })
}

/// The first line that is the heading: the line's end before it from `from` on, and its own.
fn first_line(text: &str, from: usize, heading: &str) -> Option<(usize, usize)> {
    let mut at = from;
    for line in text[from + 1..].split_inclusive('\n') {
        let end = at + line.len();
        // Headings are mostly written without the spaces before them.
        if line.trim() == heading {
            return Some((at, end));
        }
        at = end;
    }
    None
}

/// The last one: the line's end before it.
fn last_line(text: &str, heading: &str) -> Option<usize> {
    let mut end = text.len() - 1;
    for line in text[1..].split_inclusive('\n').rev() {
        let at = end - line.len();
        if line.trim() == heading {
            return Some(at);
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, update: &str, after: Option<&str>) {
        let mut pieces = Vec::new();
        for line in update.lines() {
            take_line(&mut pieces, line);
        }
        assert_eq!(apply(&pieces, before).as_deref(), after, "{update}");
    }

    #[test]
    fn a_piece_stands_below_its_heading() {
        let text = "def a():\n    return 1\n\nclass B:\n    def b(self):\n        pass\n\n    def c(self):\n        pass\n";
        let after = text.replace("c(self):\n        pass", "c(self):\n        return 2");
        let update = "@@ def c(self):\n-        pass\n+        return 2\n";
        check(text, update, Some(&after));
        check(text, &format!("@@ class B:\n{update}"), Some(&after));
        check(text, "@@ def d():\n-        pass\n", None);
        check(text, "@@ def c(self):\n-    return 1\n", None);
        check(text, "@@ pass\n-\n+    # first\n", None);
        check(text, "@@ def c(self):\n+    @final\n", None);
    }

    #[test]
    fn pieces_are_whole_lines_in_their_order() {
        check("xa\na\n", "@@\n-a\n+b\n", Some("xa\nb\n"));
        check("a\nax\n", "@@\n-a\n+b\n", Some("b\nax\n"));
        check("a", "-a\n+b\n", Some("b\n"));
        check("a\nb\nc\n", "@@\n-a\n@@\n-c\n+d\n", Some("b\nd\n"));
        check("a\nb\nc\n", "@@\n-c\n@@\n-a\n", None);
        check("a\nb\n", "@@\n-c\n", None);
        check("", "@@\n+a\n", Some("a\n"));
    }

    #[test]
    fn a_place_is_taken_where_it_is_the_only_one() {
        check("a\nb\na\n", "@@\n-a\n+c\n", None);
        check("a\na\na\n", "@@\n-a\n-a\n", None);
        check("a\nb\na\n", "@@\n b\n-a\n+c\n", Some("a\nb\nc\n"));
        // The other one is not behind, or not before, the other piece.
        check("a\nb\na\n", "@@\n-b\n@@\n-a\n+c\n", Some("a\nc\n"));
        check("a\nb\na\n", "@@\n-a\n+c\n@@\n-b\n", Some("c\na\n"));
        check("h\na\nh\na\n", "@@ h\n-a\n+c\n", None);
    }

    #[test]
    fn the_end_of_the_file_is_where_it_ends() {
        let at_end = |lines: &str| format!("@@\n{lines}*** End of File\n");
        check("one\ntwo\n", &at_end("+three\n"), Some("one\ntwo\nthree\n"));
        check("a\nb\na\n", &at_end("-a\n+c\n"), Some("a\nb\nc\n"));
        check("a\nb\n", &at_end("-a\n+c\n"), None);
        check("a\n", &format!("@@\n-a\n+b\n{}", at_end("-a\n")), None);
        check("a\nb\n", "@@\n+c\n@@\n-a\n", Some("b\nc\n"));
        check("a\n\n", "@@\n-a\n+b\n", None);
        check("a\n", "@@\n a\n+\n", None);
    }
}
