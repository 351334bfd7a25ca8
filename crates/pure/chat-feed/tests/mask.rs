//! What holds of masking: a planted secret is nowhere in what is written, however it was cut or hidden; the rest stays.
//! One file: all of it is made of the same few events, and read back the same way.

use chat_event::compaction::Folded;
use chat_event::{ChatEvent, Payload};
use chat_feed::mask::Masker;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::mask_plan;
use mask_plan::plan_of;

mod bounds;
mod written;

fn masked(events: &[ChatEvent]) -> Vec<String> {
    let mut masker = Masker::new(plan_of(events));
    events.iter().map(|event| masker.line(event)).collect()
}

fn read(lines: &[String]) -> Vec<ChatEvent> {
    let read = lines
        .iter()
        .map(|line| ChatEvent::from_json(line).expect("a line is an event"));
    read.collect()
}

fn event(id: usize, kind: &str, payload: &Value) -> ChatEvent {
    let line = json!({"id": format!("e{id}"), "timestamp": 1, "sessionId": "s", "type": kind, "turnId": "t", "responseId": "r", "payload": payload});
    ChatEvent::from_json(&line.to_string()).expect("an event")
}

/// A text of each event that is masked, as it reads.
fn told(kind: &str, text: &str) -> String {
    let payload = match kind {
        "tool_call" => json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": text}}),
        _ => json!({"text": text}),
    };
    masked(&[event(1, kind, &payload)]).concat()
}

#[test]
fn an_answer_to_a_secret_question_is_masked_whatever_it_looks_like() {
    let asked = json!({"requestId": "q", "toolCallId": "c", "questions": [
        {"id": "a", "text": "Where?", "options": []},
        {"id": "b", "text": "Which password?", "options": [], "secret": true},
    ]});
    let shapes = [
        json!([["staging"], ["hunter2"]]),
        json!({"a": "staging", "b": "hunter2"}),
        json!({"answers": {"b": {"answers": ["hunter2"]}, "a": {"answers": ["staging"]}}}),
    ];
    for answers in shapes {
        let mut events = [
            event(1, "question_request", &asked),
            event(
                2,
                "question_resolved",
                &json!({"requestId": "q", "answers": answers, "outcome": "answered"}),
            ),
            event(
                3,
                "tool_result",
                &json!({"toolCallId": "c", "result": "They said staging and hunter2."}),
            ),
        ];
        // The answer may come before its question.
        for (one, other) in [(0, 0), (0, 1), (1, 2)] {
            events.swap(one, other);
            let all = masked(&events).concat();
            assert!(!all.contains("hunter2"), "{all}");
            assert_eq!(all.matches("staging").count(), 2, "{all}");
            assert_eq!(all.matches("[masked: secret answer").count(), 2, "{all}");
            let found = plan_of(&events).found()[0].n_places;
            assert_eq!(found, 2, "{all}");
        }
    }
    // A number is one as well, and what does not say to which question it is may be the secret.
    for answers in [
        json!([["staging"], [4711]]),
        json!({"x": 4711, "y": "staging"}),
    ] {
        let lines = masked(&[
            event(1, "question_request", &asked),
            event(
                2,
                "question_resolved",
                &json!({"requestId": "q", "answers": answers, "outcome": "answered"}),
            ),
        ]);
        assert!(!lines[1].contains("4711"), "{}", lines[1]);
    }
}

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
fn the_same_secret_has_the_same_label_and_the_kind_is_named() {
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let text = format!(
        "one {token} two ghp_{} three {token}",
        "zY8xW6vU4tS2rQ0pO8nM6lK4jI2hG0fE8dC6"
    );
    let line = told("user_message", &text);
    assert!(
        line.contains("one [masked: github token #1] two [masked: github token #2] three [masked: github token #1]"),
        "{line}"
    );
}

#[test]
fn names_tell_secrets() {
    for (text, expected) in [
        (
            "export DB_PASSWORD='Tr0ub4dor&3'",
            "export DB_PASSWORD='[masked: password #1]'",
        ),
        (
            "postgres://app:s3cr3t-pw@db.internal/app",
            "postgres://app:[masked: password #1]@db.internal/app",
        ),
        (
            "curl -u admin:Sup3rSecret https://x.test/",
            "curl -u admin:[masked: password #1] https://x.test/",
        ),
        (
            "curl -su admin:Sup3rSecret https://x.test/",
            "curl -su admin:[masked: password #1] https://x.test/",
        ),
        (
            "curl -sSuadmin:Sup3rSecret https://x.test/",
            "curl -sSuadmin:[masked: password #1] https://x.test/",
        ),
        (
            "curl -sS \\\n  -X POST \\\r\n  -u \\\n \"admin:Sup3r Secret\" \\\n  https://x.test/",
            "curl -sS \\\n  -X POST \\\r\n  -u \\\n \"admin:[masked: password #1]\" \\\n  https://x.test/",
        ),
        (
            "curl -u $ME:$PW a; curl --user ann:pass1word b --proxy-user x -u 'ann:pass2word'",
            "curl -u $ME:$PW a; curl --user ann:[masked: password #1] b --proxy-user x -u 'ann:[masked: password #2]'",
        ),
        (
            "curl https://x.test/\nssh -u ann:pass1word",
            "curl https://x.test/\nssh -u ann:pass1word",
        ),
        (
            "Authorization: Bearer abc123def456ghi789jkl",
            "Authorization: Bearer [masked: bearer token #1]",
        ),
        (
            "Authorization: Basic YWRtaW46aHVudGVyMg==",
            "Authorization: Basic [masked: basic credentials #1]",
        ),
        (
            "api_key = \"9f86d081884c7d659a2f\"",
            "api_key = \"[masked: secret #1]\"",
        ),
        (
            "datadog_api_key: 9f86d081884c7d659a2feaa0c55ad015",
            "datadog_api_key: [masked: datadog key #1]",
        ),
        (
            "tool --token 9f86d081884c7d659a2f x",
            "tool --token [masked: secret #1] x",
        ),
        (
            "cd /home/alice/work && ls",
            "cd /home/[masked: user name #1]/work && ls",
        ),
        ("at 203.0.113.7:8080", "at [masked: ip address #1]:8080"),
        // Short ones, and words, where the name leaves no doubt.
        (
            "API_TOKEN=abc123 MAX_TOKEN=409600 CACHE_KEY=v1-deps TOKEN=$(x) API_KEY=YOUR_API_KEY run",
            "API_TOKEN=[masked: secret #1] MAX_TOKEN=409600 CACHE_KEY=v1-deps TOKEN=$(x) API_KEY=YOUR_API_KEY run",
        ),
        (
            "curl -H 'X-Api-Key: abc123' -H 'X-Sort-Key: abc123' x.test",
            "curl -H 'X-Api-Key: [masked: secret #1]' -H 'X-Sort-Key: abc123' x.test",
        ),
        (
            "tool --api-key abc123 --token=xyz789 --secret id=key1 --key 4abc21",
            "tool --api-key [masked: secret #1] --token=[masked: secret #2] --secret id=key1 --key 4abc21",
        ),
        (
            "MY_PASSWORD='correct horse' password = 'Enter it here'",
            "MY_PASSWORD='[masked: password #1]' password = 'Enter it here'",
        ),
        // Options of one letter.
        (
            "mysql -uroot -phunter2 -h db shop; mkdir -p Foo1",
            "mysql -uroot -p[masked: password #1] -h db shop; mkdir -p Foo1",
        ),
        ("mysqldump -p shop1", "mysqldump -p shop1"),
        (
            "sshpass -p 'hunter 2' ssh -p 2222 host",
            "sshpass -p '[masked: password #1]' ssh -p 2222 host",
        ),
        (
            "mysql -e 'select 1; select 2' -p'Tr0ub4dor&3' shop",
            "mysql -e 'select 1; select 2' -p'[masked: password #1]' shop",
        ),
        (
            "redis-cli -h x \\\n  -a hunter2 | ls -a foobar",
            "redis-cli -h x \\\n  -a [masked: password #1] | ls -a foobar",
        ),
        (
            "docker login -u ann -p hunter2 && docker run -p 80:80 x",
            "docker login -u ann -p [masked: password #1] && docker run -p 80:80 x",
        ),
        (
            "sshpass -p $PW ssh; my-mysql -pabc",
            "sshpass -p $PW ssh; my-mysql -pabc",
        ),
    ] {
        let line = told("tool_call", text);
        let expected = Value::String(expected.to_owned()).to_string();
        assert!(line.contains(&expected), "{text}: {line}");
    }
}

#[test]
fn names_of_fields_tell_short_secrets() {
    let call = json!({"toolCallId": "c", "toolName": "run", "args": {
        "env": {"API_TOKEN": "abc123", "SORT_KEY": "abc124", "TOKENS": "abc125"},
        "headers": {"x-api-key": "abc126", "key": "abc127"},
        "argv": ["--token", "abc128", "--secret", "abc129"],
    }});
    let line = masked(&[event(1, "tool_call", &call)]).concat();
    let left = (123..130).filter(|n| line.contains(&format!("abc{n}")));
    assert_eq!(left.collect::<Vec<_>>(), [124, 125, 127, 129], "{line}");
}

/// Texts of a session in which somebody's home folder stands, as they are written.
fn beside_home(home: &str, texts: &[&str]) -> Vec<Value> {
    let mut events = vec![event(
        0,
        "user_message",
        &json!({"text": format!("cd {home}/work")}),
    )];
    let texts = texts.iter().enumerate();
    events.extend(texts.map(|(nth, text)| event(nth + 1, "user_message", &json!({"text": text}))));
    let lines = masked(&events);
    assert!(
        lines[0].contains("[masked: user name #1]/work"),
        "{}",
        lines[0]
    );
    let written = lines[1..].iter();
    written
        .map(|line| {
            let mut event: Value = serde_json::from_str(line).expect("a line");
            event["payload"]["text"].take()
        })
        .collect()
}

#[test]
fn a_name_that_a_home_folder_told_is_masked_wherever_it_stands() {
    let texts = [
        "diff --git a/home/marisol/demo/x b/home/marisol/demo/x",
        "home/marisol/x and ~marisol/x",
        "drwxr-xr-x 2 marisol marisol 4096 Nov  2 10:00 demo",
        "marisol@laptop:~$ whoami\nmarisol",
        "\u{1b}[01;32mmarisol@laptop\u{1b}[00m:~$",
        "{\"out\": \"one\\nmarisol\"}",
        "Ask Marisol, or marisol-backup",
        "marisola and amarisol",
    ];
    let label = "[masked: user name #1]";
    let told = texts.map(|text| match text.starts_with("marisola") {
        true => text.to_owned(),
        false => text.replace("marisol", label).replace("Marisol", label),
    });
    assert_eq!(beside_home("/home/marisol", &texts), told);
    // It came in pieces, before anything told it.
    let mut events: Vec<ChatEvent> = ["by mari", "sol himself"]
        .iter()
        .enumerate()
        .map(|(nth, text)| event(nth, "assistant_chunk", &json!({"text": text, "index": nth})))
        .collect();
    events.push(event(
        3,
        "user_message",
        &json!({"text": "ls /home/marisol"}),
    ));
    let lines = masked(&events);
    assert!(
        lines[0].contains(&format!("by {label}")) && lines[1].contains("\" himself"),
        "{lines:?}"
    );
}

#[test]
fn a_name_that_is_an_ordinary_word_is_masked_where_it_is_a_name() {
    let label = "[masked: user name #1]";
    let names = [
        "--- a/home/dev/demo/x",
        "-rw-r--r--  1 dev dev  120 Nov  2 10:00 dev",
        "total 8\ndrwxr-xr-x+ 2 dev staff 64 Nov  2 10:00 src",
        "dev@laptop:~$ id",
        "uid=1000(dev) gid=1000(dev)",
        "USER=dev",
        "see ~dev/x, C:\\Users\\dev\\x and -home-dev-work",
    ];
    let told = names.map(|text| {
        let kept = text.ends_with(" dev");
        let text = text.replace("dev", label);
        match kept {
            true => format!("{}dev", text.strip_suffix(label).unwrap_or_default()),
            false => text,
        }
    });
    assert_eq!(beside_home("/home/dev", &names), told);
    let words = [
        "npm run dev --dev",
        "the dev server at dev.example",
        "src/dev/x.ts",
        "devs (dev)",
    ];
    assert_eq!(beside_home("/home/dev", &words), words);
    // A kind that is kept is kept everywhere.
    let events = [event(
        0,
        "user_message",
        &json!({"text": "/home/marisol is marisol"}),
    )];
    let mut plan = plan_of(&events);
    plan.keep("user name", true);
    assert_eq!(Masker::new(plan).line(&events[0]), events[0].to_line());
}

#[test]
fn as_many_places_are_told_as_are_masked() {
    let events = [
        event(
            0,
            "user_message",
            &json!({"text": "marisol@laptop, and marisol"}),
        ),
        event(
            1,
            "assistant_chunk",
            &json!({"text": "in /home/mar", "index": 0}),
        ),
        event(
            2,
            "assistant_chunk",
            &json!({"text": "isol of marisol", "index": 1}),
        ),
    ];
    let plan = plan_of(&events);
    let told: Vec<_> = plan
        .found()
        .iter()
        .map(|found| (found.kind, found.n_places, found.n_values))
        .collect();
    assert_eq!(told, [("user name", 4, 1)]);
    assert_eq!(plan.found()[0].places[0].n_places, 4);
    let mut masker = Masker::new(plan);
    events.iter().for_each(|event| drop(masker.line(event)));
    assert_eq!(
        masker
            .masked()
            .map(|(_, _, n_places)| n_places)
            .sum::<u64>(),
        4
    );
}

#[test]
fn a_title_is_masked_as_the_session_is() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let events = [event(
        0,
        "user_message",
        &json!({"text": format!("/home/marisol {token}")}),
    )];
    let mut masker = Masker::new(plan_of(&events));
    let title = format!("\"Push\" with {} for marisol", &token[..30]);
    assert_eq!(
        masker.text(&title),
        "\"Push\" with [masked: github token #1] for [masked: user name #1]"
    );
    assert_eq!(masker.text("a \\ \"title\""), "a \\ \"title\"");
}

#[test]
fn what_is_code_or_a_name_is_left() {
    for text in [
        "let key = map.keys().next(); // keyboard: 12",
        "password: String,",
        "fn token(&self) -> Token { self.next_token() }",
        "input_tokens: 1200, cache_read_tokens=99",
        "git clone git@github.com:owner/repo.git",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "550e8400-e29b-41d4-a716-446655440000",
        "integrity sha512-9Sp3uAPz8sHm4kQ2VdRzY1bNcX7wLf0aJtEoGi6K5uMxPyBvTnZqCrDhWgSeFjIl==",
        "http://127.0.0.1:7473/ and 0.0.0.0",
        "PASSWORD=$DB_PASSWORD token=${{ secrets.TOKEN }} key=process.env.API_KEY",
        "Chrome/120.0.0.0 Safari",
        "icons/128x128@2x.png and left-pad@1.3.0",
    ] {
        let event = event(1, "user_message", &json!({"text": text}));
        assert_eq!(
            masked(std::slice::from_ref(&event)),
            [event.to_line()],
            "{text}"
        );
    }
}

#[test]
fn a_value_is_told_by_its_key_and_by_the_option_before_it() {
    let args = json!({"headers": {"x-api-key": "9f86d081884c7d659a2f"}, "password": "hunter22", "argv": ["login", "--password", "hunter23x"]});
    let line = masked(&[event(
        1,
        "tool_call",
        &json!({"toolCallId": "c", "toolName": "x", "args": args}),
    )])
    .concat();
    for gone in ["9f86d081884c7d659a2f", "hunter22", "hunter23x"] {
        assert!(!line.contains(gone), "{line}");
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

#[test]
fn an_id_stays_an_id_and_a_kind_may_be_kept() {
    let token = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5";
    let events = [event(
        1,
        "tool_call",
        &json!({"toolCallId": token, "toolName": "x", "args": {"to": "ann@example.com"}}),
    )];
    let line = masked(&events).concat();
    assert!(
        line.contains(r#""toolCallId":"masked-github-token-1""#),
        "{line}"
    );
    let mut plan = plan_of(&events);
    assert_eq!(plan.found().len(), 2, "{:?}", plan.found());
    plan.keep("e-mail address", true);
    let line = Masker::new(plan).line(&events[0]);
    assert!(
        line.contains("ann@example.com") && !line.contains(token),
        "{line}"
    );
}
