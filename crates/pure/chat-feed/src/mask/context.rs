//! Secrets that their names tell: values of keys, of variables and of options, credentials in addresses and headers.

use super::find::{Found, Rank, is_placeholder};
use super::rules::Service;
use super::runs::{Class, Runs, entropy, looks_random};

/// A name that tells of a secret.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    /// Of a service: its secrets have known lengths.
    Service(&'static Service),
    /// A word for any secret.
    Word(&'static str, Sort),
}

/// What values a name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Random ones.
    Random,
    /// Whatever people can remember.
    Password,
}

/// Words for secrets.
pub(super) const NAMES: &[(&str, Name)] = &[
    ("key", Name::Word("key", Sort::Random)),
    ("secret", Name::Word("secret", Sort::Random)),
    ("token", Name::Word("token", Sort::Random)),
    ("credential", Name::Word("credential", Sort::Random)),
    ("creds", Name::Word("creds", Sort::Random)),
    ("auth", Name::Word("auth", Sort::Random)),
    ("cookie", Name::Word("cookie", Sort::Random)),
    ("passw", Name::Word("passw", Sort::Password)),
    ("pwd", Name::Word("pwd", Sort::Password)),
    ("passphrase", Name::Word("passphrase", Sort::Password)),
];

impl Name {
    fn word(self) -> &'static str {
        match self {
            Name::Service(service) => service.name,
            Name::Word(word, _) => word,
        }
    }

    /// What a value of this name is called, where it is a secret.
    fn judge(self, value: &str) -> Option<&'static str> {
        if is_placeholder(value) || value.starts_with("[masked") {
            return None;
        }
        match self {
            Name::Service(service) => {
                let fits = service.lengths.contains(&value.len())
                    && value.bytes().all(|byte| service.class.has(byte))
                    && (looks_random(value, 2.5) || is_of_service(value));
                fits.then_some(service.kind)
            }
            Name::Word(_, Sort::Random) => {
                let fits = (12..=512).contains(&value.len())
                    && value.bytes().all(|byte| Class::Wide.has(byte))
                    && !value.contains("://")
                    && looks_random(value, 3.2);
                // Some have any signs in them, and begin like this.
                let is_sk = (24..=64).contains(&value.len())
                    && value.starts_with("sk_")
                    && !value.contains(char::is_whitespace);
                (fits || is_sk).then_some("secret")
            }
            Name::Word(_, Sort::Password) => {
                let has = |is: fn(char) -> bool| value.chars().any(is);
                // Types, calls and variables are code.
                let is_code =
                    has(|char| matches!(char, '(' | ')' | '<' | '>' | '{' | '}' | '$' | ';'))
                        && !has(|char| char.is_ascii_digit());
                let fits = (6..=128).contains(&value.chars().count())
                    && !has(char::is_whitespace)
                    && has(char::is_alphanumeric)
                    && !is_code
                    && !is_reference(value)
                    && has(|char| !char.is_ascii_lowercase() && char != '_' && char != '.');
                fits.then_some("password")
            }
        }
    }
}

/// Whether a value of a length that a service's secrets have may be one although it falls into words and numbers: many of
/// its characters are digits, or all of them are and it is longer than a number.
fn is_of_service(value: &str) -> bool {
    let n_digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_id = n_digits == value.len() && n_digits >= 15;
    (is_id && entropy(value) >= 2.0) || (n_digits * 12 >= value.len() && entropy(value) >= 3.0)
}

/// Whether a value only says where the secret is.
fn is_reference(value: &str) -> bool {
    let begins = [
        "$",
        "%",
        "<",
        "process.env",
        "os.environ",
        "env.",
        "self.",
        "this.",
        "/",
        "./",
        "http",
        "&",
        "*",
    ];
    begins.iter().any(|begins| value.starts_with(begins))
        || value
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        || value.bytes().all(|byte| byte.is_ascii_digit()) && value.len() < 6
}

/// What a value is called that stands in an object under a key; `None` where it is no secret by that.
pub(super) fn of_key(key: &str, value: &str) -> Option<&'static str> {
    let lower = key.to_ascii_lowercase();
    let services = super::rules::SERVICES.iter().map(Name::Service);
    let names = NAMES.iter().map(|(_, name)| *name);
    let mut named = services.chain(names).filter(|name| {
        lower
            .match_indices(name.word())
            .any(|(at, _)| is_word(*name, key, at).is_some())
    });
    named.find_map(|name| {
        // A password may be any word where its key says that it is one.
        let is_plain = matches!(name, Name::Word(_, Sort::Password))
            && (4..=128).contains(&value.len())
            && !value.contains(char::is_whitespace)
            && !is_placeholder(value)
            && !is_reference(value)
            && !value.starts_with("[masked");
        name.judge(value).or(is_plain.then_some("password"))
    })
}

/// What a number is called that has this name; `None` where it is no password by that. `passwordChangedAt` is none: the
/// name's last word says what it is.
pub(super) fn of_number(name: &str, number: &str) -> Option<&'static str> {
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let is_password = NAMES.iter().any(|(word, sort)| {
        matches!(sort, Name::Word(_, Sort::Password))
            && lower
                .match_indices(word)
                .any(|(at, _)| is_word(*sort, name, at) == Some(name.len()))
    });
    let kind = || of_key(name, number).filter(|kind| *kind == "password");
    is_password.then(kind).flatten()
}

/// Where the name's word ends, where it is one by itself and not a part of another.
fn is_word(name: Name, text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let word = name.word();
    let mut end = at + word.len();
    let Name::Word(word, _) = name else {
        return Some(end);
    };
    let rest = &bytes[end.min(bytes.len())..];
    let goes_on = |with: &[u8]| {
        rest.get(..with.len())
            .is_some_and(|rest| rest.eq_ignore_ascii_case(with))
            .then_some(with.len())
    };
    let more = match word {
        "passw" => goes_on(b"ord").or(goes_on(b"d"))?,
        "auth" => goes_on(b"orization")
            .or(goes_on(b"entication"))
            .unwrap_or(0),
        "credential" => goes_on(b"s").unwrap_or(0),
        "secret" | "cookie" => goes_on(b"s").unwrap_or(0),
        _ => 0,
    };
    end += more;
    // `keyboard`, `tokens`, `author`: other words.
    let is_camel = bytes.get(end - 1).is_some_and(u8::is_ascii_lowercase);
    if bytes.get(end).is_some_and(u8::is_ascii_lowercase) && is_camel {
        return None;
    }
    if word == "key" {
        // `monkey` is none; `apikey` and `publicKey` are.
        let before = text.get(..at).unwrap_or_default();
        let is_part = before.ends_with(|char: char| char.is_ascii_lowercase())
            && bytes.get(at) == Some(&b'k');
        let known = [
            "api",
            "secret",
            "access",
            "auth",
            "private",
            "token",
            "encryption",
            "signing",
            "license",
            "account",
        ];
        if is_part && !known.iter().any(|known| before.ends_with(known)) {
            return None;
        }
    }
    Some(end)
}

/// The value that follows a name, where there is one and it is a secret.
pub(super) fn named(name: Name, text: &str, at: usize, runs: &mut Runs, all: &mut Vec<Found>) {
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
        word.is_some_and(|word| word.starts_with("--")) && before > name_ends
    };
    if here == before && !is_option() {
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
        (None, Name::Word(_, Sort::Password)) => {
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
        let kind = fits.then(|| name.judge(value)).flatten();
        let kind = kind.or(is_password.then_some("password"))?;
        Some((from, value, kind))
    });
    if let Some((from, value, kind)) = found {
        all.push(Found {
            range: from..from + value.len(),
            kind,
            value: value.to_owned(),
            rank: Rank::Named,
        });
    }
}

/// `user:password@` behind `://`.
pub(super) fn in_address(text: &str, at: usize, all: &mut Vec<Found>) {
    let rest = &text.as_bytes()[at.min(text.len())..];
    let rest = &rest[..rest.len().min(400)];
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(
                byte,
                b'/' | b'@' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'['
            )
    };
    let Some(len) = rest
        .iter()
        .position(ends)
        .filter(|&len| rest.get(len) == Some(&b'@'))
    else {
        return;
    };
    let Some(user) = text.get(at..at + len) else {
        return;
    };
    let (value_at, value) = match user.split_once(':') {
        Some((name, password)) => (at + name.len() + 1, password),
        None if looks_random(user, 3.0) && user.len() >= 16 => (at, user),
        None => return,
    };
    if value.len() >= 3 && !is_placeholder(value) && !is_reference(value) {
        all.push(Found {
            range: value_at..value_at + value.len(),
            kind: "password",
            value: value.to_owned(),
            rank: Rank::Named,
        });
    }
}

/// The token behind `Bearer `.
pub(super) fn bearer(text: &str, at: usize, runs: &mut Runs, all: &mut Vec<Found>) {
    let end = runs.end(text.as_bytes(), at, Class::Wide);
    let value = text
        .get(at..end)
        .unwrap_or_default()
        .trim_end_matches(['.', ':', '|', '%']);
    if value.len() >= 12 && looks_random(value, 2.5) {
        all.push(Found {
            range: at..at + value.len(),
            kind: "bearer token",
            value: value.to_owned(),
            rank: Rank::Named,
        });
    }
}

/// Name and password in base64 behind `Basic `.
pub(super) fn basic(text: &str, at: usize, runs: &mut Runs, all: &mut Vec<Found>) {
    let end = runs.end(text.as_bytes(), at, Class::Base64);
    let value = text.get(at..end).unwrap_or_default();
    if (8..=512).contains(&value.len()) && decoded_has_colon(value) {
        all.push(Found {
            range: at..end,
            kind: "basic credentials",
            value: value.to_owned(),
            rank: Rank::Named,
        });
    }
}

/// Whether a text is base64 of printable characters, one of them a colon.
fn decoded_has_colon(text: &str) -> bool {
    let mut bits = 0_u32;
    let mut n_bits = 0;
    let mut has_colon = false;
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return false,
        };
        bits = (bits << 6) | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            let char = (bits >> n_bits) & 0xff;
            if !(0x20..0x7f).contains(&char) {
                return false;
            }
            has_colon |= char == u32::from(b':');
        }
    }
    has_colon
}

/// The passwords that a curl command is given, in whichever of its lines: `-u name:password`, `-sSu …`, `--user=…`.
pub(super) fn curl(text: &str, at: usize, all: &mut Vec<Found>) {
    let from = at + "curl ".len();
    let command = &text[from..text.floor_char_boundary(at + 2_000)];
    // A line that ends with a backslash goes on in the next one.
    let goes_on = |end: usize| command[..end].trim_end_matches('\r').ends_with('\\');
    let mut ends = command.match_indices('\n').map(|(end, _)| end);
    let end = ends.find(|&end| !goes_on(end)).unwrap_or(command.len());
    let command = &command[..end];
    // What follows the next curl is its own.
    let next = command.to_ascii_lowercase().find("curl ");
    let command = &command[..next.unwrap_or(end)];
    for (dash, _) in command.match_indices('-') {
        let option = &command[dash + 1..];
        let is_first = command[..dash].ends_with(char::is_whitespace) || dash == 0;
        let value = match option.strip_prefix("-user") {
            Some(rest) => Some(rest).filter(|rest| !rest.starts_with('-')),
            None => option
                .trim_start_matches(|char: char| char.is_ascii_alphanumeric() && char != 'u')
                .strip_prefix('u'),
        };
        let Some(value) = value.filter(|_| is_first) else {
            continue;
        };
        let value = value
            .trim_start_matches(|char: char| char.is_whitespace() || matches!(char, '\\' | '='));
        let own = value.strip_prefix(['"', '\'']).unwrap_or(value);
        let is_quoted = own.len() < value.len();
        let own_at = from + command.len() - own.len();
        let ends = |char: char| match is_quoted {
            true => matches!(char, '"' | '\''),
            false => char.is_whitespace(),
        };
        let own = &own[..own.find(ends).unwrap_or(own.len())];
        // A backslash is of the quote or of the line that ends there.
        if let Some((name, password)) = own.trim_end_matches('\\').split_once(':')
            && password.len() >= 3
            && !is_placeholder(password)
            && !is_reference(password)
            && !password.starts_with("[masked")
        {
            let start = own_at + name.len() + 1;
            all.push(Found {
                range: start..start + password.len(),
                kind: "password",
                value: password.to_owned(),
                rank: Rank::Named,
            });
        }
    }
}
