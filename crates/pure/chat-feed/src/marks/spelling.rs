//! Where what cannot be seen is spelling: of a script that is written with it, of a sign that is made of several, or of a
//! sentence that is broken into lines. What is done with the rest is for [`super`].

use super::is_hidden;

/// How long a flag is with the tags that say of where it is: a country's letters and those of a part of it, and their end.
pub(super) fn flag_len(flag: &str) -> usize {
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
pub(super) fn is_needed(before: &str, char: char, rest: &str) -> bool {
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
pub(super) fn is_of_sentences(before: &str, char: char, rest: &str) -> bool {
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
pub(super) const FAR_CHARS: usize = 16;

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
