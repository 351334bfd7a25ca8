//! When a session that is followed is over, and when it goes on.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::time::Duration;

use support::home::{Home, append, events, prompt, rests};
use support::soon;

#[test]
fn a_session_that_has_ended_goes_on_with_its_file() {
    let home = Home::new();
    // Longer than what is read at once.
    let long: String = (0..3000).map(|n| prompt("s1", n, "Before")).collect();
    let path = home.write(".claude/projects/-w/s1.jsonl", long);
    rests(&path, Duration::from_hours(2));
    let mut server = home.watch(&[]);
    let count = |what: &str, name: &str, value: &str| {
        let all = events(&home.data(), what);
        let found = all
            .iter()
            .filter(|event| event["type"] == value || event["payload"][name] == value);
        found.count()
    };
    soon("it ends", || count("s1", "", "session_end") == 1);
    for (nth, restarts) in [(1, false), (2, true)] {
        if restarts {
            server.stop();
            server = home.watch(&[]);
        }
        append(&path, prompt("s1", 5000 + nth, "After").as_bytes());
        soon("it goes on", || count("s1", "text", "After") == nth);
        rests(&path, Duration::from_hours(2));
        soon("it ends again", || {
            count("s1", "", "session_end") == 1 + nth
        });
    }
    assert_eq!(count("s1", "text", "Before"), 3000);
    // Nothing is done then.
    #[cfg(target_os = "linux")]
    {
        let before = server.cpu_ms();
        std::thread::sleep(Duration::from_secs(2));
        assert!(server.cpu_ms() - before < 400);
    }
}

/// It was read before this start, and nothing changed since.
#[test]
fn a_session_that_comes_to_rest_after_a_new_start_ends() {
    let home = Home::new();
    let path = home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    let mut server = home.watch(&[]);
    soon("it is read", || !events(&home.data(), "s1").is_empty());
    server.stop();
    // An hour but some seconds ago.
    rests(&path, Duration::from_secs(3600 - 6));
    let _server = home.watch(&[]);
    soon("it ends", || {
        let all = events(&home.data(), "s1");
        all.iter().any(|event| event["type"] == "session_end")
    });
}
