//! A session that its program's output tells of as it runs, and its file all at once behind that: the list and the summary
//! say of it what they say of the file alone.

use std::path::Path;

use crate::support::dice::Dice;
use chat_event::payload::{ToolCall, TurnEnd, TurnStart, Usage};
use chat_event::{ChatEvent, Payload};
use chat_feed::ChatRenderer;
use chat_feed::projections::{SessionOutcome, SessionSummary, to_session_summary};
use chat_normalize::{Context, Merge, SessionReader};
use chat_store::{Options, SessionId, Store, Summary, SyncPolicy};

/// The row of the list after these events, each appended by itself as it came.
fn row(events: &[ChatEvent]) -> Summary {
    let id = SessionId::parse(&events[0].session_id).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        sync: SyncPolicy::Never,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let session = store.session_or_new(&id).unwrap();
    let newest_ms = events.iter().filter_map(|event| event.timestamp).max();
    session
        .append(events.to_vec(), false, newest_ms.unwrap_or(0))
        .unwrap();
    Summary::clone(&session.summary())
}

fn recording(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    std::fs::read(folder.join(name)).unwrap()
}

fn read(name: &str, context: Context, at_ms: i64) -> Vec<ChatEvent> {
    let mut reader = SessionReader::new(context);
    let mut events = Vec::new();
    reader.push(&recording(name), at_ms, &mut events).unwrap();
    reader.finish(at_ms, &mut events).unwrap();
    events
}

/// Runs that were piped, each with its prompt, then the file that the program wrote of all of them, read at once.
struct Told {
    piped: Vec<ChatEvent>,
    both: Vec<ChatEvent>,
    file: Vec<ChatEvent>,
}

fn told(name: &str, prompts: &[&str]) -> Told {
    let file = read(&format!("{name}.file.jsonl"), Context::default(), 1);
    // What is printed arrives a moment after it was written to the file.
    let ended_ms = file.iter().filter_map(|event| match event.payload {
        Payload::Usage(ref usage) if usage.scope == "session" => event.timestamp,
        _ => None,
    });
    let mut ended_ms: Vec<i64> = ended_ms.collect();
    ended_ms.dedup();
    let ended_ms = ended_ms.split_off(ended_ms.len() - prompts.len());
    let mut piped = Vec::new();
    for (n, prompt) in prompts.iter().enumerate() {
        let context = Context {
            prompt: Some((*prompt).to_owned()),
            run: Some(format!("run-{n}")),
            ..Context::default()
        };
        let at_ms = ended_ms[n] + 12;
        piped.extend(read(&format!("{name}.{}.jsonl", n + 1), context, at_ms));
    }
    let mut both = piped.clone();
    let mut merge = Merge::beside_log();
    for event in &piped {
        merge.take(Merge::LOG, event.clone(), &mut both);
    }
    for event in &file {
        merge.take(Merge::OWN, event.clone(), &mut both);
    }
    merge.end(Merge::LOG, &mut both);
    Told { piped, both, file }
}

fn of_row(row: &Summary) -> String {
    let said = (&row.title, &row.model, &row.cwd, &row.git_branch);
    let how = (&row.outcome, &row.failure, row.asks, &row.doing);
    let figures = (row.turns, row.steps, row.tokens, row.cost_usd);
    format!("{said:?} {how:?} {figures:?} {:?}", row.context_used)
}

fn of_summary(of: &SessionSummary) -> String {
    let said = (&of.title, &of.models, &of.cwd, of.outcome);
    let figures = (of.turns, of.user_messages, of.responses, &of.tool_calls);
    format!("{said:?} {figures:?} {:?} {:?}", of.usage, of.cost_usd)
}

#[test]
fn a_session_of_two_runs_that_were_piped_and_then_read_from_its_file_stands_as_its_file_alone() {
    let sessions = [
        ("claude-resumed", ["First thing", "Second thing"]),
        (
            "codex-resumed",
            ["Turn one, long", "Turn two after compaction"],
        ),
    ];
    for (name, prompts) in sessions {
        let Told { piped, both, file } = told(name, &prompts);
        assert!(both.len() > piped.len(), "{name}: the file has more");
        assert_eq!(of_row(&row(&both)), of_row(&row(&file)), "{name}");
        assert_eq!(row(&both).status, "ended", "{name}");
        let [of_both, of_file] = [&both, &file].map(|events| to_session_summary(events));
        assert_eq!(of_summary(&of_both), of_summary(&of_file), "{name}");
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&both);
        let feed = renderer.feed();
        assert!(feed.session().ended.is_some(), "{name}");
        assert_eq!(feed.tokens(), of_file.usage, "{name}");
        let newest = renderer.newest_turn().unwrap();
        assert_eq!(format!("{:?}", newest.state), "Completed", "{name}");
    }
}

/// Its file begins with a copy of what was before.
#[test]
fn a_fork_stands_as_its_own_turn_left_it() {
    let Told { piped, both, file } = told("claude-fork", &["Forked turn"]);
    let (told, all, alone) = (row(&piped), row(&both), row(&file));
    let how = |row: &Summary| (row.outcome.clone(), row.tokens, row.cost_usd);
    assert_eq!(how(&all), how(&alone));
    assert_eq!((all.turns, all.steps), (alone.turns, alone.steps));
    assert_eq!((&all.status, &all.title), (&told.status, &told.title));
    assert_eq!(all.status, "ended");
    let summary = to_session_summary(&both);
    assert_eq!(summary.outcome, Some(SessionOutcome::Completed));
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&both);
    let newest = renderer.newest_turn().unwrap();
    assert_eq!(format!("{:?}", newest.state), "Completed");
    // It may still go on when the copy is told: that ends nothing.
    let copied = both[piped.len()..].iter();
    let is_end = |event: &ChatEvent| matches!(event.payload, Payload::TurnEnd(_));
    let n_begun = piped.iter().position(is_end).unwrap();
    let live = piped[..n_begun].iter().chain(copied);
    let live: Vec<ChatEvent> = live.cloned().collect();
    let stands = row(&live);
    assert_eq!((stands.status.as_str(), &stands.outcome), ("busy", &None));
    assert_eq!(
        to_session_summary(&live).outcome,
        Some(SessionOutcome::Running)
    );
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&live);
    let newest = renderer.newest_turn().unwrap();
    assert_eq!(format!("{:?}", newest.state), "Running");
}

#[test]
fn what_a_session_used_is_one_sum_wherever_it_is_told() {
    let mut dice = Dice::new(7);
    let mut sums = std::collections::BTreeSet::new();
    for round in 0..400 {
        let mut events = vec![];
        let mut push = |at_ms: i64, turn: Option<u64>, payload: Payload| {
            let mut event = ChatEvent::new(format!("e{}", events.len()), at_ms, "s1", payload);
            event.turn_id = turn.map(|turn| format!("t{turn}"));
            events.push(event);
            events.len() - 1
        };
        let n_turns = dice.between(1, 4);
        for turn in 0..n_turns {
            push(1, Some(turn), TurnStart::default().into());
            let call = ToolCall {
                tool_call_id: format!("c{turn}"),
                ..ToolCall::default()
            };
            push(1, Some(turn), call.into());
        }
        let mut nested = Vec::new();
        for _ in 0..dice.between(1, 12) {
            let scope = ["response", "turn", "session", "session"][dice.between(0, 4) as usize];
            let tokens = dice.between(0, 5) * 10;
            let usage = Usage {
                scope: scope.to_owned(),
                cumulative: Some(true)
                    .filter(|_| dice.between(0, 8) > 0)
                    .or(Some(false)),
                input_tokens: tokens,
                output_tokens: tokens / 2,
                cost_usd: (dice.between(0, 3) > 0).then(|| dice.between(0, 9) as f64 / 100.0),
                ..Usage::default()
            };
            let at_ms = dice.between(1, 20) as i64;
            let turn = dice.between(0, n_turns);
            let is_end = dice.between(0, 6) == 0;
            let payload: Payload = match is_end {
                true => TurnEnd {
                    usage: serde_json::to_value(&usage).ok().map(Into::into),
                    ..TurnEnd::default()
                }
                .into(),
                false => usage.into(),
            };
            let at = push(at_ms, Some(turn), payload);
            if !is_end && dice.between(0, 3) == 0 {
                nested.push((at, turn));
            }
        }
        for (at, turn) in nested {
            events[at].parent_tool_call_id = Some(format!("c{turn}"));
        }
        for event in &mut events {
            if matches!(event.payload, Payload::Usage(_)) && dice.between(0, 4) > 0 {
                event.response_id = Some(format!("r{}", dice.between(0, 4)));
            }
        }
        let row = row(&events);
        let summary = to_session_summary(&events);
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let feed = renderer.feed();
        assert_eq!(feed.tokens(), summary.usage, "{round}: {events:#?}");
        assert_eq!(feed.cost_usd(), summary.cost_usd, "{round}: {events:#?}");
        let tokens = summary.usage.map(|usage| usage.fresh());
        let cost_usd = summary.cost_usd.map(|cost| (cost * 1e4).round() / 1e4);
        assert_eq!(
            (row.tokens, row.cost_usd),
            (tokens, cost_usd),
            "{round}: {events:#?}"
        );
        sums.insert(row.tokens);
    }
    assert!(sums.len() > 10, "the sums differ");
}

/// The context is made anew in the middle of a stream, and its figures begin at nothing; then the file of the session before
/// tells its figure again.
#[test]
fn figures_that_begin_at_nothing_are_a_run_of_their_own() {
    let figures = [
        (1_200, 0.0056, 563),
        (0, 0.0, 613),
        (2_400, 0.0112, 862),
        (1_200, 0.0056, 568),
    ];
    let events = figures
        .into_iter()
        .enumerate()
        .map(|(n, (tokens, cost_usd, at_ms))| {
            let usage = Usage {
                scope: "session".to_owned(),
                cumulative: Some(true),
                input_tokens: tokens,
                cost_usd: Some(cost_usd),
                ..Usage::default()
            };
            ChatEvent::new(format!("e{n}"), at_ms, "s1", usage)
        });
    let events: Vec<ChatEvent> = events.collect();
    let row = row(&events);
    assert_eq!((row.tokens, row.cost_usd), (Some(3_600), Some(0.0168)));
    let summary = to_session_summary(&events);
    assert_eq!(summary.usage.map(|usage| usage.fresh()), Some(3_600));
    assert_eq!(summary.cost_usd, Some(0.0168));
}
