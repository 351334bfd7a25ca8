//! A server whose disk is full.

use serde_json::json;

use crate::support::{self, Server, chunks, soon};

#[test]
fn a_full_disk_is_said_and_leaves_no_half_line() {
    let dir = tempfile::tempdir().unwrap();
    // The shell ignores SIGXFSZ, so that a write over the limit of 64 KiB a file is refused and not deadly.
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
    let mut child = std::process::Command::new("bash")
        .args([
            "-c",
            script,
            support::PROGRAM,
            "serve",
            "--listen",
            "127.0.0.1:0",
        ])
        .args(["--ready-json", "--no-examples", "--log", "off", "--data"])
        .arg(dir.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let server = Server {
        child,
        url: ready["url"].as_str().unwrap().to_owned(),
        token: ready["token"].as_str().unwrap().to_owned(),
        data: dir.path().to_owned(),
    };
    let mut n_stored = 0;
    let mut refused = None;
    for batch in 0..20 {
        let (status, answer) = server.post("s1", &chunks(batch * 100 + 1, batch * 100 + 100));
        if status != 200 {
            refused = Some((status, answer));
            break;
        }
        n_stored += 100;
    }
    let (status, answer) = refused.expect("the limit is reached");
    assert_eq!(status, 507, "{answer}");
    assert_eq!(answer["error"]["code"], "disk_full");
    assert!(answer["error"]["retryAfterMs"].is_number());
    assert_eq!(server.all("s1", 1000).len() as u64, n_stored);
    drop(server);
    let server = Server::start(dir.path());
    assert_eq!(server.all("s1", 1000).len() as u64, n_stored);
    assert_eq!(
        server.post("s1", &chunks(n_stored + 1, n_stored + 100)).0,
        200
    );
    soon("all is there", || {
        server.all("s1", 1000).len() as u64 == n_stored + 100
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_before_the_first_line_leaves_no_session() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("bash");
    let ignores_xfsz = "trap '' XFSZ; exec \"$0\" \"$@\"";
    command.args(["-c", ignores_xfsz, support::PROGRAM]);
    // What it says of that has no room, either.
    command.stderr(std::fs::File::create(dir.path().join("stderr")).unwrap());
    let server = Server::start_by(command, dir.path(), "127.0.0.1:0", &["--no-examples"]);
    let mut server = server.unwrap();
    let room_for = |server: &Server, bytes: &str| {
        let mut limit = std::process::Command::new("prlimit");
        limit.args(["--pid", &server.child.id().to_string()]);
        let limit = limit.arg(format!("--fsize={bytes}:unlimited"));
        assert!(limit.status().unwrap().success());
    };
    room_for(&server, "0");
    let (status, answer) = server.post("s1", &chunks(1, 3));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (507, &json!("disk_full"))
    );
    let path = server_log(&server);
    assert!(!path.exists());
    assert_eq!(server.get("/api/v1/sessions").1["sessions"], json!([]));
    // There is room again, here and after a start beside what another version left.
    room_for(&server, "unlimited");
    assert_eq!(server.post("s1", &chunks(1, 3)).0, 200);
    assert_eq!(server.all("s1", 10).len(), 3);
    // So it is with links.
    let link = || server.ask("POST", "/api/v1/sessions/s1/shares", &server.token, "{}");
    room_for(&server, "0");
    let (status, answer) = link();
    assert_eq!(
        (status, &answer["error"]["code"]),
        (507, &json!("disk_full"))
    );
    room_for(&server, "unlimited");
    assert_eq!(link().0, 201);
    server.kill();
    std::fs::write(&path, "").unwrap();
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &["--no-examples"]);
    assert_eq!(server.get("/api/v1/sessions").1["sessions"], json!([]));
}

fn server_log(server: &Server) -> std::path::PathBuf {
    let stem = chat_store::SessionId::parse("s1").unwrap().stem();
    server.data.join(format!("{stem}.events.jsonl"))
}
