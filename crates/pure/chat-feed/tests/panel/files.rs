//! Which files changed, in a tree, and what became of each.

use super::*;

#[test]
fn files_stand_in_a_tree_with_lone_folders_on_one_line() {
    let (_, renderer) = session(&[
        ("session_start", json!({"cwd": "/home/dev/demo"})),
        edit(
            "/home/dev/demo/src/broker/ring.rs",
            Some("a\n"),
            Some("b\nc\n"),
        ),
        edit(
            "/home/dev/demo/src/broker/deep/down/x.rs",
            None,
            Some("x\n"),
        ),
        edit("/home/dev/demo/README.md", Some("a\n"), None),
        edit("/etc/hosts", Some("a\n"), Some("b\n")),
        edit(
            "/home/dev/demo/src/broker/ring.rs",
            Some("b\nc\n"),
            Some("b\nd\n"),
        ),
    ]);
    assert_eq!(
        tree(renderer.feed()),
        [
            "/etc",
            "  hosts modified +1 -1",
            "src/broker",
            "  deep/down",
            "    x.rs created +1 -0",
            "  ring.rs modified +3 -2",
            "README.md deleted +0 -1",
        ]
    );
}

#[test]
fn a_path_of_a_hundred_thousand_folders_is_a_tree_all_the_same() {
    let path = "a/".repeat(100_000) + "b";
    let (_, renderer) = session(&[
        edit(&path, None, Some("x\n")),
        edit("///", None, Some("x\n")),
    ]);
    assert_eq!(files(renderer.feed(), Scope::Session).files.len(), 2);
    assert!(tree(renderer.feed()).len() <= 40);
}

/// What a call changed stands behind its row, though others changed the file before.
#[test]
fn edits_are_summed_up_as_they_were_made_whoever_made_them() {
    let call = |id: &str| {
        let payload = json!({"turnId": "t", "toolCallId": id, "toolName": "Task", "args": {}});
        ("tool_call", payload)
    };
    let by = |id: &str, (kind, mut payload): (&'static str, Value)| {
        payload["toolCallId"] = json!(id);
        payload["turnId"] = json!("t");
        (kind, payload)
    };
    let (events, renderer) = session(&[
        call("a"),
        call("b"),
        by("b", edit("x.txt", Some("1\n"), Some("2\n"))),
        by("a", edit("x.txt", Some("2\n"), Some("3\n"))),
        by("b", edit("x.txt", Some("3\n"), None)),
        by("a", edit("x.txt", None, Some("4\n"))),
    ]);
    let found = files(renderer.feed(), Scope::Session).files;
    assert_eq!((found.len(), found[0].change), (1, FileChange::Modified));
    assert_eq!(
        found[0].change.as_str(),
        to_session_summary(&events).files[0].change_type
    );
    let sum = edits_of(renderer.feed(), &found[0], |_| None::<&str>);
    assert!(
        matches!(&sum, Sum::Whole { text, .. } if text.contains("-1\n+4\n")),
        "{sum:?}"
    );
}

#[test]
fn the_edits_of_a_file_are_summed_up() {
    let (_, renderer) = session(&[
        edit("a.txt", None, Some("one\ntwo\n")),
        edit("a.txt", Some("one\ntwo\n"), Some("one\nzwei\n")),
    ]);
    let file = &files(renderer.feed(), Scope::Session).files[0];
    assert_eq!(file.change, FileChange::Created);
    let sum = edits_of(renderer.feed(), file, |_| None::<&str>);
    let whole = chat_diff::diff_texts("a.txt", None, Some("one\nzwei\n"));
    assert_eq!(
        sum,
        Sum::Whole {
            text: whole.text,
            lines_added: 2,
            lines_removed: 0
        }
    );
}

#[test]
fn edits_that_do_not_follow_from_each_other_stand_apart_with_the_reason() {
    let (_, renderer) = session(&[
        edit("a.txt", Some("one\n"), Some("two\n")),
        edit("a.txt", Some("three\n"), Some("four\n")),
    ]);
    let file = &files(renderer.feed(), Scope::Session).files[0];
    match edits_of(renderer.feed(), file, |_| None::<&str>) {
        Sum::Apart { why, edits } => {
            assert_eq!(why, "Something else changed this file before edit 2");
            assert_eq!(edits.len(), 2);
            assert!(edits.iter().all(|edit| edit.whole));
        }
        whole => panic!("{whole:?}"),
    }
}

#[test]
fn a_diff_that_is_cut_is_summed_up_once_it_is_loaded() {
    let first = chat_diff::diff_texts("a", Some("one\n"), Some("two\n"));
    let cut = json!({"filePath": "a", "changeType": "modified", "diffPreview": "--- a", "fullDiffAvailable": true, "fullDiffSize": first.text.len()});
    let (_, renderer) = session(&[
        ("file_edit", cut),
        edit("a", Some("two\n"), Some("three\n")),
    ]);
    let feed = renderer.feed();
    let file = &files(feed, Scope::Session).files[0];
    match edits_of(feed, file, |_| None::<&str>) {
        Sum::Apart { why, edits } => {
            assert_eq!(why, "Only a part of 1 of 2 edits is here");
            assert!(edits[0].available && !edits[1].available);
        }
        whole => panic!("{whole:?}"),
    }
    let loaded = |id| (id == file.edits[0]).then_some(first.text.as_str());
    let sum = edits_of(feed, file, loaded);
    let whole = chat_diff::diff_texts("a", Some("one\n"), Some("three\n"));
    assert_eq!(
        sum,
        Sum::Whole {
            text: whole.text,
            lines_added: 1,
            lines_removed: 1
        }
    );
}

#[test]
fn a_file_that_moves_takes_its_history_along() {
    let moved = json!({"filePath": "b", "oldPath": "a", "changeType": "renamed", "linesAdded": 1});
    let (_, renderer) = session(&[edit("a", Some("x\n"), Some("y\n")), ("file_edit", moved)]);
    let files = files(renderer.feed(), Scope::Session).files;
    assert_eq!(files.len(), 1);
    assert_eq!(
        (files[0].path.as_str(), files[0].old_path.as_deref()),
        ("b", Some("a"))
    );
    assert_eq!(
        (files[0].change, files[0].edits.len()),
        (FileChange::Renamed, 2)
    );
}

#[test]
fn a_file_that_takes_the_place_of_another_is_where_it_was_no_more() {
    let gone = edit("a", Some("y\n"), None);
    let moved = json!({"filePath": "a", "oldPath": "b", "changeType": "renamed", "linesAdded": 1});
    let (events, renderer) = session(&[
        edit("a", Some("x\n"), Some("y\n")),
        edit("b", Some("x\n"), Some("y\n")),
        gone,
        ("file_edit", moved),
    ]);
    let feed = renderer.feed();
    let rows: Vec<BlockId> = feed.rows().map(|block| block.id).collect();
    let files = files(feed, Scope::Session).files;
    assert_eq!(files.len(), 1, "{files:?}");
    let file = &files[0];
    assert_eq!(
        (file.path.as_str(), file.change),
        ("a", FileChange::Modified)
    );
    assert_eq!(file.old_path.as_deref(), Some("b"));
    assert_eq!((file.lines_added, file.lines_removed), (3, 3));
    assert_eq!(file.edits, rows[rows.len() - 4..]);
    let summary = to_session_summary(&events).files;
    assert_eq!(summary.len(), 1, "{summary:?}");
    let told = &summary[0];
    assert_eq!(
        (told.path.as_str(), told.change_type.as_str(), told.edits),
        ("a", "modified", 4)
    );
    assert_eq!((told.lines_added, told.lines_removed), (3, 3));
    // Taken back, it is where it was.
    let retract = json!({"id": "r", "seq": 9, "timestamp": 9_000, "sessionId": "s", "type": "retract", "payload": {"eventIds": ["e3"]}});
    let retract = ChatEvent::from_json(&retract.to_string()).unwrap();
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&[events.as_slice(), &[retract]].concat());
    let feed = renderer.feed();
    let counted: u32 = feed.turns().iter().map(|turn| turn.files).sum();
    assert_eq!(counted, 2);
    assert_eq!(chat_feed::panel::files(feed, Scope::Session).files.len(), 2);
}

#[test]
fn an_edit_whose_content_is_not_told_is_in_no_sum() {
    let first = edit("a", Some("x\n"), Some("y\n"));
    let sum = |second: Value| {
        let (_, renderer) = session(&[first.clone(), ("file_edit", second)]);
        let file = files(renderer.feed(), Scope::Session).files[0].clone();
        edits_of(renderer.feed(), &file, |_| None::<&str>)
    };
    let gone = json!({"filePath": "a", "changeType": "deleted", "linesRemoved": 5});
    match sum(gone) {
        Sum::Apart { why, edits } => {
            assert_eq!(why, "This source does not tell what edit 2 changed");
            assert_eq!(edits.len(), 2);
        }
        whole => panic!("{whole:?}"),
    }
    // A file that only moved holds what it held.
    let moved = json!({"filePath": "b", "oldPath": "a", "changeType": "renamed"});
    assert!(matches!(sum(moved), Sum::Whole { lines_added: 1, .. }));
}

#[test]
fn the_summary_of_a_session_says_the_same_of_a_file() {
    let moved = json!({"filePath": "b", "oldPath": "a", "changeType": "renamed"});
    let gone = edit("b", Some("x\n"), None);
    let new = edit("b", None, Some("x\n"));
    let other = edit("b", Some("x\n"), Some("y\n"));
    for (edits, change) in [
        (vec![("file_edit", moved), other.clone()], "renamed"),
        (vec![gone.clone(), new.clone()], "modified"),
        (vec![new.clone(), other.clone()], "created"),
        (vec![other, new.clone()], "modified"),
        (vec![new.clone(), gone.clone()], "deleted"),
        (vec![new.clone(), gone, new], "created"),
    ] {
        let (events, renderer) = session(&edits);
        let files = files(renderer.feed(), Scope::Session).files;
        let summary = to_session_summary(&events).files;
        assert_eq!(
            (files[0].change.as_str(), summary[0].change_type.as_str()),
            (change, change)
        );
    }
}

#[test]
fn one_turn_has_its_own_files() {
    let mut late = edit("b", None, Some("x\n"));
    late.1["turnId"] = json!("t2");
    let mut early = edit("a", None, Some("x\n"));
    early.1["turnId"] = json!("t1");
    let (_, renderer) = session(&[early, late]);
    let feed = renderer.feed();
    let turn = feed.last().map(|id| feed.block(id).turn).unwrap();
    let names: Vec<String> = files(feed, Scope::Turn(turn))
        .files
        .into_iter()
        .map(|file| file.path)
        .collect();
    assert_eq!(names, ["b"]);
}
