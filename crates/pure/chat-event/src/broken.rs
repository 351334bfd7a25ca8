//! What is wrong with a text that is no JSON, and where, in words for who reads a log: those of `serde_json` are for who writes
//! programs.

/// A text that opens more arrays and objects within each other than these is not read as a tree of values.
pub const MOST_LEVELS: usize = 127;

/// Why a text could not be read, without the place: the end of a sentence "line 7 could not be read: …".
///
/// What has no plain words is told as `serde_json` tells it: that a field is missing, or that one is of another kind.
///
/// ```
/// let why = serde_json::from_str::<serde_json::Value>(r#"{"a":"b"#).unwrap_err();
/// assert_eq!(chat_event::broken::reason(&why), "it ends in the middle of a text");
/// ```
pub fn reason(why: &serde_json::Error) -> String {
    let message = why.to_string();
    plain(crate::error::without_position(&message))
}

/// Where the character stands behind which nothing was read any more, in bytes from the beginning of `text`: the end of a text
/// that ends too early.
pub fn offset(text: &str, why: &serde_json::Error) -> usize {
    // Records of a log have no lines, lists may be printed over many.
    let lines = text.split_inclusive('\n').map(str::len);
    lines.take(why.line().saturating_sub(1)).sum::<usize>() + why.column()
}

/// Line and column, from 0 and from 1, of what ends at byte `offset` of `text`. A column is a Unicode scalar value.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let before = &text[..end];
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    (before.matches('\n').count(), line.chars().count().max(1))
}

fn plain(message: &str) -> String {
    let no_json = |what: &str| format!("it is not JSON: {what}");
    match message {
        "EOF while parsing a string" => "it ends in the middle of a text".to_owned(),
        "EOF while parsing a list" => "it ends in the middle of a list".to_owned(),
        "EOF while parsing an object" => "it ends in the middle of an object".to_owned(),
        "EOF while parsing a value" => "it ends where a value was expected".to_owned(),
        "expected value" => no_json("a value was expected"),
        "expected ident" => no_json("`true`, `false` or `null` was expected"),
        "key must be a string" => no_json("a name in quotes was expected"),
        "trailing comma" => no_json("a comma stands behind the last item"),
        "trailing characters" => no_json("more stands behind its end"),
        "invalid escape" => no_json("a text has a backslash before what may not follow one"),
        "invalid number" => no_json("a number is not written as one"),
        "number out of range" => "a number is too large".to_owned(),
        "control character (\\u0000-\\u001F) found while parsing a string" => {
            no_json("a text has a line break or another control character in it")
        }
        "recursion limit exceeded" => format!("it is nested deeper than {MOST_LEVELS}"),
        _ => match message.strip_prefix("expected ") {
            Some(signs) if signs.starts_with('`') && signs.ends_with('`') => {
                no_json(&format!("{signs} was expected"))
            }
            _ => in_place_of_event(message).unwrap_or_else(|| message.to_owned()),
        },
    }
}

/// What stands where an event should: `invalid type: sequence, expected an event object`.
fn in_place_of_event(message: &str) -> Option<String> {
    let kind = message.strip_prefix("invalid type: ")?;
    let kind = kind.strip_suffix(", expected an event object")?;
    // The kind comes first, and what the value is behind it.
    let what = match kind.split_once(' ').map_or(kind, |(first, _)| first) {
        "sequence" => "an array",
        "string" => "a text",
        "integer" | "floating" | "number" => "a number",
        "boolean" => "`true` or `false`",
        "null" => "`null`",
        _ => return None,
    };
    Some(format!("it is {what} in place of an event"))
}

#[cfg(test)]
mod tests {
    use super::{MOST_LEVELS, line_and_column, offset, reason};
    use crate::ChatEvent;

    #[track_caller]
    fn check(text: &str, wanted: &str) {
        let why = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
        let (line, column) = line_and_column(text, offset(text, &why));
        assert_eq!(format!("{} ({line}, {column})", reason(&why)), wanted);
    }

    #[test]
    fn what_is_wrong_is_told_in_plain_words_and_where() {
        check(r#"{"a":"é"#, "it ends in the middle of a text (0, 7)");
        check("[1,", "it ends where a value was expected (0, 3)");
        check("[1", "it ends in the middle of a list (0, 2)");
        check(r#"{"a":1"#, "it ends in the middle of an object (0, 6)");
        check("", "it ends where a value was expected (0, 1)");
        check("[\n {}, x]", "it is not JSON: a value was expected (1, 6)");
        check(r#"{"a" 1}"#, "it is not JSON: `:` was expected (0, 6)");
        check("[1 2]", "it is not JSON: `,` or `]` was expected (0, 4)");
        check(
            "{a:1}",
            "it is not JSON: a name in quotes was expected (0, 2)",
        );
        check("{} x", "it is not JSON: more stands behind its end (0, 4)");
        check(
            "nul ",
            "it is not JSON: `true`, `false` or `null` was expected (0, 4)",
        );
        check(
            r#"["\x"]"#,
            "it is not JSON: a text has a backslash before what may not follow one (0, 4)",
        );
        check(
            "[\"a\u{1}\"]",
            "it is not JSON: a text has a line break or another control character in it (0, 4)",
        );
    }

    #[test]
    fn what_has_no_plain_words_is_told_as_it_is() {
        #[derive(Debug, serde::Deserialize)]
        struct Named {
            #[allow(dead_code)]
            name: String,
        }
        let why = serde_json::from_str::<Named>("{}").unwrap_err();
        assert_eq!(reason(&why), "missing field `name`");
    }

    #[test]
    fn what_is_nested_too_deep_says_how_deep_it_may_be() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        let read = |n: usize| serde_json::from_str::<serde_json::Value>(&nested(n));
        assert!(read(MOST_LEVELS).is_ok());
        let why = read(MOST_LEVELS + 1).unwrap_err();
        assert_eq!(reason(&why), "it is nested deeper than 127");
        let why = ChatEvent::from_json(&nested(129)).unwrap_err();
        assert_eq!(why.reason(), "it is nested deeper than 128");
    }

    #[test]
    fn what_stands_in_the_place_of_an_event_is_named() {
        for (text, what) in [
            ("[]", "an array"),
            (r#"[{"type":"raw"}]"#, "an array"),
            (r#""a, b""#, "a text"),
            ("42", "a number"),
            ("4.5", "a number"),
            ("true", "`true` or `false`"),
            ("null", "`null`"),
        ] {
            let why = ChatEvent::from_json(text).unwrap_err();
            assert_eq!(why.reason(), format!("it is {what} in place of an event"));
        }
    }
}
