//! What a program printed, as a terminal shows it: from bytes to lines of styled text, with no control left in them.
//!
//! A [`Terminal`] is read forward once, as the text comes, and keeps no copy of it: only the newest lines, which may
//! still change, and places to begin reading from. Any other lines are read again when they are asked for, so that an
//! output of any length can be shown through a window.
//!
//! - [`contrast`] says what colours are shown on which ground.
//! - [`screen`] shows programs that draw on a whole screen, which have no lines.
//!
//! Bytes are taken in any pieces: the lines are the same whatever the pieces were. Which lines are shown is for the
//! components.

pub mod contrast;
mod links;
mod machine;
mod row;
pub mod screen;
mod style;

use std::ops::Range;
use std::rc::Rc;

use chat_event::TextRef;

use machine::{FreshLine, Reader};

pub(crate) use row::MOST_COLUMNS;

pub use style::{Color, Stream, Style};

/// A place to begin from is kept after so many bytes: reading on from one takes no time that can be felt.
const BYTES_BETWEEN_PLACES: usize = 32 * 1024;
/// Where lines are changed all the time, none of them is a place to begin from; then all that can still change is kept
/// instead, after so many bytes.
const BYTES_BETWEEN_COPIES: usize = 256 * 1024;
/// … and not more of it than this part of what was read.
const PART_OF_COPIES: usize = 16;

/// What a program printed so far.
#[derive(Clone, Copy, Debug)]
pub struct Printed<'p> {
    /// All of it, in the order it came; what is no UTF-8 is shown as such.
    pub bytes: &'p [u8],
    /// Where another stream than before begins, ascending; before the first it is [`Stream::Stdout`].
    pub switches: &'p [(usize, Stream)],
}

/// What a call of a feed printed, while it is read.
#[derive(Clone, Debug, Default)]
pub struct Output<'f> {
    pub(crate) text: TextRef<'f>,
    pub(crate) switches: &'f [(usize, Stream)],
}

impl<'f> Output<'f> {
    /// Of a text that comes from one stream.
    pub fn text(text: &'f str) -> Output<'f> {
        Output {
            text: text.into(),
            switches: &[],
        }
    }

    /// It, as it is drawn.
    pub fn printed(&self) -> Printed<'_> {
        Printed {
            bytes: self.text.as_bytes(),
            switches: self.switches,
        }
    }
}

impl<'p> Printed<'p> {
    /// Of a text that comes from one stream.
    pub fn text(text: &'p str) -> Printed<'p> {
        Printed {
            bytes: text.as_bytes(),
            switches: &[],
        }
    }

    /// The piece from `from` to the next switch, or to `most` bytes.
    fn piece(&self, from: usize, most: usize) -> Option<(&'p [u8], Stream)> {
        let n_before = self.switches.partition_point(|(at, _)| *at <= from);
        let stream = n_before
            .checked_sub(1)
            .map_or(Stream::Stdout, |at| self.switches[at].1);
        let next = self
            .switches
            .get(n_before)
            .map_or(usize::MAX, |(at, _)| *at);
        let to = next.min(from.saturating_add(most)).min(self.bytes.len());
        let piece = self.bytes.get(from..to).filter(|piece| !piece.is_empty())?;
        Some((piece, stream))
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its text: no control but the tab.
    pub text: String,
    /// How it looks, run by run, up to its end.
    pub runs: Vec<Run>,
    /// Whether it was written to the stream of errors.
    pub stderr: bool,
    /// So many bytes at its end are left out.
    pub cut_bytes: u64,
}

/// A stretch of a line that looks the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where it ends in the line's text, in bytes; it begins where the one before ends.
    pub end: usize,
    /// How it looks.
    pub style: Style,
}

/// A terminal without width and with any number of lines.
///
/// ```
/// use chat_feed::terminal::{Printed, Terminal};
/// let printed = Printed::text("10%\r100%\n\u{1b}[32mok\u{1b}[0m");
/// let mut terminal = Terminal::new();
/// terminal.read(printed, usize::MAX);
/// let texts: Vec<String> = terminal.lines(printed, 0..2).into_iter().map(|line| line.text).collect();
/// assert_eq!(texts, ["100%", "ok"]);
/// ```
#[derive(Clone, Debug)]
pub struct Terminal {
    reader: Reader,
    /// So many bytes were read.
    n_read: usize,
    places: Vec<Place>,
}

/// A place to begin reading from.
#[derive(Clone, Debug)]
struct Place {
    /// Where in what was printed.
    at: usize,
    begin: Begin,
}

#[derive(Clone, Debug)]
enum Begin {
    /// A line that nothing before it can change, and from which the cursor never went back.
    Fresh(FreshLine),
    /// All that could be changed, as it was.
    Copy(Box<Reader>),
}

impl Place {
    /// The first line that can be read from here.
    fn first_line(&self) -> usize {
        match &self.begin {
            Begin::Fresh(fresh) => fresh.line,
            Begin::Copy(reader) => reader.machine.n_settled,
        }
    }
}

impl Default for Terminal {
    fn default() -> Self {
        Terminal::new()
    }
}

impl Terminal {
    /// A terminal with nothing in it.
    pub fn new() -> Terminal {
        Terminal {
            reader: Reader::new(),
            n_read: 0,
            places: Vec::new(),
        }
    }

    /// Reads on in what was printed, but not more than about `most` bytes; returns whether all of it is read. What was
    /// read before must stand unchanged at its start.
    pub fn read(&mut self, printed: Printed<'_>, most: usize) -> bool {
        let end = self.n_read.saturating_add(most);
        while self.n_read < end {
            // Room for any character, so that one that is not taken was cut by something else.
            let room = BYTES_BETWEEN_PLACES.min(end - self.n_read).max(4);
            let Some((piece, stream)) = printed.piece(self.n_read, room) else {
                return true;
            };
            // A place to begin from is at a line's start.
            let line_end = piece
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(piece.len(), |at| at + 1);
            let n_taken = self.reader.read(&piece[..line_end], stream);
            if n_taken == 0 {
                // The start of a character; the piece is cut by another stream, or by the end.
                let cut = self.n_read + piece.len() < printed.bytes.len();
                if !cut {
                    return true;
                }
                self.reader.read_as_unreadable(stream);
                self.n_read += piece.len();
                continue;
            }
            self.n_read += n_taken;
            self.keep_place();
        }
        self.n_read >= printed.bytes.len()
    }

    /// Bytes read so far.
    pub fn n_read(&self) -> usize {
        self.n_read
    }

    /// Lines so far.
    pub fn n_lines(&self) -> usize {
        self.reader.machine.n_lines()
    }

    /// Whether a program drew on a whole screen: then [`screen`] shows what it means.
    pub fn is_screen(&self) -> bool {
        self.reader.machine.addressed.screen
    }

    /// The screen that such a program seems to have had, as columns and rows.
    pub fn screen_size(&self) -> (usize, usize) {
        let addressed = self.reader.machine.addressed;
        (
            usize::from(addressed.columns.max(80)),
            usize::from(addressed.rows.max(24)),
        )
    }

    /// The link that a run lies in.
    pub fn link(&self, run: &Run) -> Option<&Rc<str>> {
        self.reader.machine.links.get(run.style.link)
    }

    /// About how much memory it takes, in bytes.
    pub fn size(&self) -> usize {
        let places = self.places.iter().map(|place| match &place.begin {
            Begin::Fresh(_) => size_of::<Place>(),
            Begin::Copy(reader) => size_of::<Place>() + reader.machine.size(),
        });
        places.sum::<usize>() + self.reader.machine.size()
    }

    /// Lines as they are now, of what was read.
    pub fn lines(&self, printed: Printed<'_>, range: Range<usize>) -> Vec<Line> {
        let end = range.end.min(self.n_lines());
        let machine = &self.reader.machine;
        let mut lines = Vec::new();
        if range.start < machine.n_settled.min(end) {
            lines = self.settled_lines(printed, range.start..machine.n_settled.min(end));
        }
        let first_open = range.start.max(machine.n_settled);
        if first_open < end {
            let open = machine
                .rows
                .range(first_open - machine.n_settled..end - machine.n_settled);
            lines.extend(open.map(row::Row::line));
        }
        lines
    }

    /// Reads again from the last place before the first of the lines.
    fn settled_lines(&self, printed: Printed<'_>, range: Range<usize>) -> Vec<Line> {
        let place = self
            .places
            .iter()
            .rev()
            .find(|place| place.first_line() <= range.start);
        let (mut at, mut reader) = match place {
            None => (0, Reader::new()),
            Some(Place {
                at,
                begin: Begin::Fresh(fresh),
            }) => (*at, Reader::at(*fresh, self.reader.machine.links.clone())),
            Some(Place {
                at,
                begin: Begin::Copy(reader),
            }) => (*at, Reader::clone(reader)),
        };
        let mut next_line = reader.machine.n_settled;
        let mut lines = Vec::with_capacity(range.len());
        while next_line < range.end && at < self.n_read {
            let room = BYTES_BETWEEN_PLACES.min(self.n_read - at);
            let Some((piece, stream)) = printed.piece(at, room) else {
                break;
            };
            reader.machine.gone = Some(Vec::new());
            let n_taken = reader.read(piece, stream);
            if n_taken == 0 {
                reader.read_as_unreadable(stream);
            }
            at += if n_taken == 0 { piece.len() } else { n_taken };
            for row in reader.machine.gone.take().unwrap_or_default() {
                if range.contains(&next_line) {
                    lines.push(row.line());
                }
                next_line += 1;
            }
        }
        // Near the end lines may be settled here that this reader, which began later, could still change.
        for row in &reader.machine.rows {
            if range.contains(&next_line) {
                lines.push(row.line());
            }
            next_line += 1;
        }
        lines
    }

    fn keep_place(&mut self) {
        let reached = self.reader.machine.take_reached();
        // From a place that the cursor went behind, the lines would be others.
        let is_open =
            |place: &Place| matches!(&place.begin, Begin::Fresh(fresh) if fresh.line > reached);
        // Lines ascend with the places, so the newest tells of all. That it can no longer be changed says nothing: it may
        // have been changed, and have gone out of reach, within one piece.
        let mut fresh = self.places.iter().rev().filter(|place| match place.begin {
            Begin::Fresh(_) => true,
            Begin::Copy(_) => false,
        });
        if fresh.next().is_some_and(is_open) {
            self.places.retain(|place| !is_open(place));
        }
        let since = self.n_read - self.places.last().map_or(0, |place| place.at);
        if since < BYTES_BETWEEN_PLACES {
            return;
        }
        let begin = match self.reader.fresh_line() {
            Some(fresh) => Begin::Fresh(fresh),
            None if since >= BYTES_BETWEEN_COPIES
                && since >= PART_OF_COPIES * self.reader.machine.size() =>
            {
                Begin::Copy(Box::new(self.reader.clone()))
            }
            None => return,
        };
        self.places.push(Place {
            at: self.n_read,
            begin,
        });
    }
}
