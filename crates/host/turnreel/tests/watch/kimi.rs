//! Following Kimi Code: a folder for each session and for each of its agents, logs that are written anew, and titles that are
//! noted beside them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::{Home, append, converted, events, ids, rests, sorted};
use crate::support::soon;

const ID: &str = "session_26a0636e-a1aa-4db9-b2ee-d46e5c01191f";
const WORK: &str = ".kimi-code/sessions/wd_demo_8e6518905d5f";

/// A line of an agent's log, so many milliseconds after the session's beginning.
fn line(agent: &str, at: i64, more: Value) -> String {
    let mut line = json!({"agentId": agent, "time": 1_796_157_284_000_i64 + at});
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    format!("{line}\n")
}

fn event(agent: &str, at: i64, event: Value) -> String {
    let more = json!({"type": "context.append_loop_event", "event": event});
    line(agent, at, more)
}

/// How an agent's log begins: with the folder in which it works, and its first words.
fn begins(agent: &str, cwd: &Path, by: &str, words: &str) -> String {
    let bind =
        json!({"type": "profile.bind", "modelAlias": "m", "environmentDisclosure": {"cwd": cwd}});
    let prompt = json!({"type": "turn.prompt", "input": [{"type": "text", "text": words}], "origin": {"kind": by}, "turnId": 0});
    let step =
        json!({"type": "step.begin", "uuid": format!("{agent}-step1"), "turnId": "0", "step": 1});
    [
        "{\"type\":\"metadata\",\"protocol_version\":\"1.5\",\"created_at\":1796157284000}\n"
            .to_owned(),
        line(agent, 1, bind),
        line(agent, 2, prompt),
        event(agent, 3, step),
    ]
    .concat()
}

fn text(agent: &str, at: i64, text: &str) -> String {
    let part = json!({"type": "text", "text": text});
    event(
        agent,
        at,
        json!({"type": "content.part", "stepUuid": format!("{agent}-step1"), "part": part}),
    )
}

fn call(agent: &str, at: i64, id: &str, name: &str, args: Value) -> String {
    event(
        agent,
        at,
        json!({"type": "tool.call", "stepUuid": format!("{agent}-step1"), "toolCallId": id, "name": name, "args": args}),
    )
}

fn result(agent: &str, at: i64, id: &str, output: &str) -> String {
    event(
        agent,
        at,
        json!({"type": "tool.result", "toolCallId": id, "result": {"output": output}}),
    )
}

fn ends(agent: &str, at: i64) -> String {
    let more = json!({"type": "turn.ended", "turnId": 0, "reason": "completed", "durationMs": at});
    line(agent, at, more)
}

fn state(title: &str) -> String {
    json!({"id": ID, "version": 2, "cwd": "/home/dev/demo", "title": title, "titleKind": "replaceable"})
        .to_string()
}

#[test]
fn a_sub_agent_is_told_in_its_call_while_it_works_and_a_new_title_when_it_is_noted() {
    let home = Home::new();
    let cwd = Path::new("/home/dev/demo");
    let begun = [
        begins("main", cwd, "user", "Delegate"),
        call(
            "main",
            4,
            "Agent:0",
            "Agent",
            json!({"prompt": "Look", "description": "Look"}),
        ),
        line(
            "main",
            5,
            json!({"type": "subagent.spawned", "subagentId": "agent-0", "subagentName": "explore",
            "parentToolCallId": "Agent:0", "description": "Look"}),
        ),
    ];
    let path = home.write(
        &format!("{WORK}/{ID}/agents/main/wire.jsonl"),
        begun.concat(),
    );
    home.write(&format!("{WORK}/{ID}/state.json"), state("Delegate"));
    for (beside, text) in [
        ("../../.index-dirty/session_9.1", ""),
        ("../../.index-cache/scan.json", "{}"),
        ("agents/main/wire.jsonl.bak", "{}\n"),
        ("agents/main/tasks/bash-1/wire.jsonl", "{}\n"),
        ("notify/state.json", "{}"),
    ] {
        home.write(&format!("{WORK}/{ID}/{beside}"), text);
    }
    let server = home.watch(&["--days", "36500"]);
    let all = || events(&home.data(), ID);
    let has = |text: &str| all().iter().any(|event| event["payload"]["text"] == text);
    soon("it is read", || has("Delegate"));
    let of_agent = home.write(
        &format!("{WORK}/{ID}/agents/agent-0/wire.jsonl"),
        [
            begins("agent-0", cwd, "system_trigger", "Look"),
            // As the session's own agent may call one of its calls.
            call("agent-0", 6, "Agent:0", "Bash", json!({"command": "ls"})),
        ]
        .concat(),
    );
    soon("what it does is told", || {
        all()
            .iter()
            .any(|event| event["payload"]["toolCallId"] == "agent-0.Agent:0")
    });
    let rest = [
        result("agent-0", 7, "Agent:0", "README.md"),
        text("agent-0", 8, "A file."),
        ends("agent-0", 9),
    ];
    append(&of_agent, rest.concat().as_bytes());
    soon("what it says is told", || has("A file."));
    let title = || {
        let (_, page) = server.get("/api/v1/sessions?limit=10");
        page["sessions"][0]["title"].as_str().map(str::to_owned)
    };
    soon("it has its title", || {
        title().as_deref() == Some("Delegate")
    });
    // Nothing is written to its log for that.
    home.write(&format!("{WORK}/{ID}/state.json"), state("A look around"));
    soon("it has another", || {
        title().as_deref() == Some("A look around")
    });
    let rest = [
        result(
            "main",
            20,
            "Agent:0",
            "agent_id: agent-0\nstatus: completed\n\nA file.",
        ),
        text("main", 21, "There is a file."),
        ends("main", 22),
    ];
    append(&path, rest.concat().as_bytes());
    soon("it is over", || {
        all().iter().any(|event| event["type"] == "turn_end")
    });
    let inner: Vec<Value> = all()
        .into_iter()
        .filter(|event| event["agentId"] == "agent-0")
        .collect();
    assert_eq!(inner.len(), 4, "{inner:#?}");
    let is_placed = |event: &Value| event["parentToolCallId"] == "Agent:0";
    assert!(inner.iter().all(is_placed), "{inner:#?}");
    assert_eq!(ids(&server), BTreeSet::from([ID.to_owned()]));
    // As all of it is read at rest, by the folder's name; but for the title that it had.
    for path in [
        &path,
        &of_agent,
        &home.path(&format!("{WORK}/{ID}/state.json")),
    ] {
        rests(path, Duration::from_hours(25));
    }
    let is_end = |event: &Value| event["type"] == "session_end";
    soon("it ends", || all().iter().any(is_end));
    let told = all();
    let told: Vec<Value> = told
        .into_iter()
        .filter(|event| {
            event["payload"]["title"] != "Delegate" && event["payload"]["title"] != "A look around"
        })
        .collect();
    let at_rest = converted(&home.path(&format!("{WORK}/{ID}")));
    let titled = |event: &Value| event["payload"]["title"] == "A look around";
    assert_eq!(at_rest.iter().filter(|event| titled(event)).count(), 1);
    let at_rest: Vec<Value> = at_rest.into_iter().filter(|event| !titled(event)).collect();
    assert_eq!(sorted(&told), sorted(&at_rest));
    assert!(!home.said().contains("WARN"), "{}", home.said());
}

#[test]
fn a_log_that_is_mended_and_goes_on_as_another_file_loses_nothing_and_doubles_nothing() {
    let home = Home::new();
    let cwd = Path::new("/home/dev/demo");
    let whole = [
        begins("main", cwd, "user", "Sleep"),
        text("main", 4, "Begin."),
    ]
    .concat();
    let torn = call("main", 5, "Bash:0", "Bash", json!({"command": "sleep 9"}));
    let path = home.write(
        &format!("{WORK}/{ID}/agents/main/wire.jsonl"),
        format!("{whole}{}", &torn[..40]),
    );
    let server = home.watch(&["--days", "36500"]);
    let all = || events(&home.data(), ID);
    let has = |text: &str| all().iter().any(|event| event["payload"]["text"] == text);
    soon("it is read", || has("Begin."));
    let before = all();
    // Of an older version's log the newer one writes more lines, too.
    let (first, rest) = whole.split_once('\n').unwrap();
    let more = line(
        "main",
        1,
        json!({"type": "llm.tools_snapshot", "tools": []}),
    );
    let mended = home.path("mended");
    let goes_on = [
        line(
            "main",
            9,
            json!({"type": "turn.prompt", "input": [{"type": "text", "text": "Go on"}],
            "origin": {"kind": "user"}, "turnId": 1}),
        ),
        ends("main", 10),
    ];
    std::fs::write(
        &mended,
        format!("{first}\n{more}{rest}{}", goes_on.concat()),
    )
    .unwrap();
    std::fs::rename(&mended, &path).unwrap();
    soon("it goes on", || has("Go on"));
    let told = all();
    let is_line = |event: &&Value| event["type"] != "session_status";
    for event in before.iter().filter(is_line) {
        assert!(told.contains(event), "{event:#}");
    }
    let ids_told: BTreeSet<String> = told.iter().map(|event| event["id"].to_string()).collect();
    assert_eq!(ids_told.len(), told.len());
    let begun = told
        .iter()
        .filter(|event| event["payload"]["text"] == "Begin.");
    assert_eq!(begun.count(), 1);
    assert_eq!(ids(&server), BTreeSet::from([ID.to_owned()]));
    assert!(!home.said().contains("WARN"), "{}", home.said());
}

/// Its processes are those of its name, in the session's folder.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_process_is_gone_ends() {
    let home = Home::new();
    let folder = home.path("work");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    let path = home.write(
        &format!("{WORK}/{ID}/agents/main/wire.jsonl"),
        [
            begins("main", &folder, "user", "Sleep"),
            call("main", 5, "Bash:0", "Bash", json!({"command": "sleep 9"})),
        ]
        .concat(),
    );
    let program = home.path("kimi-code");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut agent = loop {
        let mut command = std::process::Command::new(&program);
        match command.arg("100").current_dir(&folder).spawn() {
            // Another test's process may have the file open as it was written.
            Err(why) if why.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            child => break child.unwrap(),
        }
    };
    let _server = home.watch(&["--days", "36500"]);
    soon("it is noted who has it", || home.has_noted(agent.id()));
    rests(&path, Duration::from_secs(30));
    let ends = || {
        let all = events(&home.data(), ID);
        all.iter().any(|event| event["type"] == "session_end")
    };
    std::thread::sleep(Duration::from_secs(3));
    assert!(!ends());
    agent.kill().unwrap();
    agent.wait().unwrap();
    soon("it ends", ends);
}
