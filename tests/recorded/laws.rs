//! The laws of the event log, held over recorded sessions of real agents: what `chat-feed` holds over generated logs.
//!
//! Recordings are copied into `tests/sessions`; many more lie in the shared folder, and are read where they lie.

use std::path::{Path, PathBuf};

use super::compact::compact;
use super::mirror::{Mirror, runs, view};
use super::shared;
use chat_diff::{Around, apply, widen};
use chat_event::{ChatEvent, Payload};
use chat_feed::ChatRenderer;
use chat_feed::export::{Form, Writer};
use chat_feed::inbox::{Inbox, MOST_WAITING};
use chat_feed::mask::LiveMasker;
use chat_feed::playback::{Clock, Moment};
use chat_normalize::{Context, SessionReader};

/// Arrival times stand apart by this much, in milliseconds.
const STEP_MS: i64 = 7;

/// The recordings that the normalizers read.
fn recordings() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    collect(&own, &mut found);
    if let Some(folder) = shared::shared("recordings") {
        let agents = [
            "claude-code",
            "claude-code-1.0.128",
            "claude-code-2.1.197",
            "codex",
            "codex-0.77.0",
            "opencode",
            "acp-claude",
            "acp-opencode",
            "gemini-cli",
            "pi",
        ];
        for agent in agents {
            collect(&folder.join(agent), &mut found);
        }
    }
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kinds = [
            ".stream.",
            ".events.",
            ".run.",
            ".transcript.",
            ".exec.",
            ".rollout.",
            ".appserver.",
            ".hooks.",
            ".acp.",
            ".chat.",
            ".json.",
            ".session.",
        ];
        name.ends_with(".jsonl") && kinds.iter().any(|kind| name.contains(kind))
    });
    found.sort();
    assert!(!found.is_empty(), "there are recordings in tests/sessions");
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), found),
            _ => found.push(entry.path()),
        }
    }
}

/// The events of a recording, numbered as a server would number them.
fn events(path: &Path) -> Vec<ChatEvent> {
    let bytes = std::fs::read(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for (nth, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        reader
            .push(line, nth as i64 * STEP_MS, &mut events)
            .unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    }
    reader
        .finish(0, &mut events)
        .unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    for (seq, event) in (1..).zip(&mut events) {
        event.seq = Some(seq);
    }
    events
}

fn replay(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(events);
    renderer
}

/// Numbers without a pattern, the same in every run.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below.max(1)
    }
}

/// The session as a text for people.
fn transcript(events: &[ChatEvent]) -> String {
    let mut writer = Writer::new(Form::Markdown, None);
    let mut text = String::new();
    for event in events {
        writer.push(event, &mut text);
    }
    writer.finish(&mut text);
    text
}

/// Recorded sessions that hold what is taken for secrets, of which a few were planted.
const MOST_MASKED: usize = 8;

#[test]
fn what_holds_no_secrets_is_the_same_when_it_is_masked_before_it_is_stored() {
    let mut with_secrets = Vec::new();
    for path in recordings() {
        let events = events(&path);
        let mut masker = LiveMasker::new();
        let mut stored: Vec<ChatEvent> = Vec::new();
        for event in &events {
            stored.extend(masker.push(event.clone()));
        }
        stored.extend(masker.finish());
        // Each event is there, and in its place; between them are the ends of texts that were held back.
        let is_sent = |event: &&ChatEvent| !event.id.ends_with(":rest") && !event.id.is_empty();
        let ids = stored.iter().filter(is_sent).map(|event| &event.id);
        assert!(
            ids.eq(events.iter().filter(is_sent).map(|event| &event.id)),
            "{}",
            path.display()
        );
        if masker.take_masked().is_empty() {
            assert_eq!(
                transcript(&stored),
                transcript(&events),
                "{}",
                path.display()
            );
        } else {
            with_secrets.push(path);
        }
    }
    assert!(with_secrets.len() <= MOST_MASKED, "{with_secrets:#?}");
}

#[test]
fn every_invariant_holds_after_every_event_and_nothing_runs_at_the_end() {
    for path in recordings() {
        let mut renderer = ChatRenderer::new();
        for event in events(&path) {
            renderer.render_event(&event);
            assert_eq!(renderer.check(), Ok(()), "{}", path.display());
        }
        for block in renderer.feed().rows() {
            assert!(!runs(block), "{}: {block:?} still runs", path.display());
        }
    }
}

#[test]
fn patches_in_any_batches_are_enough() {
    let mut number = numbers();
    for path in recordings() {
        let events = events(&path);
        let mut renderer = ChatRenderer::new();
        let mut mirror = Mirror::default();
        let mut rest = &events[..];
        while !rest.is_empty() {
            let size = 1 + number(40) as usize;
            let (batch, later) = rest.split_at(size.min(rest.len()));
            rest = later;
            let mut patches = Vec::new();
            for event in batch {
                renderer.apply(event, &mut patches);
            }
            mirror.apply(renderer.feed(), &patches);
            assert!(mirror.view() == view(renderer.feed()), "{}", path.display());
        }
        assert!(
            view(renderer.feed()) == view(replay(&events).feed()),
            "{}",
            path.display()
        );
    }
}

#[test]
fn cut_repeated_late_and_resumed_delivery_ends_in_the_view_of_a_replay() {
    let mut number = numbers();
    for path in recordings() {
        let events = events(&path);
        let expected = view(replay(&events).feed());
        for _ in 0..4 {
            // Each event is late by less than the inbox can hold; every cut delivers some events again.
            let mut wire: Vec<(u64, &ChatEvent)> = Vec::new();
            for (nth, event) in (0..).zip(&events) {
                wire.push((nth + number(MOST_WAITING as u64 - 4), event));
                if number(5) == 0 {
                    wire.push((nth + number(50), event));
                }
            }
            wire.sort_by_key(|&(at, _)| at);
            let mut inbox = Inbox::default();
            let mut renderer = ChatRenderer::new();
            let mut ready = Vec::new();
            for (_, event) in wire {
                inbox.push(event.clone(), &mut ready);
                assert!(!inbox.overfull(), "{}", path.display());
                for event in ready.drain(..) {
                    renderer.handle_new_event(&event);
                }
                if number(30) == 0 {
                    // The page is reloaded from what it has, or the reducer is saved and continued.
                    renderer = renderer.clone();
                    inbox = Inbox::after(inbox.last_seq());
                    let seen = inbox.last_seq() as usize;
                    for event in &events[seen..(seen + 70).min(events.len())] {
                        inbox.push(event.clone(), &mut ready);
                    }
                    for event in ready.drain(..) {
                        renderer.handle_new_event(&event);
                    }
                }
            }
            assert!(view(renderer.feed()) == expected, "{}", path.display());
        }
    }
}

#[test]
fn a_log_that_was_written_and_read_shows_the_same() {
    for path in recordings() {
        let events = events(&path);
        let read: Vec<ChatEvent> = events
            .iter()
            .map(|event| ChatEvent::from_json(&event.to_line()))
            .collect::<Result<_, _>>()
            .unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        assert!(read == events, "{}", path.display());
        assert!(view(replay(&read).feed()) == view(replay(&events).feed()));
    }
}

#[test]
fn the_file_before_an_edit_is_what_its_diff_changes() {
    let (mut n_edits, mut n_known) = (0, 0);
    // The recordings were made in small projects, whose diffs show whole files; these were not.
    let mut paths = recordings();
    let transcripts = shared::shared("fixtures").map(|folder| folder.join("claude-transcript"));
    if let Some(folder) = &transcripts {
        collect(folder, &mut paths);
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    for path in paths {
        for event in events(&path) {
            let Payload::FileEdit(edit) = &event.payload else {
                continue;
            };
            n_edits += 1;
            let (Some(old), Some(diff)) = (&edit.old_text, &edit.full_diff) else {
                continue;
            };
            n_known += 1;
            let (old, diff) = (&*old.preview(), &*diff.preview());
            let all = Around {
                above: u32::MAX,
                below: u32::MAX,
            };
            let before = chat_diff::parse(diff);
            let widened = widen(diff, old, &vec![all; before.files[0].hunks.len()])
                .unwrap_or_else(|why| panic!("{}: {}: {why}", path.display(), event.id));
            let (whole, made) = (apply(&widened.text, old), apply(diff, old));
            assert!(whole == made, "{}: {}", path.display(), event.id);
            assert!(widened.left_out.iter().all(|&n_lines| n_lines == 0));
        }
    }
    assert!(transcripts.is_none() || n_known > 0);
    println!("the file is known of {n_known} of {n_edits} edits");
}

#[test]
fn a_compacted_log_shows_and_plays_as_its_original_does() {
    let (mut n_before, mut n_after) = (0, 0);
    for path in recordings() {
        let events = events(&path);
        let short = compact(&events);
        n_before += events.len();
        n_after += short.len();
        assert!(compact(&short) == short, "{}: folded again", path.display());
        let read = |events: &[ChatEvent]| {
            let mut renderer = ChatRenderer::with_history();
            renderer.replay_events(events);
            let mut clock = Clock::default();
            clock.follow(renderer.feed());
            (renderer, clock)
        };
        let ((plain, times), (folded, short_times)) = (read(&events), read(&short));
        assert!(
            view(plain.feed()) == view(folded.feed()),
            "{}",
            path.display()
        );
        assert_eq!(times.n_events(), short_times.n_events());
        assert_eq!(times.cuts(), short_times.cuts());
        for event in &events {
            let rows = (plain.block_of_id(&event.id), folded.block_of_id(&event.id));
            assert_eq!(rows.0, rows.1, "{}: {}", path.display(), event.id);
        }
        let mut moments = (Moment::now(&plain), Moment::now(&folded));
        // Of a long one, as many moments as of a short one.
        let step = 1 + times.n_events() / 400;
        for n_events in (0..=times.n_events()).step_by(step as usize) {
            assert_eq!(times.played_at(n_events), short_times.played_at(n_events));
            moments.0.seek(&plain, n_events, &mut Vec::new());
            moments.1.seek(&folded, n_events, &mut Vec::new());
            let same = view(moments.0.feed()) == view(moments.1.feed());
            assert!(same, "{} at {n_events}", path.display());
        }
    }
    assert!(n_after < n_before, "{n_before} events to {n_after}");
    println!("{n_before} events to {n_after}");
}
