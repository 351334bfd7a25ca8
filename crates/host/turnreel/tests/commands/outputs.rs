//! Where `convert`, `export` and `compact` write, and what they leave there.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::command::text;
use crate::support::{self, PROGRAM};

/// Each command with what makes it write a log.
const COMMANDS: [&[&str]; 3] = [
    &["convert", "--to", "events"],
    &["export", "--to", "jsonl"],
    &["compact"],
];

fn line(nth: usize, text: &str) -> String {
    format!(
        r#"{{"id":"e{nth}","timestamp":{nth},"sessionId":"s1","type":"user_message","payload":{{"text":"{text}"}}}}"#
    ) + "\n"
}

fn run(command: &[&str], more: &[&Path]) -> Output {
    let mut program = Command::new(PROGRAM);
    program.args(command).args(more).output().unwrap()
}

#[test]
fn a_session_is_not_written_over_by_what_is_made_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let log = line(1, "Hello");
    std::fs::write(&path, &log).unwrap();
    let mut places = vec![path.clone(), dir.path().join("./s.jsonl")];
    #[cfg(unix)]
    {
        let link = dir.path().join("link.jsonl");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let other = dir.path().join("other.jsonl");
        std::fs::hard_link(&path, &other).unwrap();
        places.extend([link, other]);
    }
    for command in COMMANDS {
        for place in &places {
            let output = run(command, &[&path, Path::new("-o"), place]);
            let said = text(&output.stderr);
            let told = "the input and the output are one file: ";
            assert!(said.contains(told), "{command:?} {place:?}: {said}");
            assert_ne!(output.status.code(), Some(0), "{command:?}");
        }
        #[cfg(unix)]
        {
            let input = std::fs::File::open(&path).unwrap();
            let mut program = Command::new(PROGRAM);
            program.args(command).args(["-", "-o"]).arg(&path);
            let output = program.stdin(input).output().unwrap();
            let said = text(&output.stderr);
            assert!(said.contains("are one file"), "{command:?}: {said}");
        }
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), log);
    // Each of several inputs, in the folder of all outputs.
    let events = dir.path().join("s.events.jsonl");
    std::fs::write(&events, &log).unwrap();
    let inputs: [&Path; 4] = [&path, &events, Path::new("-o"), dir.path()];
    let output = run(COMMANDS[0], &inputs);
    let said = text(&output.stderr);
    assert!(said.contains("s.events.jsonl"), "{said}");
    assert_eq!(std::fs::read_to_string(&events).unwrap(), log);
}

/// What a half written file would leave is as long as a session, and hidden.
#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_half_written() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    for command in COMMANDS {
        // What export keeps of standard input lies in the folder for such files.
        for signal in ["INT", "TERM"] {
            let mut child = Command::new(PROGRAM)
                .args(command)
                .args(["-", "-o"])
                .arg(dir.path().join("out.jsonl"))
                .env("TMPDIR", dir.path())
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(line(1, "Hello").as_bytes()).unwrap();
            let n_files = || std::fs::read_dir(dir.path()).unwrap().count();
            support::soon("it writes", || n_files() > 0);
            support::signal(&child, signal);
            let status = support::wait_for(&mut child, support::PATIENCE);
            assert_eq!(status.code(), None, "{command:?}: the signal ends it");
            assert_eq!(n_files(), 0, "{command:?} {signal}");
        }
    }
}

/// A list before `| true`.
#[cfg(unix)]
#[test]
fn a_list_that_nobody_reads_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let create = ["token", "create", "--scope", "read"];
    let run = |args: &[&str], stdout: Stdio| {
        let mut program = Command::new(PROGRAM);
        program.args(args).args(["--data", data]).stdout(stdout);
        program.output().unwrap()
    };
    let unread = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    assert!(run(&create, Stdio::piped()).status.success());
    let log = r#"{"v":1,"seq":1,"id":"e1","timestamp":1,"sessionId":"s1","type":"user_message","payload":{"text":"Go"}}"#;
    let name = chat_store::SessionId::parse("s1").unwrap().stem() + ".events.jsonl";
    std::fs::write(dir.path().join(name), format!("{log}\n")).unwrap();
    for args in [
        &["list"][..],
        &["config"],
        &["token", "list"],
        &["remove", "s1", "--dry-run", "--force"],
    ] {
        let heard = run(args, Stdio::piped());
        assert_ne!(text(&heard.stdout), "", "{args:?}: {heard:?}");
        let output = run(args, unread());
        assert_eq!(output.stderr, heard.stderr, "{args:?}");
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    }
    // A token that nobody reads opens nothing, and is taken back.
    let tokens = || text(&run(&["token", "list"], Stdio::piped()).stdout);
    let before = tokens();
    assert_eq!(run(&create, unread()).status.code(), Some(1));
    assert_eq!(tokens(), before);
}

/// Whether the program was built with the page, as all that is handed on is.
#[cfg(unix)]
fn has_page() -> bool {
    let exported = support::command::run("export", &["-"], line(1, "Hello").as_bytes());
    !text(&exported.stderr).contains("the page is not in this program")
}

#[cfg(unix)]
#[test]
fn a_reader_who_has_seen_enough_is_no_fault_of_any_command() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.jsonl");
    let long = "a word ".repeat(1000);
    let log: String = (0..1000).map(|nth| line(nth, &long)).collect();
    std::fs::write(&path, &log).unwrap();
    let path = path.to_str().unwrap();
    for args in [
        &["convert", path][..],
        &["export", path, "--to", "jsonl"],
        &["export", path],
        &["compact", path, "-o", "-"],
    ] {
        let (command, args) = args.split_first().unwrap();
        if *args == [path] && *command == "export" && !has_page() {
            eprintln!("skipped: the page is not in this program");
            continue;
        }
        let output = support::command::read_one_line(command, args);
        assert_eq!(text(&output.stderr), "", "{command}");
        assert_eq!(output.status.code(), Some(0), "{command}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, line(1, "Hello")).unwrap();
    let more: [&[&str]; 3] = [&[], &[], &["-o", "-"]];
    for (command, more) in COMMANDS.into_iter().zip(more) {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut program = Command::new(PROGRAM);
        program.args(command).arg(&path).args(more);
        let output = program.stdout(full.unwrap()).output().unwrap();
        let said = text(&output.stderr);
        assert!(said.contains("could not write: "), "{command:?}: {said}");
        assert!(said.contains(": standard output"), "{command:?}: {said}");
        assert_ne!(output.status.code(), Some(0), "{command:?}");
    }
}

/// As on a disk where upper and lower case do not count: there the second name is a file as soon as the first one is.
#[cfg(unix)]
#[test]
fn two_names_that_are_one_file_are_not_written_over_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (upper, lower) = (dir.path().join("A.jsonl"), dir.path().join("a.jsonl"));
    std::fs::write(&upper, line(1, "Of the first")).unwrap();
    std::fs::write(&lower, line(1, "Of the second")).unwrap();
    let out = dir.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink("A.events.jsonl", out.join("a.events.jsonl")).unwrap();
    // Also where nothing of the earlier run is left to be told from.
    for _ in 0..2 {
        let output = run(COMMANDS[0], &[&upper, &lower, Path::new("-o"), &out]);
        assert!(output.status.success(), "{output:?}");
        let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
        assert!(read("A.events.jsonl").contains("Of the first"));
        assert!(read("a.jsonl.events.jsonl").contains("Of the second"));
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 3);
    }
}

/// Commands that have something to say on standard error, and how they end.
#[cfg(target_os = "linux")]
const WITH_WORDS: [(&[&str], i32); 15] = [
    (&["list", "--data", "DIR/data"], 0),
    (&["config", "--data", "DIR/wrong"], 2),
    (&["config", "--rate", "none"], 2),
    (
        &[
            "serve",
            "--data",
            "DIR/s.jsonl/data",
            "--listen",
            "127.0.0.1:0",
        ],
        1,
    ),
    (&["token", "list", "--data", "DIR/data"], 0),
    (
        &["token", "create", "--scope", "read", "--data", "DIR/data"],
        0,
    ),
    (&["token", "rotate", "--data", "DIR/data"], 1),
    (&["remove", "s1", "--data", "DIR/data"], 1),
    (&["remove", "--older-than", "1d", "--data", "DIR/data"], 0),
    (&["restore", "--data", "DIR/data"], 1),
    (&["convert", "DIR/nothing"], 2),
    (&["export", "DIR/s.jsonl", "--to", "jsonl"], 0),
    (&["trace", "DIR/nothing"], 2),
    (&["compact", "DIR/nothing"], 1),
    (&["DIR/s.jsonl"], 2),
];

/// A full disk that has the log on it.
#[cfg(target_os = "linux")]
#[test]
fn words_that_cannot_be_said_end_no_command_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("s.jsonl"), line(1, "Hello")).unwrap();
    std::fs::create_dir(dir.path().join("data")).unwrap();
    std::fs::create_dir(dir.path().join("wrong")).unwrap();
    std::fs::write(dir.path().join("wrong/turnreel.toml"), "colour = 1").unwrap();
    for (args, code) in WITH_WORDS {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let args = args
            .iter()
            .map(|arg| arg.replace("DIR", dir.path().to_str().unwrap()));
        let args: Vec<String> = args.collect();
        let heard = Command::new(PROGRAM).args(&args).output().unwrap();
        assert_ne!(text(&heard.stderr), "", "{args:?}: it has something to say");
        assert_eq!(heard.status.code(), Some(code), "{args:?}: {heard:?}");
        let mut program = Command::new(PROGRAM);
        let unheard = program.args(&args).stderr(full.unwrap()).output().unwrap();
        assert_eq!(unheard.status.code(), Some(code), "{args:?}");
    }
}
