//! Rows that say what others have to say.

use super::*;

#[test]
fn a_plan_and_a_question_stand_for_the_calls_that_made_them() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    let todos = json!([{"content": "Read", "status": "completed"}, {"content": "Edit", "status": "in_progress"}]);
    let args = json!({"toolCallId": "a", "toolName": "TodoWrite", "args": {"todos": todos}});
    shown.event("tool_call", "t1", None, args);
    shown.result("a", false);
    let words = shown.words();
    assert_eq!(words, ["prompt", "TodoWrite a"], "there is no plan yet");
    let call = shown.feed().rows().last().unwrap();
    let BlockBody::ToolCall(call) = &call.body else {
        panic!("{call:?}");
    };
    let line = call.headline();
    let line = (&*line.verb, &*line.object, &*line.outcome);
    assert_eq!(line, ("Plan 1/2", "— now: Edit", ""));
    shown.event("plan", "t1", None, json!({"entries": todos}));
    assert_eq!(shown.words().len(), 2, "{:?}", shown.words());
    assert!(shown.words()[1].starts_with("Plan("), "{:?}", shown.words());

    shown.call("b", "AskUserQuestion", None);
    let asked = json!({"requestId": "q", "toolCallId": "b", "questions": [{"text": "Which?"}]});
    shown.event("question_request", "t1", None, asked);
    let words = shown.words();
    assert_eq!(words.len(), 3, "{words:?}");
    assert!(words[2].starts_with("Question("), "{words:?}");
    let answered = json!({"requestId": "q", "answers": ["A"], "outcome": "answered"});
    shown.event("question_resolved", "t1", None, answered);
    shown.result("b", false);
    assert_eq!(shown.words().len(), 3, "{:?}", shown.words());
}

#[test]
fn a_call_gives_way_to_a_question_of_its_own_turn_only() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "AskUserQuestion", None);
    let asked = json!({"requestId": "q", "toolCallId": "a", "questions": [{"text": "Which?"}]});
    shown.event("question_request", "t2", None, asked);
    let words = shown.words();
    assert_eq!(words[..2], ["prompt", "AskUserQuestion a"]);
    assert!(words[2].starts_with("Question("), "{words:?}");
    // What comes between them changes nothing.
    shown.edit("c", "a.rs");
    assert_eq!(shown.words()[1], "AskUserQuestion a");
}

#[test]
fn a_call_that_changed_a_file_stands_again_where_its_question_asks_for_another() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "AskUserQuestion", None);
    let asked =
        |id: &str| json!({"requestId": "q", "toolCallId": id, "questions": [{"text": "Which?"}]});
    shown.event("question_request", "t1", None, asked("a"));
    shown.result("a", false);
    shown.edit("a", "a.rs");
    let words = shown.words();
    assert_eq!(
        words[1], "changed a.rs",
        "the question stands for its call: {words:?}"
    );
    let answered = json!({"requestId": "q", "answers": ["A"], "outcome": "answered"});
    shown.event("question_resolved", "t1", None, answered);
    shown.event("question_request", "t1", None, asked("b"));
    let words = shown.words();
    assert_eq!(words[1..3], ["AskUserQuestion a", "changed a.rs"]);
}

#[test]
fn a_call_that_came_with_its_question_is_in_nobodys_company() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    shown.call("b", "AskUserQuestion", None);
    assert_eq!(shown.words()[1], "2 in parallel");
    let asked = json!({"requestId": "q", "toolCallId": "b", "questions": [{"text": "Which?"}]});
    shown.event("question_request", "t1", None, asked);
    let words = shown.words();
    assert_eq!(words.len(), 3, "{words:?}");
    let mut at_once = Shown::new(Mode::default());
    at_once.apply(&shown.log);
    assert_eq!(at_once.words(), words);
}

#[test]
fn an_answered_request_goes_into_the_call_that_is_done() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    shown.call("b", "Edit", None);
    for (id, decision) in [("a", "deny"), ("b", "allow")] {
        let ask = json!({"requestId": id, "toolCallId": id, "toolName": "x", "options": []});
        shown.event("permission_request", "t1", None, ask);
        let answer = json!({"requestId": id, "decision": decision, "by": "user"});
        shown.event("permission_resolved", "t1", None, answer);
    }
    // Who answered sees that it was heard while the call goes on.
    let answered = ["prompt", "Bash a", "Edit b", "permission", "permission"];
    assert_eq!(shown.words(), answered);
    let request = shown.feed().rows().last().unwrap().id;
    shown.result("a", true);
    shown.result("b", false);
    assert_eq!(shown.words(), ["prompt", "Bash a", "Edit b"]);
    shown.edit("b", "x.rs");
    assert_eq!(shown.words(), ["prompt", "Bash a", "changed x.rs"]);

    // A link to it leads to what stands for its call.
    let mut changes = Vec::new();
    let Shown {
        renderer,
        arrangement,
        ..
    } = &mut shown;
    let Some(Row::Block(row)) = arrangement.reveal(renderer.feed(), request, &mut changes) else {
        panic!("it is revealed");
    };
    let body = &renderer.feed().block(row).body;
    assert!(matches!(body, BlockBody::FileEdit(_)), "{body:?}");
    let verbose = Mode {
        verbosity: Verbosity::Verbose,
        ..Mode::default()
    };
    arrangement.set_mode(renderer.feed(), verbose, &mut changes);
    shown.take(&changes);
    assert_eq!(shown.words().len(), 6, "{:?}", shown.words());
}

#[test]
fn every_answered_request_goes_into_the_call_that_it_was_for() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    // The last one stands elsewhere, and stays there.
    for (id, turn) in [("p1", "t1"), ("p2", "t1"), ("p3", "t2")] {
        let ask = json!({"requestId": id, "toolCallId": "a", "toolName": "Bash", "options": []});
        shown.event("permission_request", turn, None, ask);
        let answer = json!({"requestId": id, "decision": "allow", "by": "user"});
        shown.event("permission_resolved", turn, None, answer);
    }
    assert_eq!(shown.words().len(), 5, "{:?}", shown.words());
    shown.result("a", false);
    assert_eq!(shown.words(), ["prompt", "Bash a", "permission"]);
    let mut at_once = Shown::new(Mode::default());
    at_once.apply(&shown.log);
    assert_eq!(at_once.words(), shown.words());
}

#[test]
fn a_request_that_was_answered_before_its_call_came_goes_into_it_as_well() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    let ask = json!({"requestId": "p", "toolCallId": "a", "toolName": "Bash", "options": []});
    shown.event("permission_request", "t1", None, ask);
    let answer = json!({"requestId": "p", "decision": "allow", "by": "user"});
    shown.event("permission_resolved", "t1", None, answer);
    shown.call("a", "Bash", None);
    assert_eq!(shown.words(), ["prompt", "permission", "Bash a"]);
    shown.result("a", false);
    assert_eq!(shown.words(), ["prompt", "Bash a"]);
}

/// Nothing waits for leave to do what is done, whether anybody told of the answer or not.
#[test]
fn a_request_says_nothing_beside_the_call_that_has_its_result() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "mcp__db__query", None);
    let ask = json!({"requestId": "p", "toolCallId": "a", "toolName": "mcp__db__query"});
    shown.event("permission_request", "t1", None, ask);
    assert_eq!(shown.words()[1..], ["mcp__db__query a", "permission"]);
    shown.result("a", true);
    assert_eq!(shown.words()[1..], ["mcp__db__query a"]);
    let deny = json!({"requestId": "p", "decision": "deny"});
    shown.event("permission_resolved", "t1", None, deny);
    assert_eq!(shown.words()[1..], ["mcp__db__query a"]);
}
