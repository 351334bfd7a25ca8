//! Lines and documents as JSON values, as far as they can be read.

mod mend;

use chat_event::broken;
use serde_json::Value;

use mend::{mend, quote_long_integers};

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
    /// How far that was read before it was found wrong, in bytes of the text.
    pub(crate) read_to: usize,
    /// The line ends in the middle of a value.
    pub(crate) cut_off: bool,
    /// What was changed so that it could be read, as what the line has.
    pub(crate) mended: Vec<&'static str>,
}

/// Reads a line; an array stands for its items, and values may follow each other without a newline. An integer that no
/// Rust integer holds is read as the text of its digits.
pub(crate) fn parse_line(text: &str) -> Parsed {
    let Some((quoted, quotes)) = quote_long_integers(text) else {
        return parse_held(text);
    };
    let mut parsed = parse_held(&quoted);
    if let Some((_, at)) = &mut parsed.rest {
        for at in [at, &mut parsed.read_to] {
            let n_before = quotes.iter().filter(|quote| **quote < *at).count();
            *at -= n_before;
        }
    }
    if !parsed.values.is_empty() {
        parsed
            .mended
            .push("integers beyond 64 bits; their digits are kept as text");
    }
    parsed
}

fn parse_held(text: &str) -> Parsed {
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

/// The records behind what cannot be read at `at`, up to the end of the line, where they are of the dialect that
/// `recognise` knows; with where they begin. Two writers may have torn each other's lines.
pub(crate) fn records_behind(
    text: &str,
    at: usize,
    recognise: fn(&Value) -> Option<bool>,
) -> Option<(usize, Vec<Value>)> {
    let from = at.checked_add(1)?;
    let begun_list = text.get(at..)?.trim_start().strip_prefix('[');
    // What a program says in brackets, as `[debug] sent {…}`, is no record that was torn.
    if begun_list.is_some_and(|item| !item.trim_start().starts_with('{')) {
        return None;
    }
    let begins = text.get(from..)?.match_indices("{\"");
    let mut begins = begins.map(|(begins, _)| from + begins).take(MAX_BEGINS);
    begins.find_map(|begins| {
        let parsed = parse_line(&text[begins..]);
        let known = parsed
            .values
            .first()
            .is_some_and(|value| recognise(value).is_some());
        let are_records = parsed.values.iter().all(Value::is_object);
        (parsed.rest.is_none() && known && are_records).then_some((begins, parsed.values))
    })
}

/// So many places are looked at for where a record may begin in a broken line: each look reads the rest of it.
const MAX_BEGINS: usize = 16;

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
        read_to: parsed.read_to,
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
        read_to: 0,
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
                parsed.rest = Some((broken::reason(&why), start));
                parsed.read_to = broken::offset(text, &why);
                return parsed;
            }
            None => return parsed,
        }
    }
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
                json!({"a": null, "b": "-1e999", "c": [null, long, 2], "d": "\u{fffd}"}),
                json!({"e": 1e308}),
            ]
        );
        assert_eq!(
            parsed.mended,
            [
                "half surrogate pairs; they are replaced",
                "numbers beyond all bounds; they are left out",
                "integers beyond 64 bits; their digits are kept as text"
            ]
        );
        assert_eq!(
            parsed.rest.map(|rest| text[rest.1..].trim_start()),
            Some("x")
        );
    }

    #[test]
    fn an_integer_beyond_64_bits_keeps_its_digits() {
        let (least, most) = (i64::MIN, u64::MAX);
        let long = "123456789012345678901234567890";
        let text = format!(
            r#"{{"a":{long},"b":[-9223372036854775809,{least},{most}],"c":"{long}","d":{long}.5}}{{"e":18446744073709551616}} x"#
        );
        let parsed = parse_line(&text);
        assert_eq!(parsed.values[0]["a"], long);
        assert_eq!(parsed.values[0]["b"][0], "-9223372036854775809");
        assert_eq!(parsed.values[0]["b"][1], least);
        assert_eq!(parsed.values[0]["b"][2], most);
        assert_eq!(parsed.values[0]["c"], long);
        assert!(parsed.values[0]["d"].is_f64());
        assert_eq!(parsed.values[1]["e"], "18446744073709551616");
        let told = ["integers beyond 64 bits; their digits are kept as text"];
        assert_eq!(parsed.mended, told);
        let rest = parsed.rest.map(|rest| text[rest.1..].trim_start());
        assert_eq!(rest, Some("x"));
    }

    #[test]
    fn a_record_behind_one_that_another_writer_tore_is_read() {
        let is_record = |value: &Value| value.get("type").map(|_| true);
        let text = r#"{"type":"a","text":"hal{"type":"b","of":{"n":1}} {"type":"c"}"#;
        let parsed = parse_line(text);
        let at = parsed.rest.map(|rest| rest.1).unwrap_or_default();
        let (begins, values) = records_behind(text, at, is_record).unwrap();
        assert_eq!(
            (&text[..begins], values.len()),
            (r#"{"type":"a","text":"hal"#, 2)
        );
        // What stands within a broken record is none.
        let broken = r#"{"type":x,"of":{"n":1}}"#;
        assert!(records_behind(broken, 0, is_record).is_none());
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
