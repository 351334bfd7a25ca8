//! Which texts are session ids, and what becomes of a provider's id that is none.
//!
//! What file a session is kept in is for `chat-store`.

use std::borrow::Cow;

/// The longest session id, in bytes.
pub const MAX_BYTES: usize = 64;

/// Whether `id` is a session id: `[A-Za-z0-9_][A-Za-z0-9_-]{0,63}`.
///
/// Such an id is never a path, an option, or markup. It can be a device's name on some systems (`CON`) or a property of
/// every JavaScript object (`__proto__`), so neither files nor objects may be named by the bare id.
pub fn fits(id: &str) -> bool {
    id.len() <= MAX_BYTES && !id.is_empty() && !id.starts_with('-') && id.bytes().all(letter)
}

/// The session id for a provider's own id: that id where it fits, else one made of it.
///
/// The same id always gives the same one, and different ids give different ones but for a collision of 64-bit hashes.
///
/// ```
/// use chat_event::session_id::{fits, from_native};
/// assert_eq!(from_native("018f3c1e-7c1a"), "018f3c1e-7c1a");
/// let made = from_native("../my session");
/// assert_eq!(made, "___my_session-495253f60c7cc754");
/// assert!(fits(&made));
/// ```
pub fn from_native(id: &str) -> Cow<'_, str> {
    if fits(id) {
        return Cow::Borrowed(id);
    }
    let hash = format!("-{:016x}", crate::stable_hash(id.as_bytes()));
    // What can be kept of the id is kept for the eye; only the hash tells two ids apart.
    let mut made: String = id
        .chars()
        .take(MAX_BYTES - hash.len())
        .map(|c| {
            if c.is_ascii() && letter(c as u8) {
                c
            } else {
                '_'
            }
        })
        .collect();
    if made.starts_with('-') || made.is_empty() {
        made.insert(0, '_');
        made.truncate(MAX_BYTES - hash.len());
    }
    made.push_str(&hash);
    Cow::Owned(made)
}

fn letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
