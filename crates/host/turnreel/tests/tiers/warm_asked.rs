//! What readers are told from a PostgreSQL over many sessions: changes, tools and files.

use serde_json::{Value, json};

use crate::support::make_token;
use crate::support::postgres::Postgres;
use crate::support::rows::wait_until_copied;
use crate::support::tiers::{file_edit, tool_call, tool_result, with_postgres};

#[test]
fn a_reader_is_told_of_changes_and_tools_page_by_page_and_of_no_session_but_its_own() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = with_postgres(dir.path(), &database.url);
    let edits: Vec<Value> = (1..=7)
        .map(|n| file_edit(n, &format!("/w/src/{}.rs", n % 3), "modified"))
        .collect();
    server.post("s1", &Value::from(edits));
    server.post(
        "s1",
        &json!([
            tool_call(1, "Bash"),
            tool_result(1, 40),
            tool_call(2, "Bash"),
            tool_result(2, 20)
        ]),
    );
    server.post(
        "s2",
        &json!([
            tool_call(1, "Bash"),
            tool_result(1, 100),
            tool_call(2, "Read"),
            file_edit(9, "/w/src/%_.rs", "created")
        ]),
    );
    for session in ["s1", "s2"] {
        wait_until_copied(&database, &server, session);
    }
    let seqs = |answer: &Value| -> Vec<String> {
        let changes = answer["changes"].as_array().unwrap().iter();
        changes
            .map(|change| format!("{}{}", change["session"].as_str().unwrap(), change["seq"]))
            .collect()
    };
    let asked = |query: &str| {
        let (status, answer) = server.get(&format!("/api/v1/file-changes?{query}"));
        assert_eq!(status, 200, "{answer}");
        answer
    };
    // The newest first, page by page.
    let (mut after, mut all) = (String::new(), Vec::new());
    loop {
        let answer = asked(&format!("limit=3{after}"));
        all.extend(seqs(&answer));
        let Some(next) = answer["next"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(
        all,
        ["s24", "s17", "s16", "s15", "s14", "s13", "s12", "s11"]
    );
    for (query, found) in [
        ("session=s2", &["s24"][..]),
        ("path=/w/src/1.rs", &["s17", "s14", "s11"]),
        ("path=/w/src/*&limit=2", &["s24", "s17"]),
        // No sign but the last means anything.
        ("path=/w/src/%25*", &["s24"]),
        ("path=/w/src/*.rs", &[]),
        ("since=1700000000006", &["s24", "s17", "s16"]),
        ("since=1700000000003&until=1700000000005", &["s14", "s13"]),
        ("since=9999999999999999", &[]),
        ("since=1h", &[]),
        ("session=never", &[]),
        ("path=%00%27%3B--", &[]),
    ] {
        assert_eq!(seqs(&asked(query)), found, "{query}");
    }
    let change = &asked("path=/w/src/2.rs")["changes"][1];
    assert_eq!(
        (
            &change["diffPreview"],
            &change["diffBytes"],
            &change["linesAdded"],
            &change["atMs"]
        ),
        (
            &"+a".into(),
            &3.into(),
            &2.into(),
            &1_700_000_000_002_u64.into()
        )
    );
    assert!(!change.to_string().contains("fullDiff"));
    for (path, code) in [
        ("file-changes?after=x", "bad_cursor"),
        ("file-changes?since=yesterday", "bad_query"),
        ("file-changes?session=a/b", "bad_session"),
        ("tools?since=1x", "bad_query"),
    ] {
        let (status, answer) = server.get(&format!("/api/v1/{path}"));
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &code.into()),
            "{path}"
        );
    }
    let bash = json!({"tool": "Bash", "kind": "execute", "sessions": 2, "calls": 3, "completed": 3, "failed": 0,
        "denied": 0, "running": 0, "totalMs": 160, "medianMs": 40, "p95Ms": 100});
    let (_, tools) = server.get("/api/v1/tools");
    assert_eq!(tools["tools"][0], bash);
    assert_eq!(tools["tools"][1]["running"], 1);
    let (_, tools) = server.get("/api/v1/sessions/s1/tools");
    assert_eq!(tools["tools"][0]["totalMs"], 60);
    assert_eq!(server.get("/api/v1/tools?since=1h").1["tools"], json!([]));
    assert_eq!(server.get("/api/v1/sessions/never/tools").0, 404);
    // A token for one session learns of no other, not even that it is there.
    let token = make_token(&server, &["--scope", "read", "--session", "s2"]);
    let own = |path: &str| server.ask("GET", &format!("/api/v1/{path}"), &token, "").1;
    assert_eq!(seqs(&own("file-changes")), ["s24"]);
    assert_eq!(
        own("file-changes?session=s1"),
        own("file-changes?session=never")
    );
    assert_eq!(own("tools")["tools"][0]["calls"], 1);
    assert_eq!(own("sessions/s1/tools"), own("sessions/never/tools"));
    assert_eq!(own("sessions/s2/tools"), own("tools"));
}

#[test]
fn each_file_of_a_session_is_told_of_in_sum() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = with_postgres(dir.path(), &database.url);
    let mut renamed = file_edit(3, "/b", "renamed");
    renamed["payload"]["oldPath"] = "/a".into();
    let events = json!([
        file_edit(1, "/a", "created"),
        file_edit(2, "/a", "modified"),
        renamed,
        file_edit(4, "/b", "modified"),
        file_edit(5, "/c", "created"),
        file_edit(6, "/c", "deleted"),
        file_edit(7, "/d", "created"),
        file_edit(8, "/d", "modified"),
        file_edit(9, "/e", "modified"),
    ]);
    server.post("s1", &events);
    wait_until_copied(&database, &server, "s1");
    let sums = database.ask(
        "SELECT path, final_state, renamed_to, changes, lines_added, lines_removed, \
         (extract(epoch FROM last_at - first_at) * 1000)::int FROM turnreel.file_totals ORDER BY path",
    );
    let expected = [
        ["/a", "renamed", "/b", "2", "3", "2", "2"],
        ["/b", "renamed", "", "2", "7", "2", "1"],
        ["/c", "deleted", "", "2", "11", "2", "1"],
        ["/d", "created", "", "2", "15", "2", "1"],
        ["/e", "modified", "", "1", "9", "1", "0"],
    ];
    assert_eq!(sums, expected);
}
