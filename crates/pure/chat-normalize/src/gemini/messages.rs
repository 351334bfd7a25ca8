//! What the messages of a chat file hold: texts, attachments, thoughts, tokens, the results of calls and their edits.

use chat_diff::{Change, diff_texts, from_unified};
use chat_event::payload::{FileEdit, ToolResult, Usage};
use chat_event::{Extra, Json};
use serde_json::{Value, json};

use super::tools;
use crate::edit::{file_edit, named_edit, shown_path, with_old_text};
use crate::tool::attached;
use crate::track::{Call, Said, tool_error};
use crate::value::{count_of, is_true, list_of, str_of, text_of};
use crate::words::printed;

/// What a call gave, as a part says it that stands in the user's name or beside the call.
#[derive(Debug)]
pub(crate) struct Echo<'a> {
    /// The `functionResponse`.
    pub(crate) told: &'a Value,
    /// The pictures and files in it, and those behind it: not all models take them within an answer.
    pub(crate) attachments: Vec<Value>,
}

/// What a message says in the user's name: words with attachments, and what calls gave.
pub(crate) fn said(message: &Value) -> (Said, Vec<Echo<'_>>) {
    match content(message) {
        Some(Value::Array(parts)) => said_in(parts),
        Some(part) => said_in(std::slice::from_ref(part)),
        None => said_in(&[]),
    }
}

/// As [`said`], of parts. What is attached behind a call's answer is that call's, until words come.
fn said_in(parts: &[Value]) -> (Said, Vec<Echo<'_>>) {
    let (mut words, mut echoes) = (Said::default(), Vec::<Echo>::new());
    let mut is_of_echo = false;
    for part in parts {
        if let Some(told) = part.get("functionResponse") {
            is_of_echo = true;
            let within = list_of(told, "parts").iter();
            echoes.push(Echo {
                told,
                attachments: within.filter_map(attachment).collect(),
            });
            continue;
        }
        match (attachment(part), echoes.last_mut()) {
            (Some(attachment), Some(echo)) if is_of_echo => echo.attachments.push(attachment),
            (Some(attachment), _) => words.attachments.push(attachment),
            (None, _) => {
                let text = text_of_part(part);
                is_of_echo &= text.is_empty();
                words.text.push_str(text);
            }
        }
    }
    // Without words nobody attached it to any.
    if let Some(echo) = echoes.first_mut().filter(|_| words.text.is_empty()) {
        echo.attachments.append(&mut words.attachments);
    }
    (words, echoes)
}

/// As [`said`], of an answer: without the thoughts among its parts.
pub(crate) fn answered(message: &Value) -> Said {
    let mut said = Said::default();
    match content(message) {
        Some(Value::Array(parts)) => {
            let parts = parts.iter().filter(|part| !is_true(part, "thought"));
            parts.for_each(|part| add_part(&mut said, part));
        }
        Some(part) => add_part(&mut said, part),
        None => {}
    }
    said
}

/// The thoughts among the parts of an answer.
pub(crate) fn thought_parts(message: &Value) -> Vec<String> {
    let thoughts = parts(message)
        .iter()
        .filter(|part| is_true(part, "thought"));
    let texts = thoughts.filter_map(|part| text_of(part, "text"));
    texts.map(str::to_owned).collect()
}

/// Some writers call it `parts`, as the model's API does.
fn content(message: &Value) -> Option<&Value> {
    message.get("content").or_else(|| message.get("parts"))
}

fn parts(message: &Value) -> &[Value] {
    let parts = content(message).and_then(Value::as_array);
    parts.map(Vec::as_slice).unwrap_or_default()
}

fn add_part(said: &mut Said, part: &Value) {
    match attachment(part) {
        Some(attachment) => said.attachments.push(attachment),
        None => said.text.push_str(text_of_part(part)),
    }
}

fn text_of_part(part: &Value) -> &str {
    let text = part.as_str().or_else(|| str_of(part, "text"));
    text.unwrap_or("")
}

/// A picture or a file among parts.
fn attachment(part: &Value) -> Option<Value> {
    if part.get("text").is_some_and(Value::is_string) {
        return None;
    }
    let (held, key, from) = match (part.get("inlineData"), part.get("fileData")) {
        (Some(held), _) => (held, "data", "data"),
        (None, Some(held)) => (held, "ref", "fileUri"),
        (None, None) => return None,
    };
    let mut made = json!({
        "mediaType": str_of(held, "mimeType").unwrap_or("application/octet-stream"),
    });
    made[key] = Value::from(str_of(held, from).unwrap_or(""));
    Some(made)
}

/// The calls among the parts of an answer.
pub(crate) fn asked(message: &Value) -> impl Iterator<Item = &Value> {
    parts(message)
        .iter()
        .filter_map(|part| part.get("functionCall"))
}

/// The working directory that the first message names, which the program writes itself.
pub(crate) fn context_cwd(text: &str) -> Option<&str> {
    let (_, folders) = text.split_once("**Workspace Directories:**\n")?;
    let first = folders.lines().next()?.trim_start();
    first.strip_prefix("- ").filter(|path| !path.is_empty())
}

/// The thoughts, a text each; one without a subject goes on with the one before it.
pub(crate) fn thoughts(message: &Value) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    // A piece may end in what ends a heading.
    let mut is_heading = false;
    for thought in list_of(message, "thoughts") {
        let subject = str_of(thought, "subject").unwrap_or("").trim();
        let description = str_of(thought, "description").unwrap_or("");
        if subject.is_empty() {
            match texts.last_mut() {
                Some(text) => {
                    if is_heading && !description.is_empty() {
                        text.push_str("\n\n");
                    }
                    text.push_str(description);
                }
                None => texts.push(description.to_owned()),
            }
            is_heading &= description.is_empty();
            continue;
        }
        is_heading = description.is_empty();
        texts.push(match is_heading {
            true => format!("**{subject}**"),
            false => format!("**{subject}**\n\n{description}"),
        });
    }
    texts.retain(|text| !text.is_empty());
    texts
}

/// The tokens of a message; `input` counts what came from the cache, `output` counts the thoughts only where
/// the sum says so.
pub(crate) fn usage(message: &Value) -> Option<Usage> {
    let tokens = message.get("tokens").filter(|tokens| tokens.is_object())?;
    let cached = count_of(tokens, "cached");
    let input = count_of(tokens, "input").unwrap_or(0);
    let thoughts = count_of(tokens, "thoughts");
    let output = count_of(tokens, "output").unwrap_or(0);
    let total = count_of(tokens, "total");
    let written = match total == Some(input.saturating_add(output)) {
        true => output,
        false => output.saturating_add(thoughts.unwrap_or(0)),
    };
    let mut extra = Extra::default();
    if let Some(of_tools) = count_of(tokens, "tool").filter(|n| *n > 0) {
        extra.insert("toolTokens", Json::from(Value::from(of_tools)));
    }
    Some(Usage {
        scope: "response".to_owned(),
        input_tokens: input.saturating_sub(cached.unwrap_or(0)),
        output_tokens: written,
        cache_read_tokens: cached,
        reasoning_tokens: thoughts,
        context_used: total,
        model: text_of(message, "model").map(str::to_owned),
        extra,
        ..Usage::default()
    })
}

/// Whether a call is over; one that says neither is not.
pub(crate) fn is_over(call: &Value) -> bool {
    matches!(
        str_of(call, "status"),
        Some("success" | "error" | "cancelled" | "canceled")
    )
}

/// What a call gave.
pub(crate) fn result(call: &Value) -> ToolResult {
    let (beside, answers) = said_in(list_of(call, "result"));
    let output = answers
        .iter()
        .map(|answer| answer_text(answer.told))
        .collect::<Vec<_>>()
        .join("\n");
    let attachments = answers.into_iter().flat_map(|answer| answer.attachments);
    let name = str_of(call, "name").unwrap_or("");
    let shown = text_of(call, "resultDisplay");
    // A command's answer is written for the model; what it printed is shown.
    let text = match shown {
        Some(shown) if output.is_empty() || tools::kind(name) == "execute" => shown,
        _ => &output,
    };
    let error = match str_of(call, "status") {
        Some("error") => Some(tool_error("error", shown.unwrap_or(&output))),
        Some("cancelled" | "canceled") => {
            let message = if output.is_empty() {
                "the call was cancelled"
            } else {
                &output
            };
            Some(tool_error("cancelled", message))
        }
        _ => None,
    };
    ToolResult {
        result: Json::string(text),
        summary: match &error {
            None => printed(text),
            Some(_) => None,
        },
        exit_code: (tools::kind(name) == "execute")
            .then(|| exit_code(&output))
            .flatten(),
        error,
        extra: attached(attachments.chain(beside.attachments).collect()),
        ..ToolResult::default()
    }
}

/// What a call gave, as the answer to it says that stands in the user's name.
pub(crate) fn echoed(answer: Echo<'_>) -> ToolResult {
    let text = answer_text(answer.told);
    let response = answer.told.get("response").unwrap_or(&Value::Null);
    let failed = str_of(response, "output").is_none() && text_of(response, "error").is_some();
    ToolResult {
        result: Json::string(&text),
        error: failed.then(|| tool_error("error", &text)),
        extra: attached(answer.attachments),
        ..ToolResult::default()
    }
}

/// What an answer to a call says to the model.
pub(crate) fn answer_text(answer: &Value) -> String {
    let response = answer.get("response").unwrap_or(&Value::Null);
    match (str_of(response, "output"), str_of(response, "error")) {
        (Some(text), _) | (None, Some(text)) => unwrapped(text),
        (None, None) if response.is_null() => String::new(),
        (None, None) => response.to_string(),
    }
}

/// What a tool gave, without the tags by which the model is told to mistrust it (seen in 0.61); a word on where the whole
/// of it lies may stand before them.
fn unwrapped(text: &str) -> String {
    let inner = text.trim_end().strip_suffix("\n</untrusted_context>");
    match inner.and_then(|inner| inner.split_once("<untrusted_context>\n")) {
        Some((before, inner)) => [before, inner].concat(),
        None => text.to_owned(),
    }
}

/// The exit code in a command's answer; none is written where it is 0 (0.61) or for all commands (before). It stands
/// behind what the command printed, which may hold the same words.
fn exit_code(output: &str) -> Option<i64> {
    let is_behind = |line: &&str| {
        ["Signal: ", "Background PIDs: ", "Process Group PGID: "]
            .iter()
            .any(|name| line.starts_with(name))
    };
    let last = output
        .trim_end()
        .lines()
        .rev()
        .find(|line| !is_behind(line))?;
    last.strip_prefix("Exit Code: ")?.trim_end().parse().ok()
}

/// The edit that a call made.
pub(crate) fn edit(call: &Call, told: &Value, cwd: Option<&str>) -> Option<FileEdit> {
    let named = tools::edited_path(&call.name, &call.args)?;
    let display = told.get("resultDisplay").unwrap_or(&Value::Null);
    let path = text_of(display, "filePath").unwrap_or(named);
    let shown = shown_path(cwd, path);
    let is_new = is_true(display, "isNewFile");
    if let Some(new) = str_of(display, "newContent") {
        let old = str_of(display, "originalContent").filter(|_| !is_new);
        if old.is_some() || is_new {
            let diff = diff_texts(&shown, old, Some(new));
            return Some(with_old_text(file_edit(&call.id, path, &diff), old));
        }
    }
    let change = if is_new {
        Change::Created
    } else {
        Change::Modified
    };
    let unified = str_of(display, "fileDiff");
    if let Some(diff) = unified.and_then(|text| from_unified(&shown, None, change, text)) {
        return Some(file_edit(&call.id, path, &diff));
    }
    // Older files have no diff, but say in the answer whether the file was there.
    let content = str_of(&call.args, "content");
    let answer = list_of(told, "result")
        .first()
        .and_then(|part| part.get("functionResponse"))
        .map(answer_text)
        .unwrap_or_default();
    if let Some(content) = content.filter(|_| answer.starts_with("Successfully created")) {
        return Some(file_edit(
            &call.id,
            path,
            &diff_texts(&shown, None, Some(content)),
        ));
    }
    Some(FileEdit {
        lines_added: content.map_or(0, |content| {
            u32::try_from(content.lines().count()).unwrap_or(u32::MAX)
        }),
        ..named_edit(&call.id, path, change)
    })
}
