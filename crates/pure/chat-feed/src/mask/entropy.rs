//! Texts that look random and that nothing names: what is left of keys nobody has listed.

use super::find::{Found, Rank};
use super::runs::{Class, entropy};

/// Shorter ones are names; longer ones are files, pictures, signatures.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=200;

/// How the ids begin that agents and models give, and checksums.
const NO_SECRETS: &[&str] = &[
    "toolu_",
    "srvtoolu_",
    "call_",
    "msg_",
    "resp_",
    "req_",
    "chatcmpl-",
    "rs_",
    "fc_",
    "ses_",
    "prt_",
    "sha1-",
    "sha256-",
    "sha384-",
    "sha512-",
    "h1:",
    "item_",
    "run_",
    "thread_",
    "asst_",
    "gen-",
];

/// Finds them. What stands before `=` is judged with them, as it always tells something; where it is a name, it stays.
pub(super) fn find(text: &str, all: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_part(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_part(bytes[at]) {
            at += 1;
        }
        let own = &text[start..at];
        // An address goes on behind what no key has.
        let is_within = |byte: Option<&u8>| matches!(byte, Some(b'.' | b':' | b'@' | b'%' | b'/'));
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        if matches!(before, Some(b'.' | b'/' | b'@' | b'%'))
            || is_within(bytes.get(at)) && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
        {
            continue;
        }
        let value = &own[name_len(own)..];
        if is_random(own) || is_random(value) {
            all.push(Found {
                range: at - value.len()..at,
                kind: "random text",
                value: value.to_owned(),
                rank: Rank::Random,
            });
        }
    }
}

fn is_part(byte: u8) -> bool {
    Class::Base64.has(byte) || matches!(byte, b'_' | b'-')
}

/// Length of the name before a value, with its `=`. A key has that sign at its end alone; a name seldom has digits, and is the
/// shorter one.
fn name_len(text: &str) -> usize {
    let Some((name, value)) = text.split_once('=') else {
        return 0;
    };
    let value = value.trim_start_matches('=');
    let n_digits = name.bytes().filter(u8::is_ascii_digit).count();
    match n_digits < 2 && name.len() < value.len() {
        true => text.len() - value.len(),
        false => 0,
    }
}

fn is_random(text: &str) -> bool {
    if !LENGTHS.contains(&text.len()) {
        return false;
    }
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().filter(|byte| is(byte)).count();
    if has(u8::is_ascii_uppercase) < 3
        || has(u8::is_ascii_lowercase) < 3
        || has(u8::is_ascii_digit) < 2
    {
        return false;
    }
    if NO_SECRETS.iter().any(|begins| text.starts_with(begins)) {
        return false;
    }
    // Words change from capitals to others seldom, random letters with every other one.
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let n_changes = text
        .as_bytes()
        .windows(2)
        .filter(|pair| kind(pair[0]) != kind(pair[1]))
        .count();
    let least = if text.len() < 48 { 4.2 } else { 4.5 };
    n_changes * 100 >= text.len() * 42 && entropy(text) >= least
}
