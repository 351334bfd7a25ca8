//! What a row holds, as text for the clipboard: its content, whatever of it is shown.

use chat_event::payload::FileEdit;
use chat_event::shell::script_of;
use chat_event::{Body, BodyRef, Json, bodies};
use serde_json::Value;

use crate::answers::told_answers;
use crate::block::{Block, BlockBody, BlockId, FileEditBlock, ToolCallBlock};
use crate::controls;
use crate::feed::Feed;
use crate::long_text;
use crate::projections::plain::{blocks_text, reference_text};
use crate::terminal::{Output, Terminal, screen};
use crate::tool::ToolKind;
use crate::units;

/// Gives a body that is elsewhere, by the event that it is of; what it does not know is copied as far as it is here.
pub type FindBody<'a> = &'a mut dyn FnMut(&str, &BodyRef) -> Option<String>;

/// What a row holds; `None` where its line says it all.
pub fn row_text(feed: &Feed, id: BlockId, find: FindBody<'_>) -> Option<String> {
    let block = feed.block(id);
    let event_id = &*block.event_id;
    let text = match &block.body {
        BlockBody::Prompt(prompt) => body_text(prompt.text.as_ref()?, event_id, find),
        BlockBody::Text(_) | BlockBody::Thinking(_) => feed.text(id).into_string(),
        BlockBody::ToolCall(call) => call_text(feed, block, call, find),
        BlockBody::FileEdit(edit) => edit_text(feed, block, edit, find),
        BlockBody::AgentMessage(told) => {
            let parts = [
                (&told.message, &told.message_event),
                (&told.result, &told.result_event),
            ];
            let text = |(body, event): (&Option<Body>, &Option<Box<str>>)| {
                let event_id = event.as_deref().unwrap_or(event_id);
                Some(body_text(body.as_ref()?, event_id, find))
            };
            joined(parts.into_iter().filter_map(text), "\n\n")
        }
        BlockBody::Plan(entries) => {
            let entry = |entry: &chat_event::payload::PlanEntry| {
                let mark = match entry.status.as_str() {
                    "completed" => 'x',
                    _ => ' ',
                };
                format!("- [{mark}] {}", entry.content)
            };
            joined(entries.iter().map(entry), "\n")
        }
        BlockBody::Permission(ask) => {
            let request = &ask.request;
            let what = request.title.as_ref().unwrap_or(&request.tool_name);
            let args = request.args.as_ref().map(|args| {
                let command = args.get("command").and_then(|command| command.to_body());
                match command {
                    Some(command) => body_text(&command, event_id, find),
                    None => json_text(args, event_id, find),
                }
            });
            let answer = ask.resolved.as_ref();
            let answer = answer.map(|answer| {
                let message = answer.message.clone();
                let parts = [Some(answer.decision.clone()), message];
                joined(parts.into_iter().flatten(), ": ")
            });
            let parts = [Some(what.clone()), request.reason.clone(), args, answer];
            joined(parts.into_iter().flatten(), "\n")
        }
        BlockBody::Question(ask) => {
            let questions = &ask.request.questions;
            let answers = ask.resolved.as_ref().and_then(|told| told.answers.as_ref());
            let told = answers.map(|answers| told_answers(questions, answers));
            let mut told = told.unwrap_or_default();
            // Those that do not say to what they are stand at the end.
            let rest = told.split_off(questions.len().min(told.len()));
            let answer = |text: String| match text.is_empty() {
                true => text,
                false => format!("→ {text}"),
            };
            let mut told = told.into_iter().chain(std::iter::repeat(String::new()));
            let mut parts = Vec::new();
            for question in questions {
                let options = question.options.iter();
                let options = options.map(|option| format!("- {}", option.label));
                let asked = [question.text.clone()].into_iter().chain(options);
                let said = told.next().map(answer);
                parts.push(joined(asked.chain(said), "\n"));
            }
            parts.extend(rest.into_iter().map(answer));
            joined(parts, "\n\n")
        }
        BlockBody::Error { message, .. } => message.clone(),
        BlockBody::Notice {
            text,
            found: Some(found),
            ..
        } => format!("{text}\n\n{found}"),
        BlockBody::Notice { text, .. } => long_text::untagged(text).to_owned(),
        BlockBody::Compaction(told) => told.summary.clone()?,
        BlockBody::Raw { value, .. } => json_text(value, event_id, find),
        BlockBody::Progress(_)
        | BlockBody::AgentSwitch(_)
        | BlockBody::Interrupt { .. }
        | BlockBody::Audio { .. }
        | BlockBody::SessionStart(_)
        | BlockBody::SessionEnd { .. }
        | BlockBody::Gap(_)
        | BlockBody::TurnEnd(_) => return None,
    };
    to_copy(&text)
}

/// No more than is seen: what is copied may be pasted into a terminal.
fn to_copy(text: &str) -> Option<String> {
    let mut text = controls::copied(text);
    text.truncate(text.trim_end().len());
    (!text.is_empty()).then_some(text)
}

/// The whole answer that a row is a part of, or that a turn ended with: all that was said in one go, as its Markdown. `None`
/// where the row is of none.
pub fn answer_text(feed: &Feed, id: BlockId) -> Option<String> {
    let id = match feed.block(id).body {
        BlockBody::TurnEnd(_) => last_text(feed, id)?,
        _ => id,
    };
    let of = feed.block(id);
    let text_of = |id: &BlockId| {
        let block = feed.block(*id);
        let same = block.response == of.response && block.parent == of.parent;
        match &block.body {
            BlockBody::Text(text) if same => Some(text.text),
            _ => None,
        }
    };
    let own = text_of(&id)?;
    // Without a response only the text itself says what belongs together.
    let belongs = |id: &BlockId| {
        let text = text_of(id);
        text.is_some_and(|text| text == own || of.response.is_some())
    };
    let before = std::iter::successors(Some(id), |&id| feed.prev(id));
    let first = before.take_while(belongs).last()?;
    let rows = std::iter::successors(Some(first), |&id| feed.next(id)).take_while(belongs);
    let mut texts: Vec<_> = rows.filter_map(|id| text_of(&id)).collect();
    texts.dedup();
    let whole = |text| feed.stream(text).trim().to_owned();
    to_copy(&joined(texts.into_iter().map(whole), "\n\n"))
}

/// The last row of text of the turn that ends here.
fn last_text(feed: &Feed, end: BlockId) -> Option<BlockId> {
    let of = feed.block(end);
    let mut before = std::iter::successors(feed.prev(end), |&id| feed.prev(id))
        .map(|id| feed.block(id))
        .take_while(|block| block.turn == of.turn);
    let text = before
        .find(|block| block.parent == of.parent && matches!(block.body, BlockBody::Text(_)))?;
    Some(text.id)
}

/// A command with what it printed, or what was done with what came of it.
fn call_text(feed: &Feed, block: &Block, call: &ToolCallBlock, find: FindBody<'_>) -> String {
    let args_event = call.args_event.as_deref().unwrap_or(&block.event_id);
    let is_command = call.kind == ToolKind::Execute && call.what().0 == "$";
    let head = match is_command {
        true => {
            let told = call.command_arg();
            // Some agents give a command as a list of words.
            let command = match told.and_then(|(_, command)| command.to_body()) {
                Some(command) => body_text(&command, args_event, find),
                None => call.target(),
            };
            format!("$ {}", script_of(&command))
        }
        false => call.in_words(),
    };
    let mut parts = vec![head];
    let mut changed = changes_of(feed, block.id).peekable();
    if changed.peek().is_some() {
        // A diff says what the arguments of an edit say.
        parts.extend(changed.map(|(block, edit)| edit_text(feed, block, edit, find)));
    } else if !is_command {
        parts.extend(args_text(feed, call, args_event, find));
    }
    let result_event = call.result_event.as_deref().unwrap_or(&block.event_id);
    let result = call.result.as_ref();
    // As it is shown: programs put tags around what they say of a failure.
    let failed = call.failure().is_some();
    let result = result.map(|result| match json_text(result, result_event, find) {
        text if failed => long_text::untagged(&text).to_owned(),
        text => text,
    });
    let result = result.filter(|text| !text.is_empty());
    let output = match &result {
        Some(result) if is_command => printed_text(&Output::text(result)),
        Some(result) => result.clone(),
        None => printed_text(&feed.output(block.id)),
    };
    let error = call.failure();
    let error = error.map(|error| long_text::untagged(&error.message));
    let error = error.map(|message| printed_text(&Output::text(message)));
    // Most results of calls that failed say why in their own words.
    parts.extend(error.filter(|error| !output.contains(error.trim())));
    parts.push(output);
    joined(parts, if is_command { "\n" } else { "\n\n" })
}

/// The files that a call changed.
fn changes_of(feed: &Feed, call: BlockId) -> impl Iterator<Item = (&Block, &FileEditBlock)> {
    let rows = feed.rows_within(call).map(|id| feed.block(id));
    rows.filter_map(move |block| match &block.body {
        BlockBody::FileEdit(edit) if edit.call == Some(call) => Some((block, &**edit)),
        _ => None,
    })
}

/// The arguments that the line of the call does not say.
fn args_text(
    feed: &Feed,
    call: &ToolCallBlock,
    event_id: &str,
    find: FindBody<'_>,
) -> Option<String> {
    if call.args.is_null() {
        let coming = call.input.map(|input| feed.stream(input).into_string());
        return coming.filter(|text| !text.is_empty());
    }
    let mut args = filled(&call.args, event_id, find).to_value();
    if let Value::Object(members) = &mut args {
        for name in call.told_by_headline() {
            members.remove(name);
        }
        if members.is_empty() {
            return None;
        }
    }
    Some(long_text::indented(&Json::from(&args)))
}

/// A change as a unified diff that says which file it is of.
fn edit_text(feed: &Feed, block: &Block, edit: &FileEditBlock, find: FindBody<'_>) -> String {
    let facts: &FileEdit = &edit.edit;
    let preview = facts.diff_preview.read();
    let diff = match &facts.full_diff {
        Some(body) if body.byte_len() > preview.len() as u64 => {
            body_text(body, &block.event_id, find)
        }
        _ => preview.into_string(),
    };
    let cwd = feed.session().cwd.as_deref();
    let path = units::below(&facts.file_path, cwd);
    let is_headed = diff.starts_with("diff ") || diff.starts_with("--- ");
    if diff.is_empty() || facts.binary == Some(true) {
        return format!("{} {path}", facts.change_type);
    }
    if is_headed || !diff.starts_with("@@") {
        return diff;
    }
    let side = |letter: char, path: &str, is_none: bool| match is_none {
        true => "/dev/null".to_owned(),
        false => format!("{letter}/{}", path.trim_start_matches('/')),
    };
    let old_path = facts.old_path.as_deref();
    let old_path = old_path.map_or(path, |old_path| units::below(old_path, cwd));
    let old = side('a', old_path, facts.change_type == "created");
    let new = side('b', path, facts.change_type == "deleted");
    format!("--- {old}\n+++ {new}\n{diff}")
}

/// What a terminal shows of what was printed.
pub(crate) fn printed_text(output: &Output<'_>) -> String {
    let printed = output.printed();
    let mut terminal = Terminal::new();
    while !terminal.read(printed, usize::MAX) {}
    let lines = match terminal.is_screen() {
        true => screen::lines(printed, terminal.screen_size()),
        false => terminal.lines(printed, 0..terminal.n_lines()),
    };
    joined_lines(lines.into_iter().map(|line| line.text))
}

fn joined_lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// Those that say something, one after the other.
fn joined(parts: impl IntoIterator<Item = String>, between: &str) -> String {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(between)
}

fn body_text(body: &Body, event_id: &str, find: FindBody<'_>) -> String {
    match body {
        Body::Inline(text) => text.read().into_string(),
        Body::Ref { body } => found(body, event_id, find),
    }
}

fn found(body: &BodyRef, event_id: &str, find: FindBody<'_>) -> String {
    if let Some(whole) = body.excerpt().whole() {
        return whole.into_owned();
    }
    find(event_id, body).unwrap_or_else(|| reference_text(body))
}

/// A text as it is, the texts of content parts, anything else as indented JSON.
fn json_text(json: &Json, event_id: &str, find: FindBody<'_>) -> String {
    if json.is_null() {
        return String::new();
    }
    let json = filled(json, event_id, find);
    match json.as_str() {
        Some(text) => text.into_owned(),
        None => blocks_text(&json.to_value()).unwrap_or_else(|| long_text::indented(&json)),
    }
}

/// The value with its bodies where they were.
fn filled(json: &Json, event_id: &str, find: FindBody<'_>) -> Json {
    let told = bodies::retell(json, &mut |body| match body {
        Body::Inline(_) => None,
        Body::Ref { body } => Some(found(&body, event_id, find)),
    });
    told.unwrap_or_else(|| json.clone())
}
