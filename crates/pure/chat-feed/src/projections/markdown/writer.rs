//! Blocks of Markdown from which no content gets out: quotes, fences, code spans, escaped text.
//!
//! Every text of a session comes through here. Terminal codes are taken out and other controls made visible, so that a
//! transcript can also be read with `cat`.

use super::prose::{self, Prose};
use crate::controls;
use crate::projections::TextSink;

/// Quotes within quotes deeper than this are shown at this depth: readers indent each.
const MAX_QUOTE_DEPTH: usize = 8;

/// A line of a list or a heading is cut to this many characters.
pub(super) const LINE_CHARS: usize = 200;

/// Writes blocks with an empty line between them.
pub(super) struct Writer<'s, S> {
    sink: &'s mut S,
    quotes: usize,
    /// How many quotes the empty line before the next block stands in, where there is to be one.
    gap: Option<usize>,
}

impl<'s, S: TextSink> Writer<'s, S> {
    pub(super) fn new(sink: &'s mut S) -> Self {
        Writer {
            sink,
            quotes: 0,
            gap: None,
        }
    }

    /// Ends the last block.
    pub(super) fn finish(self) {
        if self.gap.is_some() {
            self.sink.text("\n");
        }
    }

    /// Writes what `write` writes as a quote.
    pub(super) fn quoted(&mut self, write: impl FnOnce(&mut Self)) {
        // Without a line between them two quotes would be one.
        let outside = self.quotes;
        self.gap = self.gap.map(|gap| gap.min(outside));
        self.quotes += 1;
        write(self);
        self.quotes = outside;
        self.gap = self.gap.map(|gap| gap.min(outside));
    }

    /// A block of Markdown that is made of escaped text.
    pub(super) fn block(&mut self, markdown: &str) {
        if let Some(gap) = self.gap {
            self.line(gap.min(self.quotes), "");
        }
        for line in markdown.split('\n') {
            self.line(self.quotes, line);
        }
        self.gap = Some(self.quotes);
    }

    /// A text that is Markdown itself.
    pub(super) fn prose(&mut self, text: &str) {
        let text = clean(text);
        if text.trim().is_empty() {
            return;
        }
        match prose::tamed(&text) {
            Prose::Tame(markdown) => self.block(&markdown),
            Prose::Wild => self.fence("markdown", &text),
        }
    }

    /// A text word for word.
    pub(super) fn fence(&mut self, info: &str, text: &str) {
        let text = clean(text);
        let fence = "`".repeat(longest_run(&text).max(2) + 1);
        let body = text.strip_suffix('\n').unwrap_or(&text);
        self.block(&format!("{fence}{info}\n{body}\n{fence}"));
    }

    fn line(&mut self, quotes: usize, line: &str) {
        let prefix = "> ".repeat(quotes.min(MAX_QUOTE_DEPTH));
        match line.is_empty() {
            true => self.sink.text(prefix.trim_end()),
            false => {
                self.sink.text(&prefix);
                self.sink.text(line);
            }
        }
        self.sink.text("\n");
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// A short text as code on one line; empty where it is.
pub(super) fn code(text: &str) -> String {
    let line = one_line(text);
    if line.is_empty() {
        return line;
    }
    let mark = "`".repeat(longest_run(&line) + 1);
    // Readers take off one space at each side, where both are there.
    let pads = line.starts_with(['`', ' ']) || line.ends_with(['`', ' ']);
    let pad = if pads { " " } else { "" };
    format!("{mark}{pad}{line}{pad}{mark}")
}

/// A short text as words on one line, none of which means anything to Markdown.
pub(super) fn words(text: &str) -> String {
    let mut escaped = String::new();
    let mut numbered = true;
    for c in one_line(text).chars() {
        // At the beginning these would make a list.
        let lists = match escaped.is_empty() {
            true => "-+=".contains(c),
            false => numbered && ".)".contains(c),
        };
        numbered &= c.is_ascii_digit();
        if lists || r"\`*_[]<>&#|~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn one_line(text: &str) -> String {
    let text = clean(text);
    let mut line = String::new();
    for (nth, c) in text.trim().chars().enumerate() {
        if nth == LINE_CHARS {
            line.push('…');
            break;
        }
        line.push(if c == '\n' || c == '\t' { ' ' } else { c });
    }
    line
}

/// The text without terminal codes; line ends are `\n`, what no one sees is made visible.
pub(super) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    controls::without(text, &mut cleaned, &mut |c, cleaned| match c {
        '\n' | '\r' => cleaned.push(c),
        // These turn the order of what is read around.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            cleaned.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
        }
        c if c.is_control() => cleaned.push('\u{fffd}'),
        c => cleaned.push(c),
    });
    match cleaned.contains('\r') {
        true => cleaned.replace("\r\n", "\n").replace('\r', "\n"),
        false => cleaned,
    }
}
