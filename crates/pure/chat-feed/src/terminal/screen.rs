//! Programs that draw on a whole screen: what stood on it last, by a real emulator (`avt`).
//!
//! Such output says nothing of how large its screen was; it is taken to be as large as the cursor went, and at least
//! 80 × 24. What was on the alternate screen is gone with it, as in a terminal: the lines as they were printed can still
//! be shown by [`super::Terminal`].

mod spared;

use std::ops::Range;
use std::rc::Rc;

use avt::{Pen, Terminal};

use super::machine::is_unfinished;
use super::style::{Color, Part, Style};
use super::{Line, Printed, Run};
use spared::Spared;

/// Lines that are kept of what ran out of the screen.
const HISTORY_LINES: usize = 2_000;
/// Of a longer output only the end is drawn, at least so much and at most twice as much: a program that draws a screen does
/// so again and again.
const LEAST_BYTES: usize = 2 * 1024 * 1024;

/// The lines of the screen at the end, behind those that ran out of it.
pub fn lines(printed: Printed<'_>, size: (usize, usize)) -> Vec<Line> {
    let mut screen = Screen::default();
    screen.read(printed, size);
    screen.lines().to_vec()
}

/// The screen of an output that grows.
#[derive(Default)]
pub struct Screen {
    drawn: Option<Drawn>,
    /// Once they were asked for.
    lines: Option<Rc<[Line]>>,
}

/// What was read onto a screen.
struct Drawn {
    /// `None` while nothing more is expected.
    emulator: Option<(Box<Terminal>, Spared)>,
    size: (usize, usize),
    /// From where in what was printed, and up to where.
    from: usize,
    n_read: usize,
    /// Whether a line feed stood behind a carriage return.
    has_returns: bool,
}

impl Screen {
    /// Reads on in what was printed, for a screen of so many columns and rows; returns how many bytes that took. What was
    /// read before must stand unchanged at its start: it is read again where the screen is of another size than it was.
    pub fn read(&mut self, printed: Printed<'_>, size: (usize, usize)) -> usize {
        let bytes = printed.bytes;
        let from = first_byte(bytes.len());
        let end = bytes.len() - n_unfinished(bytes);
        let goes_on = self.drawn.take().filter(|drawn| {
            let same = (drawn.size, drawn.from) == (size, from) && drawn.n_read <= end;
            let new = drawn.n_read.max(from + 1) - 1..end;
            same && (drawn.emulator.is_some() || drawn.n_read == end)
                && (drawn.has_returns || !has_returns(bytes, new))
        });
        let begins = goes_on.is_none();
        let mut drawn = goes_on.unwrap_or_else(|| Drawn::begin(bytes, from..end, size));
        let n_new = drawn.feed(bytes, end);
        if begins || n_new > 0 {
            self.lines = None;
        }
        self.drawn = Some(drawn);
        n_new
    }

    /// Nothing more is expected: the lines are kept and nothing else.
    pub fn rest(&mut self) {
        self.lines();
        if let Some(drawn) = &mut self.drawn {
            drawn.emulator = None;
        }
    }

    /// The lines of what was read, behind those that ran out of the screen.
    pub fn lines(&mut self) -> Rc<[Line]> {
        let emulator = self
            .drawn
            .as_ref()
            .and_then(|drawn| drawn.emulator.as_ref());
        let lines = self.lines.get_or_insert_with(|| {
            let rows = emulator.map(|(terminal, _)| terminal.screen());
            let mut lines: Vec<Line> = rows
                .iter()
                .flat_map(|screen| screen.all_lines())
                .map(line)
                .collect();
            while lines.last().is_some_and(|line| line.text.is_empty()) {
                lines.pop();
            }
            lines.into()
        });
        lines.clone()
    }

    /// The last so many of those lines: of a screen that is still drawn on no others are looked at, and to make all of them
    /// with each piece takes long.
    pub fn last_lines(&self, most: usize) -> Vec<Line> {
        if let Some(lines) = &self.lines {
            return lines[lines.len().saturating_sub(most)..].to_vec();
        }
        let emulator = self
            .drawn
            .as_ref()
            .and_then(|drawn| drawn.emulator.as_ref());
        let rows = emulator.map(|(terminal, _)| terminal.screen());
        let rows: Vec<&avt::Line> = rows.iter().flat_map(|screen| screen.all_lines()).collect();
        let last = rows.into_iter().rev().map(line);
        let mut last: Vec<Line> = last
            .skip_while(|line| line.text.is_empty())
            .take(most)
            .collect();
        last.reverse();
        last
    }
}

impl Drawn {
    fn begin(bytes: &[u8], range: Range<usize>, size: (usize, usize)) -> Drawn {
        let has_returns = has_returns(bytes, range.clone());
        let terminal = Terminal::with_scrollback(size.0, size.1, Some(HISTORY_LINES));
        let emulator = terminal.ok().map(|mut terminal| {
            // Where line feeds come alone, the program relied on its terminal to return the cursor as well.
            if !has_returns {
                terminal.feed("\u{1b}[20h");
            }
            (Box::new(terminal), Spared::new())
        });
        Drawn {
            emulator,
            size,
            from: range.start,
            n_read: range.start,
            has_returns,
        }
    }

    /// Reads on to `end`; returns how many bytes that took.
    fn feed(&mut self, bytes: &[u8], end: usize) -> usize {
        let new = bytes.get(self.n_read..end).unwrap_or_default();
        self.n_read = self.n_read.max(end);
        if let Some((terminal, spared)) = &mut self.emulator
            && !new.is_empty()
        {
            spared.feed(terminal, &String::from_utf8_lossy(new), self.size);
        }
        new.len()
    }
}

/// From where so many bytes are drawn: the same whatever the pieces were, and seldom another.
fn first_byte(n_bytes: usize) -> usize {
    (n_bytes / LEAST_BYTES).saturating_sub(1) * LEAST_BYTES
}

/// Whether a line feed stands behind a carriage return in a part of what was printed.
fn has_returns(bytes: &[u8], part: Range<usize>) -> bool {
    let part = bytes.get(part).unwrap_or_default();
    part.windows(2).any(|two| two == b"\r\n")
}

/// How many bytes at the end begin a character whose rest may still come.
fn n_unfinished(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let begin = tail.iter().rposition(|byte| *byte >= 0xc0);
    let begun = begin.map_or(&[][..], |at| &tail[at..]);
    if is_unfinished(begun) { begun.len() } else { 0 }
}

fn line(row: &avt::Line) -> Line {
    let mut line = Line::default();
    let cells = row.cells();
    let is_seen = |cell: &avt::Cell| cell.char() != ' ' || style(cell.pen()) != Style::default();
    let n_seen = cells.iter().rposition(is_seen).map_or(0, |at| at + 1);
    for cell in &cells[..n_seen] {
        // The second half of a wide character.
        if cell.width() == 0 {
            continue;
        }
        match cell.char().is_control() {
            true => line.text.push(' '),
            false => line.text.push(cell.char()),
        }
        let style = style(cell.pen());
        let end = line.text.len();
        match line.runs.last_mut() {
            Some(run) if run.style == style => run.end = end,
            _ => line.runs.push(Run { end, style }),
        }
    }
    line
}

fn style(pen: &Pen) -> Style {
    let style = Style {
        foreground: pen.foreground().map_or(Color::Default, color),
        background: pen.background().map_or(Color::Default, color),
        ..Style::default()
    };
    style
        .with(Part::Bold, pen.is_bold())
        .with(Part::Dim, pen.is_faint())
        .with(Part::Italic, pen.is_italic())
        .with(Part::Underline, pen.is_underline())
        .with(Part::Strike, pen.is_strikethrough())
        .with(Part::Inverse, pen.is_inverse())
}

fn color(color: avt::Color) -> Color {
    match color {
        avt::Color::Indexed(index) => Color::Indexed(index),
        avt::Color::RGB(rgb) => Color::Rgb(rgb.r, rgb.g, rgb.b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(text: &str, size: (usize, usize), n_pieces: usize) -> (Screen, usize) {
        let bytes = text.as_bytes();
        let mut screen = Screen::default();
        let ends = (1..=n_pieces).map(|nth| bytes.len() * nth / n_pieces);
        let printed = ends.map(|end| Printed {
            bytes: &bytes[..end],
            switches: &[],
        });
        let n_taken = printed.map(|printed| screen.read(printed, size)).sum();
        (screen, n_taken)
    }

    #[test]
    fn a_screen_that_grows_reads_each_byte_once() {
        let frame = "\u{1b}[H\u{1b}[2Jé 12 %\r\n\u{1b}[5;3H\u{1b}[31m▌ step\u{1b}[0m\n";
        let text = frame.repeat(2_000);
        for n_pieces in [1, 7, 2_000] {
            let (mut screen, n_taken) = in_pieces(&text, (80, 24), n_pieces);
            assert_eq!(n_taken, text.len(), "{n_pieces}");
            assert_eq!(screen.lines()[..], lines(Printed::text(&text), (80, 24)));
            // The same again takes nothing, also when the emulator is gone.
            screen.rest();
            assert_eq!(screen.read(Printed::text(&text), (80, 24)), 0);
            assert_eq!(screen.lines()[4].text, "  ▌ step");
        }
    }

    #[test]
    fn of_a_long_output_the_end_is_read_and_no_byte_more_than_twice() {
        let (mut n_taken, mut n_read, mut from) = (0, 0, 0);
        for n_bytes in (0..100 * LEAST_BYTES).step_by(10_007) {
            let first = first_byte(n_bytes);
            n_taken += n_bytes - if first == from { n_read } else { first };
            (n_read, from) = (n_bytes, first);
            assert!(n_bytes - first <= 2 * LEAST_BYTES, "{n_bytes}");
            assert!(first == 0 || n_bytes - first >= LEAST_BYTES, "{n_bytes}");
        }
        assert!(n_taken <= 2 * n_read, "{n_taken} of {n_read}");
    }

    #[test]
    fn a_screen_of_another_size_is_drawn_anew() {
        let text = "\u{1b}[60;1Hlow";
        let (mut screen, _) = in_pieces(text, (80, 24), 2);
        assert_eq!(screen.lines().len(), 24);
        assert_eq!(screen.read(Printed::text(text), (80, 60)), text.len());
        assert_eq!(screen.lines().len(), 60);
    }

    #[test]
    fn any_pieces_give_the_same_screen() {
        for text in [
            "a\nb\r\nc\u{1b}]0;lost\r\nd",
            "x\u{1b}[65535by\u{1b}P1;lost\nz\u{9b}31mé漢\u{1b}[2;2H\r\n",
            "a\nb\nc\u{1b}c\nd",
        ] {
            let whole = lines(Printed::text(text), (20, 5));
            for n_pieces in 1..=text.len() {
                let (mut screen, _) = in_pieces(text, (20, 5), n_pieces);
                for most in [0, 1, 3, 99] {
                    let last = &whole[whole.len().saturating_sub(most)..];
                    assert_eq!(screen.last_lines(most), last, "{text:?} in {n_pieces}");
                }
                assert_eq!(screen.lines()[..], whole, "{text:?} in {n_pieces}");
            }
        }
    }
}
