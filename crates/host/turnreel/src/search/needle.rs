//! A text that is looked for: whether a line may have it, and where a text has it.
//!
//! One in capitals or not is looked for here; one as it stands, and a pattern, by what the page looks for them with.

use chat_feed::find::{How, Sought};

/// How long a text to find may be.
const NEEDLE_BYTES: usize = 200;

/// A pattern that goes on over a line's end is found over so many bytes where a long text is cut.
const PATTERN_REACH: usize = 4 * 1024;

/// What is looked for.
#[derive(Debug)]
pub(crate) struct Needle {
    wanted: Wanted,
    /// A part of it that stands in every line that has it, in capitals or not; `None` where there is no such part.
    anchor: Option<Bytes>,
}

#[derive(Debug)]
enum Wanted {
    Folded {
        /// Its characters, folded.
        folded: Vec<char>,
        /// The same as bytes, where all are ASCII.
        ascii: Option<Bytes>,
    },
    Sought {
        sought: Box<Sought>,
        /// How many characters it has; 0 of a pattern, which may have any number.
        n_chars: usize,
    },
}

impl Needle {
    /// # Errors
    ///
    /// Where there is nothing to find, or too much, or a pattern that cannot be read.
    pub(crate) fn new(text: &str, how: How) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected the text to find".to_owned());
        }
        if text.len() > NEEDLE_BYTES {
            return Err(format!("over the limit of {NEEDLE_BYTES} bytes"));
        }
        let folded = fold(text);
        if how == How::AnyCase {
            let is_ascii = folded.iter().all(char::is_ascii);
            return Ok(Needle {
                anchor: anchor(&folded),
                wanted: Wanted::Folded {
                    ascii: is_ascii.then(|| Bytes::new(&folded)),
                    folded,
                },
            });
        }
        let sought = Box::new(Sought::read(text, how)?);
        let needed = sought.needed().map(fold).unwrap_or_default();
        let n_chars = match how {
            How::Pattern => 0,
            How::AnyCase | How::Exact => text.chars().count(),
        };
        Ok(Needle {
            wanted: Wanted::Sought { sought, n_chars },
            anchor: anchor(&needed),
        })
    }

    /// How many characters it has, as they are compared; 0 of a pattern, which is looked for in each piece of a text alone.
    pub(super) fn n_chars(&self) -> usize {
        match &self.wanted {
            Wanted::Folded { folded, .. } => folded.len(),
            Wanted::Sought { n_chars, .. } => *n_chars,
        }
    }

    /// Whether looking through a text may take many times what reading it takes.
    pub(super) fn is_dear(&self) -> bool {
        matches!(self.wanted, Wanted::Sought { n_chars: 0, .. })
    }

    /// Where in a text that goes on what must be read again with what follows begins, in bytes: what is looked for may begin
    /// there. Lines are what most patterns are about, so that behind a line's end nothing need be read again for them.
    pub(super) fn begins_again(&self, text: &str) -> usize {
        let Wanted::Sought { sought, n_chars: 0 } = &self.wanted else {
            // What a character folds to may be shorter than itself.
            return text.floor_char_boundary(text.len().saturating_sub(self.n_chars() * 4));
        };
        if text.ends_with('\n') && sought.is_in_a_line() {
            return text.len();
        }
        let from = text.floor_char_boundary(text.len().saturating_sub(PATTERN_REACH));
        text[from..].find('\n').map_or(from, |at| from + at + 1)
    }

    /// Whether the line may have it; what it says no to has it nowhere.
    pub(super) fn may_be_in(&self, line: &str) -> bool {
        let Some(anchor) = &self.anchor else {
            return true;
        };
        anchor.find(line.as_bytes()).is_some() || hides_ascii(line)
    }

    /// Where it first stands in `text`, in bytes.
    pub(super) fn find(&self, text: &str) -> Option<(usize, usize)> {
        let (folded, ascii) = match &self.wanted {
            Wanted::Sought { sought, .. } => {
                let found = sought.find(text)?;
                return Some((found.start, found.end));
            }
            Wanted::Folded { folded, ascii } => (folded, ascii),
        };
        if let Some(ascii) = ascii.as_ref().filter(|_| text.is_ascii()) {
            let at = ascii.find(text.as_bytes())?;
            return Some((at, at + ascii.folded.len()));
        }
        let ends_at = |start: usize| {
            let mut wanted = folded.iter();
            for (at, character) in text[start..].char_indices() {
                for folded in character.to_lowercase() {
                    match wanted.next() {
                        Some(wanted) if *wanted == folded => {}
                        Some(_) => return None,
                        // It ends in the middle of what a character folds to.
                        None => return Some(start + at + character.len_utf8()),
                    }
                }
                if wanted.as_slice().is_empty() {
                    return Some(start + at + character.len_utf8());
                }
            }
            None
        };
        let mut starts = text.char_indices();
        starts.find_map(|(start, _)| Some((start, ends_at(start)?)))
    }
}

fn fold(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// The longest part that stands as it is.
fn anchor(folded: &[char]) -> Option<Bytes> {
    let runs = folded.split(|character| !stands_as_it_is(*character));
    let longest = runs.max_by_key(|run| run.len())?;
    (!longest.is_empty()).then(|| Bytes::new(longest))
}

/// ASCII text in small letters.
#[derive(Debug)]
struct Bytes {
    folded: Vec<u8>,
    /// Where its rarest byte is: most places are told apart by it.
    rare: usize,
}

impl Bytes {
    fn new(folded: &[char]) -> Self {
        let folded = folded.iter().collect::<String>().into_bytes();
        // From the most frequent on, in English and in code.
        const FREQUENT: &[u8] = b" etaoinsrhldcumfpgwybv\n0123456789._-,():";
        let rank = |byte: &u8| FREQUENT.iter().position(|frequent| frequent == byte);
        let rare = (0..folded.len()).max_by_key(|at| rank(&folded[*at]).unwrap_or(FREQUENT.len()));
        Bytes {
            rare: rare.unwrap_or_default(),
            folded,
        }
    }

    /// Where it first stands, in capitals or not.
    fn find(&self, text: &[u8]) -> Option<usize> {
        let rare = *self.folded.get(self.rare)?;
        let mut places = memchr::memchr2_iter(rare, rare.to_ascii_uppercase(), text);
        places.find_map(|at| {
            let start = at.checked_sub(self.rare)?;
            let window = text.get(start..start + self.folded.len())?;
            window.eq_ignore_ascii_case(&self.folded).then_some(start)
        })
    }
}

/// Whether JSON and folding leave the character as it is, but for its case and for what [`hides_ascii`] finds.
fn stands_as_it_is(folded: char) -> bool {
    // These may have a backslash before them.
    matches!(folded, ' '..='~') && !matches!(folded, '"' | '\\' | '/')
}

/// Whether an ASCII character of a text stands in the line in another form: as an escape, or as one of the two characters that
/// fold to ASCII ones, the Kelvin sign and the capital i with a dot; or may be parted by what only a terminal obeys.
fn hides_ascii(line: &str) -> bool {
    const KELVIN: &str = "\u{212a}";
    const DOTTED_I: &str = "\u{130}";
    let bytes = line.as_bytes();
    let mut escapes = memchr::memmem::find_iter(bytes, b"\\u");
    let is_hiding = escapes.any(|at| {
        let digits = line.get(at + 2..at + 6);
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        matches!(code, None | Some(0x1b | 0x20..=0x7e | 0x130 | 0x212a))
    });
    is_hiding || (!line.is_ascii() && (line.contains(KELVIN) || line.contains(DOTTED_I)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(needle: &str, text: &str) -> Option<String> {
        let needle = Needle::new(needle, How::AnyCase).unwrap();
        let in_text = needle
            .find(text)
            .map(|(from, to)| text[from..to].to_owned());
        let line = json!({ "text": text }).to_string();
        assert!(in_text.is_none() || needle.may_be_in(&line), "{line}");
        in_text
    }

    #[test]
    fn capitals_do_not_matter_in_any_script() {
        assert_eq!(found("error", "An ERROR!").as_deref(), Some("ERROR"));
        assert_eq!(found("ärger", "viel ÄRGER").as_deref(), Some("ÄRGER"));
        assert_eq!(found("ΣΊΣΥΦ", "σίσυφος").as_deref(), Some("σίσυφ"));
        assert_eq!(found("a\"b", "A\"B").as_deref(), Some("A\"B"));
        assert_eq!(found("x\ny", "x\nY").as_deref(), Some("x\nY"));
        assert_eq!(found("missing", "An error"), None);
        // One character that folds to two.
        assert_eq!(found("i\u{307}", "İ").as_deref(), Some("İ"));
    }

    #[test]
    fn only_two_characters_fold_to_ascii() {
        let odd: Vec<char> = ('\u{80}'..=char::MAX)
            .filter(|character| character.to_lowercase().any(|folded| folded.is_ascii()))
            .collect();
        assert_eq!(odd, ['\u{130}', '\u{212a}']);
    }
}
