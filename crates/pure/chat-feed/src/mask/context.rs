//! Names that tell of secrets, and which values of theirs are ones.

use super::find::is_placeholder;
use super::rules::Service;
use super::runs::{Class, entropy, looks_random};

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
    /// The same, where nothing else says that it is one: the name is short, and a word of its own in many texts.
    Short,
    /// Either: such a name leaves no doubt (see [`Name::as_written`]).
    Clear,
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
    ("pass", Name::Word("pass", Sort::Short)),
    ("pw", Name::Word("pw", Sort::Short)),
    ("psk", Name::Word("psk", Sort::Short)),
];

impl Name {
    fn word(self) -> &'static str {
        match self {
            Name::Service(service) => service.name,
            Name::Word(word, _) => word,
        }
    }

    /// What a value of this name is called, where it is a secret.
    pub(super) fn judge(self, value: &str) -> Option<&'static str> {
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
            Name::Word(_, Sort::Random) => is_random(value).then_some("secret"),
            Name::Word(_, Sort::Password) => is_password(value).then_some("password"),
            Name::Word(_, Sort::Short) => {
                let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
                let is_mixed =
                    has(u8::is_ascii_alphabetic) && has(|byte| !byte.is_ascii_alphabetic());
                (is_mixed && !value.contains('=') && is_password(value)).then_some("password")
            }
            Name::Word(_, Sort::Clear) => {
                // `--secret id=name` says where it is, and `MAX_TOKEN=4096` is a number.
                let is_short = is_password(value)
                    && !value.contains('=')
                    && !value.bytes().all(|byte| byte.is_ascii_digit());
                (is_random(value) || is_short).then_some("secret")
            }
        }
    }

    /// The name as it stands in a text that goes on with a sign: one that says by itself that its value is a secret has
    /// short ones, too. Those are variables of a shell (`API_TOKEN=`), options (`--api-key`) and headers (`X-Auth-Token:`);
    /// `CACHE_KEY=` and `--secret` are not.
    pub(super) fn as_written(self, text: &str, at: usize, end: usize, joint: Joint) -> Name {
        let Name::Word(word, Sort::Random) = self else {
            return self;
        };
        let from = at.saturating_sub(40);
        let before = &text[text.ceil_char_boundary(from)..at];
        let of_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        let of_what = &before[before.trim_end_matches(of_name).len()..];
        let has_case = |is: fn(&u8) -> bool| of_what.bytes().any(|byte| is(&byte));
        let is_capital = text.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
        let is_option = of_what.starts_with('-');
        let is_written = match joint {
            Joint::Assigned if !is_option => is_capital && !has_case(u8::is_ascii_lowercase),
            Joint::Colon => of_what.starts_with("x-") || of_what.starts_with("X-"),
            Joint::Assigned | Joint::None => is_option,
        };
        let lower = of_what.trim_end_matches(['_', '-']).to_ascii_lowercase();
        let is_of = |whats: &[&str]| whats.iter().any(|what| lower.ends_with(what));
        let is_clear = match word {
            "token" => true,
            "secret" => !is_option || is_of(&["api", "app", "client", "shared"]),
            "key" => is_of(&["access", "api", "auth", "private", "secret"]),
            _ => false,
        };
        match is_written && is_clear && end == at + word.len() {
            true => Name::Word(word, Sort::Clear),
            false => self,
        }
    }
}

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// `=`, as a shell writes it.
    Assigned,
    /// `:`
    Colon,
    /// Nothing but space.
    None,
}

/// Whether a value with a name of secrets is one.
fn is_random(value: &str) -> bool {
    let fits = (12..=512).contains(&value.len())
        && value.bytes().all(|byte| Class::Wide.has(byte))
        && !value.contains("://")
        && looks_random(value, 3.2);
    // Some have any signs in them, and begin like this.
    let is_sk = (24..=64).contains(&value.len())
        && value.starts_with("sk_")
        && !value.contains(char::is_whitespace);
    fits || is_sk
}

/// Whether a value with a name of passwords is one.
fn is_password(value: &str) -> bool {
    // What goes on and on is none, and is not walked through for each name in it.
    if value.len() > 128 * 4 {
        return false;
    }
    let has = |is: fn(char) -> bool| value.chars().any(is);
    // Types, calls and variables are code.
    let is_code = has(|char| matches!(char, '(' | ')' | '<' | '>' | '{' | '}' | '$' | ';'))
        && !has(|char| char.is_ascii_digit());
    (6..=128).contains(&value.chars().count())
        && !has(char::is_whitespace)
        && has(char::is_alphanumeric)
        && !is_code
        && !is_reference(value)
        && has(|char| !char.is_ascii_lowercase() && char != '_' && char != '.')
}

/// Whether a value of a length that a service's secrets have may be one although it falls into words and numbers: many of
/// its characters are digits, or all of them are and it is longer than a number.
fn is_of_service(value: &str) -> bool {
    let n_digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_id = n_digits == value.len() && n_digits >= 15;
    (is_id && entropy(value) >= 2.0) || (n_digits * 12 >= value.len() && entropy(value) >= 3.0)
}

/// Whether a value can be a password where its place leaves no doubt that there is one: any word.
pub(super) fn is_plain(value: &str) -> bool {
    (4..=512).contains(&value.len()) && !value.contains(char::is_whitespace) && is_itself(value)
}

/// Whether a value is no stand-in, and none that was masked before.
pub(super) fn is_itself(value: &str) -> bool {
    !is_placeholder(value) && !is_reference(value) && !value.starts_with("[masked")
}

/// Whether a value only says where the secret is.
pub(super) fn is_reference(value: &str) -> bool {
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
        "~/",
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
    let mut named = services.chain(names).filter_map(|name| {
        let mut ends = lower
            .match_indices(name.word())
            .filter_map(|(at, _)| Some((at, is_word(name, key, at)?)));
        let (at, end) = ends.next()?;
        let signs = [Joint::Assigned, Joint::Colon].into_iter();
        let mut written = signs.map(|sign| name.as_written(key, at, key.len(), sign));
        let is_clear = |name: &Name| matches!(name, Name::Word(_, Sort::Clear));
        let clear = written.find(is_clear).filter(|_| end == key.len());
        Some(clear.unwrap_or(name))
    });
    named.find_map(|name| {
        // A password may be any word where its key says that it is one.
        let is_plain = matches!(name, Name::Word(_, Sort::Password)) && is_plain(value);
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
pub(super) fn is_word(name: Name, text: &str, at: usize) -> Option<usize> {
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
    if let Name::Word(_, Sort::Short) = name {
        // `DB_PASS`, `dbPass` and `pass`; `bypass`, `compass` and `passes` are none.
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let is_own = match before {
            Some(before) if before.is_ascii_alphabetic() => {
                before.is_ascii_lowercase() && bytes[at].is_ascii_uppercase()
            }
            // `100pw` and `2pass` are measures.
            Some(before) => {
                !before.is_ascii_digit() && (word != "pw" || matches!(before, b'_' | b'-'))
            }
            None => word != "pw",
        };
        let goes_on = bytes
            .get(end)
            .is_some_and(|&byte| Class::Word.has(byte) || byte == b'.');
        return Some(end).filter(|_| is_own && !goes_on);
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
