//! Ids in OpenCode's form: derived from the log, and ascending, for OpenCode sorts messages and parts by them.
//!
//! A prefix, twelve hex digits (the low 36 bits of the time in milliseconds and a counter of twelve bits), and fourteen
//! letters and digits, which OpenCode draws by lot and which are a hash here: the same log gives the same ids.

use crate::emit::hash;

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The bits that the hex digits hold.
const LOW_BITS: u64 = 0xffff_ffff_ffff;

/// An id of the source is kept where the time in it is at most this far from its event's.
const NEAR: u64 = (24 * 60 * 60 * 1000) << 12;

/// What was given out last.
#[derive(Debug, Default)]
pub(super) struct Ids {
    last: u64,
}

impl Ids {
    /// A new id, behind all before it.
    pub(super) fn mint(&mut self, prefix: &str, now_ms: i64, seed: &str) -> String {
        self.last = time_part(now_ms).max(self.last.saturating_add(1));
        format!("{prefix}_{:012x}{}", self.last & LOW_BITS, letters(seed))
    }

    /// `native`, where it is an id of this kind and of about this time; what is given out later is behind it.
    pub(super) fn keep(&mut self, prefix: &str, now_ms: i64, native: &str) -> Option<String> {
        let low = time_of(prefix, native)?;
        let now = time_part(now_ms);
        let ahead = low.wrapping_sub(now) & LOW_BITS;
        let at = if ahead < NEAR {
            now.saturating_add(ahead)
        } else {
            let behind = now.wrapping_sub(low) & LOW_BITS;
            if behind >= NEAR {
                return None;
            }
            now.saturating_sub(behind)
        };
        self.last = self.last.max(at);
        Some(native.to_owned())
    }
}

/// The id of a session: `native` where it has the form, else one that only `native` decides.
pub(super) fn of_session(native: &str) -> String {
    if time_of("ses", native).is_some() {
        return native.to_owned();
    }
    let low = hash(native.as_bytes()) & LOW_BITS;
    format!("ses_{low:012x}{}", letters(native))
}

/// The twelve hex digits of an id of this kind.
fn time_of(prefix: &str, id: &str) -> Option<u64> {
    let rest = id.strip_prefix(prefix)?.strip_prefix('_')?;
    let (time, rest) = (rest.get(..12)?, rest.get(12..)?);
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = time.bytes().all(hex)
        && rest.len() == 14
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    fits.then(|| u64::from_str_radix(time, 16).ok())?
}

fn time_part(now_ms: i64) -> u64 {
    // Until the year 5138; the counter begins with 1, as OpenCode's does.
    (now_ms.clamp(0, 100_000_000_000_000).unsigned_abs() << 12) | 1
}

fn letters(seed: &str) -> String {
    let first = hash(seed.as_bytes());
    let mut bits = u128::from(first) << 64 | u128::from(hash(&first.to_le_bytes()));
    let mut letters = String::with_capacity(14);
    for _ in 0..14 {
        let at = usize::try_from(bits % 62).unwrap_or(0);
        letters.push(char::from(LETTERS[at]));
        bits /= 62;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_294_338_223;

    #[test]
    fn ids_ascend_whatever_the_clock_says() {
        let mut ids = Ids::default();
        let times = [0, 5, 5, 3, -7, NOW, NOW, NOW - 1, i64::MAX];
        let given: Vec<String> = times
            .iter()
            .map(|now_ms| ids.mint("prt", *now_ms, "seed"))
            .collect();
        assert!(
            given[..8].windows(2).all(|pair| pair[0] < pair[1]),
            "{given:?}"
        );
        assert!(
            given.iter().all(|id| time_of("prt", id).is_some()),
            "{given:?}"
        );
        let time = super::super::super::times::of_id(&given[5].replace("prt", "evt"), NOW);
        assert_eq!(time, Some(NOW));
    }

    #[test]
    fn ids_of_the_form_and_the_time_are_kept_and_come_before_later_ones() {
        let mut ids = Ids::default();
        let native = "msg_1ffe19caf001TLQt9WhHo9vOEL";
        assert_eq!(ids.keep("msg", NOW, native).as_deref(), Some(native));
        assert!(*ids.mint("msg", NOW, "") > *native);
        for other in [
            "msg_mock_0001",
            "msg_01XFDUDYJgAACzvnptvVoYEL",
            "msg_0ffe19caf001TLQt9WhHo9vOEL",
            "prt_1ffe19caf001TLQt9WhHo9vOEL",
            "msg_1ffe19caf001TLQt9WhHo9vO-L",
            "",
            "msg_é",
        ] {
            assert_eq!(ids.keep("msg", NOW, other), None, "{other}");
        }
        assert_eq!(
            of_session("ses_e001e62e2ffeqo91u5aQ4NtESH"),
            "ses_e001e62e2ffeqo91u5aQ4NtESH"
        );
        assert_eq!(of_session("a"), of_session("a"));
        assert!(time_of("ses", &of_session("a")).is_some());
    }
}
