//! Events as lines.

use super::crc32c;
use crate::ChatEvent;

impl ChatEvent {
    /// The event as one line of a log, without the newline.
    pub fn to_line(&self) -> String {
        // An event always has a JSON text: its parts are strings, numbers and JSON that was read before.
        let text = serde_json::to_string(self).unwrap_or_default();
        escape_line_breaks(text)
    }

    /// The event as one line of a log with its checksum as last member, without the newline.
    ///
    /// `c` is the CRC-32C of the line's bytes before `,"c"`. A member `c` that the event already has is a stale one, and
    /// left out.
    ///
    /// ```
    /// use chat_event::{ChatEvent, payload::Interrupt};
    /// let event = ChatEvent::new("e1", 1703001234567, "s1", Interrupt::default());
    /// let line = event.to_line_with_checksum();
    /// let (before, checksum) = line.rsplit_once(r#","c":""#).unwrap();
    /// assert_eq!(checksum, format!("{:08x}\"}}", chat_event::jsonl::crc32c(before.as_bytes())));
    /// ```
    pub fn to_line_with_checksum(&self) -> String {
        let mut line = if self.extra.get(CHECKSUM_KEY).is_some() {
            let mut event = self.clone();
            event.extra.remove(CHECKSUM_KEY);
            event.to_line()
        } else {
            self.to_line()
        };
        let closing = line.pop();
        debug_assert_eq!(closing, Some('}'));
        let checksum = crc32c(line.as_bytes());
        line.push_str(&format!(",\"c\":\"{checksum:08x}\"}}"));
        line
    }
}

/// The name of the member that holds a line's checksum.
pub(super) const CHECKSUM_KEY: &str = "c";

/// Writes U+0085, U+2028, U+2029 and the other C1 controls as escapes, so that readers which break lines at them stay
/// right.
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
