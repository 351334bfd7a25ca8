//! Promises of what is copied of a row: its content, whole, and nothing of how it is shown.

use chat_event::{BodyRef, ChatEvent};
use chat_feed::{BlockBody, BlockId, ChatRenderer, Feed, answer_text, row_text};
use serde_json::{Value, json};

fn session(lines: &[(&str, Value)]) -> ChatRenderer {
    let mut renderer = ChatRenderer::new();
    for (nth, (event_type, payload)) in lines.iter().enumerate() {
        let line = json!({"id": format!("e{nth}"), "seq": nth + 1, "sessionId": "s", "timestamp": 1_000, "type": event_type, "turnId": "t", "responseId": "r", "payload": payload});
        renderer.render_event(&ChatEvent::from_json(&line.to_string()).unwrap());
    }
    renderer
}

fn row(feed: &Feed, wanted: fn(&BlockBody) -> bool) -> BlockId {
    feed.rows().find(|block| wanted(&block.body)).unwrap().id
}

fn copied(feed: &Feed, id: BlockId) -> String {
    row_text(feed, id, &mut |_, _| None).unwrap()
}

fn is_call(body: &BlockBody) -> bool {
    matches!(body, BlockBody::ToolCall(_))
}

fn is_text(body: &BlockBody) -> bool {
    matches!(body, BlockBody::Text(_))
}

#[test]
fn a_command_is_copied_with_all_that_it_printed() {
    let printed: String = (1..=533)
        .map(|nth| format!("\u{1b}[32mline\u{1b}[0m {nth}\n"))
        .collect();
    let renderer = session(&[
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Bash", "kind": "execute", "args": {"command": "seq 533"}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "a", "result": printed, "exitCode": 0}),
        ),
    ]);
    let text = copied(renderer.feed(), row(renderer.feed(), is_call));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 534);
    assert_eq!(
        [lines[0], lines[1], lines[533]],
        ["$ seq 533", "line 1", "line 533"]
    );
}

#[test]
fn a_command_that_failed_in_colours_is_copied_once() {
    let printed = "Exit code 3\n\u{1b}[31mred\u{1b}[0m \u{1b}[1;32mgreen\u{1b}[0m\noops";
    let renderer = session(&[
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Bash", "args": {"command": "paint"}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "a", "result": printed, "exitCode": 3, "error": {"code": "exit_code", "message": printed}}),
        ),
    ]);
    let text = copied(renderer.feed(), row(renderer.feed(), is_call));
    assert_eq!(text, "$ paint\nExit code 3\nred green\noops");
}

#[test]
fn nothing_is_copied_that_is_not_seen_or_that_a_terminal_obeys() {
    let bad = "ls\u{1b}[201~\rrm\u{202e} -rf\u{200b}\u{0} 👩\u{200d}💻\tx\u{9b}31m";
    let clean = "ls\nrm -rf 👩\u{200d}💻\tx";
    let call =
        |name: &str, args: Value| json!({"toolCallId": name, "toolName": name, "args": args});
    let renderer = session(&[
        ("user_message", json!({"text": bad})),
        ("assistant_done", json!({"text": bad})),
        ("tool_call", call("Read", json!({"file_path": "a"}))),
        ("tool_result", json!({"toolCallId": "Read", "result": bad})),
        ("tool_call", call("Bash", json!({"command": bad}))),
        ("tool_call", call("mcp", json!({"deep": {"text": bad}}))),
        (
            "permission_request",
            json!({"requestId": "p", "toolName": "Bash", "args": {"command": bad}}),
        ),
        (
            "question_request",
            json!({"requestId": "q", "questions": [{"id": "1", "text": bad, "options": []}]}),
        ),
        ("error", json!({"code": "x", "message": bad})),
        ("notice", json!({"level": "info", "text": bad})),
    ]);
    let feed = renderer.feed();
    let ids: Vec<BlockId> = feed.rows().map(|block| block.id).collect();
    let texts = ids
        .iter()
        .filter_map(|id| row_text(feed, *id, &mut |_, _| None));
    let texts: Vec<String> = texts.collect();
    for text in &texts {
        let is_bad = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!text.contains(is_bad), "{text:?}");
        assert!(!text.contains(['\u{202e}', '\u{200b}']), "{text:?}");
    }
    let n_clean = texts.iter().filter(|text| text.contains(clean)).count();
    assert!(n_clean >= 7, "{texts:#?}");
    let answer = row(feed, is_text);
    assert_eq!(answer_text(feed, answer).as_deref(), Some(clean));
}

#[test]
fn a_failure_is_copied_as_it_is_shown_without_the_tags_around_it() {
    let said = "<tool_use_error>File has not been read yet.</tool_use_error>";
    let renderer = session(&[
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Write", "args": {"file_path": "/a"}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "a", "result": said, "error": {"code": "tool_use_error", "message": said}}),
        ),
    ]);
    let text = copied(renderer.feed(), row(renderer.feed(), is_call));
    assert!(text.ends_with("\n\nFile has not been read yet."), "{text}");
    assert!(!text.contains("tool_use_error"), "{text}");
}

#[test]
fn answers_are_copied_below_their_questions_but_for_secret_ones() {
    let renderer = session(&[
        (
            "question_request",
            json!({"requestId": "q", "questions": [
                {"id": "a", "text": "Which colour?", "options": [{"label": "Blue"}]},
                {"id": "b", "text": "Which password?", "options": [], "secret": true},
            ]}),
        ),
        (
            "question_resolved",
            json!({"requestId": "q", "answers": [["Blue"], ["hunter2"]], "outcome": "answered"}),
        ),
    ]);
    let asks = |body: &BlockBody| matches!(body, BlockBody::Question(_));
    let text = copied(renderer.feed(), row(renderer.feed(), asks));
    assert_eq!(
        text,
        "Which colour?\n- Blue\n→ Blue\n\nWhich password?\n→ not shown"
    );
}

#[test]
fn a_command_of_words_or_by_another_name_is_copied_whole() {
    let long = format!("echo {}", "x".repeat(500));
    for args in [
        json!({"cmd": long}),
        json!({"command": ["bash", "-lc", long]}),
    ] {
        let renderer = session(&[
            (
                "tool_call",
                json!({"toolCallId": "a", "toolName": "shell", "kind": "execute", "args": args}),
            ),
            (
                "tool_result",
                json!({"toolCallId": "a", "result": "", "error": {"message": "not found"}}),
            ),
        ]);
        let text = copied(renderer.feed(), row(renderer.feed(), is_call));
        assert_eq!(text, format!("$ {long}\nnot found"));
    }
}

#[test]
fn what_stands_elsewhere_is_asked_for_and_else_said_to_be_cut() {
    let whole = "a long line of it\n".repeat(1_000);
    let body = BodyRef::to(&whole, "00".repeat(32));
    let renderer = session(&[
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Read", "kind": "read", "args": {"file_path": "a.txt"}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "a", "result": {"$body": body}}),
        ),
    ]);
    let feed = renderer.feed();
    let call = row(feed, is_call);
    let mut asked = Vec::new();
    let text = row_text(feed, call, &mut |event_id, body| {
        asked.push((event_id.to_owned(), body.sha256.clone()));
        Some(whole.clone())
    });
    assert_eq!(text.unwrap(), format!("Read a.txt\n\n{}", whole.trim_end()));
    assert_eq!(asked, [("e1".to_owned(), "00".repeat(32))]);
    assert!(copied(feed, call).ends_with("of 18000 bytes.]"));
}

#[test]
fn an_edit_is_copied_as_a_diff_with_its_signs_and_blank_lines() {
    let diff = "@@ -1,3 +1,3 @@\n fn a() {}\n \n-fn b() {}\n+fn c() {}\n";
    let edit = json!({"toolCallId": "a", "filePath": "/home/me/src/lib.rs", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiffAvailable": false, "fullDiffSize": diff.len()});
    let renderer = session(&[
        ("session_start", json!({"cwd": "/home/me"})),
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Edit", "kind": "edit", "args": {"file_path": "/home/me/src/lib.rs", "old_string": "fn b() {}"}}),
        ),
        ("file_edit", edit),
        ("tool_result", json!({"toolCallId": "a", "result": "done"})),
    ]);
    let feed = renderer.feed();
    let headed = format!("--- a/src/lib.rs\n+++ b/src/lib.rs\n{}", diff.trim_end());
    let edit = row(feed, |body| matches!(body, BlockBody::FileEdit(_)));
    assert_eq!(copied(feed, edit), headed);
    let call = copied(feed, row(feed, is_call));
    assert!(
        call.contains(&headed) && !call.contains("old_string"),
        "{call}"
    );
}

#[test]
fn a_row_of_an_answer_is_its_markdown_and_the_answer_all_of_it() {
    let answer = "# Done\n\nTwo *things*:\n\n1. one\n2. two\n\n```rs\nfn a() {}\n```\n";
    let renderer = session(&[
        (
            "assistant_done",
            json!({"text": "I look first.", "part": 0}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Ask", "args": {"name": "x", "n": 2}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "a", "result": [{"type": "text", "text": "yes"}]}),
        ),
        ("assistant_done", json!({"text": answer, "part": 1})),
        ("turn_end", json!({"outcome": "completed"})),
    ]);
    let feed = renderer.feed();
    let texts: Vec<BlockId> = feed
        .rows()
        .filter(|block| is_text(&block.body))
        .map(|block| block.id)
        .collect();
    assert_eq!(copied(feed, texts[2]), "Two *things*:");
    for id in &texts[1..] {
        assert_eq!(answer_text(feed, *id).unwrap(), answer.trim_end());
    }
    assert_eq!(answer_text(feed, texts[0]).unwrap(), "I look first.");
    let end = row(feed, |body| matches!(body, BlockBody::TurnEnd(_)));
    assert_eq!(answer_text(feed, end).unwrap(), answer.trim_end());
    let call = row(feed, is_call);
    assert_eq!(answer_text(feed, call), None);
    let told = "Ask x\n\n{\"name\":\"x\",\"n\":2}\n\nyes";
    assert_eq!(copied(feed, call), told);
}
