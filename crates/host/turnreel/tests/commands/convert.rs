//! `turnreel convert`: what comes out, where it goes, and what the exit says.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::PROGRAM;
use crate::support::command::{self, text};
use serde_json::Value;

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions")
}

fn session(name: &str) -> String {
    sessions().join(name).to_string_lossy().into_owned()
}

fn convert(args: &[&str]) -> Output {
    let child = Command::new(PROGRAM).arg("convert").args(args).output();
    child.unwrap()
}

/// The output of a run that read all of its input.
fn converted(args: &[&str]) -> String {
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

#[test]
fn a_reader_who_has_seen_enough_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.jsonl");
    write_log(&path, 20);
    let output = command::read_one_line("convert", &[path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

/// A log of so many megabytes, with the mix of events that an agent gives.
fn write_log(path: &Path, n_megabytes: u64) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let (mut n_bytes, mut n_events) = (0, 0u64);
    for turn in 0u64.. {
        let mut text = String::new();
        let mut event = |kind: &str, payload: &str| {
            n_events += 1;
            text.push_str(&format!(
                r#"{{"id":"e{n_events}","timestamp":{n_events},"sessionId":"long","type":"{kind}","turnId":"t{turn}","responseId":"r{turn}","payload":{payload}}}"#
            ));
            text.push('\n');
        };
        event("turn_start", r#"{"trigger":"user"}"#);
        event("user_message", r#"{"text":"Go on"}"#);
        for _ in 0..20 {
            event(
                "assistant_chunk",
                r#"{"text":"some words of an answer, ","part":0}"#,
            );
        }
        let args = format!(
            r#"{{"toolCallId":"c{turn}","toolName":"Bash","args":{{"command":"cargo build"}}}}"#
        );
        event("tool_call", &args);
        let result = "a line of what it printed\\n".repeat(200);
        let result = format!(r#"{{"toolCallId":"c{turn}","result":"{result}","exitCode":0}}"#);
        event("tool_result", &result);
        event("turn_end", r#"{"outcome":"completed"}"#);
        file.write_all(text.as_bytes()).unwrap();
        n_bytes += text.len() as u64;
        if n_bytes >= n_megabytes * 1_000_000 {
            break;
        }
    }
    file.flush().unwrap();
}

/// A long log costs time, not memory. Only in the long run of the tests.
#[cfg(target_os = "linux")]
#[test]
fn a_long_log_is_converted_in_little_memory() {
    if std::env::var_os("TURNREEL_FULL").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.jsonl");
    write_log(&path, 300);
    for form in [
        "events",
        "trace",
        "summary",
        "openai",
        "claude-prompt",
        "markdown",
    ] {
        let mut child = Command::new(PROGRAM)
            .args(["convert", "--to", form])
            .arg(&path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak_kb = 0;
        while child.try_wait().unwrap().is_none() {
            peak_kb = peak_kb.max(high_water_kb(&status).unwrap_or(0));
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(child.wait().unwrap().success(), "{form}");
        assert!((1..200_000).contains(&peak_kb), "{form}: {peak_kb} KB");
    }
}

#[cfg(target_os = "linux")]
fn high_water_kb(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn packed_input_is_read_as_it_is_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let input = session("codex-rollout/input.rollout.jsonl");
    let whole = std::fs::read(&input).unwrap();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&whole).unwrap();
    let gz = packer.finish().unwrap();
    let zst =
        ruzstd::encoding::compress_to_vec(&whole[..], ruzstd::encoding::CompressionLevel::Fastest);
    let recorded = std::fs::read_to_string(sessions().join("codex-rollout/events.jsonl")).unwrap();
    // By the bytes and not by the name.
    for (name, packed) in [("a.jsonl.gz", &gz), ("b.jsonl.zst", &zst), ("c.jsonl", &gz)] {
        let path = dir.path().join(name);
        std::fs::write(&path, packed).unwrap();
        assert_eq!(converted(&[&path.to_string_lossy()]), recorded, "{name}");
    }
    let cut = dir.path().join("cut.jsonl.gz");
    std::fs::write(&cut, &gz[..gz.len() / 2]).unwrap();
    // One that is cut off is a log that was cut off: what came is written, and that there was more is said.
    let at = format!("the gzip file is cut off after {} bytes", gz.len() / 2);
    for (program, name) in [("convert", "cut.events.jsonl"), ("export", "cut.jsonl")] {
        let place = dir.path().join(name);
        let args = [&*cut.to_string_lossy(), "-o", &*place.to_string_lossy()];
        let output = command::run(program, &args, b"");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{program}: {told}");
        assert!(told.contains(&at), "{program}: {told}");
        assert!(!told.contains("nothing was read"), "{program}: {told}");
        let written = std::fs::read_to_string(&place).unwrap();
        assert!(written.lines().count() > 3, "{program}: {written}");
    }
}

/// When a file was written says nothing of when its first lines happened, where others say that themselves.
#[test]
fn lines_without_a_time_have_that_of_those_beside_them() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &[&str]| {
        let path = dir.path().join(name);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        path.to_string_lossy().into_owned()
    };
    let summary = r#"{"type":"summary","summary":"Earlier","leafUuid":"gone"}"#;
    let prompt = r#"{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Go"}}"#;
    let answer = r#"{"type":"assistant","uuid":"a1","sessionId":"s1","timestamp":"2026-01-01T00:00:09.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Done"}]}}"#;
    let figures = |paths: &[&str]| -> Value {
        let args = [paths, &["--to", "summary"]].concat();
        serde_json::from_str(&converted(&args)).unwrap()
    };
    let transcript = write("t.jsonl", &[summary, prompt, answer]);
    let said = figures(&[&transcript]);
    let times = [&said["startedMs"], &said["durationMs"], &said["busyMs"]];
    assert_eq!(times, [1_767_225_600_000_i64, 9_000, 9_000]);
    let events = converted(&[&transcript]);
    assert!(events.lines().all(|line| line.contains(r#""timestamp":"#)));
    // Where none has a time the file's stands for all.
    let init = r#"{"type":"system","subtype":"init","session_id":"s1","uuid":"i1","cwd":"/w"}"#;
    let result =
        r#"{"type":"result","subtype":"success","session_id":"s1","uuid":"e1","duration_ms":8000}"#;
    let stream = write("s.jsonl", &[init, result]);
    let said = figures(&[&stream]);
    assert_eq!(said["durationMs"], 0);
    assert!(said["startedMs"].as_i64().unwrap() > 1_767_225_600_000);
    // As two sources of one run.
    for paths in [[&transcript, &stream], [&stream, &transcript]] {
        let said = figures(&["--merge", paths[0], paths[1]]);
        assert_eq!(said["durationMs"], 9_000, "{said}");
    }
}

/// When the file was written is not when its session began.
#[test]
fn a_transcript_of_a_stream_without_times_states_none() {
    let lines = [
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":0,"output_tokens":1}}"#,
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let path = path.to_str().unwrap();
    for (program, args) in [
        ("convert", &["--to", "markdown", path][..]),
        ("export", &["--to", "markdown", path]),
    ] {
        let told = text(&command::run(program, args, b"").stdout);
        assert!(told.contains("Done."), "{told}");
        assert!(!told.contains("Started"), "{told}");
    }
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

/// A page as `turnreel export` writes it, as far as a reader looks at it.
fn page_of(log: &str) -> String {
    use base64::Engine;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(log.as_bytes()).unwrap();
    let packed = base64::prelude::BASE64_STANDARD.encode(packed.finish().unwrap());
    let [before, after, end] = [
        chat_feed::export::PAGE_PIECE,
        chat_feed::export::PAGE_PIECE_END,
        chat_feed::export::PAGE_END,
    ];
    format!("<!DOCTYPE html>\n<html lang=\"en\">\n{before}{packed}{after}{end}")
}

#[test]
fn an_exported_page_is_read_as_the_log_that_it_holds() {
    let log = std::fs::read_to_string(sessions().join("codex-rollout/events.jsonl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.html");
    std::fs::write(&path, page_of(&log)).unwrap();
    let path = path.to_string_lossy().into_owned();
    assert_eq!(converted(&[&path]), log);
    let output = command::run(
        "export",
        &["-", "--to", "jsonl", "--no-mask"],
        page_of(&log).as_bytes(),
    );
    assert_eq!(text(&output.stdout), log);
}

#[test]
fn of_a_page_of_others_it_is_said_what_it_is() {
    let page = format!(
        "<!DOCTYPE html>\n<title>Ours</title>\n{}",
        "<p>Words</p>\n".repeat(10_000)
    );
    let output = command::run("convert", &["-"], page.as_bytes());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("a web page without a session"), "{said}");
    // One that is cut off is told as far as it goes.
    let log = std::fs::read_to_string(sessions().join("codex-rollout/events.jsonl")).unwrap();
    let page = page_of(&log);
    let output = command::run("convert", &["-"], &page.as_bytes()[..page.len() * 2 / 3]);
    let said = text(&output.stderr);
    assert!(said.contains("the exported page is cut off"), "{said}");
    assert!(text(&output.stdout).lines().count() > 3);
}
