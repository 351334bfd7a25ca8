//! Following OpenCode's database.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use support::home::{Home, events, ids};
use support::soon;

#[test]
fn sessions_of_opencode_are_read_from_its_database_as_it_writes_on() {
    let fixture = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat-capture/tests/opencode");
        std::fs::read(folder.join(name)).unwrap()
    };
    let home = Home::new();
    let database = ".local/share/opencode/opencode.db";
    home.write(database, fixture("opencode.db"));
    let rows = String::from_utf8(fixture("rows.jsonl")).unwrap();
    let first: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    let session = first["aggregate_id"].as_str().unwrap();
    // It is older than anybody asks for.
    let mut server = home.watch(&["--days", "36500"]);
    let count = |kind: &str| {
        let all = events(&home.data(), session);
        all.iter().filter(|event| event["type"] == kind).count()
    };
    soon("its beginning is read", || count("user_message") > 0);
    assert_eq!(count("turn_end"), 0);
    home.write(&format!("{database}-wal"), fixture("opencode.db-wal"));
    soon("the rest is read", || count("turn_end") == 1);
    // The sub-agent's session is a part of it.
    assert_eq!(count("user_message"), 2);
    assert_eq!(ids(&server), BTreeSet::from([session.to_owned()]));
    // Whether it is over is by the clock.
    let told = || {
        let mut told = events(&home.data(), session);
        told.retain(|event| event["type"] != "session_end");
        told
    };
    let before = told();
    // Each once, also where what was noted is gone.
    server.stop();
    drop(home.watch(&["--days", "36500"]));
    std::fs::remove_file(home.data().join("following.json")).unwrap();
    let _server = home.watch(&["--days", "36500"]);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(told(), before);
    assert_eq!(
        std::fs::read(home.path(database)).unwrap(),
        fixture("opencode.db")
    );
    assert!(!home.path(&format!("{database}-shm")).exists());
}
