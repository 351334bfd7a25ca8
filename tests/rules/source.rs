//! Reads source files for the tests that hold the project's rules: comments and strings told from code, and the paths
//! that code names. This is no parser of Rust; it knows as much as those tests need.

use std::path::{Path, PathBuf};

/// Words that stand before a path that begins with `::`, and are no part of it.
const BEFORE_PATHS: [&str; 14] = [
    "use", "in", "as", "dyn", "impl", "mut", "return", "match", "if", "else", "while", "move",
    "where", "const",
];

/// Files below a folder with one of these extensions, in order.
pub(crate) fn files_below(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut files = Vec::new();
    for path in entries {
        if path.is_dir() {
            files.extend(files_below(&path, extensions));
        } else if path
            .extension()
            .is_some_and(|it| extensions.iter().any(|extension| it == *extension))
        {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Whether the text has this name, not as part of a longer one.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let starts_free = |at: usize| !text[..at].ends_with(is_name);
    let ends_free =
        |at: usize| !word.ends_with(is_name) || !text[at + word.len()..].starts_with(is_name);
    text.match_indices(word)
        .any(|(at, _)| starts_free(at) && ends_free(at))
}

/// The text with comments taken out; strings and line numbers stay.
pub(crate) fn without_comments(text: &str) -> String {
    pieces(text)
        .into_iter()
        .map(|piece| piece.kept(true))
        .collect()
}

/// Every path that code names, `use` trees taken apart: `use a::{b, c::d}` names `a::b` and `a::c::d`.
pub(crate) fn paths(text: &str) -> Vec<Vec<String>> {
    let code: String = pieces(text)
        .into_iter()
        .map(|piece| piece.kept(false))
        .collect();
    let tokens = tokens(&code);
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_name(&tokens[at])
            && !BEFORE_PATHS.contains(&tokens[at].as_str())
            && at.checked_sub(1).is_none_or(|before| tokens[before] != ".")
        {
            at = read_path(&tokens, at, &[], &mut paths);
        } else {
            at += 1;
        }
    }
    paths
}

/// Reads one path or tree from `at`; returns where reading goes on.
fn read_path(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    paths: &mut Vec<Vec<String>>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") if path.len() > prefix.len() => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    let before = at;
                    at = read_path(tokens, at, &path, paths);
                    if at == before {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some(token) if is_name(token) || token == "*" => path.push(token.to_owned()),
            _ => break,
        }
        at += 1;
        if tokens.get(at).is_none_or(|token| token != "::") {
            break;
        }
        at += 1;
    }
    if path.len() > prefix.len() {
        paths.push(path);
    }
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::`, and single characters.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let byte_len = if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() {
            tokens.push(rest[..byte_len].to_owned());
        }
        rest = &rest[byte_len..];
    }
    tokens
}

enum Piece<'a> {
    Code(&'a str),
    Text(&'a str),
    Comment(&'a str),
}

impl Piece<'_> {
    fn kept(&self, with_strings: bool) -> String {
        match self {
            Self::Code(text) => (*text).to_owned(),
            Self::Text(text) if with_strings => (*text).to_owned(),
            Self::Text(text) | Self::Comment(text) => {
                text.chars().filter(|c| *c == '\n').chain([' ']).collect()
            }
        }
    }
}

/// Cuts a source into code, strings and comments.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut code_start = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let piece = if rest.starts_with("//") {
            Some(Piece::Comment(
                &rest[..rest.find('\n').unwrap_or(rest.len())],
            ))
        } else if rest.starts_with("/*") {
            Some(Piece::Comment(&rest[..block_comment_len(rest)]))
        } else {
            string_len(rest, &text[..at]).map(|byte_len| Piece::Text(&rest[..byte_len]))
        };
        match piece {
            Some(piece) => {
                pieces.push(Piece::Code(&text[code_start..at]));
                at += match &piece {
                    Piece::Code(text) | Piece::Text(text) | Piece::Comment(text) => text.len(),
                };
                code_start = at;
                pieces.push(piece);
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    pieces.push(Piece::Code(&text[code_start.min(text.len())..]));
    pieces
}

/// Block comments of Rust stand inside each other.
fn block_comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Length of the string or character that starts here, if one does.
fn string_len(text: &str, before: &str) -> Option<usize> {
    let in_name = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if text.starts_with('"') {
        return Some(quoted_len(text, '"'));
    }
    if let Some(after_r) = text
        .strip_prefix('r')
        .filter(|_| !in_name || before.ends_with('b'))
    {
        let n_hashes = after_r.len() - after_r.trim_start_matches('#').len();
        if after_r[n_hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(n_hashes));
            let body_start = 1 + n_hashes + 1;
            return Some(
                text[body_start..]
                    .find(&end)
                    .map_or(text.len(), |at| body_start + at + end.len()),
            );
        }
    }
    // A lifetime has no closing quote one character further on.
    let mut after_quote = text.strip_prefix('\'')?.chars();
    match (after_quote.next()?, after_quote.next()) {
        ('\\', _) => Some(quoted_len(text, '\'')),
        (c, Some('\'')) => Some(c.len_utf8() + 2),
        _ => None,
    }
}

fn quoted_len(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}
