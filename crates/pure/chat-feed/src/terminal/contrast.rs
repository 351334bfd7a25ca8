//! What colours are shown on which ground, so that every text can be read: contrast as WCAG 2.2 has it, at least 4.5.
//!
//! The first 16 colours are the theme's, and pass on its ground. All others are lifted: mixed with white or black, no
//! more than it takes. So is any colour on a ground that the program chose, which makes text readable that was printed
//! in the colour of its ground.

use super::style::{Color, Style};

/// The least contrast of a text (WCAG 2.2, 1.4.3).
pub const LEAST_CONTRAST: f64 = 4.5;

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

/// Colours of one theme's terminals, as the style sheet has them.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// The ground of wells.
    pub ground: Rgb,
    /// The text's own colour.
    pub text: Rgb,
    /// The 16 colours as text on that ground.
    pub ansi: [Rgb; 16],
    /// The first of them as a ground: as a text it would not pass where the theme is dark.
    pub black_ground: Rgb,
}

/// The light theme.
pub const LIGHT: Theme = Theme {
    ground: (0xed, 0xf0, 0xf4),
    text: (0x1b, 0x20, 0x26),
    ansi: [
        (0x1b, 0x20, 0x26),
        (0xc3, 0x28, 0x2e),
        (0x0d, 0x76, 0x21),
        (0x82, 0x61, 0x04),
        (0x03, 0x65, 0xc4),
        (0x9b, 0x41, 0xa2),
        (0x08, 0x71, 0x7b),
        (0x4f, 0x57, 0x62),
        (0x60, 0x69, 0x73),
        (0xdb, 0x02, 0x24),
        (0x05, 0x7f, 0x21),
        (0x8b, 0x68, 0x06),
        (0x03, 0x6c, 0xd2),
        (0xaf, 0x38, 0xb8),
        (0x02, 0x79, 0x83),
        (0x1b, 0x20, 0x26),
    ],
    black_ground: (0x1b, 0x20, 0x26),
};

/// The dark theme. Its black is as bright as its grey where it is a text.
pub const DARK: Theme = Theme {
    ground: (0x09, 0x0c, 0x11),
    text: (0xe4, 0xe8, 0xed),
    ansi: [
        (0x83, 0x8c, 0x97),
        (0xe6, 0x6e, 0x68),
        (0x49, 0xa5, 0x50),
        (0xb7, 0x8c, 0x18),
        (0x4d, 0x94, 0xec),
        (0xc5, 0x75, 0xca),
        (0x06, 0xa2, 0xaf),
        (0xc9, 0xd0, 0xd8),
        (0x83, 0x8c, 0x97),
        (0xff, 0x98, 0x90),
        (0x6d, 0xc8, 0x72),
        (0xdb, 0xae, 0x46),
        (0x80, 0xb8, 0xff),
        (0xea, 0x97, 0xef),
        (0x46, 0xc5, 0xd2),
        (0xff, 0xff, 0xff),
    ],
    black_ground: (0x61, 0x68, 0x70),
};

/// How a run is painted in one theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// Its letters.
    pub text: Rgb,
    /// Its ground, where it has one of its own.
    pub ground: Option<Rgb>,
}

/// How a style looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// As the text around it.
    Plain,
    /// In one of the theme's 16 colours, which the style sheet names.
    Themed(u8),
    /// In colours of its own.
    Painted {
        /// In the light theme.
        light: Paint,
        /// In the dark theme.
        dark: Paint,
    },
}

impl Look {
    /// How a style looks.
    pub fn of(style: &Style) -> Look {
        let own_ground = style.background != Color::Default || style.inverse();
        match (style.foreground, own_ground || style.dim()) {
            (Color::Default, false) => Look::Plain,
            (Color::Indexed(index @ 0..16), false) => Look::Themed(index),
            _ => Look::Painted {
                light: LIGHT.paint(style),
                dark: DARK.paint(style),
            },
        }
    }
}

impl Theme {
    /// How a style is painted.
    pub fn paint(&self, style: &Style) -> Paint {
        let mut text = self.text_color(style.foreground);
        let mut ground = match style.background {
            Color::Default => None,
            color => Some(self.ground_color(color)),
        };
        if style.inverse() {
            let letters = self.ground_color_of_text(style.foreground);
            text = ground.unwrap_or(self.ground);
            ground = Some(letters);
        }
        let below = ground.unwrap_or(self.ground);
        if style.dim() {
            text = mix(text, below, 0.4);
        }
        Paint {
            text: lift(text, below),
            ground,
        }
    }

    fn text_color(&self, color: Color) -> Rgb {
        match color {
            Color::Default => self.text,
            Color::Indexed(index @ 0..16) => self.ansi[usize::from(index)],
            Color::Indexed(index) => of_256(index),
            Color::Rgb(red, green, blue) => (red, green, blue),
        }
    }

    fn ground_color(&self, color: Color) -> Rgb {
        match color {
            Color::Default => self.ground,
            color => self.ground_color_of_text(color),
        }
    }

    fn ground_color_of_text(&self, color: Color) -> Rgb {
        match color {
            Color::Indexed(0) => self.black_ground,
            color => self.text_color(color),
        }
    }
}

/// The fixed part of the 256 colours: a cube of six steps each way, and 24 greys (xterm, `256colres.h`).
fn of_256(index: u8) -> Rgb {
    if index >= 232 {
        let grey = 8 + (index - 232) * 10;
        return (grey, grey, grey);
    }
    let place = index.saturating_sub(16);
    let step = |nth: u8| match nth {
        0 => 0,
        nth => 55 + nth * 40,
    };
    (step(place / 36), step(place / 6 % 6), step(place % 6))
}

/// The color itself where it can be read on the ground, else the nearest to it that can: on its own side of the ground,
/// where there is room.
pub fn lift(color: Rgb, ground: Rgb) -> Rgb {
    if contrast(color, ground) >= LEAST_CONTRAST {
        return color;
    }
    let (white, black) = ((255, 255, 255), (0, 0, 0));
    let (own, other) = match luminance(color) >= luminance(ground) {
        true => (white, black),
        false => (black, white),
    };
    // Against any ground, white or black passes.
    let toward = match contrast(own, ground) >= LEAST_CONTRAST {
        true => own,
        false => other,
    };
    // The least of 64 steps that passes; on the way to the other side contrast falls first, so none may be left out.
    (1..64_u8)
        .map(|step| mix(color, toward, f64::from(step) / 64.0))
        .find(|mixed| contrast(*mixed, ground) >= LEAST_CONTRAST)
        .unwrap_or(toward)
}

/// Contrast of two colours, 1 to 21.
pub fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance((red, green, blue): Rgb) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        match part <= 0.04045 {
            true => part / 12.92,
            false => ((part + 0.055) / 1.055).powf(2.4),
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// A part of one colour in another.
fn mix(color: Rgb, other: Rgb, part: f64) -> Rgb {
    let mix = |color: u8, other: u8| {
        let mixed = f64::from(color) + (f64::from(other) - f64::from(color)) * part;
        // Between two bytes.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let mixed = mixed.round() as u8;
        mixed
    };
    (
        mix(color.0, other.0),
        mix(color.1, other.1),
        mix(color.2, other.2),
    )
}
