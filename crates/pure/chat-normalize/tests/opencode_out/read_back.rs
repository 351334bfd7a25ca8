//! What is told of a log says the same when it is read.

use chat_event::{ChatEvent, Payload};
use chat_normalize::to_opencode_events;

use super::{buses, bytes_of};
use crate::support::{read, sources};

/// What a log says, an event a line, with its place; ids of texts and chunks' cuts are not compared.
fn facts(events: &[ChatEvent]) -> Vec<String> {
    let mut facts = Vec::new();
    for event in events {
        let what = match &event.payload {
            Payload::SessionStatus(_) | Payload::SessionStart(_) | Payload::Notice(_) => continue,
            Payload::ToolResult(result) => format!(
                "{:?} {:?}",
                crate::support::told(std::slice::from_ref(event)),
                result.exit_code
            ),
            Payload::ToolCall(call) => format!(
                "{} {} {}",
                call.tool_call_id,
                call.tool_name,
                call.args.as_text()
            ),
            Payload::FileEdit(edit) => format!("{edit:?}"),
            Payload::UserMessage(message) => format!("{message:?}"),
            Payload::QuestionRequest(request) => format!("{request:?}"),
            Payload::Plan(plan) => format!("{plan:?}"),
            _ => crate::support::told(std::slice::from_ref(event)).concat(),
        };
        facts.push(format!(
            "{} {:?} {:?} {:?} {what}",
            event.event_type(),
            event.turn_id,
            event.response_id,
            event.parent_tool_call_id,
        ));
    }
    facts
}

#[test]
fn what_is_told_of_the_bus_says_the_same_when_it_is_read() {
    for source in buses() {
        let events = read(&source.bytes).events;
        let told = to_opencode_events(&events);
        let again = read(&bytes_of(&told));
        assert_eq!(again.report.unreadable, 0, "{}", source.name);
        assert!(
            again.report.raw.is_empty(),
            "{}: {:?}",
            source.name,
            again.report.raw
        );
        for (before, after) in facts(&events).iter().zip(&facts(&again.events)) {
            assert_eq!(before, after, "{}", source.name);
        }
        assert_eq!(
            facts(&events).len(),
            facts(&again.events).len(),
            "{}",
            source.name
        );
    }
}

/// What was said and done, without what only one agent has: its turns' and answers' ids, and its codes of failures.
fn gist(events: &[ChatEvent]) -> Vec<String> {
    let mut gist = Vec::new();
    for event in events {
        let inside = event.parent_tool_call_id.is_some();
        let what = match &event.payload {
            Payload::UserMessage(message) if message.text.preview().is_empty() => continue,
            Payload::UserMessage(message) => format!("user {:?}", message.text),
            Payload::AssistantDone(done) if !done.text.is_empty() => format!("text {}", done.text),
            Payload::ThinkingDone(done) if !done.text.is_empty() => {
                format!("thought {}", done.text)
            }
            Payload::ToolCall(call) => {
                format!(
                    "call {} {} {}",
                    call.tool_call_id,
                    call.tool_name,
                    call.args.as_text()
                )
            }
            // On the bus a call is over when it went to the background.
            Payload::ToolResult(result) if result.background == Some(false) => continue,
            Payload::ToolResult(result) => {
                format!("result {} {:?}", result.tool_call_id, result.exit_code)
            }
            Payload::FileEdit(edit) => format!(
                "edit {} {} {} {:?} +{} -{} {:?}",
                edit.tool_call_id,
                edit.change_type,
                edit.file_path,
                edit.old_path,
                edit.lines_added,
                edit.lines_removed,
                edit.full_diff,
            ),
            Payload::Plan(plan) => format!("plan {:?}", plan.entries),
            Payload::QuestionRequest(request) => format!("question {}", request.questions.len()),
            Payload::PermissionRequest(request) => format!("may {}", request.tool_name),
            _ => continue,
        };
        gist.push(format!("{inside} {what}"));
    }
    gist
}

#[test]
fn what_is_told_of_other_agents_says_the_same_when_it_is_read() {
    for folder in ["claude-code", "codex"] {
        for source in sources(&format!("recordings/{folder}"), |name| {
            name.ends_with(".jsonl") && !name.contains("-in.")
        }) {
            let events = read(&source.bytes).events;
            let told = to_opencode_events(&events);
            let again = read(&bytes_of(&told));
            let (before, after) = (gist(&events), gist(&again.events));
            // Here a call is told after what it started; on the bus a session has its call when it begins.
            if source.name != "subagent-plain.hooks.jsonl" {
                assert_eq!(before, after, "{}", source.name);
            }
        }
    }
}
