//! `turnreel convert`: what comes out, where it goes, and what the exit says.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::PROGRAM;
use crate::support::command::text;
use serde_json::Value;

pub(super) fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions")
}

pub(super) fn session(name: &str) -> String {
    sessions().join(name).to_string_lossy().into_owned()
}

fn convert(args: &[&str]) -> Output {
    let child = Command::new(PROGRAM).arg("convert").args(args).output();
    child.unwrap()
}

/// The output of a run that read all of its input.
pub(super) fn converted(args: &[&str]) -> String {
    let output = convert(args);
    assert_eq!(text(&output.stderr), "", "{args:?}");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    text(&output.stdout)
}

#[test]
fn events_of_a_session_are_the_recorded_ones() {
    let recorded = std::fs::read_to_string(sessions().join("codex-rollout/events.jsonl")).unwrap();
    let input = session("codex-rollout/input.rollout.jsonl");
    assert_eq!(converted(&[&input]), recorded);
    assert_eq!(converted(&["--from", "codex-rollout", &input]), recorded);
    // Events come through as they are.
    let events = session("codex-rollout/events.jsonl");
    assert_eq!(converted(&["--to", "events", &events]), recorded);
}

#[test]
fn each_form_is_made() {
    let input = session("read-edit/input.stream.jsonl");
    let to = |form: &str| converted(&["--to", form, &input]);
    let messages: Value = serde_json::from_str(&to("openai")).unwrap();
    assert_eq!(messages[0]["role"], "assistant");
    assert_eq!(messages.as_array().unwrap().len(), 5);
    let summary: Value = serde_json::from_str(&to("summary")).unwrap();
    assert_eq!(summary["models"][0], "claude-opus-5-5");
    assert!(to("claude-prompt").contains("</conversation>"));
    assert!(to("markdown").starts_with("# "));
    assert_eq!(
        to("trace"),
        "\
[1] ▶ Turn 1
[TOOL] read: README.md (3 lines, 33B)
[TOOL] edit: README.md (+2 −0)
[1] ✓ Turn 1 (1.5s, 4k tokens, $0.02)
Done! I added a line at the end of README.md.
"
    );
    let bus = to("opencode");
    let types: Vec<String> = bus
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    let idle = types.iter().filter(|kind| *kind == "session.idle").count();
    assert_eq!(idle, 1, "{types:?}");
    let feed = to("feed");
    assert!(feed.lines().count() > 10);
    assert!(feed.starts_with("Block {"));
}

#[test]
fn the_feed_of_a_stream_is_the_feed_of_its_events() {
    let dir = tempfile::tempdir().unwrap();
    let events = dir.path().join("events.jsonl");
    for name in ["read-edit", "bash", "parallel", "subagent", "sigkill"] {
        let input = session(&format!("{name}/input.stream.jsonl"));
        let made = converted(&[&input]);
        std::fs::write(&events, made).unwrap();
        assert_eq!(
            converted(&["--to", "feed", &input]),
            converted(&["--to", "feed", events.to_str().unwrap()]),
        );
    }
}

#[test]
fn a_folder_is_read_in_the_order_of_its_paths_and_what_is_no_session_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("in"), dir.path().join("out"));
    std::fs::create_dir_all(from.join("b")).unwrap();
    let copy = |name: &str, as_name: &str| {
        std::fs::copy(sessions().join(name), from.join(as_name)).unwrap();
    };
    copy("codex-exec/input.exec.jsonl", "b/one.jsonl");
    copy("opencode-export/input.export.json", "b/one.json");
    copy("bash/input.stream.jsonl", "a.jsonl");
    copy("bash/input.stream.jsonl.times", "a.jsonl.times");
    std::fs::write(from.join("notes.txt"), "no session").unwrap();
    let folder = from.to_str().unwrap();

    let output = convert(&[folder, "--to", "trace"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("2 files are no session"));
    let told = text(&output.stdout);
    let heads: Vec<_> = told
        .lines()
        .filter(|line| line.starts_with("==>"))
        .collect();
    let head = |name: &str| format!("==> {} <==", from.join(name).display());
    assert_eq!(
        heads,
        [head("a.jsonl"), head("b/one.json"), head("b/one.jsonl")]
    );

    let output = convert(&[folder, "--to", "markdown", "-o", to.to_str().unwrap()]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), String::new())
    );
    for name in ["a.md", "b/one.md", "b/one.jsonl.md"] {
        let written = std::fs::read_to_string(to.join(name)).unwrap();
        assert!(written.starts_with("# "), "{name}");
    }
    let left = std::fs::read_dir(&to).unwrap().count();
    assert_eq!(left, 2, "no temporary file is left");
    // JSON stands without separators.
    let events = converted_lines(&convert(&[folder]));
    assert!(
        events
            .iter()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
}

fn converted_lines(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn standard_input_is_read_and_a_file_takes_its_name_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/out.jsonl");
    let input = std::fs::read(sessions().join("codex-exec/input.exec.jsonl")).unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["convert", "-", "-o"])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&input).unwrap();
    assert!(!path.exists());
    drop(stdin);
    assert!(child.wait().unwrap().success());
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written.lines().count() > 8);
    assert_eq!(
        std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let rights = path.metadata().unwrap().permissions().mode();
        assert_eq!(rights & 0o111, 0);
        assert_eq!(rights & 0o400, 0o400);
    }
}

#[test]
fn the_exit_says_what_could_not_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read_to_string(sessions().join("bash/input.stream.jsonl")).unwrap();
    let mut lines: Vec<&str> = whole.lines().collect();
    lines.insert(4, "{\"type\":\"assistant\", broken");
    lines.insert(9, "{\"type\":");
    let damaged = dir.path().join("damaged.jsonl");
    std::fs::write(&damaged, lines.join("\n")).unwrap();
    let damaged = damaged.to_str().unwrap();
    let output = convert(&[damaged]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(
        told.contains("could not read 2 lines (line 5: ") && told.contains("; line 10: "),
        "{told}"
    );
    assert!(told.contains(damaged), "{told}");
    assert!(converted_lines(&output).len() > 20, "the rest is read");

    // A line that nobody could hold is left out with its reason, by all who read.
    let long = dir.path().join("long.jsonl");
    let word = "a".repeat(17 * 1024 * 1024);
    let turn_end = r#"{"id":"a","timestamp":1,"sessionId":"s","type":"turn_end","payload":{}}"#;
    let user =
        r#"{"id":"b","timestamp":1,"sessionId":"s","type":"user_message","payload":{"text":"#;
    std::fs::write(&long, format!("{turn_end}\n{user}\"{word}\"}}}}\n")).unwrap();
    for reads in [
        &["convert"][..],
        &["export", "--to", "jsonl"],
        &["trace"],
        &["pipe", "--wait", "0"],
    ] {
        let mut program = Command::new(PROGRAM);
        program.args(reads).env("TURNREEL_DATA", dir.path());
        let input = std::fs::File::open(&long).unwrap();
        match reads[0] {
            "pipe" => program.stdin(input),
            _ => program.arg(&long),
        };
        let told = text(&program.output().unwrap().stderr);
        let why = "could not read 1 line (line 2: it is longer than 16 MiB)";
        assert!(told.contains(why), "{reads:?}: {told}");
    }

    let notes = dir.path().join("notes.txt");
    std::fs::write(&notes, "no session\n").unwrap();
    let notes = notes.to_str().unwrap();
    let output = convert(&[notes]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    let why = format!("not a session log: line 1 is plain text: {notes}\n");
    assert!(told.contains(&why), "{told}");
    let help = text(&convert(&["--help"]).stdout);
    assert!(help.contains("claude-transcript,"), "{help}");
    let good = session("codex-exec/input.exec.jsonl");
    assert_eq!(convert(&[notes, &good]).status.code(), Some(1));
    assert_eq!(convert(&["/does/not/exist"]).status.code(), Some(2));
    assert_eq!(convert(&["/does/not/exist", &good]).status.code(), Some(1));
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let output = convert(&[empty.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("no session files below it: "), "{told}");
    assert!(told.contains(empty.to_str().unwrap()), "{told}");
    let output = convert(&[&good, &good, "-o", notes]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("several sessions need a folder"));
    assert_eq!(convert(&["--to", "nothing", &good]).status.code(), Some(2));
}

/// Two threads of one connection that use the same ids.
#[test]
fn sessions_that_one_file_carries_are_told_apart_in_one_transcript() {
    let item = |thread: &str, text: &str| {
        format!(
            r#"{{"method":"item/completed","params":{{"threadId":"{thread}","turnId":"turn-long-1","item":{{"type":"agentMessage","id":"m","text":"{text}"}}}}}}"#
        )
    };
    let begins = |thread: &str| {
        format!(
            r#"{{"method":"thread/started","params":{{"thread":{{"id":"{thread}"}}}}}}
{{"method":"turn/started","params":{{"threadId":"{thread}","turn":{{"id":"turn-long-1"}}}}}}"#
        )
    };
    let lines = [
        begins("one"),
        begins("two"),
        item("one", "Of one."),
        item("two", "Of two."),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.jsonl");
    std::fs::write(&path, lines.join("\n")).unwrap();
    let path = path.to_str().unwrap();
    for form in ["markdown", "openai", "claude-prompt"] {
        let made = converted(&[path, "--to", form]);
        for said in ["Of one.", "Of two."] {
            assert_eq!(made.matches(said).count(), 1, "{form}: {made}");
        }
    }
    // Events stay those of their sessions.
    let events = converted(&[path, "--to", "events"]);
    assert!(!events.contains(r#""two."#), "{events}");
}
