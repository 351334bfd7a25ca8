//! Recorded sessions through every stage: what becomes of each must be what lies beside it.
//!
//! `tests/sessions/<story>/input.*` is what an agent wrote; `SOURCE.md` there says where each comes from. After a change
//! that is meant, `TURNREEL_BLESS=1 cargo test --test recorded sessions` writes the results anew, to be read as a difference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chat_event::ChatEvent;
use chat_feed::projections::trace::Verbosity;
use chat_feed::projections::{
    to_claude_prompt, to_markdown, to_openai_messages, to_session_summary, to_tool_trace,
};
use chat_feed::{ChatRenderer, feed_lines};
use chat_normalize::{Context, Dialect, SessionReader, to_opencode_events};

/// A stage: the file its result lies in, and what makes it.
type Stage = (&'static str, fn(&[ChatEvent]) -> String);

const STAGES: &[Stage] = &[
    ("events.jsonl", events_text),
    ("feed.txt", feed),
    ("trace.txt", |events| {
        to_tool_trace(events, Verbosity::Normal)
    }),
    ("transcript.md", to_markdown),
    ("claude-prompt.txt", to_claude_prompt),
    ("openai.jsonl", |events| {
        json_lines(&to_openai_messages(events))
    }),
    ("opencode.jsonl", |events| {
        json_lines(&to_opencode_events(events))
    }),
    ("summary.json", |events| {
        serde_json::to_string_pretty(&to_session_summary(events)).unwrap() + "\n"
    }),
];

/// How many stories there are at least.
const MIN_STORIES: usize = 30;

fn events_text(events: &[ChatEvent]) -> String {
    events.iter().map(|event| event.to_line() + "\n").collect()
}

/// The rows of the feed, their turns and the session, a line each.
fn feed(events: &[ChatEvent]) -> String {
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(events);
    feed_lines(renderer.feed())
        .map(|line| line + "\n")
        .collect()
}

/// One value a line, so that a difference shows where it is.
fn json_lines<T: serde::Serialize>(values: &[T]) -> String {
    let line = |value| serde_json::to_string(value).unwrap() + "\n";
    values.iter().map(line).collect()
}

/// One story: its folder, and what the agent wrote.
struct Story {
    folder: PathBuf,
    input: PathBuf,
}

fn stories() -> Vec<Story> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let mut stories = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let inputs: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("input.") && !name.ends_with(".times")
            })
            .collect();
        let [input] = inputs.as_slice() else {
            panic!("{}: one input, not {}", folder.display(), inputs.len());
        };
        stories.push(Story {
            input: input.clone(),
            folder,
        });
    }
    stories.sort_by(|one, other| one.folder.cmp(&other.folder));
    stories
}

/// The events of a story, all of them arrived at 0.
fn read(story: &Story) -> (Dialect, Vec<ChatEvent>) {
    let bytes = std::fs::read(&story.input).unwrap();
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader.push(&bytes, 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    let report = reader.report();
    assert!(
        report.raw.is_empty() && report.unreadable == 0,
        "{}: {report:?}",
        story.folder.display()
    );
    (reader.dialect().unwrap(), events)
}

#[test]
fn every_story_gives_at_every_stage_what_lies_beside_it() {
    let bless = std::env::var_os("TURNREEL_BLESS").is_some();
    let mut differences = Vec::new();
    for story in stories() {
        let (_, events) = read(&story);
        for (file, stage) in STAGES {
            let path = story.folder.join(file);
            let got = stage(&events);
            if bless {
                std::fs::write(&path, &got).unwrap();
            }
            let wanted = std::fs::read_to_string(&path).unwrap_or_default();
            if got != wanted {
                differences.push(first_difference(&path, &got, &wanted));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Where two texts part, with the lines as they stand there.
fn first_difference(path: &Path, got: &str, wanted: &str) -> String {
    let at = got
        .lines()
        .zip(wanted.lines())
        .position(|(got, wanted)| got != wanted)
        .unwrap_or_else(|| got.lines().count().min(wanted.lines().count()));
    let line = |text: &str| -> String {
        let line = text.lines().nth(at).unwrap_or("(nothing)");
        line.chars().take(600).collect()
    };
    format!(
        "{}, line {}\n  is     {}\n  was    {}",
        path.display(),
        at + 1,
        line(got),
        line(wanted)
    )
}

#[test]
fn the_stories_speak_of_every_provider() {
    let stories = stories();
    assert!(stories.len() >= MIN_STORIES, "only {}", stories.len());
    let spoken: BTreeSet<Dialect> = stories.iter().map(|story| read(story).0).collect();
    let wanted = [
        Dialect::ClaudeStream,
        Dialect::ClaudeTranscript,
        Dialect::CodexExec,
        Dialect::CodexRollout,
        Dialect::CodexAppServer,
        Dialect::OpenCodeEvents,
        Dialect::OpenCodeRun,
        Dialect::OpenCodeExport,
        Dialect::GeminiStream,
        Dialect::GeminiChat,
        Dialect::PiStream,
        Dialect::PiSession,
        Dialect::Acp,
        Dialect::ClaudeHooks,
        Dialect::AgentEvents,
        Dialect::QwenChat,
        Dialect::QwenStream,
        Dialect::AmpStream,
        Dialect::DroidStream,
        Dialect::DroidSession,
        Dialect::Grok,
        Dialect::GrokBuild,
        Dialect::Kimi,
        Dialect::KimiStream,
        Dialect::CursorStream,
        Dialect::ClineTask,
        Dialect::ClineSession,
        Dialect::ClineStream,
        Dialect::GooseSession,
        Dialect::GooseStream,
        Dialect::VibeSession,
        Dialect::VibeStream,
    ];
    for dialect in wanted {
        assert!(spoken.contains(&dialect), "no story of {}", dialect.name());
    }
}

/// A log that is read as a log says the same.
#[test]
fn events_that_are_read_again_are_the_same() {
    for story in stories() {
        let (_, events) = read(&story);
        let text = events_text(&events);
        let mut reader = SessionReader::new(Context::default());
        let mut again = Vec::new();
        reader.push(text.as_bytes(), 99, &mut again).unwrap();
        reader.finish(99, &mut again).unwrap();
        assert_eq!(reader.dialect(), Some(Dialect::ChatEvents));
        assert!(again == events, "{}", story.folder.display());
    }
}
