//! Texts that look random and that nothing names: what is left of keys nobody has listed.

use super::find::{Found, Rank};
use super::runs::{Class, entropy};
use super::value::Value;

/// Shorter ones are names; longer ones are files, pictures, signatures.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=200;

/// How the ids begin that agents and models give, and checksums of packages.
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
    "item_",
    "run_",
    "thread_",
    "asst_",
    "gen-",
];

/// What stands before checksums of modules (`go.sum`), of providers (`.terraform.lock.hcl`), of keys of `ssh`, and of images.
const CHECKSUMS: &[&str] = &["h1:", "zh:", "SHA256:", "sha256:", "sha384:", "sha512:"];

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
        // A diff's sign is not the text's.
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        let is_first = matches!(before, None | Some(b'\n'));
        let signs = usize::from(is_first && matches!(bytes[start], b'+' | b'-'));
        let own = &text[start + signs..at];
        // An address goes on behind what no key has.
        let is_within = |byte: Option<&u8>| matches!(byte, Some(b'.' | b':' | b'@' | b'%' | b'/'));
        if matches!(before, Some(b'.' | b'/' | b'@' | b'%'))
            || is_within(bytes.get(at)) && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
            || is_checksum(&text[..start])
        {
            continue;
        }
        let value = &own[name_len(own)..];
        let is_any = is_random(value) || is_random(own) && !is_named(own);
        if is_any && !is_named(value) {
            all.push(Found {
                range: at - value.len()..at,
                kind: "random text",
                value: Value::of(value),
                rank: Rank::Random,
            });
        }
    }
}

/// Whether what follows is a checksum, as what stands before it says.
fn is_checksum(before: &str) -> bool {
    before.ends_with(':')
        && CHECKSUMS.iter().any(|sign| {
            let outer = before.strip_suffix(sign);
            outer.is_some_and(|outer| !outer.ends_with(|char: char| char.is_alphanumeric()))
        })
}

/// Whether a text says how it begins that it is an id or a checksum.
fn is_named(text: &str) -> bool {
    NO_SECRETS.iter().any(|begins| text.starts_with(begins))
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
