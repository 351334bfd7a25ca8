//! How printed text is styled: colours, weight, links, and which stream it came from; and how `SGR` (ECMA-48 8.3.117,
//! with the 256 and true colours of ITU-T T.416) changes it.
//!
//! Blinking is left out because it hides text half of the time, and concealment because it hides all of it. What a colour
//! looks like on a ground is for [`super::contrast`].

/// Which of a program's two outputs a text came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    /// Results; also where a source tells no streams apart.
    #[default]
    Stdout,
    /// Complaints and progress.
    Stderr,
}
chat_event::pack_variants!(Stream { 0 => Stdout, 1 => Stderr });

impl Stream {
    /// The stream an event names.
    pub fn of(name: Option<&str>) -> Stream {
        match name {
            Some("stderr") => Stream::Stderr,
            Some(_) | None => Stream::Stdout,
        }
    }
}

/// A colour as a program asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// The text's or the ground's own.
    #[default]
    Default,
    /// One of 256; the first 16 are the theme's.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// How a run of text is to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Colour of the letters.
    pub foreground: Color,
    /// Colour of the ground.
    pub background: Color,
    pub(super) bits: u8,
    /// The link it lies in: its place in the terminal's list, counted from 1; 0 for none.
    pub(super) link: u16,
}

const BOLD: u8 = 1;
const DIM: u8 = 1 << 1;
const ITALIC: u8 = 1 << 2;
const UNDERLINE: u8 = 1 << 3;
const STRIKE: u8 = 1 << 4;
const INVERSE: u8 = 1 << 5;
const STDERR: u8 = 1 << 6;

impl Style {
    /// Heavier letters.
    pub fn bold(&self) -> bool {
        self.bits & BOLD != 0
    }

    /// Fainter letters.
    pub fn dim(&self) -> bool {
        self.bits & DIM != 0
    }

    /// Slanted letters.
    pub fn italic(&self) -> bool {
        self.bits & ITALIC != 0
    }

    /// A line below.
    pub fn underline(&self) -> bool {
        self.bits & UNDERLINE != 0
    }

    /// A line through.
    pub fn strike(&self) -> bool {
        self.bits & STRIKE != 0
    }

    /// Letters and ground change places.
    pub fn inverse(&self) -> bool {
        self.bits & INVERSE != 0
    }

    /// It was written to the stream of errors.
    pub fn stderr(&self) -> bool {
        self.bits & STDERR != 0
    }

    /// Nothing is asked for but the theme's own, whatever the stream.
    pub fn is_plain(&self) -> bool {
        let plain = Style {
            bits: self.bits & STDERR,
            ..Style::default()
        };
        *self == plain
    }

    pub(super) fn with(mut self, part: Part, on: bool) -> Style {
        let bit = match part {
            Part::Bold => BOLD,
            Part::Dim => DIM,
            Part::Italic => ITALIC,
            Part::Underline => UNDERLINE,
            Part::Strike => STRIKE,
            Part::Inverse => INVERSE,
            Part::Stderr => STDERR,
        };
        match on {
            true => self.bits |= bit,
            false => self.bits &= !bit,
        }
        self
    }

    /// Back to the theme's own; the link and the stream stay.
    fn reset(&mut self) {
        *self = Style {
            link: self.link,
            bits: self.bits & STDERR,
            ..Style::default()
        };
    }
}

/// One of the things that a style may be.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Bold,
    Dim,
    Italic,
    Underline,
    Strike,
    Inverse,
    Stderr,
}

/// Applies the parameters of an `SGR` to a style. Each parameter comes with its subparameters.
pub(super) fn select(style: &mut Style, params: &anstyle_parse::Params) {
    let mut params = params.iter();
    while let Some(param) = params.next() {
        let (code, subparams) = param
            .split_first()
            .map_or((0, param), |(code, rest)| (*code, rest));
        match code {
            0 => style.reset(),
            1 => *style = style.with(Part::Bold, true),
            2 => *style = style.with(Part::Dim, true),
            3 => *style = style.with(Part::Italic, true),
            // `4:0` is none, `4:3` is curly; a second line (21) is as good as one.
            4 => *style = style.with(Part::Underline, subparams.first() != Some(&0)),
            21 => *style = style.with(Part::Underline, true),
            7 => *style = style.with(Part::Inverse, true),
            9 => *style = style.with(Part::Strike, true),
            22 => *style = style.with(Part::Bold, false).with(Part::Dim, false),
            23 => *style = style.with(Part::Italic, false),
            24 => *style = style.with(Part::Underline, false),
            27 => *style = style.with(Part::Inverse, false),
            29 => *style = style.with(Part::Strike, false),
            30..=37 => style.foreground = indexed(code - 30),
            38 => {
                if let Some(color) = extended(subparams, &mut params) {
                    style.foreground = color;
                }
            }
            39 => style.foreground = Color::Default,
            40..=47 => style.background = indexed(code - 40),
            48 => {
                if let Some(color) = extended(subparams, &mut params) {
                    style.background = color;
                }
            }
            49 => style.background = Color::Default,
            // The colour of an underline is read so that its numbers are not taken for codes.
            58 => drop(extended(subparams, &mut params)),
            90..=97 => style.foreground = indexed(code - 90 + 8),
            100..=107 => style.background = indexed(code - 100 + 8),
            _ => {}
        }
    }
}

fn indexed(index: u16) -> Color {
    Color::Indexed(byte(index))
}

fn byte(number: u16) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// What follows 38 and 48: `5;n`, `2;r;g;b`, or the same behind colons, where a colour space may stand before the red.
fn extended<'p>(subparams: &[u16], params: &mut impl Iterator<Item = &'p [u16]>) -> Option<Color> {
    if let Some((kind, rest)) = subparams.split_first() {
        return match (kind, rest) {
            (5, [index, ..]) => Some(indexed(*index)),
            (2, [_, red, green, blue, ..]) | (2, [red, green, blue]) => {
                Some(Color::Rgb(byte(*red), byte(*green), byte(*blue)))
            }
            _ => None,
        };
    }
    let mut next = || params.next().and_then(|param| param.first().copied());
    match next()? {
        5 => Some(indexed(next()?)),
        2 => {
            let (red, green, blue) = (next()?, next()?, next()?);
            Some(Color::Rgb(byte(red), byte(green), byte(blue)))
        }
        _ => None,
    }
}
