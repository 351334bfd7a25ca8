//! Times: most events bear none, but their ids do.
//!
//! `evt_` is followed by twelve hex digits: the low 36 bits of the time in milliseconds, and a counter. Which of the
//! stretches of two years they count in, a time seen before tells.

use serde_json::Value;

use crate::value::millis;

/// The bits of a time that stand in an id.
const LOW_BITS: i64 = 1 << 36;

/// An id that says a time further than this from the last one is no id of this form.
const FAR_MS: i64 = 60 * 24 * 60 * 60 * 1000;

/// The time that `id` was made at, in milliseconds, near `near_ms`.
pub(crate) fn of_id(id: &str, near_ms: i64) -> Option<i64> {
    let digits = id.strip_prefix("evt_")?.get(..9)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let low = i64::from_str_radix(digits, 16).ok()?;
    let stretch = near_ms.checked_sub(near_ms.rem_euclid(LOW_BITS))?;
    [-1, 0, 1]
        .into_iter()
        .filter_map(|n: i64| stretch.checked_add(n * LOW_BITS)?.checked_add(low))
        .min_by_key(|time| time.abs_diff(near_ms))
        .filter(|time| time.abs_diff(near_ms) < FAR_MS.unsigned_abs())
}

/// The time in the member `key`, where it can be one.
pub(crate) fn of_member(value: &Value, key: &str) -> Option<i64> {
    value.get(key).and_then(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_time_near_one_that_is_known() {
        let id = "evt_1ffe19caf001TLQt9WhHo9vOEL";
        assert_eq!(of_id(id, 1_795_294_338_342), Some(1_795_294_338_223));
        assert_eq!(of_id(id, 1_795_200_000_000), Some(1_795_294_338_223));
        for no_time in ["", "evt_", "evt_zzzzzzzzz001", "msg_1ffe19caf001", "evt_é"] {
            assert_eq!(of_id(no_time, 1_795_294_338_342), None, "{no_time}");
        }
        assert_eq!(of_id(id, i64::MIN), None);
        assert_eq!(of_id(id, i64::MAX), None);
    }
}
