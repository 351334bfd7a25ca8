//! Credentials that stand in addresses and headers: `user:password@`, `Bearer …`, `Basic …`.

use super::context::is_reference;
use super::find::{Found, is_placeholder};
use super::runs::{Class, Runs, looks_random};

/// `user:password@` behind `://`.
pub(super) fn in_address(text: &str, at: usize, all: &mut Vec<Found>) {
    let rest = &text.as_bytes()[at.min(text.len())..];
    let rest = &rest[..rest.len().min(400)];
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(
                byte,
                b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'['
            )
    };
    let rest = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    // A password may have the sign in it that ends it.
    let Some(len) = rest.iter().rposition(|&byte| byte == b'@') else {
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
        all.push(Found::named(value_at, value, "password"));
    }
}

/// The token behind `Bearer `.
pub(super) fn bearer(text: &str, at: usize, runs: &mut Runs, all: &mut Vec<Found>) {
    let end = runs.end_of_word(text.as_bytes(), at, Class::Wide);
    let value = text.get(at..end).unwrap_or_default();
    if value.len() >= 12 && looks_random(value, 2.5) {
        all.push(Found::named(at, value, "bearer token"));
    }
}

/// Name and password in base64 behind `Basic `.
pub(super) fn basic(text: &str, at: usize, runs: &mut Runs, all: &mut Vec<Found>) {
    let end = runs.end(text.as_bytes(), at, Class::Base64);
    let value = text.get(at..end).unwrap_or_default();
    if (8..=512).contains(&value.len()) && decoded_has_colon(value) {
        all.push(Found::named(at, value, "basic credentials"));
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
