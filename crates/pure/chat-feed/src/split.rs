//! Cuts Markdown text into the blocks that are shown as rows of their own, while it grows.
//!
//! The cut is a function of the text alone: however it came in pieces, the same text gives the same blocks. Only
//! paragraphs, headings and fenced code are told apart; what stands within a paragraph is for the component.

use std::ops::Range;

use crate::block::TextKind;

/// Rows stay small enough to be mounted one by one: a code block is cut after this many lines.
const CODE_LINES_PER_ROW: u32 = 64;

/// A paragraph is cut at the next line once it is this long, in bytes.
const PARAGRAPH_BYTES_PER_ROW: usize = 4096;

/// Fences with a longer info string are text; so looking at an unfinished line costs the same however long it grows.
const INFO_STRING_BYTES: usize = 200;

/// One block of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it stands in the text, in bytes.
    pub(crate) range: Range<usize>,
    /// What it is.
    pub(crate) kind: TextKind,
}

/// Where the cutting of one growing text stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Splitter {
    open: Open,
    /// Start of the first line that is not complete.
    line_start: usize,
    /// How far the text was looked at for newlines.
    seen: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Open {
    #[default]
    Nothing,
    Paragraph(Range<usize>),
    Code(Code),
}

#[derive(Clone, Debug, PartialEq)]
struct Code {
    fence: u8,
    fence_len: usize,
    language: Box<str>,
    begins: bool,
    range: Range<usize>,
    n_lines: u32,
}

impl Code {
    fn piece(self, ends: bool) -> Piece {
        Piece {
            range: self.range,
            kind: TextKind::Code {
                language: self.language,
                begins: self.begins,
                ends,
            },
        }
    }
}

impl Splitter {
    /// Takes the lines that became complete since the last call; blocks that can change no more are added to `closed`.
    pub(crate) fn push(&mut self, text: &str, closed: &mut Vec<Piece>) {
        while let Some(at) = find_newline(text, self.seen) {
            let line = self.line_start..at;
            self.line_start = at + 1;
            self.seen = at + 1;
            self.open.take_line(text, line, closed);
        }
        self.seen = text.len();
    }

    /// The blocks at the end of the text that may still change: at most one that is open and what the unfinished last
    /// line makes of it.
    pub(crate) fn tail(&self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut open = self.open.clone();
        if self.line_start < text.len() {
            open.take_line(text, self.line_start..text.len(), &mut pieces);
        }
        match open {
            Open::Nothing => {}
            Open::Paragraph(range) => pieces.push(paragraph(range)),
            Open::Code(code) => pieces.push(code.piece(true)),
        }
        pieces
    }
}

impl Open {
    fn take_line(&mut self, text: &str, line: Range<usize>, closed: &mut Vec<Piece>) {
        let content = text[line.clone()].trim_end_matches('\r');
        let content_end = line.start + content.len();
        *self = match std::mem::take(self) {
            Open::Code(code) if closes(content, &code) => {
                closed.push(code.piece(true));
                Open::Nothing
            }
            Open::Code(code) if code.n_lines == CODE_LINES_PER_ROW => {
                let next = Code {
                    begins: false,
                    range: line.start..content_end,
                    n_lines: 1,
                    ..code.clone()
                };
                closed.push(code.piece(false));
                Open::Code(next)
            }
            Open::Code(mut code) => {
                if code.n_lines == 0 {
                    code.range.start = line.start;
                }
                code.range.end = content_end;
                code.n_lines += 1;
                Open::Code(code)
            }
            outside => outside.take_text_line(content, line.start..content_end, closed),
        };
    }

    fn take_text_line(self, content: &str, line: Range<usize>, closed: &mut Vec<Piece>) -> Open {
        let goes_on = |closed: &mut Vec<Piece>| {
            if let Open::Paragraph(range) = &self {
                closed.push(paragraph(range.clone()));
            }
        };
        if content.trim_start_matches([' ', '\t']).is_empty() {
            goes_on(closed);
            return Open::Nothing;
        }
        if let Some((fence, fence_len, language)) = opens(content) {
            goes_on(closed);
            return Open::Code(Code {
                fence,
                fence_len,
                language: language.into(),
                begins: true,
                range: line.end..line.end,
                n_lines: 0,
            });
        }
        if let Some((level, text_start)) = heading(content) {
            goes_on(closed);
            closed.push(Piece {
                range: line.start + text_start..line.end,
                kind: TextKind::Heading(level),
            });
            return Open::Nothing;
        }
        match self {
            Open::Paragraph(range) if range.len() < PARAGRAPH_BYTES_PER_ROW => {
                Open::Paragraph(range.start..line.end)
            }
            other => {
                if let Open::Paragraph(range) = other {
                    closed.push(paragraph(range));
                }
                Open::Paragraph(line)
            }
        }
    }
}

fn paragraph(range: Range<usize>) -> Piece {
    Piece {
        range,
        kind: TextKind::Paragraph,
    }
}

fn find_newline(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    rest.iter()
        .position(|&byte| byte == b'\n')
        .map(|at| from + at)
}

/// The content behind at most three spaces; `None` where there are more.
fn indented(content: &str) -> Option<&str> {
    let trimmed = content.trim_start_matches(' ');
    (content.len() - trimmed.len() <= 3).then_some(trimmed)
}

/// The fence a line opens: its character, its length and what stands behind it (CommonMark 0.31, 4.5).
fn opens(content: &str) -> Option<(u8, usize, &str)> {
    let content = indented(content)?;
    let fence = *content.as_bytes().first()?;
    if fence != b'`' && fence != b'~' {
        return None;
    }
    let n_fence = content.bytes().take_while(|&byte| byte == fence).count();
    let info = &content[n_fence..];
    if n_fence < 3 || info.len() > INFO_STRING_BYTES || (fence == b'`' && info.contains('`')) {
        return None;
    }
    let language = info.split_whitespace().next().unwrap_or_default();
    Some((fence, n_fence, language))
}

fn closes(content: &str, code: &Code) -> bool {
    let Some(content) = indented(content) else {
        return false;
    };
    // A line longer than any fence is code; so an endless line is not read to its end at every piece of it.
    if content.len() > INFO_STRING_BYTES {
        return false;
    }
    let n_fence = content
        .bytes()
        .take_while(|&byte| byte == code.fence)
        .count();
    n_fence >= code.fence_len && content[n_fence..].trim().is_empty()
}

/// The level of a heading and where its text starts (CommonMark 0.31, 4.2).
fn heading(content: &str) -> Option<(u8, usize)> {
    let trimmed = indented(content)?;
    let n_hashes = trimmed
        .bytes()
        .take(7)
        .take_while(|&byte| byte == b'#')
        .count();
    let level = u8::try_from(n_hashes)
        .ok()
        .filter(|level| (1..=6).contains(level))?;
    let rest = &trimmed[n_hashes..];
    if !rest.starts_with([' ', '\t']) || rest.trim_start().is_empty() {
        return None;
    }
    Some((level, content.len() - rest.trim_start().len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut splitter = Splitter::default();
        splitter.push(text, &mut pieces);
        pieces.extend(splitter.tail(text));
        pieces
    }

    fn shown(text: &str) -> Vec<(String, &str)> {
        whole(text)
            .into_iter()
            .map(|piece| {
                let label = match piece.kind {
                    TextKind::Paragraph => "p".to_owned(),
                    TextKind::Heading(level) => format!("h{level}"),
                    TextKind::Code { language, .. } => format!("code {language}"),
                };
                (label, &text[piece.range])
            })
            .collect()
    }

    #[test]
    fn paragraphs_headings_and_code_are_told_apart() {
        let text =
            "# Plan\nfirst\nstill first\n\nsecond\n```rust\nlet a = 1;\n\nlet b = 2;\n```\nafter";
        assert_eq!(
            shown(text),
            [
                ("h1".to_owned(), "Plan"),
                ("p".to_owned(), "first\nstill first"),
                ("p".to_owned(), "second"),
                ("code rust".to_owned(), "let a = 1;\n\nlet b = 2;"),
                ("p".to_owned(), "after"),
            ]
        );
    }

    #[test]
    fn an_unfinished_fence_is_code_at_once() {
        assert_eq!(
            shown("look:\n~~~\nx"),
            [("p".to_owned(), "look:"), ("code ".to_owned(), "x")]
        );
        assert_eq!(shown("```ru"), [("code ru".to_owned(), "")]);
    }

    #[test]
    fn a_long_code_block_becomes_several_rows() {
        let text = format!("```\n{}```\n", "line\n".repeat(130));
        let rows = whole(&text);
        assert_eq!(rows.len(), 3);
        let flags: Vec<_> = rows
            .iter()
            .map(|row| match row.kind {
                TextKind::Code { begins, ends, .. } => (begins, ends),
                _ => (false, false),
            })
            .collect();
        assert_eq!(flags, [(true, false), (false, false), (false, true)]);
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_blocks_of_the_whole(
            lines in proptest::collection::vec("(```|~~~~|# |```a b|  x|é\r?|\u{20ac}y|)[a`~# ]{0,3}", 0..40),
            cuts in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let text = lines.join("\n");
            let mut closed = Vec::new();
            let mut splitter = Splitter::default();
            let mut cuts: Vec<_> = cuts.into_iter().filter(|&cut| text.is_char_boundary(cut) && cut <= text.len()).collect();
            cuts.sort_unstable();
            for cut in cuts {
                splitter.push(&text[..cut], &mut closed);
                let mut now = closed.clone();
                now.extend(splitter.tail(&text[..cut]));
                prop_assert_eq!(now, whole(&text[..cut]));
            }
            splitter.push(&text, &mut closed);
            closed.extend(splitter.tail(&text));
            prop_assert_eq!(closed, whole(&text));
        }
    }
}
