//! What tells who and where somebody is: the names of home folders, e-mail addresses, addresses of machines.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::find::{Found, Rank};
use super::runs::{Class, Runs};
use super::value::Value;

/// What the name of a home folder is called.
pub(super) const USER_NAME: &str = "user name";

/// Where homes lie; the dashes are how agents name folders after folders.
pub(super) const HOMES: &[&str] = &["/home/", "/Users/", "\\Users\\", "-home-", "-Users-"];

/// Names that are nobody's.
const NOBODY: &[&str] = &[
    "user", "username", "you", "name", "Shared", "Public", "Default", "runner", "...",
];

/// The name behind the beginning of a home folder.
pub(super) fn home(text: &str, at: usize, all: &mut Vec<Found>) {
    let rest = &text[at..];
    let Some(begins) = HOMES.iter().find(|home| rest.starts_with(**home)) else {
        return;
    };
    let before = &text[..at];
    let dashed = begins.starts_with('-');
    let is_root = match before.bytes().next_back() {
        None => true,
        Some(byte) if dashed => matches!(byte, b'/' | b'\\' | b'"' | b'\'' | b' ' | b'\n'),
        // `C:\Users`, `/mnt/c/Users`, `file:///home`
        Some(b':' | b'/') => true,
        Some(byte) if byte.is_ascii_alphabetic() => {
            let drive = before
                .len()
                .checked_sub(2)
                .and_then(|at| before.as_bytes().get(at));
            drive == Some(&b'/') || before.ends_with("/var") || before.ends_with("/export")
        }
        Some(byte) => {
            !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-' | b'.' | b'~' | b'}')
        }
    };
    if !is_root {
        return;
    }
    let from = at + begins.len();
    let part = |char: &char| {
        char.is_alphanumeric()
            || matches!(char, '_' | '.' | '+')
            || (!dashed && matches!(char, '-'))
    };
    let len: usize = text[from..]
        .chars()
        .take_while(part)
        .take(64)
        .map(char::len_utf8)
        .sum();
    let name = text[from..from + len].trim_end_matches('.');
    if !name.is_empty() && !NOBODY.contains(&name) {
        all.push(Found {
            range: from..from + name.len(),
            kind: USER_NAME,
            value: Value::of(name),
            rank: Rank::Personal,
        });
    }
}

/// How files end: `icon@2x.png` is one.
const FILES: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "ts", "tsx", "css", "html",
    "json", "map", "lock", "toml", "yaml", "yml", "txt",
];

/// Whether it ends as files do.
pub(super) fn is_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| FILES.contains(&ending))
}

/// E-mail addresses.
pub(super) fn mail(text: &str, runs: &mut Runs, all: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let is_local =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-');
    let mut end_of_last = 0;
    for at in memchr::memchr_iter(b'@', bytes) {
        let before = bytes[end_of_last..at]
            .iter()
            .rev()
            .take(64)
            .take_while(|byte| is_local(**byte));
        let start = at - before.count();
        let end = runs.end(bytes, at + 1, Class::Token);
        let domain = text[at + 1..end].trim_end_matches(['.', '-', '=', '~', '_']);
        let local = text[start..at].trim_start_matches(['.', '-', '+', '%']);
        let Some((name, top)) = domain.rsplit_once('.') else {
            continue;
        };
        let is_top =
            (2..=24).contains(&top.len()) && top.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_domain = name.len() <= 253
            && !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
            && !name.contains("..");
        if local.is_empty() || local == "git" || FILES.contains(&top) || !is_top || !is_domain {
            continue;
        }
        // `://user:password@host`
        let head = &text[text.floor_char_boundary(start.saturating_sub(100))..start];
        let in_address = head
            .rfind("://")
            .is_some_and(|at| !head[at..].contains(char::is_whitespace));
        if in_address && head.ends_with([':', '/']) {
            continue;
        }
        let range = at - local.len()..at + 1 + domain.len();
        end_of_last = range.end;
        all.push(Found {
            value: Value::of(&text[range.clone()]),
            range,
            kind: "e-mail address",
            rank: Rank::Personal,
        });
    }
}

/// Addresses of machines that are not this one.
pub(super) fn addresses(text: &str, all: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':');
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
        if !(7..=60).contains(&(at - start)) {
            continue;
        }
        let around = |byte: Option<&u8>| byte.is_some_and(|&byte| Class::Word.has(byte));
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        if around(before) || around(bytes.get(at)) {
            continue;
        }
        let own = text[start..at].trim_end_matches(['.', ':']);
        // Versions stand behind a name and a slash.
        let is_version = before == Some(&b'/')
            && start
                .checked_sub(2)
                .and_then(|at| bytes.get(at))
                .is_some_and(u8::is_ascii_alphanumeric);
        let (address, _port) = match own.split_once(':') {
            Some((address, port)) if !port.contains(':') && address.contains('.') => {
                (address, port)
            }
            _ => (own, ""),
        };
        let address = address.trim_start_matches([':', '.']);
        let from = start + (text[start..at].find(address).unwrap_or(0));
        let is_one = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
            (Ok(v4), _) => {
                !is_version
                    && !v4.is_loopback()
                    && !v4.is_unspecified()
                    && !v4.is_broadcast()
                    && v4.octets()[0] != 0
            }
            (_, Ok(v6)) => {
                !v6.is_loopback()
                    && !v6.is_unspecified()
                    && address.bytes().any(|byte| byte.is_ascii_digit())
                    && address.split(':').filter(|part| !part.is_empty()).count() >= 3
            }
            _ => false,
        };
        if is_one {
            all.push(Found {
                range: from..from + address.len(),
                kind: "ip address",
                value: Value::of(address),
                rank: Rank::Personal,
            });
        }
    }
}
