//! Sessions that are removed while their agents' files stay: nobody reads them again.

use std::time::Duration;

use serde_json::Value;

use crate::support::home::{Home, append, events, ids, prompt, rests};
use crate::support::removing::files_of;
use crate::support::soon;

#[test]
fn one_that_was_removed_is_not_read_again_where_the_server_is_killed_right_behind_that() {
    let home = Home::new();
    home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    let mut server = home.watch(&[]);
    soon("it is read", || ids(&server).contains("s1"));
    let path = "/api/v1/sessions/s1?force=1";
    let (status, answer) = server.ask("DELETE", path, &server.token, "");
    assert_eq!(status, 200, "{answer}");
    server.kill();
    let server = home.watch(&[]);
    home.write(".claude/projects/-w/s2.jsonl", prompt("s2", 1, "New"));
    soon("what is new is read", || ids(&server).contains("s2"));
    assert!(!ids(&server).contains("s1"));
}

#[test]
fn a_session_that_was_removed_is_not_read_again_and_is_back_with_what_is_new() {
    let home = Home::new();
    let path = home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    home.write(".claude/projects/-w/s2.jsonl", prompt("s2", 1, "Other"));
    let mut server = home.watch(&[]);
    soon("both are read", || ids(&server).len() == 2);
    // With a server that has the folder, and without.
    for (n, is_served) in [(2, true), (3, false)] {
        if !is_served {
            assert!(server.stop().success());
        }
        let mut remove = home.command(&["remove", "s1", "--force", "--yes", "--data"]);
        let output = remove.arg(home.data()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(files_of(&home.data(), "s1").is_empty());
        if is_served {
            // Its file is as it was, but for its time; then it rests for so long that its session is over.
            rests(&path, Duration::ZERO);
            std::thread::sleep(Duration::from_millis(1500));
            rests(&path, Duration::from_hours(25));
            std::thread::sleep(Duration::from_millis(1500));
            assert!(!ids(&server).contains("s1"));
            assert!(server.stop().success());
        }
        server = home.watch(&[]);
        home.write(
            &format!(".claude/projects/-w/new{n}.jsonl"),
            prompt(&format!("new{n}"), 1, "New"),
        );
        soon("what is new is read", || {
            ids(&server).contains(&format!("new{n}"))
        });
        assert!(!ids(&server).contains("s1") && ids(&server).contains("s2"));
        append(&path, prompt("s1", n, &format!("Next {n}")).as_bytes());
        soon("it is back", || ids(&server).contains("s1"));
        let said = || -> Vec<Value> {
            let told = events(&home.data(), "s1");
            let said = told.iter().filter(|it| it["type"] == "user_message");
            said.map(|it| it["payload"]["text"].clone()).collect()
        };
        // It is listed with the first of its events.
        soon("its words are back", || !said().is_empty());
        assert_eq!(said(), [format!("Next {n}")]);
    }
}
