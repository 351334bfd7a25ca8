//! Calls and changes of files that are one row together.

use super::*;

#[test]
fn reads_and_searches_in_a_row_are_one_group_whose_running_member_is_seen() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Read");
    assert_eq!(shown.words(), ["prompt", "Read a"]);
    shown.step("b", "Grep");
    shown.call("c", "Read", None);
    assert_eq!(shown.words(), ["prompt", "explored 2 + 1", "Read c"]);
    // What could not be read is no file that was.
    shown.result("c", true);
    assert_eq!(shown.words(), ["prompt", "explored 1 + 1", "Read c"]);
    shown.step("d", "Bash");
    shown.step("e", "Read");
    let closed = ["prompt", "explored 1 + 1", "Read c", "Bash d", "Read e"];
    assert_eq!(shown.words(), closed);
    let head = match shown.arrangement.row(shown.list[1]) {
        row @ Row::Company(_) => row,
        other => panic!("{other:?}"),
    };
    shown.set_open(head, true);
    let opened = [
        "prompt",
        "explored 1 + 1",
        "Read a",
        "Grep b",
        "Read c",
        "Bash d",
        "Read e",
    ];
    assert_eq!(shown.words(), opened);
}

#[test]
fn a_file_that_is_read_again_is_one_file() {
    let read = |shown: &mut Shown, id: &str, path: Option<&str>, failed: bool| {
        let call = json!({"toolCallId": id, "toolName": "Read", "args": {"file_path": path}});
        shown.event("tool_call", "t1", None, call);
        shown.result(id, failed);
    };
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    read(&mut shown, "a", Some("x.rs"), false);
    read(&mut shown, "b", Some("x.rs"), false);
    assert_eq!(shown.words(), ["prompt", "explored 1 + 0"]);
    read(&mut shown, "c", Some("y.rs"), false);
    // Which file it was is not known.
    read(&mut shown, "d", None, false);
    assert_eq!(shown.words(), ["prompt", "explored 3 + 0"]);

    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    read(&mut shown, "a", Some("x.rs"), true);
    read(&mut shown, "b", Some("x.rs"), true);
    let failed = ["prompt", "explored 1 + 0", "Read a", "Read b"];
    assert_eq!(shown.words(), failed, "none was read, and one was to be");
}

#[test]
fn a_new_member_neither_renames_nor_moves_the_header() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Read");
    shown.step("b", "Read");
    let header = shown.list[1];
    for nth in 0..20 {
        shown.step(&format!("r{nth}"), "Read");
        assert_eq!(shown.list[1], header);
        assert_eq!(shown.list.len(), 2);
    }
}

#[test]
fn a_changed_file_stands_for_its_call_and_changes_of_one_file_are_one_group() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Edit", None);
    assert_eq!(shown.words(), ["prompt", "Edit a"]);
    shown.result("a", false);
    shown.edit("a", "x.rs");
    assert_eq!(shown.words(), ["prompt", "changed x.rs"]);
    shown.step("b", "Edit");
    shown.edit("b", "x.rs");
    let grouped = [
        "prompt",
        "x.rs: 2 edits, +4",
        "changed x.rs",
        "changed x.rs",
    ];
    assert_eq!(shown.words(), grouped);
    shown.step("c", "Edit");
    shown.edit("c", "y.rs");
    assert_eq!(shown.words().last().unwrap(), "changed y.rs");
}

#[test]
fn edits_that_fail_of_the_same_are_one_row_that_counts_until_it_is_opened() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    for (nth, id) in ["a", "b", "c"].into_iter().enumerate() {
        shown.call(id, "Edit", None);
        assert_eq!(shown.words().last().unwrap(), &format!("Edit {id}"));
        shown.result(id, true);
        assert_eq!(shown.words().len(), 2, "{nth}: {:?}", shown.words());
    }
    assert_eq!(shown.words(), ["prompt", "3 × Edit: no"]);
    let head = shown.arrangement.row(shown.list[1]);
    shown.set_open(head, true);
    let opened = ["prompt", "3 × Edit: no", "Edit a", "Edit b", "Edit c"];
    assert_eq!(shown.words(), opened);
    // Another tool's failure is another.
    shown.call("d", "Write", None);
    shown.result("d", true);
    assert_eq!(shown.words().last().unwrap(), "Write d");
}

#[test]
fn calls_that_ran_at_the_same_time_are_marked_and_none_is_hidden() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    shown.call("b", "Bash", None);
    shown.result("b", false);
    shown.result("a", false);
    shown.step("c", "Bash");
    let words = ["prompt", "2 in parallel", "Bash a", "Bash b", "Bash c"];
    assert_eq!(shown.words(), words);
}

#[test]
fn nothing_in_a_company_waits_when_its_calls_are_done() {
    let ends = [
        json!({"toolCallId": "a", "result": "done"}),
        json!({"outcome": "completed"}),
        json!({"code": "x", "message": "broken"}),
    ];
    for (kind, end) in ["tool_result", "turn_end", "error"].into_iter().zip(ends) {
        let mut shown = Shown::new(Mode {
            fold: false,
            ..Mode::default()
        });
        shown.prompt();
        shown.call("a", "Bash", None);
        shown.call("b", "Bash", None);
        let ask = json!({"requestId": "p", "toolCallId": "a", "toolName": "Bash", "options": []});
        shown.event("permission_request", "t1", None, ask);
        let waiting = |shown: &Shown| {
            let Row::Company(head) = shown.arrangement.row(shown.list[1]) else {
                panic!("no company");
            };
            let company = shown.arrangement.company(shown.feed(), head).unwrap();
            company.waiting
        };
        assert_eq!(waiting(&shown), 1);
        shown.event(kind, "t1", None, end);
        assert_eq!(waiting(&shown), 0, "{kind}");
    }
}

#[test]
fn a_company_runs_since_its_first_call_was_let_run() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    shown.call("b", "Bash", None);
    let since = |shown: &Shown| {
        let Row::Company(head) = shown.arrangement.row(shown.list[1]) else {
            panic!("no company");
        };
        let company = shown.arrangement.company(shown.feed(), head).unwrap();
        company.running_since_ms
    };
    assert_eq!(since(&shown), Some(3_000));
    let ask = |id: &str| json!({"requestId": id, "toolCallId": id, "toolName": "Bash"});
    let answer = |id: &str| json!({"requestId": id, "decision": "allow"});
    shown.event("permission_request", "t1", None, ask("a"));
    assert_eq!(since(&shown), Some(4_000));
    shown.event("permission_request", "t1", None, ask("b"));
    assert_eq!(since(&shown), None);
    // The second is let run first.
    shown.event("permission_resolved", "t1", None, answer("b"));
    shown.event("permission_resolved", "t1", None, answer("a"));
    assert_eq!(since(&shown), Some(7_000));
}
