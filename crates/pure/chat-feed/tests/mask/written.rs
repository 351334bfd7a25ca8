//! Secrets as files and terminals write them: with any sign in them, in quotes that have quotes in them, in colours. Each is
//! masked alike whole and wherever it is cut.

use proptest::prelude::*;
use serde_json::json;

use super::{event, masked};
use crate::support::mask_live::stored_live;

fn whole(text: &str) -> String {
    let line = masked(&[event(
        1,
        "tool_result",
        &json!({"toolCallId": "c", "result": text}),
    )])
    .concat();
    let event: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    event["payload"]["result"]
        .as_str()
        .expect("a text")
        .to_owned()
}

/// Of each text, this is masked and all around it stays; live as well, in two pieces and byte by byte.
fn assert_masked(texts: &[(&str, &str, &str)]) {
    for (text, secret, kind) in texts {
        let numbered = text.replace(secret, &format!("[masked: {kind} #1]"));
        assert_ne!(&numbered, text, "a secret stands in it");
        assert_eq!(whole(text), numbered);
        assert_live(text, &text.replace(secret, &format!("[masked: {kind}]")));
    }
}

fn assert_live(text: &str, stored: &str) {
    for (at, _) in text.char_indices() {
        let (first, rest) = text.split_at(at);
        assert_eq!(stored_live(&[first, rest]), stored, "{first:?}, {rest:?}");
    }
    let pieces: Vec<&str> = text.split_inclusive(|_: char| true).collect();
    assert_eq!(stored_live(&pieces), stored, "{text:?}");
}

fn assert_left(texts: &[&str]) {
    for text in texts {
        assert_eq!(&whole(text), text);
        assert_live(text, text);
    }
}

#[test]
fn a_value_that_has_its_line_for_itself_has_any_signs() {
    assert_masked(&[
        ("DB_PASSWORD=Xy7)k2Lm9#q", "Xy7)k2Lm9#q", "password"),
        (
            "A=b\nexport DB_PASSWORD=Summer2024&Winter77\r\nB=c",
            "Summer2024&Winter77",
            "password",
        ),
        (
            "SECRET_KEY=u!x7@v^0p3$k(w_e=9&+1*z-r5\n",
            "u!x7@v^0p3$k(w_e=9&+1*z-r5",
            "secret",
        ),
        ("API_KEY=ab#9kd!x\n", "ab#9kd!x", "secret"),
        ("db.pass=ab)9;k<d # of the test\n", "ab)9;k<d", "password"),
        ("     2→DB_PASSWORD=Xy7)k2Lm\n", "Xy7)k2Lm", "password"),
        ("+DB_PASSWORD=Xy7)k2Lm\n", "Xy7)k2Lm", "password"),
        ("  - DB_PASSWORD=Xy7)k2Lm\n", "Xy7)k2Lm", "password"),
        (
            "env = '''\nDB_PASSWORD=Xy7)k2Lm'''\n",
            "Xy7)k2Lm",
            "password",
        ),
        (
            "{\"content\": \"A=1\\nDB_PASSWORD=Xy7)k2Lm\\nB=2\"}",
            "Xy7)k2Lm",
            "password",
        ),
    ]);
    // What says by itself where it ends, ends there.
    assert_masked(&[
        ("password=Summer2024&user=ann", "Summer2024", "password"),
        ("    password=hunter2x, user=ann)", "hunter2x", "password"),
        ("psql(password=hunter2x)", "hunter2x", "password"),
    ]);
    assert_left(&[
        "password=$PASSWORD\nTOKEN=${TOKEN:-}\nAPI_KEY=$(pass show key1)\nSECRET=pre$(x1)",
        "password=os.environ[\"DB_PASS1\"]\npassword=get(x)\ntoken = get(x)",
        "API_TOKEN=client.token(user1)\nAPI_KEY=keys[\"k1\"],",
        "API_KEY=https://x.test/?a=1&b=(2)",
        "see PASS=a)1",
    ]);
}

#[test]
fn a_quote_within_quotes_ends_no_password() {
    assert_masked(&[
        (
            "password = \"abc123\\\"rest-of-Secret9\" x",
            "abc123\\\"rest-of-Secret9",
            "password",
        ),
        (
            "password = 'abc123\\'rest-of-Secret9' x",
            "abc123\\'rest-of-Secret9",
            "password",
        ),
        (
            "password = \"hunter2x\\\\\" + \"y\"",
            "hunter2x\\\\",
            "password",
        ),
        (
            "DB_PASSWORD=\"correct \\\" horse 9\" x",
            "correct \\\" horse 9",
            "password",
        ),
        (
            "{\"s\": \"password = \\\"abc123\\\\\\\"rest-of-Secret9\\\" x\"}",
            "abc123\\\\\\\"rest-of-Secret9",
            "password",
        ),
        // A shell's has no quotes within it.
        (
            "login(password='hunter2\\', to=\"x\")",
            "hunter2\\",
            "password",
        ),
    ]);
}

#[test]
fn colours_hide_nothing() {
    let key = "AKIAZ5GMXQ3JHTLW2VNB";
    let aws = |text: &str| text.replace("KEY", key);
    for text in [
        "\x1b[31mKEY\x1b[0m is it",
        "a: \x1b[01;31m\x1b[KKEY\x1b[m\x1b[K\n",
        "\x1b7\x1b[2;3HKEY\x1b8 x",
        "\x1b(BKEY\x1b[m x",
        "\x1b]8;;https://x.test/KEY\x1b\\it\x1b]8;;\x1b\\ is there",
        "{\"out\": \"\\u001b[31mKEY\\u001b[0m\"}",
    ] {
        assert_masked(&[(&aws(text), key, "aws key")]);
    }
    // Some of it is lit up.
    assert_masked(&[(
        "it is ghp_\x1b[01;31m\x1b[K16C7e42F292c\x1b[m\x1b[K6912E7710c838347Ae178B4a so",
        "ghp_\x1b[01;31m\x1b[K16C7e42F292c\x1b[m\x1b[K6912E7710c838347Ae178B4a",
        "github token",
    )]);
    assert_masked(&[
        (
            "{\n  \x1b[34;1m\"password\"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m\"hunter2x\"\x1b[0m\x1b[1;39m\n}",
            "hunter2x",
            "password",
        ),
        ("PASSWORD=\x1b[32mhunter2x\x1b[0m", "hunter2x", "password"),
        (
            "\x1b[1mDB_PASSWORD\x1b[0m=\x1b[32mXy7)k2Lm\x1b[0m\n",
            "Xy7)k2Lm",
            "password",
        ),
        (
            "DB_PASSWORD=\x1b[32m\"correct horse battery\"\x1b[0m\n",
            "correct horse battery",
            "password",
        ),
        (
            "\x1b[32mecho\x1b[0m \x1b[33mhunter2x\x1b[0m | sudo -S ls",
            "hunter2x",
            "password",
        ),
    ]);
    let lines = [
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
        "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDu",
    ];
    let diff = |lines: [&str; 2]| {
        let all = [
            "-----BEGIN PRIVATE KEY-----",
            lines[0],
            lines[1],
            "-----END PRIVATE KEY-----",
        ];
        all.map(|line| format!("\x1b[32m+\x1b[m\x1b[32m{line}\x1b[m\n"))
            .concat()
    };
    assert_eq!(whole(&diff(lines)), diff(["[masked: private key #1]"; 2]));
    assert_live(&diff(lines), &diff(["[masked: private key]"; 2]));
}

#[test]
fn what_was_told_is_known_in_colours() {
    let text = "\x1b[1mDB_PASSWORD\x1b[0m=Tr0ub4dor-and-3\nit was \x1b[4mTr0ub4\x1b[0mdor-and-3 so";
    let events = [
        event(
            1,
            "tool_result",
            &json!({"toolCallId": "c", "result": text}),
        ),
        event(
            2,
            "tool_result",
            &json!({"toolCallId": "d", "result": text}),
        ),
    ];
    for line in masked(&events) {
        assert!(!line.contains("Tr0") && !line.contains("and-3"), "{line}");
        assert!(
            line.contains(
                "\\u001b[0m=[masked: password #1]\\nit was \\u001b[4m[masked: password #1] so"
            ),
            "{line}"
        );
    }
}

#[test]
fn what_is_coloured_and_no_secret_stays() {
    assert_left(&[
        "\x1b[32mok\x1b[0m 12 passed; \x1b[1mpassword\x1b[0m: String\n",
        "\x1b]0;ann: ~/x\x07$ ls\n\x1b[2K\x1b[1Gnext \x1b[38;5;9mkey\x1b[0m",
    ]);
}

/// Orders to a terminal, signs, names and secrets. What stands there twice would be known the second time.
fn text() -> impl Strategy<Value = String> {
    let orders = [
        "\x1b[31m",
        "\x1b[0m",
        "\x1b[K",
        "\x1b[2;3H",
        "\x1b]8;;x\x07",
        "\x1b]0;a b\x07",
        "\x1b]",
        "\x1b[",
        "\x07",
    ];
    let signs = [
        "\n", " ", "\"", "\\\"", "'", "=", ":", "(", ")", "&", "#", "[", "]", "+", "-", ",", ";",
        "$", "{", "%41",
    ];
    let words = [
        "PASSWORD=",
        "API_KEY=",
        "DB_PASS=",
        "password: ",
        "password = \"",
        "token",
        "AKIAZ5GMXQ3JHTLW2VNB",
        "hunter2x",
        "h1:",
        "export ",
    ];
    let part = prop_oneof![
        prop::sample::select(orders.to_vec()).prop_map(str::to_owned),
        prop::sample::select(signs.to_vec()).prop_map(str::to_owned),
        prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        "[a-zA-Z0-9]{1,12}",
    ];
    prop::collection::vec(part, 1..14).prop_map(|parts: Vec<String>| {
        let mut seen = std::collections::BTreeSet::new();
        let mut is_new =
            |part: &String| part.contains('\x1b') || part.len() < 3 || seen.insert(part.clone());
        parts
            .into_iter()
            .filter(|part| is_new(part))
            .collect::<String>()
            + "\nend\n"
    })
}

proptest! {
    #[test]
    fn a_cut_changes_nothing_of_what_is_masked(text in text(), cut in any::<prop::sample::Index>()) {
        let (first, rest) = text.split_at(cut.index(text.len()));
        prop_assert_eq!(stored_live(&[first, rest]), stored_live(&[&text]), "{:?}", first);
        let once = whole(&text);
        prop_assert_eq!(whole(&once), once);
    }
}
