//! What masking costs: time that is linear in a text's length and in the number of secrets, memory that is bounded.

use chat_event::ChatEvent;
use chat_feed::mask::{LiveMasker, TextMasker};
use serde_json::json;

use super::{event, masked};

fn result(id: usize, text: &str) -> ChatEvent {
    event(
        id,
        "tool_result",
        &json!({"toolCallId": "c", "result": text}),
    )
}

/// What is stored of a result that reads so.
fn stored(masker: &mut LiveMasker, id: usize, text: &str) -> String {
    let event = masker.push(result(id, text)).pop().expect("the event");
    let line: serde_json::Value = serde_json::from_str(&event.to_line()).expect("JSON");
    line["payload"]["result"]
        .as_str()
        .expect("a text")
        .to_owned()
}

#[test]
fn hostile_texts_take_time_that_is_linear_in_their_length() {
    // Each of these would take hours with a pattern that goes back.
    let parts = [
        "eyJ",
        "ghp_",
        "@",
        "a@",
        "password=",
        "://a:",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----",
        "ya29.",
        "ya29.abcdefgh.",
        ":ey",
        "curl -u a:bcd ",
        "echo a | sudo -S ",
        "mnemonic ",
        "authorization: a ",
        "private-lines: 500\n",
        "password is ",
        "net user ",
        "zip htpasswd -b ",
        "auth=('",
        "identified with ",
        "\\",
        "%41",
        "1.2.3.",
        "sk-",
        "\u{1b}[m",
        "\u{1b}]0;",
        "\u{1b}]a\u{7}",
        "PASS=a)1\n",
        "password=\"\\\"",
        "kind: Secret\n data:aaaaaaaaa1\n ",
    ];
    for part in parts {
        let text = part.repeat(200_000 / part.len());
        assert_eq!(
            masked(&[event(1, "user_message", &json!({"text": text}))]).len(),
            1
        );
    }
    // All of it is one run, of which each part may begin a value that goes to its end.
    let runs = [
        ("TOKEN=1", ""),
        ("aa1Q~", ""),
        ("key=1", "|"),
        ("/ey", "|"),
        ("token: 1:", "."),
        ("bearer=1/ey", "/"),
    ];
    for (part, end) in runs {
        let text = part.repeat(200_000 / part.len()) + &end.repeat(200_000);
        assert_eq!(
            masked(&[event(1, "user_message", &json!({"text": text}))]).len(),
            1
        );
    }
}

/// Without each order there is another one, which is none to a terminal.
#[test]
fn orders_within_orders_are_taken_out_once_whatever_the_pieces() {
    let nest = |n: usize| "\u{1b}".repeat(n) + &"[m".repeat(n);
    let deep = move || {
        for text in ["", " export DB_PASSWORD=Tr0ub4dor-and-3"] {
            let text = nest(50_000) + text;
            let is = masked(&[result(1, &text)]).concat();
            assert!(!is.contains("Tr0ub4") && is.len() > 50_000);
            let is = stored(&mut LiveMasker::new(), 1, &text);
            assert_eq!(is, text.replace("Tr0ub4dor-and-3", "[masked: password]"));
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    let ended = thread.spawn(deep).expect("a thread").join();
    ended.expect("it needs no more stack for more of them");
    for n in [1, 2, 3] {
        let nest = nest(n);
        let text = format!(
            "{nest}DB_PASSWORD={nest}Tr0ub4dor-and-3{nest} \ntoken {nest}ghp_16C7e42F292c6912E7710c838347Ae178B4a{nest} so {nest}\n"
        );
        let whole = stored(&mut LiveMasker::new(), 1, &text);
        assert!(
            !whole.contains("Tr0ub4") && !whole.contains("16C7"),
            "{whole:?}"
        );
        for n_bytes in 1..20 {
            let mut masker = TextMasker::default();
            let pieces = text.as_bytes().chunks(n_bytes);
            let pieces = pieces.map(|piece| std::str::from_utf8(piece).expect("ASCII"));
            let mut told: String = pieces.map(|piece| masker.push(piece)).collect();
            told += &masker.finish();
            assert_eq!(told, whole, "by {n_bytes}");
        }
    }
}

/// A megabyte that begins or ends as the parts of a text do, each of which is a part of it.
#[test]
fn a_secret_of_a_megabyte_is_kept_once_and_its_parts_cost_their_length() {
    let long = format!("ghp_{}", "abcdefghijklmnop".repeat(65_536));
    let begins = "ghp_abcdefghijX ".repeat(60_000);
    let ends = "abcdefghijklmnop".repeat(65_536);
    let mut masker = LiveMasker::new();
    assert_eq!(
        stored(&mut masker, 1, &format!("it is {long}")),
        "it is [masked: github token]"
    );
    let is = stored(&mut masker, 2, &begins);
    assert_eq!(is, "[masked: github token]X ".repeat(60_000));
    assert_eq!(stored(&mut masker, 3, &ends), "[masked: github token]");
    // Where nothing tells it, all of it is masked: cut at its beginning, at its end, and whole.
    for cut in [&long[..900_000], &long[9..], &long[100_000..]] {
        assert_eq!(
            stored(&mut masker, 4, &format!("so {cut} it")),
            "so [masked: github token] it"
        );
    }
    let lines = masked(&[result(1, &long), result(2, &begins), result(3, &ends)]);
    assert!(
        lines[1].contains("[masked: github token #1]X ["),
        "{}",
        &lines[1][..300]
    );
}

#[test]
fn of_secrets_that_begin_alike_a_part_is_of_the_one_that_it_is_most_like() {
    let mut masker = LiveMasker::new();
    let all = [
        "Summer2024-Winter77",
        "Summer2024-Winter88-is-the-next",
        "Summer2024-Winter79xyz",
    ];
    for (id, secret) in all.iter().enumerate() {
        stored(&mut masker, id, &format!("DB_PASSWORD='{secret}'"));
    }
    for part in [&all[1][..26], &all[1][5..], all[1], &all[2][..20], all[0]] {
        assert_eq!(
            stored(&mut masker, 9, &format!("was {part} so")),
            "was [masked: password] so"
        );
    }
}

#[test]
fn a_short_secret_is_known_where_a_longer_one_begins_alike_and_where_another_ends() {
    let told = |secrets: &[&str], text: &str| {
        let mut masker = LiveMasker::new();
        for (id, secret) in secrets.iter().enumerate() {
            stored(&mut masker, id, &format!("DB_PASSWORD='{secret}'"));
        }
        stored(&mut masker, 9, text)
    };
    let alike = [
        "hunter2-prod",
        "hunter2-prod.internal7",
        "hunter2-prod!internal7",
    ];
    for text in ["it was hunter2-prod. It works", "it was hunter2-prod; so"] {
        assert_eq!(
            told(&alike, text),
            text.replace(alike[0], "[masked: password]")
        );
    }
    assert_eq!(
        told(
            &["winter88-hunter2", "hunter2-prod"],
            "so winter88-hunter2-prod it"
        ),
        "so [masked: password] it"
    );
}

#[test]
fn a_session_of_very_many_secrets_costs_their_number() {
    let mut masker = LiveMasker::new();
    let secret = |nth: usize| format!("Tr0ub-{nth:06}-{:08x}", nth * 2_654_435_761 % 0xffff_ffff);
    for nth in 0..900 {
        let told = stored(
            &mut masker,
            nth,
            &format!("export DB_PASSWORD={}", secret(nth)),
        );
        assert_eq!(told, "export DB_PASSWORD=[masked: password]");
    }
    let again = (0..900).map(|nth| secret(nth) + " ").collect::<String>();
    assert_eq!(
        stored(&mut masker, 900, &again),
        "[masked: password] ".repeat(900)
    );
    // What one text of an event tells is masked in the next.
    let call = json!({"toolCallId": "d", "toolName": "x", "args": {"a": "API_TOKEN=s3cr3t9x7q-5", "b": "s3cr3t9x7q-5"}});
    let line = masker
        .push(event(901, "tool_call", &call))
        .pop()
        .expect("the event")
        .to_line();
    assert!(!line.contains("s3cr3t9x7q"), "{line}");
}

/// A text that no rule knows, different for each number.
fn random(nth: usize, n_chars: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = nth as u64 + 1;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(LETTERS[(state >> 33) as usize % LETTERS.len()])
    };
    (0..n_chars).map(next).collect()
}

#[test]
fn checksums_stay_and_leave_room_for_what_is_told() {
    let line = |nth: usize| match nth % 5 {
        0 => format!("example.com/m{nth} v1.2.3 h1:{}=\n", random(nth, 43)),
        1 => format!("example.com/m{nth} v1.2.3/go.mod h1:{}=\n", random(nth, 43)),
        2 => format!("    \"h1:{}=\",\n", random(nth, 43)),
        3 => format!("integrity=sha512-{}==\n", random(nth, 86)),
        _ => format!("256 SHA256:{} ann (ED25519)\n", random(nth, 43)),
    };
    let sums: String = (0..1_200).map(line).collect();
    assert_eq!(masked(&[result(1, &sums)]), [result(1, &sums).to_line()]);
    let mut masker = LiveMasker::new();
    assert_eq!(stored(&mut masker, 1, &sums), sums);
    // Nor does it take the room that other random texts were.
    let texts: String = (0..3_000).map(|nth| random(nth, 43) + "\n").collect();
    let is = stored(&mut masker, 2, &texts);
    assert!(
        is.matches("[masked: random text]").count() > 1_200,
        "{}",
        &is[..300]
    );
    stored(&mut masker, 3, "export DB_PASSWORD=Tr0ub4dor-and-3");
    assert_eq!(
        stored(&mut masker, 4, "it was Tr0ub4dor-and-3"),
        "it was [masked: password]"
    );
}

#[test]
fn a_short_line_that_stands_for_very_much_is_masked_as_the_line_it_is() {
    let secret = "password: hunter2x";
    let of_turn = |n_bytes: usize| {
        let timing: Vec<(u64, u64)> = secret.chars().map(|_| (0, 1)).collect();
        let payload = json!({"text": secret, "timing": timing});
        let mut event = event(1, "assistant_done", &payload);
        event.turn_id = Some("t".repeat(n_bytes));
        LiveMasker::new().push(event)
    };
    assert_eq!(of_turn(9).len(), secret.len() + 1);
    let stored = of_turn(5_000_000);
    assert_eq!(stored.len(), 1);
    assert!(!stored[0].to_line().contains("hunter2x"));
}
