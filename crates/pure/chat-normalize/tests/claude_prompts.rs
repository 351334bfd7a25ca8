//! What a person said to Claude Code, and what the program put beside it.

use crate::support::{assert_sound, read_lines};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn said(kind: &str, uuid: &str, content: Value) -> Value {
    json!({"type": kind, "uuid": uuid, "sessionId": "s1", "version": "2.1.29", "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"id": format!("m-{uuid}"), "role": kind, "content": content}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// What was said, each with its turn.
fn words(dialect: Dialect, lines: &[Value]) -> Vec<String> {
    let read = read_lines(dialect, lines);
    assert_sound("a session", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report);
    let line = |event: &ChatEvent| {
        let words = match &event.payload {
            Payload::UserMessage(message) => {
                let attached = message.attachments.as_ref();
                let attached = attached.map_or(0, |json| json.to_value().as_array().unwrap().len());
                let by = event.extra.get("from").map_or("", |_| " from the program");
                let attached = if attached == 0 {
                    String::new()
                } else {
                    format!(" [{attached} attached{by}]")
                };
                format!("> {}{attached}", message.text.preview())
            }
            Payload::AssistantDone(done) => format!("= {}", done.text),
            Payload::Notice(notice) => format!("({})", notice.text),
            _ => return None,
        };
        let turn = event.turn_id.as_deref().unwrap_or("no turn");
        Some(format!("{turn}: {words}"))
    };
    read.events.iter().filter_map(line).collect()
}

#[test]
fn what_a_person_quotes_is_not_cut_out_of_the_prompt() {
    let quoted = "Why does it say\n\n<system-reminder>be kind</system-reminder>\n\nhere, and not <command-name>/x</command-name>?";
    let reminder = "<system-reminder>be brief</system-reminder>";
    let told = words(
        Dialect::ClaudeTranscript,
        &[
            said("user", "u1", json!(quoted)),
            said("assistant", "a1", json!([text("Because.")])),
            said(
                "user",
                "u2",
                json!([text("Look"), text(reminder), text(quoted)]),
            ),
        ],
    );
    assert_eq!(
        told,
        [
            format!("u1: > {quoted}"),
            "u1: = Because.".to_owned(),
            "u2: (be brief)".to_owned(),
            format!("u2: > Look\n\n{quoted}"),
        ]
    );
}

#[test]
fn what_the_program_says_beside_a_prompt_is_told_in_its_turn() {
    let opened = "<ide_opened_file>The user opened /w/a</ide_opened_file>";
    let selected = "<ide_selection>line 1</ide_selection>";
    let told = words(
        Dialect::ClaudeTranscript,
        &[
            said("user", "u1", json!([text(opened), text("Go")])),
            said("assistant", "a1", json!([text("Done.")])),
            said("user", "u2", json!(format!("{selected}\n\nGo on"))),
            said("assistant", "a2", json!([text("Done again.")])),
            said(
                "user",
                "u3",
                json!([
                    text(opened),
                    text("<command-name>/review</command-name><command-args></command-args>")
                ]),
            ),
            // Without a prompt it is told where it stands.
            said("user", "u4", json!(selected)),
        ],
    );
    assert_eq!(
        told,
        [
            "u1: (The user opened /w/a)",
            "u1: > Go",
            "u1: = Done.",
            "u2: (line 1)",
            "u2: > Go on",
            "u2: = Done again.",
            "u3: > /review",
            "u3: (The user opened /w/a)",
            "u3: (line 1)",
        ]
    );
}

fn document(data: &str) -> Value {
    json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}})
}

#[test]
fn what_the_program_attaches_is_kept_and_no_notice_is_empty() {
    let by_program = |mark: &str, uuid: &str, content: Value| {
        let mut line = said("user", uuid, content);
        line[mark] = json!(true);
        line
    };
    for (dialect, mark) in [
        (Dialect::ClaudeTranscript, "isMeta"),
        (Dialect::ClaudeStream, "isSynthetic"),
    ] {
        let init = json!({"type": "system", "subtype": "init", "session_id": "s1", "uuid": "u1", "model": "m",
            "cwd": "/w", "claude_code_version": "2.1.29"});
        let begins = match dialect {
            Dialect::ClaudeStream => init,
            _ => said("user", "u1", json!("Read it")),
        };
        let mut told = words(
            dialect,
            &[
                begins,
                by_program(mark, "m1", json!([document("AA==")])),
                by_program(
                    mark,
                    "m2",
                    json!([text("Two pages"), document("AA=="), document("AB==")]),
                ),
                by_program(mark, "m3", json!([text("")])),
            ],
        );
        told.retain(|line| !line.ends_with("Read it"));
        let wanted = [
            "> [1 attached from the program]",
            "(Two pages)",
            "> [2 attached from the program]",
        ];
        let told: Vec<String> = told
            .iter()
            .map(|line| line.split_once(": ").unwrap().1.replace("  ", " "))
            .collect();
        assert_eq!(told, wanted, "{dialect:?}");
    }
}

#[test]
fn what_is_attached_to_a_prompt_stands_beside_its_first_words_alone() {
    let command = "<command-name>/review</command-name>\n<command-args>it</command-args>";
    let content = json!([text(command), text("With care"), document("AA==")]);
    let mut replay = said("user", "u1", content);
    replay["isReplay"] = json!(true);
    for (dialect, line) in [
        (Dialect::ClaudeTranscript, replay.clone()),
        (Dialect::ClaudeStream, replay),
    ] {
        assert_eq!(
            words(dialect, &[line]),
            ["u1: > /review it [1 attached]", "u1: > With care"],
            "{dialect:?}"
        );
    }
}

#[test]
fn what_stands_beside_a_replayed_prompt_is_of_the_turn_that_it_opens() {
    let reminder = text("<system-reminder>Mind the tests</system-reminder>");
    for content in [
        json!([reminder, text("Fix it")]),
        json!([text("Fix it"), reminder]),
    ] {
        let mut replay = said("user", "u1", content);
        replay["isReplay"] = json!(true);
        let events = read_lines(Dialect::ClaudeStream, &[replay]).events;
        let turns: Vec<_> = events
            .iter()
            .filter(|event| matches!(event.event_type(), "notice" | "user_message"))
            .map(|event| event.turn_id.as_deref())
            .collect();
        assert_eq!(turns, [Some("u1"); 2]);
    }
}

#[test]
fn what_other_agents_say_is_no_person_s() {
    let message = "<teammate-message teammate_id=\"pm\" color=\"blue\">\nIdle\n</teammate-message>";
    let mut peer = said(
        "user",
        "u1",
        json!(format!("Another Claude session sent a message:\n{message}")),
    );
    peer["origin"] = json!({"kind": "peer", "from": "helper"});
    let told = words(
        Dialect::ClaudeTranscript,
        &[
            peer,
            said("assistant", "a1", json!([text("Noted.")])),
            said("user", "u2", json!(format!("{message}\n\nGo on"))),
        ],
    );
    assert!(
        told.iter().all(|line| !line.contains("> Another")),
        "{told:?}"
    );
    assert!(told.contains(&"u2: (pm: Idle)".to_owned()), "{told:?}");
    assert!(told.contains(&"u2: > Go on".to_owned()), "{told:?}");
}

#[test]
fn a_picture_alone_is_a_prompt_whatever_stands_beside_it() {
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let opened = text("<ide_opened_file>The user opened a.rs</ide_opened_file>");
    let told = words(
        Dialect::ClaudeTranscript,
        &[said("user", "u1", json!([opened, picture]))],
    );
    assert!(
        told.iter().any(|line| line == "u1: >  [1 attached]"),
        "{told:?}"
    );
}

#[test]
fn pictures_of_a_prompt_that_waited_stand_beside_its_words() {
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let waited = |uuid: &str, prompt: Value| {
        json!({"type": "attachment", "uuid": uuid, "parentUuid": "a1", "sessionId": "s1", "version": "2.1.101",
            "timestamp": "2026-01-01T00:00:01.000Z", "attachment": {"type": "queued_command", "prompt": prompt}})
    };
    let told = words(
        Dialect::ClaudeTranscript,
        &[
            said("user", "u1", json!("Go")),
            said("assistant", "a1", json!([text("On it.")])),
            waited("w1", json!([text("See this"), picture])),
            waited("w2", json!([picture])),
        ],
    );
    let beside: Vec<&str> = told
        .iter()
        .filter_map(|line| line.split_once("> ").map(|(_, said)| said))
        .collect();
    assert_eq!(beside, ["Go", "See this [1 attached]", " [1 attached]"]);
}

#[test]
fn what_a_document_of_text_says_is_its_text_and_no_address() {
    let sources = [
        json!({"type": "text", "media_type": "text/plain", "data": "All of it"}),
        json!({"type": "url", "url": "https://example.com/a.pdf"}),
        json!({"type": "file", "file_id": "file_1"}),
    ];
    let blocks: Vec<Value> = sources
        .iter()
        .map(|source| json!({"type": "document", "title": "a", "source": source}))
        .chain([text("Read it")])
        .collect();
    let line = said("user", "u1", json!(blocks));
    let events = read_lines(Dialect::ClaudeTranscript, &[line]).events;
    let attached = events.iter().find_map(|event| match &event.payload {
        Payload::UserMessage(message) => message.attachments.clone(),
        _ => None,
    });
    assert_eq!(
        attached.unwrap().to_value(),
        json!([
            {"name": "a", "mediaType": "text/plain", "text": "All of it"},
            {"name": "a", "mediaType": "application/octet-stream", "ref": "https://example.com/a.pdf"},
            {"name": "a", "mediaType": "application/octet-stream", "ref": "file_1"},
        ])
    );
}
