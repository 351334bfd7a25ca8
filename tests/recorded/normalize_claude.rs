//! What becomes of Claude Code's real output: every recording and fixture of its two dialects, and the sessions shipped
//! with the tests.
//!
//! The recordings lie beside the checkout; where they are not there, the tests over them say so and hold nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::normalized::{
    Source, assert_any_cuts, assert_damaged, assert_ids, assert_turns, file_name, read, sorted,
    whole_texts,
};
use super::shared;

/// All recordings and fixtures of the two dialects.
fn corpus() -> Vec<Source> {
    let mut sources = Vec::new();
    for (folder, wanted) in [("recordings", "claude-code"), ("fixtures", "claude-")] {
        let Some(root) = shared::shared(folder) else {
            continue;
        };
        for dialect in sorted(&root) {
            let name = file_name(&dialect);
            if !dialect.is_dir() || !name.starts_with(wanted) {
                continue;
            }
            for path in sorted(&dialect) {
                let file = file_name(&path);
                let of_recordings = file.ends_with(".jsonl")
                    && (file.contains(".stream") || file.contains(".transcript"));
                let of_fixtures = folder == "fixtures" && !file.ends_with(".meta.json");
                if of_recordings || of_fixtures {
                    sources.push(Source {
                        name: format!("{name}/{file}"),
                        bytes: std::fs::read(&path).unwrap(),
                    });
                }
            }
        }
    }
    sources
}

/// The lines of a source that are JSON objects, those within other lines included; lines with an id come once.
fn objects(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let mut found: Vec<Value> = Vec::new();
    let mut seen = BTreeSet::new();
    let whole = serde_json::from_str::<Value>(&text)
        .into_iter()
        .filter(|value| value.get("type").is_some());
    let values = whole.chain(
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok()),
    );
    for mut value in values {
        if !value.is_object() {
            continue;
        }
        let inner = value
            .pointer_mut("/data/message")
            .map(Value::take)
            .filter(Value::is_object);
        let value = inner.unwrap_or(value);
        let copy = value
            .get("uuid")
            .filter(|uuid| !uuid.is_null())
            .is_some_and(|_| !seen.insert(value.to_string()));
        if !copy {
            found.push(value);
        }
    }
    found
}

fn is_api_error(line: &Value) -> bool {
    line["is_api_error_message"] == true
        || line["isApiErrorMessage"] == true
        || (line.get("session_id").is_some()
            && line["error"]
                .as_str()
                .is_some_and(|error| !error.is_empty()))
}

/// Whether the program put the line where a turn that was cut off has no answer.
fn is_no_answer(line: &Value) -> bool {
    line["message"]["model"] == "<synthetic>"
        && line["message"]["content"][0]["text"] == "No response requested."
}

/// The text blocks of the assistant's lines, in order.
fn said_texts(lines: &[Value]) -> Vec<String> {
    let of_assistant = lines
        .iter()
        .filter(|line| line["type"] == "assistant" && !is_api_error(line) && !is_no_answer(line));
    of_assistant
        .flat_map(|line| match &line["message"]["content"] {
            Value::String(text) => vec![text.clone()],
            Value::Array(blocks) => blocks
                .iter()
                .filter(|block| block["type"] == "text")
                .map(|block| block["text"].as_str().unwrap_or("").to_owned())
                .collect(),
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn every_source_is_told_and_read() {
    for source in corpus() {
        let read = read(&source.bytes);
        assert_eq!(read.verdict, Ok(()), "{}", source.name);
        let transcript = source.name.contains("transcript");
        let dialect = if transcript {
            Dialect::ClaudeTranscript
        } else {
            Dialect::ClaudeStream
        };
        assert_eq!(read.dialect, Some(dialect), "{}", source.name);
        assert!(!read.events.is_empty(), "{}", source.name);
    }
}

/// What no rule knows, by corpus. A kind that is new here wants a rule, or a reason to stand here.
#[test]
fn what_no_rule_knows_is_what_is_listed_here() {
    let mut found: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let sources = corpus();
    for source in &sources {
        for (kind, count) in read(&source.bytes).report.raw {
            *found
                .entry(source.name.clone())
                .or_default()
                .entry(kind)
                .or_default() += count;
        }
    }
    let mut listed: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    if !sources.is_empty() {
        let mut list = |name: &str, kinds: &[(&str, u64)]| {
            let kinds = kinds
                .iter()
                .map(|(kind, count)| ((*kind).to_owned(), *count))
                .collect();
            listed.insert(
                format!("claude-transcript/jazzyalex__agent-sessions__{name}.jsonl"),
                kinds,
            );
        };
        // Lines of another program's making, which Claude Code never wrote.
        list(
            "claude-schema_drift",
            &[("tool_result", 1), ("tool_use", 1)],
        );
        // A workflow's lines, of which only this trimmed sample is known; blocks and lines without what they need.
        list(
            "claude-small",
            &[
                ("result", 1),
                ("started", 1),
                ("tool_result without an id", 2),
            ],
        );
    }
    assert_eq!(found, listed);
}

/// Warnings, each with why it is right.
#[test]
fn every_warning_has_its_reason() {
    let reasons = [
        // The program printed plain text before its first line.
        ("dirty-stdout.stream.jsonl", "stdout"),
        ("09-resume-wrong-cwd.jsonl", "stdout"),
        // The line is cut off.
        ("claude-truncated.jsonl", "reader"),
        // The run was stopped by --max-turns, and says so.
        ("max-turns.transcript", "claude-code"),
        // Answers were cut, and went on.
        ("max-tokens.", "claude-code"),
        // A hook failed.
        ("89-7eb280e769-12.jsonl", "hook"),
        // A refusal, in a constructed line.
        ("claude-small.jsonl", "claude-code"),
        ("claude-small.jsonl", "hook"),
    ];
    for source in corpus() {
        for event in read(&source.bytes).events {
            let Payload::Notice(notice) = &event.payload else {
                continue;
            };
            if notice.level == "warning" {
                let by = notice.source.as_deref().unwrap_or("");
                let known = reasons
                    .iter()
                    .any(|(name, source_of)| source.name.contains(name) && *source_of == by);
                assert!(known, "{}: {by}: {}", source.name, notice.text);
            }
        }
    }
}

#[test]
fn every_id_stands_once() {
    for source in corpus() {
        assert_ids(&source.name, &read(&source.bytes).events);
    }
}

#[test]
fn every_call_has_one_result() {
    for source in corpus() {
        let mut calls: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for event in read(&source.bytes).events {
            match &event.payload {
                Payload::ToolCall(call) => {
                    calls.entry(call.tool_call_id.clone()).or_default().0 += 1
                }
                // What goes on in the background has another one.
                Payload::ToolResult(result) if !result.goes_on() => {
                    calls.entry(result.tool_call_id.clone()).or_default().1 += 1
                }
                _ => {}
            }
        }
        // Samples of one line hold results alone.
        let sample = source.name.contains("-tool_") || source.name.contains("tool_use-");
        for (id, (n_calls, n_results)) in calls {
            assert_eq!(n_results, 1, "{}: {id}", source.name);
            assert!(
                n_calls == 1 || (n_calls == 0 && sample),
                "{}: {id} is called {n_calls} times",
                source.name
            );
        }
    }
}

#[test]
fn every_turn_ends_once_and_a_stream_has_as_many_as_results() {
    for source in corpus() {
        let events = read(&source.bytes).events;
        let n_ended = assert_turns(&source.name, &events);
        if source.name.contains(".stream") {
            let n_results = objects(&source.bytes)
                .iter()
                .filter(|line| line["type"] == "result")
                .count();
            // Killed, or stopped by a signal before 2.1: the stream has no result.
            let stopped =
                source.name.contains("sigkill") || source.name.contains("1.0.128/sigint-tool");
            assert_eq!(n_ended, n_results + usize::from(stopped), "{}", source.name);
            let last = events.iter().rev().find_map(|event| match &event.payload {
                Payload::TurnEnd(end) => end.outcome.clone(),
                _ => None,
            });
            if stopped {
                assert_eq!(last.as_deref(), Some("interrupted"), "{}", source.name);
            }
        }
    }
}

#[test]
fn no_text_is_shown_twice_and_none_is_lost() {
    for source in corpus() {
        let events = read(&source.bytes).events;
        let done: Vec<String> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::AssistantDone(done) => Some(done.text.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(done, said_texts(&objects(&source.bytes)), "{}", source.name);
        whole_texts(&source.name, &events);
    }
}

/// The diffs that can be proved: those whose old and new text the line has.
#[test]
fn every_diff_makes_the_new_text_of_the_old_one() {
    let mut n_proved = 0;
    for source in corpus() {
        let mut diffs: HashMap<String, chat_event::payload::FileEdit> = HashMap::new();
        for event in read(&source.bytes).events {
            if let Payload::FileEdit(edit) = event.payload {
                assert_eq!(
                    edit.full_diff.is_some(),
                    edit.full_diff_available,
                    "{}",
                    source.name
                );
                diffs.insert(edit.tool_call_id.clone(), edit);
            }
        }
        for line in objects(&source.bytes) {
            let details = [&line["tool_use_result"], &line["toolUseResult"]]
                .into_iter()
                .find(|details| details.is_object());
            let (Some(details), Some(id)) = (
                details,
                line["message"]["content"][0]["tool_use_id"].as_str(),
            ) else {
                continue;
            };
            let Some(edit) = diffs.get(id) else { continue };
            let Some((old, new)) = both_texts(details) else {
                continue;
            };
            let Some(chat_event::Body::Inline(diff)) = &edit.full_diff else {
                assert_eq!(old, new, "{}: {id} has no diff", source.name);
                continue;
            };
            let diff = &*diff.read();
            assert_eq!(
                chat_diff::apply(diff, &old).as_deref(),
                Ok(new.as_str()),
                "{}: {id}\n{diff}",
                source.name
            );
            n_proved += 1;
        }
    }
    println!("{n_proved} diffs proved");
    if shared::shared("recordings").is_some() {
        assert!(n_proved > 100, "only {n_proved}");
    }
}

/// The texts before and after, from a result's details alone.
fn both_texts(details: &Value) -> Option<(String, String)> {
    let text = |key: &str| details[key].as_str().map(str::to_owned);
    if details.get("updated_file").is_some() {
        return Some((text("original_file")?, text("updated_file")?));
    }
    if let Some(content) = text("content").filter(|_| details.get("filePath").is_some()) {
        // 1.0 says no old text; an update without a hunk changed nothing.
        let is_same = details["type"] == "update" && details["structuredPatch"] == json!([]);
        let old = if is_same {
            content.clone()
        } else {
            Default::default()
        };
        return Some((text("originalFile").unwrap_or(old), content));
    }
    let old = text("originalFile")?;
    let (from, to) = (text("oldString")?, text("newString")?);
    if from.is_empty() {
        return old.is_empty().then_some((old, to));
    }
    // Where words are taken out and a line ends behind them, so is its end.
    let line = format!("{from}\n");
    let takes_line = to.is_empty() && !from.ends_with('\n') && old.contains(&line);
    let from = if takes_line { line } else { from };
    let new = if details["replaceAll"] == true {
        old.replace(&from, &to)
    } else {
        old.replacen(&from, &to, 1)
    };
    old.contains(&from).then_some((old, new))
}

#[test]
fn any_cut_of_the_bytes_gives_the_same_events() {
    assert_any_cuts(&corpus());
}

/// Lines that are damaged: cut, doubled, left out, with bytes changed. Whatever comes of it, every line is accounted for.
#[test]
fn damaged_lines_never_stop_the_reader() {
    assert_damaged(&corpus(), |_, _| {});
}

/// A stream and the transcript of the same run agree on what was said, called and changed.
#[test]
fn a_stream_and_its_transcript_tell_the_same_story() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let story = |file: &str| -> Vec<String> {
        let events = read(&std::fs::read(folder.join(file)).unwrap()).events;
        let told = events.iter().filter_map(|event| match &event.payload {
            Payload::AssistantDone(done) => Some(format!("{} says {}", event.id, done.text)),
            Payload::ToolCall(call) => Some(format!("{} calls {}", event.id, call.tool_name)),
            Payload::ToolResult(result) => {
                Some(format!("{} gives {}", event.id, result.result.as_text()))
            }
            Payload::FileEdit(edit) => Some(format!("{} changes {}", event.id, edit.diff_preview)),
            _ => None,
        });
        told.collect()
    };
    let stream = story("read-edit/input.stream.jsonl");
    assert!(stream.len() >= 7);
    assert_eq!(stream, story("read-edit-transcript/input.transcript.jsonl"));
}
