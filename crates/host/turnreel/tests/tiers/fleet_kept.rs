//! What a fleet keeps elsewhere of its sessions: Redis no more of those that went, and an object store the logs that rest.

use std::time::Duration;

use crate::support::chunks;
use crate::support::cold::{DAY, is_packed, make_older, manifests};
use crate::support::fleet::{Fleet, log, until};
use crate::support::make_token;
use crate::support::s3::{SECRET, moto};
use serde_json::json;

const HOMES: &str = "turnreel:{fleet}:homes";
const NAMED: &str = "turnreel:{fleet}:named";

fn home_of(fleet: &Fleet, session: &str) -> Option<String> {
    fleet.redis.ask(&["HGET", HOMES, session])
}

fn named(fleet: &Fleet, session: &str) -> Option<i64> {
    fleet.redis.ask(&["ZSCORE", NAMED, session])
}

#[test]
fn the_home_of_a_session_that_went_is_forgotten_and_so_is_one_that_nobody_names() {
    let Some(mut fleet) = Fleet::start(2) else {
        return;
    };
    for session in ["s1", "s2"] {
        fleet.post(0, session, &chunks(1, 5));
        fleet.wait_until_same(&[0, 1], session, 5);
    }
    let home = home_of(&fleet, "s1").unwrap();
    assert!(named(&fleet, "s1").is_some_and(|at| at > 1_700_000_000));
    for entry in std::fs::read_dir(&fleet.servers[0].data).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("s1-") {
            std::fs::remove_file(path).unwrap();
        }
    }
    until("its home is forgotten", || {
        (home_of(&fleet, "s1").is_none() && named(&fleet, "s1").is_none()).then_some(())
    });
    assert_eq!(home_of(&fleet, "s2").as_ref(), Some(&home));
    // The copy is read as before, and what is sent goes to where it was at home, which names it again.
    assert_eq!(log(&fleet.servers[1], "s1").unwrap().1.len(), 5);
    let answer = fleet.post(1, "s1", &chunks(6, 7));
    assert_eq!(answer["last"], 7);
    until("it is named again", || {
        (home_of(&fleet, "s1").as_ref() == Some(&home)).then_some(())
    });

    // Of a server that is gone for good, and of a version that did not say when.
    let add: [&[&str]; 3] = [
        &["HSET", HOMES, "stale", "gone", "unsaid", "gone"],
        &["ZADD", NAMED, "1000000000", "stale"],
        &["ZADD", NAMED, "1000000000", "s2"],
    ];
    for words in add {
        let _: i64 = fleet.redis.ask(words);
    }
    for nth in [1, 0] {
        fleet.servers[nth].stop();
        fleet.restart(nth);
    }
    until("what nobody names is forgotten", || {
        (home_of(&fleet, "stale").is_none() && named(&fleet, "unsaid").is_some()).then_some(())
    });
    assert_eq!(home_of(&fleet, "unsaid").as_deref(), Some("gone"));
    // Who is there says its own again.
    until("the other is named again", || {
        let is_named = named(&fleet, "s2").is_some_and(|at| at > 1_700_000_000);
        (is_named && home_of(&fleet, "s2").as_ref() == Some(&home)).then_some(())
    });
}

#[test]
fn a_log_that_its_home_packed_away_is_read_and_goes_on_at_all_servers() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let url = bucket.url();
    let credentials = [
        ("AWS_ACCESS_KEY_ID", "an-access-key"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ];
    let more = ["--s3", &url, "--evict-days", "2"];
    let Some(mut fleet) = Fleet::start_with(2, &more, &credentials) else {
        return;
    };
    for session in ["s1", "s2"] {
        fleet.post(0, session, &chunks(1, 50));
        let end = json!([{"id": "end", "timestamp": 9, "type": "session_end", "payload": {}}]);
        fleet.post(1, session, &end);
        fleet.wait_until_same(&[0, 1], session, 51);
        until("its home copies it", || {
            (manifests(&bucket, session).len() == 1).then_some(())
        });
    }
    let home = home_of(&fleet, "s1");
    for nth in [0, 1] {
        fleet.servers[nth].stop();
        for session in ["s1", "s2"] {
            make_older(&fleet.servers[nth].data, session, 3 * DAY);
        }
    }
    fleet.restart(0);
    fleet.restart(1);
    let data = fleet.servers[0].data.clone();
    until("its home packs it away", || {
        (is_packed(&data, "s1") && is_packed(&data, "s2")).then_some(())
    });
    // A copy is not packed away by who has it, and its home stays what it was.
    assert_eq!(log(&fleet.servers[1], "s1").unwrap().1.len(), 51);
    assert!(is_packed(&data, "s1"));
    let answer = fleet.post(1, "s1", &chunks(51, 53));
    assert_eq!(answer["last"], 54);
    assert_eq!(home_of(&fleet, "s1"), home);
    fleet.wait_until_same(&[0, 1], "s1", 54);
    // One that comes has it from its home, which fetches it first.
    fleet.add();
    until("it is read at the new server", || {
        let events = log(&fleet.servers[2], "s2")?.1;
        (events.len() == 51).then_some(())
    });
    fleet.wait_until_same(&[0, 1, 2], "s2", 51);
    assert!(!is_packed(&data, "s2"));
    assert_eq!(home_of(&fleet, "s2"), home);
}

/// The home alone keeps it as it was given: the logs have it masked.
#[test]
fn a_secret_answer_is_given_to_who_asked_whichever_server_it_asks() {
    let Some(fleet) = Fleet::start_with(2, &["--mask"], &[]) else {
        return;
    };
    let ask = json!([{"id": "q1", "timestamp": 1, "type": "question_request", "turnId": "t1",
        "payload": {"requestId": "r1", "questions": [{"id": "a", "text": "Which?", "options": [], "secret": true}]}}]);
    fleet.post(0, "s1", &ask);
    fleet.wait_until_same(&[0, 1], "s1", 1);
    let path = "/api/v1/sessions/s1/questions/r1";
    let reply = json!({"answers": [["correct horse"]]}).to_string();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fleet.servers[1].get(&format!("{path}?wait=30")));
        std::thread::sleep(Duration::from_millis(300));
        let (status, answer) = fleet.servers[1].post_text(path, &reply);
        assert_eq!(status, 200, "{answer}");
        waiting.join().unwrap()
    });
    let said = json!([["correct horse"]]);
    assert_eq!((waiting.0, &waiting.1["outcome"]["answers"]), (200, &said));
    for server in &fleet.servers {
        let (status, asked) = server.get(path);
        assert_eq!(
            (status, &asked["outcome"]["answers"]),
            (200, &said),
            "{asked}"
        );
        // Who may only read is told what the log has.
        let reader = make_token(server, &["--scope", "read"]);
        let (_, read) = server.ask("GET", path, &reader, "");
        let masked = json!([["[masked: secret answer]"]]);
        assert_eq!(read["outcome"]["answers"], masked, "{read}");
    }
}
