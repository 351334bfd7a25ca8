//! The parts of a question as it is written: words, phrases, patterns, and names with a colon; what they mean is for
//! [`super::Query`].

/// What stands before the colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    None,
    Pattern,
    Tool,
    File,
    Is,
    Agent,
}

const KEYS: [(&str, Key); 4] = [
    ("tool:", Key::Tool),
    ("file:", Key::File),
    ("is:", Key::Is),
    ("agent:", Key::Agent),
];

/// One part of a question.
pub(super) struct Token<'t> {
    pub(super) at: usize,
    pub(super) value_at: usize,
    pub(super) not: bool,
    pub(super) key: Key,
    pub(super) value: std::borrow::Cow<'t, str>,
}

/// Reads them one after the other.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Reader<'t> {
        Reader { text, at: 0 }
    }
}

impl<'t> Iterator for Reader<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        if trimmed.is_empty() {
            return None;
        }
        let at = self.at + rest.len() - trimmed.len();
        // `--release` is a word; so is a dash by itself.
        let negated = trimmed
            .strip_prefix('-')
            .filter(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || "\"/".contains(c)));
        let rest = negated.unwrap_or(trimmed);
        let known = KEYS.iter().find(|(name, _)| {
            rest.get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name))
        });
        let (key, value) = match known {
            Some((name, key)) => (*key, &rest[name.len()..]),
            None => (Key::None, rest),
        };
        let value_at = self.text.len() - value.len();
        let (key, text, len): (Key, std::borrow::Cow<'t, str>, usize) =
            match value.as_bytes().first() {
                Some(b'"') => {
                    // One that does not end goes on to the end: it is still being written.
                    let inner = &value[1..];
                    match inner.find('"') {
                        Some(end) => (key, inner[..end].into(), end + 2),
                        None => (key, inner.into(), value.len()),
                    }
                }
                Some(b'/')
                    if key == Key::None
                        && let Some(end) = pattern_end(value) =>
                {
                    (
                        Key::Pattern,
                        value[1..end].replace("\\/", "/").into(),
                        end + 1,
                    )
                }
                _ => {
                    let end = value.find(char::is_whitespace).unwrap_or(value.len());
                    (key, value[..end].into(), end)
                }
            };
        self.at = value_at + len;
        if key == Key::None && text.is_empty() {
            return self.next();
        }
        Some(Token {
            at,
            value_at,
            not: negated.is_some(),
            key,
            value: text,
        })
    }
}

/// Where the slash stands that ends a pattern; a path, which has slashes within, is none.
fn pattern_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'/' if !escaped => {
                let ends = text[at + 1..]
                    .chars()
                    .next()
                    .is_none_or(char::is_whitespace);
                return (ends && at > 1).then_some(at);
            }
            _ => escaped = !escaped && byte == b'\\',
        }
    }
    None
}
