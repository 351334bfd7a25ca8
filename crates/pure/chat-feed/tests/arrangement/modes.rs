//! What is shown in each mode, what is open, and what hides a row.

use super::*;

#[test]
fn a_plan_that_is_proposed_is_open_with_its_first_line() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    let plan = "# Make it small\n\n1. Read\n2. Edit";
    let args = json!({"toolCallId": "a", "toolName": "ExitPlanMode", "kind": "plan", "args": {"plan": plan}});
    shown.event("tool_call", "t1", None, args);
    shown.result("a", false);
    let id = shown.feed().rows().last().unwrap().id;
    let BlockBody::ToolCall(call) = &shown.feed().block(id).body else {
        panic!("no call");
    };
    assert_eq!(call.what(), ("Plan".to_owned(), "Make it small".to_owned()));
    assert!(shown.arrangement.is_open(shown.feed(), Row::Block(id)));
}

#[test]
fn a_sub_agent_is_closed_but_its_question_is_seen() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("task", "Task", None);
    shown.call("inner", "Bash", Some("task"));
    assert_eq!(shown.words(), ["prompt", "Task task"]);
    let ask = json!({"requestId": "p1", "toolName": "Bash", "options": []});
    shown.event("permission_request", "t1", Some("task"), ask);
    assert_eq!(shown.words(), ["prompt", "Task task", "permission"]);
    let task = shown.arrangement.row(shown.list[1]);
    shown.set_open(task, true);
    let opened = ["prompt", "Task task", "Bash inner", "permission"];
    assert_eq!(shown.words(), opened);
}

#[test]
fn quiet_shows_prompts_and_answers_and_verbose_everything() {
    let quiet = Mode {
        verbosity: Verbosity::Quiet,
        ..Mode::default()
    };
    let mut shown = Shown::new(quiet);
    shown.prompt();
    shown.step("a", "Read");
    shown.step("b", "Edit");
    shown.edit("b", "x.rs");
    assert_eq!(shown.words(), ["prompt"]);
    shown.answer();
    // What is not shown has a line, which shows it.
    let folded = ["prompt", "work of 2 steps", "text", "end"];
    assert_eq!(shown.words(), folded);
    let work = shown.arrangement.row(shown.list[1]);
    shown.set_open(work, true);
    let opened = [
        "prompt",
        "work of 2 steps",
        "Read a",
        "changed x.rs",
        "text",
        "end",
    ];
    assert_eq!(shown.words(), opened);
    shown.set_open(work, false);
    assert_eq!(shown.words(), folded);
    let mut changes = Vec::new();
    let verbose = Mode {
        verbosity: Verbosity::Verbose,
        ..Mode::default()
    };
    let Shown {
        renderer,
        arrangement,
        ..
    } = &mut shown;
    arrangement.set_mode(renderer.feed(), verbose, &mut changes);
    shown.take(&changes);
    let all = ["prompt", "Read a", "Edit b", "changed x.rs", "text", "end"];
    assert_eq!(shown.words(), all);
}

#[test]
fn what_opens_by_itself_in_another_mode_is_drawn_again_where_it_stays() {
    let mut shown = Shown::new(Mode {
        fold: false,
        ..Mode::default()
    });
    shown.prompt();
    shown.step("a", "Read");
    shown.answer();
    assert_eq!(shown.words(), ["prompt", "Read a", "text", "end"]);
    let mut changes = Vec::new();
    let verbose = Mode {
        verbosity: Verbosity::Verbose,
        fold: false,
        ..Mode::default()
    };
    let Shown {
        renderer,
        arrangement,
        list,
        ..
    } = &mut shown;
    arrangement.set_mode(renderer.feed(), verbose, &mut changes);
    assert_eq!(changes, [RowChange::Changed(list[1])]);
}

#[test]
fn thinking_is_one_line_or_open_or_not_there() {
    let words = |thinking| {
        let mut shown = Shown::new(Mode {
            thinking,
            ..Mode::default()
        });
        shown.prompt();
        let thought = json!({"text": "First the tests."});
        shown.event("thinking_done", "t1", None, thought);
        shown.step("a", "Read");
        let thought = shown.feed().rows().nth(1).unwrap().id;
        let open = shown.arrangement.is_open(shown.feed(), Row::Block(thought));
        let begun = shown.words();
        // Of two steps one is left, which is no work to be folded.
        shown.answer();
        (begun, open, shown.words())
    };
    let [line, all, none] = [Thinking::Collapsed, Thinking::Expanded, Thinking::Hidden].map(words);
    let begun = ["prompt", "thinking", "Read a"];
    let over = ["prompt", "work of 1 steps", "text", "end"];
    assert_eq!(
        (line.0.as_slice(), line.1, line.2.as_slice()),
        (
            &begun.map(str::to_owned)[..],
            false,
            &over.map(str::to_owned)[..]
        )
    );
    assert_eq!((all.0, all.1, all.2), (line.0, true, line.2));
    assert_eq!(none.0, ["prompt", "Read a"]);
    assert_eq!(none.2, ["prompt", "Read a", "text", "end"]);
}

#[test]
fn names_from_before_everything_went_are_of_no_row() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.answer();
    let last = *shown.list.last().unwrap();
    assert!(shown.arrangement.is_shown(last));
    let mut changes = Vec::new();
    let empty = ChatRenderer::default();
    let Shown { arrangement, .. } = &mut shown;
    arrangement.apply(empty.feed(), &[FeedPatch::Clear], &mut changes);
    assert!(!arrangement.is_shown(last));
}

#[test]
fn a_hidden_row_can_be_revealed_from_any_depth() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("task", "Task", None);
    shown.call("a", "Read", Some("task"));
    shown.call("b", "Read", Some("task"));
    for id in ["a", "b", "task"] {
        shown.result(id, false);
    }
    shown.step("z", "Bash");
    shown.answer();
    assert_eq!(shown.words(), ["prompt", "work of 4 steps", "text", "end"]);
    let hidden = shown
        .feed()
        .rows()
        .find(
            |block| matches!(&block.body, BlockBody::ToolCall(call) if &*call.tool_call_id == "b"),
        )
        .unwrap()
        .id;
    let mut changes = Vec::new();
    let Shown {
        renderer,
        arrangement,
        ..
    } = &mut shown;
    let row = arrangement.reveal(renderer.feed(), hidden, &mut changes);
    assert_eq!(row, Some(Row::Block(hidden)));
    shown.take(&changes);
    assert!(shown.words().contains(&"Read b".to_owned()));
}
