//! Following Qwen Code: its sub-agents' files, what it puts away, and who runs a session.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::home::{Home, append, converted, events, ids, rests, sorted};
use crate::support::{self, soon};
use serde_json::Value;

const PROJECT: &str = ".qwen/projects/-home-dev-demo";

/// A recorded session: its id, and its files by where they lie in the project's folder.
struct Recorded {
    id: &'static str,
    files: BTreeMap<String, Vec<u8>>,
}

impl Recorded {
    fn new(name: &str) -> Recorded {
        let id = match name {
            "background" => "33b620e8-8099-40b2-97aa-fc4a681004e7",
            _ => "9f2d9709-2a67-4de7-b7f2-409a8febd906",
        };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(file) = file.strip_prefix(&format!("qwen-{name}.")) else {
                continue;
            };
            let at = match file.strip_prefix("chat") {
                Some(ending) => format!("chats/{id}{ending}"),
                None => format!("subagents/{id}/{file}"),
            };
            files.insert(at, std::fs::read(entry.path()).unwrap());
        }
        assert!(files.len() > 2, "{name}");
        Recorded { id, files }
    }

    fn chat(&self) -> String {
        format!("chats/{}.jsonl", self.id)
    }
}

fn of_agent(event: &Value) -> bool {
    event["parentToolCallId"].is_string()
}

#[test]
fn a_session_with_agents_is_told_as_it_is_converted() {
    for name in ["background", "foreground"] {
        let recorded = Recorded::new(name);
        let home = Home::new();
        for (at, bytes) in &recorded.files {
            home.write(&format!("{PROJECT}/{at}"), bytes);
        }
        let own = home.path(&format!("{PROJECT}/{}", recorded.chat()));
        for at in recorded.files.keys() {
            rests(
                &home.path(&format!("{PROJECT}/{at}")),
                Duration::from_hours(25),
            );
        }
        let server = home.watch(&[]);
        soon("it is there", || ids(&server).contains(recorded.id));
        let expected = converted(&own);
        soon("the session ends", || {
            events(&home.data(), recorded.id).len() >= expected.len()
        });
        assert_eq!(
            sorted(&events(&home.data(), recorded.id)),
            sorted(&expected)
        );
        // Its agents are no sessions of their own, and what they did stands in the calls that started them.
        assert_eq!(ids(&server).len(), 1);
        let of_agents: Vec<&Value> = expected.iter().filter(|it| of_agent(it)).collect();
        let calls: BTreeSet<&str> = of_agents
            .iter()
            .filter_map(|it| it["parentToolCallId"].as_str())
            .collect();
        assert_eq!(calls.len(), recorded.files.len() / 2, "{calls:?}");
        assert!(of_agents.iter().any(|it| it["type"] == "tool_call"));
        // A folder that is named is read alike.
        let whole = converted(&home.path(PROJECT));
        assert_eq!(sorted(&whole), sorted(&expected), "{name}");
        assert!(!home.said().contains("WARN"), "{}", home.said());
    }
}

/// As the program wrote them: each file line by line, by the times of the lines.
#[test]
fn agents_are_told_while_they_work_and_the_session_rests_when_all_are_done() {
    let recorded = Recorded::new("background");
    let home = Home::new();
    let mut lines: Vec<(String, PathBuf, Vec<u8>)> = Vec::new();
    for (at, bytes) in &recorded.files {
        if at.ends_with(".json") {
            home.write(&format!("{PROJECT}/{at}"), bytes);
            continue;
        }
        let path = home.write(&format!("{PROJECT}/{at}"), "");
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let value: Value = serde_json::from_slice(line).unwrap();
            let time = value["timestamp"].as_str().unwrap().to_owned();
            lines.push((time, path.clone(), line.to_vec()));
        }
    }
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    let server = home.watch(&[]);
    let all = || events(&home.data(), recorded.id);
    let status = || {
        let (_, page) = server.get("/api/v1/sessions?limit=10");
        page["sessions"][0]["status"].as_str().map(str::to_owned)
    };
    let has = |text: &str| all().iter().any(|event| event["payload"]["text"] == text);
    let last_of_agent = lines
        .iter()
        .rposition(|(_, path, _)| path.components().any(|it| it.as_os_str() == "subagents"));
    for (nth, (_, path, line)) in lines.iter().enumerate() {
        if Some(nth) == last_of_agent {
            // The main agent has nothing to say, and the one in the background works on.
            soon("what is there is told", || has("It found nothing either."));
            soon("it works", || status().as_deref() == Some("busy"));
            assert!(has("I list it."));
        }
        append(path, line);
    }
    soon("it rests", || status().as_deref() == Some("idle"));
    assert!(has("Still none."));
    let told = all();
    let ended = |call: &str| {
        told.iter().position(|event| {
            event["payload"]["toolCallId"] == call && event["payload"]["background"] == false
        })
    };
    for (call, words) in [
        ("call_mock_0003", "There is no check."),
        ("call_mock_0006", "Still none."),
    ] {
        let said = told.iter().position(|event| {
            event["payload"]["text"] == words && event["parentToolCallId"] == call
        });
        assert!(said.is_some(), "{words}");
        assert!(said < ended(call), "{words}: {said:?} {:?}", ended(call));
    }
    let ids: BTreeSet<String> = told.iter().map(|event| event["id"].to_string()).collect();
    assert_eq!(ids.len(), told.len());
}

#[test]
fn a_session_that_is_put_away_is_neither_lost_nor_doubled() {
    let recorded = Recorded::new("foreground");
    let home = Home::new();
    for (at, bytes) in &recorded.files {
        home.write(&format!("{PROJECT}/{at}"), bytes);
    }
    let mut server = home.watch(&[]);
    let all = || events(&home.data(), recorded.id);
    let is_idle = |event: &Value| event["payload"]["status"] == "idle";
    soon("it is read", || all().iter().any(is_idle));
    let before = all();
    let own = home.path(&format!("{PROJECT}/{}", recorded.chat()));
    let away = home.path(&format!("{PROJECT}/chats/archive/{}.jsonl", recorded.id));
    std::fs::create_dir_all(away.parent().unwrap()).unwrap();
    std::fs::rename(&own, &away).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(all(), before);
    server.stop();
    let _server = home.watch(&[]);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(all(), before);
    // It is taken out again, and goes on.
    std::fs::rename(&away, &own).unwrap();
    let bytes = recorded.files[&recorded.chat()].clone();
    let first = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap();
    let line = String::from_utf8(first.to_vec()).unwrap();
    let line = line.replace("Ask a helper to look", "Once more");
    let uuid = serde_json::from_str::<Value>(&line).unwrap()["uuid"].clone();
    let line = line.replace(
        uuid.as_str().unwrap(),
        "00000000-0000-4000-8000-000000000001",
    );
    append(&own, line.as_bytes());
    soon("it goes on", || {
        all()
            .iter()
            .any(|event| event["payload"]["text"] == "Once more")
    });
    let said = |text: &str| {
        let all = all();
        let said = all.iter().filter(|event| event["payload"]["text"] == text);
        said.count()
    };
    assert_eq!(said("Ask a helper to look"), 1);
    assert_eq!(said("There is no check."), 1);
}

/// In a terminal it says beside the session's file which process runs it.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_process_is_killed_ends() {
    let recorded = Recorded::new("foreground");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    // Where it is said of another machine, nothing is known of the process.
    for (host, is_known) in [(host.trim(), true), ("elsewhere", false)] {
        let home = Home::new();
        let own = home.write(
            &format!("{PROJECT}/{}", recorded.chat()),
            &recorded.files[&recorded.chat()],
        );
        let mut agent = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .unwrap();
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let running = serde_json::json!({
            "schema_version": 1, "pid": agent.id(), "session_id": recorded.id, "work_dir": "/home/dev/demo",
            "hostname": host, "started_at": since.unwrap().as_secs_f64(), "qwen_version": "0.24.4",
        });
        home.write(
            &format!("{PROJECT}/chats/{}.runtime.json", recorded.id),
            running.to_string(),
        );
        let _server = home.watch(&[]);
        let ends = || {
            let all = events(&home.data(), recorded.id);
            all.iter()
                .filter(|event| event["type"] == "session_end")
                .count()
        };
        soon("it is read", || {
            !events(&home.data(), recorded.id).is_empty()
        });
        if is_known {
            soon("it is noted who has it", || home.has_noted(agent.id()));
        } else {
            std::thread::sleep(Duration::from_secs(4));
            assert!(!home.has_noted(agent.id()));
        }
        rests(&own, Duration::from_secs(30));
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(ends(), 0);
        agent.kill().unwrap();
        agent.wait().unwrap();
        if is_known {
            soon("it ends", || ends() == 1);
        } else {
            std::thread::sleep(Duration::from_secs(4));
            assert_eq!(ends(), 0);
        }
    }
}

#[test]
fn a_folder_that_the_environment_names_is_read_and_the_older_one() {
    let recorded = Recorded::new("foreground");
    let bytes = &recorded.files[&recorded.chat()];
    for (name, at) in [
        ("QWEN_HOME", "elsewhere/projects/p/chats"),
        ("QWEN_RUNTIME_DIR", "elsewhere/projects/p/chats"),
        ("", ".qwen/tmp/8a1c/chats"),
    ] {
        let home = Home::new();
        let own = home.write(&format!("{at}/{}.jsonl", recorded.id), bytes);
        let mut command = home.command(&["watch", "--listen", "127.0.0.1:0", "--no-open"]);
        command.args(["--no-examples", "--data"]).arg(home.data());
        if !name.is_empty() {
            command.env(name, home.path("elsewhere"));
        }
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        soon("it is read", || {
            !events(&home.data(), recorded.id).is_empty()
        });
        support::signal(&child, "TERM");
        support::wait_for(&mut child, support::PATIENCE);
        assert!(own.is_file());
    }
}
