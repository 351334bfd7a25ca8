//! Programs that draw on a whole screen: what stood on it last, by a real emulator (`avt`).
//!
//! Such output says nothing of how large its screen was; it is taken to be as large as the cursor went, and at least
//! 80 × 24. What was on the alternate screen is gone with it, as in a terminal: the lines as they were printed can still
//! be shown by [`super::Terminal`].

mod spared;

use avt::{Pen, Terminal};

use super::style::{Color, Part, Style};
use super::{Line, Printed, Run};

/// Lines that are kept of what ran out of the screen.
const HISTORY_LINES: usize = 2_000;
/// Of a longer output only the end is drawn: a program that draws a screen does so again and again.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The lines of the screen at the end, behind those that ran out of it.
pub fn lines(printed: Printed<'_>, (columns, rows): (usize, usize)) -> Vec<Line> {
    let from = printed.bytes.len().saturating_sub(MOST_BYTES);
    let text = String::from_utf8_lossy(&printed.bytes[from..]);
    let Ok(mut terminal) = Terminal::with_scrollback(columns, rows, Some(HISTORY_LINES)) else {
        return Vec::new();
    };
    // Where line feeds come alone, the program relied on its terminal to return the cursor as well.
    if !text.contains("\r\n") {
        terminal.feed("\u{1b}[20h");
    }
    spared::feed(&mut terminal, &text, (columns, rows));
    let screen = terminal.screen();
    let mut lines: Vec<Line> = screen.all_lines().map(line).collect();
    while lines.last().is_some_and(|line| line.text.is_empty()) {
        lines.pop();
    }
    lines
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
