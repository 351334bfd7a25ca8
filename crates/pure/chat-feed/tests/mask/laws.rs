//! However a secret is written and in however many pieces it comes, it is masked, and what is none is left.

use super::*;

/// Secrets of many shapes: what is planted, and what must not be left of it.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "ghp_[A-Za-z0-9]{36}",
        "github_pat_[A-Za-z0-9_]{60,82}",
        "glpat-[A-Za-z0-9]{20}",
        "sk-ant-api03-[A-Za-z0-9]{93}AA",
        "sk-proj-[A-Za-z0-9]{74}",
        "AKIA[A-Z2-7]{16}",
        "xoxb-[0-9]{12}-[0-9]{12}-[A-Za-z0-9]{24}",
        "AIza[A-Za-z0-9]{35}",
        "npm_[A-Za-z0-9]{36}",
        "hf_[A-Za-z]{34}",
        "eyJ[A-Za-z0-9]{20,40}\\.eyJ[A-Za-z0-9]{30,60}\\.[A-Za-z0-9]{43}",
        "[a-z]{3,8}\\.[a-z]{3,8}@[a-z]{4,10}\\.com",
    ]
}

/// Words around it: nothing of them is ever masked.
fn words() -> impl Strategy<Value = String> {
    "( |[a-z]{1,8} |é|\"|\n|\t|<b>|😀){0,6}".prop_map(|words| format!("{words} "))
}

/// A text as JSON, with any of its characters written as an escape.
fn escaped(text: &str, mask: &[bool]) -> String {
    let mut units = text.chars().zip(mask.iter().cycle());
    let mut out = String::from("\"");
    for (char, &as_escape) in &mut units {
        if as_escape {
            let mut buffer = [0; 2];
            for unit in char.encode_utf16(&mut buffer) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            let json = Value::String(char.to_string()).to_string();
            out.push_str(&json[1..json.len() - 1]);
        }
    }
    out.push('"');
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_secret_in_pieces_is_masked(
        secret in secret(), before in words(), after in words(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        kind in prop::sample::select(vec!["assistant_chunk", "thinking_chunk", "tool_output_chunk", "tool_input_chunk"]),
        doubled in any::<bool>(), shuffled in any::<bool>(),
    ) {
        let text = format!("{before}{secret} {after}");
        let ends: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.get(&ends)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut events = Vec::new();
        for (nth, pair) in cuts.windows(2).enumerate() {
            let piece = &text[pair[0]..pair[1]];
            let payload = match kind {
                "tool_output_chunk" => json!({"toolCallId": "c", "chunk": piece}),
                "tool_input_chunk" => json!({"toolCallId": "c", "chunk": piece, "offset": text[..pair[0]].chars().count()}),
                _ => json!({"text": piece, "index": nth}),
            };
            events.push(event(nth, kind, &payload));
        }
        if doubled {
            let again = events[0].clone();
            events.insert(events.len() / 2, again);
        }
        // Pieces with numbers are put in order by those.
        if shuffled && kind != "tool_output_chunk" {
            events.reverse();
        }
        let lines = masked(&events);
        let mut pieces: Vec<(u64, String)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for (event, line) in read(&lines).iter().zip(&lines) {
            prop_assert!(!line.contains(&secret), "{line}");
            if !seen.insert(event.id.clone()) {
                continue;
            }
            match &event.payload {
                Payload::AssistantChunk(chunk) => pieces.push((chunk.index.unwrap_or(0), chunk.text.clone())),
                Payload::ThinkingChunk(chunk) => pieces.push((chunk.index.unwrap_or(0), chunk.text.clone())),
                Payload::ToolOutputChunk(chunk) => pieces.push((pieces.len() as u64, chunk.chunk.clone())),
                Payload::ToolInputChunk(chunk) => pieces.push((event.id[1..].parse().unwrap_or(0), chunk.chunk.clone())),
                _ => {}
            }
        }
        pieces.sort();
        let whole: String = pieces.into_iter().map(|(_, text)| text).collect();
        prop_assert!(!whole.contains(&secret), "{whole}");
        prop_assert!(whole.contains("[masked: "), "{whole}");
        prop_assert!(whole.starts_with(&before) && whole.ends_with(&format!(" {after}")), "{whole:?} of {text:?}");
    }

    #[test]
    fn a_secret_is_masked_wherever_and_however_it_is_written(
        secret in secret(), before in words(), after in words(), mask in prop::collection::vec(any::<bool>(), 1..40),
        depth in 0_usize..3, place in 0_usize..8,
    ) {
        let text = format!("{before}{secret} {after}");
        let mut inner = text;
        for _ in 0..depth {
            inner = format!("{{\"it\": {}}}", escaped(&inner, &mask));
        }
        let value = escaped(&inner, &mask);
        let payload = match place {
            0 => format!(r#"{{"text":{value}}}"#),
            1 => format!(r#"{{"text":"x","more":[1.0,{{"deep":{value}}}]}}"#),
            2 => format!(r#"{{"text":"x",{value}:1e400}}"#),
            3 => format!(r#"{{"text":[{value}]}}"#),
            4 => format!(r#"{{"text":"x","attachments":[{{"name":{value},"mediaType":"text/plain"}}]}}"#),
            _ => format!(r#"{{"text":{value},"also":{value}}}"#),
        };
        let extra = if place == 5 { format!(r#","unknown":{value}"#) } else { String::new() };
        let kind = if place == 6 { "never_heard_of" } else { "user_message" };
        let line = format!(r#"{{"id":"a","timestamp":1,"sessionId":"s","type":"{kind}","payload":{payload}{extra}}}"#);
        let event = ChatEvent::from_json(&line).expect("an event");
        let lines = masked(std::slice::from_ref(&event));
        let mut read_again = lines[0].clone();
        for _ in 0..=depth + 1 {
            prop_assert!(!read_again.contains(&secret), "{read_again}");
            read_again = undone(&read_again);
        }
        let again = read(&lines);
        prop_assert_eq!(&masked(&again), &lines, "masking again changes nothing");
    }

    #[test]
    fn what_holds_no_secret_is_left_byte_for_byte(text in "([a-z]{1,9}[ .,\n]|\\PC|[0-9]{1,4} ){0,20}") {
        prop_assume!(!text.contains('@') && !text.contains(':'));
        let event = event(1, "user_message", &json!({"text": text, "n": 1.0, "list": [text]}));
        prop_assert_eq!(masked(std::slice::from_ref(&event)), [event.to_line()]);
    }

    #[test]
    fn any_text_at_all_is_masked_once_and_for_all(texts in prop::collection::vec("\\PC{0,80}|[a-zA-Z0-9_@:=/.\"' -]{0,80}|(password|token|key|:|=|\"| |ghp_|@|://|[a-zA-Z0-9]{1,20}){0,12}", 1..4)) {
        let events: Vec<ChatEvent> = texts.iter().enumerate().map(|(nth, text)| event(nth, "user_message", &json!({"text": text, text: text}))).collect();
        let lines = masked(&events);
        prop_assert_eq!(masked(&read(&lines)), lines);
    }
}

/// A text with its JSON escapes undone once.
fn undone(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let len = match rest.as_bytes().get(at + 1) {
            Some(b'u') if rest.len() >= at + 6 => 6,
            Some(_) => 2,
            None => 1,
        };
        let escape = rest.get(at..at + len).unwrap_or("\\");
        match serde_json::from_str::<String>(&format!("\"{escape}\"")) {
            Ok(char) => out.push_str(&char),
            Err(_) => out.push_str(escape),
        }
        rest = &rest[at + escape.len()..];
    }
    out + rest
}
