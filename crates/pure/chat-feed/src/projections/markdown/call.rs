//! A tool call in the transcript: what was called, with what, what its sub-agent did, what came of it.

use chat_event::payload::FileEdit;
use chat_event::{Body, Json};
use serde_json::Value;

use super::writer::{Writer, code};
use crate::projections::TextSink;
use crate::projections::conversation::Call;
use crate::projections::plain::{json_text, result_text, value_of};
use crate::row_text::printed_text;
use crate::terminal::{MOST_COLUMNS, Output};
use crate::tool::{ToolKind, ToolStatus};

/// Results are shown up to here: what a reader looks for is at the beginning, and the log has the rest.
const RESULT_BYTES: usize = 16 * 1024;

/// Diffs and arguments are shown up to here.
const DIFF_BYTES: usize = 64 * 1024;

/// The line above a call, and its arguments.
pub(super) fn write_head<S: TextSink>(out: &mut Writer<'_, S>, call: &Call) {
    let name = match &*call.name {
        "" => code(&call.id),
        name => code(name),
    };
    let mut facts = Vec::new();
    match call.status() {
        ToolStatus::Succeeded => {}
        status => facts.push(status.as_str().to_owned()),
    }
    if let Some(exit_code) = call.result.as_ref().and_then(|result| result.exit_code) {
        facts.push(format!("exit {exit_code}"));
    }
    // Sources without times of their own have the same one everywhere.
    let ran_ms = call.ran_ms.filter(|&ran_ms| ran_ms > 0);
    facts.extend(ran_ms.map(super::times::duration));
    let facts = match facts.is_empty() {
        true => String::new(),
        false => format!(" ({})", facts.join(", ")),
    };
    let title = call.title.as_deref().filter(|_| !shows_command(call));
    let title = title.map(code).filter(|title| !title.is_empty());
    let title = title.map_or_else(String::new, |title| format!(" {title}"));
    let called = if call.called {
        "Call"
    } else {
        "Of a call that is not in the log:"
    };
    out.block(format!("**{called}** {name}{title}{facts}").trim_end());
    write_args(out, call);
}

/// What came of a call.
pub(super) fn write_outcome<S: TextSink>(out: &mut Writer<'_, S>, call: &Call) {
    for edit in call.edits() {
        write_edit(out, edit);
    }
    let text = match &call.result {
        // That there is none is said above.
        Some(result) if call.was_stopped() => match call.printed_more() {
            Some(printed) => printed.to_owned(),
            None => json_text(&result.result),
        },
        Some(result) => result_text(result, &call.output),
        None => call.output.clone(),
    };
    if !text.is_empty() {
        let shown = (call.kind == ToolKind::Execute)
            .then(|| printed(&text))
            .flatten();
        write_cut(out, "text", shown.as_deref().unwrap_or(&text), RESULT_BYTES);
    }
    if call.n_other_results > 0 {
        let n = call.n_other_results;
        out.block(&format!(
            "*{n} more of its results say something else; the first stands.*"
        ));
    }
}

/// What a terminal has of what a command printed, where that is another text: of lines that were written over, what is left, or
/// a bar of progress would be all there is to read. `None` as well where a terminal does not show all of a line.
fn printed(text: &str) -> Option<String> {
    let is_written_over = text.contains(['\u{1b}', '\u{8}'])
        || text
            .as_bytes()
            .windows(2)
            .any(|two| two[0] == b'\r' && two[1] != b'\n');
    let mut lines = text.split(['\n', '\r']);
    let fits = lines.all(|line| line.len() < MOST_COLUMNS);
    (is_written_over && fits).then(|| printed_text(&Output::text(text)))
}

/// One changed file.
pub(super) fn write_edit<S: TextSink>(out: &mut Writer<'_, S>, edit: &FileEdit) {
    let path = code(&edit.file_path);
    let from = edit
        .old_path
        .as_deref()
        .filter(|old| *old != edit.file_path);
    let from = from.map_or_else(String::new, |old| format!(" from {}", code(old)));
    let change = super::writer::words(&edit.change_type);
    let (added, removed) = (edit.lines_added, edit.lines_removed);
    out.block(&format!(
        "**File** {path} {change}{from} +{added} −{removed}"
    ));
    let diff = match &edit.full_diff {
        Some(Body::Ref { body }) if body.preview.len() <= edit.diff_preview.len() => None,
        full_diff => full_diff.as_ref().map(Body::preview),
    };
    let diff = diff.unwrap_or_else(|| edit.diff_preview.read());
    let whole = edit
        .full_diff
        .as_ref()
        .map_or(edit.full_diff_size, Body::byte_len);
    if !diff.is_empty() {
        write_cut(out, "diff", &diff, DIFF_BYTES);
    }
    if (diff.len() as u64) < whole {
        out.block(&format!(
            "*The first {} of {whole} bytes of the diff.*",
            diff.len()
        ));
    }
}

fn write_args<S: TextSink>(out: &mut Writer<'_, S>, call: &Call) {
    // A diff says what the arguments of an edit say.
    if call.kind == ToolKind::Edit && call.edits().any(has_diff) {
        return;
    }
    if let Some(command) = command(call) {
        return write_cut(out, "sh", &command, DIFF_BYTES);
    }
    if call.args.is_null() {
        if !call.input.is_empty() {
            write_cut(out, "json", &call.input, DIFF_BYTES);
        }
        return;
    }
    match value_of(&call.args) {
        Value::Object(members) if members.is_empty() => {}
        Value::String(text) => write_cut(out, "text", &text, DIFF_BYTES),
        // What cannot be read as a tree is shown as it came.
        Value::Null => write_cut(out, "json", &call.args.as_text(), DIFF_BYTES),
        value => {
            let text = serde_json::to_string_pretty(&value).unwrap_or_default();
            write_cut(out, "json", &text, DIFF_BYTES);
        }
    }
}

fn has_diff(edit: &FileEdit) -> bool {
    !edit.diff_preview.is_empty() || edit.full_diff.is_some()
}

fn shows_command(call: &Call) -> bool {
    command(call).is_some()
}

fn command(call: &Call) -> Option<String> {
    if call.kind != ToolKind::Execute {
        return None;
    }
    let told = call.args.get("command").or_else(|| call.args.get("cmd"))?;
    // Some agents give a command as a list of words.
    let words = |told: &Json| told.parse::<Vec<String>>().map(|words| words.join(" "));
    match value_of(&told) {
        Value::String(text) => Some(text),
        _ => words(&told),
    }
}

/// Writes a text up to about `most` bytes, and how much is left out.
pub(super) fn write_cut<S: TextSink>(out: &mut Writer<'_, S>, info: &str, text: &str, most: usize) {
    if text.len() <= most {
        return out.fence(info, text);
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // Cut on a line where there is one.
    let end = text[..end].rfind('\n').map_or(end, |at| at + 1);
    out.fence(info, &text[..end]);
    out.block(&format!("*The first {end} of {} bytes.*", text.len()));
}
