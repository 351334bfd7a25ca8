//! What is masked before it is stored: a text in pieces is what it would be in one, whatever the pieces; nothing is lost, and
//! nothing that was held back waits behind the end of what it belongs to.

use chat_event::{ChatEvent, Payload};
use chat_feed::mask::LiveMasker;
use proptest::prelude::*;
use serde_json::json;

use crate::support::mask_live;
use mask_live::stored_live;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// Stretches of which texts are made, and what each is stored as.
fn stretch() -> impl Strategy<Value = (String, String)> {
    let plain = |text: &'static str| Just((text.to_owned(), text.to_owned()));
    let masked = |text: &str, secret: &str, kind: &str| {
        let stored = text.replace(secret, &format!("[masked: {kind}]"));
        Just((text.to_owned(), stored))
    };
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA04up8hoqzS1\nq7Ftpae0Z3xbZ8sT+Zm2u0JXkA\n-----END RSA PRIVATE KEY-----\n";
    let key_stored = "-----BEGIN RSA PRIVATE KEY-----\n[masked: private key]\n[masked: private key]\n-----END RSA PRIVATE KEY-----\n";
    let secret = "apiVersion: v1\ndata:\n  db: VHIwdWI0ZG9yLWFuZC0z\n  port: NTQzMg==\nkind: Secret\nmetadata:\n  name: x\n";
    let curl = "curl https://x.test \\\n  -H 'Accept: text/plain' \\\n  -u ann:hunter2x \\\n  -o out.txt\n";
    prop_oneof![
        masked(secret, "VHIwdWI0ZG9yLWFuZC0z", "kubernetes secret"),
        masked(curl, "hunter2x", "password"),
        plain("The quick brown fox, it says, jumps.\n"),
        plain("I'll run `cargo test` and echo what it says to you.\n"),
        plain("日本語の文章には空白がありません。"),
        plain("let x = \"y\"; // \u{1f600}\n"),
        plain("a mnemonic device helps; it is one\n"),
        plain("{\"path\":\"src/lib.rs\",\"n\":12}\n"),
        masked(
            &format!("the token {TOKEN} is here\n"),
            TOKEN,
            "github token"
        ),
        masked("export DB_PASSWORD=Tr0ub4dor\n", "Tr0ub4dor", "password"),
        masked(
            "{\"password\": \"Tr0漢字4dor\"}\n",
            "Tr0漢字4dor",
            "password"
        ),
        masked(
            "DB_PASSWORD='Tr0漢字4dor' ./run\n",
            "Tr0漢字4dor",
            "password"
        ),
        masked("echo hunter2x | sudo -S true\n", "hunter2x", "password"),
        masked("postgres://ann:s3cretpw@db/x \n", "s3cretpw", "password"),
        Just((key.to_owned(), key_stored.to_owned())),
    ]
}

proptest! {
    #[test]
    fn pieces_are_stored_as_the_whole_is(
        stretches in prop::collection::vec(stretch(), 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let text: String = stretches.iter().map(|(text, _)| text.as_str()).collect();
        let stored: String = stretches.iter().map(|(_, stored)| stored.as_str()).collect();
        let mut ends: Vec<usize> = cuts
            .iter()
            .map(|cut| text.floor_char_boundary(cut.index(text.len() + 1)))
            .collect();
        ends.extend([0, text.len()]);
        ends.sort_unstable();
        let pieces: Vec<&str> = ends.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        prop_assert_eq!(stored_live(&pieces), stored, "{:?}", pieces);
    }
}

fn event(value: serde_json::Value) -> ChatEvent {
    ChatEvent::from_json(&value.to_string()).expect("an event")
}

fn output(id: &str, chunk: &str) -> ChatEvent {
    event(
        json!({"id": id, "timestamp": 1, "sessionId": "s", "type": "tool_output_chunk", "turnId": "t",
        "payload": {"toolCallId": "c", "chunk": chunk}}),
    )
}

fn texts(events: &[ChatEvent]) -> Vec<String> {
    let text = |event: &ChatEvent| match &event.payload {
        Payload::ToolOutputChunk(chunk) => chunk.chunk.clone(),
        Payload::ToolInputChunk(chunk) => chunk.chunk.clone(),
        Payload::AssistantChunk(chunk) => chunk.text.clone(),
        other => other.event_type().to_owned(),
    };
    events.iter().map(text).collect()
}

#[test]
fn what_was_held_back_is_told_before_its_end_and_once() {
    let mut masker = LiveMasker::new();
    assert_eq!(
        texts(&masker.push(output("a", "Continue? [y/N]"))),
        ["Continue? "]
    );
    assert!(masker.holds());
    let result = json!({"id": "r", "timestamp": 1, "sessionId": "s", "type": "tool_result", "turnId": "t",
        "payload": {"toolCallId": "c", "result": "no"}});
    let told = masker.push(event(result));
    assert_eq!(texts(&told), ["[y/N]", "tool_result"]);
    assert_eq!(told[0].id, "a:rest");
    assert!(!masker.holds() && masker.finish().is_empty());
}

#[test]
fn an_answer_that_is_told_whole_is_not_told_twice() {
    let mut masker = LiveMasker::new();
    let said = |kind: &str, text: &str| {
        event(
            json!({"id": text, "timestamp": 1, "sessionId": "s", "type": kind, "turnId": "t", "responseId": "r",
            "payload": {"text": text}}),
        )
    };
    assert_eq!(
        texts(&masker.push(said("assistant_chunk", "It is don"))),
        ["It is "]
    );
    assert_eq!(
        texts(&masker.push(said("assistant_done", "It is done"))),
        ["assistant_done"]
    );
    assert!(!masker.holds());
}

#[test]
fn what_waits_long_is_told_and_goes_on_where_it_was() {
    let mut masker = LiveMasker::new();
    masker.push(output("a", "DB_PASSWORD=Tr0ub"));
    let told: String = texts(&masker.pause(0)).concat();
    assert_eq!(told, "[masked: cut word]");
    let rest: String = texts(&masker.push(output("b", "4dor&3 done\nContin"))).concat();
    assert_eq!(rest, " done\n");
    assert_eq!(texts(&masker.pause(0)).concat(), "Contin");
    assert!(masker.pause(0).is_empty(), "it is told once");
    assert_eq!(
        texts(&masker.push(output("c", "ue? [y/N]"))).concat(),
        "ue? "
    );
    assert_eq!(texts(&masker.pause(0)).concat(), "[y/N]");
}

#[test]
fn a_text_that_goes_on_after_a_restart_has_no_halves() {
    let mut masker = LiveMasker::new();
    masker.resume(&output("a", "the key is "));
    // Some of it had come before, and was held back.
    let text = format!("{} and more words \n", &TOKEN[12..]);
    let told = texts(&masker.push(output("b", &text))).concat();
    assert_eq!(told, "[masked: cut word] and more words \n");
}

#[test]
fn pieces_out_of_their_order_have_no_halves() {
    let mut masker = LiveMasker::new();
    let piece = |index: u64, text: &str| {
        event(
            json!({"id": format!("e{index}"), "timestamp": 1, "sessionId": "s", "type": "assistant_chunk", "turnId": "t",
            "responseId": "r", "payload": {"text": text, "index": index}}),
        )
    };
    let (first, second) = TOKEN.split_at(12);
    let mut told = texts(&masker.push(piece(0, "It is ")));
    told.extend(texts(
        &masker.push(piece(2, &format!("{second} as it says"))),
    ));
    told.extend(texts(&masker.push(piece(1, first))));
    told.extend(texts(&masker.finish()));
    let told = told.concat();
    assert!(
        !told.contains(&second[..4]) && !told.contains(first),
        "{told}"
    );
    assert!(told.contains(" as it "), "{told}");
}

fn said(index: u64, text: &str) -> ChatEvent {
    event(
        json!({"id": format!("e{index}"), "timestamp": 1, "sessionId": "s", "type": "assistant_chunk", "turnId": "t",
        "responseId": "r", "payload": {"text": text, "index": index}}),
    )
}

fn input(offset: u64, chunk: &str) -> ChatEvent {
    event(
        json!({"id": format!("i{offset}"), "timestamp": 1, "sessionId": "s", "type": "tool_input_chunk", "turnId": "t",
        "payload": {"toolCallId": "c", "chunk": chunk, "offset": offset}}),
    )
}

/// A text in pieces of so many characters.
fn by(n_chars: usize, text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(n_chars)
        .map(|piece| piece.iter().collect())
        .collect()
}

#[test]
fn no_half_comes_in_small_pieces_behind_what_is_lost() {
    for n_chars in [1, 3, 4, 6] {
        let mut masker = LiveMasker::new();
        masker.resume(&output("a", "the key is "));
        let mut told = String::new();
        for piece in by(n_chars, &format!("{} and more \n", &TOKEN[4..])) {
            told += &texts(&masker.push(output("b", &piece))).concat();
        }
        assert_eq!(told, "[masked: cut word] and more \n", "by {n_chars}");
        // A number is missing, and all that follows has its own.
        let mut masker = LiveMasker::new();
        let mut told = texts(&masker.push(said(0, "It is "))).concat();
        let text = format!("{} and more of it \n", &TOKEN[4..]);
        for (index, piece) in (2..).zip(by(n_chars, &text)) {
            told += &texts(&masker.push(said(index, &piece))).concat();
        }
        assert_eq!(
            told, "It is [masked: cut word] and more of it \n",
            "by {n_chars}"
        );
    }
    // Behind a pause and a restart.
    let mut masker = LiveMasker::new();
    let mut stored = masker.push(output("a", "x DB_PASSWORD=Tr0ub"));
    stored.extend(masker.pause(0));
    let mut masker = LiveMasker::new();
    stored.iter().for_each(|event| masker.resume(event));
    let told = texts(&masker.push(output("b", "4dor-and-3 x\n"))).concat();
    assert_eq!(told, "[masked: cut word] x\n");
    // A hole in what a tool is given.
    let mut masker = LiveMasker::new();
    masker.push(input(0, "{\"x\": \"token ghp_16C7e42F"));
    let told = texts(&masker.push(input(38, "710c838347Ae178B4a x "))).concat();
    assert!(!told.contains("710c") && told.ends_with(" x "), "{told}");
}

#[test]
fn what_goes_on_behind_an_end_is_still_one_text() {
    let ends = |kind: &str| {
        event(
            json!({"id": kind, "timestamp": 1, "sessionId": "s", "type": kind, "turnId": "t",
            "payload": {"code": "x", "message": "x", "reason": "x"}}),
        )
    };
    for kind in ["error", "turn_end", "interrupt"] {
        let mut masker = LiveMasker::new();
        let mut told = texts(&masker.push(output("a", "export DB_PASSWORD=Tr0"))).concat();
        masker.push(ends(kind));
        told += &texts(&masker.push(output("b", "ub4dor-and-3 ok\n"))).concat();
        assert_eq!(told, "export DB_PASSWORD=[masked: password] ok\n", "{kind}");
        let mut masker = LiveMasker::new();
        masker.push(said(0, "see ghp_16C7e4"));
        masker.push(ends(kind));
        let told = texts(&masker.push(said(1, "2F292c6912E7710c838347Ae178B4a ok\n"))).concat();
        assert!(
            told.ends_with("[masked: github token] ok\n"),
            "{kind}: {told}"
        );
    }
}

#[test]
fn what_is_told_by_what_follows_waits_also_in_json() {
    let kube = "apiVersion: v1\ndata:\n  db: VHIwdWI0ZG9yLWFuZC0z\nkind: Secret\nmetadata:\n";
    let listed = "- apiVersion: v1\n  data:\n    db: VHIwdWI0ZG9yLWFuZC0z\n  kind: Secret\n";
    let phrase = "my seed phrase:\nabandon ability able about above absent absorb abstract absurd abuse access accident\nbye\n";
    let quoted = "export DB_PASSWORD=\"correct horse battery staple\"\n";
    let attribute = "<add key=\"Db.Password\" value = \"correct horse battery staple\" />\n";
    let long = format!(
        "curl -X POST x.test -d '{{{}}}' -u ann:hunter2x -o out.txt\n",
        "\"a\": 1, ".repeat(150)
    );
    let texts_and_secrets: [(&str, &[&str]); 6] = [
        (kube, &["VHIwdWI0"]),
        (listed, &["VHIwdWI0"]),
        (phrase, &["abandon", "accident"]),
        (quoted, &["correct", "horse"]),
        (attribute, &["correct", "horse", "staple"]),
        (&long, &["hunter2x"]),
    ];
    for (text, secrets) in texts_and_secrets {
        let in_json = json!({"content": text}).to_string();
        for text in [text, &in_json] {
            for n_chars in [1, 3, 7, 20, 90] {
                let mut masker = LiveMasker::new();
                let mut told = String::new();
                for (nth, piece) in by(n_chars, text).iter().enumerate() {
                    told += &texts(&masker.push(output(&nth.to_string(), piece))).concat();
                }
                told += &texts(&masker.finish()).concat();
                for secret in secrets {
                    assert!(!told.contains(secret), "by {n_chars}: {told}");
                }
            }
        }
    }
}

#[test]
fn scripts_without_spaces_are_told_on_and_cost_the_same_throughout() {
    let mut masker = LiveMasker::new();
    let mut told = texts(&masker.push(output("a", "版本是2"))).concat();
    told += &texts(&masker.pause(0)).concat();
    told += &texts(&masker.push(output("b", ".0,这是一个很长的句子。"))).concat();
    assert_eq!(told, "版本是[masked: cut word]这是一个很长的句子。");
}

#[test]
fn words_behind_data_are_told_as_others_are() {
    let mut masker = LiveMasker::new();
    let text = "Here is the data:\n\nThe quick brown fox jumps ";
    assert_eq!(texts(&masker.push(output("a", text))).concat(), text);
}

#[test]
fn what_says_nothing_takes_nothing_away() {
    let mut masker = LiveMasker::new();
    masker.push(said(0, "It is don"));
    let done = json!({"id": "d", "timestamp": 1, "sessionId": "s", "type": "assistant_done", "turnId": "t", "responseId": "r",
        "payload": {"text": ""}});
    masker.push(event(done));
    assert_eq!(texts(&masker.finish()).concat(), "don");
}

#[test]
fn numbers_may_be_as_large_as_they_like() {
    let mut masker = LiveMasker::new();
    for index in [u64::MAX, u64::MAX, 0] {
        let piece = json!({"id": "e", "timestamp": 1, "sessionId": "s", "type": "thinking_chunk", "turnId": "t",
            "responseId": "r", "payload": {"text": "so ", "index": index}});
        assert_eq!(masker.push(event(piece)).len(), 1);
        let piece = json!({"id": "e", "timestamp": 1, "sessionId": "s", "type": "tool_input_chunk", "turnId": "t",
            "payload": {"toolCallId": "c", "chunk": "so ", "offset": index}});
        assert_eq!(masker.push(event(piece)).len(), 1);
    }
}

#[test]
fn secrets_stand_in_no_string_of_an_event_and_ids_stay_apart() {
    let other = TOKEN.replace("16C7", "26C7");
    let call = |id: &str| {
        event(
            json!({"id": id, "timestamp": 1, "sessionId": "s", "type": "tool_call", "turnId": "t", "later": {TOKEN: [TOKEN]},
            "payload": {"toolCallId": id, "toolName": "Bash", "args": {"command": format!("curl -u ann:hunter2x {TOKEN}"), "password": 123_456}}}),
        )
    };
    let mut masker = LiveMasker::new();
    let mut masked = |id: &str| masker.push(call(id)).pop().expect("the event");
    let (one, two) = (masked(TOKEN), masked(&other));
    let line = one.to_line();
    for secret in [TOKEN, "hunter2x", "123456"] {
        assert!(!line.contains(secret), "{secret} in {line}");
    }
    assert!(one.id.starts_with("masked-github-token-"), "{}", one.id);
    assert_ne!(one.id, two.id);
    assert_eq!(masker.id(TOKEN), Some(one.id));
    assert_eq!(masker.id("e1"), None);
    assert_eq!(one.session_id, "s");
}

#[test]
fn what_is_not_stored_comes_again_as_if_it_had_not() {
    let mut masker = LiveMasker::new();
    masker.push(output("a", "see sec"));
    let place = masker.place();
    let result =
        json!({"id": "r", "timestamp": 1, "sessionId": "s", "type": "session_end", "payload": {}});
    assert_eq!(
        texts(&masker.push(event(result.clone()))),
        ["sec", "session_end"]
    );
    masker.go_back(place);
    assert_eq!(texts(&masker.push(event(result))), ["sec", "session_end"]);
}

#[test]
fn each_text_waits_for_itself() {
    let mut masker = LiveMasker::new();
    masker.push(output("a", "Continue?"));
    assert!(!masker.look(1), "it came just now");
    let other = json!({"id": "b", "timestamp": 1, "sessionId": "s", "type": "thinking_chunk", "turnId": "t", "payload": {"text": "Hm"}});
    masker.push(event(other));
    assert!(masker.look(1), "that another goes on is nothing to it");
    assert_eq!(texts(&masker.pause(2)), ["Continue?"]);
}

#[test]
fn an_answer_that_was_masked_is_not_repeated_after_a_restart() {
    let asks = event(
        json!({"id": "q", "timestamp": 1, "sessionId": "s", "type": "question_request",
        "payload": {"requestId": "r", "toolCallId": "c", "questions": [{"id": "a", "text": "Which?", "options": [], "secret": true}]}}),
    );
    let says = event(
        json!({"id": "q2", "timestamp": 1, "sessionId": "s", "type": "question_resolved",
        "payload": {"requestId": "r", "outcome": "answered", "answers": [["correct horse"]]}}),
    );
    let mut masker = LiveMasker::new();
    let stored = [asks, says]
        .into_iter()
        .flat_map(|event| masker.push(event));
    let stored: Vec<ChatEvent> = stored.collect();
    let mut masker = LiveMasker::new();
    stored.iter().for_each(|event| masker.resume(event));
    let repeats = event(
        json!({"id": "t", "timestamp": 1, "sessionId": "s", "type": "tool_result",
        "payload": {"toolCallId": "c", "result": "The user said: correct horse"}}),
    );
    let line = masker.push(repeats).pop().expect("the event").to_line();
    assert!(
        !line.contains("horse") && line.contains(r#""result":"[masked: secret answer]""#),
        "{line}"
    );
}

#[test]
fn a_secret_is_known_again_where_nothing_tells_it() {
    let mut masker = LiveMasker::new();
    masker.push(output("a", "export DB_PASSWORD=Tr0ub4dor-and-3\n"));
    let again = texts(&masker.push(output("b", "it was Tr0ub4dor-and-3, then\n"))).concat();
    assert_eq!(again, "it was [masked: password], then\n");
    let masked: Vec<_> = masker.take_masked().into_iter().collect();
    assert_eq!(masked, [("password", 2)]);
    assert!(masker.take_masked().is_empty());
}

#[test]
fn what_was_masked_before_is_told_at_once() {
    let mut masker = LiveMasker::new();
    let text = "It is [masked: github token]";
    assert_eq!(texts(&masker.push(output("a", text))).concat(), text);
}

#[test]
fn names_and_addresses_of_people_stay() {
    let mut masker = LiveMasker::new();
    let text = "/home/ann/x of ann@example.org at 192.0.2.7\n";
    assert_eq!(texts(&masker.push(output("a", text))).concat(), text);
}

#[test]
fn a_word_without_an_end_is_not_held_for_ever() {
    let mut masker = LiveMasker::new();
    let mut told = 0;
    for nth in 0..200 {
        let piece = "abcdefghij".repeat(10);
        told += texts(&masker.push(output(&nth.to_string(), &piece)))
            .concat()
            .len();
    }
    assert!(told > 15_000, "{told} of 20,000 bytes");
    told += texts(&masker.finish()).concat().len();
    assert_eq!(told, 20_000);
    // Of a token that goes on and on, nothing is told.
    let mut masker = LiveMasker::new();
    let mut told = texts(&masker.push(output(
        "a",
        "see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
    )))
    .concat();
    for nth in 0..600 {
        let piece = format!("{:x}Zq", nth * 2_654_435_761_u64).repeat(8);
        told += &texts(&masker.push(output(&nth.to_string(), &piece))).concat();
    }
    told += &texts(&masker.push(output("z", " end\n"))).concat();
    let is_told = &told[..told.len().min(200)];
    assert_eq!(is_told, "see [masked: json web token] end\n");
}
