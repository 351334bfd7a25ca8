//! The host of an address: read strictly, shown in ASCII.

/// A host with its port.
pub(super) struct Host {
    /// As a browser will ask for it.
    pub(super) ascii: String,
    /// Whether it is written with other letters than ASCII, also where that is hidden by its encoding.
    pub(super) letters: bool,
    /// Whether it is of the reader's own network.
    pub(super) local: bool,
}

impl Host {
    pub(super) fn read(text: &str) -> Option<Host> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, Some(port)),
            _ => (text, None),
        };
        let port_fits = port.is_none_or(|port| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
        });
        if name.is_empty() || !port_fits {
            return None;
        }
        let (mut ascii, letters) = match name.strip_prefix('[') {
            Some(rest) => (bracketed(rest)?, false),
            None => named(name)?,
        };
        let local = is_local(&ascii);
        if let Some(port) = port {
            ascii.push(':');
            ascii.push_str(port);
        }
        Some(Host {
            ascii,
            letters,
            local,
        })
    }
}

/// An IPv6 address.
fn bracketed(rest: &str) -> Option<String> {
    let inner = rest.strip_suffix(']')?;
    let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.';
    let fits = !inner.is_empty() && inner.bytes().all(plain);
    fits.then(|| format!("[{}]", inner.to_ascii_lowercase()))
}

fn named(name: &str) -> Option<(String, bool)> {
    let mut labels = Vec::new();
    let mut letters = false;
    for label in name.split('.') {
        let plain = |char: char| char == '-' || char == '_' || char.is_alphanumeric();
        if !label.chars().all(plain) {
            return None;
        }
        if label.is_ascii() {
            let label = label.to_ascii_lowercase();
            letters |= label.starts_with("xn--");
            labels.push(label);
        } else {
            letters = true;
            labels.push(format!("xn--{}", punycode(&label.to_lowercase())?));
        }
    }
    // Only the root, behind a last dot, has no name.
    let n_empty = labels
        .iter()
        .rev()
        .skip(1)
        .filter(|label| label.is_empty())
        .count();
    (n_empty == 0 && labels.first().is_some_and(|label| !label.is_empty()))
        .then(|| (labels.join("."), letters))
}

/// Names of this machine, and numbers: no public site is linked by its number.
fn is_local(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = |label: &str| {
        label.starts_with("0x")
            || !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit())
    };
    host.starts_with('[')
        || is_number(last)
        || !host.contains('.')
        || matches!(last, "localhost" | "local" | "internal" | "lan" | "home")
}

/// One label of a name in ASCII (RFC 3492).
fn punycode(label: &str) -> Option<String> {
    const BASE: u32 = 36;
    let digit = |value: u32| {
        char::from_digit(value, BASE).map(|digit| match digit {
            // The RFC counts letters first.
            '0'..='9' => char::from(b'a' + digit as u8 - b'0'),
            letter if letter <= 'p' => char::from(letter as u8 + 10),
            letter => char::from(b'0' + letter as u8 - b'q'),
        })
    };
    let chars: Vec<u32> = label.chars().map(u32::from).collect();
    let mut ascii: String = label.chars().filter(char::is_ascii).collect();
    let n_ascii = u32::try_from(ascii.len()).ok()?;
    let mut done = n_ascii;
    if n_ascii > 0 {
        ascii.push('-');
    }
    let (mut next, mut delta, mut bias) = (128_u32, 0_u32, 72_u32);
    while (done as usize) < chars.len() {
        let lowest = chars.iter().copied().filter(|&char| char >= next).min()?;
        delta = delta.checked_add((lowest - next).checked_mul(done + 1)?)?;
        next = lowest;
        for &char in &chars {
            if char < next {
                delta = delta.checked_add(1)?;
            }
            if char == next {
                let mut rest = delta;
                for step in 1.. {
                    let threshold = (step * BASE).saturating_sub(bias).clamp(1, 26);
                    if rest < threshold {
                        break;
                    }
                    ascii.push(digit(threshold + (rest - threshold) % (BASE - threshold))?);
                    rest = (rest - threshold) / (BASE - threshold);
                }
                ascii.push(digit(rest)?);
                bias = adapted(delta, done + 1, done == n_ascii);
                delta = 0;
                done += 1;
            }
        }
        delta = delta.checked_add(1)?;
        next = next.checked_add(1)?;
    }
    Some(ascii)
}

/// The RFC's 6.1: how steep the thresholds of the next number are.
fn adapted(delta: u32, n_chars: u32, first: bool) -> u32 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / n_chars;
    let mut bias = 0;
    while delta > 455 {
        delta /= 35;
        bias += 36;
    }
    bias + 36 * delta / (delta + 38)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_other_letters_are_shown_as_they_are_asked_for() {
        for (name, ascii) in [
            ("bücher.example", "xn--bcher-kva.example"),
            ("\u{430}pple.com", "xn--pple-43d.com"),
            ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
            ("Ünïcode", "xn--ncode-cta3g"),
        ] {
            assert_eq!(Host::read(name).unwrap().ascii, ascii, "{name}");
        }
    }
}
