//! Files of agents: each stands in the call that started it, wherever it lies and whatever its call says of it.

use chat_event::{ChatEvent, Payload};
use chat_normalize::SessionFolder;
use serde_json::{Value, json};

use super::{Files, line, lines, read, read_one, result};

fn agent_call(uuid: &str, id: &str, prompt: &str) -> Value {
    let input = json!({"prompt": prompt, "subagent_type": "helper"});
    line(
        "assistant",
        uuid,
        json!([{"type": "tool_use", "id": id, "name": "Task", "input": input}]),
        json!({}),
    )
}

fn agent_file(agent: &str, prompt: &str, answer: &str) -> Vec<u8> {
    let side = json!({"isSidechain": true, "agentId": agent});
    lines(&[
        line("user", &format!("{agent}-1"), json!(prompt), side.clone()),
        line(
            "assistant",
            &format!("{agent}-2"),
            json!([{"type": "text", "text": answer}]),
            side,
        ),
    ])
}

/// Where each text stands: the call, and the agent.
fn places(events: &[ChatEvent]) -> Vec<(String, String, String)> {
    let text = |event: &ChatEvent| match &event.payload {
        Payload::UserMessage(said) => Some(said.text.preview().to_string()),
        Payload::AssistantDone(done) => Some(done.text.clone()),
        Payload::ToolResult(result) => Some(format!("result {}", result.tool_call_id)),
        _ => None,
    };
    let place = |event: &ChatEvent| {
        Some((
            text(event)?,
            event.parent_tool_call_id.clone().unwrap_or_default(),
            event.agent_id.clone().unwrap_or_default(),
        ))
    };
    events.iter().filter_map(place).collect()
}

fn place(text: &str, call: &str, agent: &str) -> (String, String, String) {
    (text.to_owned(), call.to_owned(), agent.to_owned())
}

#[test]
fn an_agents_file_stands_in_its_call_before_the_result() {
    let main = lines(&[
        line("user", "u1", json!("Go"), json!({})),
        agent_call("u2", "toolu_1", "count"),
        agent_call("u3", "toolu_2", "look"),
        result(
            "u4",
            "toolu_2",
            "Seen",
            json!({"agentId": "a2", "status": "completed"}),
        ),
        result("u5", "toolu_1", "Two", json!({"status": "completed"})),
        line(
            "assistant",
            "u6",
            json!([{"type": "text", "text": "Done."}]),
            json!({}),
        ),
    ]);
    let files = Files::from([
        ("s1.jsonl".to_owned(), main),
        (
            "s1/subagents/agent-a1.jsonl".to_owned(),
            agent_file("a1", "count", "Two"),
        ),
        (
            "s1/subagents/agent-a1.meta.json".to_owned(),
            br#"{"toolUseId": "toolu_1"}"#.to_vec(),
        ),
        (
            "s1/subagents/agent-a2.jsonl".to_owned(),
            agent_file("a2", "look", "Seen"),
        ),
    ]);
    let events = read_one(&files);
    assert_eq!(
        places(&events),
        [
            place("Go", "", ""),
            place("look", "toolu_2", "a2"),
            place("Seen", "toolu_2", "a2"),
            place("result toolu_2", "", ""),
            place("count", "toolu_1", "a1"),
            place("Two", "toolu_1", "a1"),
            place("result toolu_1", "", ""),
            place("Done.", "", ""),
        ]
    );
    assert!(events.iter().all(|event| event.session_id == "s1"));
    let turns = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::TurnStart(_)));
    assert_eq!(turns.count(), 1);
}

#[test]
fn an_agent_of_an_agent_stands_in_its_call() {
    let side = json!({"isSidechain": true, "agentId": "a1"});
    let with_side = |mut line: Value| {
        for (name, value) in side.as_object().unwrap() {
            line[name] = value.clone();
        }
        line
    };
    let outer = lines(&[
        line("user", "a1-1", json!("outer"), side.clone()),
        with_side(agent_call("a1-2", "toolu_in", "inner")),
        with_side(result("a1-3", "toolu_in", "in", json!({"agentId": "a2"}))),
    ]);
    let main = lines(&[
        line("user", "u1", json!("Go"), json!({})),
        agent_call("u2", "toolu_out", "outer"),
        result("u3", "toolu_out", "out", json!({"agentId": "a1"})),
    ]);
    let files = Files::from([
        ("s1.jsonl".to_owned(), main),
        ("s1/subagents/agent-a1.jsonl".to_owned(), outer),
        (
            "s1/subagents/agent-a2.jsonl".to_owned(),
            agent_file("a2", "inner", "Deep"),
        ),
    ]);
    assert_eq!(
        places(&read_one(&files)),
        [
            place("Go", "", ""),
            place("outer", "toolu_out", "a1"),
            place("inner", "toolu_in", "a2"),
            place("Deep", "toolu_in", "a2"),
            place("result toolu_in", "toolu_out", "a1"),
            place("result toolu_out", "", ""),
        ]
    );
}

/// It works beside its caller: what that says meanwhile is not put behind all that the agent does.
#[test]
fn an_agent_in_the_background_stands_before_the_word_that_it_is_over() {
    let over = |call: &str| {
        let text = format!(
            "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>completed</status>\n<summary>Agent finished</summary>\n</task-notification>"
        );
        let of_task = json!({"origin": {"kind": "task-notification"}});
        line("user", "u3", json!(text), of_task)
    };
    let launched = json!({"status": "async_launched", "agentId": "a1"});
    let answer = |uuid: &str, text: &str| {
        let text = json!([{"type": "text", "text": text}]);
        line("assistant", uuid, text, json!({}))
    };
    let main = [
        line("user", "u1", json!("Count"), json!({})),
        agent_call("u2", "c1", "Look"),
        result("r1", "c1", "It began", launched),
        answer("w1", "I wait"),
        over("c1"),
        answer("w2", "Two"),
    ];
    // Where nobody says that it is over, it comes last.
    for (n_lines, is_told) in [(6, true), (4, false)] {
        let files = Files::from([
            ("s1.jsonl".to_owned(), lines(&main[..n_lines])),
            (
                "s1/subagents/agent-a1.jsonl".to_owned(),
                agent_file("a1", "Look", "Found"),
            ),
        ]);
        let mut expected = vec![
            place("Count", "", ""),
            place("result c1", "", ""),
            place("I wait", "", ""),
            place("Look", "c1", "a1"),
            place("Found", "c1", "a1"),
            place("result c1", "", ""),
        ];
        if is_told {
            expected.push(place("Two", "", ""));
        }
        assert_eq!(places(&read_one(&files)), expected);
    }
}

/// 2.0: agents' files lie beside those of all sessions; the call was stopped, so no result names its agent.
#[test]
fn agents_beside_the_session_are_found_by_their_prompt_and_others_stay_out() {
    let main = lines(&[
        line("user", "u1", json!("Go"), json!({})),
        agent_call("u2", "toolu_1", "count"),
    ]);
    let other = String::from_utf8(agent_file("c1", "count", "Not ours"))
        .unwrap()
        .replace("\"s1\"", "\"s2\"");
    let files = Files::from([
        ("s1.jsonl".to_owned(), main),
        (
            "agent-a1.jsonl".to_owned(),
            agent_file("a1", "Warmup", "Ready"),
        ),
        (
            "agent-b1.jsonl".to_owned(),
            agent_file("b1", "count", "Two"),
        ),
        ("agent-a0.jsonl".to_owned(), other.into_bytes()),
    ]);
    let events = read_one(&files);
    assert_eq!(
        places(&events),
        [
            place("Go", "", ""),
            place("result toolu_1", "", ""),
            place("count", "toolu_1", "b1"),
            place("Two", "toolu_1", "b1"),
        ]
    );
    assert!(matches!(
        events.last().unwrap().payload,
        Payload::SessionEnd(_)
    ));
    let left_out = |event: &ChatEvent| matches!(&event.payload, Payload::Notice(notice) if notice.text.contains("agent-a1.jsonl"));
    assert!(events.iter().any(left_out));
}

#[test]
fn an_agent_that_no_call_started_is_shown_all_the_same() {
    let files = Files::from([
        (
            "s1.jsonl".to_owned(),
            lines(&[line("user", "u1", json!("Go"), json!({}))]),
        ),
        (
            "s1/subagents/agent-x.jsonl".to_owned(),
            agent_file("x", "lost", "Found"),
        ),
    ]);
    let places = places(&read_one(&files));
    assert!(places.contains(&place("Found", "", "x")), "{places:?}");
    // Without the session's file its parts are what there is.
    let files = Files::from([(
        "s1/subagents/agent-x.jsonl".to_owned(),
        agent_file("x", "lost", "Found"),
    )]);
    assert_eq!(read_one(&files).len(), 2);
}

#[test]
fn agents_of_one_name_in_folders_of_their_own_are_all_read() {
    let files = Files::from([
        (
            "s1.jsonl".to_owned(),
            lines(&[line("user", "u1", json!("Go"), json!({}))]),
        ),
        (
            "s1/subagents/agent-a.jsonl".to_owned(),
            agent_file("a", "One", "First"),
        ),
        (
            "s1/subagents/x/agent-a.jsonl".to_owned(),
            agent_file("b", "Two", "Second"),
        ),
    ]);
    let told = places(&read_one(&files));
    for text in ["First", "Second"] {
        assert!(told.iter().any(|(said, ..)| said == text), "{told:?}");
    }
}

/// Thousands of agents that one call started, none of which was over before the end, and results with long details.
#[test]
fn thousands_of_agents_of_a_call_are_found_without_looking_through_all_each_time() {
    const N: usize = 3000;
    let meta = json!({"toolUseId": "toolu_1"}).to_string().into_bytes();
    let mut files = Files::new();
    let details = json!({"agentId": "a0", "filler": "x".repeat(500_000)});
    files.insert(
        "s1.jsonl".to_owned(),
        lines(&[
            agent_call("u1", "toolu_1", "Go"),
            result("u2", "toolu_1", "done", details),
        ]),
    );
    for n in 0..N {
        let path = format!("s1/subagents/agent-a{n}.jsonl");
        files.insert(path.clone(), agent_file(&format!("a{n}"), "Go", "Yes"));
        files.insert(path.replace(".jsonl", ".meta.json"), meta.clone());
    }
    let folder = SessionFolder::group(files.keys().map(String::as_str));
    let began = std::time::Instant::now();
    let events = read(&files, folder.sessions[0].clone(), usize::MAX);
    assert_eq!(
        places(&events)
            .iter()
            .filter(|(text, ..)| text == "Yes")
            .count(),
        N
    );
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
}
