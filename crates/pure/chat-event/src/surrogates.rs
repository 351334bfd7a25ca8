//! Escapes that give half a surrogate pair: JavaScript writes them, no Rust string can hold them.

/// The JSON text with `\ufffd` for each such escape, or `None` where it has none.
pub(crate) fn mend(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut mended = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|&byte| byte == b'\\'))
    {
        at += found;
        match unit(bytes, at) {
            Some(0xd800..=0xdbff) if matches!(unit(bytes, at + 6), Some(0xdc00..=0xdfff)) => {
                at += 12;
            }
            Some(0xd800..=0xdfff) => {
                mended.push_str(text.get(copied..at)?);
                mended.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            _ => at += 2,
        }
    }
    if copied == 0 {
        return None;
    }
    mended.push_str(text.get(copied..)?);
    Some(mended)
}

/// The UTF-16 unit of the escape `\uXXXX` at `at`, where there is one.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::mend;

    #[test]
    fn only_halves_are_replaced() {
        let cases = [
            (r#""\ud83d\ude00""#, None),
            (r#""\ud83d x""#, Some(r#""\ufffd x""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\\ud83d""#, None),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""\ud8"#, None),
        ];
        for (text, expected) in cases {
            assert_eq!(mend(text).as_deref(), expected, "{text}");
        }
    }
}
