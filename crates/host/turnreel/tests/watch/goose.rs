//! Following Goose's database, which SQLite itself writes here: a process of Python has it open, as Goose has.

mod anew;
mod unread;
mod writer;

use std::collections::BTreeSet;

use crate::support::home::{Home, converted, events, ids, story, texts};
use crate::support::soon;
use serde_json::{Value, json};

use writer::{Writer, message, now_s};

/// What the user and the assistant said.
fn spoken(home: &Home, session: &str) -> Vec<String> {
    let all = events(&home.data(), session);
    let said = all
        .iter()
        .filter(|it| it["type"] == "user_message" || it["type"] == "assistant_done");
    said.map(|it| it["payload"]["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Whether it is noted how far it was told.
fn is_noted(home: &Home, session: &str) -> bool {
    let notes = ["following.json", "following.changes"].map(|name| home.data().join(name));
    let notes = notes.map(|path| std::fs::read_to_string(path).unwrap_or_default());
    notes.concat().contains(session)
}

/// What is told of the conversation: who reads it whole ends it, and says the tokens once.
fn talk(mut events: Vec<Value>) -> Vec<Value> {
    events.retain(|event| {
        let kind = event["type"].as_str().unwrap();
        !matches!(
            kind,
            "session_start" | "session_end" | "session_status" | "usage"
        )
    });
    // In which line it stands is not the same.
    for event in &mut events {
        event["payload"].as_object_mut().unwrap().remove("line");
    }
    events
}

#[test]
fn a_session_of_goose_is_told_as_its_export_says_it_and_once() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    let export: Value = serde_json::from_str(&story("goose-session", "input.export.json")).unwrap();
    let session = export["id"].as_str().unwrap();
    let mut messages = export["conversation"].as_array().unwrap().clone();
    // It happens now: a session that rests ends.
    let first = messages[0]["created"].as_i64().unwrap();
    for message in &mut messages {
        let at = message["created"].as_i64().unwrap() - first + i64::try_from(now_s()).unwrap();
        message["created"] = json!(at - 60);
    }
    let mut server = home.watch(&[]);
    goose.begin(session, "user", None);
    let half = messages.len() / 2;
    for message in &messages[..half] {
        goose.say(session, message);
    }
    soon("its beginning is read", || {
        ids(&server) == BTreeSet::from([session.to_owned()])
    });
    // The name comes with its first prompts.
    goose.run(&[(
        "UPDATE sessions SET name = 'A title', accumulated_input_tokens = 7, accumulated_output_tokens = 8, model_config_json = '{\"model_name\":\"m\"}' WHERE id = ?",
        json!([session]),
    )]);
    let starts = |name: &str| {
        let all = events(&home.data(), session);
        let starts = all.iter().filter(|it| it["type"] == "session_start");
        let said: Vec<Value> = starts.map(|it| it["payload"][name].clone()).collect();
        said.into_iter().rfind(|it| !it.is_null())
    };
    soon("the title is told", || {
        starts("title") == Some(json!("A title"))
    });
    assert_eq!(starts("cwd"), Some(json!("/w")));
    assert_eq!(starts("model"), Some(json!("m")));
    let (_, list) = server.get("/api/v1/sessions");
    assert_eq!(list["sessions"][0]["title"], "A title");
    for message in &messages[half..] {
        goose.say(session, message);
    }
    let mut whole = export.clone();
    whole["conversation"] = json!(messages);
    let whole = home.write("export.json", whole.to_string());
    let wanted = talk(converted(&whole));
    let wanted_but_end = || {
        // The turn that is open is over with the document.
        let mut wanted = wanted.clone();
        let is_end = wanted.last().is_some_and(|it| it["type"] == "turn_end");
        wanted.truncate(wanted.len() - usize::from(is_end));
        wanted
    };
    soon("the rest is read", || {
        talk(events(&home.data(), session)).len() >= wanted_but_end().len()
    });
    let mut told = talk(events(&home.data(), session));
    told.retain(|event| event["type"] != "turn_end" || wanted.contains(event));
    let told = &told[..wanted_but_end().len()];
    assert_eq!(told, wanted_but_end());
    // Each once, also where what was noted is gone.
    server.stop();
    let told = || {
        // Whether it is idle is by the clock.
        let mut told = events(&home.data(), session);
        told.retain(|it| !matches!(it["type"].as_str(), Some("session_status" | "turn_end")));
        told
    };
    let before = told();
    drop(home.watch(&[]));
    assert_eq!(told(), before);
    std::fs::remove_file(home.data().join("following.json")).unwrap();
    let again = home.watch(&[]);
    soon("it is read again", || is_noted(&home, session));
    drop(again);
    // What is said of the session itself may come again, as it is now.
    let said = |mut told: Vec<Value>| {
        told.retain(|it| !matches!(it["type"].as_str(), Some("session_start" | "usage")));
        told
    };
    assert_eq!(said(told()), said(before));
    // What comes while nobody looks on is told with the next start.
    goose.run(&[(
        "UPDATE sessions SET name = 'Another title' WHERE id = ?",
        json!([session]),
    )]);
    goose.say(session, &message("user", "more", "And more"));
    let _server = home.watch(&[]);
    soon("it goes on", || {
        spoken(&home, session).iter().any(|it| it == "And more")
    });
    soon("the title is told", || {
        starts("title") == Some(json!("Another title"))
    });
    let ids: Vec<String> = told().iter().map(|it| it["id"].to_string()).collect();
    let once: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(ids.len(), once.len());
}

/// Only Linux says which process has which file.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_goose_is_killed_ends_and_many_are_read_at_once() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    // More rows than are read at once.
    let text = "long ".repeat(2000);
    for nth in 0..40 {
        let id = format!("20261201_{nth}");
        goose.begin(&id, "user", None);
        let messages: Vec<Value> = (0..60)
            .map(|n| {
                let role = if n % 2 == 0 { "user" } else { "assistant" };
                message(role, &format!("{id}-{n}"), &format!("{n} {text}"))
            })
            .collect();
        goose.replace(&id, &messages);
    }
    let server = home.watch(&[]);
    soon("all are read", || ids(&server).len() == 40);
    soon("to their ends", || spoken(&home, "20261201_0").len() == 60);
    soon("it is noted who has it", || {
        home.has_noted(goose.child.id())
    });
    drop(goose);
    let has_ended = |nth: usize| {
        let all = events(&home.data(), &format!("20261201_{nth}"));
        all.iter().any(|it| it["type"] == "session_end")
    };
    soon("one that is held ends", || (0..40).any(has_ended));
    assert_eq!(spoken(&home, "20261201_39").len(), 60);
}

#[test]
fn of_gooses_sessions_those_that_it_hides_are_not_read_and_a_helpers_says_whose_it_is() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    for (id, kind, parent) in [
        ("20261201_1", "user", None),
        ("20261201_2", "sub_agent", Some("20261201_1")),
        ("20261201_3", "hidden", None),
        ("20261201_4", "scheduled", None),
        ("20261201_5", "user", None),
    ] {
        goose.begin(id, kind, parent);
        goose.say(id, &message("user", &format!("{id}-m"), "Go"));
    }
    goose.run(&[(
        "UPDATE sessions SET updated_at = '2025-11-01 10:00:00' WHERE id = '20261201_5'",
        json!([]),
    )]);
    // A row that cannot be read is named, and what is behind it read.
    goose.run(&[(
        "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp) VALUES ('x', '20261201_4', 'assistant', '[{', 1796119200)",
        json!([]),
    )]);
    goose.say("20261201_4", &message("assistant", "y", "Done"));
    let server = home.watch(&["--days", "7"]);
    let shown = ["20261201_1", "20261201_2", "20261201_4"].map(str::to_owned);
    soon("they are read", || ids(&server) == shown.clone().into());
    let all = events(&home.data(), "20261201_2");
    let start = &all[0]["payload"];
    assert_eq!(start["parentSession"], "20261201_1", "{start}");
    assert_eq!(start["sessionType"], "sub_agent");
    soon("what is behind it is read", || {
        let said = texts(&home.data(), "20261201_4");
        said.iter().any(|it| it.contains("could not be read"))
            && said.last().is_some_and(|it| it == "Done")
    });
    // What goes on is of interest whenever it began.
    goose.say("20261201_5", &message("user", "z", "On"));
    goose.say("20261201_3", &message("user", "h", "Secret"));
    soon("it goes on", || {
        texts(&home.data(), "20261201_5") == ["Go", "On"]
    });
    assert!(!ids(&server).contains("20261201_3"));
}
