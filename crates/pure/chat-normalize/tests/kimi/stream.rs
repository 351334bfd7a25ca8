//! What `kimi -p … --output-format stream-json` prints.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{AT_REST, Context, Detection, Dialect, Merge, SessionReader, detect};
use serde_json::{Value, json};

use super::{event, said, step};
use crate::support::{assert_sound, told};

fn version() -> Value {
    json!({"role": "meta", "type": "system.version", "version": "2.1.0"})
}

fn hint(session: &str) -> Value {
    json!({"role": "meta", "type": "session.resume_hint", "session_id": session, "command": format!("kimi -r {session}"),
        "content": format!("To resume this session: kimi -r {session}")})
}

fn answer(text: Option<&str>, calls: &[(&str, &str, Value)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, args)| json!({"type": "function", "id": id, "function": {"name": name, "arguments": args.to_string()}}))
        .collect();
    let mut line = json!({"role": "assistant"});
    if let Some(text) = text {
        line["content"] = text.into();
    }
    if !calls.is_empty() {
        line["tool_calls"] = calls.into();
    }
    line
}

fn gave(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn whole() -> Vec<Value> {
    vec![
        version(),
        json!({"role": "meta", "type": "turn.step.retrying", "failed_attempt": 1, "next_attempt": 2, "max_attempts": 10,
            "delay_ms": 1000.5, "error_message": "429 slow down", "status_code": 429}),
        answer(
            Some("I look."),
            &[
                ("c1", "Bash", json!({"command": "exit 3"})),
                ("c2", "Write", json!({"path": "/w/a", "content": "x\n"})),
            ],
        ),
        gave("c1", "no\nCommand failed with exit code: 3."),
        gave("c2", "Wrote 2 bytes to /w/a"),
        answer(
            None,
            &[(
                "c3",
                "TodoList",
                json!({"todos": [{"title": "one", "status": "done"}]}),
            )],
        ),
        gave("c3", "Updated"),
        answer(Some("Done."), &[]),
        hint("session_1"),
    ]
}

fn read(lines: &[Value], context: Context) -> Vec<ChatEvent> {
    let mut reader = SessionReader::new(context);
    let mut events = Vec::new();
    for line in lines {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), 5, &mut events).unwrap();
    }
    reader.finish(5, &mut events).unwrap();
    assert_eq!(reader.dialect(), Some(Dialect::KimiStream));
    events
}

#[test]
fn a_run_is_told_as_kimis_and_is_of_the_session_that_it_names_at_its_end() {
    let context = Context {
        prompt: Some("Do it".to_owned()),
        ..Context::default()
    };
    let events = read(&whole(), context);
    assert_sound("stream", &events);
    assert!(events.iter().all(|event| event.session_id == "session_1"));
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Do it",
            "done I look.",
            "call c1 Bash",
            "call c2 Write",
            "failed c1 exit_code",
            "result c2 Wrote 2 bytes to /w/a",
            "edit modified /w/a +1 -0",
            "call c3 TodoList",
            "plan 1",
            "result c3 Updated",
            "done Done.",
            "end completed"
        ]
    );
    let retries = events.iter().filter(|event| {
        matches!(&event.payload, Payload::SessionStatus(status) if status.status == "retrying")
    });
    assert_eq!(retries.count(), 1);
    let first = version().to_string() + "\n";
    assert_eq!(
        detect(first.as_bytes(), false),
        Detection::Found(Dialect::KimiStream)
    );
    // Its messages alone are any program's.
    let message = answer(Some("Hi"), &[]).to_string() + "\n";
    assert_eq!(
        detect(message.as_bytes(), true),
        Detection::Found(Dialect::OpenAiChat)
    );
}

#[test]
fn runs_that_name_no_session_are_not_taken_for_one() {
    let run = |text: &str, run: Option<&str>| {
        let context = Context {
            run: run.map(str::to_owned),
            ..Context::default()
        };
        let events = read(&[version(), answer(Some(text), &[])], context);
        assert_eq!(told(&events).last().unwrap(), "end interrupted");
        events[0].session_id.clone()
    };
    assert_eq!(run("One", None), run("One", None));
    assert_ne!(run("One", None), run("Two", None));
    assert_ne!(run("One", Some("a")), run("One", Some("b")));
    assert_eq!(run("One", Some("a")), run("One", Some("a")));
}

#[test]
fn a_run_that_is_told_by_its_output_and_by_its_log_stands_once() {
    let call = |id: &str, name: &str, args: Value| {
        event(
            json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": id, "name": name, "args": args}),
        )
    };
    let result = |id: &str, output: &str, failed: bool| {
        event(
            json!({"type": "tool.result", "toolCallId": id, "result": {"output": output, "isError": failed}}),
        )
    };
    let text = |step: &str, text: &str| {
        event(
            json!({"type": "content.part", "stepUuid": step, "part": {"type": "text", "text": text}}),
        )
    };
    let log = [
        json!({"type": "metadata", "protocol_version": "1.5", "created_at": 1}),
        said("turn.prompt", "Do it", "user", 1_000),
        step("step.begin", "s1", ""),
        text("s1", "I look."),
        call("c1", "Bash", json!({"command": "exit 3"})),
        call("c2", "Write", json!({"path": "/w/a", "content": "x\n"})),
        result("c1", "no\nCommand failed with exit code: 3.", true),
        result("c2", "Wrote 2 bytes to /w/a", false),
        step("step.end", "s1", "tool_use"),
        step("step.begin", "s2", ""),
        call(
            "c3",
            "TodoList",
            json!({"todos": [{"title": "one", "status": "done"}]}),
        ),
        result("c3", "Updated", false),
        step("step.end", "s2", "tool_use"),
        step("step.begin", "s3", ""),
        text("s3", "Done."),
        step("step.end", "s3", "end_turn"),
        json!({"type": "turn.ended", "turnId": 0, "reason": "completed", "time": 9_000}),
    ];
    let context = Context {
        session_id: Some("session_1".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::new(context);
    let mut of_log = Vec::new();
    for line in &log {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), AT_REST, &mut of_log).unwrap();
    }
    reader.finish(AT_REST, &mut of_log).unwrap();
    let alone = told(&of_log);
    // A run whose prompt nobody tells is known by what it does, where the log comes first: it names the session at its end.
    for (order, prompt) in [
        ([0, 1], None),
        ([0, 1], Some("Do it")),
        ([1, 0], Some("Do it")),
    ] {
        let context = Context {
            prompt: prompt.map(str::to_owned),
            ..Context::default()
        };
        let of_run = read(&whole(), context);
        let mut merge = Merge::new(2);
        let mut merged = Vec::new();
        for source in order {
            let events = if source == 0 { &of_log } else { &of_run };
            for event in events {
                merge.take(source, event.clone(), &mut merged);
            }
            merge.end(source, &mut merged);
        }
        merge.finish(&mut merged);
        let mut said = told(&merged);
        let mut wanted = alone.clone();
        // Which of the two says first how a command failed is in their words.
        for told in [&mut said, &mut wanted] {
            told.retain(|line| !line.starts_with("failed c1"));
            told.sort();
        }
        assert_eq!(said, wanted, "{order:?}");
    }
}
