//! What a database is to have of a session, worked out of the session's log event by event, and what it has.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Server;
use super::postgres::Database;

/// Until the database has what the log says, and no more.
pub(crate) fn wait_until_copied(database: &Database, server: &Server, session: &str) {
    let expected = expected(server, session);
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let found = copied(database, session);
        if found.as_ref() == Some(&expected) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{session}: {found:#?} is not {expected:#?}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The events of a session, as its log has them.
pub(crate) fn logged(server: &Server, session: &str) -> (String, Vec<Value>) {
    let (mut after, mut events) = (0, Vec::new());
    loop {
        let path = format!("/api/v1/sessions/{session}/events?after={after}");
        let (status, page) = server.get(&path);
        assert_eq!(status, 200, "{page}");
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        after = page["next"].as_u64().unwrap();
        if after >= page["head"].as_u64().unwrap() {
            return (page["epoch"].as_str().unwrap().to_owned(), events);
        }
    }
}

/// What the database is to have of a session, worked out event by event: its mark, its calls, its changes, its errors.
fn expected(server: &Server, session: &str) -> [Vec<Vec<String>>; 4] {
    let (epoch, events) = logged(server, session);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let head = events
        .last()
        .map_or(0, |event| event["seq"].as_u64().unwrap());
    let mut calls: Vec<Call> = Vec::new();
    let (mut changes, mut errors) = (Vec::new(), Vec::new());
    for event in &events {
        let (id, seq) = (text(&event["id"]), event["seq"].to_string());
        let (turn, payload) = (&event["turnId"], &event["payload"]);
        let call_id = text(&payload["toolCallId"]);
        let known = calls.iter_mut().rfind(|call| call.id == call_id);
        match event["type"].as_str().unwrap() {
            "tool_call" => {
                let known = known.filter(|call| call.result.is_none() || call.turn == *turn);
                let call = match known {
                    Some(call) => call,
                    None => {
                        calls.push(Call::new(&call_id, &seq, turn));
                        calls.last_mut().unwrap()
                    }
                };
                call.made = Some(id);
                call.tool = text(&payload["toolName"]);
            }
            "tool_result" => {
                let call = match known {
                    Some(call) => call,
                    None => {
                        calls.push(Call::new(&call_id, &seq, turn));
                        calls.last_mut().unwrap()
                    }
                };
                if call.result.is_none() {
                    let code = payload["error"]["code"].as_str();
                    call.status = match (payload["error"].is_object(), code) {
                        (false, _) => "completed",
                        (true, Some("interrupted")) => "interrupted",
                        (true, Some("no_result")) => "no_result",
                        (true, Some("rejected" | "declined" | "denied")) => "denied",
                        (true, _) => "failed",
                    };
                }
                call.result = Some(id);
            }
            "turn_end" | "interrupt" | "session_end" => {
                let kind = event["type"].as_str().unwrap();
                let stopped = kind == "interrupt" || payload["outcome"] == "interrupted";
                for call in &mut calls {
                    let is_over = kind == "session_end" || call.turn == *turn;
                    if call.status == "running" && is_over {
                        call.status = if stopped { "interrupted" } else { "no_result" };
                    }
                }
            }
            "file_edit" => {
                let path: String = text(&payload["filePath"]).chars().take(4096).collect();
                let lines = ["linesAdded", "linesRemoved"]
                    .map(|name| payload[name].as_u64().unwrap_or(0).to_string());
                let path = path.replace('\0', "\u{fffd}");
                let [added, removed] = lines;
                changes.push(vec![
                    seq,
                    id,
                    path,
                    text(&payload["changeType"]),
                    added,
                    removed,
                ]);
            }
            "error" => {
                let message: String = text(&payload["message"]).chars().take(2000).collect();
                errors.push(vec![seq, id, message.replace('\0', "\u{fffd}")]);
            }
            "retract" => {
                let ids = payload["eventIds"].as_array().unwrap();
                let gone = |id: &str| ids.iter().any(|gone| gone == id);
                for call in &mut calls {
                    if call.result.as_deref().is_some_and(gone) {
                        call.result = None;
                        call.status = "running";
                        call.is_gone = call.made.is_none();
                    }
                    call.is_gone |= call.made.as_deref().is_some_and(gone);
                }
                calls.retain(|call| !call.is_gone);
                changes.retain(|row| !gone(&row[1]));
                errors.retain(|row| !gone(&row[1]));
            }
            _ => {}
        }
    }
    let calls = calls.into_iter();
    let calls = calls.map(|call| vec![call.seq, call.id, call.tool, call.status.to_owned()]);
    [
        vec![vec![epoch, head.to_string()]],
        calls.collect(),
        changes,
        errors,
    ]
}

struct Call {
    id: String,
    seq: String,
    turn: Value,
    tool: String,
    status: &'static str,
    made: Option<String>,
    result: Option<String>,
    is_gone: bool,
}

impl Call {
    fn new(id: &str, seq: &str, turn: &Value) -> Call {
        Call {
            id: id.to_owned(),
            seq: seq.to_owned(),
            turn: turn.clone(),
            tool: String::new(),
            status: "running",
            made: None,
            result: None,
            is_gone: false,
        }
    }
}

/// The same, as the database has it; `None` where it does not answer.
fn copied(database: &Database, session: &str) -> Option<[Vec<Vec<String>>; 4]> {
    let of = |what: &str| {
        let sql = format!("SELECT {what} WHERE session = '{session}' ORDER BY seq");
        database.try_ask(&sql).ok()
    };
    Some([
        of("epoch, seq FROM turnreel.sessions")?,
        of("seq, tool_call_id, tool_name, status FROM turnreel.tool_calls")?,
        of("seq, event_id, path, change, lines_added, lines_removed FROM turnreel.file_changes")?,
        of("seq, event_id, message FROM turnreel.errors")?,
    ])
}
