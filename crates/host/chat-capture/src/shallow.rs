//! Events as lines that a server takes: it refuses what is nested too deep, and a call whose input is would be lost with it.

use chat_event::frame::MAX_CLIENT_DEPTH;
use chat_event::{ChatEvent, depth};

/// The line of an event. What lies deeper in it than a server takes stands there as a text that holds its JSON.
pub fn line_of(event: &ChatEvent) -> String {
    let line = event.to_line();
    match depth::exceeds(&line, MAX_CLIENT_DEPTH) {
        true => flattened(&line),
        false => line,
    }
}

fn flattened(line: &str) -> String {
    let mut flat = String::with_capacity(line.len() * 2);
    let mut depth = 0_usize;
    let (mut is_text, mut is_escaped) = (false, false);
    // Where what is copied next begins, and what lies too deep.
    let (mut copied, mut deep) = (0, 0);
    for (at, byte) in line.bytes().enumerate() {
        if is_text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'[' | b'{' => {
                depth += 1;
                if depth == MAX_CLIENT_DEPTH + 1 {
                    flat.push_str(&line[copied..at]);
                    deep = at;
                }
            }
            b']' | b'}' => {
                if depth == MAX_CLIENT_DEPTH + 1 {
                    flat.push_str(&serde_json::Value::from(&line[deep..=at]).to_string());
                    copied = at + 1;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    flat.push_str(&line[copied..]);
    flat
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use chat_event::Json;
    use chat_event::payload::ToolCall;
    use serde_json::{Value, json};

    use super::*;

    /// A call whose input has so many objects within each other, beside another member.
    fn call(n_deep: usize) -> ChatEvent {
        let mut deep = json!("at \"the\" end }]");
        for nth in 0..n_deep {
            deep = json!({"k": deep, "n": [nth]});
        }
        let call = ToolCall {
            tool_call_id: "c".to_owned(),
            tool_name: "x".to_owned(),
            args: Json::from(json!({"deep": deep, "plain": {"a": [1]}})),
            ..ToolCall::default()
        };
        ChatEvent::new("e".to_owned(), 1, "s", call)
    }

    #[test]
    fn what_is_nested_too_deep_stands_there_as_text_and_nothing_is_lost() {
        for n_deep in [1, 50, 60] {
            let event = call(n_deep);
            assert_eq!(line_of(&event), event.to_line(), "{n_deep}");
        }
        for n_deep in [61, 62, 63, 90, 120] {
            let line = line_of(&call(n_deep));
            assert!(!depth::exceeds(&line, MAX_CLIENT_DEPTH), "{n_deep}");
            let told: Value = serde_json::from_str(&line).unwrap();
            let args = &told["payload"]["args"];
            assert_eq!(args["plain"], json!({"a": [1]}));
            // Each text is the JSON of what stood in its place.
            let mut at = args["deep"].clone();
            for nth in (0..n_deep).rev() {
                if let Value::String(text) = &at {
                    at = serde_json::from_str(text).unwrap();
                }
                let n = match &at["n"] {
                    Value::String(text) => serde_json::from_str(text).unwrap(),
                    n => n.clone(),
                };
                assert_eq!(n, json!([nth]));
                at = at["k"].clone();
            }
            assert_eq!(at, "at \"the\" end }]");
        }
    }
}
