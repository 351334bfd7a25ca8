//! Sessions as Server-Sent Events, in the words of the log and of OpenCode.

use std::time::{Duration, Instant};

use crate::support::{self, Server, chunks};
use serde_json::{Value, json};

const SSE: &str = "/api/v1/sessions/s1/sse";

#[test]
fn a_stream_tells_all_there_was_and_all_that_comes() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(1, 700));
    let epoch = answer["epoch"].as_str().unwrap();
    let mut stream = server.stream(SSE, None);
    assert_eq!(stream.status, 200);
    let hello = stream.next().unwrap();
    assert_eq!(hello.name, "hello");
    assert_eq!(hello.data["head"], 700);
    assert_eq!(hello.data["epoch"], epoch);
    assert_eq!(hello.data["resume"], "none");
    assert_eq!(stream.seqs_to(700), (1..=700).collect::<Vec<_>>());
    for n in 701..=705 {
        server.post("s1", &chunks(n, n));
        let told = stream.next_news().unwrap();
        assert_eq!(told.id, format!("v1.{epoch}.{n}"));
        assert_eq!(told.data["id"], format!("e{n}"));
    }
    let mut from_now = server.stream(&format!("{SSE}?after=head"), None);
    let hello = from_now.next().unwrap();
    assert_eq!(hello.data["head"], 705);
    assert_eq!(
        hello.id,
        format!("v1.{epoch}.705"),
        "what it goes on behind, though it was told nothing yet"
    );
    server.post("s1", &chunks(706, 706));
    assert_eq!(from_now.seqs_to(706), [706]);
}

#[test]
fn a_stream_goes_on_behind_the_last_id_and_begins_anew_behind_one_that_is_none_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(1, 30));
    let epoch = answer["epoch"].as_str().unwrap();
    let id = format!("v1.{epoch}.12");
    // The address has a place, too: a client that comes back knows better.
    for (path, last_id) in [
        (format!("{SSE}?after=5"), Some(id.as_str())),
        (format!("{SSE}?after={id}"), None),
        (format!("{SSE}?after=12"), None),
        // Of one that has had no message yet.
        (format!("{SSE}?after=12"), Some("")),
    ] {
        let mut stream = server.stream(&path, last_id);
        assert_eq!(stream.next().unwrap().data["resume"], "ok");
        assert_eq!(stream.seqs_to(30), (13..=30).collect::<Vec<_>>());
    }
    for unknown in [format!("v1.{epoch}.31"), "v1.another.12".to_owned()] {
        let mut stream = server.stream(SSE, Some(&unknown));
        assert_eq!(stream.next().unwrap().data["resume"], "reset");
        assert_eq!(stream.seqs_to(30).len(), 30);
    }
    assert_eq!(server.stream(SSE, Some("twelve")).status, 400);
    assert_eq!(server.stream(&format!("{SSE}?format=x"), None).status, 400);
    assert_eq!(server.stream("/api/v1/sessions/s2/sse", None).status, 404);
}

#[test]
fn a_hole_in_the_log_is_told_with_both_ends_on_both_ways() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(1, 40));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    // The disk forgets: the checksums of these lines are wrong now.
    support::damage(dir.path(), &[11, 12, 13, 39, 40]);
    let mut stream = server.stream(SSE, None);
    stream.next().unwrap();
    assert_eq!(stream.seqs_to(10).len(), 10);
    let gap = stream.next_news().unwrap();
    assert_eq!(gap.name, "gap");
    assert_eq!(gap.id, format!("v1.{epoch}.13"));
    assert_eq!(gap.data, json!({"from": 11, "to": 13, "why": "disk"}));
    assert_eq!(stream.seqs_to(38), (14..=38).collect::<Vec<_>>());
    let gap = stream.next_news().unwrap();
    assert_eq!(gap.data, json!({"from": 39, "to": 40, "why": "disk"}));

    server.post("s1", &chunks(41, 44));
    assert_eq!(stream.seqs_to(44), [41, 42, 43, 44]);
    let mut socket = server.socket();
    let hello = socket.open(1, "s1", Some((&epoch, 38)));
    assert_eq!(
        (&hello["resume"], &hello["head"]),
        (&json!("ok"), &json!(44))
    );
    assert_eq!(
        socket.next(),
        json!({"op": "gap", "sub": 1, "from": 39, "to": 40, "why": "disk"})
    );
    assert_eq!(socket.events(41, 44).len(), 4);
    // Behind the other hole there are events that only a page has.
    let mut socket = server.socket();
    assert_eq!(socket.open(1, "s1", Some((&epoch, 10)))["resume"], "behind");
}

#[test]
fn a_log_that_lost_its_last_events_does_not_give_their_numbers_to_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(1, 40));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    // A line that says how the log ended stands behind them.
    assert!(server.stop().success());
    support::damage(dir.path(), &[39, 40]);
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(41, 41));
    assert_eq!(answer["first"], 41, "{answer}");
    let mut stream = server.stream(SSE, Some(&format!("v1.{epoch}.40")));
    let hello = stream.next().unwrap();
    assert_eq!(hello.data["resume"], "reset");
    assert_ne!(hello.data["epoch"], epoch);
}

#[test]
fn a_reader_that_stops_for_a_while_is_told_all_of_it_later() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let mut stalled = server.stream(SSE, None);
    stalled.next().unwrap();
    // 18 MB in all: more than the ring and the sockets' buffers hold.
    let text = "x".repeat(18_000);
    let began = Instant::now();
    for batch in 0..10u64 {
        let first = 2 + batch * 100;
        let events: Value = (first..first + 100)
            .map(|n| json!({"id": format!("e{n}"), "timestamp": n, "type": "assistant_done", "payload": {"text": text}}))
            .collect();
        assert_eq!(server.post("s1", &events).0, 200);
    }
    if began.elapsed() > Duration::from_secs(9) {
        // On a busy machine it has taken nothing for so long that it was let go, which is as good.
        return;
    }
    assert_eq!(stalled.seqs_to(1001), (1..=1001).collect::<Vec<_>>());
}

#[test]
fn a_stop_says_bye_and_ends_the_stream() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let mut stream = server.stream(SSE, None);
    stream.next().unwrap();
    stream.seqs_to(1);
    support::signal(&server.child, "TERM");
    let bye = stream.next_news().unwrap();
    assert_eq!(
        (bye.name.as_str(), &bye.data["why"]),
        ("bye", &json!("restart"))
    );
    assert_eq!(stream.next(), None);
    assert!(support::wait_for(&mut server.child, support::PATIENCE).success());
}

fn turn(n: u64) -> Value {
    let turn = format!("t{n}");
    let event = |id: &str, kind: &str, payload: Value| {
        json!({"id": format!("{turn}{id}"), "timestamp": n * 1000, "type": kind, "turnId": turn,
            "responseId": format!("r{n}"), "payload": payload})
    };
    json!([
        event("a", "turn_start", json!({"trigger": "user"})),
        event("b", "user_message", json!({"text": "List the files"})),
        event("c", "assistant_chunk", json!({"text": "I "})),
        event(
            "d",
            "tool_call",
            json!({"toolCallId": turn, "toolName": "bash", "args": {"command": "ls"}})
        ),
        event(
            "e",
            "tool_result",
            json!({"toolCallId": turn, "result": "a.txt"})
        ),
        event("f", "assistant_done", json!({"text": "There is one"})),
        event("g", "turn_end", json!({})),
    ])
}

#[test]
fn opencodes_bus_tells_a_turn_with_one_idle_and_is_resumed_without_loss() {
    const BUS: &str = "/api/v1/sessions/s1/opencode/event";
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &turn(1));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    let mut bus = server.stream(BUS, None);
    assert_eq!(bus.next().unwrap().name, "hello");
    assert_eq!(bus.next().unwrap().data["type"], "server.connected");
    server.post("s1", &turn(2));
    // What a turn is told as ends with what comes behind `idle`: the next turn's first word shows that it ended.
    server.post("s1", &turn(3));
    let is_idle = |told: &support::events::Told| told.data["type"] == "session.idle";
    let mut live = Vec::new();
    while live.iter().filter(|told| is_idle(told)).count() < 2 {
        live.push(bus.next_news().unwrap());
    }
    let busy = live.iter().filter(|told| {
        told.data["type"] == "session.status" && told.data["properties"]["status"]["type"] == "busy"
    });
    assert_eq!(busy.count(), 2);
    assert!(live.iter().all(|told| told.name == "message"));
    assert!(
        live.iter()
            .all(|told| told.data["type"] != "session.created"),
        "the state was rebuilt from the log's beginning"
    );

    // The same, read later, and cut off and resumed behind each id.
    let later = |after: &str| {
        let mut bus = server.stream(BUS, Some(after));
        bus.next().unwrap();
        bus.next().unwrap();
        let mut told = Vec::new();
        while told
            .last()
            .is_none_or(|last: &support::events::Told| last.data != live[live.len() - 1].data)
        {
            told.push(bus.next_news().unwrap());
        }
        told.into_iter().map(|told| told.data).collect::<Vec<_>>()
    };
    let all: Vec<Value> = live.iter().map(|told| told.data.clone()).collect();
    let first = format!("v1.{epoch}.7");
    assert_eq!(later(&first), all);
    let mut cuts = 0;
    for at in 1..live.len() - 1 {
        if !live[at].id.is_empty() && live[at].id != live[at - 1].id {
            cuts += 1;
            assert_eq!(later(&live[at].id), all[at + 1..], "behind {}", live[at].id);
        }
    }
    assert!(cuts > 5, "{cuts}");
}

/// A server within the test, with a pace of its own.
fn server_with(settings: turnreel::Settings, dir: &std::path::Path) -> String {
    let store = chat_store::Store::open(
        dir,
        chat_store::Options {
            sync: chat_store::SyncPolicy::Never,
            ..chat_store::Options::default()
        },
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let state = turnreel::State::new(store.unwrap(), TOKEN, address.port(), &[], settings);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let _ = turnreel::run(listener, state, std::future::pending()).await;
        });
    });
    address.to_string()
}

const TOKEN: &str = "a-token-of-the-test-that-is-long-enough-0000";

fn post(address: &str, from: u64, to: u64, text: &str) {
    let events: Value = (from..=to)
        .map(|n| json!({"id": format!("e{n}"), "timestamp": n, "type": "assistant_done", "payload": {"text": text}}))
        .collect();
    let answer = support::agent()
        .post(format!("http://{address}/api/v1/sessions/s1/events"))
        .header("Authorization", format!("Bearer {TOKEN}"))
        .header("Content-Type", "application/json")
        .send(events.to_string())
        .unwrap();
    assert_eq!(answer.status().as_u16(), 200);
}

#[test]
fn a_quiet_stream_gives_signs_of_life_and_one_that_is_not_read_is_let_go() {
    let dir = tempfile::tempdir().unwrap();
    let settings = turnreel::Settings {
        heartbeat_ms: 100,
        // Who reads is on a machine that may be busy with other tests, and must not be taken for one who does not.
        stall_ms: 6000,
        // Room for two who follow.
        sockets: 2,
        events_per_second: 0,
        ..turnreel::Settings::default()
    };
    let address = server_with(settings, dir.path());
    post(&address, 1, 1, "Hi");
    let open = || support::events::Stream::open(&address, TOKEN, SSE, None);
    let mut quiet = open();
    assert_eq!(quiet.next().unwrap().name, "hello");
    assert_eq!(quiet.seqs_to(1), [1]);
    for _ in 0..3 {
        let beat = quiet.next().unwrap();
        assert_eq!(
            (beat.name.as_str(), &beat.data),
            ("hb", &json!({"head": 1}))
        );
    }

    let unread = open();
    assert_eq!(unread.status, 200);
    assert_eq!(open().status, 503, "there is no room for a third");
    let text = "x".repeat(100_000);
    let last = 301;
    let writing = {
        let address = address.clone();
        std::thread::spawn(move || {
            for from in (2..last).step_by(50) {
                post(&address, from, from + 49, &text);
            }
        })
    };
    assert_eq!(quiet.seqs_to(last).len() as u64, last - 1);
    writing.join().unwrap();
    // Its place is free once it took nothing for so long, without a word from it.
    support::soon("there is room again", || open().status == 200);
    drop(unread);
}
