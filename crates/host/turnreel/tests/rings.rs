//! What is held for readers has one bound, however many sessions they follow: who is behind reads on from the log (S28).

use std::collections::BTreeMap;

use crate::support::{Server, Socket, chunks, figure, seq_and_id};
use serde_json::{Value, json};

const SESSIONS: u64 = 24;
const EVENTS: u64 = 500;

/// A socket that follows all sessions.
struct Reader {
    socket: Socket,
    /// The last number of each session, as far as it is to be told of it.
    had: BTreeMap<u64, u64>,
    /// As far as it was told of it.
    told: BTreeMap<u64, u64>,
    /// Sessions that it is behind in.
    behind: Vec<u64>,
    n_over: u64,
}

impl Reader {
    /// Takes one frame.
    fn take(&mut self) {
        let frame = self.socket.next();
        let sub = frame["sub"].as_u64().unwrap();
        let had = self.had.get_mut(&sub).unwrap();
        match frame["op"].as_str().unwrap() {
            "ev" => {
                assert_eq!(frame["from"], *had + 1);
                *had = frame["to"].as_u64().unwrap();
                self.told.insert(sub, *had);
            }
            "lag" => {
                self.behind.push(sub);
                *had = EVENTS + 1;
            }
            other => panic!("{other}: {frame}"),
        }
        self.n_over += u64::from(*had > EVENTS);
    }
}

#[test]
fn readers_of_many_busy_sessions_get_all_of_them_within_one_bound() {
    const MOST: f64 = 32.0 * 1024.0 * 1024.0;
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--rate", "0", "--ring-mib", "32"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let mut reader = Reader {
        socket: server.socket(),
        had: BTreeMap::new(),
        told: BTreeMap::new(),
        behind: Vec::new(),
        n_over: 0,
    };
    for n in 0..SESSIONS {
        let session = format!("s{n}");
        server.post(&session, &chunks(0, 0));
        reader.socket.open(n, &session, None);
        reader.had.insert(n, 1);
    }
    let text = "x".repeat(3000);
    let events: Value = (1..=EVENTS)
        .map(|n| json!({"id": format!("e{n}"), "timestamp": 1, "type": "assistant_done", "payload": {"text": text}}))
        .collect();
    for n in 0..SESSIONS {
        assert_eq!(server.post(&format!("s{n}"), &events).0, 200);
        assert!(figure(&server, "turnreel_rings_held_bytes") <= MOST);
        // It takes less than comes, but it goes on.
        reader.take();
    }
    assert_eq!(figure(&server, "turnreel_rings_most_bytes"), MOST);
    assert!(figure(&server, "turnreel_rings_let_go_total") > 5.0);
    while reader.n_over < SESSIONS {
        reader.take();
    }
    // What it was not told of, it reads by pages.
    assert!(!reader.behind.is_empty());
    for sub in reader.behind {
        let mut had = reader.told.get(&sub).copied().unwrap_or(1);
        assert!(had <= EVENTS);
        while had <= EVENTS {
            let path = format!("/api/v1/sessions/s{sub}/events?after={had}");
            for event in server.get(&path).1["events"].as_array().unwrap() {
                had += 1;
                assert_eq!(seq_and_id(event).0, had);
            }
        }
    }
}
