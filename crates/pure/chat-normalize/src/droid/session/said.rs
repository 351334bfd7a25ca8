//! What a message says that the program wrote as the user's: the user's own words, or what the program tells the model or the
//! user in their place.
//!
//! | `visibility`, words | what it is |
//! |---|---|
//! | none | what the user said; what is in `<system-reminder>` is for the model |
//! | `llm_only` | for the model; that a task in the background is over begins a turn |
//! | `user_only` | for the user: an error, or a notice |
//! | `both`, `{"type": "bash_result", …}` | a command that the user ran |

use serde_json::Value;

use crate::droid::FORMAT;
use crate::droid::lines::TASK;
use crate::droid::talk::attachments;
use crate::emit::{Emitter, Place};
use crate::track::Said;
use crate::value::str_of;

/// What the program tells the model beside the user's words.
const ASIDES: [&str; 2] = ["<system-reminder>", "<system-notification>"];

/// What the program tells the model when the user stopped it.
const STOPPED: [&str; 2] = ["Request cancelled by user", "Request interrupted by user"];

/// How a prompt begins that another agent wrote, and what stands around its own words.
const TASK_PROMPT: &str = "# Task Tool Invocation";
const TASK_WORDS: [&str; 2] = [
    "---BEGIN TASK FROM PARENT AGENT---",
    "---END TASK FROM PARENT AGENT---",
];

/// The words of a message.
#[derive(Debug)]
pub(super) enum Words {
    None,
    Prompt(Said),
    /// The user stopped the turn.
    Stopped,
    /// A task in the background is over.
    News(String),
    Failure(String),
    Notice(String),
    /// `{command, stdout, stderr, exitCode}`.
    Command(Value),
}

/// The words of the message `id`, of all its blocks but the results of calls.
pub(super) fn words_of(
    emitter: &mut Emitter,
    place: &Place,
    id: Option<&str>,
    visibility: Option<&str>,
    blocks: &[Value],
) -> Words {
    let is_task = id.is_some_and(|id| id.starts_with(TASK));
    let for_model = visibility == Some("llm_only") && !is_task;
    let mut said = Said::default();
    for block in blocks {
        if str_of(block, "type") == Some("tool_result") {
            continue;
        }
        match block.as_str().or_else(|| str_of(block, "text")) {
            Some(text) if for_model && STOPPED.contains(&text.trim()) => return Words::Stopped,
            Some(text) if for_model || is_aside(text) => {
                emitter.pass_over("what the program tells the model");
            }
            Some(text) => {
                if !said.text.is_empty() {
                    said.text.push('\n');
                }
                said.text.push_str(text);
            }
            None => match attachments(std::slice::from_ref(block)) {
                held if held.is_empty() => emitter.raw(place, FORMAT, "block of the user's", block),
                held => said.attachments.extend(held),
            },
        }
    }
    if said.text.trim().is_empty() && said.attachments.is_empty() {
        return Words::None;
    }
    match visibility {
        _ if is_task => Words::News(said.text),
        Some("user_only") if is_failure(&said.text) => Words::Failure(said.text),
        Some("user_only") => Words::Notice(said.text),
        Some("both") => match command_in(&said.text) {
            Some(command) => Words::Command(command),
            None => Words::Prompt(said),
        },
        _ => {
            if let Some(words) = task_words(&said.text) {
                said.text = words.to_owned();
            }
            Words::Prompt(said)
        }
    }
}

fn is_aside(text: &str) -> bool {
    let text = text.trim_start();
    ASIDES.iter().any(|tag| text.starts_with(tag))
}

/// As `BYOK Error: 400 …`.
fn is_failure(text: &str) -> bool {
    let named = text.lines().next().unwrap_or("").split_once(':');
    named.is_some_and(|(name, _)| name.ends_with("Error"))
}

fn command_in(text: &str) -> Option<Value> {
    let command: Value = serde_json::from_str(text).ok()?;
    (str_of(&command, "type") == Some("bash_result")).then_some(command)
}

/// What the agent that started this one asked of it.
fn task_words(text: &str) -> Option<&str> {
    let [begin, end] = TASK_WORDS;
    let text = text.strip_prefix(TASK_PROMPT)?;
    let (_, words) = text.split_once(begin)?;
    Some(words.rsplit_once(end)?.0.trim())
}
