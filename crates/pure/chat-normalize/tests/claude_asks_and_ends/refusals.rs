//! Who refused a call, and that what was lost or stopped was refused by nobody.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{calls, gets, ms, said, text, told, transcript};
use crate::support::read_lines;

#[test]
fn what_no_person_refused_is_told_by_whom_it_was() {
    let refused = |kind: &str, decision: Value, text: &str| {
        let mut result = gets("c", 2, text, true);
        result["toolDenialKind"] = json!(kind);
        if !decision.is_null() {
            result["permissionDecision"] = decision;
        }
        let lines = [
            said("user", "u1", 0, json!("Go")),
            calls("c", 1, "Bash", &json!({"command": "touch a"})),
            result,
        ];
        let told = told(&transcript(&lines));
        let resolved = told.into_iter().find(|line| line.contains(" deny "));
        resolved.unwrap_or_default()
    };
    let by = |by: &str, why: &str| format!("c:denied deny by {by}: {why}");
    let reject = |source: &str, more: (&str, &str)| json!({"decision": "reject", "source": source, more.0: more.1});
    for (kind, decision, wanted) in [
        (
            "user-rejected",
            reject("config", ("reasonCode", "workingDir")),
            "rule",
        ),
        (
            "user-rejected",
            reject("config", ("reasonType", "mode")),
            "mode",
        ),
        (
            "permission-rule",
            reject("config", ("reasonType", "rule")),
            "rule",
        ),
        (
            "permission-rule",
            reject("hook", ("reasonType", "hook")),
            "hook",
        ),
        (
            "permission-rule",
            reject("user_reject", ("reasonCode", "unknown")),
            "user",
        ),
    ] {
        assert_eq!(refused(kind, decision, "No."), by(wanted, "No."));
    }
    let said = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n\
        shorter, please\n\nNote: The user's next message may correct this.";
    let user = reject("user_reject", ("reasonCode", "unknown"));
    assert_eq!(
        refused("user-rejected", user, said),
        by("user", "shorter, please")
    );
    // Older ones say it in the words alone.
    assert_eq!(
        refused("user-rejected", Value::Null, said),
        by("user", "shorter, please")
    );
}

#[test]
fn a_call_that_was_lost_with_the_program_was_refused_by_nobody_and_its_turn_was_cut_off() {
    let lost = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]";
    let mut result = gets("c", 900, lost, true);
    result["toolDenialKind"] = json!("interrupted");
    result["toolUseResult"] = json!(lost);
    let mut filled = text("a2", 900, "No response requested.");
    filled["message"]["model"] = json!("<synthetic>");
    filled["isApiErrorMessage"] = json!(false);
    let events = transcript(&[
        said("user", "u1", 0, json!("Go")),
        calls("c", 1, "Bash", &json!({"command": "sleep 60"})),
        result,
        filled,
        said("user", "u2", 905, json!("Go on")),
        text("a3", 910, "Done."),
    ]);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "busy",
            "> Go",
            "c: interrupted",
            "end interrupted",
            "idle",
            "turn user",
            "busy",
            "> Go on",
            "= Done.",
            "end completed",
            "idle"
        ]
    );
    let ended = events
        .iter()
        .find(|event| matches!(event.payload, Payload::TurnEnd(_)));
    assert_eq!(ended.unwrap().timestamp, Some(ms(1)), "when it last worked");
    let took = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result.duration_ms),
        _ => None,
    });
    assert_eq!(took, Some(None), "nobody knows how long it ran");
}

#[test]
fn a_call_that_is_refused_before_it_runs_is_not_interrupted_and_what_nobody_answered_not_refused() {
    let ends = |result: &Value| {
        let lines = [
            said("user", "u1", 0, json!("Go")),
            calls("c", 1, "Bash", &json!({"command": "touch a"})),
            result.clone(),
        ];
        let mut told = told(&transcript(&lines));
        told.retain(|line| line.starts_with("c"));
        told
    };
    let stop = "The user doesn't want to proceed with this tool use. STOP what you are doing.";
    let mut result = gets("c", 2, stop, true);
    result["toolDenialKind"] = json!("user-rejected");
    assert_eq!(ends(&result), ["c: interrupted"]);
    result["toolDenialBeforeRun"] = json!(true);
    let by_user = format!("c:denied deny by user: {stop}");
    assert_eq!(ends(&result), ["c:denied asks", &by_user, "c: rejected"]);
    let mut result = gets(
        "c",
        2,
        "Tool permission request failed: Stream closed",
        true,
    );
    result["toolDenialKind"] = json!("permission-rule");
    result["toolDenialUnanswered"] = json!("stream-closed");
    result["permissionDecision"] =
        json!({"decision": "reject", "source": "config", "reasonType": "other"});
    assert_eq!(ends(&result), ["c: not_run"]);
}

/// Claude Code 2.1.197 and before; later ones say how it was (recording `claude-code-2.1.197/sigint-tool`).
#[test]
fn a_call_of_a_stream_about_which_nothing_was_asked_was_stopped_and_not_refused() {
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    let call = calls("t1", 0, "Bash", &json!({"command": "sleep 30"}));
    let ask = json!({"type": "control_request", "request_id": "q1", "request": {"subtype": "can_use_tool",
        "tool_name": "Bash", "input": {"command": "sleep 30"}, "tool_use_id": "t1"}});
    for (asked, code) in [(None, "interrupted"), (Some(ask), "rejected")] {
        let mut lines = vec![call.clone()];
        lines.extend(asked);
        lines.push(gets("t1", 1, refusal, true));
        let read = read_lines(Dialect::ClaudeStream, &lines);
        let found = read.events.iter().find_map(|event| match &event.payload {
            Payload::ToolResult(result) => result.error.clone()?.code,
            _ => None,
        });
        assert_eq!(found.as_deref(), Some(code));
    }
}
