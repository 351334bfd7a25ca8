//! Several servers behind one Redis: any of them takes and gives any session, and none of them, nor the Redis, is needed for
//! what the others have.

use std::time::Duration;

use crate::support::fleet::{Fleet, log, until};
use crate::support::ports::free_address;
use crate::support::redis::Redis;
use crate::support::{self, Server, agent, chunks, make_token, signal, token_command};
use serde_json::{Value, json};

#[test]
fn any_server_takes_and_gives_any_session_under_the_same_numbers() {
    let Some(fleet) = Fleet::start(3) else { return };
    fleet.post(0, "s1", &chunks(1, 10));
    // Asked for the moment after, where nobody has told of it yet.
    assert!(log(&fleet.servers[1], "s1").is_some());
    let mut sockets: Vec<_> = fleet.servers.iter().map(Server::socket).collect();
    let hellos: Vec<Value> = sockets
        .iter_mut()
        .enumerate()
        .map(|(nth, socket)| {
            until("the session is here", || log(&fleet.servers[nth], "s1"));
            socket.open(1, "s1", None)
        })
        .collect();
    assert!(
        hellos
            .iter()
            .all(|hello| hello["epoch"] == hellos[0]["epoch"])
    );
    for n in 1..30 {
        let nth = (n % 3) as usize;
        let answer = fleet.post(nth, "s1", &chunks(n * 10 + 1, n * 10 + 10));
        assert_eq!(answer["last"], n * 10 + 10, "{answer}");
        assert_eq!(answer["epoch"], hellos[0]["epoch"]);
    }
    for socket in &mut sockets {
        let seen = socket.events(11, 300);
        let ids = seen.iter().map(|(seq, id)| (*seq, id.clone()));
        assert!(ids.eq((11..=300).map(|n| (n, format!("e{n}")))));
    }
    fleet.wait_until_same(&[0, 1, 2], "s1", 300);
    // A place in one of them is the same place in the others.
    let epoch = hellos[0]["epoch"].as_str().unwrap();
    for server in &fleet.servers {
        let hello = server.socket().open(1, "s1", Some((epoch, 250)));
        assert_ne!(hello["resume"], "reset", "{hello}");
        let path = format!("/api/v1/sessions/s1/events?after=v1.{epoch}.300");
        assert_eq!(server.get(&path).0, 200);
    }
    // What is sent again is known, wherever it is sent.
    let again = fleet.post(2, "s1", &chunks(1, 300));
    assert_eq!(again["dups"], 300);
    // Reports of a sandbox's worker, whose task may have any name.
    for nth in [0, 1, 2, 1] {
        let report = json!({"event_type": "info", "message": format!("from {nth}")}).to_string();
        let path = "/api/v1/sandbox/task/task%20one/progress";
        until("the report is taken", || {
            (fleet.servers[nth].post_text(path, &report).0 < 300).then_some(())
        });
    }
    // Each has all in its list.
    for server in &fleet.servers {
        let rows = until("both are in the list", || {
            let rows = server.get("/api/v1/sessions").1["sessions"].clone();
            (rows.as_array().unwrap().len() == 2).then_some(rows)
        });
        let row = rows
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["id"] == "s1");
        assert_eq!(row.unwrap()["events"], 300);
    }
}

#[test]
fn a_server_that_comes_later_or_comes_back_has_all_and_long_bodies_too() {
    let Some(mut fleet) = Fleet::start(2) else {
        return;
    };
    let long = "a long line\n".repeat(20_000);
    let event = json!([{"id": "long", "timestamp": 1, "type": "tool_result",
        "payload": {"toolCallId": "c1", "result": long}}]);
    fleet.post(0, "long", &event);
    // A body that was sent beforehand, to another server than its event.
    let aside = "another long line\n".repeat(20_000);
    let sha256 = chat_store::sha256_hex(aside.as_bytes());
    assert_eq!(fleet.servers[1].put_blob(&sha256, aside.as_bytes()), 204);
    let reference =
        json!({"$body": {"sha256": sha256, "bytes": aside.len(), "preview": "another"}});
    let event = json!([{"id": "aside", "timestamp": 1, "type": "tool_result",
        "payload": {"toolCallId": "c2", "result": reference}}]);
    fleet.post(0, "long", &event);
    for n in 0..5 {
        fleet.post(n % 2, &format!("s{n}"), &chunks(1, 100));
    }
    fleet.add();
    fleet.wait_until_same(&[0, 1, 2], "long", 2);
    let (_, events) = log(&fleet.servers[2], "long").unwrap();
    assert_eq!(events[0]["payload"]["result"], long);
    assert_eq!(events[1]["payload"]["result"], aside);
    (0..5).for_each(|n| fleet.wait_until_same(&[0, 1, 2], &format!("s{n}"), 100));
    // Killed while much comes, and back.
    for round in 0..3 {
        for n in 0..10 {
            let from = 100 + round * 100 + n * 10;
            fleet.post(0, "s0", &chunks(from + 1, from + 10));
            fleet.post(1, "s1", &chunks(from + 1, from + 10));
            if n == 5 {
                fleet.servers[2].kill();
            }
        }
        fleet.restart(2);
        let head = 200 + round * 100;
        fleet.wait_until_same(&[0, 1, 2], "s0", head);
        fleet.wait_until_same(&[0, 1, 2], "s1", head);
    }
}

#[test]
fn while_its_home_is_away_a_session_is_read_elsewhere_and_what_is_sent_waits() {
    let Some(mut fleet) = Fleet::start(2) else {
        return;
    };
    fleet.post(0, "s1", &chunks(1, 50));
    fleet.wait_until_same(&[0, 1], "s1", 50);
    let before = log(&fleet.servers[0], "s1");
    fleet.servers[0].kill();
    assert_eq!(log(&fleet.servers[1], "s1"), before);
    let (status, answer) = fleet.servers[1].post("s1", &chunks(51, 60));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("home_away")),
        "{answer}"
    );
    assert!(
        answer["error"]["retryAfterMs"].as_u64() > Some(0),
        "{answer}"
    );
    // Others go on.
    fleet.post(1, "s2", &chunks(1, 10));
    fleet.restart(0);
    fleet.post(1, "s1", &chunks(51, 60));
    fleet.wait_until_same(&[0, 1], "s1", 60);
    fleet.wait_until_same(&[0, 1], "s2", 10);
}

#[test]
fn a_session_whose_home_hangs_is_taken_over_and_what_the_home_still_took_is_not_lost() {
    let Some(fleet) = Fleet::start(3) else { return };
    fleet.post(0, "s1", &chunks(1, 50));
    fleet.post(0, "rest", &chunks(1, 5));
    fleet.wait_until_same(&[0, 1, 2], "s1", 50);
    fleet.wait_until_same(&[0, 1, 2], "rest", 5);
    signal(&fleet.servers[0].child, "STOP");
    // Until then it waits, and then it is another's.
    fleet.post(1, "s1", &chunks(51, 60));
    fleet.post(2, "s1", &chunks(61, 70));
    fleet.wait_until_same(&[1, 2], "s1", 70);
    signal(&fleet.servers[0].child, "CONT");
    // It does not know yet, and takes what it is sent.
    let long = "a long line of the old home\n".repeat(10_000);
    let event = json!([{"id": "long", "timestamp": 1, "type": "tool_result",
        "payload": {"toolCallId": "c1", "result": long}}]);
    assert_eq!(fleet.servers[0].post("s1", &event).0, 200);
    fleet.wait_until_same(&[0, 1, 2], "s1", 71);
    let (_, events) = log(&fleet.servers[2], "s1").unwrap();
    let mut ids: Vec<&str> = events
        .iter()
        .map(|event| event["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    let mut expected: Vec<String> = (1..=70).map(|n| format!("e{n}")).collect();
    expected.push("long".to_owned());
    expected.sort_unstable();
    assert_eq!(ids, expected);
    assert!(
        events
            .iter()
            .any(|event| event["payload"]["result"] == long)
    );
    // All go on, from wherever.
    (0..3).for_each(|nth| drop(fleet.post(nth, "s1", &chunks(71 + nth as u64, 71 + nth as u64))));
    fleet.wait_until_same(&[0, 1, 2], "s1", 74);
    fleet.post(0, "rest", &chunks(6, 6));
    fleet.wait_until_same(&[0, 1, 2], "rest", 6);
}

#[test]
fn a_server_whose_data_folder_is_another_s_copy_takes_nothing_in() {
    let Some(mut fleet) = Fleet::start(1) else {
        return;
    };
    fleet.post(0, "s1", &chunks(1, 10));
    let dir = tempfile::tempdir().unwrap();
    let id = std::fs::read(fleet.servers[0].data.join("server-id")).unwrap();
    std::fs::write(dir.path().join("server-id"), id).unwrap();
    let server = fleet.start_one(dir.path(), &free_address());
    fleet.servers.push(server);
    until("both are told apart", || {
        let refused = fleet.servers.iter().any(|server| {
            let (status, answer) = server.post("s1", &chunks(11, 12));
            status == 503 && answer.to_string().contains("name")
        });
        refused.then_some(())
    });
}

#[test]
fn what_waits_in_a_spool_is_sent_to_the_home_of_its_session() {
    let Some(mut fleet) = Fleet::start(2) else {
        return;
    };
    fleet.post(0, "s1", &chunks(1, 10));
    fleet.wait_until_same(&[0, 1], "s1", 10);
    // A pipe beside the second server, while that is away and afterwards.
    fleet.servers[1].kill();
    let lines = |from, to| -> String {
        let events = chunks(from, to);
        let events = events.as_array().unwrap().iter().cloned();
        events
            .map(|mut event| {
                event["sessionId"] = "s1".into();
                format!("{event}\n")
            })
            .collect()
    };
    let data = fleet.servers[1].data.clone();
    let mut pipe = std::process::Command::new(support::PROGRAM)
        .args(["pipe", "--from", "chat-events", "--data"])
        .arg(&data)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut input = pipe.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, lines(11, 30).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    // It leaves what it could not send to the server that comes.
    pipe.kill().unwrap();
    pipe.wait().unwrap();
    fleet.restart(1);
    until("the spool is taken in", || {
        let (_, events) = log(&fleet.servers[0], "s1")?;
        (11..=30)
            .all(|n| events.iter().any(|event| event["id"] == format!("e{n}")))
            .then_some(())
    });
    let head = log(&fleet.servers[0], "s1").unwrap().1.len() as u64;
    fleet.wait_until_same(&[0, 1], "s1", head);
}

#[test]
fn what_only_the_old_home_has_is_given_to_the_new_one_however_much_it_is() {
    let Some(fleet) = Fleet::start(2) else { return };
    fleet.post(0, "s1", &chunks(1, 50));
    fleet.wait_until_same(&[0, 1], "s1", 50);
    signal(&fleet.servers[0].child, "STOP");
    fleet.post(1, "s1", &chunks(51, 60));
    signal(&fleet.servers[0].child, "CONT");
    // More than a token may send at once, and it goes on while it is given.
    let remote = support::Remote::of(&fleet.servers[0]);
    for n in 0..30 {
        let events = chunks(1000 + n * 200, 1199 + n * 200).to_string();
        let (status, answer) = remote.post("/api/v1/sessions/s1/events", &events).unwrap();
        assert!(matches!(status, 200 | 503), "{answer}");
        if status == 503 {
            fleet.post(0, "s1", &chunks(1000 + n * 200, 1199 + n * 200));
        }
    }
    fleet.wait_until_same(&[0, 1], "s1", 6060);
    let (_, events) = log(&fleet.servers[1], "s1").unwrap();
    let ids: std::collections::BTreeSet<_> = events
        .iter()
        .map(|event| event["id"].as_str().unwrap().to_owned())
        .collect();
    let expected = (1..=60).chain(1000..7000).map(|n| format!("e{n}"));
    assert_eq!(ids, expected.collect());
}

#[test]
fn without_their_redis_servers_go_on_with_what_they_have_and_find_each_other_again() {
    let Some(mut fleet) = Fleet::start(2) else {
        return;
    };
    fleet.post(0, "s1", &chunks(1, 10));
    fleet.post(1, "s2", &chunks(1, 10));
    fleet.wait_until_same(&[0, 1], "s1", 10);
    fleet.wait_until_same(&[0, 1], "s2", 10);
    let mut head = 10;
    let harms: [fn(&mut Redis); 3] = [
        |redis| {
            redis.kill();
            std::thread::sleep(Duration::from_secs(1));
            redis.restart();
        },
        |redis| redis.ask::<()>(&["FLUSHALL"]),
        |redis| {
            signal(&redis.child, "STOP");
            std::thread::sleep(Duration::from_secs(3));
            signal(&redis.child, "CONT");
        },
    ];
    for harm in harms {
        std::thread::scope(|scope| {
            let harming = scope.spawn(|| harm(&mut fleet.redis));
            while !harming.is_finished() {
                let events = chunks(head + 1, head + 10);
                // The home takes what is its own, and hears of no Redis.
                assert_eq!(fleet.servers[0].post("s1", &events).0, 200);
                assert_eq!(fleet.servers[1].post("s2", &events).0, 200);
                // Whose these are is known without asking, too.
                assert_eq!(fleet.servers[1].post("s1", &events).0, 200);
                head += 10;
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        fleet.wait_until_same(&[0, 1], "s1", head);
        fleet.wait_until_same(&[0, 1], "s2", head);
        // A session that nobody has yet finds a home again.
        let fresh = format!("fresh{head}");
        fleet.post(1, &fresh, &chunks(1, 5));
        fleet.wait_until_same(&[0, 1], &fresh, 5);
    }
}

#[test]
fn tokens_and_answers_are_good_at_all_of_them() {
    let Some(fleet) = Fleet::start(2) else { return };
    let ask = json!([{"id": "ask", "timestamp": 1, "type": "permission_request", "turnId": "t1",
        "payload": {"requestId": "r1", "toolName": "Bash", "answerable": true}}]);
    fleet.post(0, "s1", &ask);
    fleet.wait_until_same(&[0, 1], "s1", 1);
    let status = |server: &Server, token: &str| {
        let answer = agent()
            .get(format!("{}/api/v1/sessions/s1/events", server.url))
            .header("Authorization", format!("Bearer {token}"))
            .call();
        answer.unwrap().status().as_u16()
    };
    let made = make_token(&fleet.servers[0], &["--scope", "read", "--label", "reader"]);
    until("the token is good there", || {
        (status(&fleet.servers[1], &made) == 200).then_some(())
    });
    // One that may not answer may not by way of another server, either.
    let path = "/api/v1/sessions/s1/permissions/r1";
    let decision = json!({"decision": "allow"}).to_string();
    let (refused, _) = fleet.servers[1].ask("POST", path, &made, &decision);
    assert_eq!(refused, 403);
    let sender = make_token(&fleet.servers[1], &["--scope", "ingest"]);
    let own = json!([{"id": "own", "timestamp": 2, "type": "permission_resolved", "turnId": "t1",
        "payload": {"requestId": "r1", "decision": "allow"}}]);
    let events = "/api/v1/sessions/s1/events";
    let (_, answer) = fleet.servers[1].ask("POST", events, &sender, &own.to_string());
    let (_, direct) = fleet.servers[0].ask("POST", events, &fleet.servers[0].token, "[]");
    assert!(
        !answer.to_string().contains("\"stored\""),
        "{answer} {direct}"
    );
    // Answered at the copy, heard at the home.
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fleet.servers[0].get(&format!("{path}?wait=30")));
        std::thread::sleep(Duration::from_millis(300));
        let (status, answer) = fleet.servers[1].post_text(path, &decision);
        assert_eq!(status, 200, "{answer}");
        waiting.join().unwrap()
    });
    assert_eq!(waiting.0, 200, "{waiting:?}");
    assert!(waiting.1.to_string().contains("allow"), "{waiting:?}");
    fleet.wait_until_same(&[0, 1], "s1", 2);
    // Taken back at one of them, it is refused at both.
    let listed = token_command(&fleet.servers[1].data, "list", &[]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let line = listed.lines().find(|line| line.contains("reader")).unwrap();
    let id = line.split_whitespace().next().unwrap();
    assert!(
        token_command(&fleet.servers[1].data, "revoke", &[id])
            .status
            .success()
    );
    for server in &fleet.servers {
        until("the token is refused", || {
            (status(server, &made) == 401).then_some(())
        });
    }
}
