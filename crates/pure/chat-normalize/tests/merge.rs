//! Several sources of one run, merged: every recorded run that has two or three, in many orders; and small cases.
//! What all cases are made of, the same few sources of one run, is here; those of sources that go on are in `live`, and
//! those of what is the same in two of them in `same`.

mod live;
mod same;

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, FolderReader, Merge, SessionFolder, SessionReader};

use live::{Live, beside_log, masked_event};

/// The events of each source of one run.
struct Run {
    name: String,
    sources: Vec<(String, Vec<ChatEvent>)>,
}

impl Run {
    fn events(&self) -> Vec<Vec<ChatEvent>> {
        let sources = self.sources.iter();
        sources.map(|(_, events)| events.clone()).collect()
    }
}

fn read(bytes: &[u8]) -> Vec<ChatEvent> {
    crate::support::read(bytes).events
}

/// The recorded runs of other programs: what they printed or sent, and what they stored.
fn other_runs() -> Vec<Run> {
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
fn live(mut runs: Vec<Run>) -> Vec<Run> {
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
fn runs() -> Vec<Run> {
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

fn read_folder(files: &BTreeMap<String, Vec<u8>>) -> Vec<ChatEvent> {
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

/// A source of numbers that is the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// Merges the sources, each in its order; `next` says which one comes next of those that have something.
fn merge(sources: &[Vec<ChatEvent>], mut next: impl FnMut(&[usize]) -> usize) -> Vec<ChatEvent> {
    let mut merge = Merge::new(sources.len());
    let mut merged = Vec::new();
    let mut rest: Vec<_> = sources
        .iter()
        .map(|events| events.iter().peekable())
        .collect();
    loop {
        let open: Vec<usize> = (0..rest.len())
            .filter(|at| rest[*at].peek().is_some())
            .collect();
        if open.is_empty() {
            break;
        }
        let source = open[next(&open)];
        merge.take(source, rest[source].next().unwrap().clone(), &mut merged);
        if rest[source].peek().is_none() {
            merge.end(source, &mut merged);
        }
    }
    merge.finish(&mut merged);
    merged
}

/// How often each thing that a person sees is told. Independent of the stage's own notion of what is the same.
fn told(events: &[ChatEvent]) -> BTreeMap<String, u32> {
    let mut told: BTreeMap<String, u32> = BTreeMap::new();
    let mut ends = BTreeMap::new();
    let names = names_of_calls(events);
    let name_of = |id: &str| names.get(id).cloned().unwrap_or_else(|| id.to_owned());
    let taken_back: BTreeSet<&String> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::Retract(retract) => Some(&retract.event_ids),
            _ => None,
        })
        .flatten()
        .collect();
    // A result that says what its call gave stands in the place of one that does not.
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) if !result.is_bare() => Some(&result.tool_call_id),
        _ => None,
    });
    let full: BTreeSet<&String> = results.collect();
    for event in events {
        if taken_back.contains(&event.id) {
            continue;
        }
        let parent = event.parent_tool_call_id.as_deref().unwrap_or("-");
        let what = match &event.payload {
            Payload::TurnStart(_) => "turn".to_owned(),
            Payload::TurnEnd(_) => {
                *ends.entry(event.turn_id.clone()).or_insert(0) += 1;
                continue;
            }
            Payload::UserMessage(said) => {
                format!("said in {parent}: {}", said.text.preview().trim())
            }
            Payload::AssistantDone(done) if event.id.ends_with(":cut") => {
                let _ = done;
                continue;
            }
            Payload::AssistantDone(done) => format!("text in {parent}: {}", done.text.trim()),
            Payload::ThinkingDone(done) => format!("thought in {parent}: {}", done.text.trim()),
            Payload::ToolCall(call) => format!("call {} in {parent}", name_of(&call.tool_call_id)),
            Payload::ToolResult(result)
                if result.is_bare() && full.contains(&result.tool_call_id) =>
            {
                continue;
            }
            Payload::ToolResult(result) => {
                let what = if result.goes_on() {
                    "beginning"
                } else {
                    "result"
                };
                format!("{what} of {}", name_of(&result.tool_call_id))
            }
            Payload::FileEdit(edit) => {
                let path = edit.old_path.as_ref().unwrap_or(&edit.file_path);
                format!("edit {} {path}", name_of(&edit.tool_call_id))
            }
            Payload::PermissionRequest(ask) => format!("ask {:?}", ask.tool_call_id),
            Payload::QuestionRequest(ask) => format!("question {:?}", ask.tool_call_id),
            Payload::Compaction(_) => "compaction".to_owned(),
            Payload::Interrupt(_) => format!("interrupt in {parent}"),
            Payload::ErrorEvent(error) => format!("error {}", error.message),
            Payload::Plan(plan) => format!("plan {plan:?}"),
            Payload::SessionEnd(_) => "session end".to_owned(),
            _ => continue,
        };
        *told.entry(what).or_default() += 1;
    }
    for (turn, n) in ends.iter().filter(|(_, n)| **n > 1) {
        told.insert(format!("end of {turn:?}"), *n);
    }
    told.insert("turn ends".to_owned(), u32::try_from(ends.len()).unwrap());
    told
}

/// What the calls of Codex do, by their ids: `codex exec` has others than the session's file.
fn names_of_calls(events: &[ChatEvent]) -> BTreeMap<String, String> {
    let is_codex = events.iter().any(
        |event| matches!(&event.payload, Payload::SessionStart(start) if start.provider.as_deref() == Some("codex")),
    );
    let mut names = BTreeMap::new();
    let mut n_named: BTreeMap<String, u32> = BTreeMap::new();
    for event in events.iter().filter(|_| is_codex) {
        let Payload::ToolCall(call) = &event.payload else {
            continue;
        };
        let title = call.title.clone().unwrap_or_default();
        let name = match (call.kind.as_deref(), call.tool_name.as_str()) {
            (Some("edit"), _) => {
                let paths: BTreeSet<&str> = title
                    .split(", ")
                    .map(|path| path.rsplit('/').next().unwrap())
                    .collect();
                format!("edit {paths:?}")
            }
            (Some("execute" | "fetch"), _) => title,
            (_, name) => name.trim_end_matches("_agent").to_owned(),
        };
        let n = n_named.entry(name.clone()).or_default();
        *n += 1;
        names.insert(call.tool_call_id.clone(), format!("{name} #{n}"));
    }
    names
}

/// What is told at most by one of the sources.
fn most(sources: &[Vec<ChatEvent>]) -> BTreeMap<String, u32> {
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for events in sources {
        for (what, n) in told(events) {
            let entry = most.entry(what).or_default();
            *entry = n.max(*entry);
        }
    }
    most
}

fn differences(found: &BTreeMap<String, u32>, wanted: &BTreeMap<String, u32>) -> Vec<String> {
    let keys: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
    keys.into_iter()
        .filter(|key| found.get(*key) != wanted.get(*key))
        .map(|key| {
            let short: String = key.chars().take(160).collect();
            format!(
                "{short}: told {:?}, wanted {:?}",
                found.get(key),
                wanted.get(key)
            )
        })
        .collect()
}

fn event(id: &str, turn: &str, kind: &str, payload: &str) -> ChatEvent {
    let text = format!(
        r#"{{"id":"{id}","timestamp":1,"sessionId":"s","turnId":"{turn}","type":"{kind}","payload":{payload}}}"#
    );
    ChatEvent::from_json(&text).unwrap()
}

#[test]
fn recorded_runs_say_everything_once_in_any_order() {
    let runs = runs();
    let mut wrong = Vec::new();
    for run in &runs {
        let sources = run.events();
        let wanted = most(&sources);
        let n = sources.len();
        let mut check = |how: String, merged: Vec<ChatEvent>| {
            let mut ids = BTreeSet::new();
            for event in &merged {
                assert!(
                    ids.insert(event.id.clone()),
                    "{}: {} stands twice",
                    run.name,
                    event.id
                );
            }
            for difference in differences(&told(&merged), &wanted) {
                wrong.push(format!("{} {how}: {difference}", run.name));
            }
        };
        // One source after another, in every order.
        for first in 0..n {
            for second in (0..n).filter(|at| *at != first) {
                let order: Vec<usize> = [first, second]
                    .into_iter()
                    .chain((0..n).filter(|at| *at != first && *at != second))
                    .collect();
                let merged = merge(&sources, |open| {
                    let at = order.iter().find(|at| open.contains(at)).unwrap();
                    open.iter().position(|other| other == at).unwrap()
                });
                let names: Vec<&str> = order.iter().map(|at| run.sources[*at].0.as_str()).collect();
                check(format!("{names:?}"), merged);
            }
        }
        // A command that the program answers itself is a turn of some sources only; read more than a turn apart, it can
        // be taken for another one. The right answer is none of these.
        let by_program = run.name.ends_with("/compact") || run.name.ends_with("/controls");
        for seed in 0..if by_program { 0 } else { 8 } {
            let mut random = Random(seed);
            check(
                format!("seed {seed}"),
                merge(&sources, |open| random.below(open.len())),
            );
        }
    }
    let n = wrong.len();
    wrong.truncate(60);
    assert!(wrong.is_empty(), "{n} differences:\n{}", wrong.join("\n"));
}

/// The log of all sources, each of which tells it what is new to it, in pieces of any size.
///
/// Where it `masks`, the log has about half of its events masked: it was begun without.
fn log_of(run: &Run, random: &mut Random, forgets: bool, masks: bool) -> Vec<ChatEvent> {
    let mut log: Vec<ChatEvent> = Vec::new();
    // What goes on with a session begins when what began it is over.
    let goes_on = |kind: &str| kind.starts_with(|c: char| c.is_ascii_digit());
    let (mut later, open): (Vec<_>, Vec<_>) = run
        .sources
        .iter()
        .map(|(kind, own)| {
            (
                goes_on(kind),
                Live {
                    kind,
                    own,
                    n_told: 0,
                    merge: beside_log(masks),
                    n_known: 0,
                    masks,
                },
            )
        })
        .partition(|(goes_on, _)| *goes_on);
    later.reverse();
    let mut open: Vec<Live> = open.into_iter().map(|(_, live)| live).collect();
    while !open.is_empty() {
        let at = random.below(open.len());
        let n_stored = log.len();
        open[at].tell(1 + random.below(6), &mut log);
        for event in &mut log[n_stored..] {
            if masks && random.below(2) == 0 {
                *event = masked_event(event);
            }
        }
        if forgets && random.below(40) == 0 {
            open[at].begin_anew(&mut log);
        }
        if open[at].n_told >= open[at].own.len() {
            let mut live = open.swap_remove(at);
            live.end(!open.is_empty(), &mut log);
            if live.kind.ends_with("exec.jsonl") {
                open.extend(later.pop().map(|(_, live)| live));
            }
        }
    }
    log
}

/// A pipe takes the agent to run where it runs itself; that is no word of what the agent says.
#[test]
fn a_guessed_folder_stays_a_guess_and_a_told_one_is_told_beside_it() {
    let of = |cwd: &str| format!(r#"{{"cwd":"{cwd}"}}"#);
    let guess = |cwd: &str| format!(r#"{{"cwd":"{cwd}","cwdGuessed":true}}"#);
    let new_of = |log: &[String], own: &[String]| {
        let mut new = Vec::new();
        let mut merge = Merge::beside_log();
        for (source, told) in [(Merge::LOG, log), (Merge::OWN, own)] {
            for (n, start) in told.iter().enumerate() {
                let id = format!("{source}-{n}");
                merge.take(source, event(&id, "t", "session_start", start), &mut new);
            }
        }
        let starts = new
            .iter()
            .map(|event| serde_json::to_string(&event.payload).unwrap());
        starts.collect::<Vec<_>>()
    };
    assert_eq!(new_of(&[guess("/a")], &[of("/w")]), [of("/w")]);
    assert_eq!(new_of(&[guess("/w")], &[of("/w")]), [of("/w")]);
    assert_eq!(new_of(&[of("/w")], &[guess("/a")]), [guess("/a")]);
    // Another run of it, from elsewhere.
    assert_eq!(
        new_of(&[guess("/a")], &[guess("/a"), guess("/b")]),
        [guess("/b")]
    );
}

/// OpenCode's `run` keeps a prompt of several words with quotes around it; its pipe is told it without.
#[test]
fn a_prompt_in_quotes_is_the_same_prompt() {
    for (quoted, bare) in [
        (r#""Read it""#, "Read it"),
        (r#" "Say \"hi\" to it" "#, r#"Say "hi" to it"#),
    ] {
        let said = |id: &str, turn: &str, text: &str| {
            let text = serde_json::json!({ "text": text }).to_string();
            [
                event(&format!("{id}.1"), turn, "turn_start", "{}"),
                event(&format!("{id}.2"), turn, "user_message", &text),
            ]
        };
        let mut new = Vec::new();
        let mut merge = Merge::beside_log();
        for event in said("l", "t1", quoted) {
            merge.take(Merge::LOG, event, &mut new);
        }
        for event in said("o", "t2", bare) {
            merge.take(Merge::OWN, event, &mut new);
        }
        merge.finish(&mut new);
        assert!(new.is_empty(), "{new:?}");
    }
}

/// Of programs whose sources share few ids: read one after another, without the times of what was printed.
#[test]
fn other_programs_runs_say_everything_once() {
    let mut wrong = Vec::new();
    for run in other_runs() {
        let sources = run.events();
        let mut reversed = sources.clone();
        reversed.reverse();
        for sources in [sources, reversed] {
            let merged = merge(&sources, |_| 0);
            for difference in differences(&told(&merged), &most(&sources)) {
                wrong.push(format!("{}: {difference}", run.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_programs_sources_that_go_on_say_everything_once() {
    let mut wrong = Vec::new();
    for run in live(other_runs()) {
        let wanted = most(&run.events());
        for seed in 0..12 {
            let log = log_of(&run, &mut Random(seed), seed % 2 == 1, false);
            let mut told = told(&log);
            // Each process that goes on with a session ends it once more.
            if let Some(ends) = told.get_mut("session end") {
                *ends = 1;
            }
            for difference in differences(&told, &wanted) {
                wrong.push(format!("{} seed {seed}: {difference}", run.name));
            }
        }
    }
    let n = wrong.len();
    wrong.truncate(60);
    assert!(wrong.is_empty(), "{n} differences:\n{}", wrong.join("\n"));
}

/// A turn of a run whose file is not followed any more is not taken for an earlier one in which the same was done.
#[test]
fn a_later_run_that_does_the_same_is_told() {
    let at = |at_ms: i64, id: &str, turn: &str, kind: &str, payload: &str| ChatEvent {
        timestamp: Some(at_ms),
        ..event(id, turn, kind, payload)
    };
    let call = r#"{"toolCallId":"ID","toolName":"shell","args":{},"title":"ls","kind":"execute"}"#;
    let text = r#"{"text":"Done."}"#;
    let mut new = Vec::new();
    let mut merge = Merge::beside_log();
    for (id, kind, payload) in [
        ("f1", "turn_start", r#"{"trigger":"user"}"#),
        ("f2", "tool_call", &call.replace("ID", "call_1")),
        ("f3", "assistant_done", text),
        ("f4", "turn_end", "{}"),
    ] {
        merge.take(Merge::LOG, at(1_000, id, "t", kind, payload), &mut new);
    }
    for (id, kind, payload) in [
        ("e1", "turn_start", r#"{"trigger":"user"}"#),
        ("e2", "tool_call", &call.replace("ID", "item_0.0a1b2c3d")),
        ("e3", "assistant_done", text),
        ("e4", "turn_end", "{}"),
    ] {
        let event = at(60_000, id, "turn-0a1b2c3d", kind, payload);
        merge.take(Merge::OWN, event, &mut new);
    }
    let ids: Vec<&str> = new.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["e1", "e2", "e3", "e4"]);
}

#[test]
fn one_source_alone_passes_as_it_is() {
    for run in runs().into_iter().chain(other_runs()) {
        for (name, events) in run.sources {
            let mut stage = Merge::new(1);
            let mut merged = Vec::new();
            for event in events.clone() {
                stage.take(0, event, &mut merged);
            }
            stage.end(0, &mut merged);
            assert_eq!(told(&merged), told(&events), "{} {name}", run.name);
            // Told again, as after a lost answer, nothing is new.
            let n = merged.len();
            for event in events {
                stage.take(0, event, &mut merged);
            }
            stage.finish(&mut merged);
            assert_eq!(merged.len(), n, "{} {name}", run.name);
        }
    }
}
