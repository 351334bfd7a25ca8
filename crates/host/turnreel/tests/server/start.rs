//! How a server begins: where it may listen, what is in its way, and what it leaves for those who look for it.

use std::process::{Command, Stdio};

use crate::support::{self, Server, command};
use serde_json::Value;

#[test]
fn a_server_answers_only_to_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let output = serve(dir.path(), "0.0.0.0:0");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("could not listen on 0.0.0.0"), "{said}");
}

#[test]
fn a_port_in_use_is_named_with_the_way_to_choose_another() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(first.path());
    let output = serve(second.path(), &server.address());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&server.address()), "{said}");
    assert!(said.contains("--listen"), "{said}");
}

#[test]
fn a_second_server_in_a_folder_is_told_who_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let output = serve(dir.path(), "127.0.0.1:0");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains(&format!("locked by pid {}", server.child.id())),
        "{said}"
    );
    assert!(
        said.contains(&format!("served at {}", server.url)),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_token_and_it_stays_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut server = Server::start(&data);
    let token = server.token.clone();
    let mode = |name: &str| {
        std::fs::metadata(data.join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("token"), 0o600);
    assert_eq!(mode(""), 0o700);
    assert_eq!(std::fs::read_to_string(data.join("token")).unwrap(), token);
    let file: Value =
        serde_json::from_str(&std::fs::read_to_string(data.join("server.json")).unwrap()).unwrap();
    assert_eq!(file["url"], server.url);
    server.kill_and_restart();
    assert_eq!(server.token, token);
}

#[test]
fn a_server_beyond_this_machine_is_found_here_at_an_address_that_it_answers_to() {
    // The last is one that this machine has beside the usual ones.
    let mut addresses = vec![("0.0.0.0:0", "http://127.0.0.1:")];
    if cfg!(target_os = "linux") {
        addresses.push(("127.0.0.9:0", "http://127.0.0.9:"));
    }
    for (listen, here) in addresses {
        let dir = tempfile::tempdir().unwrap();
        let made = support::token_command(dir.path(), "create", &["--scope", "read"]);
        assert!(made.status.success(), "{made:?}");
        let server = Server::start_on(dir.path(), listen, &["--no-examples"]);
        assert!(server.url.starts_with(here), "{}", server.url);
        let file = std::fs::read(dir.path().join("server.json")).unwrap();
        let file: Value = serde_json::from_slice(&file).unwrap();
        assert_eq!(file["url"], server.url);
        assert_eq!(server.get("/api/v1/sessions").0, 200);
        let event = br#"{"id":"a","timestamp":1,"sessionId":"s1","type":"user_message","payload":{"text":"Hi"}}"#;
        let pipe = command::start_at(dir.path(), "pipe", &["--wait", "60"]);
        let piped = command::finish(pipe, event);
        assert_eq!(command::text(&piped.stderr), "");
        assert!(!server.all("s1", 100).is_empty(), "{piped:?}");
    }
}

#[test]
fn who_listens_on_all_addresses_without_a_name_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let made = support::token_command(dir.path(), "create", &["--scope", "read"]);
    assert!(made.status.success(), "{made:?}");
    let said = |more: &[&str]| {
        let path = dir.path().join("said");
        let mut command = Command::new(support::PROGRAM);
        command.stderr(std::fs::File::create(&path).unwrap());
        let more = [&["--no-examples"], more].concat();
        let mut server = Server::start_by(command, dir.path(), "0.0.0.0:0", &more).unwrap();
        assert!(server.stop().success());
        std::fs::read_to_string(&path).unwrap()
    };
    let told = said(&[]);
    assert!(told.contains("--host"), "{told}");
    for named in [
        ["--host", "feed.example"],
        ["--public-url", "https://feed.example"],
    ] {
        assert_eq!(said(&named), "");
    }
}

fn serve(data: &std::path::Path, listen: &str) -> std::process::Output {
    Command::new(support::PROGRAM)
        .args(["serve", "--listen", listen, "--no-examples", "--data"])
        .arg(data)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_what_it_prints_does_not_keep_it_from_serving() {
    let dir = tempfile::tempdir().unwrap();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut child = Command::new(support::PROGRAM)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--no-examples",
            "--data",
        ])
        .arg(dir.path())
        .stdout(full)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let named = dir.path().join("server.json");
    support::soon("it serves", || named.is_file());
    support::signal(&child, "TERM");
    assert!(support::wait_for(&mut child, support::PATIENCE).success());
    assert!(!named.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_is_closed_stops_it_unless_it_was_started_to_outlive_it() {
    // Who runs the tests to outlive a terminal has the server outlive it, too.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    if ignored & 1 == 1 {
        println!("skipped: these tests ignore SIGHUP");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    support::signal(&server.child, "HUP");
    assert!(support::wait_for(&mut server.child, support::PATIENCE).success());
    assert!(!dir.path().join("server.json").exists());
    let mut outlives = Command::new("nohup");
    outlives.arg(support::PROGRAM);
    let mut server =
        Server::start_by(outlives, dir.path(), "127.0.0.1:0", &["--no-examples"]).unwrap();
    support::signal(&server.child, "HUP");
    assert_eq!(server.get("/api/v1/sessions").0, 200);
    assert!(server.stop().success());
}
