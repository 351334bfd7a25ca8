//! The value that follows a name of secrets: `api_key = "…"`, `--token …`, `X-Api-Key: …`, `<add key="Password" value="…" />`.

use super::assigned;
use super::context::{Joint, Name, Sort, is_reference, is_word};
use super::find::{Found, is_placeholder};
use super::quotes;
use super::runs::{Class, Runs, is_behind_word, is_words};
use super::spoken;

/// The value that follows a name, where there is one and it is a secret.
pub(super) fn find(name: Name, text: &str, at: usize, runs: &mut Runs, all: &mut Vec<Found>) {
    let Some(end) = is_word(name, text, at) else {
        return;
    };
    let bytes = text.as_bytes();
    // The rest of the name: `_FOR_TESTS`.
    let rest = bytes.get(end..).unwrap_or_default();
    let more = rest
        .iter()
        .take(30)
        .take_while(|byte| Class::Word.has(**byte) || **byte == b'.');
    let mut here = end + more.count();
    let name_ends = here;
    // `<add key="Password" value="…" />`
    let behind = text.get(here..text.floor_char_boundary(here.saturating_add(40)));
    let attribute = behind.and_then(|behind| {
        let rest = behind.strip_prefix(['"', '\''])?;
        let own = rest.trim_start_matches([' ', '\t']);
        let value = own.strip_prefix("value")?;
        (own.len() < rest.len()).then_some(behind.len() - value.len())
    });
    here += attribute.unwrap_or(0);
    let skip = |here: &mut usize, most: usize, is: fn(u8) -> bool| {
        let rest = bytes.get(*here..).unwrap_or_default();
        *here += rest.iter().take(most).take_while(|byte| is(**byte)).count();
    };
    skip(&mut here, 4, |byte| {
        matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b']' | b'*')
    });
    let before = here;
    skip(&mut here, 3, |byte| {
        matches!(byte, b':' | b'=' | b'>' | b'?' | b'|')
    });
    // `--token VALUE`
    let is_option = || {
        let from = at.saturating_sub(24);
        let line = text
            .get(text.ceil_char_boundary(from)..at)
            .unwrap_or_default();
        let word = line
            .rsplit(|char: char| char.is_whitespace() || matches!(char, '"' | '\''))
            .next();
        // `setx NAME VALUE`, `aws configure set NAME VALUE`
        let own = word.unwrap_or_default();
        let set = line[..line.len() - own.len()].trim_end();
        let is_set = ["set", "setx", "--global", "--local"].iter().any(|verb| {
            let before = set.strip_suffix(verb);
            before.is_some_and(|before| !before.ends_with(|char: char| char.is_ascii_alphabetic()))
        });
        (own.starts_with("--") || is_set) && before > name_ends
    };
    if here == before && !is_option() {
        if let Name::Word(_, Sort::Password) = name
            && name_ends == end
        {
            spoken::find(text, end, all);
        }
        return;
    }
    skip(&mut here, 5, |byte| {
        matches!(byte, b' ' | b'\t' | b'*' | b'=')
    });
    let quote = bytes
        .get(here)
        .copied()
        .filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let value_at = here + usize::from(quote.is_some());
    for scheme in ["bearer ", "basic ", "token "] {
        let begins = bytes.get(value_at..value_at + scheme.len());
        // Those are looked at for what they are.
        if begins.is_some_and(|begins| begins.eq_ignore_ascii_case(scheme.as_bytes()))
            && scheme != "token "
        {
            return;
        }
    }
    let named = Named {
        name,
        text,
        at,
        end,
        name_ends,
        before,
        here,
        quote,
        is_attribute: attribute.is_some(),
    };
    let found = match quote {
        Some(quote) => named.in_quotes(value_at, quote),
        None => named.unquoted(value_at, runs),
    };
    if let Some((from, value, kind)) = found {
        all.push(Found::named(from, value, kind));
    }
}

/// So much of a text in quotes is looked at, and of a password without them.
const MOST_QUOTED_BYTES: usize = 600;
const MOST_BYTES: usize = 200;

/// A name, what stands behind it, and how its value begins.
struct Named<'t> {
    name: Name,
    text: &'t str,
    /// Where the name's word begins and ends.
    at: usize,
    end: usize,
    /// Where the name ends, and where the sign behind it begins and ends: its value or the quote before that follows.
    name_ends: usize,
    before: usize,
    here: usize,
    quote: Option<u8>,
    /// Whether it is the value of an attribute, and its name that of another.
    is_attribute: bool,
}

/// Signs that are a sentence's, at its end.
fn is_behind(char: char) -> bool {
    u8::try_from(char).is_ok_and(is_behind_word)
}

/// A value with where it begins and what it is called.
type Told<'t> = (usize, &'t str, &'static str);

impl<'t> Named<'t> {
    /// What stands between the name and its value.
    fn sign(&self) -> Option<&'t str> {
        self.text.get(self.name_ends..self.here)
    }

    /// The value in quotes that begins at `at`.
    fn in_quotes(&self, at: usize, quote: u8) -> Option<Told<'t>> {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        let rest = &rest[..rest.len().min(MOST_QUOTED_BYTES)];
        let value = |len: usize| self.judge(at, self.text.get(at..at + len)?);
        // A shell's quote may have a backslash as its last sign.
        let whole = quotes::end(rest, quote, 0);
        let plain = || rest.iter().position(|&byte| byte == quote || byte == b'\n');
        whole.and_then(value).or_else(|| value(plain()?))
    }

    /// The value without quotes that begins at `at`.
    fn unquoted(&self, at: usize, runs: &mut Runs) -> Option<Told<'t>> {
        let bytes = self.text.as_bytes();
        let value_end = match self.name {
            Name::Word(_, Sort::Password | Sort::Short) => {
                let rest = bytes.get(at..).unwrap_or_default();
                let rest = &rest[..rest.len().min(MOST_BYTES)];
                let ends = |byte: &u8| {
                    byte.is_ascii_whitespace()
                        || matches!(
                            byte,
                            b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'<' | b'\\' | b')'
                        )
                };
                let len = rest.iter().position(ends).unwrap_or(rest.len());
                let signs = rest[..len]
                    .iter()
                    .rev()
                    .take_while(|&&byte| is_behind_word(byte));
                at + len - signs.count()
            }
            _ => runs.end_of_word(bytes, at, Class::Wide),
        };
        self.assigned(at)
            .or_else(|| self.judge(at, self.text.get(at..value_end)?))
    }

    /// The same, where its line has nothing else.
    fn assigned(&self, at: usize) -> Option<Told<'t>> {
        let name = match self.name_ends == self.end {
            true => self
                .name
                .as_written(self.text, self.at, self.end, Joint::Assigned),
            false => self.name,
        };
        let is_any = matches!(name, Name::Word(_, sort) if sort != Sort::Random);
        if !is_any || self.sign() != Some("=") {
            return None;
        }
        let value = assigned::value(self.text, at)?.trim_end_matches(is_behind);
        self.judge(at, value).or_else(|| {
            // Between other signs one more of these says nothing: it is no name's.
            let kind = (!is_words(value)).then(|| name.judge(&value.replace('=', "")));
            kind.flatten().map(|kind| (at, value, kind))
        })
    }

    /// What a value is called, where it is a secret.
    fn judge(&self, value_at: usize, value: &'t str) -> Option<Told<'t>> {
        let (text, quote, is_attribute) = (self.text, self.quote, self.is_attribute);
        let (bytes, before, here) = (text.as_bytes(), self.before, self.here);
        // `password: String`; only a shell's `PASSWORD=word` has no quotes around a word.
        let is_word = quote.is_none()
            && value
                .chars()
                .all(|char| char.is_alphabetic() || matches!(char, '_' | '-' | '.'));
        if is_word && (bytes.get(before..here) != Some(b"=") || before != self.name_ends) {
            return None;
        }
        // `pass=…` and `"pass": "…"`; a test's `PASS: src/lib.rs` is none.
        let is_told = quote.is_some() && here > before;
        if matches!(self.name, Name::Word(_, Sort::Short)) && !is_told && self.sign() != Some("=") {
            return None;
        }
        let sign = match self.sign() {
            Some("=") => Some(Joint::Assigned),
            // A constant in code may be a name for one; what mixes letters and digits is none.
            Some(sign)
                if sign.trim() == "="
                    && quote.is_some()
                    && !is_words(value)
                    && value.bytes().any(|byte| byte.is_ascii_digit()) =>
            {
                Some(Joint::Assigned)
            }
            Some(sign) if sign.trim() == ":" => Some(Joint::Colon),
            _ => (here == before).then_some(Joint::None),
        };
        let name = sign
            .filter(|_| self.name_ends == self.end)
            .map_or(self.name, |sign| {
                self.name.as_written(text, self.at, self.end, sign)
            });
        // Of two signs between a name and its value the second may be the value's own, where its length is known.
        let is_of_service = quote.is_none() && matches!(name, Name::Service(_));
        let most_signs = if is_of_service { 2 } else { 0 };
        (0..=most_signs).find_map(|n_signs| {
            let from = value_at.checked_sub(n_signs)?;
            let signs = bytes.get(from..value_at)?;
            let value = text.get(from..value_at + value.len())?;
            let fits = signs.iter().all(|sign| *sign == b'=');
            // An attribute of that name holds nothing else.
            let is_password = is_attribute
                && matches!(name, Name::Word(_, Sort::Password))
                && value.len() >= 4
                && !is_placeholder(value)
                && !(value.starts_with('%') && value.ends_with('%'));
            // A shell's variable in capitals may be a phrase.
            let is_phrase = || {
                let is_shell_password = matches!(
                    (name, sign),
                    (Name::Word(_, Sort::Password), Some(Joint::Assigned))
                );
                let is_capital = text
                    .get(self.at..self.end)
                    .is_some_and(|name| name.bytes().all(|byte| !byte.is_ascii_lowercase()));
                quote.is_some()
                    && is_shell_password
                    && is_capital
                    // A constant in code is a message to who types one.
                    && self.sign() == Some("=")
                    && value.len() <= 128
                    && value.trim().contains(char::is_whitespace)
                    && !value.starts_with("[masked")
                    && !is_reference(value)
            };
            let kind = fits.then(|| name.judge(value)).flatten();
            let kind = kind.or_else(|| (is_password || is_phrase()).then_some("password"))?;
            Some((from, value, kind))
        })
    }
}
