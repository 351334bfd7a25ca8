//! `turnreel hook`: what Claude Code asks is answered on the page.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::pipe::spooled;
use crate::support::{self, PROGRAM, Server, command, make_token, soon};
use serde_json::{Value, json};

fn start(data: &Path, input: &Value) -> Child {
    start_with(data, &[], input)
}

fn start_with(data: &Path, args: &[&str], input: &Value) -> Child {
    let mut child = command::start_at(data, "hook", args);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    child
}

/// As the recordings have it.
fn asks(event: &str) -> Value {
    json!({"session_id": "a6ea4e31-3636", "transcript_path": "/x.jsonl", "cwd": "/home/dev/demo", "permission_mode": "default",
        "hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "touch b.txt", "description": "Touch"}})
}

/// The request, once it is there.
fn asked(server: &Server) -> Value {
    asked_as(server, "permission_request")
}

fn asked_as(server: &Server, kind: &str) -> Value {
    let mut found = Value::Null;
    soon("the request arrives", || {
        let (_, page) = server.get("/api/v1/sessions/a6ea4e31-3636/events");
        let events = page["events"].as_array().cloned().unwrap_or_default();
        let request = events.into_iter().rfind(|event| event["type"] == kind);
        found = request.unwrap_or_default();
        !found.is_null()
    });
    found
}

/// Answers a request on the page; the status.
fn answer(server: &Server, kind: &str, request: &Value, answer: &Value) -> u16 {
    let id = request["payload"]["requestId"].as_str().unwrap();
    let path = format!("/api/v1/sessions/a6ea4e31-3636/{kind}/{id}");
    let answered = server.ask("POST", &path, &server.token, &answer.to_string());
    answered.0
}

/// What the agent is told, once the hook ends.
fn decision(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = &told["hookSpecificOutput"];
    assert_eq!(told["hookEventName"], "PermissionRequest");
    told["decision"].clone()
}

/// How many wait for an answer, as the list has it.
fn waiting(server: &Server) -> u64 {
    let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
    row["asks"].as_u64().unwrap_or(0)
}

#[test]
fn an_answer_from_the_page_reaches_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    let request = asked(&server);
    assert_eq!(request["payload"]["args"]["command"], "touch b.txt");
    assert_eq!(request["payload"]["answerable"], Value::Null);
    let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
    assert_eq!(
        (&row["asks"], &row["cwd"]),
        (&json!(1), &json!("/home/dev/demo"))
    );
    let said = json!({"decision": "deny", "message": "not that one"});
    assert_eq!(answer(&server, "permissions", &request, &said), 200);
    let expected = json!({"behavior": "deny", "message": "not that one"});
    assert_eq!(decision(child), expected);
    assert_eq!(spooled(dir.path()), 0, "nothing is left to be taken back");
}

/// Without it, tools that need the user take no answer.
#[test]
fn what_is_allowed_is_told_with_its_input_and_who_asks_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut input = asks("PermissionRequest");
    input["tool_name"] = json!("ExitPlanMode");
    input["agent_id"] = json!("a1370f19fa2ecb180");
    let child = start(dir.path(), &input);
    let request = asked(&server);
    assert_eq!(request["agentId"], "a1370f19fa2ecb180");
    assert_eq!(request["payload"]["kind"], "plan");
    let said = json!({"decision": "allow"});
    assert_eq!(answer(&server, "permissions", &request, &said), 200);
    assert_eq!(
        decision(child),
        json!({"behavior": "allow", "updatedInput": input["tool_input"]})
    );
}

/// The agent goes on with what it had; the page and the log have it without.
#[test]
fn a_secret_in_what_is_asked_for_stays_with_the_agent() {
    const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start_on(
        dir.path(),
        &support::ports::free_address(),
        &["--no-examples", "--mask"],
    );
    let mut input = asks("PermissionRequest");
    input["tool_name"] = json!("ExitPlanMode");
    input["tool_input"] = json!({"plan": format!("1. export TOKEN={SECRET}\n2. run it")});
    let child = start(dir.path(), &input);
    let request = asked(&server);
    assert_eq!(
        request["payload"]["args"]["plan"],
        "1. export TOKEN=[masked: github token]\n2. run it"
    );
    let said = json!({"decision": "allow"});
    assert_eq!(answer(&server, "permissions", &request, &said), 200);
    assert_eq!(
        decision(child),
        json!({"behavior": "allow", "updatedInput": input["tool_input"]})
    );
    let (_, page) = server.get("/api/v1/sessions/a6ea4e31-3636/events");
    assert!(!page.to_string().contains(SECRET));
}

#[test]
fn a_question_is_asked_and_answered_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut input = asks("PermissionRequest");
    input["tool_name"] = json!("AskUserQuestion");
    let options = json!([{"label": "Red", "description": "Warm"}, {"label": "Blue"}]);
    let question = json!({"question": "Which colour?", "header": "Colour", "multiSelect": true, "options": options});
    input["tool_input"] = json!({"questions": [question]});
    let child = start(dir.path(), &input);
    let request = asked_as(&server, "question_request");
    assert_eq!(
        request["payload"]["questions"],
        json!([{"id": "Which colour?", "text": "Which colour?", "header": "Colour", "multi": true, "options": options}])
    );
    assert_eq!(waiting(&server), 1);
    let said = json!({"answers": [["Red", "Blue"]]});
    assert_eq!(answer(&server, "questions", &request, &said), 200);
    input["tool_input"]["answers"] = json!({"Which colour?": "Red, Blue"});
    assert_eq!(
        decision(child),
        json!({"behavior": "allow", "updatedInput": input["tool_input"]})
    );
}

/// Claude Code does not end the hook then.
#[test]
fn what_is_allowed_where_the_agent_runs_is_asked_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    allowed_where_the_agent_runs(dir.path(), &server, &[]);
}

#[test]
fn it_is_asked_no_longer_also_where_the_hook_may_only_send() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let token = make_token(&server, &["--scope", "ingest,read"]);
    allowed_where_the_agent_runs(dir.path(), &server, &["--token", &token]);
}

fn allowed_where_the_agent_runs(dir: &Path, server: &Server, args: &[&str]) {
    let path = dir.join("transcript.jsonl");
    let mut input = asks("PermissionRequest");
    input["transcript_path"] = json!(path);
    let part =
        json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": input["tool_input"]});
    let call = json!({"type": "assistant", "message": {"content": [part]}});
    std::fs::write(&path, format!("{call}\n")).unwrap();
    let child = start_with(dir, args, &input);
    let request = asked(server);
    // Its call waits then, and its time is from the answer on.
    assert_eq!(request["payload"]["toolCallId"], "t1");
    let part =
        json!({"type": "tool_result", "tool_use_id": "t1", "content": "", "is_error": false});
    let result = json!({"type": "user", "message": {"content": [part]}});
    let mut log = std::fs::File::options().append(true).open(&path).unwrap();
    writeln!(log, "{result}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert_eq!(waiting(server), 0);
    let said = json!({"decision": "deny"});
    assert_eq!(answer(server, "permissions", &request, &said), 409);
}

/// Its prompt stands before it then: who follows the log looks for new ones once a second.
#[test]
fn what_a_new_session_asks_waits_for_its_log_to_be_told() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let path = dir.path().join("transcript.jsonl");
    let mut input = asks("PermissionRequest");
    input["transcript_path"] = json!(path);
    let part =
        json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": input["tool_input"]});
    let call = json!({"type": "assistant", "message": {"content": [part]}});
    std::fs::write(&path, format!("{call}\n")).unwrap();
    // As who follows has it.
    let spool = dir.path().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    let mark = std::fs::File::create(spool.join("following.lock")).unwrap();
    mark.try_lock().unwrap();
    let mut hook = start(dir.path(), &input);
    std::thread::sleep(Duration::from_millis(1200));
    let events = "/api/v1/sessions/a6ea4e31-3636/events";
    assert_eq!(server.get(events).0, 404);
    let prompt = json!({"id": "p", "timestamp": 1, "sessionId": "a6ea4e31-3636", "type": "user_message", "turnId": "t", "payload": {"text": "Go"}});
    let told = json!([prompt]).to_string();
    assert_eq!(server.ask("POST", events, &server.token, &told).0, 200);
    asked(&server);
    let (_, page) = server.get(events);
    let told = page["events"].as_array().unwrap().iter();
    let told: Vec<&str> = told
        .map(|it| it["type"].as_str().unwrap())
        .filter(|kind| *kind != "log_start")
        .collect();
    assert_eq!(told, ["user_message", "permission_request"]);
    hook.kill().unwrap();
    hook.wait().unwrap();
}

/// Its result comes when it is over, and that may take long.
#[cfg(target_os = "linux")]
#[test]
fn a_command_that_runs_was_allowed_where_the_agent_runs() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut input = asks("PermissionRequest");
    input["tool_input"] = json!({"command": "echo 'it runs'; sleep 60"});
    // We are the agent.
    let hook = start(dir.path(), &input);
    let request = asked(&server);
    assert_eq!(waiting(&server), 1);
    let run = |more: &str| {
        let quoted =
            format!(r#"true && eval 'echo '"'"'it runs'"'"'; sleep 60{more}' < /dev/null && pwd"#);
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &quoted]).stdout(Stdio::null());
        // What it sleeps in outlives it.
        let shell = shell.stderr(Stdio::null());
        shell.spawn().unwrap()
    };
    // A sub-agent may run one that only begins like it.
    let mut other = run("; true");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(waiting(&server), 1);
    let mut running = run("");
    let output = hook.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert_eq!(waiting(&server), 0);
    let id = request["payload"]["requestId"].as_str().unwrap();
    let path = format!("/api/v1/sessions/a6ea4e31-3636/permissions/{id}");
    assert_eq!(server.get(&path).1["outcome"]["decision"], "allow");
    for child in [&mut other, &mut running] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// The shell that it runs its hooks in lives on.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_is_killed_asks_nobody_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let hook = r#"sh -c '"$0" hook --data "$1"; true' "$0" "$1"; true"#;
    let mut agent = Command::new("sh")
        .args(["-c", hook, PROGRAM])
        .arg(dir.path())
        .env_remove("TURNREEL_ENDPOINT")
        .env_remove("TURNREEL_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = agent.stdin.take().unwrap();
    let input = asks("PermissionRequest").to_string();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    asked(&server);
    agent.kill().unwrap();
    // The hook has its other end, and ends.
    let output = agent.wait_with_output().unwrap();
    assert_eq!(output.stdout.len(), 0);
    assert_eq!(waiting(&server), 0);
}

#[test]
fn a_server_that_comes_back_on_another_port_is_waited_for_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    let request = asked(&server);
    let before = server.address();
    server.kill();
    // Nobody else is to get the port meanwhile.
    let held = std::net::TcpListener::bind(&before);
    let server = Server::start(dir.path());
    assert_ne!(server.address(), before);
    let said = json!({"decision": "deny"});
    assert_eq!(answer(&server, "permissions", &request, &said), 200);
    assert_eq!(decision(child), json!({"behavior": "deny"}));
    drop(held);
}

/// Then the agent asks where it runs.
#[test]
fn a_server_that_hangs_holds_up_no_agent() {
    let dir = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let started = Instant::now();
    let more = ["--endpoint", &url, "--token", "t"];
    let child = command::start_at(dir.path(), "hook", &more);
    let input = asks("PermissionRequest").to_string();
    let output = command::finish(child, input.as_bytes());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(started.elapsed() < support::PATIENCE);
}

#[cfg(unix)]
#[test]
fn a_server_that_begins_to_hang_is_not_waited_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    asked(&server);
    support::signal(&server.child, "STOP");
    let started = Instant::now();
    let output = child.wait_with_output();
    support::signal(&server.child, "CONT");
    let output = output.unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    // Ten seconds for the answer, and four until that is known to be taken back later.
    let took = started.elapsed();
    assert!(took < Duration::from_secs(16), "{took:?}");
}

/// The server holds a question for a while: it was there as long.
#[test]
fn a_server_that_is_killed_while_it_holds_a_question_is_waited_for_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    let request = asked(&server);
    std::thread::sleep(Duration::from_secs(4));
    server.kill();
    std::thread::sleep(Duration::from_secs(7));
    let server = Server::start(dir.path());
    let said = json!({"decision": "allow"});
    assert_eq!(answer(&server, "permissions", &request, &said), 200);
    assert_eq!(decision(child)["behavior"], "allow");
}

#[cfg(unix)]
#[test]
fn what_is_answered_elsewhere_is_asked_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    asked(&server);
    support::signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert_eq!(waiting(&server), 0);
}

/// Nobody hears an answer any more.
#[test]
fn what_a_hook_asked_that_was_killed_is_asked_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut child = start(dir.path(), &asks("PermissionRequest"));
    let request = asked(&server);
    assert_eq!((waiting(&server), spooled(dir.path())), (1, 1));
    child.kill().unwrap();
    child.wait().unwrap();
    soon("it is taken back", || waiting(&server) == 0);
    let said = json!({"decision": "allow"});
    assert_eq!(answer(&server, "permissions", &request, &said), 409);
    soon("nothing is left", || spooled(dir.path()) == 0);
    let (_, page) = server.get("/api/v1/sessions/a6ea4e31-3636/events");
    let events = page["events"].as_array().unwrap();
    let types: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
    assert_eq!(
        types,
        ["session_start", "permission_request", "permission_resolved"]
    );
}

/// Then the agent asks where it runs.
#[test]
fn it_says_nothing_where_nothing_is_asked_or_nobody_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let silent = |input: &Value| {
        let output = start(dir.path(), input).wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
        output.stderr.is_empty()
    };
    assert!(!silent(&asks("PermissionRequest")), "it says why");
    let _server = Server::start(dir.path());
    assert!(silent(&asks("PreToolUse")));
    assert!(!silent(&json!("else")));
}

#[test]
fn who_waits_no_longer_takes_the_request_back_though_the_server_is_away() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    asked(&server);
    server.stop();
    // It tries for ten seconds, and then the agent asks where it runs.
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("waits no longer for an answer"), "{said}");
    let server = Server::start(dir.path());
    soon("nobody is asked any more", || waiting(&server) == 0);
}

/// Claude Code takes 2 for a denial: whatever is wrong with how it is set up, the agent asks where it runs.
#[test]
fn a_hook_that_is_set_up_wrongly_denies_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let hook = |variable: (&str, &str), args: &[&str]| {
        let mut hook = Command::new(PROGRAM);
        hook.arg("hook").args(args).env("TURNREEL_DATA", dir.path());
        let hook = hook.env(variable.0, variable.1).stdin(Stdio::null());
        hook.output().unwrap()
    };
    for (variable, args) in [
        (("TURNREEL_MASK", "1"), &[][..]),
        (("TURNREEL_MASK", ""), &[]),
        (("TURNREEL_DATA", ""), &[]),
        (("TURNREEL_TOKEN", "x"), &["--gone-since"]),
    ] {
        let output = hook(variable, args);
        assert_eq!(output.status.code(), Some(0), "{variable:?} {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        // What is wrong is told to who looks.
        assert!(!output.stderr.is_empty());
    }
    let asked_for = hook(("TURNREEL_MASK", "1"), &["--help"]);
    assert!(command::text(&asked_for.stdout).contains("--endpoint"));
}
