//! Arguments that are still being written: what of them can be read already.

use chat_event::Json;

use super::ToolStatus;
use crate::block::ToolCallBlock;
use crate::feed::Feed;

/// What a call works on stands at the beginning: no more is looked at, whatever it is given.
const HEAD_BYTES: usize = 1_024;

impl ToolCallBlock {
    /// The call as it can be read while its arguments are written: with those that are whole. `None` where there are none
    /// yet, or all of them are known.
    pub fn so_far(&self, feed: &Feed) -> Option<ToolCallBlock> {
        if self.status != ToolStatus::Preparing || !self.args.is_null() {
            return None;
        }
        let written = feed.stream(self.input?);
        let n_bytes = written.floor_char_boundary(HEAD_BYTES);
        let args = whole_members(&written[..n_bytes])?;
        Some(ToolCallBlock {
            args,
            ..self.clone()
        })
    }
}

/// The members of an object that are whole in its beginning.
fn whole_members(written: &str) -> Option<Json> {
    let mut in_text = false;
    let mut is_escaped = false;
    let mut depth = 0_u32;
    // Behind a colon of the object itself.
    let mut in_value = false;
    let mut whole_bytes = 0;
    for (at, byte) in written.bytes().enumerate() {
        if in_text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            if !in_text && depth == 1 && in_value {
                (whole_bytes, in_value) = (at + 1, false);
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b':' if depth == 1 => in_value = true,
            b',' if depth == 1 && in_value => (whole_bytes, in_value) = (at, false),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 1 {
                    (whole_bytes, in_value) = (at + 1, false);
                } else if depth == 0 && in_value {
                    (whole_bytes, in_value) = (at, false);
                }
            }
            _ => {}
        }
    }
    let members = written.get(..whole_bytes).filter(|it| !it.is_empty())?;
    serde_json::from_str(&format!("{members}}}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_as_soon_as_they_are_whole() {
        let written = r#"{"path": "a \"b\" {", "n": 12, "list": [{"a": 1}, 2], "on": true}"#;
        let read = |n_bytes: usize| {
            let members = whole_members(&written[..n_bytes]);
            members.map_or(0, |members| {
                members
                    .parse::<serde_json::Map<String, serde_json::Value>>()
                    .unwrap()
                    .len()
            })
        };
        let mut seen = Vec::new();
        for n_bytes in 0..=written.len() {
            let n_members = read(n_bytes);
            if seen.last().is_none_or(|(n, _)| *n != n_members) {
                seen.push((n_members, &written[..n_bytes]));
            }
        }
        let ends: Vec<(usize, &str)> = seen
            .iter()
            .map(|(n, written)| (*n, &written[written.len().saturating_sub(3)..]))
            .collect();
        assert_eq!(
            ends,
            [(0, ""), (1, r#" {""#), (2, "12,"), (3, " 2]"), (4, "ue}")]
        );
    }

    #[test]
    fn what_is_no_object_has_none() {
        for written in [
            "",
            "x",
            "[1, 2",
            "}",
            "{",
            r#"{"a""#,
            r#"{"a": "b"#,
            r#"["a": 1, "#,
            r#""a": "b""#,
            "{:,}",
        ] {
            assert!(whole_members(written).is_none(), "{written}");
        }
    }
}
