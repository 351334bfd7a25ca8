//! `turnreel` without a command: which sessions it finds, what it says of them, and how it leads to the page.

use std::process::{Output, Stdio};
use std::time::Duration;

use crate::support::home::{Home, append, events, ids, prompt, rests, story};
use crate::support::{self, Server, command, soon};

#[test]
fn sessions_of_all_agents_are_found_and_read() {
    let home = Home::new();
    home.write(
        ".claude/projects/-w/3e43c5a0-2358-42e6-a068-598b5a468dcd.jsonl",
        story("read-edit-transcript", "input.transcript.jsonl"),
    );
    home.write(
        ".codex/sessions/2026/11/21/rollout-1.jsonl",
        story("codex-rollout", "input.rollout.jsonl"),
    );
    home.write(
        ".pi/agent/sessions/--w--/1.jsonl",
        story("pi-session", "input.session.jsonl"),
    );
    home.write(
        ".gemini/tmp/p/chats/session-1.jsonl",
        story("gemini-chat", "input.chat.jsonl"),
    );
    home.write(
        ".qwen/projects/-home-dev-demo/chats/7d1f0c58-3a5e-4c7b-9a55-0d6a2f4f1a01.jsonl",
        story("qwen-chat", "input.chat.jsonl"),
    );
    home.write(
        ".factory/sessions/-home-dev-demo/0b9b6d0a-5b7e-4d1c-9f0a-3c2e6a1d7f02.jsonl",
        story("droid-session", "input.session.jsonl"),
    );
    let server = home.watch(&[]);
    soon("all six are read", || ids(&server).len() == 6);
    soon("it says so", || home.said().contains("read 6 sessions"));
    assert_eq!(home.said().matches("WARN").count(), 0, "{}", home.said());
    // Each with its agent, its title, its folder, and how it stands.
    for (agent, title) in [
        ("Qwen Code 0.15.6", "A note and a check"),
        ("Droid", "A note"),
    ] {
        let row = || {
            let (_, page) = server.get("/api/v1/sessions?limit=10");
            let rows = page["sessions"].as_array().unwrap();
            let row = rows.iter().find(|row| row["agent"] == agent);
            row.unwrap_or_else(|| panic!("{agent}: {page:#}")).clone()
        };
        assert_eq!(row()["title"], title, "{:#}", row());
        assert_eq!(row()["cwd"], "/home/dev/demo", "{:#}", row());
        soon("it rests", || row()["status"] == "idle");
    }
}

#[test]
fn an_agent_that_is_left_out_is_not_read() {
    let home = Home::new();
    home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    home.write(
        ".codex/sessions/2026/11/21/rollout-1.jsonl",
        story("codex-rollout", "input.rollout.jsonl"),
    );
    let server = home.watch(&["--skip", "codex,pi"]);
    soon("the other one is read", || ids(&server).contains("s1"));
    soon("nothing is left", || {
        home.said().contains("read 1 session,")
    });
    assert_eq!(ids(&server).len(), 1);
    // The page says whose sessions come by themselves.
    let (_, page) = server.get("/api/v1/sessions?limit=1");
    assert_eq!(
        page["follows"],
        serde_json::json!([
            "Claude Code",
            "OpenCode",
            "Gemini CLI",
            "Qwen Code",
            "Droid",
            "Grok Build",
            "Kimi Code",
            "Mistral Vibe",
            "Copilot CLI",
            "OpenHands",
            "Crush",
            "Goose",
            "Cline",
            "Roo Code",
            "Kilo Code"
        ])
    );
    let output = run(&home, &["--skip", "everything"]);
    let said = command::text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("opencode"),
        "{said}"
    );
}

#[test]
fn old_sessions_are_read_when_they_go_on() {
    let home = Home::new();
    let old = home.write(".claude/projects/-w/old.jsonl", prompt("old", 1, "Old"));
    rests(&old, Duration::from_hours(24 * 9));
    home.write(".claude/projects/-w/new.jsonl", prompt("new", 1, "New"));
    let server = home.watch(&["--days", "3"]);
    soon("the new one is read", || ids(&server).contains("new"));
    assert!(!ids(&server).contains("old"));
    append(&old, prompt("old", 2, "Again").as_bytes());
    soon("the old one is there", || ids(&server).contains("old"));
    let n_said = || {
        let all = events(&home.data(), "old");
        let said = all.iter().filter(|event| event["type"] == "user_message");
        said.count()
    };
    soon("both prompts are read", || n_said() == 2);
}

/// What is opened is led to the page, and the token stands in no command line.
#[cfg(target_os = "linux")]
#[test]
fn the_page_is_opened_where_there_is_a_display() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let opener = home.write(
        "bin/xdg-open",
        "#!/bin/sh\necho \"$1\" > \"$HOME/opened\"\n",
    );
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    let start = || {
        let mut command = home.command(&["--listen", "127.0.0.1:0", "--data"]);
        command
            .arg(home.data())
            .env("DISPLAY", ":9")
            .env("PATH", &path);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let at = home.path("opened");
    let address = || std::fs::read_to_string(&at).unwrap_or_default();
    let led = |address: &str| {
        let response = support::agent().get(address.trim());
        let response = response.config().max_redirects(0).build().call().unwrap();
        response.headers()["location"].to_str().unwrap().to_owned()
    };
    let mut first = start();
    soon("the browser is asked", || address().ends_with('\n'));
    let token = std::fs::read_to_string(home.data().join("token")).unwrap();
    assert!(!address().contains(&token));
    let page = led(&address());
    assert!(page.ends_with(&format!("/#token={token}")), "{page}");
    // A second one leads to the first, and is done then.
    std::fs::remove_file(&at).unwrap();
    let mut second = start();
    soon("the browser is asked again", || address().ends_with('\n'));
    assert_eq!(led(&address()), page);
    assert!(support::wait_for(&mut second, support::PATIENCE).success());
    support::signal(&first, "TERM");
    support::wait_for(&mut first, support::PATIENCE);
}

#[test]
fn a_folder_that_is_served_already_is_named_with_its_page() {
    let home = Home::new();
    let server = home.watch(&[]);
    let output = run(&home, &[]);
    assert!(output.status.success(), "{output:?}");
    let said = command::text(&output.stdout);
    let page = format!("{}/#token={}", server.url, server.token);
    assert!(said.contains(&page) && !said.contains("stop it"), "{said}");
    drop(server);
    let server = Server::start(&home.data());
    let said = command::text(&run(&home, &[]).stdout);
    assert!(
        said.contains(&server.url) && said.contains("stop it"),
        "{said}"
    );
}

#[test]
fn a_port_in_use_is_no_reason_not_to_serve_unless_it_was_asked_for() {
    let (home, other) = (Home::new(), tempfile::tempdir().unwrap());
    let server = Server::start(other.path());
    let output = run(&home, &["--listen", &server.address()]);
    assert_eq!(output.status.code(), Some(1));
    let said = command::text(&output.stderr);
    assert!(said.contains("--listen"), "{said}");
}

#[test]
fn without_agents_it_says_where_it_looked_and_serves_and_finds_one_that_comes() {
    let home = Home::new();
    let mut child = home
        .command(&[
            "--no-open",
            "--listen",
            "127.0.0.1:0",
            "--no-examples",
            "--data",
        ])
        .arg(home.data())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("ctrl-c") {
        assert!(
            std::io::BufRead::read_line(&mut stdout, &mut said).unwrap() > 0,
            "{said}"
        );
    }
    for place in [".claude/projects", ".codex/sessions", "opencode"] {
        assert!(said.contains(place), "{said}");
    }
    let url = said
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let server = Server {
        child,
        url: format!("http://{url}"),
        token: said
            .split("#token=")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned(),
        data: home.data(),
    };
    home.write(
        ".codex/sessions/2026/11/27/rollout-1.jsonl",
        story("codex-rollout", "input.rollout.jsonl"),
    );
    soon("it is found", || ids(&server).len() == 1);
}

/// Starts the program beside what is there; for what ends by itself.
fn run(home: &Home, more: &[&str]) -> Output {
    let mut command = home.command(&["--no-open", "--data"]);
    command.arg(home.data()).args(more).stdin(Stdio::null());
    command.output().unwrap()
}
