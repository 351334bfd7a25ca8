//! What becomes of a server whose PostgreSQL goes, hangs, is emptied or is another's: nothing; and what is said of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::postgres::{Database, PASSWORD, Postgres};
use crate::support::rows::wait_until_copied;
use crate::support::tiers::{file_edit, tool_call, tool_result, with_postgres};
use crate::support::{self, Server, chunks, signal, soon};

#[test]
fn servers_that_share_a_database_start_at_once_and_leave_each_other_be() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let servers: Vec<Server> = std::thread::scope(|scope| {
        let starting = dirs
            .each_ref()
            .map(|dir| scope.spawn(|| with_postgres(dir.path(), &database.url)));
        starting.map(|it| it.join().unwrap()).into()
    });
    for round in 0..3 {
        for (n, server) in servers.iter().enumerate() {
            let first = round * 10;
            let events = json!([
                tool_call(first, "Bash"),
                tool_result(first, 3),
                file_edit(first, "/a", "modified")
            ]);
            assert_eq!(server.post(&format!("own{n}"), &events).0, 200);
        }
    }
    for (n, server) in servers.iter().enumerate() {
        wait_until_copied(&database, server, &format!("own{n}"));
    }
    let copiers = "SELECT count(*), (SELECT array_agg(version) FROM turnreel.turnreel_schema) FROM turnreel.copiers";
    assert_eq!(database.ask(copiers), [["3", "{1}"]]);
    // Each answers of all that is there.
    servers[0].post("plain", &chunks(1, 3));
    wait_until_copied(&database, &servers[0], "plain");
    let (status, tools) = servers[1].get("/api/v1/sessions/plain/tools");
    assert_eq!((status, &tools["tools"]), (200, &json!([])));
    assert_eq!(servers[2].get("/api/v1/tools").1["tools"][0]["sessions"], 3);
    for server in &servers {
        assert_eq!(
            support::figure(server, "turnreel_tier_failures_total{tier=\"postgres\"}"),
            0.0
        );
    }
}

#[test]
fn a_newer_schema_is_left_as_it_is_and_said() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    database.ask(
        "CREATE SCHEMA turnreel; CREATE TABLE turnreel.turnreel_schema (version integer PRIMARY KEY); \
         INSERT INTO turnreel.turnreel_schema VALUES (99)",
    );
    let dir = tempfile::tempdir().unwrap();
    let said = said_while(dir.path(), &database.url, |said| {
        said.contains("version 99")
    });
    assert!(said.contains("this program knows version"), "{said}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'turnreel'";
    assert_eq!(database.ask(tables), [["1"]]);
}

/// What a server with that database says on standard error, with all it can say, until `is_enough`.
fn said_while(dir: &Path, url: &str, is_enough: impl Fn(&str) -> bool) -> String {
    let said = dir.join("said");
    let mut child = std::process::Command::new(support::PROGRAM)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--no-examples",
            "--log",
            "trace",
        ])
        .arg("--data")
        .arg(dir)
        .env("TURNREEL_POSTGRES", url)
        .stdout(std::process::Stdio::null())
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let read = || std::fs::read_to_string(&said).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_enough(&read()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(&child, "TERM");
    child.wait().unwrap();
    let said = read();
    assert!(is_enough(&said), "{said}");
    said
}

#[test]
fn an_address_with_its_password_is_shown_nowhere() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let config = std::process::Command::new(support::PROGRAM)
        .args(["config", "--postgres", &database.url, "--data"])
        .arg(dir.path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&config.stdout);
    assert!(
        config.status.success() && shown.contains("postgres is set"),
        "{shown}"
    );
    assert!(!shown.contains(PASSWORD), "{shown}");
    // One that is right, a password that is not, a place where nothing is, and one that wants TLS of one that has none.
    let failed = |said: &str| said.contains("postgres") && said.contains("could not");
    let up = |said: &str| said.contains("the copies are up to the logs");
    for (url, is_enough) in [
        (database.url.clone(), &up as &dyn Fn(&str) -> bool),
        (database.url.replace(PASSWORD, "canary-of-another"), &failed),
        (format!("postgresql://u:{PASSWORD}@127.0.0.1:1/d"), &failed),
        (database.url.replace("disable", "require"), &failed),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let said = said_while(dir.path(), &url, is_enough);
        assert!(!said.contains("canary"), "{said}");
    }
    // What is no address is said, and still not shown.
    let refused = std::process::Command::new(support::PROGRAM)
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(dir.path())
        .env("TURNREEL_POSTGRES", format!("mysql://u:{PASSWORD}@x/"))
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("--postgres: ") && !said.contains(PASSWORD),
        "{said}"
    );
}

/// Events go in while something is done to the database; then what it has is what the log says.
fn under_load(database: &Database, server: &Server, session: &str, harm: impl FnOnce(&AtomicU64)) {
    let remote = support::Remote::of(server);
    let stop = Arc::new(AtomicBool::new(false));
    let n_sent = Arc::new(AtomicU64::new(0));
    let (stopping, sent) = (stop.clone(), n_sent.clone());
    let path = format!("/api/v1/sessions/{session}/events");
    let sending = std::thread::spawn(move || {
        for n in 1.. {
            if stopping.load(Ordering::Relaxed) {
                return;
            }
            let events = json!([
                tool_call(n, "Bash"),
                file_edit(n, "/a", "modified"),
                tool_result(n, 1)
            ]);
            let (status, answer) = remote
                .post(&path, &events.to_string())
                .expect("the server answers");
            assert_eq!(status, 200, "{answer}");
            sent.store(n, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    std::thread::sleep(Duration::from_millis(700));
    harm(&n_sent);
    support::goes_on(&n_sent);
    stop.store(true, Ordering::Relaxed);
    sending.join().unwrap();
    wait_until_copied(database, server, session);
    wait_until_copied(database, server, "quiet");
}

/// Those who write at the same moment may be in the way.
fn do_to(database: &Database, sql: &str) {
    soon(sql, || database.try_ask(sql).is_ok());
}

#[test]
fn whatever_becomes_of_the_database_the_server_goes_on_and_it_is_brought_up_again() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _alone = postgres.alone();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = with_postgres(dir.path(), &database.url);
    let mut quiet = chunks(1, 50);
    quiet.as_array_mut().unwrap().push(tool_call(1, "Read"));
    server.post("quiet", &quiet);
    wait_until_copied(&database, &server, "quiet");
    under_load(&database, &server, "stopped", |n_sent| {
        postgres.stop_at_once();
        support::goes_on(n_sent);
        let (status, head, _) =
            server.exchange("GET", "/api/v1/tools", Some(&server.token), "", "");
        assert_eq!(status, 503, "{head}");
        assert!(
            head.to_ascii_lowercase().contains("retry-after: 5"),
            "{head}"
        );
        postgres.begin();
    });
    under_load(&database, &server, "hanging", |n_sent| {
        postgres.signal("STOP");
        support::goes_on(n_sent);
        std::thread::sleep(Duration::from_secs(6));
        postgres.signal("CONT");
    });
    under_load(&database, &server, "emptied", |_| {
        do_to(&database, "DROP SCHEMA turnreel CASCADE");
    });
    under_load(&database, &server, "truncated", |_| {
        let tables = [
            "sessions",
            "tool_calls",
            "file_changes",
            "errors",
            "copiers",
        ];
        let tables = tables.map(|table| format!("turnreel.{table}"));
        do_to(&database, &format!("TRUNCATE {}", tables.join(", ")));
    });
    assert_eq!(server.get("/api/v1/tools").0, 200);
    let (_, figures) = server.get("/metrics");
    let figures = figures.as_str().unwrap();
    assert!(
        figures.contains("turnreel_tier_up{tier=\"postgres\"} 1"),
        "{figures}"
    );
    assert!(!figures.contains(PASSWORD));
}
