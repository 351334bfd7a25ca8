//! Lines and documents as JSON values, as far as they can be read.

use serde_json::Value;

/// What a line of a server-sent event stream carries: the value of its `data` field, where that is JSON.
pub(crate) fn event_data(text: &str) -> Option<&str> {
    let data = text.strip_prefix("data:")?.trim_start();
    (data.starts_with(['{', '[']) && data.trim_end() != "[DONE]").then_some(data)
}

/// Whether a line is one of an event stream's others: a comment, a name, an id, a pause.
pub(crate) fn is_event_field(text: &str) -> bool {
    [":", "event:", "id:", "retry:", "data:"]
        .iter()
        .any(|field| text.starts_with(field))
}

/// What one line holds.
pub(crate) struct Parsed {
    /// The values that could be read, in order; a line of several agents can hold several.
    pub(crate) values: Vec<Value>,
    /// Why the rest could not be read, and where it begins.
    pub(crate) rest: Option<(String, usize)>,
    /// The line ends in the middle of a value.
    pub(crate) cut_off: bool,
    /// What was changed so that it could be read, as what the line has.
    pub(crate) mended: Vec<&'static str>,
}

/// Reads a line; an array stands for its items, and values may follow each other without a newline.
pub(crate) fn parse_line(text: &str) -> Parsed {
    let parsed = parse_values(text);
    if parsed.rest.is_none() || parsed.cut_off {
        return parsed;
    }
    let Some((text, mended)) = mend(text) else {
        return parsed;
    };
    let again = parse_values(&text);
    let gives_more = again.values.len() > parsed.values.len();
    if again.rest.is_none() || again.cut_off || gives_more {
        let mended = if gives_more { mended } else { Vec::new() };
        return Parsed { mended, ..again };
    }
    parsed
}

/// As [`parse_line`], for a document; of one that is cut off, what its list holds up to its last whole item.
pub(crate) fn parse_document(text: &str) -> Parsed {
    let parsed = parse_line(text);
    if !parsed.cut_off || !parsed.values.is_empty() {
        return parsed;
    }
    let Some((closed, at)) = closed_early(text) else {
        return parsed;
    };
    let closed = parse_line(&closed);
    Parsed {
        rest: parsed.rest.map(|(reason, _)| (reason, at)),
        cut_off: true,
        ..closed
    }
}

/// The document closed behind the last whole item of its outermost list, and where that item ends.
fn closed_early(text: &str) -> Option<(String, usize)> {
    let mut open: Vec<u8> = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    let mut whole: Option<(usize, Vec<u8>)> = None;
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    return None;
                }
                let in_list = open.last() == Some(&b']') && open.len() <= 2;
                if byte == b'}' && in_list {
                    whole = Some((at + 1, open.clone()));
                }
            }
            _ => {}
        }
    }
    let (at, closers) = whole?;
    let mut closed = text.get(..at)?.to_owned();
    closed.extend(closers.iter().rev().map(|byte| char::from(*byte)));
    Some((closed, at))
}

fn parse_values(text: &str) -> Parsed {
    let mut parsed = Parsed {
        values: Vec::new(),
        rest: None,
        cut_off: false,
        mended: Vec::new(),
    };
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    loop {
        let start = stream.byte_offset();
        match stream.next() {
            Some(Ok(Value::Array(items))) => parsed.values.extend(items),
            Some(Ok(value)) => parsed.values.push(value),
            Some(Err(why)) => {
                parsed.cut_off = why.is_eof();
                parsed.rest = Some((reason_of(&why), start));
                return parsed;
            }
            None => return parsed,
        }
    }
}

/// serde_json's message without its position, which counts from a place of its own.
fn reason_of(why: &serde_json::Error) -> String {
    let text = why.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// The text with U+FFFD for each escape that is half a surrogate pair and `null` for each number that no Rust number type
/// holds, and which of them it has; `None` where it has none. What is put in is as long as what it stands for, so places
/// stay what they are.
fn mend(text: &str) -> Option<(String, Vec<&'static str>)> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u32> {
        if bytes.get(at) != Some(&b'\\') || bytes.get(at + 1) != Some(&b'u') {
            return None;
        }
        u32::from_str_radix(text.get(at + 2..at + 6)?, 16).ok()
    };
    let (mut has_halves, mut has_numbers) = (false, false);
    let mut mended = String::new();
    let mut kept_to = 0;
    let mut at = 0;
    let mut in_string = false;
    while let Some(&byte) = bytes.get(at) {
        let begun = at;
        let mut put_in = "";
        at += match byte {
            b'\\' => match unit(at) {
                Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
                Some(0xd800..=0xdfff) => {
                    has_halves = true;
                    put_in = "\\ufffd";
                    put_in.len()
                }
                Some(_) => 6,
                None => 2,
            },
            b'-' | b'0'..=b'9' if !in_string => {
                let len = number_len(&bytes[at..]);
                if text[at..at + len].parse().is_ok_and(f64::is_infinite) {
                    has_numbers = true;
                    put_in = "null";
                }
                len
            }
            _ => {
                in_string ^= byte == b'"';
                1
            }
        };
        if !put_in.is_empty() {
            mended.push_str(&text[kept_to..begun]);
            mended.push_str(put_in);
            mended.extend(std::iter::repeat_n(' ', at - begun - put_in.len()));
            kept_to = at;
        }
    }
    mended.push_str(&text[kept_to..]);
    let halves = has_halves.then_some("half surrogate pairs; they are replaced");
    let numbers = has_numbers.then_some("numbers beyond all bounds; they are left out");
    (kept_to > 0).then(|| (mended, halves.into_iter().chain(numbers).collect()))
}

/// The length of what can be a number, at the beginning of `bytes`.
fn number_len(bytes: &[u8]) -> usize {
    let digits = bytes.iter();
    let digits =
        digits.take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
    digits.count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_the_rest_kept() {
        let parsed = parse_line(r#"{"a":"x\ud83d y\ud83d\ude00\\ud83d"}"#);
        assert!(parsed.rest.is_none());
        assert_eq!(parsed.mended, ["half surrogate pairs; they are replaced"]);
        assert_eq!(parsed.values[0]["a"], "x\u{fffd} y😀\\ud83d");
    }

    #[test]
    fn a_number_beyond_all_bounds_costs_itself_and_nothing_else() {
        let long = "9".repeat(400);
        let text = format!(
            r#"{{"a":1e400,"b":"-1e999","c":[-1e400, {long}, 2],"d":"\ud83d"}}{{"e":1e308}} x"#
        );
        let parsed = parse_line(&text);
        assert_eq!(
            parsed.values,
            [
                json!({"a": null, "b": "-1e999", "c": [null, null, 2], "d": "\u{fffd}"}),
                json!({"e": 1e308}),
            ]
        );
        assert_eq!(
            parsed.mended,
            [
                "half surrogate pairs; they are replaced",
                "numbers beyond all bounds; they are left out"
            ]
        );
        assert_eq!(
            parsed.rest.map(|rest| text[rest.1..].trim_start()),
            Some("x")
        );
    }

    #[test]
    fn what_is_mended_is_taken_as_far_as_it_can_be_read() {
        for (text, n_values, cut_off) in [
            // What is cut off is so behind a half, too.
            (r#"{"a":"\ud83d"} {"b":"#, 1, true),
            (r#"{"a":"\ud83d","b":"#, 0, true),
            (r#"{"a":"\ud83d"} x"#, 1, false),
            (r#"{"a":"\ud83d" x"#, 0, false),
        ] {
            let parsed = parse_line(text);
            assert_eq!(
                (parsed.values.len(), parsed.cut_off),
                (n_values, cut_off),
                "{text}"
            );
            // Of what is not told nothing was changed.
            assert_eq!(parsed.mended.len(), n_values, "{text}");
        }
    }

    #[test]
    fn a_document_that_is_cut_off_is_mended_up_to_there() {
        let text = r#"{"messages": [{"text": "\ud83d"}, {"n": 1e400}, {"text": "\udc00"#;
        let parsed = parse_document(text);
        assert!(parsed.cut_off);
        assert_eq!(
            parsed.values,
            [json!({"messages": [{"text": "\u{fffd}"}, {"n": null}]})]
        );
        assert_eq!(parsed.mended.len(), 2);
        assert_eq!(
            parsed.rest.map(|rest| &text[..rest.1]),
            text.rsplit_once(", ").map(|parts| parts.0)
        );
    }

    #[test]
    fn of_a_document_that_is_cut_off_the_whole_items_are_read() {
        let parsed = parse_document(
            "{\"info\": {\"a\": \"}]\\\"\"}, \"messages\": [{\"n\": [{}]},\n {\"n\": 2}, {\"n",
        );
        assert_eq!(parsed.values.len(), 1);
        assert_eq!(parsed.values[0]["messages"][1]["n"], 2);
        assert_eq!(parsed.rest.map(|rest| rest.1), Some(59));
        for nothing in ["{", "{\"messages\": [", "[{\"a\": 1", "{]", ""] {
            assert!(parse_document(nothing).values.is_empty(), "{nothing}");
        }
        assert_eq!(parse_document("[1]").values.len(), 1);
    }

    #[test]
    fn glued_records_and_arrays_are_all_read() {
        let parsed = parse_line(r#"{"a":1}{"a":2} [{"a":3},{"a":4}] {"a""#);
        assert_eq!(parsed.values.len(), 4);
        assert!(parsed.cut_off);
        assert_eq!(parsed.rest.map(|rest| rest.1), Some(32));
    }
}
