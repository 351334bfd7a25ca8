//! Markup that was begun at the end of a block that is still being written: shown as what it will most likely become, so
//! that its marks do not flash by.

use crate::split::cells;

/// The table that a paragraph is about to be: its header, with a line under it that the parser takes.
pub(super) fn begun_table(source: &str) -> Option<String> {
    let (header, rest) = source.split_once('\n').unwrap_or((source, ""));
    if !header.starts_with('|') || header.len() < 3 {
        return None;
    }
    let is_line_under = |byte: u8| matches!(byte, b'|' | b'-' | b':' | b' ');
    if !rest.bytes().all(is_line_under) {
        return None;
    }
    let n_columns = cells(header).count();
    Some(format!("{header}\n|{}", "-|".repeat(n_columns)))
}

/// The source with what was begun in its last paragraph ended; `None` where nothing is open.
pub(super) fn closed(source: &str, prose: bool) -> Option<String> {
    let end = source.trim_end_matches([' ', '\n']).len();
    let from = match prose {
        true => source[..end].rfind("\n\n").map_or(0, |at| at + 2),
        // In other blocks a line is as much as can be told.
        false => source[..end].rfind('\n').map_or(0, |at| at + 1),
    };
    let mut scan = Scan {
        text: &source[from..end],
        at: 0,
        open: Vec::new(),
        left_out: Vec::new(),
        closers: String::new(),
    };
    scan.run();
    let shorter = scan.text.len() < end - from;
    if !shorter && scan.open.is_empty() && scan.left_out.is_empty() && scan.closers.is_empty() {
        return None;
    }
    Some(scan.written(source, from, end))
}

struct Scan<'s> {
    text: &'s str,
    at: usize,
    /// Emphasis that was begun: its mark, how many of them, and where.
    open: Vec<(u8, usize, usize)>,
    /// Stretches that are not shown.
    left_out: Vec<(usize, usize)>,
    /// What ends code.
    closers: String,
}

impl Scan<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'`' => self.code(),
                b'*' | b'_' | b'~' => self.emphasis(byte),
                b'[' => self.label(),
                _ => self.at += 1,
            }
        }
    }

    fn run_at(&self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        bytes[at..]
            .iter()
            .take_while(|&&byte| byte == bytes[at])
            .count()
    }

    fn code(&mut self) {
        let len = self.run_at(self.at);
        let start = self.at;
        let mut at = start + len;
        while let Some(found) = self.text[at..].find('`') {
            let run = self.run_at(at + found);
            at += found + run;
            if run == len {
                self.at = at;
                return;
            }
        }
        // What ends with a shorter run may be about to end.
        let rest = self.text[start + len..].trim_end_matches('`');
        let end = start + len + rest.len();
        if rest.is_empty() {
            self.left_out.push((start, self.text.len()));
        } else {
            if end < self.text.len() {
                self.left_out.push((end, self.text.len()));
            }
            self.closers = "`".repeat(len);
        }
        self.at = self.text.len();
    }

    fn emphasis(&mut self, mark: u8) {
        let start = self.at;
        let len = self.run_at(start);
        self.at += len;
        let before = self.text[..start].chars().next_back();
        let after = self.text[self.at..].chars().next();
        if mark == b'~' && len == 1 {
            return;
        }
        let blank = |char: Option<char>| char.is_none_or(char::is_whitespace);
        let word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
        let mut left = len;
        if !blank(before) && (mark != b'_' || !word(after)) {
            left = self.end_emphasis(mark, len);
        }
        let opens = !blank(after) && !word(before);
        if left > 0 && opens {
            self.open.push((mark, left, start + len - left));
        } else if left > 0 && after.is_none() && !word(before) {
            // Only a mark was written so far: of emphasis, or of what ends it.
            self.left_out.push((start + len - left, self.at));
        }
    }

    /// Ends what these marks can end; returns how many are left.
    fn end_emphasis(&mut self, mark: u8, len: usize) -> usize {
        let mut left = len;
        while left > 0 {
            let Some(nth) = self.open.iter().rposition(|&(open, ..)| open == mark) else {
                break;
            };
            let ended = self.open[nth].1.min(left);
            // One of two marks at the very end: the other is still to come.
            if ended < self.open[nth].1 && self.at == self.text.len() {
                self.left_out.push((self.at - left, self.at));
                return 0;
            }
            self.open.truncate(nth + 1);
            left -= ended;
            self.open[nth].1 -= ended;
            if self.open[nth].1 == 0 {
                self.open.pop();
            }
        }
        left
    }

    /// A bracket: of a link, where what follows is one or still missing.
    fn label(&mut self) {
        let start = self.at;
        self.at += 1;
        let before = self.text[..start].chars().next_back();
        if before.is_some_and(char::is_alphanumeric) {
            return;
        }
        let mark = start - usize::from(before == Some('!'));
        let rest = &self.text[self.at..];
        match rest.find(']') {
            None if rest.contains('\n') => {}
            // A task's box is none.
            None if rest.trim().is_empty() || rest.eq_ignore_ascii_case("x") => {
                self.left_out.push((mark, self.text.len()));
                self.at = self.text.len();
            }
            None => self.left_out.push((mark, self.at)),
            Some(end) => {
                let end = self.at + end;
                let behind = &self.text[end + 1..];
                let unfinished = behind.is_empty() && end > self.at + 1
                    || behind.starts_with('(') && !behind.contains([')', '\n']);
                if unfinished {
                    self.left_out.push((mark, self.at));
                    self.text = &self.text[..end];
                }
            }
        }
    }

    fn written(mut self, source: &str, from: usize, end: usize) -> String {
        self.left_out.sort_unstable();
        let mut written = source[..from].to_owned();
        let mut at = 0;
        for &(start, stop) in &self.left_out {
            if start >= at {
                written.push_str(&self.text[at..start]);
            }
            at = at.max(stop);
        }
        written.push_str(&self.text[at.min(self.text.len())..]);
        let kept = written.trim_end_matches(' ').len();
        let blanks = written.split_off(kept);
        written.push_str(&self.closers);
        for &(mark, len, _) in self.open.iter().rev() {
            written.extend(std::iter::repeat_n(char::from(mark), len));
        }
        written.push_str(&blanks);
        written.push_str(&source[end..]);
        written
    }
}
