//! Sub-agents' files beside the session's.

use chat_event::Payload;

use super::*;

/// The call that starts an agent with these words.
fn call() -> String {
    let line = r#"{"type":"assistant","uuid":"a1","sessionId":"s1","timestamp":"2026-11-21T21:03:01.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Task","input":{"description":"Find","prompt":"Find it","subagent_type":"Explore"}}]}}"#;
    line.to_owned() + "\n"
}

/// The agent's file, with this answer.
fn agent(answer: &str) -> String {
    let line = |rest: &str| {
        let head = r#""sessionId":"s1","agentId":"a7","isSidechain":true,"timestamp":"2026-11-21T21:03:02.000Z""#;
        format!("{{{head},{rest}}}\n")
    };
    let prompt = r#""type":"user","uuid":"w1","message":{"role":"user","content":"Find it"}"#;
    let said = format!(
        r#""type":"assistant","uuid":"{answer}","message":{{"id":"m-{answer}","role":"assistant","content":[{{"type":"text","text":"{answer}"}}]}}"#
    );
    line(prompt) + &line(&said)
}

/// The calls below which a text was told, each time.
fn told_below(log: &Log, text: &str) -> Vec<Option<String>> {
    let events = log.events.iter();
    let said = events.filter(
        |event| matches!(&event.payload, Payload::AssistantDone(said) if said.text == text),
    );
    said.map(|event| event.parent_tool_call_id.clone())
        .collect()
}

#[test]
fn a_file_that_is_written_anew_keeps_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut follow, mut log) = followed(dir.path());
    let folder = path.with_extension("").join("subagents");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("agent-a7.jsonl");
    std::fs::write(&file, agent("One")).unwrap();
    std::fs::write(&path, prompt("s1") + &call()).unwrap();
    read_all(&mut follow, &mut log);
    let below = vec![Some("toolu_1".to_owned())];
    assert_eq!(told_below(&log, "One"), below);
    std::fs::write(&file, agent("Another")).unwrap();
    read_all(&mut follow, &mut log);
    assert_eq!(told_below(&log, "Another"), below);
}
