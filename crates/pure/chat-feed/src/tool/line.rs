//! One line of a text that may be long.

/// A line that is shown of a call is cut to this many characters; the component cuts it further to its width.
pub(super) const LINE_CHARS: usize = 200;

pub(super) fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

/// One line, without line breaks and other controls, cut to what a row could ever show.
pub(super) fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(LINE_CHARS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(LINE_CHARS).is_some() {
        line.push('…');
    }
    line
}
