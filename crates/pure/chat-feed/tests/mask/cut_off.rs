//! Secrets that are cut, folded, numbered or known from elsewhere.

use super::*;

/// What a compacted log says of the pieces of its texts fits the texts that are written, and no longer those that were.
#[test]
fn a_folded_text_that_is_masked_can_still_be_taken_apart() {
    let token = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5";
    let text = format!("It is {token}, so é keep it");
    let lens = [4_u64, 7, 1, 20, 6, 9, 13];
    assert_eq!(lens.iter().sum::<u64>(), text.chars().count() as u64);
    let mut timing: Vec<(u64, u64)> = (0_u64..).map(|nth| nth * 30).zip(lens).collect();
    let chunk = |timing: &[(u64, u64)]| json!({"text": text, "timing": timing, "span": [1, timing.len()], "ids": [["c", 1, timing.len() - 1]]});
    let as_chunk = chunk(&timing);
    timing.push((300, 0));
    let as_done = chunk(&timing);
    for (kind, payload, seq) in [
        ("assistant_chunk", as_chunk, 7),
        ("assistant_done", as_done, 8),
    ] {
        let line = json!({"seq": seq, "id": "d", "timestamp": 1_000, "sessionId": "s", "type": kind, "turnId": "t", "responseId": "r", "payload": payload});
        let event = ChatEvent::from_json(&line.to_string()).expect("an event");
        let before = Folded::of(&event).expect("it is folded");
        let written = read(&masked(std::slice::from_ref(&event)));
        let after = Folded::of(&written[0]).expect("it still is");
        assert_eq!(after.n_events(), before.n_events());
        assert_eq!(after.span(), before.span());
        let text: String = after.events().map(|event| piece_of(&event)).collect();
        assert_eq!(text, "It is [masked: github token #1], so é keep it");
        // The pieces of the token are none any more.
        let pieces: Vec<String> = after.events().map(|event| piece_of(&event)).collect();
        assert_eq!(pieces[..2], ["It i", "s [masked: github token #1]"]);
    }
}

fn piece_of(event: &ChatEvent) -> String {
    match &event.payload {
        Payload::AssistantChunk(chunk) => chunk.text.clone(),
        _ => String::new(),
    }
}

#[test]
fn what_was_cut_or_stands_alone_is_found_by_what_stands_whole_elsewhere() {
    let secret = "Xk92mQp47LzRt81vNb63";
    let events = [
        event(
            1,
            "session_start",
            &json!({"title": format!("export API_SECRET={}…", &secret[..16])}),
        ),
        event(
            2,
            "user_message",
            &json!({"text": format!("it printed {secret} then")}),
        ),
        event(
            3,
            "assistant_chunk",
            &json!({"text": format!("it printed {}", &secret[..7])}),
        ),
        event(
            4,
            "assistant_chunk",
            &json!({"text": format!("{} then", &secret[7..])}),
        ),
        event(
            5,
            "tool_call",
            &json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": format!("export API_SECRET={secret}")}}),
        ),
    ];
    let lines = masked(&events).concat();
    assert!(
        !lines.contains(&secret[..14]) && !lines.contains(&secret[7..]),
        "{lines}"
    );
}

#[test]
fn a_private_key_goes_line_by_line_and_a_diff_stays_one() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n+MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEv";
    let diff = format!(
        "--- /dev/null\n+++ b/key.pem\n@@ -0,0 +1,4 @@\n+-----BEGIN PRIVATE KEY-----\n+{}\n+-----END PRIVATE KEY-----\n",
        body.replace('\n', "\n+")
    );
    let line = told("user_message", &diff);
    for part in ["MIIEvQ", "ictGeurT8j"] {
        assert!(!line.contains(part), "{line}");
    }
    assert_eq!(line.matches("\\n").count(), diff.matches('\n').count());
    assert!(line.contains("-----END PRIVATE KEY-----"), "{line}");
}

/// As one that another program writes on meanwhile.
#[test]
fn a_piece_that_was_not_there_when_the_session_was_scanned_is_masked() {
    let secret = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5";
    let piece = |id, text: &str| event(id, "assistant_chunk", &json!({"text": text}));
    let ends = event(2, "turn_end", &json!({}));
    for before in [ends, piece(2, "and so on")] {
        let mut masker = Masker::new(plan_of(&[piece(1, "It is "), before]));
        masker.line(&piece(1, "It is "));
        let line = masker.line(&piece(3, secret));
        assert!(!line.contains(secret) && line.contains("[masked"), "{line}");
    }
}

/// As files are read by tools: each line with its number.
#[test]
fn a_private_key_is_masked_where_its_lines_are_numbered() {
    let body = [
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
        "9zEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvx",
    ];
    for sign in ["→", "\t", ": ", "| ", ":"] {
        let text = format!(
            "     1{sign}-----BEGIN PRIVATE KEY-----\n     2{sign}{}\n    13{sign}{}\n    14{sign}-----END PRIVATE KEY-----\n",
            body[0], body[1]
        );
        let line = told("tool_result", &text);
        for part in body {
            assert!(!line.contains(&part[..12]), "{sign:?}: {line}");
            assert!(!line.contains(&part[50..]), "{sign:?}: {line}");
        }
        assert!(line.contains("-----END PRIVATE KEY-----"), "{line}");
    }
}

#[test]
fn a_password_that_is_a_number_is_masked_as_a_text() {
    let args = json!({"password": 83749201, "dbPwd": 4711471147_u64, "list": {"passphrase": [918273645]}, "argv": ["--password", 55443322],
        "max_tokens": 81920000, "passwordChangedAt": 1764290000000_u64, "token": 123456789, "pwd": 1, "password_age": 864000, "x": -1.5e3});
    let events = [event(
        1,
        "tool_call",
        &json!({"toolCallId": "c", "toolName": "x", "args": args}),
    )];
    let line = masked(&events).concat();
    let read: Value = serde_json::from_str(&line).unwrap();
    let args = &read["payload"]["args"];
    assert_eq!(args["password"], "[masked: password #1]");
    assert_eq!(args["dbPwd"], "[masked: password #2]");
    assert_eq!(args["list"]["passphrase"][0], "[masked: password #3]");
    assert_eq!(args["argv"][1], "[masked: password #4]");
    for (kept, number) in [
        ("max_tokens", json!(81920000)),
        ("passwordChangedAt", json!(1764290000000_u64)),
        ("token", json!(123456789)),
        ("pwd", json!(1)),
        ("password_age", json!(864000)),
        ("x", json!(-1.5e3)),
    ] {
        assert_eq!(args[kept], number, "{kept}");
    }
    let mut plan = plan_of(&events);
    let places: u64 = plan.found().iter().map(|found| found.n_places).sum();
    assert_eq!(places, 4);
    plan.keep("password", true);
    assert_eq!(Masker::new(plan).line(&events[0]), events[0].to_line());
}
