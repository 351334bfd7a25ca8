//! Turns of sub-agents beside those of the agent that started them.

use chat_event::Payload;
use serde_json::json;

use super::{
    Line, begun, call, end, item, message, of, read, result, said, session, start, status, text,
    user,
};
use crate::support::told;

#[test]
fn the_turns_of_a_sub_agents_session_are_none_of_its_parents() {
    let lines = [
        start("root", None),
        call("c"),
        start("child", Some("of the child")),
        end("child"),
        result("c", "found 3"),
        message("m", text("3 files")),
        end("root"),
        // The program was started anew.
        start("next", None),
        message("n", text("Back")),
        end("next"),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "call c bash",
            "result c found 3",
            "done 3 files",
            "end completed",
            "turn user",
            "done Back",
            "end completed",
        ]
    );
}

/// The turns' starts and ends and what was said, and the last status.
fn turns_and_state(lines: &[Line<'_>]) -> (Vec<String>, String) {
    let events = read(lines).events;
    let mut states = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some(status.status.clone()),
        _ => None,
    });
    (told(&events), states.next_back().unwrap_or_default())
}

#[test]
fn an_agent_that_comes_back_under_another_id_ends_its_turns() {
    let lines = [
        session("root", json!({})),
        start("root", None),
        message("m", text("One")),
        session("root 2", json!({})),
        start("root 2", None),
        of("root 2", message("n", text("Two"))),
        end("root 2"),
        start("root 2", None),
        of("root 2", message("o", text("Three"))),
        end("root 2"),
    ];
    let expected = [
        "turn user",
        "done One",
        "end interrupted",
        "turn user",
        "done Two",
        "end completed",
        "turn user",
        "done Three",
        "end completed",
    ];
    let expected = expected.map(str::to_owned).to_vec();
    assert_eq!(turns_and_state(&lines), (expected, "idle".to_owned()));
}

#[test]
fn a_sub_agent_that_works_behind_the_turn_of_its_parent_ends_no_later_one() {
    let task = json!([{"type": "tool_call", "name": "task", "arguments": "{\"prompt\":\"x\"}", "call_id": "c"}]);
    let task = item(true, "c", "tool_call", "assistant", task);
    let begins = [
        (
            "names its parent",
            session("child", json!({"id": "child", "parentID": "root"})),
        ),
        ("came in a call", of("child", begun("k"))),
        ("is not known", status(json!({"type": "busy"}))),
    ];
    for (name, begins) in begins {
        for child_ends in [true, false] {
            let mut lines = vec![start("root", None), task.clone(), begins.clone()];
            lines.extend([
                result("c", "in the background"),
                end("root"),
                start("child", None),
            ]);
            lines.push(of("child", message("k", text("Child"))));
            lines.push(start("root", None));
            lines.push(message("m", text("Two")));
            if child_ends {
                lines.push(end("child"));
            }
            lines.extend([message("n", text("Three")), end("root")]);
            lines.extend([start("root", None), message("o", text("Four")), end("root")]);
            let expected = [
                "turn user",
                "call c task",
                "result c in the background",
                "end completed",
                "turn user",
                "done Child",
                "end completed",
                "turn user",
                "done Two",
                "done Three",
                "end completed",
                "turn user",
                "done Four",
                "end completed",
            ];
            let expected = expected.map(str::to_owned).to_vec();
            let (said, state) = turns_and_state(&lines);
            assert_eq!(said, expected, "{name}");
            assert_eq!(state, "idle", "{name}");
        }
    }
}

#[test]
fn what_the_user_says_in_a_turn_of_a_sub_agent_makes_it_the_agents() {
    let lines = [
        start("root", None),
        message("m", text("One")),
        end("root"),
        start("child", None),
        user("u", text("Go on")),
        message("n", text("Two")),
        end("child"),
        end("root"),
    ];
    let (said, state) = turns_and_state(&lines);
    assert_eq!(said.last().map(String::as_str), Some("end completed"));
    assert_eq!(said.iter().filter(|line| *line == "done Two").count(), 1);
    assert_eq!(state, "idle");
}

/// The same line, of another session.
fn of_session<'a>(session: &'a str, line: Line<'a>) -> Line<'a> {
    (session, line.1, line.2)
}

#[test]
fn what_a_sub_agent_does_stands_in_the_call_that_started_it() {
    let agent = |id: &str| {
        let content = json!([{"type": "tool_call", "name": "task", "arguments": "{\"description\":\"Look\"}", "call_id": id}]);
        item(true, id, "tool_call", "assistant", content)
    };
    let events = read(&[
        start("root", Some("t")),
        message("m1", text("I ask two.")),
        agent("a1"),
        agent("a2"),
        of_session("child-1", user("u1", text("Look here"))),
        of_session("child-2", message("m3", text("Two."))),
        of_session("child-1", call("c1")),
        of_session("child-1", result("c1", "ok")),
        of_session("child-1", message("m2", text("One."))),
        result("a1", "One."),
        result("a2", "Two."),
        message("m4", text("Done.")),
        end("root"),
    ])
    .events;
    let places: Vec<(String, Option<&str>)> = events
        .iter()
        .filter_map(|event| {
            let what = told(std::slice::from_ref(event)).pop()?;
            Some((what, event.parent_tool_call_id.as_deref()))
        })
        .collect();
    let wanted = [
        ("turn user", None),
        ("done I ask two.", None),
        ("call a1 task", None),
        ("call a2 task", None),
        ("user Look here", Some("a1")),
        ("done Two.", Some("a2")),
        ("call c1 bash", Some("a1")),
        ("result c1 ok", Some("a1")),
        ("done One.", Some("a1")),
        ("result a1 One.", None),
        ("result a2 Two.", None),
        ("done Done.", None),
        ("end completed", None),
    ];
    let wanted = wanted.map(|(what, parent)| (what.to_owned(), parent));
    assert_eq!(places, wanted);
}
