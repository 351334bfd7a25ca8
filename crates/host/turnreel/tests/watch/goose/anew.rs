//! Conversations that Goose writes anew, and a database that was brought back.

use std::collections::BTreeSet;

use super::spoken;
use super::writer::{DATABASE, Writer, message};
use crate::support::home::{Home, events, ids};
use crate::support::soon;
use serde_json::{Value, json};

/// The turns that are said to be left, and what was asked in each.
fn left(home: &Home, session: &str) -> Vec<(Vec<String>, bool)> {
    let all = events(&home.data(), session);
    let notices = all
        .iter()
        .filter(|it| it["type"] == "notice" && it["payload"]["source"] == "branch");
    let asked = |turn: &Value| {
        let ask = all
            .iter()
            .find(|it| it["type"] == "user_message" && it["turnId"] == *turn);
        ask.map_or_else(String::new, |it| {
            it["payload"]["text"].as_str().unwrap().to_owned()
        })
    };
    let told = notices.map(|it| {
        let left = it["payload"]["leftTurnIds"].as_array().cloned();
        let left = left.unwrap_or_default().iter().map(asked).collect();
        (left, it["payload"]["cleared"] == true)
    });
    told.collect()
}

#[test]
fn a_conversation_that_is_written_anew_is_told_by_what_was_done_to_it() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    let server = home.watch(&[]);
    goose.begin("20261201_1", "user", None);
    let all: Vec<Value> = (0..6)
        .map(|n| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            message(role, &format!("m{n}"), &format!("text {n}"))
        })
        .collect();
    for message in &all {
        goose.say("20261201_1", message);
    }
    let said = || spoken(&home, "20261201_1");
    soon("all is read", || said().len() == 6);
    // The same messages under other numbers: the model is not shown them any more, and has a summary for them.
    let mut compacted = all.clone();
    compacted[1]["metadata"]["agentVisible"] = json!(false);
    let mut summary = message("user", "summary", "What was");
    summary["metadata"]["userVisible"] = json!(false);
    compacted.push(summary);
    goose.replace("20261201_1", &compacted);
    goose.say("20261201_1", &message("user", "m6", "text 6"));
    soon("it goes on", || said().len() == 7);
    assert_eq!(left(&home, "20261201_1"), []);
    // The user goes back, and asks another thing.
    goose.run(&[(
        "DELETE FROM messages WHERE session_id = '20261201_1' AND id >= (SELECT id FROM messages WHERE message_id = 'm4')",
        json!([]),
    )]);
    goose.say("20261201_1", &message("user", "m7", "text 7"));
    soon("it goes on there", || said().len() == 8);
    let back = (vec!["text 4".to_owned(), "text 6".to_owned()], false);
    assert_eq!(left(&home, "20261201_1"), [back]);
    goose.replace("20261201_1", &[]);
    soon("it is cleared", || {
        left(&home, "20261201_1").last().is_some_and(|it| it.1)
    });
    goose.say("20261201_1", &message("user", "m8", "text 8"));
    soon("it begins anew", || said().len() == 9);
    let texts: BTreeSet<String> = said().into_iter().collect();
    assert_eq!(texts.len(), 9);
    // One that is deleted is not cleared: what was told of it stays.
    goose.run(&[
        (
            "DELETE FROM messages WHERE session_id = '20261201_1'",
            json!([]),
        ),
        ("DELETE FROM sessions", json!([])),
    ]);
    goose.begin("20261201_2", "user", None);
    goose.say("20261201_2", &message("user", "n1", "Other"));
    soon("others are read", || ids(&server).len() == 2);
    assert_eq!(left(&home, "20261201_1").len(), 2);
}

#[test]
fn what_is_said_in_a_database_that_was_brought_back_is_told() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    let session = "20261201_1";
    goose.begin("20251101_1", "user", None);
    goose.say("20251101_1", &message("user", "old", "Of old"));
    goose.run(&[(
        "UPDATE sessions SET updated_at = '2025-11-01 10:00:00'",
        json!([]),
    )]);
    goose.begin(session, "user", None);
    goose.say(session, &message("user", "m1", "one"));
    goose.close();
    let (database, copy) = (home.path(DATABASE), home.path("copy.db"));
    std::fs::copy(&database, &copy).unwrap();
    let bring_back = || {
        let new = home.path("new.db");
        std::fs::copy(&copy, &new).unwrap();
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(home.path(&format!("{DATABASE}{ending}")));
        }
        std::fs::rename(&new, &database).unwrap();
        Writer::open(&database).unwrap()
    };
    let mut goose = Writer::open(&database).unwrap();
    let mut server = home.watch(&["--days", "7"]);
    for n in 2..6 {
        goose.say(
            session,
            &message("user", &format!("m{n}"), &format!("go {n}")),
        );
    }
    let said = || spoken(&home, session);
    soon("it is read", || said().len() == 5);
    // While it is looked on: what comes has numbers that others had.
    goose.close();
    let mut goose = bring_back();
    goose.say(session, &message("user", "n1", "again"));
    soon("it goes on", || {
        said().last().is_some_and(|it| it == "again")
    });
    // It is told up to another one once more, and brought back while nobody looks on.
    for n in 2..6 {
        goose.say(
            session,
            &message("user", &format!("n{n}"), &format!("on {n}")),
        );
    }
    soon("it is read", || said().len() == 10);
    server.stop();
    goose.close();
    let mut goose = bring_back();
    goose.say(session, &message("user", "o1", "at last"));
    let server = home.watch(&["--days", "7"]);
    soon("it is told", || {
        said().last().is_some_and(|it| it == "at last")
    });
    let once: BTreeSet<String> = said().into_iter().collect();
    assert_eq!(once.len(), said().len());
    assert_eq!(ids(&server), BTreeSet::from([session.to_owned()]));
}
