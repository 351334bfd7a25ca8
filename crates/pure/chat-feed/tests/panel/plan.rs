//! The plan, and what was proposed.

use super::*;

#[test]
fn the_newest_plan_that_was_proposed_in_words_is_told() {
    let call = |id: &str, name: &str, args: Value| {
        let payload = json!({"toolCallId": id, "toolName": name, "kind": "plan", "args": args});
        ("tool_call", payload)
    };
    let (_, renderer) = session(&[
        call("a", "ExitPlanMode", json!({"plan": "# First"})),
        call("b", "ExitPlanMode", json!({"plan": "# Second\n\n- Read"})),
        call(
            "c",
            "TodoWrite",
            json!({"todos": [{"content": "Read", "status": "pending"}]}),
        ),
        call("d", "ExitPlanMode", json!({})),
    ]);
    let plan = plan(renderer.feed(), 10);
    let (block, words) = plan.proposed.unwrap();
    assert_eq!(words, "# Second\n\n- Read");
    let BlockBody::ToolCall(call) = &renderer.feed().block(block).body else {
        panic!("no call");
    };
    assert_eq!(&*call.tool_call_id, "b");
    assert_eq!(plan.block, None);
}

#[test]
fn the_plan_that_is_left_is_told_when_another_is_taken_back() {
    let entries = json!({"entries": [{"content": "a", "status": "pending"}]});
    let plan_of = |lines: &[(&str, Value)]| plan(session(lines).1.feed(), 10);
    // It is told anew behind what was taken back.
    let anew = plan_of(&[
        ("plan", entries.clone()),
        ("retract", json!({"eventIds": ["e0"]})),
        ("plan", entries.clone()),
    ]);
    assert_eq!((anew.entries.len(), anew.steps.len()), (1, 1));
    // It was told again before, in another turn.
    let of_turn = |turn: &str| {
        let mut told = entries.clone();
        told["turnId"] = json!(turn);
        ("plan", told)
    };
    let again = [of_turn("t1"), of_turn("t2")];
    assert_eq!(plan_of(&again).steps.len(), 1);
    let retract = ("retract", json!({"eventIds": ["e0"]}));
    let left = plan_of(&[again[0].clone(), again[1].clone(), retract]);
    assert_eq!((left.entries.len(), left.steps.len()), (1, 0));
}

#[test]
fn the_plan_has_its_newest_state_and_its_steps() {
    let entries = |list: &[(&str, &str)]| {
        let entries: Vec<Value> = list
            .iter()
            .map(|(content, status)| json!({"content": content, "status": status}))
            .collect();
        json!({"entries": entries})
    };
    let (_, renderer) = session(&[
        (
            "plan",
            entries(&[("read", "in_progress"), ("write", "pending")]),
        ),
        (
            "plan",
            entries(&[
                ("read", "completed"),
                ("write", "in_progress"),
                ("test", "pending"),
            ]),
        ),
        (
            "plan",
            entries(&[("write", "in_progress"), ("test", "pending")]),
        ),
    ]);
    let plan = plan(renderer.feed(), 2);
    assert_eq!(
        (
            plan.n_done,
            plan.entries.len(),
            plan.steps.len(),
            plan.n_older_steps
        ),
        (0, 2, 2, 1)
    );
    let told: Vec<(&str, Option<&str>, Option<&str>)> = plan.steps[1]
        .changes
        .iter()
        .map(|change| {
            (
                change.content.as_str(),
                change.before.as_deref(),
                change.now.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("read", Some("in_progress"), Some("completed")),
            ("write", Some("pending"), Some("in_progress")),
            ("test", None, Some("pending")),
        ]
    );
    assert_eq!(plan.steps[0].changes[0].now, None);
}

#[test]
fn plans_of_agents_side_by_side_are_one_row_each() {
    let entries = |words: &str| json!([{"content": words, "status": "pending"}]);
    let of_agent = |agent: &str, words: &str| {
        let payload = json!({"turnId": "t", "parentToolCallId": agent, "entries": entries(words)});
        ("plan", payload)
    };
    let own = |turn: &str, words: &str| {
        let payload = json!({"turnId": turn, "entries": entries(words)});
        ("plan", payload)
    };
    let (_, renderer) = session(&[
        (
            "tool_call",
            json!({"turnId": "t", "toolCallId": "a", "toolName": "Task", "args": {}}),
        ),
        (
            "tool_call",
            json!({"turnId": "t", "toolCallId": "b", "toolName": "Task", "args": {}}),
        ),
        own("t", "one"),
        of_agent("a", "two"),
        of_agent("b", "three"),
        own("t", "four"),
        of_agent("a", "five"),
        of_agent("b", "six"),
        own("t", "seven"),
        own("later", "eight"),
        own("t", "nine"),
    ]);
    let plans = renderer
        .feed()
        .rows()
        .filter_map(|block| match &block.body {
            BlockBody::Plan(entries) => Some((block.depth, entries[0].content.as_str())),
            _ => None,
        });
    let newest = [(1, "five"), (1, "six"), (0, "nine"), (0, "eight")];
    assert_eq!(plans.collect::<Vec<_>>(), newest);
}
