//! Which dialect each recording and fixture is told to be: a new dialect must not take the files of another.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::shared;
use chat_event::Payload;
use chat_normalize::{AT_REST, Context, Detection, SessionReader, detect};

/// Folders of recordings and fixtures, and the dialects that their files are told to be. Files in them that are no
/// session (what is beside it: times, requests of the other side, the database's answers) are told to be none.
const TABLE: &[(&str, &[&str])] = &[
    ("fixtures/acp", &["acp"]),
    ("fixtures/ag-ui", &["ag-ui"]),
    ("fixtures/anthropic-sse", &["anthropic-messages"]),
    ("fixtures/claude-stream-json", &["claude-stream"]),
    ("fixtures/claude-transcript", &["claude-transcript"]),
    ("fixtures/codex-app-server", &["codex-app-server"]),
    ("fixtures/codex-exec", &["codex-exec"]),
    ("fixtures/codex-rollout", &["codex-rollout"]),
    ("fixtures/gemini-session", &["gemini-chat"]),
    ("fixtures/gemini-stream-json", &["gemini-stream"]),
    // A true dialect of Claude Code's, and of one program more that is not read.
    (
        "fixtures/other",
        &[
            "claude-transcript",
            "copilot",
            "droid-stream",
            "kimi",
            "qwen-chat",
        ],
    ),
    ("fixtures/openai-chat", &["openai-chat"]),
    ("fixtures/openai-responses", &["openai-responses"]),
    ("fixtures/opencode-events", &["opencode-events"]),
    ("fixtures/opencode-export", &["opencode-export"]),
    // Two of its files are what its imitation of OpenCode's server answers.
    (
        "fixtures/sandbox-agent",
        &["opencode-events", "opencode-export", "sandbox-agent"],
    ),
    ("fixtures/openhands", &["openhands"]),
    ("fixtures/swe-agent", &["swe-agent"]),
    ("recordings/acp-claude", &["acp"]),
    ("recordings/acp-opencode", &["acp"]),
    (
        "recordings/claude-code",
        &["claude-hooks", "claude-stream", "claude-transcript"],
    ),
    (
        "recordings/claude-code-1.0.128",
        &["claude-stream", "claude-transcript"],
    ),
    (
        "recordings/claude-code-2.1.197",
        &["claude-hooks", "claude-stream", "claude-transcript"],
    ),
    (
        "recordings/codex",
        &["codex-app-server", "codex-exec", "codex-rollout"],
    ),
    (
        "recordings/codex-0.77.0",
        &["codex-app-server", "codex-exec", "codex-rollout"],
    ),
    ("recordings/gemini-cli", &["gemini-chat", "gemini-stream"]),
    (
        "recordings/opencode",
        &["opencode-events", "opencode-export", "opencode-run"],
    ),
    ("recordings/pi", &["pi-json", "pi-session"]),
];

/// What the files of each folder are told to be.
fn told() -> BTreeMap<String, BTreeMap<&'static str, BTreeSet<String>>> {
    let mut told: BTreeMap<_, BTreeMap<_, BTreeSet<String>>> = BTreeMap::new();
    for kind in ["fixtures", "recordings"] {
        let Some(root) = shared(kind) else { continue };
        for folder in std::fs::read_dir(root).unwrap() {
            let folder = folder.unwrap().path();
            if !folder.is_dir() {
                continue;
            }
            let folder_name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let folder_name = format!("{kind}/{folder_name}");
            for path in files(&folder) {
                let bytes = std::fs::read(&path).unwrap();
                let word = match detect(&bytes, true) {
                    Detection::Found(dialect) => dialect.word(),
                    Detection::NeedMore | Detection::None(_) => "none",
                };
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let of_folder = told.entry(folder_name.clone()).or_default();
                of_folder.entry(word).or_default().insert(name);
            }
        }
    }
    told
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn what_is_read_by_no_dialect_is_named_by_its_first_line() {
    let unread = [("cursor-large", "a JSON object with \"role\", \"message\"")];
    for source in crate::support::sources("fixtures/other", |_| true) {
        let row = unread.iter().find(|(name, _)| source.name.contains(name));
        match (row, detect(&source.bytes, true)) {
            (Some((_, found)), Detection::None(why)) => {
                assert_eq!(
                    (why.line, why.found.as_str()),
                    (1, *found),
                    "{}",
                    source.name
                );
            }
            (None, Detection::Found(_)) => {}
            (_, other) => assert_eq!(None, Some(other), "{}", source.name),
        }
    }
}

#[test]
fn no_dialect_takes_the_files_of_another() {
    let mut wrong = Vec::new();
    for (folder, words) in told() {
        let row = TABLE.iter().find(|(name, _)| *name == folder);
        for (word, files) in &words {
            let fits = match row {
                Some((_, known)) => *word == "none" || known.contains(word),
                // What is read by nothing yet, or by a dialect that has no row: not by one that has rows of its own.
                None => !TABLE.iter().any(|(_, known)| known.contains(word)),
            };
            if !fits {
                wrong.push(format!("{folder}: {files:?} are told to be {word}"));
            }
        }
        let known = row.map_or(&[][..], |(_, known)| known);
        let missing = known.iter().filter(|word| !words.contains_key(*word));
        wrong.extend(missing.map(|word| format!("{folder}: nothing is told to be {word}")));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What lies at rest arrived at no time: all times are those that the source says.
#[test]
fn what_lies_at_rest_took_no_longer_than_the_source_says() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let years = 1_577_836_800_000..2_240_524_800_000_i64;
    for kind in ["fixtures", "recordings"] {
        let Some(root) = shared(kind) else { continue };
        for path in files(&root) {
            let bytes = std::fs::read(&path).unwrap();
            if bytes.len() > 1 << 20 {
                continue;
            }
            let mut reader = SessionReader::new(Context::default());
            let mut events = Vec::new();
            let _ = reader.push(&bytes, AT_REST, &mut events);
            let _ = reader.finish(AT_REST, &mut events);
            for event in events {
                let said = event.timestamp.is_none_or(|said| years.contains(&said));
                let took = match &event.payload {
                    Payload::ToolResult(result) => result.duration_ms,
                    Payload::TurnEnd(end) => end.duration_ms,
                    _ => None,
                };
                let fits = said && took.is_none_or(|took| took < 365 * DAY_MS);
                assert!(fits, "{}: {} {took:?}", path.display(), event.to_line());
            }
        }
    }
}

#[test]
fn a_web_page_is_said_to_be_one() {
    let page = b"<!DOCTYPE html>\n<html lang=\"en\">\n";
    let Detection::None(why) = detect(page, true) else {
        panic!("it is no session");
    };
    assert!(why.place().contains("a web page"), "{why}");
}

/// A source that is read to its end goes on no more, wherever that is.
#[test]
fn what_is_read_to_its_end_is_over_and_rests() {
    for kind in ["fixtures", "recordings"] {
        let Some(root) = shared(kind) else { continue };
        for path in files(&root) {
            let bytes = std::fs::read(&path).unwrap();
            if bytes.len() > 1 << 18 {
                continue;
            }
            for n_bytes in [bytes.len(), bytes.len() * 2 / 3] {
                let read = crate::support::read(&bytes[..n_bytes]);
                if read.verdict.is_err() {
                    continue;
                }
                let told = format!("{}, {n_bytes} bytes", path.display());
                let (mut works, mut over) = (false, read.events.is_empty());
                for event in &read.events {
                    match &event.payload {
                        Payload::SessionStatus(status) => works = status.status != "idle",
                        Payload::TurnStart(_) => over = false,
                        Payload::SessionEnd(_) => over = true,
                        _ => {}
                    }
                }
                assert!(!works, "{told}: it works");
                assert!(over, "{told}: it goes on");
            }
        }
    }
}

#[test]
fn a_list_or_what_is_nested_too_deep_is_no_broken_json() {
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    let within = format!(r#"{{"a":{deep}}}"#);
    for (line, what) in [
        ("[]", "an empty JSON array"),
        ("[1,2]", "a JSON array"),
        ("[[]]", "a JSON array"),
        (&deep, "JSON that is nested deeper than 127"),
        (&within, "JSON that is nested deeper than 127"),
        (r#"{"a" 1}"#, "broken JSON"),
    ] {
        let Detection::None(why) = detect(format!("{line}\n").as_bytes(), true) else {
            panic!("{line} is a session");
        };
        assert_eq!((why.line, why.found.as_str()), (1, what), "{line}");
    }
}
