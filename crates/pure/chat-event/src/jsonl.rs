//! JSONL: one event a line.

use crate::ChatEvent;

/// The event as one line, without the newline.
pub(crate) fn line_text(event: &ChatEvent) -> String {
    // An event always has a JSON text: its parts are strings, numbers and JSON that was read before.
    let text = serde_json::to_string(event).unwrap_or_default();
    escape_line_breaks(text)
}

/// Writes U+0085, U+2028, U+2029 and the other C1 controls as escapes, so that readers which break lines at them stay right.
///
/// In JSON text they can stand only within strings.
fn escape_line_breaks(text: String) -> String {
    let troubles = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}');
    if !text.contains(troubles) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if troubles(c) {
            escaped.push_str(&format!("\\u{:04x}", c as u32));
        } else {
            escaped.push(c);
        }
    }
    escaped
}
