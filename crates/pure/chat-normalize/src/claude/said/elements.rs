//! Tags that stand around the program's words, before a person's and behind them.

use super::{INJECTED, OF_COMMANDS, TASK, is_beside_words};

/// An element of the program.
pub(super) struct Element<'a> {
    pub(super) name: &'static str,
    pub(super) inner: &'a str,
    /// Which other agent says it.
    pub(super) from: Option<&'a str>,
    /// What stands behind it.
    pub(super) after: &'a str,
}

/// The program's elements in `text`, and what is left of it.
pub(super) fn take_apart(text: &str) -> (Vec<Element<'_>>, &str) {
    let mut elements = Vec::new();
    let mut left = text;
    while let Some(element) = first_element(left) {
        left = element.after;
        elements.push(element);
    }
    if left.trim().is_empty() {
        return (elements, left);
    }
    // Those before a person's words, and those behind them.
    let n_before = elements
        .iter()
        .take_while(|element| is_beside_words(element.name))
        .enumerate()
        .filter(|(_, element)| ends_line(element.after))
        .last()
        .map_or(0, |(at, _)| at + 1);
    elements.truncate(n_before);
    let mut rest = elements.last().map_or(text, |element| element.after);
    let mut behind = Vec::new();
    while let Some((before, element)) = last_element(rest) {
        rest = before;
        behind.push(element);
    }
    elements.extend(behind.into_iter().rev());
    (elements, rest)
}

/// Who writes, and what stands behind an opening tag whose name was taken off.
fn behind_opening(rest: &str) -> Option<(Option<&str>, &str)> {
    if let Some(inner) = rest.strip_prefix('>') {
        return Some((None, inner));
    }
    let rest = rest.strip_prefix(' ')?;
    let (attributes, inner) = rest.split_at(rest.find(['>', '<', '\n'])?);
    let inner = inner.strip_prefix('>')?;
    let from = ["teammate_id", "from"];
    let mut from = from.iter().filter_map(|name| {
        let (before, value) = attributes.split_once(&format!("{name}=\""))?;
        let is_whole = before.is_empty() || before.ends_with(' ');
        let (value, _) = value.split_once('"').filter(|_| is_whole)?;
        (!value.is_empty()).then_some(value)
    });
    Some((from.next(), inner))
}

/// The element that `text` begins with.
fn first_element(text: &str) -> Option<Element<'_>> {
    let tail = text.trim_start().strip_prefix('<')?;
    let (name, (from, inner)) = OF_COMMANDS
        .into_iter()
        .chain([TASK])
        .chain(INJECTED)
        .find_map(|name| Some((name, behind_opening(tail.strip_prefix(name)?)?)))?;
    let close = format!("</{name}>");
    let (inner, after) = inner.split_once(&close)?;
    Some(Element {
        name,
        inner,
        from,
        after,
    })
}

/// The element beside words that `text` ends with, on lines of its own; what stands before it.
pub(super) fn last_element(text: &str) -> Option<(&str, Element<'_>)> {
    let head = text.trim_end().strip_suffix('>')?;
    let (name, inside) = INJECTED
        .into_iter()
        .find_map(|name| Some((name, head.strip_suffix(name)?.strip_suffix("</")?)))?;
    // It begins behind an earlier one of that name, at the beginning of a line.
    let from = inside
        .rfind(&format!("</{name}>"))
        .map_or(0, |at| at + name.len() + 3);
    let open = format!("<{name}");
    let (at, (who, inner)) = inside[from..]
        .match_indices(&open)
        .map(|(at, _)| from + at)
        .filter(|at| {
            let line = inside[..*at].trim_end_matches([' ', '\t']);
            line.is_empty() || line.ends_with('\n')
        })
        .find_map(|at| Some((at, behind_opening(&inside[at + open.len()..])?)))?;
    let element = Element {
        name,
        inner,
        from: who,
        after: "",
    };
    Some((&text[..at], element))
}

/// Whether nothing more stands in the line that `after` begins in the middle of.
fn ends_line(after: &str) -> bool {
    let rest = after.trim_start_matches([' ', '\t', '\r']);
    rest.is_empty() || rest.starts_with('\n')
}
