//! Rows of PostgreSQL that are to go: of sessions that have very many, and of those of which it is not known yet whether the
//! object store has them.

use crate::support::postgres::{Database, Postgres};
use crate::support::rows::logged;
use crate::support::s3::{Way, Wrong, moto};
use crate::support::tiers::{take_away, with_postgres};
use crate::support::{Server, cold, soon};
use serde_json::{Value, json};

/// Calls that were made before `behind`, and run.
fn insert_calls(database: &Database, session: &str, epoch: &str, n: u64) {
    database.ask(&format!(
        "INSERT INTO turnreel.tool_calls (session, epoch, seq, tool_call_id, turn, status, started_at, stored_at) \
         SELECT '{session}', '{epoch}', -n, 'call' || n, 'open' || n, 'running', now(), now() FROM generate_series(1, {n}) AS n"
    ));
}

/// Rows that are to go in these tests.
const MANY: u64 = 24_000;

/// Makes rows take so long to go that so many cannot go within the time that a statement may take. No server sleeps for less
/// than a millisecond.
fn make_slow(database: &Database) {
    database.ask(
        "CREATE FUNCTION turnreel.slow() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN IF old.seq % 4 = 0 THEN PERFORM pg_sleep(0.001); END IF; RETURN old; END $$; \
         CREATE TRIGGER slow BEFORE DELETE ON turnreel.tool_calls FOR EACH ROW EXECUTE FUNCTION turnreel.slow()",
    );
}

fn n_calls(database: &Database, session: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM turnreel.tool_calls WHERE session = '{session}'");
    database.ask(&sql)[0][0].parse().unwrap()
}

/// Waits until the database has the session up to its last number.
fn caught_up(database: &Database, server: &Server, session: &str) {
    let (epoch, events) = logged(server, session);
    let head = events.last().unwrap()["seq"].to_string();
    let sql = format!("SELECT epoch, seq FROM turnreel.sessions WHERE session = '{session}'");
    soon("the database has it all", || {
        let has = database.try_ask(&sql).unwrap_or_default();
        has == [[epoch.clone(), head.clone()]]
    });
}

fn call(id: &str) -> Value {
    json!([{"id": id, "timestamp": 1, "turnId": "t", "type": "tool_call",
        "payload": {"toolCallId": id, "toolName": "Bash"}}])
}

#[test]
fn many_turns_that_end_among_many_calls_that_run_are_not_compared_each_with_each() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = with_postgres(dir.path(), &database.url);
    server.post("s1", &call("first"));
    caught_up(&database, &server, "s1");
    let (epoch, _) = logged(&server, "s1");
    insert_calls(&database, "s1", &epoch, 100_000);
    let ends = (1..1000).map(|n| {
        json!({"id": format!("end{n}"), "timestamp": 2, "turnId": format!("open{n}"), "type": "turn_end", "payload": {}})
    });
    let none = json!({"id": "none", "timestamp": 2, "type": "turn_end", "payload": {}});
    let (status, answer) = server.post("s1", &ends.chain([none]).collect());
    assert_eq!(status, 200, "{answer}");
    caught_up(&database, &server, "s1");
    let running =
        "SELECT count(*) FROM turnreel.tool_calls WHERE session = 's1' AND status = 'running'";
    assert_eq!(database.ask(running), [["99002"]]);
    // All of them, at the end; of so many that a busy machine is in time.
    database.ask("DELETE FROM turnreel.tool_calls WHERE session = 's1' AND seq < -20000");
    let end = json!([{"id": "over", "timestamp": 3, "type": "session_end", "payload": {}}]);
    server.post("s1", &end);
    caught_up(&database, &server, "s1");
    assert_eq!(database.ask(running), [["0"]]);
}

#[test]
fn what_takes_long_to_go_goes_piece_by_piece() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = with_postgres(dir.path(), &database.url);
    server.post("other", &call("c"));
    caught_up(&database, &server, "other");
    make_slow(&database);
    // What another epoch left.
    insert_calls(&database, "s1", "gone", MANY);
    database.ask("INSERT INTO turnreel.sessions (session, epoch, seq) VALUES ('s1', 'gone', 7)");
    server.post("s1", &call("c"));
    caught_up(&database, &server, "s1");
    assert_eq!(n_calls(&database, "s1"), 1);
    // What is removed.
    let (epoch, _) = logged(&server, "s1");
    insert_calls(&database, "s1", &epoch, MANY);
    take_away(dir.path(), "s1");
    soon("its rows go", || {
        n_calls(&database, "s1") == 0
            && database
                .ask("SELECT FROM turnreel.sessions WHERE session = 's1'")
                .is_empty()
    });
    assert_eq!(n_calls(&database, "other"), 1);
}

#[test]
fn a_session_that_is_removed_while_the_object_store_is_away_goes_when_that_is_back() {
    let (Some(postgres), Some(moto)) = (Postgres::start(), moto()) else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    way.spoil("GET", "", Wrong::Status(500), usize::MAX);
    let dir = tempfile::tempdir().unwrap();
    let more = ["--postgres", &database.url];
    let server = cold::server(dir.path(), &bucket.url_over(&way.address), &more);
    for session in ["s1", "s2"] {
        server.post(session, &call("c"));
        caught_up(&database, &server, session);
    }
    take_away(dir.path(), "s1");
    soon("it is not listed any more", || {
        let (_, list) = server.get("/api/v1/sessions");
        list["sessions"].as_array().unwrap().len() == 1
    });
    // What comes behind it is there, and its rows still are.
    server.post("s2", &call("d"));
    caught_up(&database, &server, "s2");
    assert_eq!(n_calls(&database, "s1"), 1);
    way.mend();
    soon("its rows go", || n_calls(&database, "s1") == 0);
    assert_eq!(n_calls(&database, "s2"), 2);
}
