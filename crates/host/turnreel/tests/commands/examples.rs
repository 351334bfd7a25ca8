//! The example sessions: what they are made of, and that an empty folder begins with them.

use std::path::Path;

use crate::support::Server;
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, SessionReader};

/// The story it is made of, the session it becomes, and its title. What the agent was asked stands in the story.
const EXAMPLES: [(&str, &str, &str); 1] = [(
    "upload-retry",
    "example-upload-retry",
    "Example: fix an upload retry",
)];

/// 2026-11-20 10:00 UTC: the recordings say when each line came, not on which day.
const FIRST_MS: i64 = 1_795_168_800_000;

#[test]
#[ignore = "writes the examples anew from the recordings"]
fn make_examples() {
    for (story, session, title) in EXAMPLES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../tests/sessions")
            .join(story)
            .join("input.stream.jsonl");
        let times = std::fs::read_to_string(path.with_extension("jsonl.times")).unwrap();
        let input = std::fs::read_to_string(path).unwrap();
        let mut reader = SessionReader::new(Context {
            session_id: Some(session.to_owned()),
            ..Context::default()
        });
        let mut events = Vec::new();
        let mut now_ms = FIRST_MS;
        for (line, time) in input.split_inclusive('\n').zip(times.lines()) {
            now_ms = FIRST_MS + time.parse::<f64>().unwrap() as i64;
            reader.push(line.as_bytes(), now_ms, &mut events).unwrap();
        }
        reader.finish(now_ms, &mut events).unwrap();
        let mut log = String::new();
        for event in &mut events {
            if let Payload::SessionStart(start) = &mut event.payload {
                start.title = Some(title.to_owned());
            }
            log.push_str(&event.to_line());
            log.push('\n');
        }
        let out = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{story}.jsonl"));
        std::fs::write(out, log).unwrap();
    }
}

#[test]
fn an_empty_folder_begins_with_the_examples_and_another_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start_on(dir.path(), "127.0.0.1:0", &[]);
    let rows = server.get("/api/v1/sessions").1["sessions"].clone();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), EXAMPLES.len());
    for (row, (story, session, title)) in rows.iter().zip(EXAMPLES) {
        assert_eq!(row["id"], session);
        assert_eq!(row["title"], title);
        assert_eq!(row["sample"], true);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{story}.jsonl"));
        let log = std::fs::read_to_string(path).unwrap();
        let ids: Vec<String> = log
            .lines()
            .map(|line| ChatEvent::from_json(line).unwrap().id)
            .collect();
        let stored: Vec<String> = server
            .all(session, 1000)
            .into_iter()
            .map(|(_, id)| id)
            .collect();
        assert_eq!(stored, ids);
    }
    assert!(server.stop().success());
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &[]);
    assert_eq!(
        server.get("/api/v1/sessions").1["sessions"]
            .as_array()
            .unwrap()
            .len(),
        EXAMPLES.len()
    );
    let other = tempfile::tempdir().unwrap();
    let server = Server::start(other.path());
    assert_eq!(
        server.get("/api/v1/sessions").1["sessions"],
        serde_json::json!([])
    );
}
