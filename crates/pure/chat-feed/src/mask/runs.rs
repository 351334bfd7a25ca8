//! Runs of characters of one class, and what they are like.

/// A class of characters, all of them ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Digits of hexadecimal numbers.
    Hex,
    /// Letters and digits.
    Alnum,
    /// Those, and `_`, `-`.
    Word,
    /// Those, and `.`, `=`, `~`.
    Token,
    /// Letters, digits, `+`, `/`, `=`.
    Base64,
    /// Those of all others, and `:`, `%`.
    Wide,
    /// Those, and `@`.
    Address,
}

const N_CLASSES: usize = 7;

impl Class {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Class::Hex => byte.is_ascii_hexdigit(),
            Class::Alnum => byte.is_ascii_alphanumeric(),
            Class::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Class::Token => Class::Word.has(byte) || matches!(byte, b'.' | b'=' | b'~'),
            Class::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Class::Wide => {
                Class::Token.has(byte) || matches!(byte, b'+' | b'/' | b':' | b'%' | b'|')
            }
            Class::Address => Class::Wide.has(byte) || byte == b'@',
        }
    }
}

/// The ends of runs in one text. Each stretch is walked once, however often it is asked about.
#[derive(Debug, Default)]
pub(super) struct Runs {
    known: [Run; N_CLASSES],
}

/// A run, from where it was asked about first.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    start: usize,
    end: usize,
    /// Where the signs at its end begin that are a sentence's, and where those do that are an address's, too.
    signs: usize,
    slashes: usize,
}

/// Whether a sentence may have this behind its last word, or a list or a table between its own.
pub(super) fn is_behind_word(byte: u8) -> bool {
    matches!(byte, b'.' | b':' | b'|' | b'%')
}

impl Runs {
    /// Where the run of a class ends that goes on at `from`.
    pub(super) fn end(&mut self, text: &[u8], from: usize, class: Class) -> usize {
        self.run(text, from, class).end
    }

    /// The same, without the signs at its end that are a sentence's.
    pub(super) fn end_of_word(&mut self, text: &[u8], from: usize, class: Class) -> usize {
        self.run(text, from, class).signs.max(from)
    }

    /// The same, without slashes as well.
    pub(super) fn end_before_slash(&mut self, text: &[u8], from: usize, class: Class) -> usize {
        self.run(text, from, class).slashes.max(from)
    }

    fn run(&mut self, text: &[u8], from: usize, class: Class) -> Run {
        let run = &mut self.known[class as usize];
        if !(run.start <= from && from < run.end) {
            let rest = text.get(from..).unwrap_or_default();
            let len = rest.iter().position(|&byte| !class.has(byte));
            let own = &rest[..len.unwrap_or(rest.len())];
            let without = |is: fn(u8) -> bool| {
                let last = own.iter().rposition(|&byte| !is(byte));
                from + last.map_or(0, |last| last + 1)
            };
            *run = Run {
                start: from,
                end: from + own.len(),
                signs: without(is_behind_word),
                slashes: without(|byte| is_behind_word(byte) || byte == b'/'),
            };
        }
        *run
    }
}

/// Bits that each character of a text says, by how often each stands in it.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    // A text of as many bytes as would not fit is not asked about.
    #[allow(clippy::cast_precision_loss)]
    let n_bytes = text.len().max(1) as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / n_bytes;
            -share * share.log2()
        })
        .sum()
}

/// Whether a text is not made of words: it has letters and digits, says much with each, and does not fall into words and
/// numbers.
pub(super) fn looks_random(text: &str, bits: f64) -> bool {
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && entropy(text) >= bits
        && !is_words(text)
}

/// Whether a text falls into words and numbers.
pub(super) fn is_words(text: &str) -> bool {
    text.split(['_', '-', '.', '/', '=', ':', '~', '+', '%', '|'])
        .all(|part| {
            let letters = part.trim_end_matches(|char: char| char.is_ascii_digit());
            let n_digits = part.len() - letters.len();
            let is_number = letters.is_empty();
            let is_name =
                n_digits <= 3 && letters.bytes().all(|byte| byte.is_ascii_alphabetic()) && {
                    // Words have capitals at their beginning, or throughout.
                    let mut capitals = letters
                        .bytes()
                        .skip(1)
                        .filter(u8::is_ascii_uppercase)
                        .count();
                    if letters.bytes().all(|byte| byte.is_ascii_uppercase()) {
                        capitals = 0;
                    }
                    capitals * 4 <= letters.len()
                };
            is_number || is_name
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_keys_are_not() {
        for words in [
            "user_profile_v2",
            "src/lib.rs",
            "MAX_TOKENS_2024",
            "camelCaseName",
            "2024-11-22",
        ] {
            assert!(!looks_random(words, 2.0), "{words}");
        }
        for random in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "xK4pQz81LmNw7RtY",
            "a1b2-c3d4-e5f6-7a8b",
        ] {
            assert!(looks_random(random, 2.0), "{random}");
        }
    }

    #[test]
    fn a_run_is_walked_once() {
        let text = b"abc123 x";
        let mut runs = Runs::default();
        assert_eq!(runs.end(text, 0, Class::Alnum), 6);
        assert_eq!(runs.end(text, 3, Class::Alnum), 6);
        assert_eq!(runs.end(text, 7, Class::Alnum), 8);
        assert_eq!(runs.end(text, 6, Class::Alnum), 6);
    }

    #[test]
    fn a_run_ends_before_the_signs_at_its_end() {
        let text = b"see a.b/c/.: x";
        let mut runs = Runs::default();
        for (from, word, slash) in [(4, 10, 9), (8, 10, 9), (10, 10, 10), (11, 11, 11)] {
            assert_eq!(runs.end_of_word(text, from, Class::Wide), word, "{from}");
            assert_eq!(
                runs.end_before_slash(text, from, Class::Wide),
                slash,
                "{from}"
            );
        }
    }
}
