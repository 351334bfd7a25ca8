//! What a text says in one line: titles, and lines that stand for a text that is folded away.
//!
//! Texts of agents are Markdown, and a line has no room for its signs: this reads the one line as a reader of Markdown
//! would, and keeps the words. It is one by itself because lists of sessions and the page's first rows need it, which
//! need no other Markdown.

mod emphasis;
mod inline;

use inline::words_of;

/// What of a line is looked at, for each character that is kept: addresses are long, and are left out.
const LOOKED_AT_PER_CHAR: usize = 8;

/// The first line of a Markdown text that says anything, as plain words, cut to so many characters. Empty where no line
/// says anything.
///
/// ```
/// use chat_event::gist::gist;
/// assert_eq!(gist("### Fix **all** of `a_b`\n\nSoon.", 40), "Fix all of a_b");
/// assert_eq!(gist("- [x] See [the list](https://example.org/1)", 40), "See the list");
/// assert_eq!(gist("one two three", 5), "one t…");
/// ```
pub fn gist(text: &str, most_chars: usize) -> String {
    let mut code = None;
    for line in text.lines() {
        let line = line.trim();
        match (code, fence_of(line)) {
            (None, Some(fence)) => code = Some(fence),
            (Some(open), Some(fence)) if open == fence => code = None,
            (Some(_), _) if !line.is_empty() => return cut(line, most_chars),
            (None, None) => {
                let (line, is_whole) = looked_at(line, most_chars);
                let words = words_of(without_marker(line), is_whole);
                let words = words.trim();
                match words.is_empty() {
                    true => {}
                    false if is_whole => return cut(words, most_chars),
                    false => return cut(&format!("{words}…"), most_chars),
                }
            }
            _ => {}
        }
    }
    String::new()
}

/// What is typed to the program, with whatever stands behind it, and says nothing of what the session is about.
const OF_THE_PROGRAM: [&str; 30] = [
    "/about",
    "/agents",
    "/approvals",
    "/auth",
    "/clear",
    "/compact",
    "/config",
    "/context",
    "/cost",
    "/doctor",
    "/effort",
    "/exit",
    "/help",
    "/hooks",
    "/login",
    "/logout",
    "/mcp",
    "/memory",
    "/model",
    "/models",
    "/new",
    "/permissions",
    "/quit",
    "/rename",
    "/resume",
    "/stats",
    "/status",
    "/theme",
    "/usage",
    "/vim",
];

/// The title of a session that begins with this prompt; `None` where it says nothing.
///
/// ```
/// use chat_event::gist::title;
///
/// assert_eq!(title("Fix the **parser**\n\nIt fails.").as_deref(), Some("Fix the parser"));
/// assert_eq!(title("Implement this plan:\n\n# One lock").as_deref(), Some("One lock"));
/// assert_eq!(title("Here is the issue:\nISSUE:\nIt fails.").as_deref(), Some("It fails."));
/// assert_eq!(title("/exit"), None);
/// assert_eq!(title("/model opus"), None);
/// ```
pub fn title(prompt: &str) -> Option<String> {
    /// It is one line of a list.
    const TITLE_CHARS: usize = 120;
    let command = prompt.split_whitespace().next().unwrap_or_default();
    if OF_THE_PROGRAM.contains(&command) {
        return None;
    }
    let mut title = gist(prompt, TITLE_CHARS);
    let mut rest = prompt;
    // Lines that only lead to what follows tell less than that.
    while title.ends_with(':')
        && let Some((_, after)) = rest.split_once(":\n")
    {
        let next = gist(after, TITLE_CHARS);
        if next.is_empty() {
            break;
        }
        (title, rest) = (next, after);
    }
    Some(title).filter(|title| !title.is_empty())
}

/// The line, cut to so many characters; where something is missing it says so.
fn cut(line: &str, most_chars: usize) -> String {
    match line.char_indices().nth(most_chars) {
        Some((at, last)) if last != '…' || line.len() > at + last.len_utf8() => {
            format!("{}…", line[..at].trim_end())
        }
        _ => line.to_owned(),
    }
}

/// The part of a line that is looked at, and whether that is all of it.
fn looked_at(line: &str, most_chars: usize) -> (&str, bool) {
    let most = most_chars.saturating_mul(LOOKED_AT_PER_CHAR);
    match line.char_indices().nth(most) {
        Some((at, _)) => (&line[..at], false),
        None => (line, true),
    }
}

/// The sign of the fence that a line is, if it is one.
fn fence_of(line: &str) -> Option<u8> {
    let sign = line.bytes().next().filter(|sign| b"`~".contains(sign))?;
    let n_signs = line.bytes().take_while(|byte| *byte == sign).count();
    // Signs further on make it code within a line.
    (n_signs >= 3 && !(sign == b'`' && line[n_signs..].contains('`'))).then_some(sign)
}

/// Whether the line only divides what is above from what is below, or underlines it.
fn is_rule(line: &str) -> bool {
    let mut signs = line.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let Some(sign) = signs.next().filter(|sign| b"-*_=".contains(sign)) else {
        return false;
    };
    let mut n_signs = 1;
    signs.all(|other| {
        n_signs += 1;
        other == sign
    }) && n_signs >= 3
}

/// The line without what makes it a heading, an item or a quote; nothing of one that only divides.
fn without_marker(mut line: &str) -> &str {
    loop {
        if is_rule(line) {
            return "";
        }
        let rest = match line.bytes().next() {
            Some(b'>') => Some(&line[1..]),
            Some(b'#') => return heading(line).unwrap_or(line),
            Some(b'-' | b'*' | b'+') => item(&line[1..]),
            Some(b'0'..=b'9') => {
                let rest = line.trim_start_matches(|char: char| char.is_ascii_digit());
                let is_number = line.len() - rest.len() <= 9 && rest.starts_with(['.', ')']);
                is_number.then(|| item(&rest[1..])).flatten()
            }
            _ => None,
        };
        let Some(rest) = rest.map(str::trim_start) else {
            return line;
        };
        if let Some(words) = task(rest).filter(|_| !line.starts_with('>')) {
            return words;
        }
        line = rest;
    }
}

/// What stands behind the marker of an item, if that is one.
fn item(behind: &str) -> Option<&str> {
    match behind.is_empty() {
        true => Some(behind),
        false => behind.strip_prefix([' ', '\t']),
    }
}

/// What stands behind the box of a task, which is words.
fn task(item: &str) -> Option<&str> {
    let mut boxes = ["[ ]", "[x]", "[X]"].into_iter();
    boxes.find_map(|empty| item.strip_prefix(empty)?.strip_prefix([' ', '\t']))
}

fn heading(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#');
    let is_heading =
        line.len() - words.len() <= 6 && (words.is_empty() || words.starts_with([' ', '\t']));
    let words = is_heading.then(|| words.trim())?;
    let open = words.trim_end_matches('#');
    // Signs at its end belong to it where nothing stands between.
    Some(match open.is_empty() || open.ends_with([' ', '\t']) {
        true => open.trim_end(),
        false => words,
    })
}

#[cfg(test)]
mod tests;
