//! The events of RPC mode: it names its session only to who asks, runs commands of the user's own, and goes on in other
//! sessions. Lines as 1.6.0 writes them.

use chat_event::Payload;
use chat_normalize::{Context, Dialect, Merge, SessionReader};
use serde_json::{Value, json};

use super::{assistant, entry, header, line, text, user, whole};
use crate::support::{assert_sound, read_lines, told};

fn state(id: &str) -> Value {
    line(
        "response",
        json!({"id": "1", "command": "get_state", "success": true, "data": {"model": {"id": "m"}, "thinkingLevel": "high",
            "isStreaming": false, "sessionId": id, "sessionName": "A title"}}),
    )
}

fn turn(at: u64, asked: &str, answer: &str) -> Vec<Value> {
    let mut lines = vec![line("agent_start", json!({}))];
    lines.extend(whole(&user(at, asked)));
    lines.extend(whole(&assistant(at + 1, "stop", text(answer))));
    lines.push(line(
        "agent_end",
        json!({"messages": [], "willRetry": false}),
    ));
    lines.push(line("agent_settled", json!({"aborted": false})));
    lines
}

fn bytes(lines: &[Value]) -> Vec<u8> {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    lines.collect::<String>().into_bytes()
}

#[test]
fn its_state_names_the_session_and_a_fork_goes_on_in_another() {
    let mut lines = vec![state("s1")];
    lines.extend(turn(1, "First", "One."));
    lines.push(state("s1"));
    lines.push(line(
        "response",
        json!({"command": "fork", "success": true, "data": {"text": "First", "cancelled": false}}),
    ));
    lines.push(state("s2"));
    lines.extend(turn(5, "Second", "Two."));
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader.push(&bytes(&lines), 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    let said: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => start.native_id.clone(),
            Payload::UserMessage(said) => Some(said.text.preview().to_string()),
            Payload::SessionEnd(end) => Some(end.reason.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(
        said,
        [
            "s1",
            "First",
            "end of stream",
            "s2",
            "Second",
            "end of stream"
        ]
    );
    let sessions: Vec<_> = ["First", "Second"]
        .iter()
        .map(|asked| {
            let is_it = |payload: &Payload| matches!(payload, Payload::UserMessage(said) if said.text.preview() == *asked);
            let event = events.iter().find(|event| is_it(&event.payload));
            event.map(|event| event.session_id.to_string())
        })
        .collect();
    assert_eq!(sessions, [Some("s1".to_owned()), Some("s2".to_owned())]);
}

#[test]
fn a_command_of_the_users_own_stands_once_and_the_file_says_which_it_was() {
    let mut run = vec![state("s1")];
    run.extend(turn(1, "First", "One."));
    run.push(line(
        "bash_execution_update",
        json!({"id": "4", "delta": "own\n"}),
    ));
    run.push(line(
        "response",
        json!({"id": "4", "command": "bash", "success": true,
            "data": {"output": "own\n", "exitCode": 4, "cancelled": false, "truncated": false}}),
    ));
    let file = [
        header(),
        entry("e1", None, user(1, "First")),
        entry("e2", Some("e1"), assistant(2, "stop", text("One."))),
        entry(
            "e3",
            Some("e2"),
            json!({"role": "bashExecution", "command": "echo own; exit 4", "output": "own\n", "exitCode": 4,
                "cancelled": false, "truncated": false, "timestamp": 3}),
        ),
    ];
    let run = read_lines(Dialect::PiStream, &run);
    let file = read_lines(Dialect::PiSession, &file);
    assert_sound("run", &run.events);
    let alone = told(&run.events);
    assert_eq!(alone[alone.len() - 2], "call bash-f453705c bash");
    assert_eq!(alone[alone.len() - 1], "failed bash-f453705c exit_code");
    // Whichever comes first.
    for order in [[0, 1], [1, 0]] {
        let mut merge = Merge::new(2);
        let mut merged = Vec::new();
        for source in order {
            let events = [&run.events, &file.events][source];
            for event in events {
                merge.take(source, event.clone(), &mut merged);
            }
        }
        for source in order {
            merge.end(source, &mut merged);
        }
        merge.finish(&mut merged);
        let calls: Vec<_> = merged
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::ToolCall(call) => Some(call.args.as_text().to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(calls, [r#"{"command":"echo own; exit 4"}"#], "{order:?}");
    }
}
