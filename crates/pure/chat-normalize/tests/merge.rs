//! Several sources of one run, merged: every recorded run that has two or three, in many orders; and small cases.
//! What all cases are made of stands in `runs` and `said`; cases of sources that go on are in `live`, and those of what is
//! the same in two of them in `same`.

mod live;
mod recorded;
mod runs;
mod said;
mod same;

use chat_event::ChatEvent;
use chat_normalize::Merge;

use live::{Live, beside_log, masked_event};
use runs::{Run, other_runs, runs};
use said::told;

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

fn event(id: &str, turn: &str, kind: &str, payload: &str) -> ChatEvent {
    let text = format!(
        r#"{{"id":"{id}","timestamp":1,"sessionId":"s","turnId":"{turn}","type":"{kind}","payload":{payload}}}"#
    );
    ChatEvent::from_json(&text).unwrap()
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
