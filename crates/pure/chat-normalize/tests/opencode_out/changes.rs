//! What calls and turns changed.

use super::*;

fn edit(call: &str, path: &str, change: &str, diff: &str) -> (&'static str, Value) {
    let payload = json!({"toolCallId": call, "filePath": path, "changeType": change, "linesAdded": 1, "linesRemoved": 1,
        "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()});
    ("file_edit", payload)
}

/// The paths that the last state of a call says it changed.
fn told_last(told: &[Value], call: &str) -> Vec<String> {
    let part = |event: &'_ Value| event["properties"]["part"].clone();
    let mut parts = told.iter().rev().map(part);
    let last = parts.find(|part| part["callID"] == call).unwrap();
    let files = last["state"]["metadata"]["files"].as_array().unwrap();
    let path = |file: &Value| file["filePath"].as_str().unwrap().to_owned();
    files.iter().map(path).collect()
}

/// A call tells all of its changes with each: that grows with the log, and not with its square.
#[test]
fn changes_of_one_call_are_not_told_again_with_each() {
    const N: usize = 600;
    let lines: Vec<String> = (0..40).map(|n| format!("-old {n}\n+new {n}\n")).collect();
    let diff = |n: usize| {
        format!(
            "--- a/f{n}\n+++ b/f{n}\n@@ -1,40 +1,40 @@\n{}",
            lines.concat()
        )
    };
    let call = |id: &str, output: &str| {
        [
            (
                "tool_call",
                json!({"toolCallId": id, "toolName": "apply_patch", "args": {}, "kind": "edit", "r": "a"}),
            ),
            ("tool_result", json!({"toolCallId": id, "result": output})),
        ]
    };
    // One large patch; two calls in turn; and small changes beside a long output, with other events between them.
    let mut large = call("c", "ok").to_vec();
    large.extend((0..N).map(|n| edit("c", &format!("f{n}"), "modified", &diff(n))));
    let mut in_turn = [call("c", "ok"), call("d", "ok")].concat();
    in_turn.extend((0..N).map(|n| edit(["c", "d"][n % 2], &format!("f{n}"), "modified", &diff(n))));
    let mut beside = call("c", &"x".repeat(200_000)).to_vec();
    for n in 0..N {
        beside.extend([
            edit("c", &format!("f{n}"), "modified", ""),
            ("notice", json!({"level": "info", "text": "x"})),
        ]);
    }
    for (name, lines) in [("large", large), ("in turn", in_turn), ("beside", beside)] {
        let events = log(&lines);
        let n_bytes: usize = lines
            .iter()
            .map(|(_, payload)| payload.to_string().len())
            .sum();
        let told = to_opencode_events(&events);
        let n_told = bytes_of(&told).len();
        assert!(n_told < 10 * n_bytes, "{name}: {n_told} of {n_bytes}");
        let n_files = told_last(&told, "c").len();
        assert_eq!(n_files, if name == "in turn" { N / 2 } else { N }, "{name}");
    }
}

#[test]
fn a_file_that_was_deleted_and_made_again_was_changed() {
    let status = |changes: &[&str]| {
        let mut lines = vec![
            ("turn_start", json!({"trigger": "user"})),
            ("user_message", json!({"text": "Hi"})),
        ];
        lines.extend(changes.iter().map(|change| edit("c", "/a", change, "")));
        lines.push(("turn_end", json!({"outcome": "completed"})));
        let told = to_opencode_events(&log(&lines));
        let diff = told
            .iter()
            .find(|event| event["type"] == "session.diff")
            .unwrap();
        diff["properties"]["diff"][0]["status"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(status(&["deleted", "created"]), "modified");
    assert_eq!(status(&["created", "modified"]), "added");
    assert_eq!(status(&["modified", "deleted"]), "deleted");
}
