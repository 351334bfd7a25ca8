//! File names in diffs, spelled and read as git does (`quote.c`; "core.quotePath" in git-config(1)).

use std::borrow::Cow;

/// Spells `prefix` + `name`, in double quotes with escapes where it holds a control character, `"` or `\`, and where
/// it begins or ends with a space, which git would leave bare and patch would lose; with `spaces`, for any space.
///
/// Letters beyond ASCII stay as they are (core.quotePath=false): git and patch read both, people only this.
pub(crate) fn spell(prefix: &str, name: &str, spaces: bool) -> String {
    let ends_in_space = name.starts_with(' ') || name.ends_with(' ');
    let quoted_spaces = ends_in_space || (spaces && name.contains(' '));
    if !quoted_spaces && !name.chars().any(needs_escape) {
        return format!("{prefix}{name}");
    }
    let mut out = format!("\"{prefix}");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            _ if c.is_control() => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    out.push_str(&format!("\\{byte:03o}"));
                }
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

fn needs_escape(c: char) -> bool {
    c == '"' || c == '\\' || c.is_control()
}

/// A name as it stands in a header line, and what follows it: quoted, or up to a tab.
///
/// Bytes that are not UTF-8 become U+FFFD; a quote that is not closed is part of the name.
pub(crate) fn read(text: &str) -> (Cow<'_, str>, &str) {
    if let Some((name, rest)) = unquote(text) {
        return (Cow::Owned(name), rest);
    }
    let end = text.find('\t').unwrap_or(text.len());
    (Cow::Borrowed(&text[..end]), &text[end..])
}

/// The name in a quoted string at the start of `text`, and the rest behind the closing quote.
pub(crate) fn unquote(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let bytes = inner.as_bytes();
    let mut name: Vec<u8> = Vec::new();
    let mut at = 0;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some((String::from_utf8_lossy(&name).into_owned(), &inner[at..])),
            b'\\' => {
                let escape = *bytes.get(at)?;
                at += 1;
                match escape {
                    b'a' => name.push(7),
                    b'b' => name.push(8),
                    b't' => name.push(b'\t'),
                    b'n' => name.push(b'\n'),
                    b'v' => name.push(11),
                    b'f' => name.push(12),
                    b'r' => name.push(b'\r'),
                    b'"' | b'\\' => name.push(escape),
                    b'0'..=b'3' => {
                        let digits = bytes.get(at..at + 2)?;
                        let octal =
                            |digit: u8| (b'0'..=b'7').contains(&digit).then(|| digit - b'0');
                        name.push(
                            ((escape - b'0') << 6) | (octal(digits[0])? << 3) | octal(digits[1])?,
                        );
                        at += 2;
                    }
                    _ => return None,
                }
            }
            _ => name.push(byte),
        }
    }
}

/// The two names of a `diff --git` line without its prefix; `None` where they cannot be told apart.
///
/// Names with spaces are not quoted, so unquoted names are split where both halves name the same file: git writes
/// nothing else there without `rename from` and `rename to` lines.
pub(crate) fn read_pair(text: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    if text.starts_with('"') {
        let (old, rest) = unquote(text)?;
        let rest = rest.strip_prefix(' ')?;
        let new = unquote(rest).map_or(Cow::Borrowed(rest), |(name, _)| Cow::Owned(name));
        return Some((Cow::Owned(old), new));
    }
    if text.ends_with('"')
        && let Some(at) = text.find(" \"")
        && let Some((new, _)) = unquote(&text[at + 1..])
    {
        return Some((Cow::Borrowed(&text[..at]), Cow::Owned(new)));
    }
    let middle = text.len() / 2;
    if text.len() % 2 == 1 && text.as_bytes().get(middle) == Some(&b' ') {
        let (old, new) = (&text[..middle], &text[middle + 1..]);
        let same_below = |a: &str, b: &str| match (a.split_once('/'), b.split_once('/')) {
            (Some((_, a)), Some((_, b))) => a == b,
            (Some(_), None) | (None, Some(_)) | (None, None) => false,
        };
        if old == new || same_below(old, new) {
            return Some((Cow::Borrowed(old), Cow::Borrowed(new)));
        }
    }
    if text.starts_with("a/")
        && let Some(at) = text.find(" b/")
    {
        return Some((Cow::Borrowed(&text[..at]), Cow::Borrowed(&text[at + 1..])));
    }
    let (old, new) = text.split_once(' ')?;
    (!new.contains(' ')).then_some((Cow::Borrowed(old), Cow::Borrowed(new)))
}

/// The prefixes git puts before old and new names: plain, `diff.mnemonicPrefix`, and both reversed (`-R`).
const PREFIXES: [(&str, &str); 12] = [
    ("a/", "b/"),
    ("i/", "w/"),
    ("c/", "i/"),
    ("c/", "w/"),
    ("o/", "w/"),
    ("1/", "2/"),
    ("b/", "a/"),
    ("w/", "i/"),
    ("i/", "c/"),
    ("w/", "c/"),
    ("w/", "o/"),
    ("2/", "1/"),
];

/// Both names without git's prefixes, and whether they had them.
///
/// Two equal names have no prefix, whatever they begin with: git's prefixes always differ.
pub(crate) fn strip_prefixes<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str, bool) {
    PREFIXES
        .iter()
        .find_map(|(old_prefix, new_prefix)| {
            Some((
                old.strip_prefix(old_prefix)?,
                new.strip_prefix(new_prefix)?,
                true,
            ))
        })
        .unwrap_or((old, new, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelled_name_is_read_back() {
        for name in [
            "a.txt",
            "a b",
            "a\"b\\c\td\n.txt",
            "été ☃",
            "\u{1}\u{7f}\u{85}",
            "a b/c d",
            "tab\there",
        ] {
            let spelled = spell("a/", name, false);
            assert!(!spelled.contains('\n'));
            assert_eq!(
                read(&spelled),
                (Cow::Owned(format!("a/{name}")), ""),
                "{spelled}"
            );
        }
    }

    #[test]
    fn octal_escapes_are_read() {
        assert_eq!(unquote("\"\\303\\251\" x"), Some(("é".to_owned(), " x")));
        assert_eq!(unquote("\"\\377\""), Some(("\u{fffd}".to_owned(), "")));
        for broken in [
            "\"",
            "\"a",
            "\"\\",
            "\"\\9\"",
            "\"\\40",
            "\"\\4000\"",
            "\"\\08\"",
            "a",
        ] {
            assert_eq!(unquote(broken), None, "{broken}");
        }
    }

    #[test]
    fn pairs_with_spaces_are_split_where_both_name_one_file() {
        let check = |text: &str, old: &str, new: &str| {
            let (got_old, got_new) = read_pair(text).unwrap();
            assert_eq!((got_old.as_ref(), got_new.as_ref()), (old, new));
        };
        check("a/x b/y b/x b/y", "a/x b/y", "b/x b/y");
        check(
            "src://foo bar/baz dst://foo bar/baz",
            "src://foo bar/baz",
            "dst://foo bar/baz",
        );
        check("a/a.txt b/b/c.txt", "a/a.txt", "b/b/c.txt");
        check("file1 file1", "file1", "file1");
        check("\"a/\\\"\" b/x", "a/\"", "b/x");
        check("a/x y \"b/\\\"\"", "a/x y", "b/\"");
        assert_eq!(read_pair("x y z w"), None);
        assert_eq!(read_pair(""), None);
    }
}
