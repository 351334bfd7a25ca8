//! Files at any moment are what git had at that moment: of a run whose every step was committed, the sums of the panel,
//! applied by git to what was there at first, give the trees of its commits.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use chat_event::ChatEvent;
use chat_event::payload::Payload;
use chat_feed::panel::{FileChange, Scope, Sum, edits_of, files};
use chat_feed::playback::Moment;
use chat_feed::{ChatRenderer, Feed};
use chat_normalize::{Context, SessionReader};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/steps");
/// Where the run worked.
const CWD: &str = "/home/dev/demo/steps/";

/// The repository of the run.
struct Repository(tempfile::TempDir);

impl Repository {
    fn open() -> Repository {
        let repository = Repository(tempfile::tempdir().expect("a folder"));
        repository.git(&["init", "-q", "-b", "work", "."], b"");
        let states = std::fs::read(Path::new(FOLDER).join("states.fast-export"));
        let states = states.expect("the states");
        repository.git(&["fast-import", "--quiet"], &states);
        repository
    }

    /// Runs git; what it wrote.
    fn git(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut child = Command::new("git")
            .args(["-c", "core.autocrlf=false", "-c", "core.quotePath=false"])
            .args(arguments)
            .current_dir(self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git is here");
        let mut stdin = child.stdin.take().expect("its input");
        stdin.write_all(input).expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().expect("git ends");
        let said = String::from_utf8_lossy(&output.stderr);
        let input = String::from_utf8_lossy(input);
        assert!(output.status.success(), "{arguments:?}: {said}\n{input}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Each step's call, its commit and its tree, the oldest first; before them what was there at first.
    fn steps(&self) -> Vec<[String; 3]> {
        let log = self.git(&["log", "--reverse", "--format=%s %H %T", "main"], b"");
        let steps = log.lines().map(|line| {
            let mut words = line.split(' ').map(str::to_owned);
            std::array::from_fn(|_| words.next().unwrap_or_default())
        });
        steps.collect()
    }

    /// The tree that these diffs make of a commit.
    fn patched(&self, commit: &str, diffs: &str) -> String {
        self.git(&["read-tree", commit], b"");
        if !diffs.is_empty() {
            self.git(
                &["apply", "--cached", "--whitespace=nowarn", "-"],
                diffs.as_bytes(),
            );
        }
        self.git(&["write-tree"], b"").trim().to_owned()
    }
}

/// The events of the run, as the stream tells them.
fn recorded() -> Vec<ChatEvent> {
    let bytes = std::fs::read(Path::new(FOLDER).join("input.stream.jsonl")).expect("the run");
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader.push(&bytes, 1, &mut events).expect("a session");
    reader.finish(1, &mut events).expect("a session");
    events
}

/// What the panel says of all files, as git reads it.
fn sums(feed: &Feed) -> String {
    let mut diffs = String::new();
    for file in files(feed, Scope::Session).files {
        let path = file.path.strip_prefix(CWD).expect("a file of the folder");
        let sum = edits_of(feed, &file, |_| None::<&str>);
        let Sum::Whole { text, .. } = sum else {
            panic!("{path} has no sum: {sum:?}");
        };
        let is_new = file.change == FileChange::Created;
        let hunks = text.find("@@ ").map_or("", |at| &text[at..]);
        if hunks.is_empty() && !is_new {
            continue;
        }
        diffs.push_str(&format!("diff --git \"a/{path}\" \"b/{path}\"\n"));
        if is_new {
            diffs.push_str("new file mode 100644\n");
        }
        if !hunks.is_empty() {
            let old = if is_new {
                "/dev/null".to_owned()
            } else {
                format!("\"a/{path}\"")
            };
            diffs.push_str(&format!("--- {old}\n+++ \"b/{path}\"\n{hunks}"));
            if !hunks.ends_with('\n') {
                diffs.push('\n');
            }
        }
    }
    diffs
}

#[test]
fn files_at_a_moment_are_what_git_had() {
    let repository = Repository::open();
    let steps = repository.steps();
    let events = recorded();
    let mut live = ChatRenderer::with_history();
    live.replay_events(&events);
    let [_, start, start_tree] = &steps[0];
    // The moment after each step's change was told, and before the next.
    let mut moments: Vec<(u32, &str, &str)> = vec![(0, "the start", start_tree)];
    for [call, _, tree] in &steps[1..] {
        let told = events.iter().rposition(|event| match &event.payload {
            Payload::FileEdit(edit) => edit.tool_call_id == *call,
            _ => false,
        });
        let told = told.unwrap_or_else(|| panic!("{call} tells of no change"));
        moments.push((u32::try_from(told + 1).expect("few events"), call, tree));
    }
    assert!(moments.len() > 20, "{} steps", moments.len());
    moments.sort_by_key(|(n_events, ..)| *n_events);

    let mut moment = Moment::now(&live);
    let mut patches = Vec::new();
    // Forward, back, and to and fro.
    let n = moments.len();
    let forward = 0..n;
    let back = (0..n).rev();
    let about = (0..n).map(|nth| (nth * 8) % n);
    for nth in forward.chain(back).chain(about) {
        let (n_events, call, tree) = moments[nth];
        moment.seek(&live, n_events, &mut patches);
        let diffs = sums(moment.feed());
        let found = repository.patched(start, &diffs);
        assert_eq!(found, tree, "after {call}, event {n_events}:\n{diffs}");
    }
}
