//! What becomes of Claude Code's real output: every recording and fixture of its two dialects, and the sessions shipped
//! with the tests.
//!
//! The recordings lie beside the checkout; where they are not there, the tests over them say so and hold nothing.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a promise that is not kept fails its test"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, NotASession, Report, SessionReader};
use serde_json::Value;

#[path = "support/shared.rs"]
mod shared;

/// A file of the corpus, and what it holds.
struct Source {
    name: String,
    bytes: Vec<u8>,
}

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

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// What a reader makes of the pieces.
struct Read {
    events: Vec<ChatEvent>,
    report: Report,
    dialect: Option<Dialect>,
    verdict: Result<(), NotASession>,
}

fn read_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    let mut verdict = Ok(());
    for piece in pieces {
        verdict = reader.push(piece, 0, &mut events);
        if verdict.is_err() {
            break;
        }
    }
    let verdict = verdict.and_then(|()| reader.finish(0, &mut events));
    Read {
        events,
        report: reader.report(),
        dialect: reader.dialect(),
        verdict,
    }
}

fn read(bytes: &[u8]) -> Read {
    read_pieces(std::iter::once(bytes))
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

/// The text blocks of the assistant's lines, in order.
fn said_texts(lines: &[Value]) -> Vec<String> {
    let of_assistant = lines
        .iter()
        .filter(|line| line["type"] == "assistant" && !is_api_error(line));
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
                ("block fallback", 1),
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
        let mut seen = BTreeSet::new();
        for event in read(&source.bytes).events {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
            assert!(
                !event.id.is_empty() && event.id.len() <= 128 && event.id.chars().all(fits),
                "{}: {}",
                source.name,
                event.id
            );
            assert!(
                chat_event::session_id::fits(&event.session_id),
                "{}: {}",
                source.name,
                event.session_id
            );
            assert!(
                seen.insert(event.id.clone()),
                "{}: {} stands twice",
                source.name,
                event.id
            );
        }
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
                Payload::ToolResult(result) => {
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
        let mut open = BTreeSet::new();
        let mut ended = BTreeSet::new();
        for event in &events {
            let turn = event.turn_id.clone().unwrap_or_default();
            match &event.payload {
                Payload::TurnStart(_) => {
                    assert!(open.insert(turn), "{}: begins twice", source.name)
                }
                Payload::TurnEnd(end) => {
                    assert!(
                        open.contains(&turn) && ended.insert(turn),
                        "{}: ends twice",
                        source.name
                    );
                    assert!(end.outcome.is_some(), "{}", source.name);
                }
                _ => {}
            }
        }
        assert_eq!(open, ended, "{}", source.name);
        if source.name.contains(".stream") {
            let n_results = objects(&source.bytes)
                .iter()
                .filter(|line| line["type"] == "result")
                .count();
            // Killed, or stopped by a signal before 2.1: the stream has no result.
            let stopped =
                source.name.contains("sigkill") || source.name.contains("1.0.128/sigint-tool");
            assert_eq!(
                ended.len(),
                n_results + usize::from(stopped),
                "{}",
                source.name
            );
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
        let mut chunks: HashMap<(String, u32, bool), String> = HashMap::new();
        let mut whole: HashMap<(String, u32, bool), String> = HashMap::new();
        for event in &events {
            let response = event.response_id.clone().unwrap_or_default();
            match &event.payload {
                Payload::AssistantChunk(chunk) => {
                    chunks
                        .entry((response, chunk.part.unwrap(), false))
                        .or_default()
                        .push_str(&chunk.text);
                }
                Payload::ThinkingChunk(chunk) => {
                    chunks
                        .entry((response, chunk.part.unwrap(), true))
                        .or_default()
                        .push_str(&chunk.text);
                }
                Payload::AssistantDone(done) => {
                    let before =
                        whole.insert((response, done.part.unwrap(), false), done.text.clone());
                    assert_eq!(before, None, "{}: a part is done twice", source.name);
                }
                Payload::ThinkingDone(done) => {
                    let before =
                        whole.insert((response, done.part.unwrap(), true), done.text.clone());
                    assert_eq!(before, None, "{}: a part is done twice", source.name);
                }
                _ => {}
            }
        }
        for (part, text) in chunks {
            assert_eq!(whole.get(&part), Some(&text), "{}: {part:?}", source.name);
        }
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
        return Some((text("originalFile").unwrap_or_default(), content));
    }
    let old = text("originalFile")?;
    let (from, to) = (text("oldString")?, text("newString")?);
    if from.is_empty() {
        return old.is_empty().then_some((old, to));
    }
    let new = if details["replaceAll"] == true {
        old.replace(&from, &to)
    } else {
        old.replacen(&from, &to, 1)
    };
    old.contains(&from).then_some((old, new))
}

#[test]
fn any_cut_of_the_bytes_gives_the_same_events() {
    let mut random = Random(7);
    for source in corpus() {
        let whole = read(&source.bytes);
        // Cuts of large files are few: what matters is where in a line they fall.
        for longest in [1usize, 7, 400, 70_000] {
            if source.bytes.len() / longest > 40_000 {
                continue;
            }
            let mut pieces = Vec::new();
            let mut rest = source.bytes.as_slice();
            while !rest.is_empty() {
                let (piece, behind) =
                    rest.split_at(random.below(longest).saturating_add(1).min(rest.len()));
                pieces.push(piece);
                rest = behind;
            }
            let cut = read_pieces(pieces.into_iter());
            assert_eq!(cut.verdict, whole.verdict, "{}", source.name);
            assert!(
                cut.events == whole.events,
                "{}: pieces of up to {longest} bytes give other events",
                source.name
            );
        }
        assert!(
            read(&source.bytes).events == whole.events,
            "{}: a second reading gives other events",
            source.name
        );
    }
}

/// Lines that are damaged: cut, doubled, left out, with bytes changed. Whatever comes of it, every line is accounted for.
#[test]
fn damaged_lines_never_stop_the_reader() {
    let mut random = Random(11);
    for source in corpus()
        .iter()
        .filter(|source| source.bytes.len() < 200_000)
    {
        for _ in 0..6 {
            let mut damaged = Vec::new();
            for line in source.bytes.split_inclusive(|byte| *byte == b'\n') {
                match random.below(12) {
                    0 => damaged.extend_from_slice(&line[..random.below(line.len())]),
                    1 => {
                        let mut line = line.to_vec();
                        for _ in 0..=random.below(4) {
                            let at = random.below(line.len());
                            line[at] = [b'"', b'{', b'}', b'\\', 0, 0xff, b'0', b'n', b',']
                                [random.below(9)];
                        }
                        damaged.extend(line);
                    }
                    2 => {
                        damaged.extend_from_slice(line);
                        damaged.extend_from_slice(line);
                    }
                    3 => {}
                    4 => damaged.extend(swapped_values(line, &mut random)),
                    _ => damaged.extend_from_slice(line),
                }
            }
            let read = read(&damaged);
            let mut ids = BTreeSet::new();
            for event in &read.events {
                assert!(
                    ids.insert(&event.id),
                    "{}: {} stands twice",
                    source.name,
                    event.id
                );
                let again = ChatEvent::from_json(&event.to_line()).unwrap();
                assert_eq!(again.to_line(), event.to_line(), "{}", source.name);
            }
            let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
            for event in &read.events {
                match &event.payload {
                    Payload::TurnStart(_) => assert!(
                        begun.insert(&event.turn_id),
                        "{}: a turn begins twice",
                        source.name
                    ),
                    Payload::TurnEnd(_) => assert!(
                        ended.insert(&event.turn_id),
                        "{}: a turn ends twice",
                        source.name
                    ),
                    _ => {}
                }
            }
            assert_eq!(begun, ended, "{}", source.name);
        }
    }
}

/// The line with one member's value replaced by one of another kind, somewhere in it.
fn swapped_values(line: &[u8], random: &mut Random) -> Vec<u8> {
    fn swap(value: &mut Value, at: &mut usize, with: &Value) {
        if *at == 0 {
            *value = with.clone();
        }
        *at = at.wrapping_sub(1);
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| swap(item, at, with)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|member| swap(member, at, with)),
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(line) else {
        return line.to_vec();
    };
    let kinds = [
        Value::Null,
        Value::from(-1),
        Value::from(1e300),
        Value::from("x"),
        Value::from(vec![1]),
        serde_json::json!({"type": 1}),
        Value::Bool(true),
    ];
    let mut at = 1 + random.below(40);
    swap(&mut value, &mut at, &kinds[random.below(kinds.len())]);
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The sessions shipped with the tests give the events that lie beside them; `TURNREEL_BLESS=1` writes them anew.
#[test]
fn shipped_sessions_give_the_events_beside_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let mut n_checked = 0;
    for story in sorted(&folder).into_iter().filter(|path| path.is_dir()) {
        for (input, snapshot) in [
            ("input.stream.jsonl", "events.jsonl"),
            ("input.transcript.jsonl", "transcript.events.jsonl"),
        ] {
            let Ok(bytes) = std::fs::read(story.join(input)) else {
                continue;
            };
            let read = read(&bytes);
            assert_eq!(read.verdict, Ok(()));
            let lines: String = read
                .events
                .iter()
                .map(|event| event.to_line() + "\n")
                .collect();
            let path = story.join(snapshot);
            if std::env::var_os("TURNREEL_BLESS").is_some() {
                std::fs::write(&path, &lines).unwrap();
            }
            let wanted = std::fs::read_to_string(&path).unwrap_or_default();
            for (at, (got, wanted)) in lines.lines().zip(wanted.lines()).enumerate() {
                assert_eq!(got, wanted, "{}: line {}", path.display(), at + 1);
            }
            assert_eq!(
                lines.lines().count(),
                wanted.lines().count(),
                "{}",
                path.display()
            );
            n_checked += 1;
        }
    }
    assert!(n_checked >= 6, "only {n_checked} sessions are shipped");
}

/// A stream and the transcript of the same run agree on what was said, called and changed.
#[test]
fn a_stream_and_its_transcript_tell_the_same_story() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/read-edit");
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
    let stream = story("input.stream.jsonl");
    assert!(stream.len() >= 7);
    assert_eq!(stream, story("input.transcript.jsonl"));
}

/// Numbers that look random and are the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let limit = u64::try_from(limit.max(1)).unwrap();
        usize::try_from(self.0 % limit).unwrap()
    }
}
