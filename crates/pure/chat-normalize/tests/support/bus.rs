//! OpenCode's bus in short lines, and the order that its events have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The string at a place in an event.
pub(crate) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or("")
}

/// One line for an event of the bus; `None` for what is not about a session.
pub(crate) fn line(event: &Value) -> Option<String> {
    let kind = text(event, "/type");
    let of = &event["properties"];
    let info = &of["info"];
    let part = &of["part"];
    Some(match kind {
        "session.created" => format!(
            "session {} begins, of {}",
            text(info, "/id"),
            text(info, "/parentID")
        ),
        "session.updated" => format!("session {} again", text(info, "/id")),
        "session.status" => format!("{} {}", text(of, "/sessionID"), text(of, "/status/type")),
        "session.idle" => format!("{} session.idle", text(of, "/sessionID")),
        "session.diff" => format!("diff {}", text(of, "/sessionID")),
        "session.error" => format!("error {}", text(of, "/error/name")),
        "message.updated" if text(info, "/role") == "user" => {
            let again = if info.get("summary").is_some() {
                " again"
            } else {
                ""
            };
            format!("prompt {}{again}", text(info, "/id"))
        }
        "message.updated" => format!(
            "answer {} to {} {}{}{}",
            text(info, "/id"),
            text(info, "/parentID"),
            text(info, "/finish"),
            if info.pointer("/time/completed").is_some() {
                " whole"
            } else {
                ""
            },
            text(info, "/error/name"),
        ),
        "message.part.delta" => format!("piece {}", text(of, "/delta")),
        "message.part.updated" => {
            let of_message = text(part, "/messageID");
            match text(part, "/type") {
                "tool" => {
                    let state = &part["state"];
                    format!(
                        "{} {} of {of_message}: {} {}{}{}",
                        text(part, "/tool"),
                        text(part, "/callID"),
                        text(state, "/status"),
                        if text(state, "/status") == "pending" {
                            ""
                        } else {
                            text(state, "/input/filePath")
                        },
                        text(state, "/output"),
                        text(state, "/error"),
                    )
                }
                kind @ ("text" | "reasoning") => {
                    let end = if part.pointer("/time/end").is_some() {
                        " whole"
                    } else {
                        ""
                    };
                    format!("{kind} of {of_message}{end}: {}", text(part, "/text"))
                }
                "step-finish" => format!(
                    "step-finish of {of_message}: {} {}",
                    text(part, "/reason"),
                    part["tokens"]["input"]
                ),
                "patch" => format!("patch of {of_message}: {}", part["files"]),
                kind => format!("{kind} of {of_message}"),
            }
        }
        "permission.asked" => format!(
            "{} asks for {} {}",
            text(of, "/id"),
            text(of, "/permission"),
            of["tool"]
        ),
        "permission.replied" => format!(
            "{} is answered {}",
            text(of, "/requestID"),
            text(of, "/reply")
        ),
        "todo.updated" => format!("todo {}", of["todos"].as_array()?.len()),
        "file.edited" => format!("edited {}", text(of, "/file")),
        kind => {
            let family = kind.split('.').next().unwrap_or("");
            let ours = ["session", "message", "permission", "question", "todo"];
            return ours.contains(&family).then(|| kind.to_owned());
        }
    })
}

/// What is known of a message while its events are checked.
#[derive(Default)]
struct Message {
    session: String,
    of_user: bool,
    whole: bool,
    finished: bool,
    last_part: String,
    parts: BTreeMap<String, Part>,
}

#[derive(Default)]
struct Part {
    kind: String,
    state: String,
    ended: bool,
}

/// Holds the events to the order of the bus, and says how often the log's own session rested.
pub(crate) fn check(name: &str, told: &[Value], ordered: bool) -> usize {
    let mut last_id = String::new();
    let mut sessions: BTreeMap<String, &str> = BTreeMap::new();
    let mut messages: BTreeMap<String, Message> = BTreeMap::new();
    let mut asked = BTreeSet::new();
    let mut root = String::new();
    let mut last_message: BTreeMap<(String, bool), String> = BTreeMap::new();
    let mut rests = 0;
    for (at, event) in told.iter().enumerate() {
        let id = text(event, "/id").to_owned();
        assert!(
            !ordered || id > last_id,
            "{name}: {id} is not behind {last_id}"
        );
        last_id = id;
        let kind = text(event, "/type");
        let of = &event["properties"];
        let session = text(of, "/sessionID").to_owned();
        let what = || {
            format!(
                "{name} {at}: {}",
                line(event)
                    .unwrap_or_default()
                    .chars()
                    .take(300)
                    .collect::<String>()
            )
        };
        if kind == "file.edited" {
            continue;
        }
        if kind == "session.created" {
            if root.is_empty() {
                root.clone_from(&session);
            } else {
                assert!(
                    sessions.contains_key(text(of, "/info/parentID")),
                    "{}",
                    what()
                );
            }
            assert_eq!(sessions.insert(session, "idle"), None, "{}", what());
            continue;
        }
        assert!(sessions.contains_key(&session), "{}", what());
        let busy = sessions[&session];
        match kind {
            "session.status" => match text(of, "/status/type") {
                "busy" => {
                    assert_ne!(busy, "busy", "{}", what());
                    sessions.insert(session, "busy");
                }
                "retry" => {
                    sessions.insert(session, "retry");
                }
                _ => {
                    assert_ne!(busy, "idle", "{}", what());
                    assert_eq!(text(&told[at + 1], "/type"), "session.idle", "{}", what());
                    sessions.insert(session, "idle");
                }
            },
            "session.idle" => {
                assert_eq!(
                    text(&told[at - 1], "/properties/status/type"),
                    "idle",
                    "{}",
                    what()
                );
                rests += usize::from(session == root);
            }
            "message.updated" => {
                let info = &of["info"];
                let id = text(info, "/id").to_owned();
                assert_eq!(text(info, "/sessionID"), session, "{}", what());
                let of_user = text(info, "/role") == "user";
                if !of_user {
                    let prompt = messages.get(text(info, "/parentID"));
                    assert!(
                        prompt.is_some_and(|prompt| prompt.of_user && prompt.session == session),
                        "{}",
                        what()
                    );
                    assert_ne!(busy, "idle", "{}", what());
                }
                if !messages.contains_key(&id) {
                    // A queued prompt is told before the answer that began before it.
                    let last = last_message.insert((session.clone(), of_user), id.clone());
                    assert!(!ordered || last.is_none_or(|last| last < id), "{}", what());
                }
                let message = messages.entry(id).or_default();
                message.of_user = of_user;
                message.session = session;
                if info.pointer("/time/completed").is_some() {
                    assert!(!message.whole, "{}: whole twice", what());
                    message.whole = true;
                    let open = message.parts.iter().find(|(_, part)| !part.ended);
                    assert!(
                        open.is_none(),
                        "{}: {:?} is open",
                        what(),
                        open.map(|open| open.0)
                    );
                    let started = message.parts.values().any(|part| part.kind == "step-start");
                    let failed = info.get("error").is_some();
                    assert!(
                        !started || failed || message.finished,
                        "{}: never finished",
                        what()
                    );
                }
            }
            "message.part.updated" => {
                let part = &of["part"];
                let id = text(part, "/id").to_owned();
                let Some(message) = messages.get_mut(text(part, "/messageID")) else {
                    panic!("{}: of no message", what());
                };
                assert_eq!(text(part, "/sessionID"), message.session, "{}", what());
                let kind = text(part, "/type");
                let new = !message.parts.contains_key(&id);
                if new {
                    assert!(!ordered || id > message.last_part, "{}", what());
                    message.last_part.clone_from(&id);
                    assert!(
                        message.of_user || !message.whole,
                        "{}: after its end",
                        what()
                    );
                    assert!(message.of_user || busy != "idle", "{}: at rest", what());
                    if !message.of_user && message.parts.is_empty() {
                        assert!(
                            ["step-start", "text", "patch"].contains(&kind),
                            "{}",
                            what()
                        );
                    }
                    assert!(
                        !message.finished || kind == "patch",
                        "{}: after its finish",
                        what()
                    );
                }
                message.finished |= kind == "step-finish";
                let of_user = message.of_user;
                let known = message.parts.entry(id).or_default();
                known.kind = kind.to_owned();
                match kind {
                    "text" | "reasoning" if !of_user => {
                        let ended = part.pointer("/time/end").is_some();
                        assert!(
                            !new || ended || text(part, "/text").is_empty(),
                            "{}",
                            what()
                        );
                        known.ended |= ended;
                    }
                    "tool" => {
                        let state = text(part, "/state/status");
                        let order = match (known.state.as_str(), state) {
                            ("", "pending") | ("pending" | "running", "running") => true,
                            ("running", "completed" | "error") => true,
                            (before, now) => before == now && known.ended,
                        };
                        assert!(order, "{}: behind {}", what(), known.state);
                        known.ended = ["completed", "error"].contains(&state);
                        state.clone_into(&mut known.state);
                    }
                    _ => known.ended = true,
                }
            }
            "message.part.delta" => {
                let message = &messages[text(of, "/messageID")];
                let part = &message.parts[text(of, "/partID")];
                assert!(!part.ended && busy != "idle", "{}", what());
            }
            "message.part.removed" => {
                let message = messages.get_mut(text(of, "/messageID")).unwrap();
                let part = message.parts.get_mut(text(of, "/partID")).unwrap();
                part.ended = true;
            }
            "permission.asked" | "question.asked" => {
                assert!(asked.insert(text(of, "/id").to_owned()), "{}", what());
            }
            "permission.replied" | "question.replied" | "question.rejected" => {
                assert!(asked.remove(text(of, "/requestID")), "{}", what());
            }
            _ => {}
        }
        if kind == "session.idle" {
            let session = text(of, "/sessionID");
            let open = messages.iter().find(|(_, message)| {
                message.session == session && !message.of_user && !message.whole
            });
            assert!(
                open.is_none(),
                "{}: {:?} is open",
                what(),
                open.map(|open| open.0)
            );
        }
    }
    assert!(
        sessions.values().all(|state| *state == "idle"),
        "{name}: {sessions:?}"
    );
    rests
}
