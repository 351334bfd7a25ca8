//! The words of a line of Markdown, without what makes code, links and emphasis of them.

use super::emphasis::Emphasis;

/// So many brackets of a line are looked at as if they began a link: each is read to its end, and what is in it again.
const MOST_LABELS: u8 = 64;

/// The words of a line; `is_whole` says that it was not cut off.
pub(super) fn words_of(line: &str, is_whole: bool) -> String {
    let mut words = String::with_capacity(line.len());
    let mut left = MOST_LABELS;
    push_words(&mut words, line, None, (is_whole, &mut left));
    words
}

/// What stands on either side of the words of a link.
type Edges = (char, char);

/// The words of a line, without what makes code, links and emphasis of them. Returns whether there is a link.
fn push_words(
    words: &mut String,
    line: &str,
    edges: Option<Edges>,
    (is_whole, labels_left): (bool, &mut u8),
) -> bool {
    let mut emphasis = Emphasis::default();
    let mut at = 0;
    let mut has_link = false;
    let start = words.len();
    while let Some(char) = line[at..].chars().next() {
        let rest = &line[at..];
        let len = match char {
            '\\' => escaped(words, rest),
            '&' => entity(words, rest),
            '`' => code(words, rest),
            '<' => address(words, rest),
            '[' | '!' if *labels_left > 0 => {
                link(words, rest, (is_whole, &mut *labels_left), &mut has_link)
            }
            '*' | '_' | '~' => {
                let n_signs = rest.chars().take_while(|other| *other == char).count();
                let before = line[..at].chars().next_back().or(edges.map(|it| it.0));
                let behind = rest[n_signs..].chars().next().or(edges.map(|it| it.1));
                emphasis.run(words.len(), (char, n_signs), before, behind);
                words.push_str(&rest[..n_signs]);
                Some(n_signs)
            }
            _ => None,
        };
        at += len.unwrap_or_else(|| {
            words.push(char);
            char.len_utf8()
        });
    }
    emphasis.take_out_of(words, start);
    has_link
}

// Each of these pushes what a construct at the beginning of the text says, and returns its length; `None` where there is
// no such construct.

fn escaped(words: &mut String, text: &str) -> Option<usize> {
    let char = text[1..].chars().next()?;
    char.is_ascii_punctuation().then(|| {
        words.push(char);
        2
    })
}

/// Those that programs write for the signs of HTML: what others stand for nobody knows without a long list.
fn entity(words: &mut String, text: &str) -> Option<usize> {
    let known = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&#39;", '\''),
        ("&nbsp;", '\u{a0}'),
    ];
    let (name, char) = known.into_iter().find(|(name, _)| text.starts_with(name))?;
    words.push(char);
    Some(name.len())
}

fn code(words: &mut String, text: &str) -> Option<usize> {
    let inner = text.trim_start_matches('`');
    let n_signs = text.len() - inner.len();
    let end = code_end(inner, n_signs);
    let Some(end) = end else {
        words.push_str(&text[..n_signs]);
        return Some(n_signs);
    };
    let code = &inner[..end];
    // One blank on either side is there only to keep the signs apart.
    let bare = code
        .strip_prefix(' ')
        .and_then(|code| code.strip_suffix(' '));
    let is_blank = code.bytes().all(|byte| byte == b' ');
    words.push_str(bare.filter(|_| !is_blank).unwrap_or(code));
    Some(n_signs + end + n_signs)
}

/// Where a run of exactly so many signs begins.
fn code_end(inner: &str, n_signs: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        at += inner[at..].find('`')?;
        let run = inner[at..].bytes().take_while(|byte| *byte == b'`').count();
        if run == n_signs {
            return Some(at);
        }
        at += run;
    }
}

fn address(words: &mut String, text: &str) -> Option<usize> {
    let inner = &text[1..text.find('>')?];
    let (scheme, rest) = inner.split_once(':')?;
    let is_scheme = scheme.len() >= 2
        && scheme.starts_with(|char: char| char.is_ascii_alphabetic())
        && (scheme.bytes()).all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    let is_address = is_scheme
        && scheme.len() <= 32
        && !rest.contains(|char: char| char.is_whitespace() || char == '<' || char.is_control());
    is_address.then(|| {
        words.push_str(inner);
        inner.len() + 2
    })
}

/// `[words](address "title")`, and with `!` before it an image, of which the words are what it shows.
fn link(
    words: &mut String,
    text: &str,
    (is_whole, labels_left): (bool, &mut u8),
    has_link: &mut bool,
) -> Option<usize> {
    let image = text.strip_prefix('!');
    let label = image.unwrap_or(text).strip_prefix('[')?;
    *labels_left -= 1;
    let begin = text.len() - label.len();
    let end = label_end(label)?;
    let target = label[end + 1..].strip_prefix('(')?;
    // An address that is cut off is one all the same.
    let is_open = !is_whole && !target.contains(')');
    let target_len = target_len(target).or(is_open.then_some(target.len()))?;
    let start = words.len();
    let holds_link = push_words(words, &label[..end], Some(('[', ']')), (true, labels_left));
    if holds_link && image.is_none() {
        // There are no links in links: the one within is it.
        words.truncate(start);
        return None;
    }
    *has_link |= holds_link || image.is_none();
    Some((begin + end + 2 + target_len + 1).min(text.len()))
}

/// Where the bracket that closes a label is.
fn label_end(label: &str) -> Option<usize> {
    let mut open = 0;
    let mut at = 0;
    let bytes = label.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            // What looks like a bracket in code is none.
            b'`' => {
                let n_signs = bytes[at..].iter().take_while(|byte| **byte == b'`').count();
                let end = code_end(&label[at + n_signs..], n_signs);
                at += n_signs - 1 + end.map_or(0, |end| end + n_signs);
            }
            b'[' => open += 1,
            b']' if open == 0 => return Some(at),
            b']' => open -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// How long an address with a title is, up to the bracket that closes it.
fn target_len(target: &str) -> Option<usize> {
    let trimmed = target.trim_start();
    let before = target.len() - trimmed.len();
    let address = match trimmed.strip_prefix('<') {
        Some(inner) => {
            let end = inner
                .find(['<', '>'])
                .filter(|end| inner[*end..].starts_with('>'))?;
            end + 2
        }
        None => bare_address(trimmed)?,
    };
    let behind = &trimmed[address..];
    let title = behind.trim_start();
    let mut len = before + address + (behind.len() - title.len());
    if title.len() < behind.len()
        && let Some(sign) = title.chars().next().filter(|sign| "\"'(".contains(*sign))
    {
        let close = if sign == '(' { ')' } else { sign };
        let inner = title[1..].find(close)?;
        let behind = &title[1 + inner + 1..];
        len += 1 + inner + 1 + (behind.len() - behind.trim_start().len());
    }
    target[len..].starts_with(')').then_some(len)
}

/// An address ends at a blank, or at a bracket that it does not open itself.
fn bare_address(target: &str) -> Option<usize> {
    let mut open = 0_u32;
    let mut chars = target.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => {
                chars.next();
            }
            '(' => open += 1,
            ')' if open == 0 => return Some(at),
            ')' => open -= 1,
            _ if char.is_whitespace() || char.is_control() => return (open == 0).then_some(at),
            _ => {}
        }
    }
    None
}
