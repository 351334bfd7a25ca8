//! Following Droid: files whose first line is written anew, and sub-agents' sessions that name the call that started them.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::home::{Home, append, converted, events, ids, rests, sorted, story};
use crate::support::soon;
use serde_json::{Value, json};

const ID: &str = "0b9b6d0a-5b7e-4d1c-9f0a-3c2e6a1d7f02";
const CHILD: &str = "30b34828-e462-45c9-b63c-bfefb6bd178f";
const FOLDER: &str = ".factory/sessions/-home-dev-demo";

fn begins(id: &str, more: Value) -> String {
    let mut line = json!({"type": "session_start", "id": id, "title": "# Task Tool Invocation", "sessionTitle": "worker: Look again",
        "owner": "dev", "version": 2, "cwd": "/home/dev/demo"});
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    format!("{line}\n")
}

fn message(n: u32, role: &str, content: Value) -> String {
    let line = json!({"type": "message", "id": format!("20000000-0000-4000-8000-{n:012}"),
        "timestamp": format!("2026-11-30T10:00:{:02}.000Z", 53 + n), "message": {"role": role, "content": content}});
    format!("{line}\n")
}

/// The lines of a sub-agent that the fixture's call of `Task` started.
fn child(id: &str, calling: Value) -> String {
    [
        begins(id, calling),
        message(1, "user", json!([{"type": "text", "text": "# Task Tool Invocation\nIs there a check?"}])),
        message(
            2,
            "assistant",
            json!([{"type": "tool_use", "id": "call_9", "name": "Execute", "input": {"command": "ls"}}]),
        ),
        message(3, "user", json!([{"type": "tool_result", "tool_use_id": "call_9", "content": "new.txt"}])),
        message(4, "assistant", json!([{"type": "text", "text": "There is no check here."}])),
    ]
    .concat()
}

fn calling() -> Value {
    json!({"callingSessionId": ID, "callingToolUseId": "call_4"})
}

#[test]
fn a_sub_agent_stands_in_the_call_that_started_it_and_is_no_session_of_its_own() {
    let home = Home::new();
    let own = story("droid-session", "input.session.jsonl");
    let (begun, rest) = own.split_at(own.find("\"tool_use_id\":\"call_4\"").unwrap());
    let (begun, head) = begun.split_at(begun.rfind('\n').unwrap() + 1);
    let path = home.write(&format!("{FOLDER}/{ID}.jsonl"), begun);
    let server = home.watch(&[]);
    let all = || events(&home.data(), ID);
    let has = |text: &str| all().iter().any(|event| event["payload"]["text"] == text);
    soon("it is read", || has("new.txt is there. There is no check."));
    // It is told while it works, and however its file grows.
    let lines = child(CHILD, calling());
    let at = format!("{FOLDER}/{CHILD}.jsonl");
    let (first, later) = lines.split_at(lines.find("\"tool_result\"").unwrap());
    let of_child = home.write(&at, &first[..80]);
    std::thread::sleep(Duration::from_millis(1200));
    append(&of_child, &first.as_bytes()[80..]);
    soon("what it does is told", || {
        all()
            .iter()
            .any(|event| event["payload"]["toolCallId"] == "call_9")
    });
    append(&of_child, later.as_bytes());
    soon("what it says is told", || has("There is no check here."));
    append(&path, format!("{head}{rest}").as_bytes());
    soon("the session goes on", || has("Still none."));
    let of_agent: Vec<Value> = all()
        .into_iter()
        .filter(|event| event["agentId"] == CHILD)
        .collect();
    assert!(of_agent.len() >= 4, "{of_agent:#?}");
    assert!(
        of_agent
            .iter()
            .all(|event| event["parentToolCallId"] == "call_4")
    );
    let begins = of_agent
        .iter()
        .find(|event| event["type"] == "user_message");
    assert_eq!(begins.unwrap()["from"], "agent", "{begins:#?}");
    assert_eq!(ids(&server), BTreeSet::from([ID.to_owned()]));
    // As both are read at rest, by the file's name and by the folder's.
    for path in [&path, &of_child] {
        rests(path, Duration::from_hours(25));
    }
    let ends = |events: &[Value]| events.iter().any(|it| it["type"] == "session_end");
    soon("it ends", || ends(&all()));
    let expected = sorted(&converted(&path));
    assert_eq!(sorted(&all()), expected);
    assert_eq!(sorted(&converted(&home.path(FOLDER))), expected);
    assert!(!home.said().contains("WARN"), "{}", home.said());
}

#[test]
fn a_session_that_no_call_started_or_whose_caller_is_not_there_stands_by_itself() {
    let home = Home::new();
    let own = story("droid-session", "input.session.jsonl");
    home.write(&format!("{FOLDER}/{ID}.jsonl"), own);
    let orphan = json!({"callingSessionId": "elsewhere", "callingToolUseId": "call_4"});
    home.write(&format!("{FOLDER}/orphan.jsonl"), child("orphan", orphan));
    let worker = json!({"callingSessionId": ID});
    home.write(&format!("{FOLDER}/worker.jsonl"), child("worker", worker));
    // Two that say that each started the other.
    for (id, other) in [("one", "two"), ("two", "one")] {
        let calling = json!({"callingSessionId": other, "callingToolUseId": "call_4"});
        home.write(&format!("{FOLDER}/{id}.jsonl"), child(id, calling));
    }
    // One that a sub-agent started, in a folder of its own.
    home.write(&format!("{FOLDER}/{CHILD}.jsonl"), child(CHILD, calling()));
    let within = json!({"callingSessionId": CHILD, "callingToolUseId": "call_9"});
    home.write(
        ".factory/sessions/-home-dev/within.jsonl",
        child("within", within).replace("20000000", "30000000"),
    );
    let server = home.watch(&[]);
    let expected = [ID, "orphan", "worker", "one", "two"].map(str::to_owned);
    soon("all are there", || {
        ids(&server) == BTreeSet::from(expected.clone())
    });
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(ids(&server), BTreeSet::from(expected));
    let all = events(&home.data(), ID);
    let agents: BTreeSet<&str> = all.iter().filter_map(|it| it["agentId"].as_str()).collect();
    assert!(agents.contains(CHILD), "{agents:?}");
}

#[test]
fn a_file_whose_first_line_is_written_anew_loses_nothing_and_doubles_nothing() {
    let home = Home::new();
    let own = story("droid-session", "input.session.jsonl");
    let path = home.write(&format!("{FOLDER}/{ID}.jsonl"), &own);
    let server = home.watch(&[]);
    let all = || events(&home.data(), ID);
    let title = || {
        let (_, page) = server.get("/api/v1/sessions?limit=10");
        page["sessions"][0]["title"].as_str().map(str::to_owned)
    };
    soon("it is read", || title().as_deref() == Some("A note"));
    let is_idle = |event: &Value| event["payload"]["status"] == "idle";
    soon("it rests", || all().iter().any(is_idle));
    let before = all();
    for (nth, named) in ["Another name", "A longer name than that"]
        .into_iter()
        .enumerate()
    {
        let more = message(
            10 + nth as u32,
            "user",
            json!([{"type": "text", "text": named}]),
        );
        let text = std::fs::read_to_string(&path).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        let mut first: Value = serde_json::from_str(first).unwrap();
        first["sessionTitle"] = named.into();
        std::fs::write(&path, format!("{first}\n{rest}{more}")).unwrap();
        soon("it is called so", || title().as_deref() == Some(named));
        soon("it goes on", || {
            all().iter().any(|event| event["payload"]["text"] == named)
        });
    }
    // As the program does it: in its place, and with the file's time as it was before.
    let was = std::fs::metadata(&path).unwrap().modified().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let named = "A longer name than that";
    std::fs::write(&path, text.replacen(named, "Short", 1)).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(was).unwrap();
    soon("it is called so again", || {
        title().as_deref() == Some("Short")
    });
    let told = all();
    let ids: BTreeSet<String> = told.iter().map(|event| event["id"].to_string()).collect();
    assert_eq!(ids.len(), told.len());
    for event in &before {
        assert!(told.contains(event), "{event:#}");
    }
    for kind in ["tool_call", "compaction", "file_edit", "plan"] {
        let count = |events: &[Value]| events.iter().filter(|it| it["type"] == kind).count();
        assert_eq!(count(&told), count(&before), "{kind}");
    }
    // That is nothing to speak of.
    assert!(!home.said().contains("WARN"), "{}", home.said());
    rests(&path, Duration::from_hours(25));
    soon("it ends", || {
        all().iter().any(|it| it["type"] == "session_end")
    });
    let starts = |event: &Value| event["type"] == "session_start";
    let is_same = |event: &Value| !starts(event) && event["type"] != "session_status";
    let of = |events: Vec<Value>| sorted(&events.into_iter().filter(is_same).collect::<Vec<_>>());
    assert_eq!(of(all()), of(converted(&path)));
}

#[test]
fn what_a_session_used_is_told_as_the_note_beside_it_says() {
    let home = Home::new();
    let own = story("droid-session", "input.session.jsonl");
    let path = home.write(&format!("{FOLDER}/{ID}.jsonl"), &own);
    let note = |n: u32| {
        json!({"model": "m", "tokenUsage": {"inputTokens": 1000 * n, "outputTokens": n}})
            .to_string()
    };
    let at = format!("{FOLDER}/{ID}.settings.json");
    home.write(&at, note(1));
    // That of a sub-agent is none of the session's.
    home.write(&format!("{FOLDER}/{CHILD}.jsonl"), child(CHILD, calling()));
    home.write(&format!("{FOLDER}/{CHILD}.settings.json"), note(7));
    let server = home.watch(&[]);
    let used = || -> Vec<u64> {
        let all = events(&home.data(), ID);
        let all = all.iter().filter(|event| event["type"] == "usage");
        all.filter_map(|event| event["payload"]["inputTokens"].as_u64())
            .collect()
    };
    soon("it is told", || used() == [1000]);
    // It is written anew beside its place, and put there.
    let other = home.write(&format!("{FOLDER}/{ID}.settings.json.tmp"), note(2));
    std::fs::rename(other, home.path(&at)).unwrap();
    soon("more is told", || used() == [1000, 2000]);
    assert_eq!(ids(&server), BTreeSet::from([ID.to_owned()]));
    for path in [&path, &home.path(&format!("{FOLDER}/{CHILD}.jsonl"))] {
        rests(path, Duration::from_hours(25));
    }
    rests(&home.path(&at), Duration::from_hours(25));
    soon("it ends", || {
        let all = events(&home.data(), ID);
        all.iter().any(|event| event["type"] == "session_end")
    });
    // Who reads it at rest is told the last of them, under the same name.
    let last = |events: Vec<Value>| {
        events
            .into_iter()
            .rfind(|event| event["type"] == "usage")
            .unwrap()
    };
    let (told, at_rest) = (last(events(&home.data(), ID)), last(converted(&path)));
    for member in ["id", "payload"] {
        assert_eq!(told[member], at_rest[member]);
    }
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
    let own = story("droid-session", "input.session.jsonl");
    let own = own.replace("/home/dev/demo", folder.to_str().unwrap());
    let path = home.write(&format!("{FOLDER}/{ID}.jsonl"), own);
    let program = home.path("droid");
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
    let _server = home.watch(&[]);
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
