//! Damaged sessions: every dialect's reader over recorded sessions whose lines are cut, doubled, moved, mixed and changed.
//!
//! One test a dialect, for three seconds each over the same inputs, or for `TURNREEL_FUZZ_SECONDS` over others each time;
//! a failure names its seed, and `TURNREEL_SEED` begins there again. What is found becomes a case of its own beside the
//! dialect.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use chat_event::{ChatEvent, Payload};
use chat_feed::ChatRenderer;
use chat_feed::mask::{LiveMasker, is_masked_of};
use chat_normalize::{Context, Dialect, SessionReader};

use super::mirror::runs;
use super::normalized::{Random, assert_ids, assert_turns, by_session, damaged, read};
use super::shared;

/// Longer seeds are cut to whole lines of this many bytes: many small inputs find more than few large ones.
const MAX_SEED_BYTES: usize = 24 * 1024;

macro_rules! dialects {
    ($($name:ident $word:literal,)*) => {
        $(#[test] fn $name() { fuzz($word); })*

        #[test]
        fn every_dialect_has_its_test() {
            let listed: BTreeSet<&str> = BTreeSet::from([$($word),*]);
            let known: BTreeSet<&str> = Dialect::all().map(Dialect::word).collect();
            assert_eq!(listed, known);
        }
    };
}

dialects! {
    acp "acp",
    ag_ui "ag-ui",
    agent_events "agent-events",
    amp_stream "amp-stream",
    anthropic_messages "anthropic-messages",
    chat_events "chat-events",
    claude_hooks "claude-hooks",
    claude_stream "claude-stream",
    claude_transcript "claude-transcript",
    cline_session "cline-session",
    cline_stream "cline-stream",
    cline_task "cline-task",
    codex_app_server "codex-app-server",
    codex_exec "codex-exec",
    codex_rollout "codex-rollout",
    copilot "copilot",
    crush_rows "crush-rows",
    crush_session "crush-session",
    cursor_stream "cursor-stream",
    droid_session "droid-session",
    droid_stream "droid-stream",
    gemini_chat "gemini-chat",
    gemini_stream "gemini-stream",
    goose_session "goose-session",
    goose_stream "goose-stream",
    grok "grok",
    grok_build "grok-build",
    kimi "kimi",
    kimi_stream "kimi-stream",
    openai_chat "openai-chat",
    openai_responses "openai-responses",
    opencode_events "opencode-events",
    opencode_export "opencode-export",
    opencode_run "opencode-run",
    openhands "openhands",
    pi_json "pi-json",
    pi_session "pi-session",
    qwen_chat "qwen-chat",
    qwen_stream "qwen-stream",
    sandbox_agent "sandbox-agent",
    swe_agent "swe-agent",
    mini_swe_agent "mini-swe-agent",
    vibe_session "vibe-session",
    vibe_stream "vibe-stream",
}

fn fuzz(word: &str) {
    let dialect = Dialect::from_word(word).expect("a dialect of the table");
    let seeds = seeds_of(dialect);
    if seeds.is_empty() {
        return eprintln!("skipped: no recording of {}", dialect.name());
    }
    let seconds = std::env::var("TURNREEL_FUZZ_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(3);
    let end = Instant::now() + Duration::from_secs(seconds);
    let wanted = std::env::var("TURNREEL_SEED")
        .ok()
        .and_then(|seed| seed.parse::<u64>().ok());
    // In every run the same inputs; who asks for more time looks for new ones.
    let mut seed = wanted.unwrap_or_else(|| {
        let longer = std::env::var_os("TURNREEL_FUZZ_SECONDS").is_some();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(1, |now| if longer { now.as_micros() as u64 } else { 1 })
    });
    let mut runs = 0u64;
    while runs == 0 || Instant::now() < end {
        let input = input(&seeds, seed);
        let held = catch_unwind(AssertUnwindSafe(|| hold_laws(dialect, &input, seed)));
        if held.is_err() {
            let kept = std::env::temp_dir().join(format!("turnreel-{word}-{seed}"));
            let _ = std::fs::write(&kept, &input);
            panic!(
                "{word}: TURNREEL_SEED={seed}; the input is kept in {}",
                kept.display()
            );
        }
        if wanted.is_some() {
            return;
        }
        seed = seed.wrapping_add(1);
        runs += 1;
    }
    eprintln!("{word}: {runs} inputs of {} seeds", seeds.len());
}

/// One damaged input: of one session, or of the lines of two.
fn input(seeds: &[Vec<u8>], seed: u64) -> Vec<u8> {
    // xorshift cannot begin at 0, and neighbouring seeds should not look alike.
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..4 {
        random.below(2);
    }
    let one = &seeds[random.below(seeds.len())];
    let mut input = one.clone();
    if random.below(4) == 0 {
        let other = &seeds[random.below(seeds.len())];
        let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
            bytes
                .split_inclusive(|byte| *byte == b'\n')
                .map(<[u8]>::to_vec)
                .collect()
        };
        let (mut left, mut right) = (split(one).into_iter(), split(other).into_iter());
        input.clear();
        loop {
            let next = if random.below(2) == 0 {
                left.next().or_else(|| right.next())
            } else {
                right.next().or_else(|| left.next())
            };
            match next {
                Some(line) => input.extend(line),
                None => break,
            }
        }
    }
    for _ in 0..random.below(3) {
        input = damaged(&input, &mut random);
    }
    input
}

fn hold_laws(dialect: Dialect, input: &[u8], seed: u64) {
    let mut random = Random(seed | 1);
    let whole = read_as(dialect, &[input]);
    let (left, right) = input.split_at(random.below(input.len() + 1));
    assert!(
        read_as(dialect, &[left, right]) == whole,
        "a cut at {} gives other events",
        left.len()
    );
    for event in &whole {
        let again = ChatEvent::from_json(&event.to_line()).expect("a written event is read");
        assert!(again == *event, "{} is read back as another", event.id);
    }
    if dialect != Dialect::ChatEvents {
        // What a log says itself is passed on as it stands.
        for of_session in by_session(&whole) {
            assert_ids("damaged", &of_session);
            assert_turns("damaged", &of_session);
            assert_busy(&of_session);
        }
    }
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&whole);
    assert_eq!(renderer.check(), Ok(()));
    if dialect != Dialect::ChatEvents {
        for block in renderer.feed().rows() {
            assert!(!runs(block), "{block:?} still runs");
        }
    }
    assert_masked(&whole, random.below(whole.len() + 1));
    // Whatever it is taken for, it is read.
    let _ = read(input);
}

/// Masked before it is stored, also behind a restart, each event is there and in its place, and nothing is held back at the end.
fn assert_masked(events: &[ChatEvent], restart: usize) {
    let mut masker = LiveMasker::new();
    let mut stored: Vec<ChatEvent> = Vec::new();
    for (nth, event) in events.iter().enumerate() {
        if nth == restart {
            masker = LiveMasker::new();
            stored.iter().for_each(|event| masker.resume(event));
        }
        let id = masker.id(&event.id).unwrap_or_else(|| event.id.clone());
        let pushed = masker.push(event.clone());
        let last = pushed.last().expect("the event itself");
        assert_eq!((&last.id, last.event_type()), (&id, event.event_type()));
        assert!(is_masked_of(last, event), "{last:?} is not of {event:?}");
        stored.extend(pushed);
    }
    stored.extend(masker.finish());
    assert!(!masker.holds(), "something is held back");
    for event in &stored {
        let again = ChatEvent::from_json(&event.to_line()).expect("a stored event is read");
        assert_eq!(again, *event);
    }
}

fn read_as(dialect: Dialect, pieces: &[&[u8]]) -> Vec<ChatEvent> {
    let mut reader = SessionReader::with_dialect(Context::default(), dialect);
    let mut events = Vec::new();
    for piece in pieces {
        if reader.push(piece, 7, &mut events).is_err() {
            return events;
        }
    }
    let _ = reader.finish(7, &mut events);
    events
}

/// Busy and idle alternate, and the session rests at its end.
fn assert_busy(events: &[ChatEvent]) {
    let mut busy = false;
    for event in events {
        if let Payload::SessionStatus(status) = &event.payload {
            match status.status.as_str() {
                "idle" => {
                    assert!(busy, "{}: idle twice", event.id);
                    busy = false;
                }
                "busy" => busy = true,
                _ => {}
            }
        }
    }
    assert!(!busy, "busy at the end");
}

/// The recorded sessions of a dialect, and the events of other dialects' stories where it is our own.
fn seeds_of(dialect: Dialect) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    collect(&own, &mut paths);
    for folder in ["recordings", "fixtures"] {
        if let Some(folder) = shared::shared(folder) {
            collect(&folder, &mut paths);
        }
    }
    paths.sort();
    let mut seeds = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        if chat_normalize::detect(&bytes, true) == chat_normalize::Detection::Found(dialect) {
            seeds.push(shortened(bytes));
        }
    }
    seeds
}

fn shortened(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() > MAX_SEED_BYTES
        && let Some(end) = bytes[..MAX_SEED_BYTES]
            .iter()
            .rposition(|byte| *byte == b'\n')
    {
        bytes.truncate(end + 1);
    }
    bytes
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.to_string_lossy();
        if path.is_dir() {
            collect(&path, found);
        } else if !name.ends_with(".times") && !name.ends_with(".md") && !name.ends_with(".tsv") {
            found.push(path);
        }
    }
}
