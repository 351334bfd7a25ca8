//! Which characters are drawn together as one sign, and which scripts put no spaces between words: as much of Unicode
//! (UAX #29, sections 3 and 4) as tints need, which is no more than ranges.

/// First and last of each range of what belongs to the character before it: marks, selectors, joiners, skins, tags.
/// Marks that count as letters need not stand here.
const EXTENDING: &[(u32, u32)] = &[
    (0x300, 0x36f),
    (0x483, 0x489),
    (0x591, 0x5bd),
    (0x5bf, 0x5bf),
    (0x5c1, 0x5c2),
    (0x5c4, 0x5c5),
    (0x5c7, 0x5c7),
    (0x610, 0x61a),
    (0x64b, 0x65f),
    (0x670, 0x670),
    (0x6d6, 0x6dc),
    (0x6df, 0x6e8),
    (0x6ea, 0x6ed),
    (0x730, 0x74a),
    (0x900, 0x903),
    (0x93a, 0x93c),
    (0x93e, 0x94f),
    (0x951, 0x957),
    (0x962, 0x963),
    (0x981, 0x983),
    (0x9bc, 0x9bc),
    (0x9be, 0x9cd),
    (0xa01, 0xa03),
    (0xa3c, 0xa51),
    (0xabc, 0xabc),
    (0xabe, 0xacd),
    (0xb3c, 0xb3c),
    (0xb3e, 0xb57),
    (0xbbe, 0xbcd),
    (0xc3c, 0xc3c),
    (0xc3e, 0xc56),
    (0xcbc, 0xcbc),
    (0xcbe, 0xcd6),
    (0xd3b, 0xd3c),
    (0xd3e, 0xd4d),
    (0xdca, 0xddf),
    (0xe31, 0xe31),
    (0xe33, 0xe3a),
    (0xe47, 0xe4e),
    (0xeb1, 0xeb1),
    (0xeb3, 0xebc),
    (0xec8, 0xece),
    (0xf71, 0xf84),
    (0x102b, 0x103e),
    (0x135d, 0x135f),
    (0x17b4, 0x17d3),
    (0x1ab0, 0x1aff),
    (0x1cd0, 0x1ce8),
    (0x1dc0, 0x1dff),
    (0x200c, 0x200d),
    (0x20d0, 0x20f0),
    (0x302a, 0x302f),
    (0x3099, 0x309a),
    (0xa66f, 0xa672),
    (0xa674, 0xa67d),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
    (0x1f3fb, 0x1f3ff),
    (0xe0020, 0xe007f),
    (0xe0100, 0xe01ef),
];

/// The same, of scripts without spaces: Thai, Lao, Burmese, Khmer, kana, the ideographs of Chinese and Japanese.
const UNSPACED: &[(u32, u32)] = &[
    (0xe01, 0xe4e),
    (0xe81, 0xece),
    (0x1000, 0x103f),
    (0x1780, 0x17d3),
    (0x3041, 0x30ff),
    (0x3400, 0x4dbf),
    (0x4e00, 0x9fff),
    (0xf900, 0xfaff),
    (0xff66, 0xff9f),
    (0x20000, 0x3ffff),
];

/// Joins what stands on both sides of it.
const JOINER: char = '\u{200d}';

/// What was read of a line, as far as the next character may belong to it.
#[derive(Default)]
pub(crate) struct Signs {
    before: Option<char>,
    /// The letter before is the first of two that are a flag.
    half_flag: bool,
}

impl Signs {
    /// Reads the next character: whether it is drawn with the one before it.
    pub(crate) fn goes_on(&mut self, c: char) -> bool {
        let is_flag = ('\u{1f1e6}'..='\u{1f1ff}').contains(&c);
        let goes_on = self.before.is_some_and(|before| {
            within(EXTENDING, c) || before == JOINER || (is_flag && self.half_flag)
        });
        self.half_flag = is_flag && !goes_on;
        self.before = Some(c);
        goes_on
    }
}

/// Whether it is a letter of a script that puts no spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    within(UNSPACED, c)
}

fn within(ranges: &[(u32, u32)], c: char) -> bool {
    let code = u32::from(c);
    // Most text is below all of them.
    ranges.first().is_some_and(|(first, _)| code >= *first) && {
        let after = ranges.partition_point(|(first, _)| *first <= code);
        let range = after.checked_sub(1).and_then(|at| ranges.get(at));
        range.is_some_and(|(_, last)| code <= *last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_order() {
        for ranges in [EXTENDING, UNSPACED] {
            assert!(ranges.iter().all(|(first, last)| first <= last));
            assert!(ranges.windows(2).all(|two| two[0].1 < two[1].0));
        }
    }

    #[test]
    fn signs_go_on_as_they_are_drawn() {
        let signs = |text: &str| {
            let mut signs = Signs::default();
            text.chars().filter(|c| !signs.goes_on(*c)).count()
        };
        assert_eq!(signs("e\u{301}\u{323}a"), 2);
        assert_eq!(signs("\u{1f469}\u{1f3fd}\u{200d}\u{1f4bb}!"), 2);
        assert_eq!(signs("1\u{fe0f}\u{20e3}"), 1);
        // Three letters of flags are a flag and a half.
        assert_eq!(signs("\u{1f1e9}\u{1f1ea}\u{1f1e9}"), 2);
        // A mark that begins a line stands alone.
        assert_eq!(signs("\u{301}a"), 2);
    }
}
