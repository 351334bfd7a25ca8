//! What is said beside prompts and answers: pictures, the user's own commands, hooks, what goes on in the background, agents.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use super::{event, said, step};
use crate::support::{assert_sound, read_lines, told};

fn head() -> Value {
    json!({"type": "metadata", "protocol_version": "1.5", "created_at": 1})
}

fn appended(origin: Value, text: &str, at: i64) -> Value {
    json!({"type": "context.append_message", "agentId": "main", "time": at, "message": {"role": "user",
        "content": [{"type": "text", "text": text}], "origin": origin}})
}

fn call(id: &str, name: &str, args: Value) -> Value {
    event(
        json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": id, "name": name, "args": args}),
    )
}

fn result(id: &str, output: &str) -> Value {
    event(json!({"type": "tool.result", "toolCallId": id, "result": {"output": output}}))
}

#[test]
fn pictures_of_a_prompt_are_attached_to_it() {
    let mut prompt = said("turn.prompt", "See", "user", 1_000);
    let url =
        json!({"type": "image_url", "imageUrl": {"url": "data:image/png;base64,iVBORw0KGgo="}});
    prompt["input"].as_array_mut().unwrap().push(url);
    let read = read_lines(Dialect::Kimi, &[head(), prompt]);
    assert_sound("picture", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    let attached = read.events.iter().find_map(|event| match &event.payload {
        Payload::UserMessage(message) => message.attachments.clone(),
        _ => None,
    });
    assert_eq!(
        attached.unwrap().to_value(),
        json!([{"mediaType": "image/png", "data": "iVBORw0KGgo="}])
    );
}

#[test]
fn the_users_own_commands_and_the_words_of_hooks_are_told() {
    let shell = |phase: &str| json!({"kind": "shell_command", "phase": phase});
    let lines = [
        head(),
        appended(shell("input"), "<bash-input>\necho a\n</bash-input>", 1_000),
        appended(
            shell("output"),
            "<bash-stdout>a <bash-stderr>\n</bash-stdout><bash-stderr>b\n</bash-stderr>",
            1_100,
        ),
        // One that printed without having begun.
        appended(shell("output"), "<bash-stdout>lost</bash-stdout>", 1_200),
        appended(
            json!({"kind": "hook_result", "event": "UserPromptSubmit"}),
            "<hook_result hook_event=\"UserPromptSubmit\">\nbe kind\n</hook_result>",
            1_300,
        ),
        appended(json!({"kind": "injection"}), "<system-reminder>", 1_400),
        said("turn.prompt", "Go", "user", 2_000),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("own", &events);
    let (lost, told): (Vec<_>, Vec<_>) =
        (told(&events).into_iter()).partition(|it| it.starts_with("raw "));
    assert!(lost.len() == 1 && lost[0].contains("<bash-stdout>lost"));
    assert_eq!(
        told,
        [
            "call t1000:bash bash",
            "result t1000:bash a <bash-stderr>\nb\n",
            "notice be kind",
            "turn user",
            "user Go",
            "end interrupted"
        ]
    );
}

#[test]
fn a_word_to_the_agent_at_work_is_told_once_when_it_is_said() {
    let steered = json!({"type": "prompt.steered", "agentId": "main", "activePromptId": "p1", "messageId": "m1",
        "content": [{"type": "text", "text": "And this"}], "time": 2_000});
    let mut read_later = said("turn.steer", "And this", "user", 9_000);
    read_later["messageId"] = "m1".into();
    let other = said("turn.steer", "Unsaid", "user", 9_001);
    let lines = [
        head(),
        steered.clone(),
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        call("c1", "Bash", json!({"command": "sleep 9"})),
        steered,
        result("c1", "slept"),
        read_later,
        other,
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("steered", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Go",
            "call c1 Bash",
            "user And this",
            "result c1 slept",
            "user Unsaid",
            "end interrupted"
        ]
    );
}

/// A line that says how a task stands.
fn task(kind: &str, id: &str, call: &str, more: Value, tail: &str) -> Value {
    let mut info = json!({"taskId": id, "status": "running", "startedAt": 1_000, "endedAt": null, "parentToolCallId": call});
    for (name, value) in more.as_object().unwrap() {
        info[name] = value.clone();
    }
    json!({"type": kind, "agentId": "main", "info": info, "outputTail": tail, "time": 8_000})
}

#[test]
fn what_goes_on_in_the_background_has_a_second_result_and_is_lost_with_the_program() {
    let began =
        |id: &str, call: &str| task("task.started", id, call, json!({"kind": "process"}), "");
    let notified = "<notification id=\"n\" source_id=\"b1\">\nTitle: Background process completed\nSeverity: info\nbg completed.\n<output-file path=\"/o\">\n</output-file>\n</notification>";
    let lines = [
        head(),
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        call("c1", "Bash", json!({"command": "sleep 2; exit 4"})),
        began("b1", "c1"),
        result("c1", "task_id: b1\nstatus: running\n"),
        call("c2", "Bash", json!({"command": "serve"})),
        began("b2", "c2"),
        result("c2", "task_id: b2\nstatus: running\n"),
        // In the foreground it ends before its call has a result.
        call("c3", "Bash", json!({"command": "true"})),
        began("b3", "c3"),
        task(
            "task.terminated",
            "b3",
            "c3",
            json!({"status": "completed", "exitCode": 0}),
            "x",
        ),
        result("c3", "x"),
        step("step.end", "s1", "end_turn"),
        json!({"type": "turn.ended", "turnId": 0, "reason": "completed", "time": 7_000}),
        task(
            "task.terminated",
            "b1",
            "c1",
            json!({"status": "failed", "exitCode": 4, "endedAt": 3_500}),
            "out\n",
        ),
        task(
            "task.terminated",
            "b9",
            "c9",
            json!({"status": "completed"}),
            "",
        ),
        said("turn.prompt", notified, "task", 8_100),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("tasks", &events);
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(format!(
            "{} {:?} {:?} {}",
            result.tool_call_id,
            result.background,
            result.duration_ms,
            result
                .error
                .as_ref()
                .and_then(|error| error.code.as_deref())
                .unwrap_or("well")
        )),
        _ => None,
    });
    assert_eq!(
        results.collect::<Vec<_>>(),
        [
            "c1 Some(true) None well",
            "c2 Some(true) None well",
            "c3 None None well",
            "c1 Some(false) Some(2500) exit_code",
            "c2 Some(false) None no_result"
        ]
    );
    let words = told(&events);
    assert!(
        words.contains(&"notice Background process completed\nbg completed.".to_owned()),
        "{words:?}"
    );
    assert!(words.contains(&"turn system".to_owned()), "{words:?}");
}

fn ids(events: &[ChatEvent]) -> Vec<&str> {
    let calls = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some(call.tool_call_id.as_str()),
        Payload::Progress(progress) => progress.tool_call_id.as_deref(),
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_call_names_the_agent_that_it_started_and_agents_name_their_calls_apart() {
    let spawned = |call: &str| {
        json!({"type": "subagent.spawned", "subagentId": "agent-1", "subagentName": "explore",
        "parentToolCallId": call, "description": "Look", "time": 5})
    };
    let of = |agent: &str| {
        let mut lines = vec![
            head(),
            said("turn.prompt", "Go", "user", 1_000),
            step("step.begin", "s1", ""),
            call(
                "Agent:0",
                "Agent",
                json!({"prompt": "Look", "description": "Look"}),
            ),
            spawned("Agent:0"),
            spawned("Agent:7"),
            result("Agent:0", "agent_id: agent-1\nstatus: completed\n"),
        ];
        for line in &mut lines[1..] {
            line["agentId"] = agent.into();
        }
        read_lines(Dialect::Kimi, &lines).events
    };
    let (own, inner) = (of("main"), of("agent-0"));
    assert_sound("agents", &own);
    assert_sound("agents", &inner);
    assert_eq!(ids(&own), ["Agent:0", "Agent:0"]);
    assert_eq!(ids(&inner), ["agent-0.Agent:0", "agent-0.Agent:0"]);
    let shared = own.iter().filter(|event| {
        let of_agent = |other: &&ChatEvent| other.id == event.id;
        inner.iter().any(|other| of_agent(&other)) && !event.id.starts_with("w1:")
    });
    let shared: Vec<&str> = shared.map(|event| event.id.as_str()).collect();
    // Answers' ids are no other's in a true log.
    assert!(
        shared
            .iter()
            .all(|id| id.starts_with("s1") || id.starts_with("end.")),
        "{shared:?}"
    );
    let progress = own.iter().find_map(|event| match &event.payload {
        Payload::Progress(progress) => Some(progress.clone()),
        _ => None,
    });
    let progress = progress.unwrap();
    assert_eq!(progress.message, "explore: Look");
    assert_eq!(
        progress.extra.get("agentId").unwrap().to_value(),
        json!("agent-1")
    );
}

#[test]
fn the_model_is_called_as_it_was_asked_for_and_the_title_is_what_is_noted() {
    let bind = |alias: &str, at: i64| json!({"type": "profile.bind", "modelAlias": alias, "environmentDisclosure": {"cwd": "/w"}, "time": at});
    let asked = |model: &str, at: i64| json!({"type": "llm.request", "kind": "loop", "model": model, "time": at});
    let lines = [
        head(),
        bind("fast", 10),
        asked("model-1", 20),
        bind("fast", 30),
        bind("__kimi_env_model__", 40),
        asked("model-1", 50),
        json!({"type": "llm.request", "kind": "compaction", "model": "small", "time": 60}),
        bind("slow", 70),
        asked("model-2", 80),
    ];
    let context = Context {
        session_id: Some("session_1".to_owned()),
        native_id: Some("session_1".to_owned()),
        title: Some("A title".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::Kimi);
    let mut events = Vec::new();
    for line in &lines {
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
    }
    let starts: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => Some(start),
            _ => None,
        })
        .collect();
    let models: Vec<_> = starts.iter().filter_map(|it| it.model.as_deref()).collect();
    assert_eq!(models, ["fast", "model-1", "slow", "model-2"]);
    assert_eq!(starts[0].native_id.as_deref(), Some("session_1"));
    let title = events.iter().find(|event| {
        matches!(&event.payload, Payload::SessionStart(start) if start.title.as_deref() == Some("A title"))
    });
    let later = chat_normalize::titled("session_1", "kimi", "A title", 77);
    assert_eq!(title.unwrap().id, later.id);
}

#[test]
fn a_file_that_was_not_there_is_new() {
    let write = |id: &str, path: &str| call(id, "Write", json!({"path": path, "content": "a\n"}));
    let tracked = |path: &str, key: Value| json!({"type": "file_history.tracked", "turnId": 0, "path": path, "entry": {"key": key, "version": 1}, "time": 6});
    let lines = [
        head(),
        json!({"type": "profile.bind", "environmentDisclosure": {"cwd": "/w"}, "time": 5}),
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        tracked("new.txt", Value::Null),
        write("c1", "/w/new.txt"),
        result("c1", "Wrote 2 bytes"),
        tracked("old.txt", json!("file-history/1")),
        write("c2", "/w/old.txt"),
        result("c2", "Wrote 2 bytes"),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("new", &events);
    let changes = events.iter().filter_map(|event| match &event.payload {
        Payload::FileEdit(edit) => Some((edit.file_path.as_str(), edit.change_type.as_str())),
        _ => None,
    });
    assert_eq!(
        changes.collect::<Vec<_>>(),
        [("/w/new.txt", "created"), ("/w/old.txt", "modified")]
    );
}
