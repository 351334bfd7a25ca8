use super::super::values::ms_of;
use super::*;

/// The rows of these events, numbered from 1, all stored at the time 1000.
fn rows(events: &[&str]) -> Rows {
    let lines: Vec<(u64, String)> = (1..)
        .zip(events)
        .map(|(n, event)| (n, format!(r#"{{"id":"e{n}","recv":1000,{event}}}"#)))
        .collect();
    Rows::of(&lines, at(0), at(5000))
}

fn at(ms: i64) -> SystemTime {
    time(Some(ms)).unwrap()
}

/// Calls in short: number, id, tool, status, how long it took, what it gave.
fn calls(rows: &Rows) -> Vec<Vec<String>> {
    let waves = rows.waves().into_iter();
    let line = |call: &Call| {
        let name = call.made.as_ref().map_or("?", |made| &made.name);
        let outcome = call.outcome.as_ref().map_or("runs".to_owned(), |it| {
            let took = it.duration_ms.map_or("-".to_owned(), |ms| ms.to_string());
            format!("{} {took} {}", it.status, it.summary)
        });
        format!("{} {} {name} {outcome}", call.seq, call.tool_call_id)
    };
    waves
        .map(|wave| wave.into_iter().map(line).collect())
        .collect()
}

fn call(id: &str, ms: i64) -> String {
    format!(
        r#""timestamp":{ms},"turnId":"t1","type":"tool_call","payload":{{"toolCallId":"{id}","toolName":"Bash"}}"#
    )
}

fn result(id: &str, ms: i64, more: &str) -> String {
    format!(
        r#""timestamp":{ms},"turnId":"t1","type":"tool_result","payload":{{"toolCallId":"{id}"{more}}}"#
    )
}

#[test]
fn a_call_and_its_result_are_one_row_and_the_first_result_counts() {
    let rows = rows(&[
        &call("a", 10),
        &result("a", 25, r#","result":"\n one\ntwo""#),
        &result("a", 90, r#","error":{"message":"late"}"#),
        &call("b", 10),
        &result(
            "c",
            40,
            r#","result":{"x":1},"durationMs":7,"error":{"code":"rejected","message":"no"}"#,
        ),
    ]);
    assert_eq!(
        calls(&rows),
        [[
            "1 a Bash completed 15 one",
            "4 b Bash runs",
            "5 c ? denied 7 no"
        ]]
    );
}

#[test]
fn a_call_told_again_is_the_same_and_one_of_another_turn_with_its_id_is_another() {
    let other_turn = call("a", 50).replace("t1", "t2");
    let rows = rows(&[
        &result("a", 30, ""),
        &call("a", 10),
        &call("a", 11),
        &other_turn,
        &call("b", 5),
    ]);
    assert_eq!(
        calls(&rows),
        [
            &["1 a Bash completed - ", "5 b Bash runs"][..],
            &["4 a Bash runs"]
        ]
    );
}

#[test]
fn how_calls_are_closed_is_said_by_the_first_and_which_by_the_last() {
    let turn = r#""turnId":"t1","type":"#;
    let rows = rows(&[
        // A sub-agent's is not the turn's.
        &format!(r#""parentToolCallId":"a",{turn}"interrupt","payload":{{}}"#),
        &format!(r#"{turn}"interrupt","payload":{{}}"#),
        &format!(r#"{turn}"turn_end","payload":{{}}"#),
        r#""turnId":"t2","type":"turn_end","payload":{"outcome":"interrupted"}"#,
        r#""type":"session_end","payload":{}"#,
    ]);
    let closings = rows.closings.iter();
    let closings: Vec<_> = closings
        .map(|it| (it.seq, it.is_of_all, it.turn.as_deref(), it.status))
        .collect();
    assert_eq!(
        closings,
        [
            (3, false, Some("t1"), "interrupted"),
            (4, false, Some("t2"), "interrupted"),
            (5, true, None, "no_result"),
        ]
    );
}

#[test]
fn a_change_of_a_file_is_kept_without_its_diff() {
    let preview = "é".repeat(4000);
    let change = format!(
        r#""timestamp":7,"type":"file_edit","payload":{{"toolCallId":"a","filePath":"/b","oldPath":"/a","changeType":"renamed",
        "linesAdded":3,"linesRemoved":4,"diffPreview":"{preview}","fullDiff":"whole","fullDiffSize":99}}"#
    );
    let rows = rows(&[&change]);
    let row = &rows.changes[0];
    assert_eq!((&*row.path, row.old_path.as_deref()), ("/b", Some("/a")));
    assert_eq!((row.added, row.removed, row.diff_bytes), (3, 4, 99));
    assert_eq!(row.diff_preview.len(), 5120);
    assert_eq!((ms_of(row.at), ms_of(row.stored_at)), (7, 1000));
}

#[test]
fn an_error_says_what_its_event_says_of_trying_again() {
    let rows = rows(&[
        r#""timestamp":-5,"type":"error","payload":{"code":"overloaded","message":"a\u0000b","retryable":true,"attempt":2}"#,
        r#""timestamp":7,"type":"error","payload":{"message":"m","retryable":"perhaps","attempt":-1}"#,
    ]);
    let row = &rows.errors[0];
    assert_eq!((&*row.code, &*row.message), ("overloaded", "a\u{fffd}b"));
    assert_eq!((row.retryable, row.attempt), (Some(true), Some(2)));
    // Its own time is none: when it was stored is one.
    assert_eq!(ms_of(row.at), 1000);
    let row = &rows.errors[1];
    assert_eq!((row.retryable, row.attempt), (None, None));
}

#[test]
fn what_is_taken_back_makes_no_row_here_and_goes_where_it_was_before() {
    let rows = rows(&[
        &call("a", 10),
        &result("a", 20, ""),
        &call("b", 10),
        &result("b", 20, ""),
        r#""type":"error","payload":{"message":"m"}"#,
        r#""type":"retract","payload":{"eventIds":["e1","e4","e5","before",""]}"#,
        &result("a", 30, r#","summary":"told anew""#),
    ]);
    assert_eq!(
        calls(&rows),
        [["3 b Bash runs", "7 a ? completed - told anew"]]
    );
    assert_eq!(rows.errors, []);
    let retracted: Vec<&String> = rows.retracted.iter().collect();
    assert_eq!(retracted, ["before", "e1", "e4", "e5"]);
}

#[test]
fn many_events_that_take_back_many_are_no_more_work_than_what_they_name() {
    let of = |n: usize| {
        let ids: Vec<String> = (n * 100..n * 100 + 100)
            .map(|id| format!("\"id{id}\""))
            .collect();
        format!(
            r#""type":"retract","payload":{{"eventIds":[{}]}}"#,
            ids.join(",")
        )
    };
    let events: Vec<String> = (0..1000).map(of).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let began = std::time::Instant::now();
    assert_eq!(rows(&events).retracted.len(), 100_000);
    // Sorted anew by each of them, it was a quarter of a minute.
    let took = began.elapsed();
    assert!(took.as_secs() < 5, "{took:?}");
}

#[test]
fn what_is_too_old_or_no_event_makes_no_row() {
    let lines = [
        r#"{"type":"error","recv":999,"payload":{"message":"old"}}"#,
        "{",
        "[]",
    ];
    let lines: Vec<_> = (1..).zip(lines.map(str::to_owned)).collect();
    assert_eq!(Rows::of(&lines, at(1000), at(2000)), Rows::default());
    assert_eq!(Rows::of(&lines, at(999), at(2000)).errors.len(), 1);
}
