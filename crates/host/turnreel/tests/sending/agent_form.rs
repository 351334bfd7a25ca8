//! Sessions in the words of sandbox workers, on sockets and as Server-Sent Events.

use crate::support::{Server, Socket};
use chat_event::ChatEvent;
use chat_normalize::{system_event, to_agent_events};
use serde_json::{Value, json};

const SSE: &str = "/api/v1/sessions/s1/sse?format=agent";

fn event(id: &str, kind: &str, payload: Value) -> Value {
    json!({"id": id, "timestamp": 5, "type": kind, "responseId": "r1", "payload": payload})
}

fn call(n: u64) -> Value {
    let args = json!({"file_path": format!("{n}.rs")});
    event(
        &format!("c{n}"),
        "tool_call",
        json!({"toolCallId": n.to_string(), "toolName": "Read", "args": args}),
    )
}

fn result(n: u64, error: Option<&str>) -> Value {
    let mut payload = json!({"toolCallId": n.to_string(), "result": "text"});
    if let Some(message) = error {
        payload["error"] = json!({"message": message});
    }
    event(&format!("r{n}"), "tool_result", payload)
}

/// The log, and what it is in the workers' words, without what is said of the way.
fn expected(server: &Server) -> Vec<Value> {
    let (_, page) = server.get("/api/v1/sessions/s1/events");
    let events: Vec<ChatEvent> = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| ChatEvent::from_json(&event.to_string()).unwrap())
        .collect();
    let reports = to_agent_events(&events).into_iter();
    reports
        .map(|report| system_event("sandbox", "box", &report))
        .collect()
}

/// The events of frames, out of their batches.
fn opened(frames: &[Value]) -> Vec<Value> {
    let mut events = Vec::new();
    for frame in frames {
        assert_eq!(
            (&frame["entity_type"], &frame["entity_id"]),
            (&json!("sandbox"), &json!("box"))
        );
        if frame["event_type"] == "TOOL_EVENTS_BATCH" {
            let batch = frame["payload"]["events"].as_array().unwrap();
            assert_eq!(frame["payload"]["count"], batch.len());
            events.extend(batch.iter().cloned());
        } else {
            let mut event = frame.clone();
            event.as_object_mut().unwrap().remove("sub");
            event.as_object_mut().unwrap().remove("seq");
            events.push(event);
        }
    }
    events
}

fn open(server: &Server, after: Option<(&str, u64)>) -> (Socket, Value) {
    let mut socket = server.socket();
    let mut open = json!({"op": "open", "sub": 3, "session": "s1", "caps": ["format=agent"]});
    if let Some((epoch, after)) = after {
        open["epoch"] = epoch.into();
        open["after"] = after.into();
    }
    socket.send(&open);
    let hello = socket.next();
    assert_eq!((&hello["op"], &hello["sub"]), (&json!("hello"), &json!(3)));
    (socket, hello)
}

/// Frames until one that says that all to `seq` was told.
fn frames_to(socket: &mut Socket, seq: u64) -> Vec<Value> {
    let mut frames: Vec<Value> = Vec::new();
    while frames.last().is_none_or(|frame| frame["seq"] != seq) {
        frames.push(socket.next());
        assert_eq!(frames[frames.len() - 1]["sub"], 3);
    }
    frames
}

#[test]
fn events_come_in_batches_by_tier_and_are_those_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let start = event(
        "s",
        "session_start",
        json!({"agent": "worker", "provider": "agent-events", "sandboxId": "box"}),
    );
    let (_, answer) = server.post("s1", &json!([start, call(1)]));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    let (mut socket, hello) = open(&server, None);
    assert_eq!(
        (&hello["resume"], &hello["head"]),
        (&json!("none"), &json!(2))
    );

    // Two that wait, and one that does not: at once, so that the window does not let the first go before.
    let failed = result(1, Some("no such file"));
    server.post("s1", &json!([call(2), result(2, None), failed]));
    let frames = frames_to(&mut socket, 5);
    let types: Vec<_> = frames
        .iter()
        .map(|frame| frame["event_type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["TOOL_EVENTS_BATCH", "agent.tool_failed"]);
    assert_eq!(frames[0]["payload"]["count"], 2);
    assert_eq!(frames[0]["seq"], 4);
    // The call stood before this reader came, and its result is still told with the tool's name.
    assert_eq!(frames[1]["payload"]["tool_name"], "Read");
    assert_eq!(opened(&frames), expected(&server)[1..]);

    // Only such that wait: the window lets them go.
    server.post("s1", &json!([call(6), call(7)]));
    let window = frames_to(&mut socket, 7);
    assert_eq!(window.len(), 1);
    assert_eq!(window[0]["payload"]["count"], 2);

    let edit = json!({"toolCallId": "7", "filePath": "a.rs", "changeType": "modified", "linesAdded": 1, "diffPreview": "+x"});
    let done = json!({"text": "All done"});
    server.post(
        "s1",
        &json!([
            event("e", "file_edit", edit),
            event("d", "assistant_done", done)
        ]),
    );
    frames_to(&mut socket, 9);
    let all = expected(&server);

    // Behind each place that a frame names, exactly the rest.
    let (mut whole, _) = open(&server, Some((&epoch, 0)));
    let frames = frames_to(&mut whole, 9);
    assert_eq!(opened(&frames), all);
    let mut n_had = 0;
    for (index, frame) in frames.iter().enumerate() {
        n_had += opened(std::slice::from_ref(frame)).len();
        let Some(seq) = frame["seq"].as_u64().filter(|seq| *seq < 9) else {
            continue;
        };
        assert!(index + 1 < frames.len());
        let (mut again, hello) = open(&server, Some((&epoch, seq)));
        assert_eq!(hello["resume"], "ok");
        assert_eq!(
            opened(&frames_to(&mut again, 9)),
            all[n_had..],
            "behind {seq}"
        );
    }
    let (_, hello) = open(&server, Some((&epoch, 10)));
    assert_eq!(hello["resume"], "reset");

    // The same words as a stream of events.
    let mut stream = server.stream(SSE, None);
    assert_eq!(stream.next().unwrap().name, "hello");
    let mut told = Vec::new();
    while told
        .last()
        .is_none_or(|(id, _)| *id != format!("v1.{epoch}.9"))
    {
        let next = stream.next_news().unwrap();
        assert_eq!(next.name, "message");
        told.push((next.id, next.data));
    }
    let frames: Vec<Value> = told.into_iter().map(|(_, data)| data).collect();
    assert_eq!(opened(&frames), all);
}

#[test]
fn a_socket_has_both_forms_and_a_subscription_that_is_closed_is_told_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let start = event(
        "s",
        "session_start",
        json!({"agent": "worker", "provider": "p", "sandboxId": "box"}),
    );
    server.post("s1", &json!([start]));
    let (mut socket, _) = open(&server, None);
    socket.open(1, "s1", None);
    server.post("s1", &json!([result(1, Some("no"))]));
    let mut both = [socket.next(), socket.next()];
    both.sort_by_key(|frame| frame["sub"].as_u64());
    assert_eq!(both[0]["op"], "ev");
    assert_eq!(both[1]["event_type"], "agent.tool_failed");
    socket.send(&json!({"op": "close", "sub": 3}));
    socket.send(&json!({"op": "ping", "n": 1}));
    assert_eq!(socket.next(), json!({"op": "pong", "n": 1, "head": 2}));
    server.post("s1", &json!([result(2, Some("no"))]));
    server.post("s1", &json!([result(3, Some("no"))]));
    assert_eq!(socket.events(3, 4).len(), 2);
}
