//! When a session that is followed is over, and when it goes on.

use std::time::Duration;

use crate::support::home::{Home, append, converted, events, prompt, rests, story};
use crate::support::soon;

#[test]
fn a_session_that_has_ended_goes_on_with_its_file() {
    let home = Home::new();
    // Longer than what is read at once.
    let long: String = (0..3000).map(|n| prompt("s1", n, "Before")).collect();
    let path = home.write(".claude/projects/-w/s1.jsonl", long);
    rests(&path, Duration::from_hours(2));
    let mut server = home.watch(&[]);
    let count = |what: &str, name: &str, value: &str| {
        let all = events(&home.data(), what);
        let found = all
            .iter()
            .filter(|event| event["type"] == value || event["payload"][name] == value);
        found.count()
    };
    soon("it ends", || count("s1", "", "session_end") == 1);
    for (nth, restarts) in [(1, false), (2, true)] {
        if restarts {
            server.stop();
            server = home.watch(&[]);
        }
        append(&path, prompt("s1", 5000 + nth, "After").as_bytes());
        soon("it goes on", || count("s1", "text", "After") == nth);
        rests(&path, Duration::from_hours(2));
        soon("it ends again", || {
            count("s1", "", "session_end") == 1 + nth
        });
    }
    assert_eq!(count("s1", "text", "Before"), 3000);
    // Nothing is done then.
    #[cfg(target_os = "linux")]
    {
        let before = server.cpu_ms();
        std::thread::sleep(Duration::from_secs(2));
        assert!(server.cpu_ms() - before < 400);
    }
}

/// It was read before this start, and nothing changed since.
#[test]
fn a_session_that_comes_to_rest_after_a_new_start_ends() {
    let home = Home::new();
    let path = home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    let mut server = home.watch(&[]);
    soon("it is read", || !events(&home.data(), "s1").is_empty());
    server.stop();
    // An hour but some seconds ago.
    rests(&path, Duration::from_secs(3600 - 6));
    let _server = home.watch(&[]);
    soon("it ends", || {
        let all = events(&home.data(), "s1");
        all.iter().any(|event| event["type"] == "session_end")
    });
}

/// Only Linux says which process has which file.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_agent_is_killed_ends_though_a_call_waits_and_one_that_is_only_read_does_not() {
    let rollout = story("codex-rollout", "input.rollout.jsonl");
    let lines: Vec<&str> = rollout.lines().collect();
    let call = lines
        .iter()
        .position(|line| line.contains("_call\"") && line.contains("call_id"))
        .unwrap();
    let begun = lines[..=call].join("\n") + "\n";
    let id = converted_id(&begun);
    // Who has it, how, and whether that is taken to be its agent.
    for (how, is_agent) in [(">>", true), ("<", false)] {
        let home = Home::new();
        let path = home.write(".codex/sessions/2026/11/21/rollout-1.jsonl", &begun);
        let has_file = format!("exec 3{how}\"$0\"; exec sleep 100");
        let mut agent = std::process::Command::new("sh")
            .args(["-c", &has_file])
            .arg(&path)
            .spawn()
            .unwrap();
        let _server = home.watch(&[]);
        let count = |kind: &str| {
            let all = events(&home.data(), &id);
            all.iter().filter(|event| event["type"] == kind).count()
        };
        soon("it is read", || count("tool_call") > 0);
        if is_agent {
            soon("it is noted who has it", || home.has_noted(agent.id()));
        } else {
            // It is looked who has it.
            std::thread::sleep(Duration::from_secs(5));
        }
        agent.kill().unwrap();
        agent.wait().unwrap();
        // Written more than ten seconds ago.
        rests(&path, Duration::from_secs(30));
        if is_agent {
            soon("it ends", || count("session_end") == 1);
            // Somebody goes on with it.
            let rest = lines[call + 1..].join("\n") + "\n";
            append(&path, rest.as_bytes());
            soon("it goes on", || count("tool_result") > 0);
            // It may have been read before its time was looked at, which must not be set back until then.
            std::thread::sleep(Duration::from_secs(3));
            rests(&path, Duration::from_secs(30));
        }
        std::thread::sleep(Duration::from_secs(5));
        assert_eq!(count("session_end"), usize::from(is_agent));
    }
}

/// Claude Code opens its file for each line, and says beside its projects which process runs a session; who was seen is
/// missed by the next start, too.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_agent_is_killed_ends_also_where_the_server_was_away() {
    let codex = story("codex-rollout", "input.rollout.jsonl");
    let call = codex.lines().position(|line| line.contains("_call\""));
    let codex: Vec<&str> = codex.lines().take(call.unwrap() + 1).collect();
    let codex = codex.join("\n") + "\n";
    let claude = prompt("s1", 1, "Wait")
        + r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s1","timestamp":"2026-11-21T21:03:01.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"sleep 100"}}]}}"#
        + "\n";
    for (is_claude, is_away) in [(true, false), (true, true), (false, true)] {
        let home = Home::new();
        let (path, id) = if is_claude {
            let path = home.write(".claude/projects/-w/s1.jsonl", &claude);
            (path, "s1".to_owned())
        } else {
            let path = home.write(".codex/sessions/2026/11/21/rollout-1.jsonl", &codex);
            (path, converted_id(&codex))
        };
        let has_file = if is_claude { "" } else { "exec 3>>\"$0\"; " };
        let mut agent = std::process::Command::new("sh")
            .args(["-c", &format!("{has_file}exec sleep 100")])
            .arg(&path)
            .spawn()
            .unwrap();
        let pid = agent.id();
        if is_claude {
            let running = format!(
                r#"{{"pid":{pid},"sessionId":"s1","procStart":"{}"}}"#,
                started(pid)
            );
            home.write(&format!(".claude/sessions/{pid}.json"), running);
        }
        let mut server = home.watch(&[]);
        let count = |kind: &str| {
            let all = events(&home.data(), &id);
            all.iter().filter(|event| event["type"] == kind).count()
        };
        soon("it is read", || count("tool_call") > 0);
        soon("it is noted who has it", || home.has_noted(pid));
        // Written more than ten seconds ago: that says nothing as long as the agent is there.
        rests(&path, Duration::from_secs(30));
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(count("session_end"), 0);
        if is_away {
            server.stop();
        }
        agent.kill().unwrap();
        agent.wait().unwrap();
        if is_away {
            server = home.watch(&[]);
        }
        soon("it ends", || count("session_end") == 1);
        drop(server);
    }
}

/// When a process was started, as Linux says it.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    fields.split_whitespace().nth(19).unwrap().to_owned()
}

#[cfg(target_os = "linux")]
fn converted_id(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, text).unwrap();
    converted(&path)[0]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned()
}
