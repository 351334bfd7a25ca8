//! The value that follows a name of secrets: `api_key = "…"`, `--token …`, `X-Api-Key: …`, `<add key="Password" value="…" />`.

use super::context::{Joint, Name, Sort, is_reference, is_word};
use super::find::{Found, is_placeholder};
use super::runs::{Class, Runs, is_words};
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
    let value_end = match (quote, name) {
        (Some(quote), _) => {
            let rest = bytes.get(value_at..).unwrap_or_default();
            let rest = &rest[..rest.len().min(600)];
            let len = rest.iter().position(|&byte| byte == quote || byte == b'\n');
            match len {
                Some(len) => value_at + len,
                None => return,
            }
        }
        (None, Name::Word(_, Sort::Password | Sort::Short)) => {
            let rest = bytes.get(value_at..).unwrap_or_default();
            let rest = &rest[..rest.len().min(200)];
            let ends = |byte: &u8| {
                byte.is_ascii_whitespace()
                    || matches!(
                        byte,
                        b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'<' | b'\\' | b')'
                    )
            };
            value_at + rest.iter().position(ends).unwrap_or(rest.len())
        }
        (None, _) => runs.end(bytes, value_at, Class::Wide),
    };
    let Some(value) = text.get(value_at..value_end) else {
        return;
    };
    let value = if quote.is_none() {
        value.trim_end_matches(['.', ':', '|', '%'])
    } else {
        value
    };
    // `password: String`; only a shell's `PASSWORD=word` has no quotes around a word.
    let is_word = quote.is_none()
        && value
            .chars()
            .all(|char| char.is_alphabetic() || matches!(char, '_' | '-' | '.'));
    if is_word && (bytes.get(before..here) != Some(b"=") || before != name_ends) {
        return;
    }
    // `pass=…` and `"pass": "…"`; a test's `PASS: src/lib.rs` is none.
    let is_told = quote.is_some() && here > before;
    if matches!(name, Name::Word(_, Sort::Short))
        && !is_told
        && text.get(name_ends..here) != Some("=")
    {
        return;
    }
    let sign = match text.get(name_ends..here) {
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
        .filter(|_| name_ends == end)
        .map_or(name, |sign| name.as_written(text, at, end, sign));
    // Of two signs between a name and its value the second may be the value's own, where its length is known.
    let is_of_service = quote.is_none() && matches!(name, Name::Service(_));
    let most_signs = if is_of_service { 2 } else { 0 };
    let found = (0..=most_signs).find_map(|n_signs| {
        let from = value_at.checked_sub(n_signs)?;
        let signs = bytes.get(from..value_at)?;
        let value = text.get(from..value_at + value.len())?;
        let fits = signs.iter().all(|sign| *sign == b'=');
        // An attribute of that name holds nothing else.
        let is_password = attribute.is_some()
            && matches!(name, Name::Word(_, Sort::Password))
            && value.len() >= 4
            && !is_placeholder(value)
            && !(value.starts_with('%') && value.ends_with('%'));
        // A shell's variable in capitals may be a phrase.
        let is_phrase = || {
            let is_capital = text
                .get(at..end)
                .is_some_and(|name| name.bytes().all(|byte| !byte.is_ascii_lowercase()));
            let has_words = value.trim().contains(char::is_whitespace) && value.len() <= 128;
            quote.is_some()
                && matches!(
                    (name, sign),
                    (Name::Word(_, Sort::Password), Some(Joint::Assigned))
                )
                && is_capital
                // A constant in code is a message to who types one.
                && text.get(name_ends..here) == Some("=")
                && has_words
                && !value.starts_with("[masked")
                && !is_reference(value)
        };
        let kind = fits.then(|| name.judge(value)).flatten();
        let kind = kind.or_else(|| (is_password || is_phrase()).then_some("password"))?;
        Some((from, value, kind))
    });
    if let Some((from, value, kind)) = found {
        all.push(Found::named(from, value, kind));
    }
}
