//! Who is let in, who is let go, and what is left for the others.

use std::io::{Read, Write};
use std::net::TcpStream;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::time::Duration;

use crate::support::{self, Server, agent, chunks, figure, soon};
use serde_json::{Value, json};

#[test]
fn an_address_holds_as_many_connections_as_it_may_and_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--connections-per-address", "20"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    // A socket is a connection, and stays one.
    let mut sockets: Vec<_> = (0..20).map(|_| server.socket()).collect();
    let (status, head, body) = server.exchange("GET", "/healthz", None, "", "");
    assert_eq!(status, 429, "{head}");
    assert!(head.to_lowercase().contains("retry-after: 5"), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["error"]["code"], "too_many_connections");
    assert!(server.socket_over(&server.address()).is_none());
    // Who is in is served.
    server_answers(&mut sockets[3]);
    drop(sockets.split_off(15));
    soon("there is room again", || {
        server.exchange("GET", "/healthz", None, "", "").0 == 200
    });
}

fn server_answers(socket: &mut support::Socket) {
    socket.send(&json!({"op": "ping", "n": 1}));
    assert_eq!(socket.next()["op"], "pong");
}

#[test]
fn one_who_takes_nothing_for_ten_seconds_is_closed_with_4008_and_comes_to_the_end_by_pages() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let mut stalled = server.socket();
    stalled.open(1, "s1", None);
    // More than the system holds for a socket that is not read.
    let text = "x".repeat(18_000);
    for batch in 0..6u64 {
        let first = 2 + batch * 100;
        let events: Value = (first..first + 100)
            .map(|n| json!({"id": format!("e{n}"), "timestamp": n, "type": "assistant_done", "payload": {"text": text}}))
            .collect();
        assert_eq!(server.post("s1", &events).0, 200);
    }
    soon("it is let go", || {
        figure(&server, "turnreel_stalled_sockets_total") == 1.0
    });
    // What was begun comes whole, and then the close.
    let mut last = 1;
    let code = loop {
        match stalled.socket.read().unwrap() {
            tungstenite::Message::Text(text) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                if frame["op"] == "ev" {
                    assert_eq!(frame["from"], last + 1);
                    last = frame["to"].as_u64().unwrap();
                }
            }
            tungstenite::Message::Close(close) => break close.map(|close| u16::from(close.code)),
            _ => {}
        }
    };
    assert_eq!(code, Some(4008));
    assert!(last < 601, "it was not held up");
    let all = server.all("s1", 1000);
    assert_eq!(all.len(), 601);
    assert_eq!(all[last as usize].0, last + 1);
}

/// With two hundred files open at most: three quarters are for connections, the rest stays for the logs.
#[cfg(target_os = "linux")]
#[test]
fn a_flood_of_connections_leaves_files_for_the_logs_and_does_not_spin() {
    const FILES: usize = 200;
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    let limited = format!("ulimit -n {FILES}; exec \"$0\" \"$@\"");
    command.args(["-c", &limited, support::PROGRAM]);
    let more = ["--no-examples"];
    let server = Server::start_by(command, dir.path(), "127.0.0.1:0", &more).unwrap();
    // One connection that is there before the others, and stays.
    let agent = agent();
    let post = |session: &str| {
        let path = format!("{}/api/v1/sessions/{session}/events", server.url);
        let answer = agent
            .post(path)
            .header("Authorization", format!("Bearer {}", server.token))
            .header("Content-Type", "application/json")
            .send(chunks(1, 3).to_string())
            .unwrap();
        let status = answer.status().as_u16();
        drop(answer.into_body().read_to_string().unwrap());
        status
    };
    assert_eq!(post("before"), 200);
    let mut sockets: Vec<_> = (0..FILES * 3 / 4 - 1).map(|_| server.socket()).collect();
    // Those that do not fit wait: they are connected, and nobody answers yet.
    let waiting: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            let request = format!(
                "GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n",
                server.address()
            );
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    for n in 0..10 {
        assert_eq!(post(&format!("new{n}")), 200, "a new log has its file");
    }
    // Once all are told of the new logs there is nothing to do but to wait. Who spins never comes to rest.
    let busy_ms = || {
        let cpu_from = server.cpu_ms();
        std::thread::sleep(Duration::from_secs(1));
        server.cpu_ms() - cpu_from
    };
    let rests = (0..30).any(|_| busy_ms() < 200);
    assert!(rests, "the processor works for nothing");
    server_answers(&mut sockets[7]);
    // When some go, those who waited are served, in their turn.
    drop(sockets);
    for mut stream in waiting {
        stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
}
