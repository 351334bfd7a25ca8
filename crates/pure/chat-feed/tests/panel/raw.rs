//! The events of a row as they were written.

use super::*;

#[test]
fn a_row_has_the_json_of_its_events() {
    let (events, renderer) = session(&[
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Bash", "args": {"command": "ls", "n": 1.50}, "turnId": "t"}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "a", "result": "x", "exitCode": 0, "turnId": "t"}),
        ),
    ]);
    let feed = renderer.feed();
    let call = feed
        .rows()
        .find(|block| matches!(block.body, BlockBody::ToolCall(_)))
        .unwrap();
    let raw = raw_events(feed, call.id);
    assert_eq!(raw.len(), 2);
    for (raw, event) in raw.iter().zip(&events) {
        let told: Value = serde_json::from_str(&raw.text).unwrap();
        let came: Value = serde_json::from_str(&event.to_line()).unwrap();
        for field in ["id", "timestamp", "type", "turnId", "sessionId"] {
            assert_eq!(told[field], came[field], "{field}");
        }
        for (name, value) in came["payload"].as_object().unwrap() {
            assert_eq!(&told["payload"][name], value, "{name}");
        }
    }
}

#[test]
fn a_paragraph_has_the_event_with_all_of_the_answer() {
    let text = "Without telemetry: ~15 ms.\n\n1. Added `runtime/trace`\n\nDone.";
    let done = json!({"text": text, "turnId": "t", "responseId": "r"});
    let (_, renderer) = session(&[("assistant_done", done)]);
    let feed = renderer.feed();
    let rows: Vec<BlockId> = feed.rows().map(|block| block.id).collect();
    assert!(rows.len() > 2, "{rows:?}");
    for id in feed
        .rows()
        .filter(|block| matches!(block.body, BlockBody::Text(_)))
    {
        let raw = raw_events(feed, id.id);
        let told: Value = serde_json::from_str(&raw[0].text).unwrap();
        assert_eq!(told["payload"]["text"], text);
    }
}

#[test]
fn a_line_that_could_not_be_read_has_what_stands_there() {
    let found = "{\"type\":\"x\",\"text\":\"half\u{1b}";
    let notice = json!({"level": "warning", "text": "Line 3 could not be read: it ends in the middle of a text",
        "source": "reader", "line": 3, "found": found});
    let long = json!({"level": "warning", "text": "Line 4 could not be read: it is not JSON", "source": "reader",
        "line": 4, "found": "é".repeat(5000)});
    let (_, renderer) = session(&[("notice", notice.clone()), ("notice", long)]);
    let feed = renderer.feed();
    let rows: Vec<BlockId> = feed.rows().map(|block| block.id).collect();
    let told = |row: BlockId| -> Value {
        let told: Value = serde_json::from_str(&raw_events(feed, row)[0].text).unwrap();
        told["payload"].clone()
    };
    assert_eq!(told(rows[0]), notice);
    assert_eq!(told(rows[1])["found"].as_str().unwrap().len(), 4096);
    let copied = chat_feed::row_text(feed, rows[0], &mut |_, _| None).unwrap();
    assert!(copied.contains(r#"{"type":"x","text":"half"#), "{copied}");
}
