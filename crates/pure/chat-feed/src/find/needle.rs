//! A text that is looked for in others: small letters find capitals as well, and a capital asks for just that.
//!
//! The same needle says whether a block has the text and where the page is to mark it, so that both agree.

use std::ops::Range;

use memchr::memchr2;
use memchr::memmem::Finder;

/// What is looked for.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    text: String,
    how: How,
}

#[derive(Clone, Debug)]
enum How {
    /// Just as it is.
    Exact(Box<Finder<'static>>),
    /// ASCII in small letters: bytes can be compared.
    Ascii,
    /// By what each character folds to.
    Folded(Vec<char>),
}

impl Needle {
    /// A needle that tells capitals apart only where it has one itself.
    pub(super) fn smart(text: &str) -> Needle {
        match text.chars().any(char::is_uppercase) {
            true => Needle::exact(text),
            false => Needle::either_case(text),
        }
    }

    /// A needle that always tells capitals apart.
    pub(super) fn exact(text: &str) -> Needle {
        Needle {
            how: How::Exact(Box::new(Finder::new(text.as_bytes()).into_owned())),
            text: text.to_owned(),
        }
    }

    /// A needle that never tells capitals apart.
    pub(super) fn either_case(text: &str) -> Needle {
        let folded: String = text.chars().flat_map(char::to_lowercase).collect();
        let how = if folded.is_ascii() {
            How::Ascii
        } else {
            How::Folded(folded.chars().collect())
        };
        Needle { text: folded, how }
    }

    /// Its text, folded where capitals are not told apart.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it tells capitals apart.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self.how, How::Exact(_))
    }

    /// Whether it stands anywhere in a text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.find(text, 0).is_some()
    }

    /// Where it first stands in a text from a place on, in bytes. An empty needle stands nowhere.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let rest = text.get(from..)?;
        let first = *self.text.as_bytes().first()?;
        match &self.how {
            How::Exact(finder) => {
                let at = from + finder.find(rest.as_bytes())?;
                Some(at..at + self.text.len())
            }
            How::Ascii => {
                let (wanted, bytes) = (self.text.as_bytes(), rest.as_bytes());
                let mut start = 0;
                while let Some(at) = memchr2(first, first.to_ascii_uppercase(), &bytes[start..]) {
                    let here = start + at;
                    let end = here + wanted.len();
                    match bytes.get(here..end) {
                        Some(found) if found.eq_ignore_ascii_case(wanted) => {
                            return Some(from + here..from + end);
                        }
                        Some(_) => start = here + 1,
                        None => return None,
                    }
                }
                None
            }
            How::Folded(folded) => {
                let mut starts = rest.char_indices();
                starts.find_map(|(at, _)| {
                    let len = folds_to(&rest[at..], folded)?;
                    Some(from + at..from + at + len)
                })
            }
        }
    }
}

/// How many bytes of a text's beginning fold to this; `None` where they do not.
fn folds_to(text: &str, folded: &[char]) -> Option<usize> {
    let mut wanted = folded.iter();
    for (at, character) in text.char_indices() {
        for small in character.to_lowercase() {
            match wanted.next() {
                Some(next) if *next == small => {}
                Some(_) => return None,
                // It ends in the middle of what one character folds to.
                None => break,
            }
        }
        if wanted.as_slice().is_empty() {
            return Some(at + character.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_letters_find_capitals_and_a_capital_asks_for_itself() {
        assert_eq!(Needle::smart("err").find("An ERRor", 0), Some(3..6));
        assert_eq!(
            Needle::smart("Err").find("An ERRor, Error", 0),
            Some(10..13)
        );
        assert_eq!(
            Needle::smart("größe").find("DIE GRÖSSE, GRÖßE", 0),
            Some(13..20)
        );
        assert_eq!(Needle::smart("İ").find("i̇ İ", 0), Some(4..6));
        assert_eq!(Needle::smart("").find("x", 0), None);
        assert_eq!(Needle::smart("a").find("aXa", 1), Some(2..3));
        assert_eq!(Needle::smart("a").find("é", 1), None);
    }

    proptest! {
        #[test]
        fn it_is_found_where_the_plain_way_finds_it(
            text in "[abAB é]{0,40}", wanted in "[abé]{1,4}",
        ) {
            let found = Needle::smart(&wanted).find(&text, 0).map(|range| range.start);
            prop_assert_eq!(found, text.to_lowercase().find(&wanted));
        }
    }
}
