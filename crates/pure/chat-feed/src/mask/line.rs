//! The strings and numbers of a line of JSON, each with what is known of its place. What is not changed stays byte for byte.

/// A string of a line, or a number.
#[derive(Debug)]
pub(super) struct Text<'a> {
    /// As it is written, without its quotes, its escapes in it.
    pub(super) raw: &'a str,
    /// Whether it is a number; what stands in its place is a string.
    pub(super) is_number: bool,
    /// Whether it is the name of a field.
    pub(super) is_key: bool,
    /// The names of the fields that it stands in, from the outermost; a list's items stand in its own.
    pub(super) path: &'a [String],
    /// What stands before it in its list, as it is written.
    pub(super) before: Option<&'a str>,
}

impl Text<'_> {
    /// The name of the field whose value this is.
    pub(super) fn key(&self) -> Option<&str> {
        self.path
            .last()
            .map(String::as_str)
            .filter(|key| !self.is_key && !key.is_empty())
    }

    /// Whether it names something, and is compared with other names.
    pub(super) fn is_id(&self) -> bool {
        let [outer @ .., key] = self.path else {
            return false;
        };
        let is_envelope = outer.is_empty() && ENVELOPE_IDS.contains(&key.as_str());
        let is_payload = outer.len() == 1 && outer.first().is_some_and(|outer| outer == "payload");
        !self.is_key && (is_envelope || (is_payload && (key.ends_with("Id") || key == "eventIds")))
    }
}

/// The names of an event, which other events tell it by; and its type.
const ENVELOPE_IDS: &[&str] = &[
    "id",
    "sessionId",
    "type",
    "turnId",
    "responseId",
    "agentId",
    "parentToolCallId",
];

/// One open object or list.
struct Open<'a> {
    is_list: bool,
    before: Option<&'a str>,
}

/// The line with other strings in the place of those, and of the numbers, that `change` changes; `None` where it changes none.
pub(super) fn change<'a>(
    line: &'a str,
    change: &mut dyn FnMut(&Text<'_>) -> Option<String>,
) -> Option<String> {
    let bytes = line.as_bytes();
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut path: Vec<String> = Vec::new();
    let mut open: Vec<Open<'a>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let start = at + 1;
                let end = end_of_string(bytes, start);
                at = end + 1;
                let Some(raw) = line.get(start..end) else {
                    continue;
                };
                let in_object = open.last().is_some_and(|open| !open.is_list);
                let is_key = in_object && next_is_colon(bytes, at);
                if is_key {
                    // The place of the value; what was there before is over.
                    if let Some(last) = path.last_mut() {
                        raw.clone_into(last);
                    }
                }
                let before = open.last().and_then(|open| open.before);
                let text = Text {
                    raw,
                    is_number: false,
                    is_key,
                    path: if is_key {
                        &path[..path.len().saturating_sub(1)]
                    } else {
                        &path
                    },
                    before,
                };
                let changed = change(&text);
                if let Some(last) = open.last_mut().filter(|open| open.is_list) {
                    last.before = Some(raw);
                }
                if let Some(changed) = changed {
                    let out = out.get_or_insert_with(|| String::with_capacity(line.len()));
                    out.push_str(&line[copied..start]);
                    out.push_str(&changed);
                    copied = end;
                }
                continue;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                at = end_of_number(bytes, start);
                let raw = &line[start..at];
                let text = Text {
                    raw,
                    is_number: true,
                    is_key: false,
                    path: &path,
                    before: open.last().and_then(|open| open.before),
                };
                if let Some(changed) = change(&text) {
                    let out = out.get_or_insert_with(|| String::with_capacity(line.len()));
                    out.push_str(&line[copied..start]);
                    out.extend(["\"", &changed, "\""]);
                    copied = at;
                }
                continue;
            }
            b'{' => {
                open.push(Open {
                    is_list: false,
                    before: None,
                });
                path.push(String::new());
            }
            b'[' => open.push(Open {
                is_list: true,
                before: None,
            }),
            b'}' => {
                open.pop();
                path.pop();
            }
            b']' => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    out.map(|mut out| {
        out.push_str(&line[copied..]);
        out
    })
}

/// Where the string ends that goes on at `at`: at its closing quote.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            None => return bytes.len(),
            Some(found) if rest[found] == b'"' => return at + found,
            Some(found) => at += found + 2,
        }
    }
}

/// Where the number ends that begins at `at`.
fn end_of_number(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default().iter();
    let of_number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    at + rest.take_while(of_number).count()
}

fn next_is_colon(bytes: &[u8], at: usize) -> bool {
    let mut rest = bytes.get(at..).unwrap_or_default().iter();
    rest.find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_and_number_is_shown_with_its_place() {
        let line = r#"{"id":"e\"1","payload":{"args":{"list":["--token","x",{"deep":"y"}],"n":1.0}},"z":"end"}"#;
        let mut seen = Vec::new();
        let unchanged = change(line, &mut |text| {
            let key = match (text.is_key, text.is_number) {
                (true, _) => "key",
                (_, true) => "number",
                _ => "",
            };
            seen.push(format!(
                "{}|{}|{}|{}",
                text.path.join("."),
                text.raw,
                text.before.unwrap_or(""),
                key
            ));
            None
        });
        assert_eq!(unchanged, None);
        assert_eq!(
            seen,
            [
                "|id||key",
                "id|e\\\"1||",
                "|payload||key",
                "payload|args||key",
                "payload.args|list||key",
                "payload.args.list|--token||",
                "payload.args.list|x|--token|",
                "payload.args.list|deep||key",
                "payload.args.list.deep|y||",
                "payload.args|n||key",
                "payload.args.n|1.0||number",
                "|z||key",
                "z|end||",
            ]
        );
        let changed = change(line, &mut |text| (text.raw == "y").then(|| "Y".to_owned()));
        assert_eq!(changed.unwrap(), line.replace("\"y\"", "\"Y\""));
        let changed = change(line, &mut |text| text.is_number.then(|| "N".to_owned()));
        assert_eq!(changed.unwrap(), line.replace("1.0", "\"N\""));
    }
}
