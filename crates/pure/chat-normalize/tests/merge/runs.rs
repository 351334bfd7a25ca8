//! The recorded runs that have two or three sources.

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, FolderReader, SessionFolder, SessionReader};

/// The events of each source of one run.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) sources: Vec<(String, Vec<ChatEvent>)>,
}

impl Run {
    pub(super) fn events(&self) -> Vec<Vec<ChatEvent>> {
        let sources = self.sources.iter();
        sources.map(|(_, events)| events.clone()).collect()
    }
}

fn read(bytes: &[u8]) -> Vec<ChatEvent> {
    crate::support::read(bytes).events
}

/// The recorded runs of other programs: what they printed or sent, and what they stored.
pub(super) fn other_runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for (folder, kinds) in [
        (
            "codex",
            ["exec.jsonl", "appserver.jsonl", "rollout.1.jsonl"],
        ),
        (
            "codex-0.77.0",
            ["exec.jsonl", "appserver.jsonl", "rollout.1.jsonl"],
        ),
        ("opencode", ["events.jsonl", "export.json", "run.jsonl"]),
        ("gemini-cli", ["chat.1.jsonl", "stream.jsonl", ""]),
        ("pi", ["json.jsonl", "session.1.jsonl", ""]),
    ] {
        let mut stories: BTreeMap<String, Run> = BTreeMap::new();
        for source in crate::support::sources(&format!("recordings/{folder}"), |name| {
            let mut kinds = kinds.iter().filter(|kind| !kind.is_empty());
            kinds.any(|kind| name.ends_with(&format!(".{kind}")))
        }) {
            let (story, kind) = source.name.split_once('.').unwrap();
            let run = stories.entry(story.to_owned()).or_insert_with(|| Run {
                name: format!("{folder}/{story}"),
                sources: Vec::new(),
            });
            run.sources.push((kind.to_owned(), read(&source.bytes)));
        }
        runs.extend(stories.into_values().filter(|run| run.sources.len() > 1));
    }
    runs
}

/// These runs with the lines of `codex exec` at the times at which they came, as a pipe reads them: what it prints tells no
/// times. A run that goes on with a session ended when that turn of the session's file did.
pub(super) fn live(mut runs: Vec<Run>) -> Vec<Run> {
    for run in &mut runs {
        let (folder, story) = run.name.split_once('/').unwrap();
        let rollout = run
            .sources
            .iter()
            .find(|(kind, _)| kind == "rollout.1.jsonl");
        let ends: Vec<i64> = rollout.map_or_else(Vec::new, |(_, events)| {
            let ends = events.iter();
            let ends = ends.filter(|event| matches!(event.payload, Payload::TurnEnd(_)));
            ends.filter_map(|event| event.timestamp).collect()
        });
        for (kind, events) in &mut run.sources {
            if !kind.ends_with("exec.jsonl") {
                continue;
            }
            let name = format!("{story}.{kind}");
            let files = crate::support::sources(&format!("recordings/{folder}"), |other| {
                other == name || other == format!("{name}.times")
            });
            let [lines, times] = &files[..] else {
                panic!("{name}")
            };
            let times = std::str::from_utf8(&times.bytes).unwrap();
            let times: Vec<i64> = times.lines().map(|time| time.parse().unwrap()).collect();
            let thread = events[0].session_id.replace('-', "");
            let first_ms = match kind.split('.').next().unwrap().parse::<usize>() {
                Ok(nth) => ends[nth - 1] - (times[times.len() - 1] - times[0]),
                // The ids of threads begin with the time at which they were made.
                Err(_) => i64::from_str_radix(&thread[..12], 16).unwrap(),
            };
            let mut reader = SessionReader::new(Context {
                run: Some(name.clone()),
                ..Context::default()
            });
            events.clear();
            for (line, time) in lines.bytes.split_inclusive(|b| *b == b'\n').zip(&times) {
                let arrival_ms = first_ms + time - times[0];
                reader.push(line, arrival_ms, events).unwrap();
            }
            reader
                .finish(first_ms + times[times.len() - 1] - times[0], events)
                .unwrap();
        }
    }
    runs
}

/// The recorded runs of Claude Code: hooks, stream, and the transcript with what lies in its folder.
pub(super) fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for folder in ["claude-code", "claude-code-2.1.197", "claude-code-1.0.128"] {
        let mut stories: BTreeMap<String, Vec<crate::support::Source>> = BTreeMap::new();
        for source in crate::support::sources(&format!("recordings/{folder}"), |name| {
            !name.ends_with(".times") && !name.ends_with(".stderr.txt")
        }) {
            let story = source.name.split('.').next().unwrap().to_owned();
            stories.entry(story).or_default().push(source);
        }
        // Four processes and two sessions: it has a test of its own.
        stories.remove("resume");
        for (story, files) in stories {
            let mut run = Run {
                name: format!("{folder}/{story}"),
                sources: Vec::new(),
            };
            let mut parts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            for file in files {
                let rest = &file.name[story.len() + 1..];
                if rest == "hooks.jsonl" || rest == "stream.jsonl" {
                    run.sources.push((rest.to_owned(), read(&file.bytes)));
                } else if let Some(path) = rest.strip_prefix("transcript.") {
                    parts.insert(path.replace("__", "/"), file.bytes);
                }
            }
            if !parts.is_empty() {
                run.sources
                    .push(("transcript".to_owned(), read_folder(&parts)));
            }
            if run.sources.len() > 1 {
                runs.push(run);
            }
        }
    }
    runs
}

pub(super) fn read_folder(files: &BTreeMap<String, Vec<u8>>) -> Vec<ChatEvent> {
    let parts = SessionFolder::group(files.keys().map(String::as_str))
        .sessions
        .remove(0);
    let mut reader = FolderReader::new(Context::default(), parts);
    let mut events = Vec::new();
    while let Some(want) = reader.wants() {
        let bytes = &files[want.path][usize::try_from(want.offset).unwrap()..];
        reader.push(bytes, 0, &mut events).unwrap();
    }
    events
}
