//! What becomes of a session whose home, or one of the others, is away or slow: nothing that another has is left behind, and
//! what cannot be had now is not said to be nowhere.

use std::time::Duration;

use chat_event::ChatEvent;
use chat_store::{Options, SessionId, Store, now_ms};

use crate::support::cold::{DAY, is_packed, make_older, manifests};
use crate::support::fleet::{Fleet, log, until};
use crate::support::s3::{SECRET, Way, Wrong, moto};
use crate::support::{chunks, signal};
use serde_json::{Value, json};

const CREDENTIALS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "an-access-key"),
    ("AWS_SECRET_ACCESS_KEY", SECRET),
];

fn home_of(fleet: &Fleet, session: &str) -> Option<String> {
    fleet
        .redis
        .ask(&["HGET", "turnreel:{fleet}:homes", session])
}

/// Until Redis takes the server to be gone.
fn wait_until_gone(fleet: &Fleet, nth: usize) {
    let id = std::fs::read_to_string(fleet.servers[nth].data.join("server-id")).unwrap();
    let key = format!("turnreel:{{fleet}}:server:{}", id.trim());
    until("it is gone", || {
        let is_there: bool = fleet.redis.ask(&["EXISTS", &key]);
        (!is_there).then_some(())
    });
}

fn end() -> Value {
    json!([{"id": "end", "timestamp": 9, "type": "session_end", "payload": {}}])
}

#[test]
fn who_takes_a_session_over_goes_on_behind_all_that_any_server_has_of_it() {
    let Some(mut fleet) = Fleet::start(3) else {
        return;
    };
    fleet.post(0, "s1", &chunks(1, 50));
    fleet.wait_until_same(&[0, 1, 2], "s1", 50);
    fleet.servers[2].kill();
    fleet.post(0, "s1", &chunks(51, 60));
    fleet.wait_until_same(&[0, 1], "s1", 60);
    fleet.servers[0].kill();
    // What Redis has of it is lost, too.
    let keys: Vec<String> = fleet.redis.ask(&["KEYS", "*s1*"]);
    for key in &keys {
        let _: i64 = fleet.redis.ask(&["DEL", key]);
    }
    wait_until_gone(&fleet, 0);
    // The one that has all gives no answer for a while; the one that has not is asked meanwhile.
    signal(&fleet.servers[1].child, "STOP");
    fleet.restart(2);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(6));
            signal(&fleet.servers[1].child, "CONT");
        });
        fleet.post(2, "s1", &chunks(61, 61))
    });
    assert_eq!(answer["last"], 61, "{answer}");
    fleet.wait_until_same(&[1, 2], "s1", 61);
    let (_, events) = log(&fleet.servers[2], "s1").unwrap();
    let ids = events.iter().map(|event| event["id"].as_str().unwrap());
    assert!(ids.eq((1..=61).map(|n| format!("e{n}"))));
}

#[test]
fn an_event_that_its_new_home_does_not_take_ends_no_hand_over() {
    let Some(mut fleet) = Fleet::start(2) else {
        return;
    };
    fleet.post(0, "s1", &chunks(1, 10));
    fleet.wait_until_same(&[0, 1], "s1", 10);
    fleet.servers[0].kill();
    fleet.post(1, "s1", &chunks(11, 12));
    // As a version wrote it that took longer ids.
    let data = fleet.servers[0].data.clone();
    let store = Store::open(&data, Options::default()).unwrap();
    let id = "x".repeat(200);
    let line = format!(
        r#"{{"id":"{id}","timestamp":1,"type":"user_message","payload":{{"text":"only here"}}}}"#
    );
    let session = store.session(&SessionId::parse("s1").unwrap()).unwrap();
    let event = ChatEvent::from_json(&line).unwrap();
    session.append(vec![event], true, now_ms()).unwrap();
    drop(session);
    drop(store);
    fleet.restart(0);
    fleet.wait_until_same(&[0, 1], "s1", 12);
    // It stands in what is set aside.
    let files = std::fs::read_dir(&data).unwrap();
    let mut names = files.map(|entry| entry.unwrap().path());
    assert!(names.any(|path| {
        path.to_string_lossy().contains(".aside-")
            && std::fs::read_to_string(&path).is_ok_and(|text| text.contains("only here"))
    }));
    fleet.post(0, "s1", &chunks(13, 13));
    fleet.wait_until_same(&[0, 1], "s1", 13);
}

#[test]
fn a_packed_session_that_its_home_cannot_give_now_is_not_said_to_be_nowhere() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    let url = bucket.url_over(&way.address);
    let more = ["--s3", &url, "--evict-days", "2"];
    let Some(mut fleet) = Fleet::start_with(1, &more, &CREDENTIALS) else {
        return;
    };
    fleet.post(0, "s1", &chunks(1, 50));
    fleet.post(0, "s1", &end());
    until("its home copies it", || {
        (manifests(&bucket, "s1").len() == 1).then_some(())
    });
    fleet.servers[0].stop();
    make_older(&fleet.servers[0].data, "s1", 3 * DAY);
    fleet.restart(0);
    let data = fleet.servers[0].data.clone();
    until("its home packs it away", || {
        is_packed(&data, "s1").then_some(())
    });
    fleet.add();
    way.spoil("GET", ".events.jsonl.gz", Wrong::Status(403), 1);
    let path = "/api/v1/sessions/s1/events";
    until("the home is asked, and cannot give it", || {
        let (status, answer) = fleet.servers[1].get(path);
        assert_eq!(status, 503, "{answer}");
        assert!(answer["error"]["retryAfterMs"].is_number(), "{answer}");
        (way.n_left() == 0).then_some(())
    });
    let page = until("it is given", || {
        let (status, page) = fleet.servers[1].get(path);
        assert!(matches!(status, 200 | 503), "{page}");
        (status == 200).then_some(page)
    });
    assert_eq!(page["head"], 51);
    fleet.wait_until_same(&[0, 1], "s1", 51);
}

#[test]
fn a_session_whose_home_is_away_is_read_from_the_store_and_stays_at_home_there() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let url = bucket.url();
    let Some(mut fleet) = Fleet::start_with(1, &["--s3", &url], &CREDENTIALS) else {
        return;
    };
    fleet.post(0, "s1", &chunks(1, 50));
    fleet.post(0, "s1", &end());
    until("its home copies it", || {
        (manifests(&bucket, "s1").len() == 1).then_some(())
    });
    let home = home_of(&fleet, "s1");
    fleet.servers[0].kill();
    wait_until_gone(&fleet, 0);
    fleet.add();
    let (epoch, events) = until("it is read", || log(&fleet.servers[1], "s1"));
    assert_eq!(events.len(), 51);
    // Longer than a home is waited for where something is sent.
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(log(&fleet.servers[1], "s1"), Some((epoch.clone(), events)));
    assert_eq!(home_of(&fleet, "s1"), home);
    fleet.restart(0);
    let answer = fleet.post(0, "s1", &chunks(52, 60));
    assert_eq!(answer["last"], 60, "{answer}");
    fleet.wait_until_same(&[0, 1], "s1", 60);
    assert_eq!(home_of(&fleet, "s1"), home);
}
