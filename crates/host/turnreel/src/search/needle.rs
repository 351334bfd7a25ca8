//! A text that is looked for, in capitals or not: whether a line may have it, and where a text has it.

/// How long a text to find may be.
const NEEDLE_BYTES: usize = 200;

/// What is looked for.
#[derive(Debug)]
pub(crate) struct Needle {
    /// Its characters, folded.
    folded: Vec<char>,
    /// The same as bytes, where all are ASCII.
    ascii: Option<Bytes>,
    /// A part of it that stands as it is in every line that has it; `None` where there is no such part.
    anchor: Option<Bytes>,
}

impl Needle {
    /// # Errors
    ///
    /// Where there is nothing to find, or too much.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected the text to find".to_owned());
        }
        if text.len() > NEEDLE_BYTES {
            return Err(format!("over the limit of {NEEDLE_BYTES} bytes"));
        }
        let folded: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
        let bytes = |chars: &[char]| chars.iter().collect::<String>().into_bytes();
        let is_ascii = folded.iter().all(char::is_ascii);
        let runs = folded.split(|character| !stands_as_it_is(*character));
        let longest = runs.max_by_key(|run| run.len());
        Ok(Needle {
            ascii: is_ascii.then(|| Bytes::new(bytes(&folded))),
            anchor: longest
                .filter(|run| !run.is_empty())
                .map(|run| Bytes::new(bytes(run))),
            folded,
        })
    }

    /// How many characters it has, as they are compared.
    pub(super) fn n_chars(&self) -> usize {
        self.folded.len()
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
        if let Some(ascii) = self.ascii.as_ref().filter(|_| text.is_ascii()) {
            let at = ascii.find(text.as_bytes())?;
            return Some((at, at + ascii.folded.len()));
        }
        let ends_at = |start: usize| {
            let mut wanted = self.folded.iter();
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

/// ASCII text in small letters.
#[derive(Debug)]
struct Bytes {
    folded: Vec<u8>,
    /// Where its rarest byte is: most places are told apart by it.
    rare: usize,
}

impl Bytes {
    fn new(folded: Vec<u8>) -> Self {
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
/// fold to ASCII ones, the Kelvin sign and the capital i with a dot.
fn hides_ascii(line: &str) -> bool {
    const KELVIN: &str = "\u{212a}";
    const DOTTED_I: &str = "\u{130}";
    let bytes = line.as_bytes();
    let mut escapes = memchr::memmem::find_iter(bytes, b"\\u");
    let is_hiding = escapes.any(|at| {
        let digits = line.get(at + 2..at + 6);
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        matches!(code, None | Some(0x20..=0x7e | 0x130 | 0x212a))
    });
    is_hiding || (!line.is_ascii() && (line.contains(KELVIN) || line.contains(DOTTED_I)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(needle: &str, text: &str) -> Option<String> {
        let needle = Needle::new(needle).unwrap();
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
