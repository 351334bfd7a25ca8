use std::cell::Cell;

use chat_feed::find::How;
use serde_json::json;

use super::*;

#[test]
fn a_text_is_found_over_the_joints_of_its_pieces_once() {
    let needle = Needle::new("hello world", How::AnyCase).unwrap();
    let mut texts = Texts::new(&needle, &|_| None);
    let pieces = [
        "say hel",
        "lo w",
        "orld, ",
        "hello",
        " world hello world",
        "x",
    ];
    let mut joint = Joint::default();
    let found: Vec<_> = pieces
        .iter()
        .map(|piece| {
            let event =
                json!({"type": "assistant_chunk", "responseId": "r", "payload": {"text": piece}});
            joint.find(&event, &mut texts).is_some()
        })
        .collect();
    assert_eq!(found, [false, false, true, false, true, false]);
}

#[test]
fn what_a_tool_prints_is_found_over_the_joints_of_its_pieces() {
    let line = |seq: u64, call: &str, stream: &str, chunk: &str| {
        let payload = json!({"toolCallId": call, "stream": stream, "chunk": chunk});
        json!({"seq": seq, "id": "e", "type": "tool_output_chunk", "payload": payload}).to_string()
    };
    let found = |second: (&str, &str, &str)| {
        let lines = [
            line(1, "c", "stderr", "error: could not com"),
            json!({"seq": 2, "type": "progress", "payload": {"message": "x"}}).to_string(),
            line(3, second.0, second.1, second.2),
        ];
        quickly(&lines, "could not compile", How::AnyCase)
    };
    assert_eq!(found(("c", "stderr", "pile foo\n")), [3]);
    assert_eq!(found(("c", "stderr", "\u{1b}[1mpile\u{1b}[0m foo\n")), [3]);
    for other in [("d", "stderr", "pile foo\n"), ("c", "stdout", "pile foo\n")] {
        assert!(found(other).is_empty(), "{other:?}");
    }
}

/// The slow way: each line is parsed, each text is looked through character by character, as it is folded.
fn plainly(lines: &[String], needle: &str, how: How) -> Vec<u64> {
    let fold = |character: char| -> Vec<char> {
        match how {
            How::Exact => vec![character],
            How::AnyCase | How::Pattern => character.to_lowercase().collect(),
        }
    };
    let has = |text: &[char], wanted: &[char], from_end: usize| -> bool {
        (0..text.len()).any(|start| {
            let mut folded = Vec::new();
            for (at, character) in text.iter().enumerate().skip(start) {
                folded.extend(fold(*character));
                let n = folded.len().min(wanted.len());
                if folded[..n] != wanted[..n] {
                    return false;
                }
                if n == wanted.len() {
                    return at >= from_end;
                }
            }
            false
        })
    };
    fn texts(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
            _ => {}
        }
    }
    let wanted: Vec<char> = needle.chars().flat_map(fold).collect();
    let mut before: (Value, Vec<char>) = (Value::Null, Vec::new());
    let mut found = Vec::new();
    for line in lines {
        let event: Value = serde_json::from_str(line).unwrap();
        let mut all = Vec::new();
        texts(&event["payload"], &mut all);
        let mut is_found = all
            .iter()
            .any(|text| has(&text.chars().collect::<Vec<_>>(), &wanted, 0));
        if event["type"].as_str().unwrap().ends_with("_chunk") {
            let payload = &event["payload"];
            let of = json!([
                event["type"],
                event["responseId"],
                payload["part"],
                payload["stream"]
            ]);
            if before.0 != of {
                before = (of, Vec::new());
            }
            let joint = before.1.len();
            let text = payload["text"].as_str().or(payload["chunk"].as_str());
            before.1.extend(text.unwrap().chars());
            is_found |= has(&before.1, &wanted, joint);
        }
        if is_found {
            found.push(event["seq"].as_u64().unwrap());
        }
    }
    found
}

fn quickly(lines: &[String], needle: &str, how: How) -> Vec<u64> {
    let needle = Needle::new(needle, how).unwrap();
    let asked = Asked {
        after: 0,
        limit: usize::MAX,
    };
    let found = search_in(&needle, asked, &|_| None, |visit| {
        for (line, seq) in lines.iter().zip(1..) {
            let _ = visit(seq, line);
        }
        Ok(())
    });
    found
        .unwrap()
        .matches
        .iter()
        .map(|found| found.seq)
        .collect()
}

/// Every way to write a text: letters and their twins, escapes of all kinds, joints of pieces.
#[test]
fn no_line_is_passed_over_that_has_the_text() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut rand = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % below
    };
    let letters: Vec<char> = "aAkKiIs/\\\"\n é\u{130}\u{212a}\u{307}\u{17f}ß"
        .chars()
        .collect();
    let mut n_found = 0;
    for _ in 0..4000 {
        let lines: Vec<String> = (1..=6)
            .map(|seq| {
                let text: Vec<char> = (0..rand(6)).map(|_| letters[rand(letters.len())]).collect();
                let mut written = String::new();
                for character in text {
                    match rand(4) {
                        0 => written.push_str(&format!("\\u{:04x}", u32::from(character))),
                        1 if character == '/' => written.push_str("\\/"),
                        _ => {
                            let quoted = serde_json::to_string(&character).unwrap();
                            written.push_str(&quoted[1..quoted.len() - 1]);
                        }
                    }
                }
                let (kind, key) = [
                    ("assistant_chunk", "text"),
                    ("thinking_chunk", "text"),
                    ("tool_output_chunk", "chunk"),
                    ("notice", "text"),
                ][rand(4)];
                let response = ["r1", "r2"][rand(8) / 7];
                let more = ["", r#","more":[{"kia":"Ak"}]"#, r#","stream":"x""#];
                let more = more[(rand(8) / 6) * (1 + rand(2))];
                format!(
                    r#"{{"seq":{seq},"id":"e{seq}","type":"{kind}","responseId":"{response}","payload":{{"{key}":"{written}"{more}}}}}"#
                )
            })
            .collect();
        let needle: String = (0..rand(3) + 1)
            .map(|_| letters[rand(letters.len())])
            .collect();
        for how in [How::AnyCase, How::Exact] {
            let expected = plainly(&lines, &needle, how);
            n_found += expected.len();
            assert_eq!(
                quickly(&lines, &needle, how),
                expected,
                "{needle:?} in {lines:#?}"
            );
        }
    }
    assert!(n_found > 1500, "{n_found}");
}

/// A line that goes on and on as the text begins, and has a letter that is none of ASCII.
#[test]
fn lines_that_are_dear_to_look_through_take_no_more_time_than_a_search_has() {
    let needle = Needle::new(&("ab".repeat(99) + "c"), How::AnyCase).unwrap();
    // The Kelvin sign is a k.
    let text = "ab".repeat(30_000) + "\u{212a}";
    let line = json!({"type": "user_message", "payload": {"text": text}}).to_string();
    let asked = Asked {
        after: 0,
        limit: 100,
    };
    let begun = Instant::now();
    let mut n_lines = 0;
    let found = search_in(&needle, asked, &|_| None, |visit| {
        for seq in 1..=200 {
            if visit(seq, &line).is_break() {
                break;
            }
            n_lines = seq;
        }
        Ok(())
    });
    let one = begun.elapsed() / u32::try_from(n_lines).unwrap();
    assert!(found.unwrap().next.is_some(), "{n_lines} lines");
    assert!(begun.elapsed() < TIME + 4 * one, "{:?}", begun.elapsed());
}

#[test]
fn events_with_bodies_take_no_more_time_than_a_search_has() {
    let needle = Needle::new("quokka", How::AnyCase).unwrap();
    let n_opened = Cell::new(0);
    let open = |_: &str| {
        n_opened.set(n_opened.get() + 1);
        std::thread::sleep(TIME / 2);
        tempfile::tempfile().ok()
    };
    let line = |seq: u64| {
        let body = json!({"$body": {"sha256": "00", "bytes": 9, "preview": "", "truncated": true}});
        json!({"id": seq, "type": "a_chunk", "payload": {"n": body, "of": "a_chunk"}}).to_string()
    };
    let asked = Asked {
        after: 10,
        limit: 100,
    };
    let found = search_in(&needle, asked, &open, |visit| {
        let _ = (1..=40).try_for_each(|seq| visit(seq, &line(seq)));
        Ok(())
    });
    let found = found.unwrap();
    assert!(found.matches.is_empty() && found.unread.is_empty());
    // None of those before the cursor, and of the others as many as there was time for.
    assert!(n_opened.get() <= 3, "{} are opened", n_opened.get());
    assert_eq!(found.next, Some(10 + n_opened.get()));
}

#[test]
fn a_snippet_is_one_short_line() {
    let text = format!("{}\n needle\t{}", "a".repeat(500), "é".repeat(500));
    let needle = Needle::new("NEEDLE", How::AnyCase).unwrap();
    let (from, to) = needle.find(&text).unwrap();
    let snippet = snippet(&text, from, to);
    let expected = format!("…{}  needle {}…", "a".repeat(58), "é".repeat(59));
    assert_eq!(snippet, expected);
}
