//! Evaluation outputs: a line is a task, with the history of its run and the patch it made.
//!
//! The history holds events, flat ones, or pairs of an action and its observation. The patch is told as edits where no
//! call told any.

use chat_event::Payload;
use serde_json::{Map, Value, json};

use super::session::Session;
use super::{actions, sdk};
use crate::emit::{Emitter, clean_id};
use crate::patch::edits_of_patch;
use crate::track::Said;
use crate::value::{is_true, list_of, str_of, text_of};

/// Takes one task.
pub(crate) fn task(session: &mut Session, emitter: &mut Emitter, task: &Value) {
    let issue = task.get("issue").unwrap_or(&Value::Null);
    let name = text_of(task, "instance_id").map(clean_id).or_else(|| {
        let number = issue.get("number").and_then(Value::as_u64)?;
        Some(format!("issue-{number}"))
    });
    let name = name.unwrap_or_else(|| format!("task-{}", emitter.line_no));
    session.close(emitter);
    session.prefix = format!("{name}.");
    session.n_nameless = 0;
    session.forget_metrics();
    if let Some(metrics) = task.get("metrics") {
        session.metrics("turn", metrics);
    }
    let mut rest = Map::new();
    if let Some(title) = text_of(issue, "title").or_else(|| text_of(task, "instance_id")) {
        rest.insert("task".to_owned(), Value::from(title));
    }
    let facts = chat_event::payload::SessionStart::default();
    session.track.facts.say(emitter, facts, rest);
    let from = emitter.out.len();
    for item in list_of(task, "history") {
        match item {
            Value::Array(pair) => pair.iter().for_each(|item| event(session, emitter, item)),
            _ => event(session, emitter, item),
        }
    }
    if session.track.turn_id().is_none() && emitter.out.len() == from {
        // A history without anything: what was asked stands beside it.
        let text = str_of(task, "instruction").unwrap_or("").to_owned();
        let said = Said {
            text,
            attachments: Vec::new(),
        };
        session.prompt(emitter, &format!("{name}.task"), said);
    }
    patch(session, emitter, &name, task, from);
    if let Some(why) = text_of(task, "error") {
        session.error(emitter, &format!("{name}.failed"), "error", why);
    }
    session.close(emitter);
    if let Some(text) = text_of(task, "result_explanation") {
        let level = if is_true(task, "success") {
            "info"
        } else {
            "warning"
        };
        session.notice(emitter, level, text);
    }
}

fn event(session: &mut Session, emitter: &mut Emitter, item: &Value) {
    session.begin(emitter, item);
    if text_of(item, "kind").is_some() && text_of(item, "source").is_some() {
        sdk::event(session, emitter, item);
    } else {
        actions::event(session, emitter, item);
    }
}

/// The edits of the patch that the run made, in the turn that just ended or is open.
fn patch(session: &mut Session, emitter: &mut Emitter, name: &str, task: &Value, from: usize) {
    let result = task.get("test_result").unwrap_or(&Value::Null);
    let patch = text_of(task, "git_patch").or_else(|| text_of(result, "git_patch"));
    let told = emitter.out.get(from..).unwrap_or_default();
    let has_edits = told
        .iter()
        .any(|event| matches!(event.payload, Payload::FileEdit(_)));
    let Some(patch) = patch.filter(|_| !has_edits) else {
        return;
    };
    let turn = told.iter().rev().find_map(|event| event.turn_id.clone());
    let place = crate::emit::Place {
        turn_id: turn,
        ..session.track.place()
    };
    for edit in edits_of_patch("", patch) {
        let mut edit = edit;
        edit.extra
            .insert("of", chat_event::Json::from(json!("git_patch")));
        emitter.add_as(&format!("{name}.patch"), &place, edit);
    }
}
