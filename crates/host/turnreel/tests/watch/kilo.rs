//! Following Kilo Code's databases, which are OpenCode's under other names.

use std::collections::BTreeSet;

use super::databases;
use crate::support::home::{Home, events, ids};
use crate::support::soon;

const DATABASE: &str = ".local/share/kilo/kilo.db";
const SESSION: &str = "ses_dcda77c58ffeX84h4NIYCWco8F";

fn fixture(name: &str) -> Vec<u8> {
    databases::fixture(&format!("kilo/{name}"), |bytes| {
        databases::date_texts_anew(bytes, b"1796140");
    })
}

#[test]
fn sessions_of_kilo_code_are_read_from_its_database_under_its_name() {
    let home = Home::new();
    home.write(DATABASE, fixture("kilo.db"));
    let server = home.watch(&["--days", "36500"]);
    let count = |kind: &str| databases::n_of(&home, SESSION, kind);
    soon("its beginning is read", || count("file_edit") == 1);
    home.write(&format!("{DATABASE}-wal"), fixture("kilo.db-wal"));
    soon("the rest is read", || count("turn_end") == 1);
    // The sub-agent's session is a part of it.
    assert_eq!((count("user_message"), count("tool_result")), (2, 4));
    assert_eq!((count("raw"), count("notice")), (0, 0));
    assert_eq!(ids(&server), BTreeSet::from([SESSION.to_owned()]));
    let all = events(&home.data(), SESSION);
    let agents = all.iter().filter_map(|it| it["payload"]["agent"].as_str());
    assert_eq!(agents.collect::<Vec<_>>(), ["Kilo Code 7.7.9"]);
}

/// One of a channel, under either of its names, and one that was chosen.
#[test]
fn databases_of_channels_are_read_and_the_one_that_it_is_told() {
    for (path, setting) in [
        (".local/share/kilo/kilo-dev.db", None),
        (".local/share/kilo/opencode-local.db", None),
        (".local/share/kilo/mine.db", Some("mine.db")),
        ("elsewhere/all.db", Some("elsewhere/all.db")),
    ] {
        let home = Home::new();
        home.write(path, fixture("kilo.db"));
        let named = setting.map(|it| match it.contains('/') {
            true => home.path(it).into_os_string(),
            false => it.into(),
        });
        let set: Vec<_> = named.map(|it| ("KILO_DB", it)).into_iter().collect();
        let server = home.watch_with(&["--days", "36500"], &set);
        soon(path, || ids(&server).contains(SESSION));
    }
}

#[test]
fn kilo_code_is_left_alone_wherever_its_sessions_lie() {
    let home = Home::new();
    home.write(DATABASE, fixture("kilo.db"));
    let task = "1795640000000";
    let said = serde_json::json!([{"ts": 1_795_640_000_000_i64, "type": "say", "say": "text", "text": "Hi"}]);
    home.write(
        &format!(".kilocode/cli/global/tasks/{task}/ui_messages.json"),
        said.to_string(),
    );
    home.write(
        ".claude/projects/-w/s1.jsonl",
        crate::support::home::prompt("s1", 1, "Hi"),
    );
    let mut server = home.watch(&["--days", "36500", "--skip", "kilo"]);
    soon("another one is read", || ids(&server).contains("s1"));
    soon("nothing is left", || {
        home.said().contains("read 1 session,")
    });
    assert_eq!(ids(&server).len(), 1);
    server.stop();
    let server = home.watch(&["--days", "36500"]);
    soon("both kinds are read", || ids(&server).len() == 3);
}
