//! Characters that cannot be seen, or that change the order of what is seen: which of a text a reader must be shown.
//!
//! From the Unicode Character Database 15.0: controls, format characters, what is ignorable by default, noncharacters.
//! Joiners and selectors stay as they are where a script or an emoji needs them. How a mark looks is for the page.

/// First and last of each range that is marked; spaces and signs that can be seen are left out.
const HIDDEN: &[(u32, u32)] = &[
    (0x00, 0x08),
    (0x0b, 0x0c),
    (0x0d, 0x1f),
    (0x7f, 0x9f),
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x61c, 0x61c),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfdd0, 0xfdef),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffb),
    (0xfffe, 0xffff),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

/// Whether the character cannot be seen, wherever it stands.
pub fn is_hidden(char: char) -> bool {
    let code = u32::from(char);
    // The last two of each plane are none.
    code & 0xfffe == 0xfffe
        || HIDDEN
            .binary_search_by(|&(first, last)| {
                if last < code {
                    std::cmp::Ordering::Less
                } else if first > code {
                    std::cmp::Ordering::Greater
                } else {
                    std::cmp::Ordering::Equal
                }
            })
            .is_ok()
}

/// A stretch of a text: as it is, or one character that is to be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch<'t> {
    /// It can be shown.
    Plain(&'t str),
    /// It must be shown by its number.
    Hidden(char),
}

/// Parts a text at what is to be marked. Tabs and line feeds are layout and not marked.
pub fn stretches(text: &str) -> impl Iterator<Item = Stretch<'_>> {
    parted(text, is_needed)
}

/// The same for sentences: what says where a word may be broken, or may not, is marked in code alone, where it would make
/// another name of one.
pub fn stretches_of_sentences(text: &str) -> impl Iterator<Item = Stretch<'_>> {
    parted(text, |before, char, rest| {
        is_needed(before, char, rest) || is_of_sentences(before, char, rest)
    })
}

/// Whether anything of a text is to be marked.
pub fn has_any(text: &str) -> bool {
    first_hidden(text, 0, is_needed).is_some()
}

/// Where the end of a growing text begins in which nothing is marked, and before which no mark changes whatever comes
/// behind: 0 where nothing is marked at all, `None` where the last mark may yet turn out to be spelling.
pub fn settled_end(text: &str) -> Option<usize> {
    if !has_any(text) {
        return Some(0);
    }
    let hidden = text.char_indices().rev().find(|&(_, char)| is_hidden(char));
    let (at, char) = hidden?;
    let behind = at + char.len_utf8();
    // What stands near it says what it is: both are on the same side.
    let (far, last) = text[behind..].char_indices().nth(FAR_CHARS)?;
    Some(behind + far + last.len_utf8())
}

/// Whether a character that cannot be seen is spelling, by what stands before it, and by what it begins.
type IsNeeded = fn(&str, char, &str) -> bool;

fn parted(text: &str, is_needed: IsNeeded) -> impl Iterator<Item = Stretch<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
        let (n_bytes, stretch) = match first_hidden(text, from, is_needed) {
            Some((at, char)) if at == from => (char.len_utf8(), Stretch::Hidden(char)),
            found => {
                let plain = &rest[..found.map_or(text.len(), |(at, _)| at) - from];
                (plain.len(), Stretch::Plain(plain))
            }
        };
        from += n_bytes;
        Some(stretch)
    })
}

/// What of a text can be shown, without what is marked between.
pub fn seen(text: &str) -> impl Iterator<Item = &str> {
    stretches(text).filter_map(|stretch| match stretch {
        Stretch::Plain(plain) => Some(plain),
        Stretch::Hidden(_) => None,
    })
}

/// A text with what cannot be seen written by its number, for where there are words alone.
pub fn written_out(text: &str) -> String {
    written(text, |char, written| written.push_str(&name(char)))
}

/// JSON that says the same with what cannot be seen escaped, for copying.
pub fn escaped(json: &str) -> String {
    written(json, |char, written| {
        for unit in char.encode_utf16(&mut [0; 2]) {
            written.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

fn written(text: &str, write: impl Fn(char, &mut String)) -> String {
    let mut written = String::with_capacity(text.len());
    for stretch in stretches(text) {
        match stretch {
            Stretch::Plain(plain) => written.push_str(plain),
            Stretch::Hidden(char) => write(char, &mut written),
        }
    }
    written
}

/// Where the first one stands that is to be marked, behind so many bytes.
fn first_hidden(text: &str, mut from: usize, is_needed: IsNeeded) -> Option<(usize, char)> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    from += text.as_bytes()[from..]
        .iter()
        .take_while(|byte| is_plain(byte))
        .count();
    let mut flag_end = 0;
    for (at, char) in text[from..].char_indices() {
        let at = from + at;
        if char == '\u{1f3f4}' {
            flag_end = at + flag_len(&text[at..]);
        }
        if is_hidden(char) && at >= flag_end && !is_needed(&text[..at], char, &text[at..]) {
            return Some((at, char));
        }
    }
    None
}

/// How long a flag is with the tags that say of where it is: a country's letters and those of a part of it, and their end.
fn flag_len(flag: &str) -> usize {
    /// No part has a longer name.
    const MOST_TAGS: usize = 6;
    let is_tag =
        |char: &char| matches!(char, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let mut chars = flag.chars().skip(1).peekable();
    let n_tags = std::iter::from_fn(|| chars.next_if(is_tag))
        .take(MOST_TAGS)
        .count();
    match chars.next() {
        Some('\u{e007f}') if n_tags > 0 => '\u{1f3f4}'.len_utf8() * (n_tags + 2),
        _ => 0,
    }
}

/// Whether what cannot be seen is spelling where it stands: of a script that is written with it, or of a sign that is made
/// of several. `rest` begins with it.
fn is_needed(before: &str, char: char, rest: &str) -> bool {
    let last = before.chars().next_back().filter(|&last| !is_hidden(last));
    let mut rest = rest.chars();
    rest.next();
    let next = rest.clone().next().filter(|&next| !is_hidden(next));
    match char {
        // Letters join or do not, also at the end of a word and between two scripts; emoji are joined.
        '\u{200c}' | '\u{200d}' => {
            last.is_some_and(joins)
                || next.is_some_and(joins)
                || next.is_some_and(is_sign)
                    && (last.is_some_and(is_sign) || before.ends_with('\u{fe0f}'))
        }
        // Between words that have no spaces between them.
        '\u{200b}' => last.is_some_and(is_unspaced) && next.is_some_and(is_unspaced),
        '\u{180b}'..='\u{180f}' => {
            last.is_some_and(is_mongolian)
                || char == '\u{180e}'
                    && before.ends_with(|char| matches!(char, '\u{180b}'..='\u{180d}'))
        }
        '\u{fe00}'..='\u{fe0f}' => last.is_some_and(|base| {
            base >= '\u{1000}' || matches!(base, '0'..='9' | '#' | '*' | '©' | '®')
        }),
        '\u{e0100}'..='\u{e01ef}' => last.is_some_and(is_han),
        // Stand where a syllable lacks one of its letters.
        '\u{115f}' | '\u{1160}' => is_by_jamo(before.chars().rev()) || is_by_jamo(rest),
        '\u{3164}' | '\u{ffa0}' => {
            last.is_some_and(is_single_jamo) || next.is_some_and(is_single_jamo)
        }
        // They say to which of two directions signs belong that have none.
        '\u{34f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' => {
            is_right_to_left(before.chars().rev()) || is_right_to_left(rest)
        }
        _ => false,
    }
}

/// The same of sentences, which are broken into lines.
fn is_of_sentences(before: &str, char: char, rest: &str) -> bool {
    let last = before.chars().next_back().filter(|&last| !is_hidden(last));
    let next = rest.chars().nth(1).filter(|&next| !is_hidden(next));
    let (Some(last), Some(next)) = (last, next) else {
        return false;
    };
    match char {
        '\u{ad}' => last.is_alphabetic() && next.is_alphabetic(),
        // Within a word nothing is broken, so that nobody needs it there.
        '\u{2060}' => {
            let is_word =
                |char: char| char.is_alphanumeric() && !is_unspaced(char) && !is_han(char);
            !(last.is_whitespace() || next.is_whitespace() || is_word(last) && is_word(next))
        }
        _ => false,
    }
}

/// Arabic and its kin, and the scripts of India and around it.
fn joins(char: char) -> bool {
    matches!(char, '\u{600}'..='\u{109f}' | '\u{1700}'..='\u{1cff}' | '\u{a800}'..='\u{abff}')
        || matches!(char, '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

/// What emoji are made of.
fn is_sign(char: char) -> bool {
    matches!(char, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Thai, Lao, Burmese and Khmer.
fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

fn is_mongolian(char: char) -> bool {
    matches!(char, '\u{1800}'..='\u{18af}')
}

fn is_han(char: char) -> bool {
    matches!(char, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Letters that syllables are made of, but what stands for one that lacks.
fn is_jamo(char: char) -> bool {
    matches!(char, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{d7b0}'..='\u{d7ff}')
}

/// Whether such a letter is the next, or that behind what stands for another one.
fn is_by_jamo(chars: impl Iterator<Item = char>) -> bool {
    let mut near = chars.take(2);
    let letter = near.find(|char| !matches!(char, '\u{115f}' | '\u{1160}'));
    letter.is_some_and(is_jamo)
}

/// The same letters as they stand by themselves, wide or narrow.
fn is_single_jamo(char: char) -> bool {
    matches!(char, '\u{3131}'..='\u{3163}' | '\u{3165}'..='\u{318e}' | '\u{ffa1}'..='\u{ffdc}')
}

/// A letter farther away has other letters or words beside it.
const FAR_CHARS: usize = 16;

/// Whether the next letter is of a script that is written from right to left.
fn is_right_to_left(chars: impl Iterator<Item = char>) -> bool {
    let mut near = chars
        .take(FAR_CHARS)
        .take_while(|&char| !is_hidden(char) && char != '\n');
    let letter = near.find(|char| char.is_alphabetic());
    letter.is_some_and(|letter| {
        matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}')
            || matches!(letter, '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    })
}

/// How a hidden character is written: `U+202E`.
pub fn name(char: char) -> String {
    format!("U+{:04X}", u32::from(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        written_in(stretches(text))
    }

    fn written_in<'t>(stretches: impl Iterator<Item = Stretch<'t>>) -> String {
        stretches
            .map(|stretch| match stretch {
                Stretch::Plain(plain) => plain.to_owned(),
                Stretch::Hidden(char) => format!("<{}>", name(char)),
            })
            .collect()
    }

    #[test]
    fn where_a_line_may_be_broken_is_no_secret_in_a_sentence() {
        let sentence = "Donau\u{ad}dampf\u{ad}schiff, 5\u{2060}–\u{2060}7 und漢\u{2060}字";
        assert_eq!(written_in(stretches_of_sentences(sentence)), sentence);
        assert!(has_any(sentence) && !has_any("Donau"));
        for (text, shown) in [
            ("user\u{ad}_name \u{ad}a", "user<U+00AD>_name <U+00AD>a"),
            ("a\u{ad}\u{ad}b", "a<U+00AD><U+00AD>b"),
            ("pass\u{2060}word", "pass<U+2060>word"),
            ("a\u{202e}b\u{200b}", "a<U+202E>b<U+200B>"),
        ] {
            assert_eq!(written_in(stretches_of_sentences(text)), shown);
        }
        assert_eq!(marked("user\u{ad}name"), "user<U+00AD>name", "in code");
    }

    proptest::proptest! {
        #[test]
        fn marks_before_a_settled_end_stay_whatever_comes_behind(
            text in "[a-b \n\u{202e}\u{200d}\u{200b}\u{200f}\u{5d0}\u{627}\u{e01}\u{1100}\u{115f}\u{3164}\u{2600}\u{ad}]{0,40}",
            tail in "[a-b \u{5d0}\u{627}\u{e01}\u{1100}\u{2600}]{0,24}",
            more in "[a-b \n\u{5d0}\u{627}\u{e01}\u{1100}\u{2600}]{0,24}",
        ) {
            let text = format!("{text}{tail}");
            if let Some(end) = settled_end(&text).filter(|&end| end > 0) {
                let whole = format!("{text}{more}");
                proptest::prop_assert_eq!(settled_end(&whole), Some(end));
                let (before, behind) = (marked(&text[..end]), &whole[end..]);
                proptest::prop_assert_eq!(marked(&whole), format!("{before}{behind}"));
            }
        }
    }

    #[test]
    fn an_end_is_settled_once_no_letter_near_can_make_spelling_of_a_mark() {
        let far = "and so it goes on.";
        assert_eq!(settled_end("plain \u{627}\u{200d}"), Some(0));
        assert_eq!(settled_end("a\u{202e}"), None);
        assert_eq!(settled_end("a\u{202e}b"), None);
        let text = format!("a\u{202e}{far}");
        assert_eq!(settled_end(&text), Some(text.len() - 1));
    }

    #[test]
    fn what_cannot_be_seen_is_marked() {
        assert_eq!(
            marked("a\u{202e}b\u{0}\u{200b}"),
            "a<U+202E>b<U+0000><U+200B>"
        );
        assert_eq!(marked("x\u{200d}y"), "x<U+200D>y");
        assert_eq!(marked("\u{e0041}"), "<U+E0041>");
    }

    #[test]
    fn scripts_and_emoji_are_left_as_they_are() {
        for text in [
            "שלום עולם",
            "مرحبا بالعالم",
            "می\u{200c}خواهم",
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
            "क्\u{200d}ष",
            "a\tb\n漢字\u{3000}\u{a0}",
            // Flags of parts of a country.
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}!",
            // Letters that are joined, or not, at the end of a word or beside another script.
            "അവന്\u{200d} വന്നു.",
            "র\u{200d}্য ක්\u{200d}ර ه\u{200d}. PDF\u{200c}ها",
            // Variants of letters and signs.
            "葛\u{e0100}飾 﨑\u{fe00} ∩\u{fe00} 0\u{fe00} ᠭ\u{180b}\u{180e}ᠠ",
            "សួស្តី\u{200b}ពិភពលោក",
            // To which words a sign belongs.
            "שלום\u{200f}! C++\u{200e} טוב، \u{61c}-5 سلام",
            // Syllables that lack a letter.
            "\u{115f}\u{1161} \u{1100}\u{1160} \u{115f}\u{1160}\u{11a8} \u{3164}ㄱㅏ\u{3164} \u{ffa0}\u{ffa1}",
        ] {
            assert_eq!(marked(text), text);
        }
    }

    #[test]
    fn what_no_script_is_written_with_is_marked_beside_any() {
        for (text, shown) in [
            ("🏴\u{e0067}\u{e0062}x", "🏴<U+E0067><U+E0062>x"),
            ("x\u{e0067}\u{e007f}", "x<U+E0067><U+E007F>"),
            ("葛\u{e0100}\u{e0101}", "葛\u{e0100}<U+E0101>"),
            ("a\u{fe00}\u{e0100}", "a<U+FE00><U+E0100>"),
            ("漢\u{200d}字 a\u{200c}", "漢<U+200D>字 a<U+200C>"),
            ("א\u{200f}\u{200e}\u{202e}ב", "א\u{200f}<U+200E><U+202E>ב"),
            ("ชา\u{200b}x", "ชา<U+200B>x"),
            ("x = 1 \u{200f}y", "x = 1 <U+200F>y"),
            ("a\u{3164} 가\u{3164}", "a<U+3164> 가<U+3164>"),
            ("가\u{115f}\u{1160}나", "가<U+115F><U+1160>나"),
        ] {
            assert_eq!(marked(text), shown);
        }
        let many = "\u{1160}".repeat(9);
        assert!(marked(&format!("\u{1100}{many}\u{11a8}")).contains("<U+1160><U+1160>"));
        let long = format!("🏴{}\u{e007f}", "\u{e0061}".repeat(7));
        assert!(marked(&long).starts_with("🏴<"));
    }

    #[test]
    fn json_says_the_same_escaped() {
        let json = "{\n  \"a\u{9b}\": \"\u{202e}\u{e0041}é\"\n}";
        let escaped = escaped(json);
        assert!(escaped.contains("\\u009b") && !escaped.contains('\u{202e}'));
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(value(&escaped), value(json));
    }

    #[test]
    fn ranges_are_in_order() {
        assert!(HIDDEN.windows(2).all(|two| two[0].1 < two[1].0));
    }
}
