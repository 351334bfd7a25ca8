//! Calls of Grok Build: what is called, what it prints, what it gave and what it changed.
//!
//! A `tool_call` has the arguments as the model wrote them, what follows tells them anew and says what is done, for people.
//! What a command printed so far comes whole each time; its exit code counts when it is over.

use std::collections::BTreeMap;

use chat_diff::{Change, from_unified};
use chat_event::payload::{FileEdit, ToolOutputChunk, ToolResult};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::lines::Line;
use super::{FORMAT, GrokBuild};
use crate::acp::{Held, held};
use crate::edit::{file_edit, piece_edit, shown_path};
use crate::emit::Emitter;
use crate::tool::{self, attached};
use crate::track::{Call, NewCall};
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::{one_line, printed};

/// How much each call printed, and in how many pieces it was told.
pub(super) type Printed = BTreeMap<String, (usize, u64)>;

/// A pieced diff of an edit is made of so many places at most.
const MOST_PLACES: usize = 1000;

impl GrokBuild {
    pub(super) fn called(&mut self, emitter: &mut Emitter, line: &Line<'_>) {
        let update = line.update;
        let Some(id) = text_of(update, "toolCallId") else {
            let place = self.run.track.place();
            return emitter.raw(&place, FORMAT, "call without an id", update);
        };
        let response = self.response(emitter, line);
        let about = update.pointer("/_meta/x.ai~1tool").unwrap_or(&Value::Null);
        let name = text_of(about, "name").or_else(|| text_of(update, "title"));
        let name = name.unwrap_or("");
        let args = update.get("rawInput").unwrap_or(&Value::Null);
        let new = NewCall {
            id,
            response_id: &response,
            name,
            args,
            title: title(args),
            kind: kind(name, str_of(about, "kind")),
        };
        self.run.track.call(emitter, new);
    }

    pub(super) fn call_updated(&mut self, emitter: &mut Emitter, line: &Line<'_>) {
        let update = line.update;
        let id = text_of(update, "toolCallId").unwrap_or("");
        if self.run.track.waiting(id).is_none() {
            return emitter.pass_over("more of a call that is over");
        }
        match str_of(update, "status") {
            Some("completed") => self.gave(emitter, id, update, false),
            Some("failed") => self.gave(emitter, id, update, true),
            Some("in_progress") => self.prints(emitter, id, &text_in(update)),
            _ => emitter.pass_over("a call in other words"),
        }
    }

    /// What a call printed so far; what is new in it is told.
    fn prints(&mut self, emitter: &mut Emitter, id: &str, text: &str) {
        let Some(call) = self.run.track.waiting(id) else {
            return;
        };
        let told = self.printed.entry(id.to_owned()).or_default();
        // The beginning of what is long goes at some time: what is shown then is not what comes behind it.
        let Some(more) = text.get(told.0..).filter(|more| !more.is_empty()) else {
            return emitter.pass_over("nothing new of a call");
        };
        told.0 = text.len();
        told.1 += 1;
        let chunk = ToolOutputChunk {
            tool_call_id: call.id.clone(),
            chunk: more.to_owned(),
            ..ToolOutputChunk::default()
        };
        emitter.add_as(&format!("{}:out{}", call.id, told.1), &call.place, chunk);
    }

    fn gave(&mut self, emitter: &mut Emitter, id: &str, update: &Value, failed: bool) {
        self.printed.remove(id);
        let output = update.get("rawOutput").unwrap_or(&Value::Null);
        let text = text_in(update);
        let exit_code = output.get("exit_code").and_then(Value::as_i64);
        // A command that ended with an error was completed, too.
        let is_command = str_of(output, "type") == Some("Bash");
        let bad_exit = exit_code.filter(|code| is_command && *code != 0);
        let error = match (failed, bad_exit) {
            (true, _) => {
                let code = text.starts_with("User cancelled").then_some("rejected");
                Some(tool::error(
                    code.or(Some("error")),
                    if text.is_empty() {
                        "the tool failed"
                    } else {
                        &text
                    },
                ))
            }
            (false, Some(code)) => {
                Some(tool::error(Some("exit_code"), &format!("exit code {code}")))
            }
            (false, None) => None,
        };
        let pictures =
            list_of(update, "content")
                .iter()
                .filter_map(|item| match held(item.get("content")?) {
                    Held::Attachment(picture) => Some(picture),
                    _ => None,
                });
        let mut extra: Extra = attached(pictures.collect());
        if let Some(log) = text_of(output, "output_file") {
            extra.insert("outputFile", Json::string(log));
        }
        let result = ToolResult {
            result: Json::string(&text),
            summary: printed(&text).filter(|_| error.is_none()),
            error,
            exit_code: exit_code.filter(|_| is_command),
            extra,
            ..ToolResult::default()
        };
        let Some(call) = self.run.track.result(emitter, id, result) else {
            return;
        };
        if failed {
            return;
        }
        for item in list_of(update, "content") {
            if str_of(item, "type") == Some("diff")
                && let Some(edit) = self.edit(&call, item, output)
            {
                self.run.track.edit(emitter, &call, edit);
            }
        }
    }

    /// The edit of a file: what was replaced where, with the lines around it.
    fn edit(&self, call: &Call, item: &Value, output: &Value) -> Option<FileEdit> {
        let path = text_of(item, "path")?;
        let (old, new) = (str_of(item, "oldText"), str_of(item, "newText"));
        let (old, new) = (old.unwrap_or(""), new.unwrap_or(""));
        let words = output.pointer("/EditsApplied/tool_output_for_prompt");
        let words = words.and_then(Value::as_str).unwrap_or("");
        let change = match old.is_empty() && words.contains("has been created") {
            true => Change::Created,
            false => Change::Modified,
        };
        let places = list_of(item.get("_meta").unwrap_or(&Value::Null), "details");
        let shown = shown_path(self.run.track.facts.cwd().as_deref(), path);
        let patch = patch_of(places);
        if let Some(diff) = patch.and_then(|patch| from_unified(&shown, None, change, &patch)) {
            return Some(file_edit(&call.id, path, &diff));
        }
        let mut edit = piece_edit(&call.id, path, &[(old, new)]);
        change.as_str().clone_into(&mut edit.change_type);
        Some(edit)
    }
}

/// A patch of the places of an edit; `None` where they do not tell it.
fn patch_of(places: &[Value]) -> Option<String> {
    if places.is_empty() || places.len() > MOST_PLACES {
        return None;
    }
    let mut patch = String::new();
    for place in places {
        let part = |key: &str| str_of(place, key).unwrap_or("");
        let (before, after) = (part("context_before"), part("context_after"));
        let (old, new) = (part("old_string"), part("new_string"));
        // What stands on the line before it is not among the lines.
        let is_whole = [before, old, new]
            .iter()
            .all(|it| it.is_empty() || it.ends_with('\n'));
        if !is_whole || !part("line_prefix").is_empty() {
            return None;
        }
        let lines = |text: &str| u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
        let around = lines(before).saturating_add(lines(after));
        let (n_old, n_new) = (lines(old) + around, lines(new) + around);
        let begins = |key: &str, n: u64| match n {
            0 => Some(0),
            _ => count_of(place, key)?.checked_sub(lines(before)),
        };
        let (at_old, at_new) = (begins("old_line", n_old)?, begins("new_line", n_new)?);
        patch.push_str(&format!("@@ -{at_old},{n_old} +{at_new},{n_new} @@\n"));
        let (shared_first, old, new, shared_last) = apart(old, new);
        let context = |lines: &[&str]| lines.iter().map(|line| format!(" {line}\n")).collect();
        let parts: [String; 6] = [
            context(&before.lines().collect::<Vec<_>>()),
            context(&shared_first),
            old.iter().map(|line| format!("-{line}\n")).collect(),
            new.iter().map(|line| format!("+{line}\n")).collect(),
            context(&shared_last),
            context(&after.lines().collect::<Vec<_>>()),
        ];
        patch.push_str(&parts.concat());
    }
    Some(patch)
}

/// What two texts have in common at their beginnings and at their ends, and what is between.
fn apart<'a>(
    old: &'a str,
    new: &'a str,
) -> (Vec<&'a str>, Vec<&'a str>, Vec<&'a str>, Vec<&'a str>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |(old, new): &(&&str, &&str)| old == new;
    let n_first = old.iter().zip(&new).take_while(same).count();
    let (first, old) = old.split_at(n_first);
    let new = &new[n_first..];
    let n_last = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(same)
        .count();
    let (old, last) = old.split_at(old.len() - n_last);
    let new = &new[..new.len() - n_last];
    (first.to_vec(), old.to_vec(), new.to_vec(), last.to_vec())
}

/// The words that a call gave: what people are shown, else what the model is told.
fn text_in(update: &Value) -> String {
    let shown =
        list_of(update, "content")
            .iter()
            .filter_map(|item| match held(item.get("content")?) {
                Held::Text(text) => Some(text),
                _ => None,
            });
    let shown: Vec<String> = shown.filter(|text| !text.is_empty()).collect();
    if !shown.is_empty() {
        return shown.join("\n");
    }
    let output = update.get("rawOutput").unwrap_or(&Value::Null);
    let told = [
        "/EditsApplied/tool_output_for_prompt",
        "/TodosUpdated/summary_for_prompt",
        "/Content/content",
        "/text",
        "/output_for_prompt",
        "/output",
    ];
    let told = told.iter().find_map(|at| output.pointer(at)?.as_str());
    told.unwrap_or("").to_owned()
}

/// The kind of a tool, after `design/events.md`; `told` is what the program says of it.
fn kind(name: &str, told: Option<&str>) -> &'static str {
    match told {
        Some("read") => "read",
        Some("edit" | "write") => "edit",
        Some("execute") => "execute",
        Some("search" | "list") => "search",
        Some("fetch" | "web_search") => "fetch",
        Some("task") => "agent",
        Some("plan") => "plan",
        _ => tool::kind(name),
    }
}

/// One line for a call.
fn title(args: &Value) -> Option<String> {
    let keys = [
        "command",
        "target_file",
        "file_path",
        "pattern",
        "target_directory",
        "path",
        "query",
        "url",
        "description",
    ];
    let text = keys.iter().find_map(|key| text_of(args, key));
    text.map(one_line)
}
